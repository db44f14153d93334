//! What carries out commands: the model of the drive and the storage of its bytes.
//!
//! Both are given a command when it has come with all its data, and it is done when both have done
//! it. A read from memory waits for the model, so that one which fails fast copies nothing; from a
//! file it is read meanwhile, and what was read for one that fails fast is dropped. Bytes are at
//! their logical addresses: the model gives timing. A flush is a sync of the storage. The write
//! buffer of a model is one that survives a loss of power.

use super::{DriveError, Ended};
use crate::buffer::Buffer;
use crate::nvme_tcp::{BLOCK_SHIFT, CommandBuffer, CommandName, Counters};
use crate::storage::{Backing, Finished, Storage, Work};
use engine::{FairQueue, Origin};
use nvme::target::{IoOperation, IoOutcome, IoRequest, Namespace};
use nvme::wire::{BlockRange, HealthLog, StatusCode, StatusField};
use nvme::{Command, CommandId, Opcode, PlFlag, Status};
use ssd::{Completed, Ssd};
use std::collections::VecDeque;
use std::io;
use units::{DriveId, Instant, Lba, Slab};

/// Its place in the storage.
const DRIVE: DriveId = DriveId(0);

/// Blocks that are deallocated in one turn: hosts deallocate a whole drive by one command.
const TRIM_BLOCKS: u64 = 1 << 13;
/// Blocks of one command that are deallocated at a time.
const TRIM_PIECE_BLOCKS: u64 = TRIM_BLOCKS / 4;
/// Bytes of the commands that are begun in one turn.
const BEGUN_BYTES: u64 = 1 << 20;
/// Bytes that count for a command at least.
const COMMAND_BYTES_MIN: u64 = 4096;

/// Who waits for an operation.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// A host.
    Host { name: CommandName, request: IoRequest },
    /// A controller that is to be shut down.
    Controller(u16),
    /// Hosts that changed reservations.
    Reservations,
    /// The end of the drive.
    End,
}

/// A command, or a flush.
#[derive(Debug)]
struct Operation {
    owner: Owner,
    buffer: Option<CommandBuffer>,
    outcome: IoOutcome,
    /// The model has not answered.
    at_model: bool,
    /// What the storage has to do.
    at_storage: u32,
    /// When all that is done, it is to be on stable storage.
    sync_after: bool,
    /// The host has its answer; only the buffer is not back.
    is_answered: bool,
}

/// A command that waits for its turn.
#[derive(Debug)]
struct Waiting {
    name: CommandName,
    request: IoRequest,
    buffer: Option<CommandBuffer>,
}

/// What may still be begun in a turn.
#[derive(Clone, Copy, Debug)]
struct Budget {
    bytes: u64,
    trim_blocks: u64,
}

/// Blocks that are to be deallocated.
#[derive(Clone, Copy, Debug)]
struct Trim {
    slot: u32,
    first: u64,
    blocks: u64,
}

/// What is done.
#[derive(Debug)]
pub(super) enum Done {
    /// A command.
    Command { name: CommandName, outcome: IoOutcome, buffer: Option<CommandBuffer> },
    /// The buffer of a command that was answered before.
    Buffer { name: CommandName, buffer: CommandBuffer },
    /// Everything that was written is on stable storage, as this controller wants it.
    Flushed { controller: u16 },
    /// The oldest state of reservations that was to be kept is on stable storage, or could not be
    /// brought there.
    ReservationsKept(bool),
}

/// Model and storage.
#[derive(Debug)]
pub(super) struct Device {
    namespace: Namespace,
    model: Option<Box<Ssd>>,
    /// Blocks of a page of the model.
    page_blocks: u64,
    storage: Storage,
    /// Whether the storage does at once what it is given.
    is_memory: bool,
    operations: Slab<Operation>,
    /// By connection.
    waiting: FairQueue<Waiting>,
    trims: VecDeque<Trim>,
    budget: Budget,
    done: VecDeque<Done>,
    /// Blocks with reservations and where each goes; the first is being written.
    to_keep: VecDeque<(u64, Buffer)>,
    counters: Counters,
    /// The present: it never goes back.
    now: Instant,
    /// What went wrong at the end.
    last_error: Option<String>,
}

impl Device {
    pub(super) fn new(namespace: Namespace, model: Option<Box<Ssd>>, storage: Storage) -> Self {
        let page_bytes =
            model.as_ref().map_or(1 << BLOCK_SHIFT, |ssd| ssd.config().geometry.page_bytes);
        let is_memory = matches!(storage.backing(DRIVE), Some(Backing::Memory(_)));
        Self {
            namespace,
            model,
            page_blocks: (u64::from(page_bytes) >> BLOCK_SHIFT).max(1),
            storage,
            is_memory,
            operations: Slab::new(),
            waiting: FairQueue::default(),
            trims: VecDeque::new(),
            budget: Budget { bytes: 0, trim_blocks: 0 },
            done: VecDeque::new(),
            to_keep: VecDeque::new(),
            counters: Counters::default(),
            now: Instant::ZERO,
            last_error: None,
        }
    }

