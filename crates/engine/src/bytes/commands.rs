//! Commands in flight: the answers of drive model and storage to each, joined into one completion.

use super::accepted::AcceptedRow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::{Cause, Command, CommandId, Completion, Delays, Status};
use units::{DriveId, Duration, Instant};

/// Progress of the storage with a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    /// The storage is at work.
    Working,
    /// The storage has done the command.
    Done,
    /// The storage failed the command, or its drive failed.
    Failed,
}

/// A command in flight.
#[derive(Debug)]
pub(super) struct Outstanding<B> {
    id: CommandId,
    drive: DriveId,
    sent: Instant,
    /// True until the drive model has answered.
    model_waits: bool,
    /// Answer of the drive model.
    answer: Option<Completion>,
    /// Transfer of the storage, until it has ended.
    transfer: Option<u32>,
    storage: Storage,
    /// True if the array has the completion, or it is ready for the array.
    completed: bool,
    /// Data that the storage has read.
    buffer: Option<B>,
    /// Accepted rows that are put over the data of a read.
    accepted: Vec<AcceptedRow<B>>,
}

impl<B> Outstanding<B> {
    pub(super) fn new(
        drive: DriveId,
        command: &Command,
        sent: Instant,
        model_waits: bool,
        transfer: u32,
        accepted: Vec<AcceptedRow<B>>,
    ) -> Self {
        Self {
            id: command.id,
            drive,
            sent,
            model_waits,
            answer: None,
            transfer: Some(transfer),
            storage: Storage::Working,
            completed: false,
            buffer: None,
            accepted,
        }
    }

    fn into_buffer(self) -> Option<B> {
        self.buffer
    }

    fn storage_ended(&mut self, failed: bool, buffer: Option<B>) {
        self.transfer = None;
        self.buffer = buffer;
        if self.storage != Storage::Failed {
            self.storage = if failed { Storage::Failed } else { Storage::Done };
        }
    }

    /// The storage has failed a read fast, which would have waited for `busy_remaining`.
    fn failed_fast(&mut self, now: Instant, busy_remaining: Duration) {
        self.transfer = None;
        self.model_waits = false;
        if self.storage == Storage::Failed {
            return;
        }
        let mut answer = without_model(self.id);
        (answer.status, answer.busy_remaining) = (Status::FailedFast, busy_remaining);
        answer.met_collection = true;
        answer.delays.add(Cause::Transfer, now.since(self.sent));
        self.answer = Some(answer);
    }

    fn model_answered(&mut self, answer: Completion) {
        self.model_waits = false;
        if self.storage != Storage::Failed {
            self.answer = Some(answer);
        }
    }

    /// Waits for nothing more: the drive failed. A completion that is on its way to the array
    /// stands.
    fn give_up(&mut self) {
        self.storage = Storage::Failed;
        self.answer = None;
    }

    /// Returns the completion, once, when model and storage have both answered. A read that failed
    /// fast does not wait for its storage.
    fn completion(&mut self, now: Instant) -> Option<Completion> {
        if self.completed {
            return None;
        }
        let failed_fast = self.answer.filter(|answer| answer.status == Status::FailedFast);
        let both = self.storage == Storage::Done && !self.model_waits;
        if failed_fast.is_none() && !both && self.storage != Storage::Failed {
            return None;
        }
        self.completed = true;
        if failed_fast.is_some() {
            return failed_fast;
        }
        let mut completion = self.answer.unwrap_or_else(|| without_model(self.id));
        if self.storage == Storage::Failed {
            completion.status = Status::Unrecovered;
        }
        // The command took longer than the drive model says: the rest is the time of the transfer.
        let passed = now.since(self.sent);
        let explained = completion.delays.total();
        completion.delays.add(Cause::Transfer, passed.saturating_sub(explained));
        Some(completion)
    }
}

/// Completion of a drive that has no model.
fn without_model(id: CommandId) -> Completion {
    Completion {
        id,
        status: Status::Success,
        busy_remaining: Duration::ZERO,
        met_collection: false,
        held_up: false,
        delays: Delays::ZERO,
    }
}

