//! Commands that drives have not answered: what the drive model says of each and what its storage
//! does, joined into one completion.

use super::accepted::AcceptedRow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::{Cause, Command, CommandId, Completion, Delays, Status};
use units::{DriveId, Duration, Instant};

/// How far the storage is with a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    /// It is at work.
    Working,
    /// It has done it.
    Done,
    /// It could not do it, or its drive was given up.
    Failed,
}

/// A command that is out.
#[derive(Debug)]
pub(super) struct Outstanding<B> {
    id: CommandId,
    drive: DriveId,
    sent: Instant,
    /// Whether the drive model has yet to answer.
    model_waits: bool,
    /// What the drive model has answered.
    answer: Option<Completion>,
    /// What the storage does, until it has ended.
    transfer: Option<u32>,
    storage: Storage,
    /// Whether the completion is in the array's hands, or on its way there.
    completed: bool,
    /// What the storage has brought.
    buffer: Option<B>,
    /// Of a read, what is to be put over that.
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

    /// The storage has failed a read fast: it would have waited for so long.
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

    /// Nothing more is waited for: the drive was given up. A completion that is on its way to the
    /// array stands.
    fn give_up(&mut self) {
        self.storage = Storage::Failed;
        self.answer = None;
    }

    /// The completion, once, when model and storage have both answered. A read that is failed fast
    /// does not wait for its storage.
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
        // Bytes that took longer than the drive model: moving them was what took so long.
        let passed = now.since(self.sent);
        let explained = completion.delays.total();
        completion.delays.add(Cause::Transfer, passed.saturating_sub(explained));
        Some(completion)
    }
}

/// The completion of a drive that has no model.
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

/// All commands that are out, and what the array hears of them.
#[derive(Debug)]
pub(super) struct Commands<B> {
    /// By id.
    out: Vec<Option<Outstanding<B>>>,
    count: usize,
    /// Completions that the array has yet to hear of, beside those that drive models bring.
    ready: VecDeque<Completion>,
    /// The command that the array is hearing of, with what it has brought.
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

    /// The drive of a command that is out.
    pub(super) fn drive_of(&self, id: CommandId) -> Option<DriveId> {
        let outstanding = self.out.get(id.0 as usize)?.as_ref()?;
        Some(outstanding.drive)
    }

    /// Its storage goes on with another transfer.
    pub(super) fn goes_on(&mut self, id: CommandId, transfer: u32) {
        if let Some(command) = self.get_mut(id) {
            command.transfer = Some(transfer);
        }
    }

    /// What is to be put over what the storage of a read brings; `None` if it is not out.
    pub(super) fn take_accepted(&mut self, id: CommandId) -> Option<Vec<AcceptedRow<B>>> {
        self.get_mut(id).map(|command| core::mem::take(&mut command.accepted))
    }

    /// Its storage is done with it.
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

    /// Its storage has failed a read fast: it would have waited for so long.
    pub(super) fn failed_fast(&mut self, now: Instant, id: CommandId, busy_remaining: Duration) {
        if let Some(command) = self.get_mut(id) {
            command.failed_fast(now, busy_remaining);
            let completion = command.completion(now);
            self.ready.extend(completion);
        }
    }

    /// The drive model has answered. Returns the completion if that was all that it waited for.
    pub(super) fn model_answered(
        &mut self,
        now: Instant,
        answer: &Completion,
    ) -> Option<Completion> {
        let command = self.get_mut(answer.id)?;
        command.model_answered(*answer);
        command.completion(now)
    }

    /// A drive was given up: its commands are waited for no more.
    pub(super) fn give_up(&mut self, now: Instant, drive: DriveId) {
        let of_drive = self.out.iter_mut().flatten().filter(|command| command.drive == drive);
        self.ready.extend(of_drive.filter_map(|command| {
            command.give_up();
            command.completion(now)
        }));
    }

    /// The next completion for the array.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    /// The array hears of a command. Returns the transfer that the storage has yet to end for it,
    /// and what the command before has brought that the array did not keep.
    pub(super) fn deliver(&mut self, id: CommandId) -> (Option<u32>, Option<B>) {
        let command = self.out.get_mut(id.0 as usize).and_then(Option::take);
        self.count -= usize::from(command.is_some());
        let transfer = command.as_ref().and_then(|command| command.transfer);
        let before = core::mem::replace(&mut self.delivered, command);
        (transfer, before.and_then(Outstanding::into_buffer))
    }

    /// What the command has brought that the array is hearing of, if it is this one.
    pub(super) fn take_delivered(&mut self, id: CommandId) -> Option<B> {
        let delivered = self.delivered.take_if(|delivered| delivered.id == id);
        delivered.and_then(Outstanding::into_buffer)
    }
}
