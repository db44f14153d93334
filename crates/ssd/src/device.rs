//! The drive: commands in, completions out, dies and collections in between.

use crate::buffer::Buffer;
use crate::channel::Channel;
use crate::collection::{Collection, CollectionSpan};
use crate::command::InFlight;
use crate::config::{Blocking, CollectionUnit, Config, ConfigError};
use crate::counters::Counters;
use crate::die::Die;
use crate::ftl::{Ftl, NONE};
use crate::media::Media;
use crate::ops::Op;
use crate::rain::Rain;
use crate::scrub::Unchecked;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionRight, Command, Completion, Opcode};
use units::{Deadlines, Duration, Instant, Lba, Slab};

/// A completion and when it was due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// When the drive had it ready; a driver on a real clock may collect it later.
    pub at: Instant,
    /// The answer.
    pub completion: Completion,
}

/// One flash drive.
///
/// See the crate documentation for the contract of its methods.
#[derive(Clone, Debug)]
pub struct Ssd {
    pub(crate) config: Config,
    pub(crate) ftl: Ftl,
    pub(crate) counters: Counters,
    pub(crate) read_service: Duration,
    pub(crate) program_service: Duration,
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    /// One deadline per die: the end of its current step.
    pub(crate) deadlines: Deadlines,
    pub(crate) ops: Slab<Op>,
    pub(crate) commands: Slab<InFlight>,
    pub(crate) collections: Slab<Collection>,
    /// Whether a collection runs in the die, channel or drive that a collection blocks.
    pub(crate) scope_busy: Vec<bool>,
    /// Parts of the line being collected that are not done; 0 if none is.
    pub(crate) line_parts_left: u32,
    pub(crate) right: CollectionRight,
    /// Of each range of logical blocks, the end of a window that was open when windows changed.
    pub(crate) open_until: Vec<Instant>,
    pub(crate) next_window: Instant,
    /// Host page writes without a place, as command and block.
    pub(crate) stalled: VecDeque<(u32, u32)>,
    /// Queued operations that a collection held up.
    pub(crate) held_up: u32,
    /// Writes whose data is crossing PCIe.
    pub(crate) arriving: VecDeque<(Instant, u32)>,
    pub(crate) arriving_until: Instant,
    /// Fast failures on their way; their delay is constant, so they stay in order.
    pub(crate) failing: VecDeque<Completed>,
    /// Reads whose data is crossing PCIe, in order.
    pub(crate) leaving: VecDeque<Completed>,
    pub(crate) leaving_until: Instant,
    pub(crate) completed: VecDeque<Completed>,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) rain: Option<Rain>,
    /// Copies to check in idle time, if the drive does that.
    pub(crate) unchecked: Option<Unchecked>,
    pub(crate) media: Option<Vec<Media>>,
    pub(crate) spans: Option<Vec<CollectionSpan>>,
    /// Flash pages of the read being checked; kept to spare an allocation per command.
    pub(crate) scratch: Vec<u32>,
}