/// All commands in flight, and their completions for the array.
#[derive(Debug)]
pub(super) struct Commands<B> {
    /// Commands in flight, by id.
    out: Vec<Option<Outstanding<B>>>,
    count: usize,
    /// Completions for the array that do not come from drive models.
    ready: VecDeque<Completion>,
    /// Command whose completion the array is handling, with the data that it read.
    delivered: Option<Outstanding<B>>,
}

impl<B> Commands<B> {
    pub(super) const fn new() -> Self {
        Self { out: Vec::new(), count: 0, ready: VecDeque::new(), delivered: None }
    }

    pub(super) fn insert(&mut self, outstanding: Outstanding<B>) {
        let index = outstanding.id.0 as usize;
        if self.out.len() <= index {
            self.out.resize_with(index + 1, || None);
        }
        debug_assert!(self.out[index].is_none(), "command {index} is out already");
        self.out[index] = Some(outstanding);
        self.count += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn get_mut(&mut self, id: CommandId) -> Option<&mut Outstanding<B>> {
        self.out.get_mut(id.0 as usize)?.as_mut()
    }

    /// Drive of a command in flight.
    pub(super) fn drive_of(&self, id: CommandId) -> Option<DriveId> {
        let outstanding = self.out.get(id.0 as usize)?.as_ref()?;
        Some(outstanding.drive)
    }

    /// Continues the storage's work on a command with another transfer.
    pub(super) fn goes_on(&mut self, id: CommandId, transfer: u32) {
        if let Some(command) = self.get_mut(id) {
            command.transfer = Some(transfer);
        }
    }

    /// Returns the accepted rows to put over the data of a read; `None` if it is not in flight.
    pub(super) fn take_accepted(&mut self, id: CommandId) -> Option<Vec<AcceptedRow<B>>> {
        self.get_mut(id).map(|command| core::mem::take(&mut command.accepted))
    }

    /// Ends the storage's work on a command.
    pub(super) fn storage_ended(
        &mut self,
        now: Instant,
        id: CommandId,
        failed: bool,
        buffer: Option<B>,
    ) {
        if let Some(command) = self.get_mut(id) {
            command.storage_ended(failed, buffer);
            let completion = command.completion(now);
            self.ready.extend(completion);
        }
    }

    /// Handles a read that the storage failed fast; it would have waited for `busy_remaining`.
    pub(super) fn failed_fast(&mut self, now: Instant, id: CommandId, busy_remaining: Duration) {
        if let Some(command) = self.get_mut(id) {
            command.failed_fast(now, busy_remaining);
            let completion = command.completion(now);
            self.ready.extend(completion);
        }
    }

    /// Handles the drive model's answer. Returns the completion unless the storage is still at
    /// work.
    pub(super) fn model_answered(
        &mut self,
        now: Instant,
        answer: &Completion,
    ) -> Option<Completion> {
        let command = self.get_mut(answer.id)?;
        command.model_answered(*answer);
        command.completion(now)
    }

    /// Stops waiting for the commands of a failed drive.
    pub(super) fn give_up(&mut self, now: Instant, drive: DriveId) {
        let of_drive = self.out.iter_mut().flatten().filter(|command| command.drive == drive);
        self.ready.extend(of_drive.filter_map(|command| {
            command.give_up();
            command.completion(now)
        }));
    }

    /// Returns the next completion for the array.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    /// Delivers a command to the array. Returns its transfer if the storage has yet to end it, and
    /// the data of the command before if the array did not keep that.
    pub(super) fn deliver(&mut self, id: CommandId) -> (Option<u32>, Option<B>) {
        let command = self.out.get_mut(id.0 as usize).and_then(Option::take);
        self.count -= usize::from(command.is_some());
        let transfer = command.as_ref().and_then(|command| command.transfer);
        let before = core::mem::replace(&mut self.delivered, command);
        (transfer, before.and_then(Outstanding::into_buffer))
    }

    /// Takes the data of the command that the array is handling, if that is `id`.
    pub(super) fn take_delivered(&mut self, id: CommandId) -> Option<B> {
        let delivered = self.delivered.take_if(|delivered| delivered.id == id);
        delivered.and_then(Outstanding::into_buffer)
    }
}