    /// The model.
    pub(super) fn model(&self) -> Option<&Ssd> {
        self.model.as_deref()
    }

    /// The model, to be told something.
    pub(super) fn model_mut(&mut self) -> Option<&mut Ssd> {
        self.model.as_deref_mut()
    }

    /// Log page 02h.
    pub(super) fn health(&self, now: Instant) -> HealthLog {
        self.counters.health(now)
    }

    /// Whether commands are under way.
    pub(super) fn has_commands(&self) -> bool {
        !self.operations.is_empty() || !self.waiting.is_empty()
    }

    /// When [`Device::catch_up`] wants to be called.
    pub(super) fn next_deadline(&self) -> Instant {
        match self.trims.is_empty() && self.waiting.is_empty() {
            true => self.model().map_or(Instant::NEVER, Ssd::next_deadline),
            false => Instant::ZERO,
        }
    }

    /// Lets the drive come up to the present. Returns it.
    pub(super) fn catch_up(&mut self, clock: Instant) -> Instant {
        self.now = self.now.max(clock);
        if let Some(ssd) = self.model.as_deref_mut() {
            ssd.handle_deadline(self.now);
        }
        self.now
    }

    /// Takes a command that is there with all its data.
    pub(super) fn take(
        &mut self,
        now: Instant,
        name: CommandName,
        request: IoRequest,
        buffer: Option<CommandBuffer>,
    ) {
        self.counters.set_busy(now, true);
        let origin = Origin(name.connection_number());
        self.waiting.push(origin, Waiting { name, request, buffer });
    }

    /// Another turn begins.
    pub(super) fn begin_turn(&mut self) {
        self.budget = Budget { bytes: BEGUN_BYTES, trim_blocks: TRIM_BLOCKS };
    }

    /// Begins commands whose turn it is, as far as the budget goes. Returns whether there was any.
    fn begin_waiting(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.budget.bytes > 0
            && let Some(Waiting { name, request, buffer }) = self.waiting.pop()
        {
            let bytes = u64::from(request.bytes).max(COMMAND_BYTES_MIN);
            self.budget.bytes = self.budget.bytes.saturating_sub(bytes);
            self.waiting.charge(Origin(name.connection_number()), bytes);
            self.begin(now, name, request, buffer);
            any = true;
        }
        any
    }

    fn begin(
        &mut self,
        now: Instant,
        name: CommandName,
        request: IoRequest,
        buffer: Option<CommandBuffer>,
    ) {
        let slot = self.insert(Owner::Host { name, request }, buffer);
        let is_read = matches!(request.operation, IoOperation::Read(_));
        self.operations.get_mut(slot).sync_after = request.force_unit_access && !is_read;
        match request.operation {
            IoOperation::Read(range) => {
                let waits = self.give_model(now, slot, Opcode::Read, &range, request.pl);
                if !(waits && self.is_memory) {
                    self.read(slot, &range);
                }
            }
            IoOperation::Write(range) => {
                self.give_model(now, slot, Opcode::Write, &range, PlFlag::Off);
                self.write(slot, &range);
            }
            IoOperation::WriteZeroes { range, .. } => {
                self.trim(slot, range.lba, range.blocks.get().into());
            }
            IoOperation::Deallocate { ranges } => self.deallocate(slot, ranges),
            IoOperation::Flush => self.submit(slot, Work::Sync),
            IoOperation::Nothing => {}
        }
        self.end_if_done(slot);
    }

    /// Brings everything to stable storage for a controller.
    pub(super) fn flush_for(&mut self, controller: u16) {
        let slot = self.insert(Owner::Controller(controller), None);
        self.submit(slot, Work::Sync);
    }

    /// Writes a block with the state of reservations into the head of the drive. One is written
    /// after the other, so that the last that was begun is the newest.
    pub(super) fn keep_reservations(&mut self, offset_bytes: u64, block: Buffer) {
        self.to_keep.push_back((offset_bytes, block));
        if self.to_keep.len() == 1 {
            self.write_reservations();
        }
    }

    fn write_reservations(&mut self) {
        let Some((offset_bytes, buffer)) = self.to_keep.front() else { return };
        let (offset_bytes, buffer) = (*offset_bytes, buffer.share());
        let length_bytes = buffer.len();
        let slot = self.insert(Owner::Reservations, None);
        self.submit(slot, Work::WriteHead { offset_bytes, buffer, length_bytes });
    }

    /// Brings everything to stable storage at the end.
    pub(super) fn begin_end(&mut self) {
        let slot = self.insert(Owner::End, None);
        self.submit(slot, Work::Sync);
    }

