//! Pages that a drive could not read: reconstructed and written again.

use super::{Input, Next};
use crate::action::OpId;
use crate::array::stripes::Stripes;
use crate::members::MemberSet;
use crate::operation::Phase;

pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, members: MemberSet) -> Next {
    match input {
        Input::Turn => plan(stripes, op, members),
        Input::Known => commit(stripes, op),
        Input::Compared { .. } => Next::Wait,
    }
}

/// Reads the members again, because a write may have replaced them since.
fn plan(stripes: &mut Stripes, op: OpId, members: MemberSet) -> Next {
    let wanted = match stripes.availability.is_in_doubt(stripes.ops[op].stripe) {
        // A resync writes them.
        true => MemberSet::EMPTY,
        false => members - stripes.note_unreadable(op),
    };
    let target = &mut stripes.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(wanted);
    if wanted.is_empty() { Next::Finish } else { Next::Read(wanted) }
}

/// Writes those that had to be reconstructed.
fn commit(stripes: &mut Stripes, op: OpId) -> Next {
    let target = &mut stripes.ops[op];
    target.phase = Phase::Commit;
    let members = target.rewritten();
    if members.is_empty() { Next::Finish } else { Next::Write(members) }
}
