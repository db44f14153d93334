//! Writes of the host: how they get their parity.

use super::{Around, Input, Next};
use crate::action::OpId;
use crate::array::stripes::Stripes;
use crate::members::MemberSet;
use crate::operation::Work;

pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, around: &Around<'_>) -> Next {
    match input {
        Input::Turn => plan(stripes, op, around),
        Input::Known if stripes.fails_before_commit(op) => Next::Fail,
        Input::Known => Next::Commit,
        Input::Compared { .. } => Next::Wait,
    }
}

/// Chooses how to get parity, whichever way reads less, and begins to read.
fn plan(stripes: &mut Stripes, op: OpId, around: &Around<'_>) -> Next {
    let stripe = stripes.ops[op].stripe;
    let (mut unreadable, mut unwritable) = (MemberSet::EMPTY, MemberSet::EMPTY);
    if !stripes.availability.is_optimal() {
        if stripes.fails_before_commit(op) {
            return Next::Fail;
        }
        let is_partial = matches!(&stripes.ops[op].work,
            Work::Write { writer, .. } if !writer.partial().is_empty());
        if is_partial && stripes.must_settle(op) {
            return Next::Settle;
        }
        (unreadable, unwritable) = (stripes.unreadable(stripe), stripes.unwritable(stripe));
    }
    let spared = match around.rules.spares_windows_in_writes() {
        true => stripes.members_in_windows(around.now, op, around.coordinator),
        false => MemberSet::EMPTY,
    };
    let distrusted = around.rules.distrusted();
    if !distrusted.is_empty() {
        // As if it could not be read: that it is written, and what with, is another matter.
        unreadable |= stripes.members_on(stripe, distrusted);
    }
    let Work::Write { writer, .. } = &mut stripes.ops[op].work else { return Next::Wait };
    let data = stripes.layout.member_set(stripe) - writer.parity();
    let (_, wanted) = writer.plan(data, unreadable, unwritable, spared);
    Next::Fetch(wanted)
}
