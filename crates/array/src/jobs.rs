//! Background jobs: rebuild of a replaced drive, resync of parity after a crash, and scrub.
//!
//! A job works stripe by stripe, on all rows of the chunks. Its stripe operation queues with the
//! writes of the stripe, so no write changes the stripe meanwhile, and later writes find it rebuilt
//! or resynced. Reads do not wait: they do not use the members that are being written. The commands
//! of a job carry no flag, because no host waits for them.
//!
//! A stripe with more unreadable members than parities is skipped and counted. A read error makes a
//! member unreadable, too.

use crate::availability::Availability;
use crate::happening::JobKind;
use crate::read_repairs::ReadRepairs;
use alloc::collections::VecDeque;
use units::DriveId;

/// Number of parts of a drive; a rebuild reports each part that is done. A report drains and syncs
/// the array and changes its superblocks, so it should be rare; a restart repeats at most one part.
const PARTS: u64 = 32;

/// Progress of a background job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobProgress {
    /// The kind of job.
    pub what: JobKind,
    /// Stripes that are done.
    pub done: u64,
    /// Stripes in all.
    pub total: u64,
    /// Stripes that were skipped, because too many of their members are unreadable; part of `done`.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    /// Number since the start, by which operations find their job.
    number: u32,
    progress: JobProgress,
    /// The next stripe; all before it have been started.
    next: u64,
    /// Parts of the drive that a rebuild has reported.
    parts: u64,
}

/// Next step of the jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Nothing now.
    Nothing,
    /// Work on this stripe, for the job of this number.
    Stripe { job: u32, kind: JobKind, stripe: u64 },
    /// The job is over.
    Ended(JobProgress),
}

/// The jobs, carried out one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    jobs: VecDeque<Job>,
    numbers: u32,
    /// Stripe operations that are not done.
    in_flight: u32,
    depth: u32,
    paused: bool,
    /// Read repairs, which run beside the jobs.
    pub(crate) repairs: ReadRepairs,
}

impl Jobs {
    pub(crate) fn new(depth: u32, read_repair: bool) -> Self {
        Self {
            jobs: VecDeque::new(),
            numbers: 0,
            in_flight: 0,
            depth: depth.max(1),
            paused: false,
            repairs: ReadRepairs::new(read_repair),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Progress of the job that is being done.
    pub(crate) fn current(&self) -> Option<JobProgress> {
        self.jobs.front().map(|job| job.progress)
    }

    /// Whether a rebuild of the drive is in progress or waits for its turn.
    pub(crate) fn has_rebuild(&self, drive: DriveId) -> bool {
        self.jobs.iter().any(|job| job.progress.what == JobKind::Rebuild(drive))
    }

    pub(crate) fn add(&mut self, what: JobKind, total: u64) {
        self.numbers += 1;
        let progress = JobProgress { what, done: 0, total, lost: 0 };
        self.jobs.push_back(Job { number: self.numbers, progress, next: 0, parts: 0 });
    }

    /// Cancels the rebuild of a drive that has failed.
    pub(crate) fn cancel_rebuild(&mut self, drive: DriveId) {
        self.jobs.retain(|job| job.progress.what != JobKind::Rebuild(drive));
    }

    /// Pauses or resumes the jobs. While paused, nothing new is begun.
    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Returns the next step. A stripe counts as begun when it is returned, and as in flight until
    /// [`Jobs::operation_ended`].
    pub(crate) fn step(&mut self, availability: &Availability, stripes: u64) -> Step {
        let Some(job) = self.jobs.front_mut() else { return Step::Nothing };
        if self.in_flight >= self.depth || self.paused {
            return Step::Nothing;
        }
        let kind = job.progress.what;
        let stripe = match kind {
            JobKind::Rebuild(drive) => availability.next_to_rebuild(drive, job.next),
            JobKind::Resync => availability.next_to_resync(job.next),
            JobKind::Scrub | JobKind::ScrubRepair => (job.next < stripes).then_some(job.next),
        };
        let Some(stripe) = stripe else {
            if self.in_flight > 0 {
                return Step::Nothing;
            }
            let ended = job.progress;
            self.jobs.pop_front();
            return Step::Ended(ended);
        };
        job.next = stripe + 1;
        self.in_flight += 1;
        Step::Stripe { job: job.number, kind, stripe }
    }

    /// Counts one operation less in flight.
    pub(crate) fn operation_ended(&mut self) {
        self.in_flight -= 1;
    }

    fn find(&mut self, number: u32) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.number == number)
    }

    /// Has a stripe done again.
    pub(crate) fn repeat(&mut self, job: u32, stripe: u64) {
        if let Some(job) = self.find(job) {
            job.next = job.next.min(stripe);
        }
    }

    /// The rebuilt drive and its first stripe still to rebuild, whenever another of [`PARTS`] of
    /// the drive is done.
    pub(crate) fn rebuilt_part(
        &mut self,
        job: u32,
        availability: &Availability,
        stripes: u64,
    ) -> Option<(DriveId, u64)> {
        let job = self.find(job)?;
        let JobKind::Rebuild(drive) = job.progress.what else { return None };
        let first = availability.next_to_rebuild(drive, 0)?;
        let parts = (u128::from(first) * u128::from(PARTS) / u128::from(stripes.max(1))) as u64;
        if parts <= job.parts {
            return None;
        }
        job.parts = parts;
        Some((drive, first))
    }

