//! Restoring: drives that were replaced get their members back, parity that may not fit is computed
//! anew, and parity is compared with its data.
//!
//! All of it is done stripe by stripe, with all rows of the chunks. An operation takes its turn among
//! the writes of the stripe, so that nothing changes under it and whatever is written later finds the
//! stripe restored. Readers are not held up: they do not use what is being restored. Its commands carry
//! no flag: nobody waits for them.
//!
//! A stripe of which too much is missing is left as it is and counted; the others go on. A read that a
//! drive could not do makes a stripe such a one, if there is no further parity.

use crate::action::{Action, DataAction, OpId, Slot};
use crate::engine::Array;
use crate::layout::Segment;
use crate::op::{OpKind, Phase};
use crate::parity::{self, members};
use crate::stripes::StripeSet;
use alloc::collections::VecDeque;
use core::ops::Range;
use nvme::{Delays, PlFlag};
use units::{DriveId, Instant};

/// What is done to all stripes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A drive that was replaced gets its members back.
    Rebuild(DriveId),
    /// Parity that may not fit is computed anew.
    Resync,
    /// Parity is compared with its data.
    Scrub,
}

/// Work that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restoring {
    /// What is done.
    pub what: Work,
    /// Stripes that are done.
    pub done: u64,
    /// Stripes that are to be done.
    pub total: u64,
    /// Stripes among those that are done which could not be: too much of them is missing.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    /// Number since the start; operations of another do not count for this.
    number: u32,
    restoring: Restoring,
    /// Stripes before this have been begun.
    next: u64,
}

/// What is to be restored, one thing after the other.
#[derive(Clone, Debug)]
pub(crate) struct Restoration {
    jobs: VecDeque<Job>,
    numbers: u32,
    /// Operations that are not done.
    in_flight: u32,
    depth: u32,
    /// Nothing new is begun.
    pub(crate) paused: bool,
}

impl Restoration {
    pub(crate) fn new(depth: u32) -> Self {
        Self { jobs: VecDeque::new(), numbers: 0, in_flight: 0, depth: depth.max(1), paused: false }
    }

    fn add(&mut self, what: Work, total: u64) {
        self.numbers += 1;
        let restoring = Restoring { what, done: 0, total, lost: 0 };
        self.jobs.push_back(Job { number: self.numbers, restoring, next: 0 });
    }

    /// The drive is gone: there is nothing to restore to.
    pub(crate) fn cancel(&mut self, drive: DriveId) {
        self.jobs.retain(|job| job.restoring.what != Work::Rebuild(drive));
    }
}

impl Array {
    /// What is being restored or compared; of several things the one that is done first.
    #[must_use]
    pub fn restoring(&self) -> Option<Restoring> {
        self.health.restoration.jobs.front().map(|job| job.restoring)
    }

    /// Computes the parity of these stripes anew, in the background: after a crash it may not fit their
    /// data. Until then nothing is rebuilt with it. [`Action::Restored`] or [`Action::NotRestored`]
    /// without a drive when all are done. To be called before the first request.
    ///
    /// If data of a stripe is missing there is nothing to compute from. Its parity stays as it is and
    /// is taken to fit: a driver that writes to arrays with missing drives must have seen to that, by a
    /// journal for example, before it calls this. Of stripes whose data goes missing later, before they
    /// are restored, what is missing cannot be rebuilt, and reads of it and all writes fail.
    pub fn resync(&mut self, now: Instant, stripes: impl IntoIterator<Item = Range<u64>>) {
        if !self.layout.level().is_redundant() {
            return;
        }
        let all = self.layout.stripes();
        let mut unsynced = StripeSet::default();
        for Range { start, end } in stripes {
            unsynced.insert(start.min(all)..end.min(all));
        }
        let mut next = 0;
        while !self.layout.level().is_mirrored()
            && self.health.absent != 0
            && let Some(stripe) = unsynced.first_from(next)
        {
            let data = self.layout.members(stripe) & !self.layout.parity_mask(stripe);
            if data & self.unwritable(stripe) != 0 {
                unsynced.remove(stripe);
            }
            next = stripe + 1;
        }
        self.health.restoration.add(Work::Resync, unsynced.len());
        self.health.unsynced = unsynced;
        self.health.look_again();
        self.pump_restoration(now);
    }

