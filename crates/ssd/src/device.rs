//! The drive: commands in, completions out, and the machines in between.

use crate::admission::Admission;
use crate::config::{Config, ConfigError};
use crate::counters::Counters;
use crate::event::Event;
use crate::flash::{CollectionSpan, Flash, Journal, Outcome, Urgency, WaitEnd};
use crate::link::{Completed, HostLink, Waited};
use crate::media::Media;
use crate::placement::{Location, Placement};
use crate::rain::Layout;
use crate::slow::slowed;
use crate::violation::Violation;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use nvme::{
    Advertised, ArrayDescription, CollectionReport, CollectionRight, Command, DriveStatus, Opcode,
    Untimed, WindowScope,
};
use units::{Instant, Lba, Observe, Ratio, Unobserved};

/// One flash drive. `O` says whether its events are kept; see [`Ssd::drain_events`].
///
/// See the crate documentation for the contract of its methods.
#[derive(Clone, Debug)]
pub struct Ssd<O: Observe = Unobserved> {
    /// Commands in, completions out.
    pub(crate) link: HostLink,
    /// Path of the host's pages to flash.
    pub(crate) placement: Placement,
    /// The back end: mapping, dies, collections.
    pub(crate) flash: Flash<O>,
    /// Slots for commands, if the drive has a limit.
    admission: Option<Admission>,
    /// Configuration at full speed, while the drive is slowed down.
    made: Option<Box<Config>>,
    /// Earliest deadline of the machines.
    next: Instant,
    /// Places of the pages of the read being accepted; kept to spare an allocation per command.
    pub(crate) scratch: Vec<Location>,
}

impl Ssd {
    /// A drive as it leaves the factory: nothing written. It keeps no events; see
    /// [`Ssd::observed`].
    ///
    /// # Errors
    ///
    /// If the configuration is impossible; see [`Config::validate`].
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let flash = Flash::new(config)?;
        Ok(Self {
            link: HostLink::new(flash.config()),
            placement: Placement::new(flash.config()),
            admission: flash.config().queue.map(Admission::new),
            flash,
            made: None,
            next: Instant::NEVER,
            scratch: Vec::new(),
        })
    }
}

impl<O: Observe> Ssd<O> {
    /// The same drive with another observer. A drive is prepared unobserved, cloned, and observed
    /// when that is over.
    ///
    /// # Panics
    ///
    /// If commands are in flight: their events would have no beginning.
    #[must_use]
    pub fn observed<O2: Observe>(self) -> Ssd<O2> {
        assert_eq!(self.commands_in_flight(), 0, "observing a drive in use");
        let Self { link, placement, flash, admission, made, next, scratch } = self;
        Ssd { link, placement, flash: flash.observed(), admission, made, next, scratch }
    }

