//! Outputs to hand out, and the writes into heads and syncs under way.

use super::drive_set::DriveSet;
use super::gate::Leaving;
use super::head_io::{HeadIo, Task};
use super::io_ids::IoIds;
use super::output::{End, IoId, Output, StopReason};
use crate::token::Token;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use array::FailReason;
use units::DriveId;

/// A write into the head of a drive: drive, offset and bytes.
pub(super) type DriveWrite = (DriveId, u64, Arc<Vec<u8>>);

/// Outputs, and the tasks that they belong to.
#[derive(Debug)]
pub(super) struct Outbox<C> {
    io: HeadIo,
    outputs: VecDeque<Output<C>>,
    /// True if the array has ended or stopped: nothing is begun any more.
    over: bool,
}

impl<C> Outbox<C> {
    pub(super) fn new() -> Self {
        Self { io: HeadIo::default(), outputs: VecDeque::new(), over: false }
    }

    /// Returns true if the array has ended or stopped.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Returns true if no output is left and no task is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.io.is_empty() && self.outputs.is_empty()
    }

    /// Returns the next output.
    pub(super) fn poll(&mut self) -> Option<Output<C>> {
        self.outputs.pop_front()
    }

    /// Writes its own bytes into the head of each drive, in the order of the drives. Returns true
    /// if the task is under way; without any drive it is done.
    pub(super) fn write_heads(
        &mut self,
        ids: &mut IoIds,
        task: Task,
        writes: Vec<DriveWrite>,
    ) -> bool {
        let parts = self.io.begin(ids, task, writes.iter().map(|(drive, ..)| *drive).collect());
        let is_under_way = !parts.is_empty();
        for ((id, drive), (of, offset_bytes, bytes)) in parts.into_iter().zip(writes) {
            debug_assert_eq!(drive, of);
            self.outputs.push_back(Output::WriteHead { id, drive, offset_bytes, bytes });
        }
        is_under_way
    }

    /// Syncs drives. Returns true if the task is under way; without any drive it is done.
    pub(super) fn sync(&mut self, ids: &mut IoIds, drives: DriveSet, settles: bool) -> bool {
        let parts = self.io.begin(ids, Task::Sync, drives);
        let is_under_way = !parts.is_empty();
        let syncs = parts.into_iter().map(|(id, drive)| Output::Sync { id, drive, settles });
        self.outputs.extend(syncs);
        is_under_way
    }

    /// Returns the drive and the task of a write or sync; `None` if the drive has failed.
    pub(super) fn part(&self, id: IoId) -> Option<(DriveId, Task)> {
        self.io.part(id)
    }

    /// Ends a drive's part. Returns the task if all of it is done.
    pub(super) fn end_part(&mut self, id: IoId) -> Option<Task> {
        self.io.end(id)
    }

    /// Returns the batch of the journal that a drive has yet to write.
    pub(super) fn batch_of(&self, drive: DriveId) -> Option<u64> {
        self.io.batch_of(drive)
    }

    /// Drops the parts of a failed drive. Returns the tasks that are done without it.
    pub(super) fn end_parts_of(&mut self, drive: DriveId) -> Vec<Task> {
        self.io.fail(drive)
    }

    /// Releases changes to their storage.
    pub(super) fn release(&mut self, changes: Vec<Leaving<C>>) {
        let released = changes.into_iter();
        let released = released.map(|(id, drive, change)| Output::Release { id, drive, change });
        self.outputs.extend(released);
    }

    /// Cancels changes whose drive has failed.
    pub(super) fn cancel(&mut self, changes: Vec<Leaving<C>>) {
        let cancelled = changes.into_iter();
        let cancelled = cancelled.map(|(id, drive, change)| Output::Cancel { id, drive, change });
        self.outputs.extend(cancelled);
    }

    /// Answers a client.
    pub(super) fn answer(&mut self, answer: Token) {
        self.outputs.push_back(Output::Answer { answer });
    }

    /// Refuses a client.
    pub(super) fn refuse(&mut self, answer: Token) {
        self.outputs.push_back(Output::Refuse { answer });
    }

    /// Has the array fail a drive.
    pub(super) fn fail_drive(&mut self, drive: DriveId, reason: FailReason) {
        self.outputs.push_back(Output::FailDrive { drive, reason });
    }

    /// Stops the array.
    pub(super) fn stop(&mut self, reason: StopReason) {
        self.over = true;
        self.outputs.push_back(Output::Stop { reason });
    }

    /// Ends the array.
    pub(super) fn finish(&mut self, end: End) {
        self.over = true;
        self.outputs.push_back(Output::Ended { end });
    }

    pub(super) fn check_invariants(&self, present: DriveSet, is_syncing: bool) {
        self.io.check_invariants(present);
        assert!(self.over || is_syncing == self.io.is_under_way(Task::Sync));
    }
}