    /// Reads every stripe and has its parity compared with its data ([`DataAction::Check`]); nothing is
    /// written. [`Action::Scrubbed`] at the end.
    pub fn scrub(&mut self, now: Instant) {
        self.health.restoration.add(Work::Scrub, self.layout.stripes());
        self.pump_restoration(now);
    }

    pub(crate) fn begin_rebuild(&mut self, now: Instant, drive: DriveId) {
        self.health.restoration.add(Work::Rebuild(drive), self.layout.stripes());
        self.pump_restoration(now);
    }

    /// Begins as many operations as may run at a time, and goes to the next work when one is done.
    #[inline]
    pub(crate) fn pump_restoration(&mut self, now: Instant) {
        if !self.health.restoration.jobs.is_empty() {
            self.restore_more(now);
        }
    }

    #[cold]
    fn restore_more(&mut self, now: Instant) {
        while let Some(job) = self.health.restoration.jobs.front().copied() {
            let Restoration { in_flight, depth, paused, .. } = self.health.restoration;
            if in_flight >= depth || paused {
                return;
            }
            let Some(stripe) = self.next_stripe(&job) else {
                if in_flight > 0 {
                    return;
                }
                self.end_work();
                continue;
            };
            if let Some(job) = self.health.restoration.jobs.front_mut() {
                job.next = stripe + 1;
            }
            if let Work::Rebuild(drive) = job.restoring.what
                // A write that is under way may bring a chunk here: its turn is waited for.
                && !self.placement.can_move()
                && self.members_on(stripe, 1 << drive.0) == 0
            {
                self.note_restored(job.number, stripe, 0, true);
                continue;
            }
            let kind = match job.restoring.what {
                Work::Rebuild(_) | Work::Resync => OpKind::Restore,
                Work::Scrub => OpKind::Check,
            };
            self.health.restoration.in_flight += 1;
            self.open_restore(now, job.number, kind, stripe);
        }
    }

    fn next_stripe(&self, job: &Job) -> Option<u64> {
        match job.restoring.what {
            Work::Rebuild(drive) => {
                let mut unrestored = self.health.unrestored.iter();
                unrestored.find(|(other, _)| *other == drive)?.1.first_from(job.next)
            }
            Work::Resync => self.health.unsynced.first_from(job.next),
            Work::Scrub => (job.next < self.layout.stripes()).then_some(job.next),
        }
    }

    fn end_work(&mut self) {
        let Some(job) = self.health.restoration.jobs.pop_front() else { return };
        let Restoring { what, lost, .. } = job.restoring;
        let ended = |drive| match lost {
            0 => Action::Restored { drive },
            stripes => Action::NotRestored { drive, stripes },
        };
        self.actions.push_back(match what {
            Work::Rebuild(drive) => ended(Some(drive)),
            Work::Resync => ended(None),
            Work::Scrub => Action::Scrubbed { skipped: lost },
        });
    }

    fn open_restore(&mut self, now: Instant, job: u32, kind: OpKind, stripe: u64) {
        let segment = Segment {
            stripe,
            first_row: 0,
            rows: self.layout.chunk_pages(),
            first_chunk: 0,
            chunks: self.layout.data_chunks(),
        };
        let op = self.insert_op(now, job, kind, &segment, 0, 0);
        if self.data_actions {
            self.data(DataAction::Open { op: OpId(op), request: None, rows: segment.rows });
        }
        self.enter_write(now, op);
    }

    /// It is the operation's turn: reads what it restores from.
    pub(crate) fn plan_restore(&mut self, now: Instant, op: u32) {
        let stripe = self.ops.get(op).stripe;
        let unreadable = self.unreadable(stripe);
        let absent = self.members_on(stripe, self.health.absent);
        let drive_failures = self.health.drive_failures;
        let target = self.ops.get_mut(op);
        target.phase = Phase::Gather;
        target.gone = unreadable;
        target.missing = unreadable;
        target.wanted = unreadable & !absent;
        target.drive_failures = drive_failures;
        if target.wanted == 0 {
            // Whoever restored the stripe for another reason has done this as well.
            self.end_turn(now, op);
            return;
        }
        if self.cope_with_missing(now, op, Delays::ZERO) {
            self.rebuild(now, op, Delays::ZERO);
        }
    }