    /// Counts a stripe as done, or as skipped unless it succeeded.
    pub(crate) fn stripe_done(&mut self, job: u32, succeeded: bool) {
        if let Some(job) = self.find(job) {
            job.progress.done += 1;
            job.progress.lost += u64::from(!succeeded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::MemberSet;
    use core::iter::once;

    const DRIVE: DriveId = DriveId(1);

    /// `stripes` stripes of `DRIVE` are to be rebuilt, and nothing else is missing.
    fn lacking(stripes: u64) -> Availability {
        let mut availability = Availability::new(MemberSet::of(DRIVE.0));
        assert_eq!(availability.drive_replaced(DRIVE, once(0..stripes)), stripes);
        availability
    }

    fn stripe(job: u32, kind: JobKind, stripe: u64) -> Step {
        Step::Stripe { job, kind, stripe }
    }

    #[test]
    fn jobs_are_done_one_after_the_other_and_as_many_stripes_at_a_time_as_may_be() {
        let (optimal, kinds) =
            (Availability::new(MemberSet::EMPTY), [JobKind::Scrub, JobKind::ScrubRepair]);
        let mut jobs = Jobs::new(2, false);
        assert!(jobs.is_empty() && jobs.current().is_none());
        kinds.iter().for_each(|&kind| jobs.add(kind, 3));
        for (number, kind) in (1..).zip(kinds) {
            let current = |jobs: &Jobs| jobs.current().map(|of| (of.what, of.done, of.lost));
            assert!(!jobs.is_empty());
            assert_eq!(current(&jobs), Some((kind, 0, 0)));
            assert_eq!(jobs.step(&optimal, 3), stripe(number, kind, 0));
            assert_eq!(jobs.step(&optimal, 3), stripe(number, kind, 1));
            assert_eq!(jobs.step(&optimal, 3), Step::Nothing, "two are under way");
            jobs.stripe_done(number, true);
            jobs.stripe_done(number + 5, false);
            assert_eq!(current(&jobs), Some((kind, 1, 0)));
            jobs.operation_ended();
            jobs.set_paused(true);
            assert_eq!(jobs.step(&optimal, 3), Step::Nothing, "nothing is begun");
            jobs.set_paused(false);
            jobs.repeat(number, 1);
            jobs.repeat(number, 9);
            jobs.repeat(number + 5, 0);
            assert_eq!(jobs.step(&optimal, 3), stripe(number, kind, 1));
            jobs.operation_ended();
            assert_eq!(jobs.step(&optimal, 3), stripe(number, kind, 2));
            jobs.operation_ended();
            assert_eq!(jobs.step(&optimal, 3), Step::Nothing, "one is under way");
            jobs.operation_ended();
            jobs.stripe_done(number, false);
            jobs.stripe_done(number, true);
            let ended = JobProgress { what: kind, done: 3, total: 3, lost: 1 };
            assert_eq!(jobs.step(&optimal, 3), Step::Ended(ended));
        }
        assert!(jobs.is_empty());
        assert_eq!(jobs.step(&optimal, 3), Step::Nothing);
    }

    #[test]
    fn a_rebuild_is_given_up_with_its_drive_and_others_go_on() {
        let availability = lacking(10);
        let mut jobs = Jobs::new(0, false);
        jobs.add(JobKind::Rebuild(DriveId(2)), 5);
        jobs.add(JobKind::Rebuild(DRIVE), 10);
        jobs.add(JobKind::Scrub, 10);
        assert!(jobs.has_rebuild(DRIVE) && jobs.has_rebuild(DriveId(2)));
        jobs.cancel_rebuild(DriveId(2));
        assert!(jobs.has_rebuild(DRIVE) && !jobs.has_rebuild(DriveId(2)));
        let rebuild = JobKind::Rebuild(DRIVE);
        assert_eq!(jobs.step(&availability, 10), stripe(2, rebuild, 0), "at least one at a time");
        assert_eq!(jobs.step(&availability, 10), Step::Nothing);
        jobs.cancel_rebuild(DRIVE);
        jobs.operation_ended();
        assert_eq!(jobs.step(&availability, 10), stripe(3, JobKind::Scrub, 0));
    }

    #[test]
    fn a_rebuild_tells_of_each_part_once() {
        for stripes in [3, PARTS - 1, PARTS, 5 * PARTS + 7, 1000] {
            let mut jobs = Jobs::new(1, false);
            jobs.add(JobKind::Rebuild(DRIVE), stripes);
            jobs.add(JobKind::Scrub, stripes);
            let mut told = 0;
            for first in 0..stripes {
                let mut left = Availability::new(MemberSet::of(DRIVE.0));
                left.drive_replaced(DRIVE, once(first..stripes));
                let parts = first * PARTS / stripes;
                let expected = (parts > told).then_some((DRIVE, first));
                assert_eq!(jobs.rebuilt_part(2, &left, stripes), None, "it is no rebuild");
                assert_eq!(jobs.rebuilt_part(1, &left, stripes), expected, "{first} of {stripes}");
                assert_eq!(jobs.rebuilt_part(1, &left, stripes), None, "once");
                told = parts;
            }
            let whole = Availability::new(MemberSet::EMPTY);
            assert_eq!(jobs.rebuilt_part(1, &whole, stripes), None);
        }
    }
}
