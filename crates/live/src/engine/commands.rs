//! Commands that drives have not answered: what the emulated drive says of each and what its storage
//! does, joined into one completion.

use crate::buffer::Buffer;
use nvme::{Command, CommandId, Completion, Status};
use units::{DriveId, Duration, Instant};

/// A command that is out.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(crate) drive: DriveId,
    pub(crate) command: Command,
    pub(crate) sent: Instant,
    /// Whether the drive's model has yet to answer.
    pub(crate) model_waits: bool,
    /// The transfer that the storage has yet to end.
    pub(crate) transfer: Option<u32>,
    /// Whether the storage failed.
    pub(crate) failed: bool,
    /// Whether the answer is in the array's hands, or on its way there.
    pub(crate) answered: bool,
    /// What the model has answered.
    pub(crate) answer: Option<Completion>,
    /// What the storage has brought.
    pub(crate) buffer: Option<Buffer>,
}

impl Outstanding {
    /// Nothing more is waited for: the drive is gone. An answer that is on its way to the array stands.
    pub(crate) fn give_up(&mut self) {
        self.failed = true;
        self.answer = None;
    }

    /// The completion, once model and storage have both answered. A read that is failed fast does
    /// not wait for its storage.
    pub(crate) fn completion(&mut self, now: Instant) -> Option<Completion> {
        if self.answered {
            return None;
        }
        if let Some(answer) = self.answer
            && answer.status == Status::FailedFast
        {
            self.answered = true;
            return Some(answer);
        }
        if !self.failed && (self.model_waits || self.transfer.is_some()) {
            return None;
        }
        self.answered = true;
        let mut completion = self.answer.unwrap_or_else(|| plain(self.command.id));
        if self.failed {
            completion.status = Status::Unrecovered;
        }
        // Bytes that took longer than the emulated drive: moving them was what took so long.
        let passed = now.since(self.sent);
        let explained = completion.delays.total();
        completion.delays.add(nvme::Cause::Transfer, passed.saturating_sub(explained));
        Some(completion)
    }
}

/// The answer of a drive that has no model.
fn plain(id: CommandId) -> Completion {
    Completion {
        id,
        status: Status::Success,
        busy_remaining: Duration::ZERO,
        met_collection: false,
        held_up: false,
        delays: nvme::Delays::ZERO,
    }
}

/// All commands that are out, by their id.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    out: Vec<Option<Outstanding>>,
    count: usize,
}

impl Commands {
    pub(crate) fn insert(&mut self, outstanding: Outstanding) {
        let index = outstanding.command.id.0 as usize;
        if self.out.len() <= index {
            self.out.resize_with(index + 1, || None);
        }
        debug_assert!(self.out[index].is_none(), "command {index} is out already");
        self.out[index] = Some(outstanding);
        self.count += 1;
    }

    pub(crate) fn get_mut(&mut self, id: CommandId) -> Option<&mut Outstanding> {
        self.out.get_mut(id.0 as usize)?.as_mut()
    }

    pub(crate) fn take(&mut self, id: CommandId) -> Option<Outstanding> {
        let outstanding = self.out.get_mut(id.0 as usize)?.take();
        self.count -= usize::from(outstanding.is_some());
        outstanding
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Commands that are out to `drive`.
    pub(crate) fn of(&self, drive: DriveId) -> Vec<CommandId> {
        let out = self.out.iter().flatten();
        out.filter(|outstanding| outstanding.drive == drive).map(|out| out.command.id).collect()
    }
}
