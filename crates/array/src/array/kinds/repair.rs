//! Members of a stripe that were lost, or parity that may be wrong: computed and written.

use super::{Around, Input, Next};
use crate::action::OpId;
use crate::array::stripes::Stripes;
use crate::operation::{Phase, Work};

pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, around: &Around<'_>) -> Next {
    match input {
        Input::Turn => plan(stripes, op, around),
        Input::Known => commit(stripes, op),
        Input::Compared { .. } => Next::Wait,
    }
}

/// Reads the members that the others are computed from.
fn plan(stripes: &mut Stripes, op: OpId, around: &Around<'_>) -> Next {
    if stripes.must_settle(op) {
        return Next::Settle;
    }
    let stripe = stripes.ops[op].stripe;
    let unreadable = stripes.unreadable(stripe);
    let wanted = unreadable - stripes.absent_members(stripe);
    let failures = stripes.availability.drive_failures();
    // Of more members than it takes, those are not read that would keep it waiting.
    let to_spare = stripes.layout.parities().saturating_sub(unreadable.len());
    let in_windows = stripes.members_in_windows(around.now, op, around.coordinator) - unreadable;
    let spared = in_windows.iter().take(to_spare as usize).collect();
    let target = &mut stripes.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin_lost(unreadable, spared, wanted);
    if let Work::Repair { drive_failures, .. } = &mut target.work {
        *drive_failures = failures;
    }
    // A write or another job may have repaired this stripe in the meantime.
    if wanted.is_empty() { Next::Finish } else { Next::Reconstruct }
}

/// Writes the members. If a drive has failed since they were read, the stripe begins again. Nobody
/// reads these members before they are written.
fn commit(stripes: &mut Stripes, op: OpId) -> Next {
    let failures = stripes.availability.drive_failures();
    let target = &mut stripes.ops[op];
    target.phase = Phase::Commit;
    let (stripe, wanted) = (target.stripe, target.fetch.wanted());
    if matches!(target.work, Work::Repair { drive_failures, .. } if drive_failures != failures) {
        return Next::Finish;
    }
    Next::Write(wanted - stripes.absent_members(stripe))
}
