//! The back end of a drive: its dies at work on what the host, the write buffer and collections ask
//! of them.
//!
//! Routes between the machines of the back end (mapping, dies, collector, scrub). Does not know:
//! commands and their completions, and the path of the host's pages before they have a place.

mod collect;
mod collection;
mod collector;
mod due;
mod horizon;
mod idle;
mod journal;
mod needs;
mod pace;
mod programs;
mod relocator;
mod rights;
mod unchecked;
mod untimed;
mod waits;

pub use collection::CollectionSpan;
pub(crate) use collector::Urgency;
pub(crate) use journal::Journal;
pub(crate) use rights::Rights;
pub use waits::BusyWith;

use crate::config::{Config, ConfigError, PreemptionScope};
use crate::counters::Counters;
use crate::dies::{self, DieArray, Need, StepEnd, Taken, Task};
use crate::event::{Event, Origin, PageOperation};
use crate::flash::collector::Collector;
use crate::flash::horizon::Horizon;
use crate::flash::idle::IdleTimer;
use crate::flash::needs::Needs;
use crate::flash::pace::Pace;
use crate::flash::programs::Programs;
use crate::flash::relocator::Relocator;
use crate::flash::unchecked::Unchecked;
use crate::flash::waits::Waits;
use crate::ftl::{Allocated, Ftl, Shape};
use crate::media::Media;
use crate::retry::Retry;
use alloc::vec::Vec;
use nvme::{CollectionRight, Untimed, WindowScope};
use units::{Duration, Instant, Observe, Ratio};

/// Consequence of the end of a step for the front end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing.
    Nothing,
    /// An operation from the queue is done; the die waits to be given the next one.
    Finished(Task),
    /// This collection has all its dies now.
    Held(u32),
    /// A collection has moved some pages, so that the host may program some.
    Moved,
    /// This collection is over.
    Collected(u32),
}

/// End of a wait that is not a step of a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitEnd {
    /// The host has sent nothing for so long that the drive folds its cache.
    HostIsIdle,
    /// A busy window opens.
    WindowOpens,
}

