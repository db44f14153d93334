//! How long the work of a die keeps a read waiting, and whether that work can wait instead.
//!
//! Knows: what dies, collections and the FTL say about themselves. Changes nothing.

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
    /// Programs of pages that hosts wrote: the flush of a write buffer, or writes of which reads
    /// are told.
    Programs,
}

/// The machines that know what a die has to do.
#[derive(Clone, Copy)]
pub(super) struct Waits<'a> {
    pub(super) config: &'a Config,
    pub(super) ftl: &'a Ftl,
    pub(super) dies: &'a DieArray,
    pub(super) collector: &'a Collector,
    pub(super) relocator: Option<&'a Relocator>,
}

impl Waits<'_> {
    /// The work that makes `die` busy.
    ///
    /// The second half matters: when a collection ends, the writes that queued up behind it still
    /// stand in the way, and a read among them is as late because of the collection as one before.
    /// In the predictable window the contract is not to *start* anything, so what little is left of
    /// a queue there is served as it comes.
    #[inline]
    pub(super) fn busy_with(&self, now: Instant, die: u32) -> Option<BusyWith> {
        if self.dies.is_collecting(die) {
            return Some(BusyWith::Collection);
        }
        if self.dies.programs_on(die) > 0 && self.tells_of_programs() {
            return Some(BusyWith::Programs);
        }
        let range = self.ftl.shape().range_of_die(die);
        let is_held_up = self.dies.is_held_up_on(die)
            && !self.dies.reads_overtake()
            && self.collector.rights().allowed_until(now, range).is_some();
        is_held_up.then_some(BusyWith::Collection)
    }

    /// Whether a read that arrives now on `die` waits no longer for what changes flash there than a
    /// read takes. To get it from the other drives takes at least that long.
    pub(super) fn makes_way(&self, now: Instant, die: u32) -> bool {
        self.wait_of_read(now, die) <= self.dies.times().read_service
    }

    /// Time until a read that arrives now on `die` could be served, where it can interrupt what
    /// changes flash there until it has been; and as [`Waits::busy_remaining`] where it cannot.
    fn wait_of_read(&self, now: Instant, die: u32) -> Duration {
        let read = self.dies.times().read_service;
        let left = self.dies.interruption(die).left();
        // Between its steps only a preemptive collection stands back.
        let stands_back =
            self.dies.job_on(die).is_none() || self.config.scheduling.preemptive_collection;
        // How long it waits, and what goes on afterwards and must be over in time.
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
        // One that works on another die stands back for nothing here.
        let is_open = self.dies.reads_overtake() && makes_room && !self.dies.is_held(die);
        // The queue may go first, and the collection has to bear all of it.
        let ahead = self.dies.queued_work(die);
        match is_open && self.has_time_for(now, die, wait + ahead + read + afterwards) {
            true => wait,
            false => self.busy_remaining(now, die),
        }
    }

    /// Whether a read is told of a program that it would wait for: of the flush of a write buffer
    /// always, of what the host writes only if that is promised.
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

    /// The busy remaining time of `die`: of a drive that does all its work in windows what reads
    /// wait that interrupt it, where they can.
    pub(super) fn announced_wait(&self, now: Instant, die: u32) -> Duration {
        match self.collector.rights().scope() {
            WindowScope::Collections => self.busy_remaining(now, die),
            WindowScope::AllWork => self.wait_of_read(now, die),
        }
    }

    /// What is left of the current step of a die and of its collection.
    pub(super) fn collection_left(&self, now: Instant, die: u32) -> Duration {
        let left = self.dies.step_left(now, die) + self.dies.interruption(die).left();
        let Some(collection) = self.dies.collection_on(die) else { return left };
        let collection = self.collector.get(collection);
        let number = collection.victim_die.unwrap_or(die);
        let valid = match self.dies.job_on(number) {
            // The erase is the current step.
            Some(_) if self.dies.is_erasing(number) => None,
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

    /// Pages that the collection on a die has still to move, but for the copy under way.
    fn valid_left(&self, die: u32, job: &Job) -> u32 {
        let end = job.first_page + self.ftl.shape().pages_per_block;
        let gathered = self.relocator.map_or(0, |relocator| relocator.gathered(die));
        self.ftl.count_valid_between(job.cursor, end) + gathered
    }

    /// Whether a die may begin another read while some of its planes read: not if what it has to go
    /// back to cannot wait.
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

    /// Whether the collection on `die`, for which nothing waits, lets other dies of its channel go
    /// first.
    pub(super) fn yields_to_channel(&self, now: Instant, die: u32) -> bool {
        self.config.scheduling.preemption_scope == PreemptionScope::Channel
            && self.dies.is_channel_wanted(self.dies.channel_of(die))
            && self.has_time_for(now, die, self.dies.times().program_service)
    }

    /// Whether a collection on `die` may be held up for `length`. The current step and a suspended
    /// one come on top.
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
            // It waits for the die, and if it is not late it may wait for longer.
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

    /// When a die has collected a block with so many valid pages in the worst case, after what it
    /// has to do.
    pub(super) fn collected_at(&self, now: Instant, die: u32, valid: u32) -> Instant {
        now + self.dies.committed_work(now, die) + self.config.collection_bound(valid)
    }
}
