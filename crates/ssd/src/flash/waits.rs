//! Delay of a read by the work of a die, and whether that work can wait instead.
//!
//! Reads the state of dies, collections and the FTL. Changes nothing.

use crate::config::{Config, PreemptionScope};
use crate::dies::{DieArray, Job};
use crate::flash::collection::Leave;
use crate::flash::collector::Collector;
use crate::flash::relocator::Relocator;
use crate::ftl::Ftl;
use nvme::WindowScope;
use units::{Duration, Instant};

/// Work in the background that makes a drive busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusyWith {
    /// A collection, or work that a collection held up.
    Collection,
    /// Programs of pages that hosts wrote: the flush of a write buffer, or direct writes that count
    /// as busy.
    Programs,
}

/// Machines that determine the work of a die.
#[derive(Clone, Copy)]
pub(super) struct Waits<'a> {
    pub(super) config: &'a Config,
    pub(super) ftl: &'a Ftl,
    pub(super) dies: &'a DieArray,
    pub(super) collector: &'a Collector,
    pub(super) relocator: Option<&'a Relocator>,
}

impl Waits<'_> {
    /// Work that makes `die` busy; `None` if it is not busy.
    ///
    /// Writes that a collection held up count too. When the collection ends they still stand in the
    /// way, and delay a read as the collection did. In the predictable window the contract is not
    /// to *start* anything, so the short rest of a queue is served there as it comes.
    #[inline]
    pub(super) fn busy_with(&self, now: Instant, die: u32) -> Option<BusyWith> {
        if self.dies.is_collecting(die) {
            return Some(BusyWith::Collection);
        }
        if self.dies.programs_on(die) > 0 && self.tells_of_programs() {
            return Some(BusyWith::Programs);
        }
        let range = self.ftl.shape().range_of_die(die);
        let is_held_up = self.dies.die(die).is_held_up()
            && !self.dies.reads_overtake()
            && self.collector.rights().allowed_until(now, range).is_some();
        is_held_up.then_some(BusyWith::Collection)
    }

    /// Returns true if a read that arrives now on `die` waits for changes of flash there no longer
    /// than a read takes. A reconstruction from the other drives takes at least that long.
    pub(super) fn makes_way(&self, now: Instant, die: u32) -> bool {
        self.wait_of_read(now, die) <= self.dies.times().read_service
    }

    /// Time until a read that arrives now on `die` could be served. If the read can interrupt a
    /// change of flash, this is the time until it has; else it is [`Waits::busy_remaining`].
    fn wait_of_read(&self, now: Instant, die: u32) -> Duration {
        let read = self.dies.times().read_service;
        let left = self.dies.interruption(die).left();
        // Between its steps only a preemptive collection stands back.
        let stands_back =
            self.dies.job_on(die).is_none() || self.config.scheduling.preemptive_collection;
        // The wait, the work afterwards that must be over in time, and whether the die makes room.
        let (wait, afterwards, makes_room) = match self.dies.suspension(now, die) {
            Some(suspension) => (suspension.after + suspension.cost, suspension.cost, true),
            None if !left.is_zero() => (self.dies.suspending_left(now, die), Duration::ZERO, true),
            None => {
                // Data take their turns on the channel. Then the program begins, and a read
                // interrupts it.
                let moves = self.dies.moves_left(die);
                let moved = self.dies.step_left(now, die) + moves;
                let program = match moves {
                    Duration::ZERO => Duration::ZERO,
                    _ => self.config.program_service(),
                };
                let wait = moved + self.dies.wait_for_program(now + moved, die);
                (wait, program, stands_back)
            }
        };
        // A collection that works on another die does not stand back for reads here.
        let is_open = self.dies.reads_overtake() && makes_room && !self.dies.die(die).is_held();
        // The queue may go first, and all of it delays the collection.
        let ahead = self.dies.queued_work(die);
        match is_open && self.has_time_for(now, die, wait + ahead + read + afterwards) {
            true => wait,
            false => self.busy_remaining(now, die),
        }
    }

    /// Returns true if a program makes a die busy: flushes of a write buffer always, direct writes
    /// of the host only if the contract covers all work.
    #[inline]
    fn tells_of_programs(&self) -> bool {
        self.config.write_buffer.is_some()
            || self.collector.rights().scope() == WindowScope::AllWork
    }

    /// Time until a read that arrives now on `die` could be served (IODA §4.2.2): the rest of the
    /// current step, of the collection, and of the work in the queue.
    pub(super) fn busy_remaining(&self, now: Instant, die: u32) -> Duration {
        self.collection_left(now, die) + self.dies.queued_work(die)
    }

    /// Busy remaining time of `die` that a completion carries. On a drive that does all its work in
    /// windows, it is the wait of a read that interrupts this work, where it can.
    pub(super) fn announced_wait(&self, now: Instant, die: u32) -> Duration {
        match self.collector.rights().scope() {
            WindowScope::Collections => self.busy_remaining(now, die),
            WindowScope::AllWork => self.wait_of_read(now, die),
        }
    }

    /// Time left to the current step of a die and to its collection.
    pub(super) fn collection_left(&self, now: Instant, die: u32) -> Duration {
        let left = self.dies.step_left(now, die) + self.dies.interruption(die).left();
        let Some(collection) = self.dies.collection_on(die) else { return left };
        let collection = self.collector.get(collection);
        let number = collection.victim_die.unwrap_or(die);
        let valid = match self.dies.job_on(number) {
            // The erase is the current step.
            Some(_) if self.dies.die(number).is_erasing() => None,
            Some(job) => Some(self.valid_left(number, job)),
            None if collection.holds_pending > 0 => {
                Some(self.ftl.count_valid(number, collection.block))
            }
            None => None,
        };
        let work = valid.map_or(Duration::ZERO, |valid| self.config.collection_time(valid.into()));
        let other = if number == die { Duration::ZERO } else { self.dies.step_left(now, number) };
        left + other + work
    }

    /// Pages that the collection on a die has still to move, without the copy under way.
    fn valid_left(&self, die: u32, job: &Job) -> u32 {
        let end = job.first_page + self.ftl.shape().pages_per_block;
        let gathered = self.relocator.map_or(0, |relocator| relocator.gathered(die));
        self.ftl.count_valid_between(job.cursor, end) + gathered
    }

    /// Returns true if a die may begin another read while some of its planes read. It may not if
    /// work that waits for the reads has no time for that.
    pub(super) fn may_read(&self, now: Instant, die: u32) -> bool {
        if self.dies.interruption(die).is_suspended() {
            return self.has_time_for(now, die, self.dies.times().read_service);
        }
        self.dies.job_on(die).is_none() || self.yields_to_host(now, die)
    }

    /// Whether the collection on `die` lets the next host operation go first: *preemptive
    /// collection* lets the host in between the page operations of a collection, until the drive is
    /// at the hard watermark (TTFLASH §6.2; IODA §6.2.4).
    #[inline]
    pub(super) fn yields_to_host(&self, now: Instant, die: u32) -> bool {
        if !self.config.scheduling.preemptive_collection {
            return false;
        }
        match self.dies.front(die) {
            Some((service, _)) => self.has_time_for(now, die, service),
            None => self.yields_to_channel(now, die),
        }
    }

    /// Whether the collection on `die` may stand still for as long as the host likes.
    pub(super) fn may_wait(&self, now: Instant, die: u32) -> bool {
        let collection = self.dies.collection_on(die).map(|id| self.collector.get(id));
        collection.is_some_and(|collection| collection.until == Instant::NEVER)
            && self.has_time_for(now, die, Duration::ZERO)
    }

    /// Whether the collection on `die`, whose queue is empty, lets other dies of its channel go
    /// first.
    pub(super) fn yields_to_channel(&self, now: Instant, die: u32) -> bool {
        self.config.scheduling.preemption_scope == PreemptionScope::Channel
            && self.dies.is_channel_wanted(self.dies.channel_of(die))
            && self.has_time_for(now, die, self.dies.times().program_service)
    }

    /// Whether a collection on `die` may be delayed by `length`, besides the current step and a
    /// suspended one.
    pub(super) fn has_time_for(&self, now: Instant, die: u32, length: Duration) -> bool {
        if self.ftl.free(die) <= self.ftl.shape().levels.hard {
            return false;
        }
        let Some(collection) = self.dies.collection_on(die) else { return true };
        let collection = self.collector.get(collection);
        if collection.leave == Leave::Forced {
            return false;
        }
        let Some(job) = self.dies.job_on(die) else {
            // The collection still waits for the die; if it is not late, it may wait for longer.
            if !self.config.scheduling.paced_writes || collection.until == Instant::NEVER {
                return self.config.scheduling.paced_writes;
            }
            let victim = collection.victim_die.unwrap_or(die);
            let valid = self.ftl.count_valid(victim, collection.block);
            return self.collected_at(now, die, valid) + length <= collection.until;
        };
        if collection.until == Instant::NEVER {
            return true;
        }
        // The copy under way counts as well: its page stays valid until it is done.
        let valid = self.valid_left(die, job) + 1;
        let current = self.dies.step_left(now, die) + self.dies.interruption(die).left();
        now + length + current + self.config.collection_bound(valid) <= collection.until
    }

    /// Time at which a die has collected a block with `valid` valid pages in the worst case, after
    /// its other work.
    pub(super) fn collected_at(&self, now: Instant, die: u32, valid: u32) -> Instant {
        now + self.dies.committed_work(now, die) + self.config.collection_bound(valid)
    }
}
