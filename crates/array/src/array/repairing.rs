//! Repairs of pages that a drive could not read: their operations, and those that wait for them.

use super::fetching::Read;
use super::{Array, background, settling};
use crate::action::{Action, OpId, PageRepair};
use crate::event::{Event, Origin, Why};
use crate::fetch::Fetch;
use crate::layout::Segment;
use crate::members::MemberSet;
use crate::operation::{Phase, Settler, Work};
use crate::read_repairs::{NextRepair, RepairCounters, Row, Waiter};
use crate::relocation::Place;
use nvme::{Cause, Delays, PlFlag};
use units::{Instant, Observe};

/// Members that an operation could not read although their drives are there.
fn broken<O: Observe>(array: &Array<O>, op: OpId) -> MemberSet {
    let target = &array.ops[op];
    target.fetch.broken() - array.unreadable(target.stripe)
}

/// An operation ends that could not read some members: they are repaired, unless it has waited for
/// that.
#[cold]
pub(super) fn note_broken<O: Observe>(array: &mut Array<O>, op: OpId) {
    let broken = broken(array, op);
    let target = &array.ops[op];
    let known = match target.work {
        Work::Rewrite { members, .. } => members,
        // It writes them, or nothing can be had of the row.
        Work::Settle { .. } => return,
        _ => target.awaited,
    };
    let members = broken - known;
    if !members.is_empty() && array.layout.parities() > 0 {
        array.jobs.repairs.note(target.stripe, target.range(), members);
    }
}

/// Has the rows of an operation repaired one by one if media errors are in its way, so that it can
/// begin again: it is no help to fail a single row either, because a drive may have an error once,
/// and the repair asks it again. Each member is waited for once. The operation has changed nothing
/// so far. Returns whether it waits.
pub(super) fn waits_for_repair<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    passed: &Delays,
) -> bool {
    let broken = broken(array, op);
    let target = &mut array.ops[op];
    let stripe = target.stripe;
    let is_repair = matches!(
        target.work,
        Work::Rewrite { .. } | Work::Settle { owner: Settler::Repairs(_), .. }
    );
    if (broken - target.awaited).is_empty()
        || is_repair
        || !array.jobs.repairs.is_enabled()
        || array.layout.parities() == 0
        || (array.availability.is_in_doubt(stripe) && !array.layout.level().is_mirrored())
    {
        return false;
    }
    target.phase = Phase::WaitRepair;
    target.fetch.park(now, passed);
    // A writer keeps its turn, so that those behind it stay behind it.
    if target.is_read() && array.stripes.is_in(op) && array.stripes.leave(op) {
        array.wake(now, stripe);
    }
    begin_again(array, now, op);
    true
}

/// Goes on with an operation that met media errors: when no read of its first try is out, its rows
/// are repaired, and when they are, it begins again.
pub(super) fn begin_again<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let broken = broken(array, op);
    let target = &mut array.ops[op];
    let is_waiting = array.jobs.repairs.is_waiting(op);
    if target.phase != Phase::WaitRepair || !target.fetch.outstanding().is_empty() || is_waiting {
        return;
    }
    let more = broken - target.awaited;
    if !more.is_empty() {
        target.awaited |= more;
        let waiter = Waiter { op, lends: !target.is_read() };
        return array.jobs.repairs.wait(waiter, target.stripe, target.range(), more);
    }
    let (mut passed, since) = target.fetch.unpark();
    passed.add(Cause::Rebuild, now.since(since));
    target.fetch = Fetch::new(array.stripes.commits(target.stripe));
    match &mut target.work {
        Work::Read { touched, .. } => {
            let touched = *touched;
            read_again(array, now, op, touched, &passed);
        }
        Work::Write { writer, .. } => {
            writer.forget_plan();
            array.take_turn(now, op);
        }
        _ => array.take_turn(now, op),
    }
}

/// A read begins again.
fn read_again<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    touched: MemberSet,
    passed: &Delays,
) {
    if array.relocation.can_move() {
        array.watch_for_moves(now, op);
    }
    let target = &mut array.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(touched);
    let round = target.fetch.new_round(passed);
    let unreadable = array.note_unreadable(op);
    if unreadable.meets(touched) && unreadable.len() > array.layout.parities() {
        return array.fail(now, op, passed);
    }
    for member in array.ops[op].fetch.unknown() - unreadable {
        let (pl, why) = (PlFlag::Off, Why::Wanted);
        array.read(now, op, Read { member, pl, for_others: false, round, why });
    }
    if unreadable.meets(touched) {
        array.ops[op].fetch.avoid(unreadable);
    }
    array.advance(now, op, passed);
}

/// Begins as many repairs of rows as may run at a time.
#[inline]
pub(super) fn pump<O: Observe>(array: &mut Array<O>, now: Instant) {
    while let Some(NextRepair { row, members, waiter }) = array.jobs.repairs.next() {
        let Row { stripe, row: first_row } = row;
        let chunks = array.layout.data_chunks();
        let segment = Segment { stripe, first_row, rows: 1, first_chunk: 0, chunks };
        let work = match settling::is_in_doubt(array, stripe) {
            true => Settler::Repairs(waiter).work(),
            false => Work::Rewrite { members, waiter },
        };
        let op = array.insert_op(now, &segment, work, Origin::ReadRepair);
        match waiter {
            Some(Waiter { lends: true, .. }) => array.take_turn(now, op),
            _ => array.enter_writer(now, op),
        }
    }
}

/// It is the turn of a repair: reads its members again, because a write may have replaced them
/// since.
pub(super) fn plan<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId, members: MemberSet) {
    let wanted = match array.availability.is_in_doubt(array.ops[op].stripe) {
        // A resync writes them.
        true => MemberSet::EMPTY,
        false => members - array.note_unreadable(op),
    };
    let target = &mut array.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(wanted);
    if wanted.is_empty() {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    for member in wanted {
        array.read(now, op, Read::wanted(member, PlFlag::Off, Why::Job));
    }
}

/// The members of a repair are known: writes those that had to be reconstructed.
pub(super) fn commit<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let target = &mut array.ops[op];
    target.phase = Phase::Commit;
    let members = target.rewritten();
    if members.is_empty() {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    background::write_back(array, now, op, members);
}

/// Notes what a repair has come to.
pub(super) fn end<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    waiter: Option<Waiter>,
) {
    let target = &array.ops[op];
    let (stripe, row, failed) = (target.stripe, target.first_row, target.failed);
    let tried = target.rewritten();
    let readable = match target.work {
        Work::Settle { .. } => 0,
        _ => u64::from((target.fetch.wanted() - tried).len()),
    };
    let mut counts = RepairCounters { readable, ..RepairCounters::default() };
    for member in tried {
        let Place { drive, block: lba } =
            array.relocation.locate(&array.layout, stripe, row, member);
        if array.availability.is_absent(drive) {
            continue;
        }
        let repair = PageRepair { drive, lba, repaired: !failed };
        *if failed { &mut counts.lost } else { &mut counts.rewritten } += 1;
        array.out.emit_event(now, || Event::PageRepaired(repair));
        array.out.emit(Action::PageRepaired(repair));
    }
    if let Some(waiter) = array.jobs.repairs.end(Row { stripe, row }, waiter, &counts) {
        begin_again(array, now, waiter);
    }
}
