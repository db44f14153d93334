//! Copies of a mirror that a crash may have left different: rows are *settled* before anything in
//! them is found.
//!
//! Any copy of unflushed data is right. A client that has read one reads the same ever after, also
//! if that copy fails the next read and the power goes again. So the first readable copy is kept.
//! The others are made equal on stable storage before a client reads the row or writes a part of a
//! page in it, and before a drive is rebuilt from it. An equal copy is not written.
//!
//! The resync settles whole stripes. An operation that comes earlier has its rows settled one by
//! one.

use super::{Around, Input, Next};
use crate::action::OpId;
use crate::array::stripes::Stripes;
use crate::members::MemberSet;
use crate::operation::{Comparison, Phase, Work};

pub(super) fn step(stripes: &mut Stripes, op: OpId, input: Input, around: &Around<'_>) -> Next {
    match input {
        Input::Turn => plan(stripes, op),
        Input::Known => compare(stripes, op, around.has_data),
        Input::Compared { member, fits } => {
            let Work::Settle { compared, .. } = &mut stripes.ops[op].work else {
                return Next::Wait;
            };
            match compared.note(member, fits) {
                Some(_) => write(stripes, op),
                None => Next::Wait,
            }
        }
    }
}

/// Reads all copies.
fn plan(stripes: &mut Stripes, op: OpId) -> Next {
    let copies = stripes.copies(stripes.ops[op].stripe);
    let failures = stripes.availability.drive_failures();
    let target = &mut stripes.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(copies);
    if let Work::Settle { drive_failures, compared, .. } = &mut target.work {
        (*drive_failures, *compared) = (failures, Comparison::NONE);
    }
    if copies.len() < 2 {
        target.failed = copies.is_empty();
        return Next::Finish;
    }
    Next::Read(copies)
}

/// The copy that is kept, the datum if it can be, and the others that could be read.
fn kept(stripes: &Stripes, op: OpId) -> (u8, MemberSet) {
    let target = &stripes.ops[op];
    let mut read = target.fetch.wanted() - target.rewritten();
    let datum = stripes.layout.member_of(target.stripe, 0).0;
    let first = if read.contains(datum) { Some(datum) } else { read.first() };
    let kept = first.expect("a stripe without any copy has failed before");
    read.remove(kept);
    (kept, read)
}

/// All copies are read that can be: has those compared with the first.
fn compare(stripes: &mut Stripes, op: OpId, compares: bool) -> Next {
    let (with, others) = kept(stripes, op);
    let target = &mut stripes.ops[op];
    target.phase = Phase::Compute;
    let broken = target.rewritten();
    if let Work::Settle { compared, .. } = &mut target.work {
        let wrong = if compares { broken } else { broken | others };
        *compared = Comparison::of(others, wrong);
    }
    if !compares || others.is_empty() {
        return write(stripes, op);
    }
    Next::CompareCopies { members: others, with }
}

/// Writes the copies that are not as the one that is kept.
fn write(stripes: &mut Stripes, op: OpId) -> Next {
    let Work::Settle { compared: Comparison { wrong, .. }, .. } = stripes.ops[op].work else {
        return Next::Wait;
    };
    if wrong.is_empty() {
        return Next::Finish;
    }
    let (from, _) = kept(stripes, op);
    stripes.ops[op].phase = Phase::Commit;
    Next::Copy { from, members: wrong }
}
