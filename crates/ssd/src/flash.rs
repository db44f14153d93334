//! The back end of a drive: its dies at work on what the host, the write buffer and collections ask
//! of them.
//!
//! Routes between the machines of the back end (mapping, dies, collector, scrub). Does not know
//! commands and their completions, nor what becomes of a page of the host before it has a place.

use crate::collection::Leave;
use crate::collector::Collector;
use crate::config::{Blocking, Config, ConfigError, PreemptionScope};
use crate::die::{Copy, Job, State};
use crate::dies::{DieArray, StepEnd, Taken};
use crate::event::Origin;
use crate::event::{Event, PageOperation};
use crate::ftl::Ftl;
use crate::journal::Journal;
use crate::media::Media;
use crate::ops::{Need, Task};
use crate::pace::Pace;
use crate::relocator::{Move, Relocator};
use crate::retry::Retry;
use crate::scrub::Unchecked;
use crate::slc::IdleTimer;
use alloc::vec::Vec;
use nvme::{Untimed, WindowScope};
use units::{Duration, Instant, Observe};

/// What the end of a step means to the front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing.
    Nothing,
    /// An operation from the queue is done; the die waits to be given the next.
    Finished(Task),
    /// This collection has all its dies now.
    Held(u32),
    /// A collection has moved some pages, so that the host may program some.
    Moved,
    /// This collection is over.
    Collected(u32),
}

/// Work in the background that makes a drive busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusyWith {
    /// A collection, or work that a collection held up.
    Collection,
    /// Programs of pages that hosts wrote: the flush of a write buffer, or writes of which reads
    /// are told.
    Programs,
}

/// The back end of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Flash<O: Observe> {
    pub(crate) config: Config,
    pub(crate) ftl: Ftl,
    pub(crate) dies: DieArray,
    pub(crate) collector: Collector,
    /// What collections move where many pages are programmed at a time.
    relocator: Option<Relocator>,
    /// How fast the host may program meanwhile, if it is paced.
    pub(crate) pace: Option<Pace>,
    /// When the host has been idle for long enough to fold the cache of SLC blocks, if there is
    /// one.
    pub(crate) idle: Option<IdleTimer>,
    /// How often pages are sensed again, if they are.
    pub(crate) retry: Option<Retry>,
    /// Copies to check in idle time, if the drive does that.
    pub(crate) unchecked: Option<Unchecked>,
    pub(crate) journal: Journal<O>,
    /// Dies that a collection gave back before its end: they wait to be given their next operation.
    pub(crate) freed: Vec<u32>,
}

