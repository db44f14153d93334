//! Copies of a collection that are applied only when the state of their die is needed.
//!
//! A collection that nothing can interrupt copies page after page and then erases its block. The
//! deadline of its die is the end of the erase. The copies are applied one die at a time, when a
//! command, another die or a question of the host depends on them.

use crate::config::{Blocking, Config, PreemptionScope};
use crate::dies::DieArray;
use crate::dies::die::{Copy, State, Step};
use crate::dies::ledger::Work;
use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// The dies whose copies are deferred.
#[derive(Clone, Debug)]
pub(super) struct DeferredCopies {
    /// End of the current copy of each die; [`Instant::NEVER`] if the die defers none.
    ends: Vec<Instant>,
    /// The dies that defer copies, in no order.
    dies: Vec<u32>,
}

/// The copies of one die that are to be applied: its position in the block it collects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeferredRun {
    /// The current copy.
    pub(crate) copy: Copy,
    /// End of the current copy.
    pub(crate) end: Instant,
    /// Duration of one copy.
    pub(crate) length: Duration,
    /// Flash page behind the current one.
    pub(crate) cursor: u32,
    /// First flash page of the block.
    pub(crate) first_page: u32,
    /// Copies that have been applied.
    pub(crate) ended: u32,
}

impl DeferredCopies {
    pub(super) fn new(dies: usize) -> Self {
        Self { ends: vec![Instant::NEVER; dies], dies: Vec::new() }
    }

    /// End of the current copy of a die; [`Instant::NEVER`] if the die defers none.
    #[inline]
    pub(super) fn end_on(&self, die: u32) -> Instant {
        self.ends[die as usize]
    }

    /// A die defers its copies from now on; the first ends at `end`.
    pub(super) fn begin(&mut self, die: u32, end: Instant) {
        debug_assert_eq!(self.end_on(die), Instant::NEVER, "die {die} begins twice");
        self.ends[die as usize] = end;
        self.dies.push(die);
    }

    /// A die defers its copies no longer.
    pub(super) fn end(&mut self, die: u32) {
        if self.end_on(die) != Instant::NEVER {
            self.ends[die as usize] = Instant::NEVER;
            self.dies.retain(|&one| one != die);
        }
    }
}

/// Returns true if collections of the drive run without interruption by reads or the channel, and
/// if no mechanism of the drive counts single copies.
pub(crate) fn are_possible(config: &Config) -> bool {
    let scheduling = &config.scheduling;
    config.collection.blocking != Blocking::ChannelForCopies
        && !scheduling.preemptive_collection
        && scheduling.preemption_scope == PreemptionScope::Die
        && scheduling.suspension.is_none()
        && !scheduling.paced_writes
        && config.cells.is_none()
        && config.scrub.is_none()
        && config.write_buffer.is_none()
        && config.rain.is_none()
}

impl DieArray {
    /// Sets whether copies of collections are deferred from now on.
    pub(crate) fn set_deferred_copies(&mut self, on: bool) {
        if on == self.deferred.is_some() {
            return;
        }
        self.wait_for_copies();
        self.deferred = on.then(|| DeferredCopies::new(self.dies.len()));
    }

    /// Whether copies that begin now may be deferred.
    #[inline]
    pub(crate) fn may_defer_copies(&self) -> bool {
        self.deferred.is_some()
    }

    /// Die whose job keeps this die from the host: the die itself, or another.
    #[inline]
    pub(crate) fn worker_of(&self, die: u32) -> u32 {
        self.die(die).follows.map_or(die, |(worker, _)| worker)
    }

    /// Duration of a deferred copy, which never moves data over the channel.
    #[inline]
    fn copy_length(&self) -> Duration {
        self.times.read + self.times.program
    }

    /// Time at which a die has made `copies` more copies behind its current one.
    #[inline]
    pub(crate) fn time_of_copies(&self, die: u32, copies: u32) -> Instant {
        self.step_end(die) + self.copy_length() * u64::from(copies)
    }

