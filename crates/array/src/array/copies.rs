//! Copies of a mirror: which one is read.

use super::Array;
use crate::layout::Segment;
use crate::members::MemberSet;
use units::{DriveId, Instant, Observe};

/// The member of a mirror that a read goes to.
pub(super) fn choose<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    segment: &Segment,
) -> MemberSet {
    let Segment { stripe, first_row, .. } = *segment;
    let primary = array.layout.member_of(stripe, 0);
    let all = array.layout.member_set(stripe);
    let copies = all - array.unreadable(stripe);
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
