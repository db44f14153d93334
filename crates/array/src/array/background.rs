//! Operations of background jobs: stripes that are rebuilt, resynced or compared.

use super::fetching::Read;
use super::{Array, drives, settling};
use crate::action::JobKind;
use crate::action::{Action, DataAction, OpId, Slot};
use crate::event::{Event, Origin, Why};
use crate::fetch::StripeShape;
use crate::jobs::Step;
use crate::layout::Segment;
use crate::members::MemberSet;
use crate::operation::{Comparison, Phase, Settler, Work};
use crate::parity;
use nvme::{Delays, PlFlag};
use units::{Instant, Observe};

/// Begins as many stripes of the first job as may run at a time, and goes to the next job when one
/// is done.
#[inline]
pub(super) fn pump<O: Observe>(array: &mut Array<O>, now: Instant) {
    if !array.jobs.is_empty() {
        step(array, now);
    }
}

#[cold]
fn step<O: Observe>(array: &mut Array<O>, now: Instant) {
    loop {
        if let (Some(cache), Some(job)) = (&array.cache, array.jobs.current())
            && let JobKind::Rebuild(drive) = job.what
            && cache.is_behind(drive)
        {
            return;
        }
        match array.jobs.step(&array.availability, array.layout.stripes()) {
            Step::Nothing => return,
            Step::Ended(job) => {
                let (what, lost) = (job.what, job.lost);
                drives::note_missing(array, now);
                array.out.emit_event(now, || Event::JobEnded { job: what, lost });
                array.out.emit(Action::JobEnded { job: what, skipped: lost });
            }
            Step::Stripe { job, kind, stripe } => begin(array, now, job, kind, stripe),
        }
    }
}

/// Begins a stripe of a job, or passes over it if the drive that is rebuilt has no member of it.
fn begin<O: Observe>(array: &mut Array<O>, now: Instant, job: u32, kind: JobKind, stripe: u64) {
    if let JobKind::Rebuild(drive) = kind
        // A write that is under way may bring a chunk here: its turn is waited for.
        && !array.relocation.can_move()
        && array.relocation.members_on(&array.layout, stripe, MemberSet::of(drive.0)).is_empty()
    {
        array.jobs.operation_ended();
        note_stripe(array, job, stripe, MemberSet::EMPTY, true);
        return;
    }
    let segment = Segment {
        stripe,
        first_row: 0,
        rows: array.layout.chunk_pages(),
        first_chunk: 0,
        chunks: array.layout.data_chunks(),
    };
    let work = match kind {
        JobKind::Resync if array.layout.level().is_mirrored() => Settler::Job(job).work(),
        JobKind::Rebuild(_) | JobKind::Resync => Work::Repair { job, drive_failures: 0 },
        JobKind::Scrub | JobKind::ScrubRepair => {
            Work::Check { job, rewrites: kind == JobKind::ScrubRepair, compared: Comparison::NONE }
        }
    };
    let op = array.insert_op(now, &segment, work, Origin::Job(job));
    array.enter_writer(now, op);
}

/// It is the operation's turn: reads the members that it computes the others from.
pub(super) fn plan_repair<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    if settling::must_wait(array, op) {
        return settling::wait(array, now, op);
    }
    let stripe = array.ops[op].stripe;
    let unreadable = array.unreadable(stripe);
    let absent = array.relocation.members_on(&array.layout, stripe, array.availability.absent());
    let failures = array.availability.drive_failures();
    // Of more members than it takes, those are not read that would keep it waiting.
    let to_spare = array.layout.parities().saturating_sub(unreadable.len());
    let in_windows = array.members_in_windows(now, op) - unreadable;
    let spared = in_windows.iter().take(to_spare as usize).collect();
    let target = &mut array.ops[op];
    target.phase = Phase::Fetch;
    let wanted = unreadable - absent;
    target.fetch.begin_lost(unreadable, spared, wanted);
    if let Work::Repair { drive_failures, .. } = &mut target.work {
        *drive_failures = failures;
    }
    if wanted.is_empty() {
        // A write or another job has repaired this stripe in the meantime.
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    array.decide(now, op, &Delays::ZERO);
}

/// It is the operation's turn: reads what it compares.
pub(super) fn plan_check<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let target = &array.ops[op];
    let StripeShape { data, parity, .. } = target.shape(&array.layout);
    let readable = match array.availability.is_in_doubt(target.stripe) {
        true => MemberSet::EMPTY,
        false => (data | parity) - array.unreadable(target.stripe),
    };
    let target = &mut array.ops[op];
    target.phase = Phase::Fetch;
    target.fetch.begin(readable);
    if !(data - readable).is_empty() || !parity.meets(readable) {
        // Nothing to compare: not an error if nothing is missing (there is no parity).
        target.failed = !parity.is_empty();
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    for member in readable {
        array.read(now, op, Read::wanted(member, PlFlag::Off, Why::Job));
    }
}