impl Ssd {
    /// A drive as it leaves the factory: nothing written.
    ///
    /// # Errors
    ///
    /// If the configuration is impossible; see [`Config::validate`].
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let ftl = Ftl::new(&config);
        let dies = ftl.shape.dies as usize;
        let scopes = match (config.collection.unit, config.collection.blocking) {
            (CollectionUnit::Line, _) | (_, Blocking::Controller) => 1,
            (_, Blocking::Channel) => config.geometry.channels as usize,
            (_, Blocking::Die) => dies,
        };
        Ok(Self {
            read_service: config.timing.read + config.timing.transfer,
            program_service: config.timing.program + config.timing.transfer,
            dies: vec![Die::new(); dies],
            channels: vec![Channel::new(); config.geometry.channels as usize],
            deadlines: Deadlines::new(dies),
            ops: Slab::new(),
            commands: Slab::new(),
            collections: Slab::new(),
            scope_busy: vec![false; scopes],
            line_parts_left: 0,
            right: CollectionRight::Always,
            open_until: vec![Instant::ZERO; config.ranges.count as usize],
            next_window: Instant::NEVER,
            stalled: VecDeque::new(),
            held_up: 0,
            arriving: VecDeque::new(),
            arriving_until: Instant::ZERO,
            failing: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_until: Instant::ZERO,
            completed: VecDeque::new(),
            buffer: config.write_buffer.map(Buffer::new),
            rain: config.rain.map(|rain| Rain::new(&config, rain)),
            unchecked: Unchecked::new(&config),
            media: None,
            spans: None,
            scratch: Vec::new(),
            counters: Counters::default(),
            ftl,
            config,
        })
    }

    /// What the drive is made of.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Totals since the start or the last [`Ssd::reset_counters`].
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The flash page that holds `lba` now; none if it was never written.
    #[must_use]
    pub fn flash_page(&self, lba: Lba) -> Option<u32> {
        let page = self.ftl.lookup(lba.0 as u32);
        (page != NONE).then_some(page)
    }

    /// Sets all totals to zero.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// Logical blocks that the host sees.
    #[must_use]
    pub fn logical_blocks(&self) -> u64 {
        u64::from(self.ftl.shape.logical_pages)
    }

    /// Erasures of each block, die by die.
    #[must_use]
    pub fn erase_counts(&self) -> &[u32] {
        self.ftl.erase_counts()
    }

    /// Share of the blocks (or lines) that are free, averaged over the dies.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        let dies = self.ftl.shape.dies;
        let free: u64 = (0..dies).map(|die| u64::from(self.ftl.free(die))).sum();
        free as f64 / (f64::from(dies) * f64::from(self.ftl.shape.blocks_per_die))
    }

    /// Commands that have arrived and not completed.
    #[must_use]
    pub fn commands_in_flight(&self) -> usize {
        self.commands.len() + self.failing.len() + self.leaving.len()
    }

    /// Makes collections take no time: the ideal drive.
    pub fn set_instant_collection(&mut self, instant: bool) {
        self.config.collection.instant = instant;
    }

    /// Lists what happens to flash pages from now on; collect it with [`Ssd::take_media`].
    pub fn record_media(&mut self) {
        self.media = Some(Vec::new());
    }

    /// Moves the media list to `into` and empties it.
    pub fn take_media(&mut self, into: &mut Vec<Media>) {
        if let Some(media) = &mut self.media {
            into.append(media);
        }
    }

    /// Lists collections from now on; collect them with [`Ssd::take_collections`].
    pub fn record_collections(&mut self) {
        self.spans = Some(Vec::new());
    }

    /// Moves the list of collections that ended to `into` and empties it.
    pub fn take_collections(&mut self, into: &mut Vec<CollectionSpan>) {
        if let Some(spans) = &mut self.spans {
            into.append(spans);
        }
    }

    /// When [`Ssd::handle_deadline`] should be called if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let mut due = self.deadlines.earliest().min(self.next_window);
        if let Some(first) = self.failing.front() {
            due = due.min(first.at);
        }
        if let Some(first) = self.leaving.front() {
            due = due.min(first.at);
        }
        if let Some(&(at, _)) = self.arriving.front() {
            due = due.min(at);
        }
        if self.buffer.is_none() {
            return due;
        }
        due.min(self.next_from_buffer())
    }

    /// When a drive with a buffer, and perhaps RAIN, answers from it or has computed a page.
    fn next_from_buffer(&self) -> Instant {
        self.next_answer().min(self.next_computed())
    }

    /// The next completion.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Whether a collection holds the die that `lba` lies on.
    #[must_use]
    pub fn is_collecting_at(&self, lba: Lba) -> bool {
        let logical = lba.0 as u32;
        let die = self.die_for_read(logical, self.ftl.lookup(logical));
        self.dies[die as usize].collection.is_some()
    }

    /// Whether a read of `lba` that arrived now would meet a collection or buffer flush on what it
    /// needs.
    #[must_use]
    pub fn would_meet_collection(&self, now: Instant, lba: Lba) -> bool {
        if self.quiet() || self.is_buffered(lba) {
            return false;
        }
        let logical = lba.0 as u32;
        let page = self.ftl.lookup(logical);
        self.meets_collection(now, self.die_for_read(logical, page))
            && !self.would_be_computed(now, logical)
    }

    /// Whether no collection or buffer flush runs or waits, nor has a collection left work behind.
    #[inline]
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.collections.is_empty() && self.held_up == 0 && self.flushes_nothing()
    }

    /// Takes a command.
    ///
    /// # Panics
    ///
    /// If the command has no blocks or reaches past the end of the drive: the host knows the size.
    pub fn handle_command(&mut self, now: Instant, command: &Command) {
        self.handle_deadline(now);
        let end = command.lba.0 + u64::from(command.blocks);
        assert!(
            command.blocks > 0 && end <= self.logical_blocks(),
            "command {command:?} on a drive of {} blocks",
            self.logical_blocks()
        );
        match command.opcode {
            Opcode::Read => self.accept_read(now, command),
            Opcode::Write => self.accept_write(now, command),
            Opcode::Deallocate => self.accept_deallocate(now, command),
        }
    }

    /// Lets time pass until `now`.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant) {
        loop {
            let due = self.next_deadline();
            if due > now || due == Instant::NEVER {
                return;
            }
            self.advance(due);
        }
    }

    /// Does what is due first.
    #[inline]
    fn advance(&mut self, due: Instant) {
        if self.deadlines.earliest() == due {
            if let Some(die) = self.deadlines.first() {
                self.end_step(due, die as u32);
            }
        } else if self.failing.front().is_some_and(|first| first.at == due) {
            self.completed.extend(self.failing.pop_front());
        } else if self.leaving.front().is_some_and(|first| first.at == due) {
            self.completed.extend(self.leaving.pop_front());
        } else if self.arriving.front().is_some_and(|&(at, _)| at == due) {
            if let Some((_, command)) = self.arriving.pop_front() {
                self.begin_write(due, command);
            }
        } else if self.next_answer() == due {
            self.end_answer(due);
        } else if self.next_computed() == due {
            self.end_computing(due);
        } else {
            self.begin_window(due);
        }
    }

    fn begin_window(&mut self, now: Instant) {
        self.schedule_window(now);
        self.flush(now);
        self.collect_where_due(now, false);
    }

    /// Checks that the maps and counts of the FTL agree.
    ///
    /// # Panics
    ///
    /// If they do not, or if commands are in flight.
    pub fn check_invariants(&self) {
        assert_eq!(self.commands_in_flight(), 0, "only exact while no command is in flight");
        if let Some(buffer) = &self.buffer {
            buffer.check_invariants();
        }
        if self.collections.is_empty() && self.flushes_nothing() {
            self.ftl.check_invariants();
        }
    }
}
