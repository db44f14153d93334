//! Operations begun by jobs and repairs, and their ends.

use super::kinds::{Check, Repair, Rewrite, Settle, Settler};
use super::places::Places;
use super::sending::Sending;
use super::stripes::Stripes;
use crate::action::{Action, OpId};
use crate::event::{Event, Origin};
use crate::happening::{Happening, JobKind, PageRepair};
use crate::jobs::{Jobs, Step};
use crate::layout::Segment;
use crate::members::MemberSet;
use crate::operation::{Phase, Work};
use crate::read_repairs::{NextRepair, RepairCounters, Row, Waiter};
use nvme::Delays;
use units::{Instant, Observe};

/// An operation that is to begin.
pub(super) struct Begun {
    pub(super) segment: Segment,
    pub(super) work: Work,
    pub(super) origin: Origin,
    /// Whether it begins with a turn, which a waiting operation lends it.
    pub(super) has_turn: bool,
}

impl Jobs {
    /// The next stripe of a job, if another may run. Reports jobs that have ended.
    #[cold]
    pub(super) fn next_stripe<O: Observe>(
        &mut self,
        now: Instant,
        stripes: &mut Stripes,
        sending: &mut Sending<O>,
    ) -> Option<Begun> {
        loop {
            if self.must_wait(sending) {
                return None;
            }
            match self.step(&stripes.places.availability, stripes.places.layout.stripes()) {
                Step::Nothing => return None,
                Step::Ended(job) => {
                    let (job, skipped) = (job.what, job.lost);
                    let (incomplete, parities) = stripes.places.incomplete();
                    sending.note_missing(now, incomplete, parities);
                    sending.out.emit_event(now, || Event::JobEnded { job, lost: skipped });
                    sending.out.emit(Action::Happened(Happening::JobEnded { job, skipped }));
                }
                Step::Stripe { job, kind, stripe } => {
                    if is_passed_over(stripes, kind, stripe) {
                        self.operation_ended();
                        self.note_stripe(job, stripe, MemberSet::EMPTY, true, stripes, sending);
                        continue;
                    }
                    let segment = Segment {
                        stripe,
                        first_row: 0,
                        rows: stripes.places.layout.chunk_pages(),
                        first_chunk: 0,
                        chunks: stripes.places.layout.data_chunks(),
                    };
                    let work = work_of(job, kind, stripes.places.layout.level().is_mirrored());
                    let origin = Origin::Job(job);
                    return Some(Begun { segment, work, origin, has_turn: false });
                }
            }
        }
    }

    /// Whether the job has to wait: a rebuild for cached writes to its drive, a scrub for repairs.
    fn must_wait<O: Observe>(&self, sending: &Sending<O>) -> bool {
        match self.current().map(|job| job.what) {
            Some(JobKind::Rebuild(drive)) => {
                sending.cache.as_ref().is_some_and(|cache| cache.is_behind(drive))
            }
            Some(JobKind::Scrub | JobKind::ScrubRepair) => self.repairs.is_behind(),
            Some(JobKind::Resync) | None => false,
        }
    }

    /// Whether no row waits to be repaired.
    #[inline]
    pub(super) fn no_repair_waits(&self) -> bool {
        self.repairs.none_waits()
    }

    /// The next row to repair, if another may run.
    pub(super) fn next_repair(&mut self, stripes: &Stripes) -> Option<Begun> {
        let NextRepair { row, members, waiter } = self.repairs.next()?;
        let Row { stripe, row: first_row } = row;
        let chunks = stripes.places.layout.data_chunks();
        let segment = Segment { stripe, first_row, rows: 1, first_chunk: 0, chunks };
        let work = match stripes.places.has_doubtful_copies(stripe) {
            true => Work::Settle(Settle::by(Settler::Repairs(waiter))),
            false => Work::Rewrite(Rewrite { members, waiter }),
        };
        let has_turn = matches!(waiter, Some(Waiter { lends: true, .. }));
        Some(Begun { segment, work, origin: Origin::ReadRepair, has_turn })
    }

    /// Notes the result of an operation of a job or a repair. Returns the operation that waited for
    /// it, if that may go on.
    pub(super) fn end<O: Observe>(
        &mut self,
        now: Instant,
        op: OpId,
        stripes: &mut Stripes,
        sending: &mut Sending<O>,
    ) -> Option<OpId> {
        let target = &stripes.ops[op];
        match target.work {
            Work::Repair(Repair { job, drive_failures }) => {
                let written = target.fetch.wanted();
                self.end_stripe(op, job, written, drive_failures, stripes, sending);
            }
            Work::Check(Check { job, .. }) => {
                self.end_stripe(op, job, MemberSet::EMPTY, 0, stripes, sending);
            }
            Work::Settle(settle) => match settle.owner {
                Settler::Job(job) => self.end_settling(op, job, settle, stripes, sending),
                Settler::Repairs(waiter) => {
                    return self.end_repair(now, op, waiter, stripes, sending);
                }
            },
            Work::Rewrite(Rewrite { waiter, .. }) => {
                return self.end_repair(now, op, waiter, stripes, sending);
            }
            Work::Read { .. } | Work::Write(_) | Work::Deallocate { .. } => {}
        }
        None
    }

    fn end_stripe<O: Observe>(
        &mut self,
        op: OpId,
        job: u32,
        written: MemberSet,
        drive_failures: u32,
        stripes: &mut Stripes,
        sending: &mut Sending<O>,
    ) {
        let target = &stripes.ops[op];
        let (stripe, succeeded) = (target.stripe, !target.failed);
        self.operation_ended();
        if !written.is_empty() && drive_failures != stripes.places.availability.drive_failures() {
            // It may have written to a drive that has failed since, and was even replaced; or read
            // from one that failed, although another copy exists.
            return self.repeat(job, stripe);
        }
        self.note_stripe(job, stripe, written, succeeded, stripes, sending);
    }