    /// It is the operation's turn: reads what it compares.
    pub(crate) fn plan_check(&mut self, now: Instant, op: u32) {
        let stripe = self.ops.get(op).stripe;
        let readable = self.layout.members(stripe) & !self.unreadable(stripe);
        let parity = self.layout.parity_mask(stripe);
        let data = self.layout.members(stripe) & !parity;
        let target = self.ops.get_mut(op);
        target.phase = Phase::Gather;
        target.wanted = readable;
        if data & !readable != 0 || parity & readable == 0 {
            // Nothing to compare: not an error if nothing is missing (there is no parity).
            target.failed = parity != 0;
            self.end_turn(now, op);
            return;
        }
        for member in members(readable) {
            self.read(now, op, member, PlFlag::Off, false, 0);
        }
    }

    /// What an operation restores is known: writes it.
    pub(crate) fn commit_restored(&mut self, now: Instant, op: u32) {
        let target = self.ops.get_mut(op);
        target.phase = Phase::Commit;
        let (stripe, wanted) = (target.stripe, target.wanted);
        let absent = self.members_on(stripe, self.health.absent);
        for member in members(wanted & !absent) {
            self.write(now, op, member);
        }
        if self.ops.get(op).writing == 0 {
            self.end_turn(now, op);
        }
    }

    /// Has the parities compared that were read.
    pub(crate) fn say_check(&mut self, now: Instant, op: u32) {
        if self.data_actions {
            let target = self.ops.get(op);
            let (stripe, wanted) = (target.stripe, target.wanted);
            for member in members(wanted & self.layout.parity_mask(stripe)) {
                let terms = parity::full(&self.layout, stripe, member, 0);
                let target = Slot { new: false, member };
                self.data(DataAction::Check { op: OpId(op), target, terms });
            }
        }
        self.end_turn(now, op);
    }

    /// An operation that restores or compares is over, by success or not; the stripe is for others.
    pub(crate) fn end_turn(&mut self, now: Instant, op: u32) {
        let stripe = self.ops.get(op).stripe;
        self.leave_lock(op);
        self.finish(now, op);
        self.wake(now, stripe);
    }

    /// Notes what an operation of the array's own has come to.
    pub(crate) fn end_restore(&mut self, op: u32) {
        let target = self.ops.get(op);
        let (job, stripe, failed) = (target.request, target.stripe, target.failed);
        let written = if target.kind == OpKind::Restore { target.wanted } else { 0 };
        let seen = target.drive_failures;
        self.health.restoration.in_flight -= 1;
        if !failed && written != 0 && seen != self.health.drive_failures {
            // It may have written to a drive that failed, and was even replaced, meanwhile.
            let mut jobs = self.health.restoration.jobs.iter_mut();
            if let Some(job) = jobs.find(|other| other.number == job) {
                job.next = job.next.min(stripe);
            }
            return;
        }
        self.note_restored(job, stripe, written, !failed);
    }

    /// A stripe is done; `written` are the members that had to be written, as bits: everything that
    /// could not be read and is not absent.
    fn note_restored(&mut self, job: u32, stripe: u64, written: u64, succeeded: bool) {
        let mut jobs = self.health.restoration.jobs.iter_mut();
        if let Some(job) = jobs.find(|other| other.number == job) {
            job.restoring.done += 1;
            job.restoring.lost += u64::from(!succeeded);
        }
        if !succeeded {
            return;
        }
        self.counters.restored_stripes += u64::from(written != 0);
        let mut unrestored = core::mem::take(&mut self.health.unrestored);
        for (drive, stripes) in &mut unrestored {
            if self.members_on(stripe, 1 << drive.0) & !written == 0 {
                stripes.remove(stripe);
            }
        }
        self.health.unrestored = unrestored;
        if written != 0 {
            self.health.unsynced.remove(stripe);
        }
        self.health.look_again();
    }
}
