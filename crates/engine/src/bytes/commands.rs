//! Commands that drives have not answered: what the drive model says of each and what its storage
//! does, joined into one completion.

use super::accepted::AcceptedRow;
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

    pub(super) fn id(&self) -> CommandId {
        self.id
    }

    pub(super) fn drive(&self) -> DriveId {
        self.drive
    }

    /// The storage goes on with another transfer.
    pub(super) fn goes_on(&mut self, transfer: u32) {
        self.transfer = Some(transfer);
    }

    /// The transfer that the storage has yet to end.
    pub(super) fn transfer(&self) -> Option<u32> {
        self.transfer
    }

    pub(super) fn into_buffer(self) -> Option<B> {
        self.buffer
    }

    pub(super) fn take_accepted(&mut self) -> Vec<AcceptedRow<B>> {
        core::mem::take(&mut self.accepted)
    }

    pub(super) fn storage_ended(&mut self, failed: bool, buffer: Option<B>) {
        self.transfer = None;
        self.buffer = buffer;
        if self.storage != Storage::Failed {
            self.storage = if failed { Storage::Failed } else { Storage::Done };
        }
    }

    /// The storage has failed a read fast: it would have waited for so long.
    pub(super) fn failed_fast(&mut self, now: Instant, busy_remaining: Duration) {
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

    pub(super) fn model_answered(&mut self, answer: Completion) {
        self.model_waits = false;
        if self.storage != Storage::Failed {
            self.answer = Some(answer);
        }
    }

    /// Nothing more is waited for: the drive was given up. A completion that is on its way to the
    /// array stands.
    pub(super) fn give_up(&mut self) {
        self.storage = Storage::Failed;
        self.answer = None;
    }

    /// The completion, once, when model and storage have both answered. A read that is failed fast
    /// does not wait for its storage.
    pub(super) fn completion(&mut self, now: Instant) -> Option<Completion> {
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

/// All commands that are out, by their id.
#[derive(Debug)]
pub(super) struct Commands<B> {
    out: Vec<Option<Outstanding<B>>>,
    count: usize,
}

impl<B> Commands<B> {
    pub(super) const fn new() -> Self {
        Self { out: Vec::new(), count: 0 }
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

    pub(super) fn get_mut(&mut self, id: CommandId) -> Option<&mut Outstanding<B>> {
        self.out.get_mut(id.0 as usize)?.as_mut()
    }

    pub(super) fn take(&mut self, id: CommandId) -> Option<Outstanding<B>> {
        let outstanding = self.out.get_mut(id.0 as usize)?.take();
        self.count -= usize::from(outstanding.is_some());
        outstanding
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Commands that are out to `drive`.
    pub(super) fn of(&mut self, drive: DriveId) -> impl Iterator<Item = &mut Outstanding<B>> {
        self.out.iter_mut().flatten().filter(move |outstanding| outstanding.drive == drive)
    }
}