    /// What is left of the drive when its end is over.
    pub(super) fn poll_end(&mut self) -> Option<Result<Ended, DriveError>> {
        if self.storage.in_flight() > 0 {
            return None;
        }
        if let Some(error) = self.last_error.take() {
            return Some(Err(DriveError::Sync(error)));
        }
        let mut model = self.model.take();
        if let Some(ssd) = &mut model
            && ssd.commands_in_flight() == 0
        {
            ssd.settle();
        }
        let model = model.filter(|ssd| ssd.commands_in_flight() == 0);
        Some(Ok(Ended { model, storage_errors: self.counters.media_errors() }))
    }

    /// Goes on with what the model and the storage have done, and with what is to be deallocated.
    /// Returns whether there was anything.
    pub(super) fn work(&mut self, now: Instant) -> bool {
        let mut any = self.begin_waiting(now);
        self.continue_trims(now);
        while let Some(completed) = self.model.as_deref_mut().and_then(Ssd::poll_completion) {
            self.end_at_model(&completed);
            any = true;
        }
        // What one of these leads to memory does at once, and it is one of these.
        while let Some(finished) = self.storage.poll() {
            self.end_at_storage(finished);
            any = true;
        }
        if !self.has_commands() {
            self.counters.set_busy(now, false);
        }
        any
    }

    /// The next thing that is done.
    pub(super) fn poll_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Hands everything that was submitted to the kernel.
    pub(super) fn kick(&mut self) -> io::Result<()> {
        self.storage.kick()
    }

    fn insert(&mut self, owner: Owner, buffer: Option<CommandBuffer>) -> u32 {
        self.operations.insert(Operation {
            owner,
            buffer,
            outcome: IoOutcome::Done,
            at_model: false,
            at_storage: 0,
            sync_after: false,
            is_answered: false,
        })
    }

    /// Gives the model a command, if there is a model.
    fn give_model(
        &mut self,
        now: Instant,
        slot: u32,
        opcode: Opcode,
        range: &BlockRange,
        pl: PlFlag,
    ) -> bool {
        let Some(ssd) = self.model.as_deref_mut() else { return false };
        let first = range.lba / self.page_blocks;
        let end = (range.lba + u64::from(range.blocks.get())).div_ceil(self.page_blocks);
        let command = Command {
            id: CommandId(slot),
            opcode,
            lba: Lba(first),
            blocks: (end - first) as u32,
            pl,
        };
        ssd.handle_command(now, &command);
        self.operations.get_mut(slot).at_model = true;
        true
    }

    fn submit(&mut self, slot: u32, work: Work) {
        self.operations.get_mut(slot).at_storage += 1;
        self.storage.submit(u64::from(slot), DRIVE, work);
    }

    fn read(&mut self, slot: u32, range: &BlockRange) {
        let offset_bytes = range.lba << BLOCK_SHIFT;
        let pages = self.lend_pages(slot);
        if let Some((buffer, length_bytes)) = pages {
            self.submit(slot, Work::Read { offset_bytes, buffer, length_bytes, pl: PlFlag::Off });
        }
    }

    fn write(&mut self, slot: u32, range: &BlockRange) {
        let offset_bytes = range.lba << BLOCK_SHIFT;
        let pages = self.lend_pages(slot);
        if let Some((buffer, length_bytes)) = pages {
            self.submit(slot, Work::Write { offset_bytes, buffer, length_bytes });
        }
    }

    fn lend_pages(&mut self, slot: u32) -> Option<(Buffer, usize)> {
        let buffer = self.operations.get_mut(slot).buffer.as_mut()?;
        Some((buffer.take_pages()?, buffer.length_bytes()))
    }

    fn deallocate(&mut self, slot: u32, ranges: u16) {
        let operation = self.operations.get(slot);
        let data = operation.buffer.as_ref().map(CommandBuffer::bytes).unwrap_or_default();
        let ranges = self.namespace.dataset(ranges, data).map(Iterator::collect::<Vec<_>>);
        match ranges {
            Ok(ranges) => {
                ranges.iter().for_each(|range| self.trim(slot, range.lba, range.blocks.into()));
            }
            Err(status) => self.operations.get_mut(slot).outcome = IoOutcome::Failed(status),
        }
    }

    /// Blocks are to be deallocated, by and by.
    fn trim(&mut self, slot: u32, first: u64, blocks: u64) {
        if blocks > 0 {
            self.operations.get_mut(slot).at_storage += 1;
            self.trims.push_back(Trim { slot, first, blocks });
        }
    }