    /// Counts a stripe as done; `written` are the members that had to be written: all unreadable
    /// ones whose drive is not absent.
    fn note_stripe<O: Observe>(
        &mut self,
        job: u32,
        stripe: u64,
        written: MemberSet,
        succeeded: bool,
        stripes: &mut Stripes,
        sending: &mut Sending<O>,
    ) {
        self.stripe_done(job, succeeded);
        if succeeded {
            sending.counters.repaired_stripes += u64::from(!written.is_empty());
            let Places { layout, relocation, availability } = &mut stripes.places;
            availability.restored(layout, relocation, stripe, written);
            if let Some((drive, stripe)) = self.rebuilt_part(job, availability, layout.stripes()) {
                sending.out.emit(Action::RebuiltBefore { drive, stripe });
            }
        }
    }

    fn end_settling<O: Observe>(
        &mut self,
        op: OpId,
        job: u32,
        settle: Settle,
        stripes: &mut Stripes,
        sending: &mut Sending<O>,
    ) {
        let target = &stripes.ops[op];
        let (stripe, failed) = (target.stripe, target.failed);
        self.operation_ended();
        if settle.drive_failures != stripes.places.availability.drive_failures() {
            // A drive that was read or written may have failed since.
            return self.repeat(job, stripe);
        }
        self.stripe_done(job, !failed);
        if !failed {
            sending.counters.repaired_stripes += u64::from(settle.differs());
            stripes.places.availability.settled(stripe);
        }
    }

    fn end_repair<O: Observe>(
        &mut self,
        now: Instant,
        op: OpId,
        waiter: Option<Waiter>,
        stripes: &Stripes,
        sending: &mut Sending<O>,
    ) -> Option<OpId> {
        let target = &stripes.ops[op];
        let (stripe, row, failed) = (target.stripe, target.first_row, target.failed);
        let tried = target.rewritten();
        let readable = match target.work {
            Work::Settle(_) => 0,
            _ => u64::from((target.fetch.wanted() - tried).len()),
        };
        let mut counts = RepairCounters { readable, ..RepairCounters::default() };
        for member in tried {
            let place = stripes.place(op, member);
            if stripes.places.availability.is_absent(place.drive) {
                continue;
            }
            let repair = PageRepair { drive: place.drive, lba: place.block, repaired: !failed };
            *if failed { &mut counts.lost } else { &mut counts.rewritten } += 1;
            sending.out.emit_event(now, || Event::PageRepaired(repair));
            sending.out.emit(Action::Happened(Happening::PageRepaired(repair)));
        }
        self.repairs.end(Row { stripe, row }, waiter, &counts)
    }

    /// Queues members that an ending operation could not read for repair, unless it has waited for
    /// their repair.
    #[cold]
    pub(super) fn note_broken(&mut self, op: OpId, stripes: &Stripes) {
        let broken = stripes.broken(op);
        let target = &stripes.ops[op];
        let known = match target.work {
            Work::Rewrite(Rewrite { members, .. }) => members,
            // It writes them itself, or nothing of the row can be recovered.
            Work::Settle(_) => return,
            _ => target.awaited,
        };
        let members = broken - known;
        if !members.is_empty() && stripes.places.layout.parities() > 0 {
            self.repairs.note(target.stripe, target.range(), members);
        }
    }

    /// Whether an operation that met media errors can wait for repairs of its rows and begin again.
    /// A single row is repaired as well: an error may occur once, and the repair reads again. Each
    /// member is waited for once.
    pub(super) fn can_repair_for(&self, op: OpId, stripes: &Stripes) -> bool {
        let target = &stripes.ops[op];
        let is_repair = matches!(
            target.work,
            Work::Rewrite(_) | Work::Settle(Settle { owner: Settler::Repairs(_), .. })
        );
        !(stripes.broken(op) - target.awaited).is_empty()
            && !is_repair
            && self.repairs.is_enabled()
            && stripes.places.layout.parities() > 0
            && (!stripes.places.availability.is_in_doubt(target.stripe)
                || stripes.places.layout.level().is_mirrored())
    }

    /// Has the rows of an operation settled; then the operation begins again. It has read and
    /// changed nothing so far.
    pub(super) fn wait_for_settling(&mut self, now: Instant, op: OpId, stripes: &mut Stripes) {
        let target = &mut stripes.ops[op];
        let members = stripes.places.layout.member_set(target.stripe);
        target.enter(Phase::WaitRepair);
        target.fetch.park(now, &Delays::ZERO);
        target.awaited = members;
        let waiter = Waiter { op, lends: !target.is_read() };
        self.repairs.wait(waiter, target.stripe, target.range(), members);
    }
}

/// Whether a rebuild can skip a stripe: the drive has no member of it.
fn is_passed_over(stripes: &Stripes, kind: JobKind, stripe: u64) -> bool {
    let JobKind::Rebuild(drive) = kind else { return false };
    // A write in progress may relocate a chunk there: the rebuild waits for its turn.
    !stripes.places.relocation.can_move()
        && stripes.places.members_on(stripe, MemberSet::of(drive.0)).is_empty()
}

fn work_of(job: u32, kind: JobKind, is_mirrored: bool) -> Work {
    match kind {
        JobKind::Resync if is_mirrored => Work::Settle(Settle::by(Settler::Job(job))),
        JobKind::Rebuild(_) | JobKind::Resync => Work::Repair(Repair::of(job)),
        JobKind::Scrub | JobKind::ScrubRepair => {
            Work::Check(Check::of(job, kind == JobKind::ScrubRepair))
        }
    }
}
