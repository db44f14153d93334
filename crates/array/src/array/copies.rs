//! Copies of a mirror that a crash may have left different: all reads find the one that is kept.

use super::Array;
use crate::action::OpId;
use crate::operation::Work;
use nvme::Delays;
use units::{Instant, Observe};

/// Whether a copy is not the one that is kept any more: it was when the read was sent, and since then it could
/// not be read, or its drive has failed. Others may have found the copy that is kept now.
#[inline]
pub(super) fn is_passed_over<O: Observe>(array: &Array<O>, op: OpId, member: u8) -> bool {
    if array.availability.is_optimal() || !array.layout.level().is_mirrored() {
        return false;
    }
    let target = &array.ops[op];
    matches!(target.work, Work::Read { .. } | Work::Write { .. })
        && array.availability.is_in_doubt(target.stripe)
        && array.unreadable(target.stripe).contains(member)
}

/// What was read of such a copy is not used: the one that is kept is read instead.
#[cold]
pub(super) fn pass_over<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    member: u8,
    passed: &Delays,
) {
    if array.ops[op].fetch.passed_over(member) {
        array.go_on_without(now, op, passed);
    }
}