/// The members that an operation of a rebuild or resync writes are known: writes them. If a drive
/// has failed since it began to read, it begins again. Nobody reads these members before they are
/// written.
pub(super) fn commit_repair<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    let target = &mut array.ops[op];
    target.phase = Phase::Commit;
    if matches!(target.work, Work::Repair { drive_failures, .. }
        if drive_failures != array.availability.drive_failures())
    {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    let (stripe, wanted) = (target.stripe, target.fetch.wanted());
    let absent = array.relocation.members_on(&array.layout, stripe, array.availability.absent());
    let members = wanted - absent;
    write_back(array, now, op, members);
}

/// Writes members that should have held this already, as far as their drives are there.
pub(super) fn write_back<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    members: MemberSet,
) {
    array.out.emit_event(now, || Event::CommitBegun { op, members });
    array.write_members(now, op, members, Why::Job);
    if array.ops[op].writing.is_empty() {
        array.leave_and_finish(now, op, &Delays::ZERO);
    }
}

/// Has the parities compared that were read.
pub(super) fn compare<O: Observe>(array: &mut Array<O>, now: Instant, op: OpId) {
    if !array.out.has_data_actions() {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    let target = &mut array.ops[op];
    target.phase = Phase::Compute;
    let stripe = target.stripe;
    let parities = target.fetch.wanted() & array.layout.parity_set(stripe);
    if let Work::Check { compared, .. } = &mut target.work {
        *compared = Comparison::of(parities, MemberSet::EMPTY);
    }
    for member in parities {
        let terms = parity::full(&array.layout, stripe, member, MemberSet::EMPTY);
        array.out.emit(Action::Check { op, target: Slot { new: false, member }, terms });
    }
}

/// A parity was compared. With the last of its stripe those that do not fit are reported, and
/// written again if that was ordered.
pub(super) fn compared<O: Observe>(
    array: &mut Array<O>,
    now: Instant,
    op: OpId,
    member: u8,
    fits: bool,
) {
    let target = &mut array.ops[op];
    let stripe = target.stripe;
    let Work::Check { rewrites, compared, .. } = &mut target.work else { return };
    let rewrites = *rewrites;
    let Some(members) = compared.note(member, fits) else { return };
    if !members.is_empty() {
        array.out.emit_event(now, || Event::ParityMismatch { stripe, members });
        array.out.emit(Action::ParityMismatch { stripe, members });
    }
    if members.is_empty() || !rewrites {
        return array.leave_and_finish(now, op, &Delays::ZERO);
    }
    target.phase = Phase::Commit;
    for member in members {
        let terms = parity::full(&array.layout, stripe, member, MemberSet::EMPTY);
        let target = Slot { new: true, member };
        array.out.emit_data(|| DataAction::Combine { op, target, terms });
    }
    write_back(array, now, op, members);
}

/// Notes what an operation of a job has come to.
pub(super) fn end<O: Observe>(array: &mut Array<O>, op: OpId) {
    let target = &array.ops[op];
    let (stripe, failed) = (target.stripe, target.failed);
    let (job, written, seen) = match target.work {
        Work::Repair { job, drive_failures } => (job, target.fetch.wanted(), drive_failures),
        Work::Check { job, .. } => (job, MemberSet::EMPTY, 0),
        _ => return,
    };
    array.jobs.operation_ended();
    if !written.is_empty() && seen != array.availability.drive_failures() {
        // It may have written to a drive that failed, and was even replaced, meanwhile; or read
        // from one that failed, and there is another copy.
        array.jobs.repeat(job, stripe);
        return;
    }
    note_stripe(array, job, stripe, written, !failed);
}

/// A stripe is done; `written` are the members that had to be written: everything that could not be
/// read and is not absent.
fn note_stripe<O: Observe>(
    array: &mut Array<O>,
    job: u32,
    stripe: u64,
    written: MemberSet,
    succeeded: bool,
) {
    array.jobs.stripe_done(job, succeeded);
    if succeeded {
        array.counters.repaired_stripes += u64::from(!written.is_empty());
        array.availability.restored(&array.layout, &array.relocation, stripe, written);
        let stripes = array.layout.stripes();
        if let Some((drive, stripe)) = array.jobs.rebuilt_part(job, &array.availability, stripes) {
            array.out.emit(Action::RebuiltBefore { drive, stripe });
        }
    }
}