    /// Gives all events since the last call to `take`, in their order.
    pub fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.flash.journal_mut().drain_events(take);
    }

    /// Passes the events that are kept to `see`, in their order.
    pub fn each_event(&self, see: impl FnMut(Instant, &Event)) {
        self.flash.journal().each_event(see);
    }

    /// Configuration of the drive.
    #[must_use]
    pub fn config(&self) -> &Config {
        self.flash.config()
    }

    /// Totals since the start or the last [`Ssd::reset_counters`].
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.flash.journal().counters()
    }

    /// The first collections that broke the window contract, in order of time.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        self.flash.journal().violations()
    }

    /// Flash page that holds `lba` now; `None` if it was never written.
    #[must_use]
    pub fn flash_page(&self, lba: Lba) -> Option<u32> {
        self.flash.ftl().lookup(lba.0 as u32)
    }

    /// Sets all totals to zero.
    pub fn reset_counters(&mut self) {
        self.flash.journal_mut().reset();
        self.placement.reset_peak();
    }

    /// Logical blocks that the host sees.
    #[inline]
    #[must_use]
    pub fn logical_blocks(&self) -> u64 {
        u64::from(self.flash.shape().logical_pages)
    }

    /// Erases of each block, die by die.
    #[must_use]
    pub fn erase_counts(&self) -> &[u32] {
        self.flash.ftl().erase_counts()
    }

    /// Sensings of each block since its last erase, die by die; empty unless reads disturb
    /// ([`crate::RetryConfig::disturb_share`]).
    #[must_use]
    pub fn sensing_counts(&self) -> &[u32] {
        self.flash.ftl().sensing_counts()
    }

    /// Share of the blocks (or lines) that are free, averaged over the dies.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        let (ftl, shape) = (self.flash.ftl(), self.flash.shape());
        let free: u64 = (0..shape.dies).map(|die| u64::from(ftl.free(die))).sum();
        free as f64 / (f64::from(shape.dies) * f64::from(shape.blocks_per_die))
    }

    /// Blocks of all dies (or lines of the drive) that are programmed with one bit in a cell now.
    #[must_use]
    pub fn slc_blocks(&self) -> u32 {
        self.flash.ftl().slc_blocks()
    }

    /// Whether `lba` is in a block that is programmed with one bit in a cell.
    #[must_use]
    pub fn is_in_slc(&self, lba: Lba) -> bool {
        self.flash_page(lba).is_some_and(|page| self.flash.ftl().slc_at(page).is_some())
    }

    /// Commands that have arrived and not completed.
    #[must_use]
    pub fn commands_in_flight(&self) -> usize {
        self.link.in_flight() + self.admission.as_ref().map_or(0, Admission::waiting)
    }

    /// Pages in the write buffer, dirty or on their way to flash; 0 without a buffer.
    #[must_use]
    pub fn buffered_pages(&self) -> u32 {
        self.placement.buffer().map_or(0, |buffer| buffer.occupied())
    }

    /// Most pages at once that were in the write buffer or waited for room there, since the start
    /// or the last [`Ssd::reset_counters`]; 0 without a buffer. The excess over its capacity says
    /// by how much the buffer was too small.
    #[must_use]
    pub fn buffered_pages_peak(&self) -> u32 {
        self.placement.buffer().map_or(0, |buffer| buffer.peak())
    }

    /// Whether the write buffer holds the newest data of `lba`.
    #[must_use]
    pub fn is_buffered(&self, lba: Lba) -> bool {
        self.placement.buffer().is_some_and(|buffer| buffer.holds(lba.0 as u32))
    }

    /// RAIN stripes of the drive; 0 without RAIN.
    #[must_use]
    pub fn rain_stripes(&self) -> u32 {
        self.placement.layout().map_or(0, Layout::stripes)
    }

    /// Stripes that are away from their static place.
    #[must_use]
    pub fn moved_rain_stripes(&self) -> usize {
        self.placement.layout().map_or(0, Layout::moved)
    }

    /// The flash pages of a stripe, parity included, that were ever written. The exclusive or of
    /// their data is zero.
    pub fn rain_stripe_pages(&self, stripe: u32) -> impl Iterator<Item = u32> + '_ {
        let layout = self.placement.layout();
        layout.into_iter().flat_map(move |layout| {
            let slots = 0..layout.groups.width;
            slots.filter_map(move |slot| self.flash.ftl().lookup(layout.page(stripe, slot)))
        })
    }

    /// Makes the work that `untimed` names take no time. Operations that already wait for their
    /// dies keep their times.
    pub fn set_untimed(&mut self, untimed: Untimed) {
        if let Some(made) = &mut self.made {
            made.collection.untimed = untimed;
        }
        self.flash.set_untimed(untimed);
        self.next = self.earliest();
    }

    /// Makes everything that the drive does take `factor` times its configured time; 1 ends that.
    /// Operations that have begun, or wait for their die, keep their times.
    ///
    /// # Panics
    ///
    /// If the factor is 0.
    pub fn set_slowness(&mut self, factor: u32) {
        assert!(factor > 0, "a drive that takes no time");
        let made = self.made.take().unwrap_or_else(|| Box::new(self.config().clone()));
        self.flash.set_config(slowed(&made, factor));
        self.made = (factor > 1).then_some(made);
        self.link.set_times(self.flash.config());
        self.placement.set_latency(self.flash.config());
        self.next = self.earliest();
    }

    /// Repeats `share` of the sensings for reads from now on, besides the configured retries: worn
    /// flash, or old data. 0 ends that. At most 1.
    pub fn set_added_retries(&mut self, share: Ratio) {
        self.flash.set_added_retries(share);
    }

    /// Right of the drive to collect.
    #[must_use]
    pub fn right(&self) -> CollectionRight {
        self.flash.rights().right()
    }

    /// Sets the work that the drive does in its busy windows only.
    pub fn set_window_scope(&mut self, scope: WindowScope) {
        self.flash.set_window_scope(scope);
    }

    /// Lists what happens to flash pages from now on; collect it with [`Ssd::take_media`].
    pub fn record_media(&mut self) {
        self.flash.journal_mut().record_media();
    }

    /// Moves the media list to `into` and empties it.
    pub fn take_media(&mut self, into: &mut Vec<Media>) {
        self.flash.journal_mut().take_media(into);
    }

    /// Lists collections from now on; collect them with [`Ssd::take_collections`].
    pub fn record_collections(&mut self) {
        self.flash.journal_mut().record_collections();
    }

    /// Moves the list of collections that ended to `into` and empties it.
    pub fn take_collections(&mut self, into: &mut Vec<CollectionSpan>) {
        self.flash.journal_mut().take_collections(into);
    }

    /// The host describes its array; the drive answers with the windows that keep the contract
    /// (fields arrayType, arrayWidth and busyTimeWindow, IODA §4.4).
    #[must_use]
    pub fn describe_array(&self, array: ArrayDescription) -> Advertised {
        self.flash.config().advertise(array)
    }

    /// Report of the drive on its collections.
    #[must_use]
    pub fn collection_report(&self) -> CollectionReport {
        let (ftl, shape) = (self.flash.ftl(), self.flash.shape());
        let counters = self.counters();
        let soft = self.flash.collect_at();
        // Host pages go round the dies, so the first die at its watermark counts.
        let pages = (0..shape.dies).map(|die| {
            let blocks = ftl.free(die).saturating_sub(soft + 1);
            u64::from(ftl.open_pages(die) + blocks * shape.pages_per_block)
        });
        CollectionReport {
            collecting: !self.flash.collects_nothing(),
            pages_before_next: pages.min().unwrap_or(0) * u64::from(shape.dies),
            collected_blocks: counters.erases,
            moved_pages: counters.collection_programs_pages,
        }
    }

    /// Room left in the drive, and whether work to make room is due.
    #[must_use]
    pub fn status(&self) -> DriveStatus {
        let (ftl, shape) = (self.flash.ftl(), self.flash.shape());
        let room = |die| u64::from(ftl.free(die).saturating_sub(shape.levels.hard));
        let blocks: u64 = (0..shape.dies).map(room).sum();
        DriveStatus {
            headroom_pages: blocks * u64::from(shape.pages_per_block),
            due: self.placement.waits_to_flush(self.flash.rights())
                || self.flash.wants_to_fold()
                || self.flash.is_any_below(self.flash.collect_at()),
            must_collect: self.flash.is_any_below(shape.levels.soft),
            collecting: !self.flash.collects_nothing() || !self.placement.flushes_nothing(),
        }
    }

    /// Time at which to call [`Ssd::handle_deadline`] if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Earliest deadline of the machines.
    #[inline]
    fn earliest(&self) -> Instant {
        let due = self.flash.next_step().min(self.link.next_due());
        due.min(self.flash.next_wait()).min(self.placement.next_due())
    }

    /// The next completion.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.link.poll_completion()
    }

    /// Takes a command of the first submitter: see [`Ssd::handle_command_from`].
    ///
    /// # Panics
    ///
    /// As [`Ssd::handle_command_from`].
    #[inline]
    pub fn handle_command(&mut self, now: Instant, command: &Command) {
        self.handle_command_from(now, 0, command);
    }

    /// Takes a command of a submitter, which has a queue of its own if the drive arbitrates among
    /// submitters. Submitters are numbered from 0.
    ///
    /// # Panics
    ///
    /// If the command has no blocks or reaches past the end of the drive: the host knows the size.
    #[inline]
    pub fn handle_command_from(&mut self, now: Instant, submitter: u32, command: &Command) {
        self.handle_deadline(now);
        let end = command.lba.0 + u64::from(command.blocks);
        assert!(
            command.blocks > 0 && end <= self.logical_blocks(),
            "command {command:?} on a drive of {} blocks",
            self.logical_blocks()
        );
        let completed = self.link.completed().len();
        self.flash.restart_idle_timer(now);
        let Command { id, opcode, lba, blocks, pl } = *command;
        self.flash.journal_mut().emit(now, || Event::Accepted { id, opcode, lba, blocks, pl });
        let begins = match &mut self.admission {
            None => true,
            Some(admission) => admission.arrive(now, submitter, command, self.link.is_any_stuck()),
        };
        if begins {
            self.begin(now, command);
        }
        if !self.flash.collects_by_itself() {
            self.collect_where_due(now);
        }
        self.dispatch_freed(now);
        self.admit(now, completed);
        self.next = self.earliest();
        self.emit_completed(completed);
    }

    /// Begins to work on a command.
    #[inline]
    fn begin(&mut self, now: Instant, command: &Command) {
        match command.opcode {
            Opcode::Read => self.accept_read(now, command),
            Opcode::Write => self.accept_write(now, command),
            Opcode::Deallocate => {
                self.forget(command.lba, command.blocks);
                // The change of the map takes the drive no time.
                self.link.complete_at_once(now, command);
            }
        }
    }

    /// Gives the slots of completed commands to commands that wait. `before` counts the completions
    /// whose slots were given away already.
    #[inline]
    fn admit(&mut self, now: Instant, mut before: usize) {
        while let Some(admission) = &mut self.admission {
            let completed = self.link.completed().len();
            admission.end(completed - before);
            let Some((command, waited)) = admission.begin_next(now) else { return };
            before = completed;
            self.link.take_after(waited);
            self.begin(now, &command);
            self.link.take_after(Waited::default());
        }
    }

    /// Handles everything that is due until `now`.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant) {
        while self.next <= now && self.next != Instant::NEVER {
            let completed = self.link.completed().len();
            self.advance(self.next);
            self.admit(self.next, completed);
            self.next = self.earliest();
            self.emit_completed(completed);
        }
        self.flash.set_horizon(now);
    }

    /// Defers the copies of collections from now on (`on`), which saves one event per copied page.
    ///
    /// A drive that defers copies is due at the end of a collection, not at each copied page. Call
    /// [`Ssd::catch_up`] before any other question than [`Ssd::busy_with`]; commands need no call.
    /// No effect on observed drives, and on drives whose collections can be interrupted.
    pub fn set_deferred_copies(&mut self, on: bool) {
        self.flash.set_deferred_copies(on);
        self.next = self.earliest();
    }

    /// Applies the deferred copies that end before `now` ([`Ssd::set_deferred_copies`]).
    pub fn catch_up(&mut self, now: Instant) {
        self.flash.catch_up(now);
        self.next = self.earliest();
    }

    /// Sets when the drive may collect. A busy window that is open stays open until its end, so
    /// that the host can change windows while collections run.
    pub fn set_right(&mut self, now: Instant, right: CollectionRight) {
        self.handle_deadline(now);
        let completed = self.link.completed().len();
        self.flash.set_right(now, right);
        self.use_right(now);
        self.dispatch_freed(now);
        self.admit(now, completed);
        self.next = self.earliest();
    }

    /// Handles what is due at `due`.
    #[inline]
    fn advance(&mut self, due: Instant) {
        if self.flash.next_step() == due {
            if let Some((die, outcome)) = self.flash.end_first_step(due) {
                self.dispatch_freed(due);
                match outcome {
                    Outcome::Nothing => {}
                    Outcome::Finished(task) => self.end_task(due, die, task),
                    Outcome::Held(collection) => self.begin_collection(due, collection),
                    Outcome::Moved => self.placement.flush(due, &mut self.flash),
                    Outcome::Collected(collection) => self.end_collection(due, collection),
                }
            }
            return;
        }
        self.flash.set_horizon(due);
        if self.link.next_due() == due {
            if let Some(command) = self.link.end_crossing(due) {
                self.placement.begin_write(due, command, &mut self.flash, &mut self.link);
            }
        } else if self.placement.next_due() == due {
            self.placement.end_due(due, &mut self.link);
        } else {
            self.end_wait(due);
        }
    }

    #[cold]
    fn end_wait(&mut self, now: Instant) {
        match self.flash.end_wait(now) {
            WaitEnd::HostIsIdle => self.fold_where_due(now),
            WaitEnd::WindowOpens => self.use_right(now),
        }
    }

    /// Starts folding where it is due, unless the flush of the write buffer goes first.
    fn fold_where_due(&mut self, now: Instant) {
        if self.flash.wants_to_fold() {
            let first = self.placement.flush_goes_first(now, self.flash.rights());
            self.flash.fold_where_due(now, first);
        }
    }

    /// Starts the flushes, collections and folds that a new right or an open window allows.
    fn use_right(&mut self, now: Instant) {
        if Journal::<O>::OBSERVED {
            self.flash.emit_open_windows(now);
        }
        self.placement.flush(now, &mut self.flash);
        if self.flash.collects_by_itself() {
            self.collect_where_due(now);
        }
        self.fold_where_due(now);
    }

    /// Starts the collections that are due, unless the flush of the write buffer goes first.
    fn collect_where_due(&mut self, now: Instant) {
        let first = self.placement.flush_goes_first(now, self.flash.rights());
        if self.flash.collect_where_due(now, Urgency::Due, first) {
            self.placement.collection_waits();
        }
    }

    /// Gives the next operation to dies that a collection gave back before its end.
    #[inline]
    fn dispatch_freed(&mut self, now: Instant) {
        // Checked after every operation, although few operations give dies back.
        if self.flash.has_freed() {
            self.dispatch_all_freed(now);
        }
    }

    #[cold]
    fn dispatch_all_freed(&mut self, now: Instant) {
        while let Some(die) = self.flash.take_freed() {
            self.end_hold(now, die..die + 1);
        }
        self.placement.flush(now, &mut self.flash);
    }

    /// Gives a die its next operation.
    #[inline]
    pub(crate) fn dispatch(&mut self, now: Instant, die: u32) {
        if let Some(collection) = self.flash.dispatch(now, die) {
            self.begin_collection(now, collection);
        }
    }

    /// Begins a collection that has all its dies.
    fn begin_collection(&mut self, now: Instant, collection: u32) {
        let cancelled = self.flash.begin_collection(now, collection);
        self.dispatch_freed(now);
        if let Some(dies) = cancelled {
            self.end_hold(now, dies);
            self.placement.relieve(now, &mut self.flash, &mut self.link);
            if self.flash.is_paced() {
                self.placement.flush(now, &mut self.flash);
            }
        }
    }

    fn end_collection(&mut self, now: Instant, collection: u32) {
        let ended = self.flash.end_collection(now, collection);
        self.end_hold(now, ended.dies);
        // With paced writes the next collection begins before the flush: programs between
        // collections would not be charged to the pace. In a window the flush still goes first:
        // collections in a row would let the buffer run full.
        let in_window = self.placement.waits_to_flush(self.flash.rights());
        let flushes_later = self.flash.is_paced() && !in_window;
        if !flushes_later {
            self.placement.flush(now, &mut self.flash);
        }
        if let Some(scope) = ended.scope {
            if self.flash.collects_by_itself() {
                let first = self.placement.flush_goes_first(now, self.flash.rights());
                if self.flash.collect_after(now, scope, first) {
                    self.placement.collection_waits();
                }
            }
            self.fold_where_due(now);
            self.placement.relieve(now, &mut self.flash, &mut self.link);
        }
        if flushes_later {
            self.placement.flush(now, &mut self.flash);
        }
    }

    /// Continues after a collection has given these dies back.
    fn end_hold(&mut self, now: Instant, dies: Range<u32>) {
        self.placement.end_hold(now, dies.clone(), &mut self.flash);
        for die in dies {
            if self.flash.dies().is_idle(die) {
                self.dispatch(now, die);
            }
        }
    }

    /// Emits an event for each completion behind the first `before`.
    #[inline]
    fn emit_completed(&mut self, before: usize) {
        if Journal::<O>::OBSERVED {
            for completed in self.link.completed().iter().skip(before) {
                let nvme::Completion { id, status, .. } = completed.completion;
                self.flash.journal_mut().emit(completed.at, || Event::Completed { id, status });
            }
        }
    }

    /// Checks that the machines of the drive agree with each other: maps and counts of the FTL,
    /// queues and deadlines of the dies, collections, the write buffer, commands. It looks at every
    /// page, so it is for tests; between any two calls of other methods it holds.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub fn check_invariants(&self) {
        self.link.check_invariants();
        if let Some(admission) = &self.admission {
            admission.check_invariants(self.link.in_flight());
        }
        self.flash.check_invariants(self.placement.pages_in_flight());
        self.placement.check_invariants(&self.flash);
        self.check_commands();
        assert_eq!(self.next, self.earliest(), "when the drive is due");
    }
}