    fn continue_trims(&mut self, now: Instant) {
        while self.budget.trim_blocks > 0
            && let Some(Trim { slot, first, blocks }) = self.trims.pop_front()
        {
            let some = blocks.min(TRIM_PIECE_BLOCKS).min(self.budget.trim_blocks);
            self.budget.trim_blocks -= some;
            self.forget(now, first, some);
            let (offset_bytes, length_bytes) = (first << BLOCK_SHIFT, some << BLOCK_SHIFT);
            self.submit(slot, Work::Discard { offset_bytes, length_bytes });
            if some < blocks {
                // It is the turn of the next.
                self.trims.push_back(Trim { slot, first: first + some, blocks: blocks - some });
            } else {
                self.operations.get_mut(slot).at_storage -= 1;
            }
        }
    }

    /// The model forgets the pages that lie in some blocks.
    fn forget(&mut self, now: Instant, first: u64, blocks: u64) {
        let Some(ssd) = self.model.as_deref_mut() else { return };
        let start = first.div_ceil(self.page_blocks);
        let end = (first + blocks) / self.page_blocks;
        if start < end {
            ssd.handle_deadline(now);
            ssd.forget(Lba(start), (end - start) as u32);
        }
    }

    fn end_at_model(&mut self, completed: &Completed) {
        let completion = &completed.completion;
        let slot = completion.id.0;
        let operation = self.operations.get_mut(slot);
        operation.at_model = false;
        let Owner::Host { request, .. } = operation.owner else { return };
        match (completion.status, request.operation) {
            (Status::Success, IoOperation::Read(range)) if self.is_memory => {
                self.read(slot, &range);
            }
            (Status::Success, _) => {}
            (Status::FailedFast, _) => {
                let busy_remaining = completion.busy_remaining;
                operation.outcome = IoOutcome::FailedFast { busy_remaining };
            }
            (Status::Unrecovered, operation_of) => {
                let opcode = match operation_of {
                    IoOperation::Read(_) => Opcode::Read,
                    _ => Opcode::Write,
                };
                let status = StatusField::of(completion.status, opcode);
                operation.outcome = IoOutcome::Failed(status);
            }
        }
        self.end_if_done(slot);
    }

    fn end_at_storage(&mut self, finished: Finished) {
        let Finished { tag, buffer, result, .. } = finished;
        let slot = tag as u32;
        let operation = self.operations.get_mut(slot);
        operation.at_storage -= 1;
        if let (Some(pages), Some(own)) = (buffer, &mut operation.buffer) {
            own.put_pages(pages);
        }
        if let Err(error) = result {
            self.counters.count_error();
            tracing::warn!(%error, "the storage could not do a command");
            if let Owner::End = operation.owner {
                self.last_error = Some(error.to_string());
            }
            if operation.outcome == IoOutcome::Done {
                operation.outcome = IoOutcome::Failed(status_of(&error, &operation.owner));
            }
        }
        self.end_if_done(slot);
    }

    /// Goes on with an operation of which a part is over.
    fn end_if_done(&mut self, slot: u32) {
        let operation = self.operations.get_mut(slot);
        if operation.at_model {
            return;
        }
        if operation.at_storage > 0 {
            // A read that fails fast does not wait for what it does not need.
            if let (IoOutcome::FailedFast { .. }, Owner::Host { name, .. }) =
                (operation.outcome, operation.owner)
                && !std::mem::replace(&mut operation.is_answered, true)
            {
                let outcome = operation.outcome;
                self.done.push_back(Done::Command { name, outcome, buffer: None });
            }
            return;
        }
        if operation.outcome == IoOutcome::Done && std::mem::take(&mut operation.sync_after) {
            return self.submit(slot, Work::Sync);
        }
        let (owner, outcome) = (operation.owner, operation.outcome);
        let (buffer, is_answered) = (operation.buffer.take(), operation.is_answered);
        self.operations.release(slot);
        match owner {
            Owner::Host { name, .. } if is_answered => {
                self.done.extend(buffer.map(|buffer| Done::Buffer { name, buffer }));
            }
            Owner::Host { name, request } => {
                if outcome == IoOutcome::Done {
                    self.counters.count(&request);
                }
                self.done.push_back(Done::Command { name, outcome, buffer });
            }
            Owner::Controller(controller) => self.done.push_back(Done::Flushed { controller }),
            Owner::Reservations => {
                self.to_keep.pop_front();
                self.done.push_back(Done::ReservationsKept(outcome == IoOutcome::Done));
                self.write_reservations();
            }
            Owner::End => {}
        }
    }
}

/// What a host is told about an error of the storage.
fn status_of(error: &io::Error, owner: &Owner) -> StatusField {
    let Owner::Host { request, .. } = owner else { return StatusCode::WriteFault.for_now() };
    match (request.operation, error.kind()) {
        (IoOperation::Read(_), _) => StatusCode::UnrecoveredRead.for_now(),
        (_, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            StatusCode::CapacityExceeded.for_good()
        }
        _ => StatusCode::WriteFault.for_now(),
    }
}