    /// End of the current step of a die.
    #[inline]
    pub(super) fn step_end(&self, die: u32) -> Instant {
        match &self.deferred {
            Some(deferred) if deferred.end_on(die) != Instant::NEVER => deferred.end_on(die),
            _ => self.deadlines.get(die as usize),
        }
    }

    /// Makes the ends of current copies deadlines again.
    pub(super) fn wait_for_copies(&mut self) {
        let Some(deferred) = &mut self.deferred else { return };
        for die in core::mem::take(&mut deferred.dies) {
            let end = core::mem::replace(&mut deferred.ends[die as usize], Instant::NEVER);
            self.deadlines.set(die as usize, end);
        }
    }

    /// Whether a die defers its copies.
    #[inline]
    pub(crate) fn defers_copies_on(&self, die: u32) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.end_on(die) != Instant::NEVER)
    }

    /// The dies that defer their copies, in no order.
    #[inline]
    pub(crate) fn deferring_dies(&self) -> &[u32] {
        self.deferred.as_ref().map_or(&[], |deferred| &deferred.dies)
    }

    /// The deferred copies of a die, if at least the current one ends by `until`.
    #[inline]
    pub(crate) fn deferred_run(&self, die: u32, until: Instant) -> Option<DeferredRun> {
        let end = self.deferred.as_ref()?.end_on(die);
        if end > until || end == Instant::NEVER {
            return None;
        }
        let (State::Copying(copy, _), Some(job)) = (self.die(die).state, self.job_on(die)) else {
            unreachable!("die {die} copies nothing")
        };
        let length = self.copy_length();
        let (cursor, first_page) = (job.cursor, job.first_page);
        Some(DeferredRun { copy, end, length, cursor, first_page, ended: 0 })
    }

    /// Continues a die at the position of `run`, whose copies have been applied.
    #[inline]
    pub(crate) fn go_on_deferred(&mut self, die: u32, run: &DeferredRun) {
        let target = &mut self.dies[die as usize];
        target.state = State::Copying(run.copy, Step::Program);
        if let Some(job) = &mut target.job {
            job.cursor = run.cursor;
        }
        target.ledger.repeat(run.ended, run.length);
        if let Some(deferred) = &mut self.deferred {
            deferred.ends[die as usize] = run.end;
        }
    }

    /// Ends the deferral on a die whose last copy ends now: the erase comes next.
    #[inline]
    pub(crate) fn end_deferred(&mut self, die: u32, run: &DeferredRun) {
        self.dies[die as usize].ledger.repeat(run.ended.saturating_sub(1), run.length);
        if let Some(deferred) = &mut self.deferred {
            deferred.end(die);
        }
    }

    /// Begins `copy` on a collecting die, with `left` valid pages behind it in the block. Returns
    /// whether the copies are deferred.
    #[inline]
    pub(crate) fn begin_deferred(&mut self, now: Instant, die: u32, copy: Copy, left: u32) -> bool {
        let end = now + self.copy_length();
        let read = self.times.read;
        let Some(deferred) = &mut self.deferred else { return false };
        let erases_each = self.times.blocks_per_erase == 1 && !self.times.erase.is_zero();
        if !self.times.copy_transfer.is_zero() || !erases_each {
            return false;
        }
        deferred.begin(die, end);
        let target = &mut self.dies[die as usize];
        if let Some(job) = &mut target.job {
            job.cursor = copy.from + 1;
        }
        target.state = State::Copying(copy, Step::Program);
        target.ledger.switch_with_lead(now, Some(Work::CollectionProgram), read);
        self.set_end_of_erase(die, left);
        true
    }

    /// Sets the deadline of a die that copies `left` pages behind the current one, then erases.
    pub(crate) fn set_end_of_erase(&mut self, die: u32, left: u32) {
        let due = self.time_of_copies(die, left) + self.times.erase;
        self.deadlines.set(die as usize, due);
    }
}