/// The back end of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Flash<O: Observe> {
    config: Config,
    ftl: Ftl,
    dies: DieArray,
    collector: Collector,
    /// Moves of pages by collections, where many pages are programmed at a time.
    relocator: Option<Relocator>,
    /// Pace of the host's programs during collections; `None` if they are not paced.
    pace: Option<Pace>,
    /// Timer of the host's idleness; `None` without a cache of SLC blocks.
    idle: Option<IdleTimer>,
    /// Chance that a page is sensed again; `None` if no page ever is.
    retry: Option<Retry>,
    /// Seed of that chance.
    retry_seed: u64,
    /// Copies to check in idle time; `None` if the drive does not check.
    unchecked: Option<Unchecked>,
    journal: Journal<O>,
    /// Dies that a collection gave back before its end, and that wait to be given their next
    /// operation.
    freed: Vec<u32>,
    /// Limit up to which deferred copies are applied.
    horizon: Horizon,
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
            retry_seed: 0,
            unchecked: Unchecked::new(&config),
            journal: Journal::new(),
            freed: Vec::new(),
            horizon: Horizon::new(),
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
            retry_seed,
            unchecked,
            journal,
            freed,
            horizon,
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
            retry_seed,
            unchecked,
            journal,
            freed,
            horizon,
        }
    }

    /// View that computes how long the work of dies delays reads.
    #[inline]
    fn waits(&self) -> Waits<'_> {
        let Self { config, ftl, dies, collector, relocator, .. } = self;
        Waits { config, ftl, dies, collector, relocator: relocator.as_ref() }
    }

    /// View that decides which dies may be given a program.
    #[inline]
    fn programs(&self) -> Programs<'_> {
        let Self { config, ftl, dies, collector, pace, .. } = self;
        Programs { config, ftl, dies, collector, pace: pace.as_ref() }
    }

    #[inline]
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The mapping, to read from.
    #[inline]
    pub(crate) fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The sizes of the drive.
    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        self.ftl.shape()
    }

    /// The dies, to read from.
    #[inline]
    pub(crate) fn dies(&self) -> &DieArray {
        &self.dies
    }

    /// Rights of the drive to collect.
    #[inline]
    pub(crate) fn rights(&self) -> &Rights {
        self.collector.rights()
    }

    /// Sets when the drive may collect.
    pub(crate) fn set_right(&mut self, now: Instant, right: CollectionRight) {
        self.collector.rights_mut().set(now, right);
        self.journal.emit(now, || Event::RightChanged { right });
    }

    /// Sets the work that is kept to windows.
    pub(crate) fn set_window_scope(&mut self, scope: WindowScope) {
        self.collector.rights_mut().set_scope(scope);
    }

    pub(crate) fn journal(&self) -> &Journal<O> {
        &self.journal
    }

    /// Journal to which events and totals are reported.
    #[inline]
    pub(crate) fn journal_mut(&mut self) -> &mut Journal<O> {
        &mut self.journal
    }

    /// Totals to add to.
    #[inline]
    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        self.journal.counters_mut()
    }

    /// Returns true if no collection runs or waits for its dies, and no work waits that a
    /// collection has held up.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.collector.is_idle() && !self.dies.is_held_up()
    }

    /// Whether no collection runs or waits for its dies.
    #[inline]
    pub(crate) fn collects_nothing(&self) -> bool {
        self.collector.is_idle()
    }

    /// Dies of a plane group that collections hold; `None` without plane groups.
    pub(crate) fn collecting_in_group(&self, group: u32) -> Option<u32> {
        self.collector.collecting_in_group(group)
    }

    /// Calls `tell` with every plane group where a collection has taken or returned a die since the
    /// last call.
    pub(crate) fn take_changed_groups(&mut self, tell: impl FnMut(usize)) {
        self.collector.take_changed_groups(tell);
    }

    /// Whether programs of the host are paced during collections.
    pub(crate) fn is_paced(&self) -> bool {
        self.pace.is_some()
    }

    /// Seeds the chance that a page is sensed again.
    pub(crate) fn seed_retries(&mut self, seed: u64) {
        self.retry_seed = seed;
        if let Some(retry) = &mut self.retry {
            retry.seed(seed);
        }
    }

    /// Sets the share of sensings that are repeated on top of those of the configuration.
    pub(crate) fn set_added_retries(&mut self, share: Ratio) {
        let seed = self.retry_seed;
        let retry = self.retry.get_or_insert_with(|| {
            let mut retry = Retry::none();
            retry.seed(seed);
            retry
        });
        retry.set_added(share);
    }

    /// Replaces the mapping.
    pub(crate) fn set_ftl(&mut self, ftl: Ftl) {
        self.ftl = ftl;
    }

    /// Sets the work that takes no time.
    pub(crate) fn set_untimed(&mut self, untimed: Untimed) {
        self.config.collection.untimed = untimed;
        self.dies.set_times(&self.config);
    }

    /// Replaces the configuration by one that differs in times only.
    pub(crate) fn set_config(&mut self, config: Config) {
        self.config = config;
        self.dies.set_times(&self.config);
        if let (Some(relocator), Some(cells)) = (&mut self.relocator, self.config.cells) {
            relocator.set_cells(cells);
            self.ftl.set_cache(cells.slc);
        }
    }

    /// The work that makes `die` busy: see [`Waits::busy_with`].
    #[inline]
    pub(crate) fn busy_with(&self, now: Instant, die: u32) -> Option<BusyWith> {
        self.waits().busy_with(now, die)
    }

    /// Whether `die` is busy ([`Flash::busy_with`]).
    #[inline]
    pub(crate) fn meets_collection(&self, now: Instant, die: u32) -> bool {
        self.busy_with(now, die).is_some()
    }

    /// See [`Waits::makes_way`].
    pub(crate) fn makes_way(&self, now: Instant, die: u32) -> bool {
        self.waits().makes_way(now, die)
    }

    /// See [`Waits::announced_wait`].
    pub(crate) fn announced_wait(&self, now: Instant, die: u32) -> Duration {
        self.waits().announced_wait(now, die)
    }

    /// See [`Waits::collection_left`].
    pub(crate) fn collection_left(&self, now: Instant, die: u32) -> Duration {
        self.waits().collection_left(now, die)
    }

    /// Sets whether writes wait for room in the buffer.
    #[inline]
    pub(crate) fn set_full(&mut self, is_full: bool) {
        self.dies.set_full(is_full);
        if let Some(pace) = &mut self.pace {
            pace.set_full(is_full);
        }
    }

    /// Whether `die` has fewer than `most` programs, and one more keeps the pace of collections.
    pub(crate) fn takes_program(&self, die: u32, most: u32) -> bool {
        self.programs().takes_another(die, most)
    }

    /// [`Flash::takes_program`], and the program would not wait for a collection and would be over
    /// at `until`.
    pub(crate) fn suits_program(&self, now: Instant, die: u32, until: Instant, most: u32) -> bool {
        self.programs().suits(now, die, until, most)
    }

    /// Allocates a page of the host on the next die with room.
    #[inline]
    pub(crate) fn place_for_host(&mut self, logical: u32) -> Option<Allocated> {
        if self.dies.deferring_dies().is_empty() {
            return self.ftl.allocate_for_host(logical);
        }
        self.place_beside_deferred(logical)
    }

    /// Allocates a place for dirty pages on the next die that `suits` and has room. Without enough
    /// pages for a whole program (`is_whole`), only the cache of SLC blocks has room. With
    /// `keeps_turns`, the die whose turn it is keeps its turn until it suits.
    pub(crate) fn place_for_flush(
        &mut self,
        is_whole: bool,
        keeps_turns: bool,
        suits: impl Fn(&Self, u32) -> bool,
    ) -> Option<Allocated> {
        for _ in 0..self.shape().dies {
            let die = self.ftl.turn(0);
            let takes_in = suits(self, die);
            if keeps_turns && !takes_in {
                return None;
            }
            self.ftl.take_turn(0);
            if takes_in && let Some(place) = self.ftl.allocate_for_flush_on(die, is_whole) {
                return Some(place);
            }
        }
        None
    }

    /// Allocates a page on `die` for a page of a stripe; see [`Ftl::allocate_pinned`].
    pub(crate) fn place_for_stripe(&mut self, die: u32) -> Option<Allocated> {
        self.ftl.allocate_pinned(die)
    }

    /// The program that begins at `first` has `used` pages of data; the rest is filler.
    pub(crate) fn fill_unit(&mut self, die: u32, first: u32, used: u32) {
        self.ftl.fill_unit(die, first, used);
    }

    /// Maps a logical page to `page`, where it was programmed.
    #[inline]
    pub(crate) fn commit_write(&mut self, logical: u32, page: u32) {
        self.look_at_page(logical);
        self.ftl.commit_write(logical, page);
    }

    /// [`Flash::commit_write`] for a page of a stripe.
    pub(crate) fn commit_stripe_page(&mut self, logical: u32, page: u32) {
        self.ftl.commit_pinned(logical, page);
    }

    /// Forgets a logical page that the host has deallocated.
    pub(crate) fn forget(&mut self, logical: u32) {
        self.look_at_page(logical);
        let was_mapped = self.ftl.forget(logical);
        self.counters_mut().deallocated_pages += u64::from(was_mapped);
    }

    /// Lists that a page was sensed for a command, at its present place: a collection may have
    /// moved it while the read waited.
    #[inline]
    pub(crate) fn list_sensed(&mut self, logical: u32, sensed: impl FnOnce(Option<u32>) -> Media) {
        let Self { ftl, journal, .. } = self;
        journal.media(|| sensed(ftl.lookup(logical)));
    }

    /// Need of an operation on its die.
    #[inline]
    fn need_of(&mut self, task: Task) -> Need {
        let Self { config, ftl, dies, retry, journal, .. } = self;
        let counters = journal.counters_mut();
        Needs { config, ftl, dies, retry: retry.as_mut(), counters }.of(task)
    }

    /// Queues an operation on a die; it begins at once if the die has nothing else to do. Returns
    /// whether a collection holds the operation up.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, die: u32, task: Task) -> bool {
        self.look_at(die);
        let need = self.need_of(task);
        if !Journal::<O>::OBSERVED
            && self.config.scheduling.preemption_scope == PreemptionScope::Die
            && self.dies.begin_if_idle(now, die, task, need)
        {
            return false;
        }
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
        let pushed = self.dies.push(now, die, hold, self.dies.times().need_of(hold));
        pushed.idle && self.dispatch(now, die) == Some(collection)
    }

    /// Gives a die its next operation: of the collection that it works for, else the first of its
    /// queue. Returns the collection that now has all its dies, if this die was the last that it
    /// waited for.
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
        if !self.dies.has_more_work(die) {
            self.rest(now, die);
            return None;
        }
        if self.dies.is_reading(die) {
            if self.waits().may_read(now, die) {
                self.begin_plane_reads(now, die);
            }
            return None;
        }
        if self.dies.interruption(die).is_suspended() {
            if self.resume(now, die) {
                return None;
            }
        } else if self.dies.job_on(die).is_some()
            && !self.waits().yields_to_host(now, die)
            && !self.waits_for_turn(now, die)
        {
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

    /// Begins reads on the free planes of a die. Returns whether there were any for them.
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

    /// Whether [`Flash::take_freed`] has a die to give.
    #[inline]
    pub(crate) fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// The next die that a collection gave back before its end: it waits to be given its next
    /// operation.
    pub(crate) fn take_freed(&mut self) -> Option<u32> {
        self.freed.pop()
    }

    /// Earliest end of a step of a die.
    #[inline]
    pub(crate) fn next_step(&self) -> Instant {
        self.dies.earliest()
    }

    /// Time at which the next window opens, or the host counts as idle.
    #[inline]
    pub(crate) fn next_wait(&self) -> Instant {
        self.rights().next_window().min(self.idle_due())
    }

    /// Ends the wait of [`Flash::next_wait`], whose time has come.
    pub(crate) fn end_wait(&mut self, now: Instant) -> WaitEnd {
        match &mut self.idle {
            Some(idle) if idle.due() == now => {
                idle.end();
                WaitEnd::HostIsIdle
            }
            _ => {
                self.collector.rights_mut().schedule(now);
                WaitEnd::WindowOpens
            }
        }
    }

    /// Ends the step that ends first. Returns its die, and the consequence.
    #[inline]
    pub(crate) fn end_first_step(&mut self, now: Instant) -> Option<(u32, Outcome)> {
        let source = self.dies.first_due()?;
        let die = self.dies.die_of_source(source);
        self.horizon.set(now, source);
        if self.dies.defers_copies_on(die) {
            self.catch_up_on(die, now);
        }
        Some((die, self.end_step(now, die, source)))
    }

    /// Ends the current step of a die or of one of its planes; `source` is the source of the
    /// deadline.
    #[inline]
    fn end_step(&mut self, now: Instant, die: u32, source: u32) -> Outcome {
        match self.dies.end_step(now, source) {
            // A read may have arrived while the data of a program moved, when there was nothing to
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
                self.counters_mut().scrubbed_pages += 1;
                self.ftl.count_sensings(page, 1);
                self.journal.media(|| Media::Scrubbed { page });
                self.emit_ended(now, die, PageOperation::Read, Origin::Scrub);
                if self.dies.die(die).has_empty_queue() {
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

    /// Leaves a die without work. A die with copies to check begins to do so after some idle time.
    #[inline]
    fn rest(&mut self, now: Instant, die: u32) {
        let wake = match &self.unchecked {
            Some(unchecked) if self.dies.job_on(die).is_none() => unchecked.wake(now, die),
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

    /// Continues the collections of a channel that have let other operations go first.
    fn go_on_in_channel(&mut self, now: Instant, channel: u32) {
        for die in 0..self.dies.len() {
            if self.dies.channel_of(die) == channel
                && self.dies.is_idle(die)
                && self.dies.job_on(die).is_some()
                && !self.waits().yields_to_channel(now, die)
                && !self.waits_for_turn(now, die)
            {
                self.step_job(now, die);
            }
        }
    }

    /// Time at which the host will have been idle for long enough to fold the cache of SLC blocks.
    #[inline]
    fn idle_due(&self) -> Instant {
        self.idle.as_ref().map_or(Instant::NEVER, IdleTimer::due)
    }

    /// Starts the idle timer again, because the host has sent a command.
    #[inline]
    pub(crate) fn restart_idle_timer(&mut self, now: Instant) {
        if let Some(idle) = &mut self.idle {
            idle.restart(now);
        }
    }

    /// Queues a program of the host at its place, then starts the collection that this makes due.
    /// `flush_first` says that the flush of the write buffer goes before collections. Returns
    /// whether a collection was put off for it.
    #[inline]
    pub(crate) fn program(
        &mut self,
        now: Instant,
        place: Allocated,
        task: Task,
        flush_first: bool,
    ) -> bool {
        let is_cached = self.ftl.slc_at(place.page).is_some();
        let ends_turn = self.charge(place.die);
        self.enqueue(now, place.die, task);
        if ends_turn {
            self.go_on_everywhere(now);
        }
        let put_off = self.collect_if_low(now, place, flush_first);
        if is_cached && self.ftl.is_slc_low(place.die) {
            self.fold_where_due(now, flush_first);
        }
        put_off
    }

    /// Charges a program of the host on `die` to the pace. Returns whether that ends the turn of
    /// the host.
    #[inline]
    fn charge(&mut self, die: u32) -> bool {
        if self.pace.is_none() || self.programs().folds_at_leisure(die) {
            return false;
        }
        let pace = self.pace.as_mut().filter(|_| !self.collector.makes_no_room());
        pace.is_some_and(|pace| pace.programmed(die))
    }

    /// Whether the collection on a die stands still because it is the turn of the host.
    #[inline]
    pub(super) fn waits_for_turn(&self, now: Instant, die: u32) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_turn_of_host)
            && !self.collector.makes_no_room()
            && self.waits().may_wait(now, die)
    }

    /// Continues collections after the turn of the host.
    pub(super) fn go_on_everywhere(&mut self, now: Instant) {
        for die in 0..self.dies.len() {
            if self.dies.is_idle(die) && self.dies.job_on(die).is_some() {
                let held = self.dispatch(now, die);
                debug_assert_eq!(held, None, "a die that collects is held already");
            }
        }
    }

    /// Interrupts the program or erase on `die` for a read that has just arrived; it continues
    /// afterwards. *Suspension* costs time whenever it happens, and an operation is suspended a
    /// limited number of times, so that it ends (IODA §6.2.5). An operation is not suspended if
    /// that would carry a collection past the end of its window.
    fn suspend_for_read(&mut self, now: Instant, die: u32) {
        let Some(suspension) = self.dies.suspension(now, die) else { return };
        let length = suspension.cost * 2 + self.dies.times().read_service;
        if self.waits().has_time_for(now, die, length) {
            self.dies.suspend(now, die, suspension);
            self.counters_mut().suspensions += 1;
            self.journal.emit(now, || Event::Suspended { die });
        }
    }

    /// Resumes the suspended operation, unless a read goes first. Returns whether it did.
    fn resume(&mut self, now: Instant, die: u32) -> bool {
        if self.dies.read_goes_first(die) {
            let next = self.dies.front(die).map_or(Duration::ZERO, |(service, _)| service);
            if self.waits().has_time_for(now, die, next) {
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
        dies::check_invariants(&self.dies);
        let dies = 0..self.dies.len();
        self.collector.check_invariants(dies.map(|die| self.dies.collection_on(die)));
        let relocated = self.relocator.iter().flat_map(Relocator::pages_in_flight);
        self.ftl
            .check_invariants(dies::pages_in_flight(&self.dies).chain(relocated).chain(in_flight));
    }

    pub(crate) fn emit_open_windows(&mut self, now: Instant) {
        for (range, until) in self.collector.rights().open_windows(now) {
            self.journal.emit(now, || Event::WindowOpened { range, until });
        }
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
}

fn operation_of(task: Task) -> PageOperation {
    if task.is_read() { PageOperation::Read } else { PageOperation::Program }
}
