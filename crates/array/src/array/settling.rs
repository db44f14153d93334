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

use super::fetching::Read;
use super::{Array, background, repairing};
use crate::action::{Action, DataAction, OpId, Slot, Term};
use crate::event::Why;
use crate::members::MemberSet;
use crate::operation::{Comparison, Phase, Settler, Work};
use crate::read_repairs::Waiter;
use nvme::{Delays, PlFlag};
use units::{Instant, Observe};

/// Whether copies of a stripe may differ.
#[inline]
pub(super) fn is_in_doubt<O: Observe>(array: &Array<O>, stripe: u64) -> bool {
    !array.availability.is_optimal()
        && array.layout.level().is_mirrored()
        && array.availability.is_in_doubt(stripe)
}

/// The copies of a stripe that hold its data.
fn copies<O: Observe>(array: &Array<O>, stripe: u64) -> MemberSet {
    array.layout.member_set(stripe) - array.unwritable(stripe)
}

/// Whether an operation has to wait until its rows are settled. It waits once.
#[inline]
pub(super) fn must_wait<O: Observe>(array: &Array<O>, op: OpId) -> bool {
    let target = &array.ops[op];
    is_in_doubt(array, target.stripe)
        && target.awaited.is_empty()
        && copies(array, target.stripe).len() > 1
}

/// Has the rows of an operation settled, which begins again then. It has read and changed nothing
/// so far.
#[cold]
pub(super) fn wait<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let target = &mut array.ops[op];
    let members = array.layout.member_set(target.stripe);
    target.phase = Phase::WaitRepair;
    target.fetch.park(now, &Delays::ZERO);
    target.awaited = members;
    let waiter = Waiter { op, lends: !target.is_read() };
    array.jobs.repairs.wait(waiter, target.stripe, target.range(), members);
    repairing::pump(array, now);
}

/// It is the operation's turn: reads all copies.
pub(super) fn plan<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let stripe = array.ops[op].stripe;
    let copies = copies(array, stripe);
    let failures = array.availability.drive_failures();
    let target = &mut array.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(copies);
    if let Work::Settle { drive_failures, compared, .. } = &mut target.work {
        (*drive_failures, *compared) = (failures, Comparison::NONE);
    }
    if copies.len() < 2 {
        target.failed = copies.is_empty();
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    for member in copies {
        array.read(now, op, Read::wanted(member, PlFlag::Off, Why::Job));
    }
}

const fn old(member: u8) -> Slot {
    Slot { new: false, member }
}

/// The copy that is kept, the datum if it can be, and the others that could be read.
fn kept<O: Observe>(array: &Array<O>, op: OpId) -> (u8, MemberSet) {
    let target = &array.ops[op];
    let mut read = target.fetch.wanted() - target.rewritten();
    let datum = array.layout.member_of(target.stripe, 0).0;
    let first = if read.contains(datum) { Some(datum) } else { read.first() };
    let kept = first.expect("a stripe without any copy has failed before");
    read.remove(kept);
    (kept, read)
}

/// All copies are read that can be: has those compared with the first.
pub(super) fn compare<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let (with, others) = kept(array, op);
    let compares = array.out.has_data_actions();
    let target = &mut array.ops[op];
    target.phase = Phase::Compute;
    let broken = target.rewritten();
    if let Work::Settle { compared, .. } = &mut target.work {
        let wrong = if compares { broken } else { broken | others };
        *compared = Comparison::of(others, wrong);
    }
    if !compares || others.is_empty() {
        return write(array, now, op);
    }
    for member in others {
        array.out.emit(Action::Compare { op, member, with });
    }
}

/// A copy was compared. With the last of its rows those are written that differ.
pub(super) fn compared<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    member: u8,
    fits: bool,
) {
    let Work::Settle { compared, .. } = &mut array.ops[op].work else { return };
    if compared.note(member, fits).is_some() {
        write(array, now, op);
    }
}

/// Writes the copies that are not as the one that is kept.
fn write<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let Work::Settle { compared: Comparison { wrong, .. }, .. } = array.ops[op].work else {
        return;
    };
    if wrong.is_empty() {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    let (kept, _) = kept(array, op);
    array.ops[op].phase = Phase::Commit;
    for member in wrong {
        array.out.emit_data(|| {
            let terms = alloc::vec![Term { coefficient: 1, slot: old(kept) }];
            DataAction::Combine { op, target: Slot { new: true, member }, terms }
        });
    }
    array.out.emit_data(|| DataAction::Force { op });
    background::write_back(array, now, op, wrong);
}

/// Notes what has come of it.
pub(super) fn end<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let target = &array.ops[op];
    let (stripe, failed) = (target.stripe, target.failed);
    let Work::Settle { owner, drive_failures, compared } = target.work else { return };
    let job = match owner {
        Settler::Job(job) => job,
        Settler::Repairs(waiter) => return repairing::end(array, now, op, waiter),
    };
    array.jobs.operation_ended();
    if drive_failures != array.availability.drive_failures() {
        // A drive has failed since: it may have been read or written.
        return array.jobs.repeat(job, stripe);
    }
    array.jobs.stripe_done(job, !failed);
    if !failed {
        array.counters.repaired_stripes += u64::from(!compared.wrong.is_empty());
        array.availability.settled(stripe);
    }
}
