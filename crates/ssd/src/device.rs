//! The drive: commands in, completions out, dies and collections in between.

use crate::channel::Channel;
use crate::collection::{Collection, CollectionSpan};
use crate::command::InFlight;
use crate::config::{Blocking, CollectionUnit, Config, ConfigError};
use crate::contract::allowed_until;
use crate::counters::Counters;
use crate::die::{Copy, Die, Job, State, Step};
use crate::ftl::{Ftl, NONE};
use crate::ledger::{Work, explain_wait};
use crate::media::Media;
use crate::ops::{Op, OpKind};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{
    ArrayDescription, Cause, Command, Completion, Delays, Opcode, PlFlag, Status, WindowSchedule,
};
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
    read_service: Duration,
    program_service: Duration,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// One deadline per die: the end of its current step.
    deadlines: Deadlines,
    ops: Slab<Op>,
    commands: Slab<InFlight>,
    collections: Slab<Collection>,
    /// Whether a collection runs in the die, channel or drive that a collection blocks.
    scope_busy: Vec<bool>,
    /// Parts of the line being collected that are not done; 0 if none is.
    line_parts_left: u32,
    windows: Option<WindowSchedule>,
    next_window: Instant,
    /// Host page writes without a place, as command and block.
    stalled: VecDeque<(u32, u32)>,
    /// Queued operations that a collection held up.
    held_up: u32,
    /// Writes whose data is crossing PCIe.
    arriving: VecDeque<(Instant, u32)>,
    arriving_until: Instant,
    /// Fast failures on their way; their delay is constant, so they stay in order.
    failing: VecDeque<Completed>,
    /// Reads whose data is crossing PCIe, in order.
    leaving: VecDeque<Completed>,
    leaving_until: Instant,
    completed: VecDeque<Completed>,
    media: Option<Vec<Media>>,
    spans: Option<Vec<CollectionSpan>>,
    /// Flash pages of the read being checked; kept to spare an allocation per command.
    scratch: Vec<u32>,
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
            windows: None,
            next_window: Instant::NEVER,
            stalled: VecDeque::new(),
            held_up: 0,
            arriving: VecDeque::new(),
            arriving_until: Instant::ZERO,
            failing: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_until: Instant::ZERO,
            completed: VecDeque::new(),
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

    /// The host describes its array; the drive answers with its busy window (fields arrayType,
    /// arrayWidth and busyTimeWindow, IODA §4.4). None if any window keeps the contract.
    #[must_use]
    pub fn describe_array(&self, array: ArrayDescription) -> Option<Duration> {
        self.config.burst_window(array)
    }

    /// From now on collect only in the busy windows of `windows`, or whenever due if none.
    pub fn set_windows(&mut self, now: Instant, windows: Option<WindowSchedule>) {
        self.windows = windows;
        self.next_window = windows.map_or(Instant::NEVER, |w| w.next_busy_start(now));
        if allowed_until(self.windows.as_ref(), now).is_some() {
            self.collect_where_due(now, false);
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
        due
    }

    /// The next completion.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Whether a read of `lba` that arrived now would meet a collection on what it needs.
    #[must_use]
    pub fn would_meet_collection(&self, now: Instant, lba: Lba) -> bool {
        if self.quiet() {
            return false;
        }
        let logical = lba.0 as u32;
        let page = self.ftl.lookup(logical);
        self.meets_collection(now, self.die_for_read(logical, page))
    }

    /// Whether no collection runs, waits, or has left work behind.
    #[inline]
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.collections.is_empty() && self.held_up == 0
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
        } else {
            self.begin_window(due);
        }
    }

    fn begin_window(&mut self, now: Instant) {
        self.next_window =
            self.windows.map_or(Instant::NEVER, |windows| windows.next_busy_start(now));
        self.collect_where_due(now, false);
    }

    // ---- commands -------------------------------------------------------------------------

    /// The die that serves a read; a page that was never written costs what a written one costs.
    #[inline]
    fn die_for_read(&self, logical: u32, page: u32) -> u32 {
        if page == NONE {
            return logical.wrapping_mul(0x9e37_79b1) % self.ftl.shape.dies;
        }
        self.ftl.shape.die_of(page)
    }

    /// Whether a read that arrives now on `die` would wait for a collection, or for work that a
    /// collection held up.
    ///
    /// The second half matters: when a collection ends, the writes that queued up behind it still
    /// stand in the way, and a read among them is as late because of the collection as one before.
    /// In the predictable window the promise is not to *start* anything, so what little is left of
    /// a queue there is served as it comes.
    #[inline]
    fn meets_collection(&self, now: Instant, die: u32) -> bool {
        let die = &self.dies[die as usize];
        if die.collection.is_some() {
            return true;
        }
        die.queue.held_up > 0 && allowed_until(self.windows.as_ref(), now).is_some()
    }

    fn accept_read(&mut self, now: Instant, command: &Command) {
        let first = command.lba.0 as u32;
        let mut pages = core::mem::take(&mut self.scratch);
        pages.clear();
        pages.extend((first..first + command.blocks).map(|logical| self.ftl.lookup(logical)));
        let mut met = false;
        if !self.quiet() {
            met = pages.iter().zip(first..).any(|(&page, logical)| {
                self.meets_collection(now, self.die_for_read(logical, page))
            });
        }
        if met && command.pl == PlFlag::Predictable {
            self.fail_fast(now, command, &pages);
        } else {
            let slot = self.commands.insert(InFlight {
                id: command.id,
                first_logical: first,
                blocks: command.blocks,
                remaining: command.blocks,
                met_collection: met,
                before_flash: Delays::ZERO,
                arrived: now,
            });
            for (block, &page) in (0..command.blocks).zip(&pages) {
                let logical = first + block;
                let die = self.die_for_read(logical, page);
                let mut op = Op::new(OpKind::Read, slot, block, logical, page);
                op.before = self.dies[die as usize].ledger.read(now);
                self.enqueue(now, die, op, self.read_service);
            }
        }
        self.scratch = pages;
    }

    #[cold]
    fn fail_fast(&mut self, now: Instant, command: &Command, pages: &[u32]) {
        let mut busy_remaining = Duration::ZERO;
        for (&page, logical) in pages.iter().zip(command.lba.0 as u32..) {
            let die = self.die_for_read(logical, page);
            if self.meets_collection(now, die) {
                busy_remaining = busy_remaining.max(self.busy_remaining(now, die));
            }
        }
        let mut delays = Delays::ZERO;
        delays.add(Cause::FailFast, self.config.timing.fail_fast);
        self.counters.fail_fasts += 1;
        self.failing.push_back(Completed {
            at: now + self.config.timing.fail_fast,
            completion: Completion {
                id: command.id,
                status: Status::FailedFast,
                busy_remaining,
                met_collection: true,
                delays,
            },
        });
    }

    /// Time until a read that arrives now on `die` could be served (IODA §4.2.2): the rest of the
    /// current step, of the collection, and of the work in the queue.
    fn busy_remaining(&self, now: Instant, die: u32) -> Duration {
        let current = |die: u32| match self.deadlines.get(die as usize) {
            Instant::NEVER => Duration::ZERO,
            due => due.since(now),
        };
        let mut left = current(die) + self.dies[die as usize].queue.work;
        if let Some(collection) = self.dies[die as usize].collection {
            let collection = self.collections.get(collection);
            let worker = collection.victim_die.unwrap_or(die);
            match self.dies[worker as usize].job {
                Some(job) => {
                    left += self.config.collection_time(u64::from(job.remaining));
                    if worker != die {
                        left += current(worker);
                    }
                }
                None if collection.holds_pending > 0 => {
                    let valid = self.ftl.count_valid(worker, collection.block);
                    left += self.config.collection_time(u64::from(valid));
                }
                None => {}
            }
        }
        left
    }

    fn accept_write(&mut self, now: Instant, command: &Command) {
        let slot = self.commands.insert(InFlight {
            id: command.id,
            first_logical: command.lba.0 as u32,
            blocks: command.blocks,
            remaining: command.blocks,
            met_collection: false,
            before_flash: Delays::ZERO,
            arrived: now,
        });
        match self.link_time(command.blocks) {
            None => self.begin_write(now, slot),
            Some(crossing) => {
                self.arriving_until = self.arriving_until.max(now) + crossing;
                self.arriving.push_back((self.arriving_until, slot));
            }
        }
    }

    /// Time for `blocks` to cross PCIe, none if it is not a limit.
    fn link_time(&self, blocks: u32) -> Option<Duration> {
        let rate = self.config.timing.pcie_bytes_per_second?;
        let bytes = u64::from(blocks) * u64::from(self.config.geometry.page_bytes);
        Some(Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64))
    }

    fn begin_write(&mut self, now: Instant, slot: u32) {
        let command = self.commands.get_mut(slot);
        let waited = now.since(command.arrived);
        command.before_flash.add(Cause::Transfer, waited);
        let blocks = command.blocks;
        for block in 0..blocks {
            if !self.stalled.is_empty() || !self.write_page(now, slot, block) {
                self.counters.stalled_writes_pages += 1;
                self.stalled.push_back((slot, block));
            }
        }
        if !self.stalled.is_empty() {
            self.relieve(now);
        }
    }

    /// Finds a place for one page of a write and queues it; false if there is none.
    #[inline]
    fn write_page(&mut self, now: Instant, slot: u32, block: u32) -> bool {
        let Some(place) = self.ftl.allocate_for_host() else { return false };
        let command = self.commands.get_mut(slot);
        command.met_collection |= self.dies[place.die as usize].collection.is_some();
        let logical = command.first_logical + block;
        let op = Op::new(OpKind::Program, slot, block, logical, place.page);
        self.enqueue(now, place.die, op, self.program_service);
        if place.opened_block && self.ftl.free(place.die) <= self.ftl.shape.soft {
            if self.config.collection.instant {
                self.collect_instantly(place.die);
            } else {
                self.collect_in_scope(now, self.scope_of(place.die), false);
            }
        }
        true
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, die: u32, mut op: Op, service: Duration) {
        let target = &mut self.dies[die as usize];
        op.held_up = op.kind != OpKind::Hold && target.collection.is_some();
        self.held_up += u32::from(op.held_up);
        let op = self.ops.insert(op);
        target.queue.push_back(&mut self.ops, op, service);
        if target.state == State::Idle {
            self.dispatch(now, die);
        }
    }

    // ---- dies -----------------------------------------------------------------------------

    fn service_of(&self, kind: OpKind) -> Duration {
        match kind {
            OpKind::Read => self.read_service,
            OpKind::Program => self.program_service,
            OpKind::Hold => Duration::ZERO,
        }
    }

    /// Gives an idle die its next operation: of its collection if it is held, else the first of
    /// its queue.
    #[inline]
    fn dispatch(&mut self, now: Instant, die: u32) {
        let index = die as usize;
        let Some(op) = self.dies[index].queue.front() else {
            self.dies[index].state = State::Idle;
            self.dies[index].ledger.switch(now, None);
            self.deadlines.set(index, Instant::NEVER);
            return;
        };
        let (kind, held_up, before, owner) = {
            let op = self.ops.get(op);
            (op.kind, op.held_up, op.before, op.owner)
        };
        let service = self.service_of(kind);
        let target = &mut self.dies[index];
        target.queue.pop_front(&self.ops, service);
        self.held_up -= u32::from(held_up);
        target.op = op;
        match kind {
            OpKind::Read => {
                target.delays = Delays::ZERO;
                explain_wait(&mut target.delays, &before, &target.ledger.read(now));
                target.ledger.switch(now, Some(Work::HostRead));
                target.state = State::Serving(Step::Sense);
                self.deadlines.set(index, now + self.config.timing.read);
            }
            OpKind::Program => {
                target.ledger.switch(now, Some(Work::HostWrite));
                if self.config.timing.transfer.is_zero() {
                    target.state = State::Serving(Step::Program);
                    self.deadlines.set(index, now + self.config.timing.program);
                } else {
                    self.request_channel(now, die);
                }
            }
            OpKind::Hold => {
                self.ops.release(op);
                target.state = State::Held;
                target.ledger.switch(now, Some(Work::CollectionRead));
                self.deadlines.set(index, Instant::NEVER);
                let collection = self.collections.get_mut(owner);
                collection.holds_pending -= 1;
                if collection.holds_pending == 0 {
                    self.begin_collection(now, owner);
                }
            }
        }
    }

    /// The current step of a die is over.
    #[inline]
    fn end_step(&mut self, now: Instant, die: u32) {
        match self.dies[die as usize].state {
            State::Serving(step) => self.end_host_step(now, die, step),
            State::Copying(step) => self.end_copy_step(now, die, step),
            State::Erasing => self.end_job(now, die),
            State::Idle | State::Held => unreachable!("die {die} has a deadline but no work"),
        }
    }

    fn end_host_step(&mut self, now: Instant, die: u32, step: Step) {
        let kind = self.ops.get(self.dies[die as usize].op).kind;
        match (kind, step) {
            (OpKind::Read, Step::Sense) => {
                let target = &mut self.dies[die as usize];
                target.delays.add(Cause::NandRead, self.config.timing.read);
                if self.config.timing.transfer.is_zero() {
                    self.end_read(now, die);
                } else {
                    self.request_channel(now, die);
                }
            }
            (OpKind::Read, _) => {
                let transfer = self.config.timing.transfer;
                self.dies[die as usize].delays.add(Cause::Transfer, transfer);
                self.release_channel(now, die);
                self.end_read(now, die);
            }
            (_, Step::Transfer) => {
                self.release_channel(now, die);
                self.dies[die as usize].state = State::Serving(Step::Program);
                self.deadlines.set(die as usize, now + self.config.timing.program);
            }
            (_, _) => self.end_program(now, die),
        }
    }

    fn end_read(&mut self, now: Instant, die: u32) {
        let target = &self.dies[die as usize];
        let (delays, op) = (target.delays, target.op);
        let Op { owner, block, logical, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.counters.host_reads_pages += 1;
        let command = self.commands.get_mut(owner);
        let id = command.id;
        command.remaining -= 1;
        if command.remaining == 0 {
            let completion = Completion {
                id,
                status: Status::Success,
                busy_remaining: Duration::ZERO,
                met_collection: command.met_collection,
                delays,
            };
            let blocks = command.blocks;
            self.commands.release(owner);
            self.send_data(now, completion, blocks);
        }
        if let Some(media) = &mut self.media {
            // Collection may have moved the page while the read waited, so look it up now.
            let flash = self.ftl.lookup(logical);
            let page = (flash != NONE).then_some(flash);
            media.push(Media::Sensed { command: id, block, page });
        }
        self.dispatch(now, die);
    }

    fn send_data(&mut self, now: Instant, mut completion: Completion, blocks: u32) {
        match self.link_time(blocks) {
            None => self.completed.push_back(Completed { at: now, completion }),
            Some(crossing) => {
                self.leaving_until = self.leaving_until.max(now) + crossing;
                completion.delays.add(Cause::Transfer, self.leaving_until.since(now));
                self.leaving.push_back(Completed { at: self.leaving_until, completion });
            }
        }
    }

    fn end_program(&mut self, now: Instant, die: u32) {
        let op = self.dies[die as usize].op;
        let Op { owner, block, logical, flash, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.ftl.commit_write(logical, flash);
        self.counters.host_programs_pages += 1;
        let command = self.commands.get_mut(owner);
        let id = command.id;
        if let Some(media) = &mut self.media {
            media.push(Media::Programmed { command: id, block, page: flash });
        }
        command.remaining -= 1;
        if command.remaining == 0 {
            let completion = Completion {
                id,
                status: Status::Success,
                busy_remaining: Duration::ZERO,
                met_collection: command.met_collection,
                delays: command.before_flash,
            };
            self.commands.release(owner);
            self.completed.push_back(Completed { at: now, completion });
        }
        self.dispatch(now, die);
        // An overwrite may have made the first page invalid that a collection can reclaim.
        if !self.stalled.is_empty() && self.collections.is_empty() {
            self.relieve(now);
        }
    }

    // ---- channels -------------------------------------------------------------------------

    fn channel_of(&self, die: u32) -> usize {
        (die / self.ftl.shape.chips_per_channel) as usize
    }

    /// Puts the current operation of the die into the step `step`.
    fn set_step(&mut self, die: u32, step: Step) {
        let state = &mut self.dies[die as usize].state;
        *state = match state {
            State::Copying(_) => State::Copying(step),
            _ => State::Serving(step),
        };
    }

    fn request_channel(&mut self, now: Instant, die: u32) {
        let channel = self.channel_of(die);
        if self.dies[die as usize].state == State::Idle {
            self.dies[die as usize].state = State::Serving(Step::WaitChannel);
        }
        self.dies[die as usize].channel_before = self.channels[channel].ledger.read(now);
        if self.channels[channel].busy {
            self.set_step(die, Step::WaitChannel);
            self.deadlines.set(die as usize, Instant::NEVER);
            self.channels[channel].waiting.push_back(die);
        } else {
            self.begin_transfer(now, die);
        }
    }

    fn begin_transfer(&mut self, now: Instant, die: u32) {
        self.set_step(die, Step::Transfer);
        let target = &mut self.dies[die as usize];
        let channel = &mut self.channels[(die / self.ftl.shape.chips_per_channel) as usize];
        let (work, length) = match target.state {
            // Out through error correction and back in.
            State::Copying(_) => (Work::CollectionRead, self.config.timing.transfer * 2),
            _ => match self.ops.get(target.op).kind {
                OpKind::Read => {
                    let after = channel.ledger.read(now);
                    explain_wait(&mut target.delays, &target.channel_before, &after);
                    (Work::HostRead, self.config.timing.transfer)
                }
                _ => (Work::HostWrite, self.config.timing.transfer),
            },
        };
        channel.busy = true;
        channel.ledger.switch(now, Some(work));
        self.deadlines.set(die as usize, now + length);
    }

    fn release_channel(&mut self, now: Instant, die: u32) {
        let channel = &mut self.channels[(die / self.ftl.shape.chips_per_channel) as usize];
        channel.busy = false;
        channel.ledger.switch(now, None);
        if let Some(next) = channel.waiting.pop_front() {
            self.begin_transfer(now, next);
        }
    }

    // ---- collection -----------------------------------------------------------------------

    /// The part of the drive in which one collection runs at a time.
    fn scope_of(&self, die: u32) -> usize {
        match (self.config.collection.unit, self.config.collection.blocking) {
            (CollectionUnit::Line, _) | (_, Blocking::Controller) => 0,
            (_, Blocking::Channel) => self.channel_of(die),
            (_, Blocking::Die) => die as usize,
        }
    }

    /// Starts every collection that is due. With `forced`, host writes have no room and the window
    /// contract gives way.
    fn collect_where_due(&mut self, now: Instant, forced: bool) {
        if self.config.collection.instant {
            return;
        }
        for scope in 0..self.scope_busy.len() {
            self.collect_in_scope(now, scope, forced);
        }
    }

    fn collect_in_scope(&mut self, now: Instant, scope: usize, forced: bool) {
        if self.scope_busy[scope] {
            return;
        }
        let Some((die, block)) = self.neediest_victim(scope, forced) else { return };
        let until = allowed_until(self.windows.as_ref(), now);
        let fits = until.is_some_and(|until| self.fits(now, until, scope, die, block));
        if !fits && !forced {
            return;
        }
        self.hold_dies(now, scope, die, block, until.unwrap_or(Instant::NEVER), !fits);
    }

    /// Of the dies of a scope that are at the soft watermark and have a victim, the one with the
    /// least free space, and its victim.
    fn neediest_victim(&self, scope: usize, forced: bool) -> Option<(u32, u32)> {
        let shape = &self.ftl.shape;
        let dies = shape.dies / self.scope_busy.len() as u32;
        let first = scope as u32 * dies;
        let mut least = shape.soft + 1;
        let mut neediest = None;
        // All dies of a line have the same free space and the same victim.
        let tried = if shape.unit == CollectionUnit::Line { 1 } else { dies };
        for die in first..first + tried {
            let free = self.ftl.free(die);
            if free >= least {
                continue;
            }
            let urgent = forced || free <= shape.hard;
            let min_invalid = if urgent { 1 } else { shape.min_invalid };
            let victim = match shape.unit {
                CollectionUnit::Block => self.ftl.victim_block(die, min_invalid),
                CollectionUnit::Line => self.ftl.victim_line(min_invalid),
            };
            if let Some(block) = victim {
                least = free;
                neediest = Some((die, block));
            }
        }
        neediest
    }

    /// Whether a collection that is asked for now is over at `until` in the worst case.
    fn fits(&self, now: Instant, until: Instant, scope: usize, die: u32, block: u32) -> bool {
        if until == Instant::NEVER {
            return true;
        }
        let ends = |die: u32, valid: u32| {
            let worker = &self.dies[die as usize];
            let current = match self.deadlines.get(die as usize) {
                Instant::NEVER => Duration::ZERO,
                due => due.since(now),
            };
            // A step that ends may be followed by another of the same operation.
            let rest = match worker.state {
                State::Idle | State::Held => Duration::ZERO,
                _ if self.config.timing.transfer.is_zero() => Duration::ZERO,
                _ => self.program_service,
            };
            now + current + rest + worker.queue.work + self.collection_bound(valid)
        };
        match self.ftl.shape.unit {
            CollectionUnit::Line => (0..self.ftl.shape.dies)
                .all(|die| ends(die, self.ftl.count_valid(die, block)) <= until),
            CollectionUnit::Block => {
                let valid = self.ftl.count_valid(die, block);
                let (first, dies) = self.held_dies(scope, die);
                (first..first + dies).all(|held| ends(held, valid) <= until)
            }
        }
    }

    /// The longest a collection of `valid` pages can take once its dies are held.
    fn collection_bound(&self, valid: u32) -> Duration {
        let transfer = self.config.timing.transfer;
        let alone = match (self.config.collection.unit, self.config.collection.blocking) {
            (CollectionUnit::Block, Blocking::Channel | Blocking::Controller) => true,
            _ => transfer.is_zero(),
        };
        let undisturbed = self.config.collection_time(u64::from(valid));
        if alone {
            return undisturbed;
        }
        // Every other die of the channel may be ahead of each copy, moving a page twice.
        let others = u64::from(self.ftl.shape.chips_per_channel) - 1;
        undisturbed + transfer * 2 * others * u64::from(valid)
    }

    /// First die and number of dies that a collection on `die` keeps from the host.
    fn held_dies(&self, _scope: usize, die: u32) -> (u32, u32) {
        let chips = self.ftl.shape.chips_per_channel;
        match self.config.collection.blocking {
            Blocking::Die => (die, 1),
            Blocking::Channel => (die / chips * chips, chips),
            Blocking::Controller => (0, self.ftl.shape.dies),
        }
    }

    /// Queues the holds of a collection on its dies.
    fn hold_dies(
        &mut self,
        now: Instant,
        scope: usize,
        die: u32,
        block: u32,
        until: Instant,
        violation: bool,
    ) {
        self.scope_busy[scope] = true;
        self.counters.contract_violations += u64::from(violation);
        self.ftl.begin_collection(die, block);
        let line = self.ftl.shape.unit == CollectionUnit::Line;
        let victim_die = (!line).then_some(die);
        let mut next = if line { 0 } else { die };
        let end = if line { self.ftl.shape.dies } else { die + 1 };
        let mut started = Vec::new();
        while next < end {
            let (first_die, dies) = self.held_dies(scope, next);
            started.push(self.collections.insert(Collection {
                first_die,
                dies,
                victim_die,
                block,
                holds_pending: dies,
                jobs_active: 0,
                until,
                violation,
                began: now,
            }));
            next = first_die + dies;
        }
        if line {
            self.line_parts_left = started.len() as u32;
        }
        // All parts exist before the first begins, because a part may end the line.
        for collection in started {
            let Collection { first_die, dies, .. } = *self.collections.get(collection);
            for die in first_die..first_die + dies {
                self.dies[die as usize].collection = Some(collection);
                let hold = Op::new(OpKind::Hold, collection, 0, NONE, NONE);
                self.enqueue(now, die, hold, Duration::ZERO);
            }
        }
    }

    /// All dies of the collection have come to it.
    fn begin_collection(&mut self, now: Instant, id: u32) {
        let collection = self.collections.get_mut(id);
        collection.began = now;
        let Collection { first_die, dies, victim_die, block, until, violation, .. } = *collection;
        if let Some(victim) = victim_die {
            let valid = self.ftl.count_valid(victim, block);
            let late = now + self.collection_bound(valid) > until;
            if late && !violation && until != Instant::NEVER {
                self.ftl.cancel_collection(victim, block);
                let scope = self.scope_of(victim);
                self.scope_busy[scope] = false;
                self.release_dies(now, id);
                return;
            }
        }
        let (first_worker, workers) = victim_die.map_or((first_die, dies), |die| (die, 1));
        self.collections.get_mut(id).jobs_active = workers;
        for die in first_worker..first_worker + workers {
            let first_page = self.ftl.shape.first_page(die, block);
            let remaining = self.ftl.count_valid(die, block);
            self.dies[die as usize].job = Some(Job { first_page, cursor: first_page, remaining });
            self.step_job(now, die);
        }
    }

    /// The next copy of a collecting die, or the erase when nothing valid is left.
    #[inline]
    fn step_job(&mut self, now: Instant, die: u32) {
        let index = die as usize;
        let Some(job) = &mut self.dies[index].job else { return };
        let end = job.first_page + self.ftl.shape.pages_per_block;
        let timing = &self.config.timing;
        let Some(from) = self.ftl.next_valid(job.cursor, end) else {
            job.cursor = end;
            job.remaining = 0;
            self.dies[index].state = State::Erasing;
            self.account(now, die, Work::CollectionErase, Duration::ZERO);
            self.deadlines.set(index, now + self.config.timing.erase);
            return;
        };
        job.cursor = from + 1;
        job.remaining = job.remaining.saturating_sub(1);
        let logical = self.ftl.holds(from);
        let to = self.ftl.allocate_for_collection(die);
        self.dies[index].copy = Copy { from, to, logical };
        if timing.transfer.is_zero() {
            // Nothing can come between sensing and programming: book both as one step.
            self.dies[index].state = State::Copying(Step::Program);
            let (read, length) = (timing.read, timing.read + timing.program);
            self.account(now, die, Work::CollectionProgram, read);
            self.deadlines.set(index, now + length);
        } else {
            self.dies[index].state = State::Copying(Step::Sense);
            let read = timing.read;
            self.account(now, die, Work::CollectionRead, Duration::ZERO);
            self.deadlines.set(index, now + read);
        }
    }

    /// Notes what a collecting die does, on its own ledger and on those of the dies that it keeps
    /// from the host meanwhile.
    #[inline]
    fn account(&mut self, now: Instant, die: u32, work: Work, lead: Duration) {
        self.dies[die as usize].ledger.switch_with_lead(now, Some(work), lead);
        if self.config.collection.blocking == Blocking::Die {
            return;
        }
        let Some(collection) = self.dies[die as usize].collection else { return };
        let Collection { first_die, dies, victim_die, .. } = *self.collections.get(collection);
        if victim_die.is_some() {
            for held in (first_die..first_die + dies).filter(|&held| held != die) {
                self.dies[held as usize].ledger.switch_with_lead(now, Some(work), lead);
            }
        }
    }

    fn end_copy_step(&mut self, now: Instant, die: u32, step: Step) {
        match step {
            Step::Sense => self.request_channel(now, die),
            Step::Transfer => {
                self.release_channel(now, die);
                self.dies[die as usize].state = State::Copying(Step::Program);
                self.account(now, die, Work::CollectionProgram, Duration::ZERO);
                self.deadlines.set(die as usize, now + self.config.timing.program);
            }
            _ => {
                let Copy { from, to, logical } = self.dies[die as usize].copy;
                if let Some(media) = &mut self.media {
                    media.push(Media::Copied { from, to });
                }
                self.ftl.commit_copy(logical, from, to);
                self.counters.collection_reads_pages += 1;
                self.counters.collection_programs_pages += 1;
                self.step_job(now, die);
            }
        }
    }

    /// The erase that ends a die's part of a collection is done.
    fn end_job(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        let (Some(id), Some(job)) = (target.collection, target.job.take()) else {
            unreachable!("die {die} erased a block outside a collection")
        };
        target.state = State::Held;
        target.ledger.switch(now, Some(Work::CollectionErase));
        self.deadlines.set(die as usize, Instant::NEVER);
        let pages = self.ftl.shape.pages_per_block;
        let block = (job.first_page / pages) % self.ftl.shape.blocks_per_die;
        if let Some(media) = &mut self.media {
            media.push(Media::Erased { first_page: job.first_page, pages });
        }
        self.ftl.erase(die, block);
        self.counters.erases += 1;
        let collection = self.collections.get_mut(id);
        collection.jobs_active -= 1;
        if collection.jobs_active == 0 {
            self.end_collection(now, id, die);
        }
    }

    fn end_collection(&mut self, now: Instant, id: u32, die: u32) {
        let Collection { first_die, dies, began, until, violation, .. } = *self.collections.get(id);
        // Contention that the bound did not foresee would break the contract as well.
        let overran = self.windows.is_some() && !violation && now > until;
        self.counters.contract_violations += u64::from(overran);
        if let Some(spans) = &mut self.spans {
            let violation = violation || overran;
            spans.push(CollectionSpan { first_die, dies, began, ended: now, violation });
        }
        let scope = self.scope_of(die);
        let whole_unit_done = match self.ftl.shape.unit {
            CollectionUnit::Block => true,
            CollectionUnit::Line => {
                self.line_parts_left -= 1;
                self.line_parts_left == 0
            }
        };
        if whole_unit_done {
            self.counters.collections += 1;
            self.scope_busy[scope] = false;
        }
        self.release_dies(now, id);
        if whole_unit_done {
            self.collect_in_scope(now, scope, false);
            if !self.stalled.is_empty() {
                self.relieve(now);
            }
        }
    }

    /// Gives the dies of a collection back to the host.
    fn release_dies(&mut self, now: Instant, id: u32) {
        let Collection { first_die, dies, .. } = *self.collections.get(id);
        self.collections.release(id);
        for die in first_die..first_die + dies {
            self.dies[die as usize].collection = None;
            self.dies[die as usize].state = State::Idle;
        }
        for die in first_die..first_die + dies {
            if self.dies[die as usize].state == State::Idle {
                self.dispatch(now, die);
            }
        }
    }

    /// Finds room for stalled writes, collecting against the contract if there is no other way.
    fn relieve(&mut self, now: Instant) {
        while let Some(&(command, block)) = self.stalled.front() {
            let placed = self.write_page(now, command, block)
                || (self.collect_everywhere_instantly() && self.write_page(now, command, block));
            if !placed {
                self.collect_where_due(now, true);
                return;
            }
            self.stalled.pop_front();
        }
    }

    /// Collects on every die if collections take no time. Returns whether they do.
    fn collect_everywhere_instantly(&mut self) -> bool {
        if self.config.collection.instant {
            for die in 0..self.ftl.shape.dies {
                self.collect_instantly(die);
            }
        }
        self.config.collection.instant
    }

    // ---- without time ---------------------------------------------------------------------

    /// Collects on `die` until it is above the soft watermark, in no time.
    pub(crate) fn collect_instantly(&mut self, die: u32) {
        let shape = self.ftl.shape;
        // A block with programs in flight cannot be erased before they are done, and in no time
        // nothing gets done: such victims are passed over.
        let mut passed_over = Vec::new();
        while self.ftl.free(die) <= shape.soft {
            let urgent = self.ftl.free(die) <= shape.hard;
            let min_invalid = if urgent { 1 } else { shape.min_invalid };
            let (victim, dies) = match shape.unit {
                CollectionUnit::Block => (self.ftl.victim_block(die, min_invalid), die..die + 1),
                CollectionUnit::Line => (self.ftl.victim_line(min_invalid), 0..shape.dies),
            };
            let Some(block) = victim else { break };
            self.ftl.begin_collection(die, block);
            if self.ftl.has_pages_in_flight(die, block) {
                passed_over.push(block);
                continue;
            }
            for die in dies {
                let copied = if self.media.is_some() {
                    self.collect_recording(die, block)
                } else {
                    self.ftl.collect_now(die, block)
                };
                self.counters.collection_reads_pages += u64::from(copied);
                self.counters.collection_programs_pages += u64::from(copied);
                self.counters.erases += 1;
            }
            self.counters.collections += 1;
        }
        for block in passed_over {
            self.ftl.cancel_collection(die, block);
        }
    }

    /// [`Ftl::collect_now`] with every copy listed.
    fn collect_recording(&mut self, die: u32, block: u32) -> u32 {
        let pages = self.ftl.shape.pages_per_block;
        let first_page = self.ftl.shape.first_page(die, block);
        let mut cursor = first_page;
        let mut copied = 0;
        while let Some(from) = self.ftl.next_valid(cursor, first_page + pages) {
            let to = self.ftl.allocate_for_collection(die);
            self.ftl.commit_copy(self.ftl.holds(from), from, to);
            self.media.get_or_insert_default().push(Media::Copied { from, to });
            cursor = from + 1;
            copied += 1;
        }
        self.media.get_or_insert_default().push(Media::Erased { first_page, pages });
        self.ftl.erase(die, block);
        copied
    }

    /// Checks that the maps and counts of the FTL agree.
    ///
    /// # Panics
    ///
    /// If they do not, or if commands are in flight.
    pub fn check_invariants(&self) {
        assert_eq!(self.commands_in_flight(), 0, "only exact while no command is in flight");
        if self.collections.is_empty() {
            self.ftl.check_invariants();
        }
    }
}
