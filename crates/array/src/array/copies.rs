//! Copies of a mirror: which one is read, and if a crash has left them different, that all reads find the one
//! that is kept.

use super::{Array, background};
use crate::action::OpId;
use crate::layout::Segment;
use crate::members::MemberSet;
use crate::operation::Work;
use nvme::Delays;
use units::{DriveId, Instant, Observe};

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

/// The member of a mirror that a read goes to.
pub(super) fn choose<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    segment: &Segment,
) -> MemberSet {
    let Segment { stripe, first_row, .. } = *segment;
    let primary = array.layout.member_of(stripe, 0);
    let all = array.layout.member_set(stripe);
    let mut copies = all - array.unreadable(stripe);
    if !array.availability.is_optimal()
        && let Some(sources) = background::copies_being_resynced_from(array, segment)
    {
        // If they are lost the read waits for the resync.
        copies = if copies.meets(sources) { copies & sources } else { sources };
    }
    // If there is none the read fails, whichever is asked.
    let copies = if copies.is_empty() { all } else { copies };
    let primary = match copies.first() {
        Some(first) if !copies.contains(primary.0) => DriveId(first),
        _ => primary,
    };
    let lba = array.layout.lba(stripe, first_row, primary);
    let copies = copies.bits();
    let view = array.permits.view(&array.commands, copies);
    let chosen = array.rules.policy().choose_copy(now, primary, copies, lba, &view);
    assert_eq!(copies >> chosen.0 & 1, 1, "{chosen:?} has no copy of stripe {stripe}");
    MemberSet::of(chosen.0)
}