impl<O: Observe> Flash<O> {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            ftl: Ftl::new(&config),
            dies: DieArray::new(&config),
            collector: Collector::new(&config),
            relocator: Relocator::new(&config),
            pace: Pace::new(&config),
            idle: IdleTimer::new(&config),
            retry: config.retry.map(Retry::new),
            unchecked: Unchecked::new(&config),
            journal: Journal::new(),
            freed: Vec::new(),
            config,
        })
    }

    pub(crate) fn observed<O2: Observe>(self) -> Flash<O2> {
        let Self {
            config,
            ftl,
            dies,
            collector,
            relocator,
            pace,
            idle,
            retry,
            unchecked,
            journal,
            freed,
        } = self;
        let journal = journal.observed();
        Flash {
            config,
            ftl,
            dies,
            collector,
            relocator,
            pace,
            idle,
            retry,
            unchecked,
            journal,
            freed,
        }
    }

    /// The drive is made otherwise from now on, as far as times go.
    pub(crate) fn set_config(&mut self, config: Config) {
        self.config = config;
        self.dies.set_times(&self.config);
        if let (Some(relocator), Some(cells)) = (&mut self.relocator, self.config.cells) {
            relocator.set_cells(cells);
            self.ftl.set_cache(cells.slc);
        }
    }

    /// Whether `die` is busy ([`Flash::busy_with`]).
    #[inline]
    pub(crate) fn meets_collection(&self, now: Instant, die: u32) -> bool {
        self.busy_with(now, die).is_some()
    }

    /// The work that makes `die` busy.
    ///
    /// The second half matters: when a collection ends, the writes that queued up behind it still
    /// stand in the way, and a read among them is as late because of the collection as one before.
    /// In the predictable window the contract is not to *start* anything, so what little is left of
    /// a queue there is served as it comes.
    #[inline]
    pub(crate) fn busy_with(&self, now: Instant, die: u32) -> Option<BusyWith> {
        let target = self.dies.die(die);
        if target.collection.is_some() {
            return Some(BusyWith::Collection);
        }
        if target.programs > 0 && self.tells_of_programs() {
            return Some(BusyWith::Programs);
        }
        let is_held_up = target.queue.held_up > 0
            && !self.dies.reads_overtake()
            && self.collector.rights.allowed_until(now, self.ftl.shape.range_of_die(die)).is_some();
        is_held_up.then_some(BusyWith::Collection)
    }

    /// Whether a read that arrives now on `die` waits no longer for what changes flash there than a
    /// read takes. To get it from the other drives takes at least that long.
    pub(crate) fn makes_way(&self, now: Instant, die: u32) -> bool {
        self.wait_of_read(now, die) <= self.dies.times().read_service
    }

    /// Time until a read that arrives now on `die` could be served, where it can interrupt what
    /// changes flash there until it has been; and as [`Flash::busy_remaining`] where it cannot.
    fn wait_of_read(&self, now: Instant, die: u32) -> Duration {
        let read = self.dies.times().read_service;
        let left = self.dies.suspended_left(die);
        let target = self.dies.die(die);
        // Between its steps only a preemptive collection stands back.
        let stands_back = target.job.is_none() || self.config.scheduling.preemptive_collection;
        // How long it waits, and what goes on afterwards and must be over in time.
        let (wait, afterwards, makes_room) = match self.dies.suspension(now, die) {
            Some(cost) => (cost, cost, true),
            None if !left.is_zero() => (Duration::ZERO, Duration::ZERO, true),
            None => {
                // Before the cells of what writes or moves can be interrupted, its data take their
                // turns.
                let turns = self.dies.channels[target.channel as usize].turns();
                let moves = self.dies.times().transfer_in * (target.moves_left() * turns);
                let program = match moves {
                    Duration::ZERO => Duration::ZERO,
                    // It begins when the data are there, and is interrupted.
                    _ => self.config.program_service(),
                };
                (self.dies.step_left(now, die) + moves, program, stands_back)
            }
        };
        // One that works on another die stands back for nothing here.
        let is_open = self.dies.reads_overtake() && makes_room && target.state != State::Held;
        // The queue may go first, and the collection has to bear all of it.
        let ahead = target.queue.work;
        match is_open && self.has_time_for(now, die, wait + ahead + read + afterwards) {
            true => wait,
            false => self.busy_remaining(now, die),
        }
    }

    /// Whether a read is told of a program that it would wait for: of the flush of a write buffer
    /// always, of what the host writes only if that is promised.
    #[inline]
    fn tells_of_programs(&self) -> bool {
        self.config.write_buffer.is_some() || self.collector.rights.scope == WindowScope::AllWork
    }

    /// Time until a read that arrives now on `die` could be served (IODA §4.2.2): the rest of the
    /// current step, of the collection, and of the work in the queue.
    pub(crate) fn busy_remaining(&self, now: Instant, die: u32) -> Duration {
        self.collection_left(now, die) + self.dies.die(die).queue.work
    }

    /// The busy remaining time of `die`: of a drive that does all its work in windows what reads
    /// wait that interrupt it, where they can.
    pub(crate) fn announced_wait(&self, now: Instant, die: u32) -> Duration {
        match self.collector.rights.scope {
            WindowScope::Collections => self.busy_remaining(now, die),
            WindowScope::AllWork => self.wait_of_read(now, die),
        }
    }

    /// What is left of the current step of a die and of its collection.
    pub(crate) fn collection_left(&self, now: Instant, die: u32) -> Duration {
        let left = self.dies.step_left(now, die) + self.dies.suspended_left(die);
        let Some(collection) = self.dies.die(die).collection else { return left };
        let collection = self.collector.get(collection);
        let number = collection.victim_die.unwrap_or(die);
        let worker = self.dies.die(number);
        let valid = match worker.job {
            // The erase is the current step.
            Some(_) if worker.state == State::Erasing => None,
            Some(job) => Some(self.valid_left(number, &job)),
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
        let end = job.first_page + self.ftl.shape.pages_per_block;
        let gathered = self.relocator.as_ref().map_or(0, |relocator| relocator.gathered(die));
        self.ftl.count_valid_between(job.cursor, end) + gathered
    }

    /// What an operation takes of its die.
    #[inline]
    fn need_of(&mut self, task: Task) -> Need {
        let pages_per_block = self.ftl.shape.pages_per_block;
        match (task, &self.config.cells) {
            (Task::Read { logical, .. }, cells) if cells.is_some() || self.retry.is_some() => {
                // A page that was never written costs what a written one costs.
                let written = self.ftl.lookup(logical);
                let page = written.unwrap_or(logical);
                let need = cells.as_ref().map_or_else(
                    || self.dies.need_of(task),
                    |cells| {
                        let offset = page % pages_per_block;
                        let slc = written.and_then(|page| self.ftl.slc_at(page));
                        Need {
                            cells: slc.map_or_else(|| cells.read_time(offset), |slc| slc.page.read),
                            transfers: 1,
                            plane: cells.read_group_of(offset),
                            flash_page: page / cells.blocks_per_page,
                        }
                    },
                );
                let Some(retry) = &mut self.retry else { return need };
                let block = page / pages_per_block;
                let retries = retry.draw(self.ftl.erase_counts()[block as usize]);
                self.journal.counters.read_retries += u64::from(retries);
                Need { cells: need.cells * u64::from(1 + retries), ..need }
            }
            (Task::FlushUnit { page, .. }, Some(cells)) => {
                let program = match (self.config.collection.untimed, self.ftl.slc_at(page)) {
                    (Untimed::Writes, _) => Duration::ZERO,
                    (_, Some(slc)) => slc.page.program,
                    (_, None) => cells.program_time(page % pages_per_block),
                };
                let transfers = self.ftl.programmed_with(page) / cells.blocks_per_page;
                Need { transfers, ..Need::of_die(program) }
            }
            _ => self.dies.need_of(task),
        }
    }

    /// Queues an operation on a die, which begins at once if it has nothing else to do. Returns
    /// whether a collection holds the operation up.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, die: u32, task: Task) -> bool {
        let need = self.need_of(task);
        let pushed = self.dies.push(now, die, task, need);
        if Journal::<O>::OBSERVED {
            let (operation, origin) = (operation_of(task), self.journal.origin_of(task));
            let overtakes = pushed.overtook;
            self.journal.emit(now, || Event::Queued { die, operation, origin, overtakes });
        }
        if pushed.overtook || self.dies.suspends_in_order(task) {
            self.suspend_for_read(now, die);
        }
        if pushed.idle {
            let held = self.dispatch(now, die);
            debug_assert_eq!(held, None, "an idle die has nothing in its queue");
        }
        pushed.held_up
    }

    /// Queues the hold of a collection. Returns whether the collection has all its dies now.
    pub(crate) fn enqueue_hold(&mut self, now: Instant, die: u32, collection: u32) -> bool {
        let hold = Task::Hold { collection };
        let pushed = self.dies.push(now, die, hold, self.dies.need_of(hold));
        pushed.idle && self.dispatch(now, die) == Some(collection)
    }

    /// Gives a die its next operation: of its collection if it works for one, else the first of its
    /// queue. Returns the collection that has all its dies now, if the die was the last to come to
    /// it.
    #[inline]
    #[must_use]
    pub(crate) fn dispatch(&mut self, now: Instant, die: u32) -> Option<u32> {
        let held = self.dispatch_die(now, die);
        if self.config.scheduling.preemption_scope == PreemptionScope::Channel {
            self.go_on_in_channel(now, self.dies.channel_of(die));
        }
        held
    }

    #[inline]
    fn dispatch_die(&mut self, now: Instant, die: u32) -> Option<u32> {
        if self.dies.is_reading(die) {
            if self.may_read(now, die) {
                self.begin_plane_reads(now, die);
            }
            return None;
        }
        let target = self.dies.die(die);
        if target.suspended.is_some() {
            if self.resume(now, die) {
                return None;
            }
        } else if target.job.is_some() && !self.yields_to_host(now, die) {
            self.step_job(now, die);
            return None;
        }
        if self.dies.has_plane_reads() && self.begin_plane_reads(now, die) {
            return None;
        }
        match self.dies.take_next(now, die) {
            Taken::Nothing => self.rest(now, die),
            Taken::Operation(task) => {
                if Journal::<O>::OBSERVED {
                    let origin = self.journal.origin_of(task);
                    self.emit_began(now, die, operation_of(task), origin);
                }
            }
            Taken::Hold(collection) => {
                return self.collector.hold(collection).then_some(collection);
            }
        }
        None
    }

    /// Whether a die may begin another read while some of its planes read: not if what it has to go
    /// back to cannot wait.
    fn may_read(&self, now: Instant, die: u32) -> bool {
        let target = self.dies.die(die);
        if target.suspended.is_some() {
            return self.has_time_for(now, die, self.dies.times().read_service);
        }
        target.job.is_none() || self.yields_to_host(now, die)
    }

    /// The free planes of a die take up what reads they find for themselves. Returns whether they
    /// found any.
    fn begin_plane_reads(&mut self, now: Instant, die: u32) -> bool {
        let mut found = false;
        while let Some(task) = self.dies.begin_plane_read(now, die) {
            found = true;
            if Journal::<O>::OBSERVED {
                let origin = self.journal.origin_of(task);
                self.emit_began(now, die, PageOperation::Read, origin);
            }
        }
        found
    }

    /// The current step of a die is over, or of a plane of it: see [`DieArray::die_of_source`].
    #[inline]
    pub(crate) fn end_step(&mut self, now: Instant, source: u32) -> Outcome {
        let die = self.dies.die_of_source(source);
        match self.dies.end_step(now, source) {
            // A read may have come while the data of a program did, when there was nothing to
            // interrupt.
            StepEnd::Continues if self.config.cells.is_some() => {
                if self.dies.front(die).is_some_and(|(_, is_read)| is_read) {
                    self.suspend_for_read(now, die);
                }
            }
            StepEnd::Continues => {}
            StepEnd::Finished(task) => {
                if Journal::<O>::OBSERVED {
                    let origin = self.journal.origin_of(task);
                    self.emit_ended(now, die, operation_of(task), origin);
                }
                return Outcome::Finished(task);
            }
            StepEnd::Copied(copy) => self.end_copy(now, die, copy),
            StepEnd::Gathered => {
                self.emit_job_ended(now, die, PageOperation::Read);
                self.step_job(now, die);
            }
            StepEnd::Relocated => {
                self.end_relocation(now, die);
                return Outcome::Moved;
            }
            StepEnd::Erased => {
                if let Some(collection) = self.end_job(now, die) {
                    return Outcome::Collected(collection);
                }
            }
            StepEnd::Scrubbed(page) => {
                self.journal.counters.scrubbed_pages += 1;
                self.journal.media(|| Media::Scrubbed { page });
                self.emit_ended(now, die, PageOperation::Read, Origin::Scrub);
                if self.dies.die(die).queue.front().is_none() {
                    self.scrub(now, die);
                } else {
                    return self.dispatch(now, die).map_or(Outcome::Nothing, Outcome::Held);
                }
            }
            StepEnd::Idle => self.scrub(now, die),
            StepEnd::Suspended => {
                return self.dispatch(now, die).map_or(Outcome::Nothing, Outcome::Held);
            }
        }
        Outcome::Nothing
    }

    /// Leaves a die without work. If it has copies to check, it begins when nothing has come for
    /// long enough.
    #[inline]
    fn rest(&mut self, now: Instant, die: u32) {
        let wake = match &self.unchecked {
            Some(unchecked) if self.dies.die(die).job.is_none() => unchecked.wake(now, die),
            _ => Instant::NEVER,
        };
        self.dies.rest(now, die, wake);
    }

    /// An idle die reads the next page that it has to check, if one is left.
    fn scrub(&mut self, now: Instant, die: u32) {
        let unchecked = self.unchecked.as_mut();
        let Some(page) = unchecked.and_then(|unchecked| unchecked.take(die, &self.ftl)) else {
            self.rest(now, die);
            return;
        };
        self.dies.begin_scrub(now, die, page);
        self.emit_began(now, die, PageOperation::Read, Origin::Scrub);
    }

    /// The next copy of a collecting die, or the erase when nothing valid is left.
    #[inline]
    pub(crate) fn step_job(&mut self, now: Instant, die: u32) {
        let target = self.dies.die(die);
        let (Some(collection), Some(job)) = (target.collection, target.job) else { return };
        if self.yields_to_host(now, die) {
            self.journal.emit(now, || Event::Preempted { die, collection });
            self.dies.interrupt_job(die);
            let held = self.dispatch(now, die);
            debug_assert_eq!(held, None, "a die that collects is held already");
            return;
        }
        if self.relocator.is_some() {
            self.step_relocation(now, die, &job);
            return;
        }
        let end = job.first_page + self.ftl.shape.pages_per_block;
        let next = self.ftl.next_valid(job.cursor, end);
        self.dies.advance_job(die, next.map_or(end, |(from, _)| from + 1));
        let Some((from, logical)) = next else {
            self.begin_erase(now, die, collection);
            return;
        };
        // It will be changed when the copy is done; a cache miss then would stall for longer.
        self.ftl.touch(logical);
        let to = self.ftl.allocate_for_collection(die);
        self.dies.begin_copy(now, die, Copy { from, to, logical });
        self.emit_job_began(now, die, PageOperation::Copy);
    }

    fn begin_erase(&mut self, now: Instant, die: u32, collection: u32) {
        self.dies.begin_erase(now, die);
        self.emit_job_began(now, die, PageOperation::Erase);
        if self.config.collection.blocking == Blocking::ChannelForCopies {
            self.free_channel(now, die, collection);
        }
    }

    /// The next pages that a collecting die gathers or programs, or the erase when nothing valid is
    /// left.
    fn step_relocation(&mut self, now: Instant, die: u32, job: &Job) {
        let (Some(relocator), Some(collection)) =
            (&mut self.relocator, self.dies.die(die).collection)
        else {
            return;
        };
        match relocator.next(die, job, &mut self.ftl) {
            Move::Gather { sense, transfers, cursor } => {
                self.dies.advance_job(die, cursor);
                self.dies.begin_gather(now, die, sense, transfers);
                self.emit_job_began(now, die, PageOperation::Read);
            }
            Move::Program { program, transfers } => {
                self.dies.begin_relocation(now, die, program, transfers);
                self.emit_job_began(now, die, PageOperation::Program);
            }
            Move::Erase => self.begin_erase(now, die, collection),
        }
    }

    /// What a collecting die has gathered is in its new place.
    fn end_relocation(&mut self, now: Instant, die: u32) {
        let Self { relocator, ftl, dies, pace, journal, .. } = self;
        if let Some(relocator) = relocator {
            if let (Some(pace), Some(job)) = (pace, dies.die(die).job) {
                pace.moved(die, job.valid);
            }
            relocator.end_program(die, |Copy { from, to, logical }| {
                journal.media(|| Media::Copied { from, to });
                ftl.commit_copy(logical, from, to);
                journal.counters.collection_reads_pages += 1;
                journal.counters.collection_programs_pages += 1;
                journal.counters.folded_pages += u64::from(ftl.slc_at(from).is_some());
            });
        }
        self.emit_job_ended(now, die, PageOperation::Program);
        self.step_job(now, die);
    }

    /// A collection that erases keeps its own die only.
    fn free_channel(&mut self, now: Instant, victim: u32, collection: u32) {
        if self.collector.get(collection).victim_die.is_none() {
            // Each die of a line works for itself.
            return;
        }
        let dies = self.collector.keep_victim(collection, victim);
        self.dies.end_following(now, victim);
        for die in dies.filter(|&die| die != victim) {
            self.release_die(die);
            self.freed.push(die);
        }
    }

    #[inline]
    fn end_copy(&mut self, now: Instant, die: u32, copy: Copy) {
        let Copy { from, to, logical } = copy;
        self.journal.media(|| Media::Copied { from, to });
        self.ftl.commit_copy(logical, from, to);
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.add(die, to);
        }
        self.journal.counters.collection_reads_pages += 1;
        self.journal.counters.collection_programs_pages += 1;
        self.emit_job_ended(now, die, PageOperation::Copy);
        self.step_job(now, die);
    }

    /// The erase that ends a die's part of a collection is done. Returns the collection if that was
    /// its last part.
    fn end_job(&mut self, now: Instant, die: u32) -> Option<u32> {
        self.emit_job_ended(now, die, PageOperation::Erase);
        let (collection, job) = self.dies.end_job(now, die);
        self.erase(die, job.first_page);
        self.journal.counters.erases += 1;
        self.collector.end_job(collection).then_some(collection)
    }

    /// A block of a die, all of whose pages are invalid, is erased.
    pub(crate) fn erase(&mut self, die: u32, first_page: u32) {
        let pages = self.ftl.shape.pages_per_block;
        self.journal.media(|| Media::Erased { first_page, pages });
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.forget(die, first_page);
        }
        self.ftl.erase(die, first_page / pages % self.ftl.shape.blocks_per_die);
    }

    /// Whether the collection on `die` lets the next host operation go first: *preemptive
    /// collection* lets the host in between the page operations of a collection, until the drive is
    /// at the hard watermark (TTFLASH §6.2; IODA §6.2.4).
    #[inline]
    fn yields_to_host(&self, now: Instant, die: u32) -> bool {
        if !self.config.scheduling.preemptive_collection {
            return false;
        }
        match self.dies.front(die) {
            Some((service, _)) => self.has_time_for(now, die, service),
            None => self.yields_to_channel(now, die),
        }
    }

    /// Whether collections let everything on their channels go first, so that nobody needs to spare
    /// them.
    pub(crate) fn stands_back_for_channels(&self) -> bool {
        let scheduling = &self.config.scheduling;
        scheduling.preemptive_collection && scheduling.preemption_scope == PreemptionScope::Channel
    }

    /// Whether the collection on `die`, for which nothing waits, lets other dies of its channel go
    /// first.
    fn yields_to_channel(&self, now: Instant, die: u32) -> bool {
        self.config.scheduling.preemption_scope == PreemptionScope::Channel
            && self.dies.is_channel_wanted(self.dies.channel_of(die))
            && self.has_time_for(now, die, self.dies.times().program_service)
    }

    /// The collections of a channel go on that have let others go first.
    fn go_on_in_channel(&mut self, now: Instant, channel: u32) {
        for die in 0..self.dies.len() {
            let target = self.dies.die(die);
            if target.channel == channel
                && target.state == State::Idle
                && target.job.is_some()
                && !self.yields_to_channel(now, die)
            {
                self.step_job(now, die);
            }
        }
    }

    /// Whether the host may program on `die` as far as collections go.
    pub(crate) fn is_within_pace(&self, die: u32) -> bool {
        self.collector.is_idle()
            || self.pace.as_ref().is_none_or(|pace| pace.allows(die))
            || self.folds_at_leisure(die)
    }

    /// Whether what is collected is the cache of SLC blocks, and nothing needs the room: the host
    /// need not wait for that.
    fn folds_at_leisure(&self, die: u32) -> bool {
        self.ftl.slc.is_some()
            && self.ftl.free(die) > self.collect_at()
            && !self.ftl.is_slc_low(die)
    }

    /// When the host will have been idle for long enough to fold the cache of SLC blocks.
    #[inline]
    pub(crate) fn idle_due(&self) -> Instant {
        self.idle.as_ref().map_or(Instant::NEVER, IdleTimer::due)
    }

    /// The host will program on `die`.
    pub(crate) fn charge(&mut self, die: u32) {
        if self.folds_at_leisure(die) {
            return;
        }
        if let Some(pace) = self.pace.as_mut().filter(|_| !self.collector.is_idle()) {
            pace.programmed(die);
        }
    }

    /// Whether a collection on `die` may be held up for `length`. The current step and a suspended
    /// one come on top.
    fn has_time_for(&self, now: Instant, die: u32, length: Duration) -> bool {
        if self.ftl.free(die) <= self.ftl.shape.levels.hard {
            return false;
        }
        let target = self.dies.die(die);
        let Some(collection) = target.collection else { return true };
        let collection = self.collector.get(collection);
        if collection.leave == Leave::Forced {
            return false;
        }
        let Some(job) = target.job else {
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
        let valid = self.valid_left(die, &job) + 1;
        let current = self.dies.step_left(now, die) + self.dies.suspended_left(die);
        now + length + current + self.config.collection_bound(valid) <= collection.until
    }

    /// Interrupts the program or erase on `die` for a read that has just arrived, and goes on with
    /// it afterwards: *suspension* costs time whenever it happens and has a limit for each
    /// operation, so that it ends (IODA §6.2.5). It gives way where it would carry a collection
    /// past the end of its window.
    fn suspend_for_read(&mut self, now: Instant, die: u32) {
        let Some(cost) = self.dies.suspension(now, die) else { return };
        if self.has_time_for(now, die, cost * 2 + self.dies.times().read_service) {
            self.dies.suspend(now, die, cost);
            self.journal.counters.suspensions += 1;
            self.journal.emit(now, || Event::Suspended { die });
        }
    }

    /// Goes on with what was suspended, if no read is in front of the queue. Returns whether it
    /// did.
    fn resume(&mut self, now: Instant, die: u32) -> bool {
        if self.dies.read_goes_first(die) {
            let next = self.dies.front(die).map_or(Duration::ZERO, |(service, _)| service);
            if self.has_time_for(now, die, next) {
                return false;
            }
        }
        self.dies.resume(now, die);
        self.journal.emit(now, || Event::Resumed { die });
        true
    }

    /// Checks that the machines of the back end agree. `in_flight` are flash pages that are
    /// allocated and not mapped, beyond those that dies program and then map.
    pub(crate) fn check_invariants(&self, in_flight: impl Iterator<Item = u32>) {
        self.dies.check_invariants();
        let dies = 0..self.dies.len();
        self.collector.check_invariants(dies.map(|die| self.dies.die(die).collection));
        let relocated = self.relocator.iter().flat_map(Relocator::pages_in_flight);
        self.ftl.check_invariants(self.dies.pages_in_flight().chain(relocated).chain(in_flight));
    }

    #[inline]
    fn emit_began(&mut self, now: Instant, die: u32, operation: PageOperation, origin: Origin) {
        let channel = self.dies.channel_of(die);
        self.journal.emit(now, || Event::Began { die, channel, operation, origin });
    }

    #[inline]
    fn emit_ended(&mut self, now: Instant, die: u32, operation: PageOperation, origin: Origin) {
        self.journal.emit(now, || Event::Ended { die, operation, origin });
    }

    #[inline]
    fn emit_job_began(&mut self, now: Instant, die: u32, operation: PageOperation) {
        if let Some(collection) = self.dies.die(die).collection {
            self.emit_began(now, die, operation, Origin::Collection { collection });
        }
    }

    #[inline]
    fn emit_job_ended(&mut self, now: Instant, die: u32, operation: PageOperation) {
        if let Some(collection) = self.dies.die(die).collection {
            self.emit_ended(now, die, operation, Origin::Collection { collection });
        }
    }
}

fn operation_of(task: Task) -> PageOperation {
    if task.is_read() { PageOperation::Read } else { PageOperation::Program }
}
