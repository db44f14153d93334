//! What is to be done next, and which writes into heads and syncs of that are under way.

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

/// What is to be written into the head of a drive, and where.
pub(super) type DriveWrite = (DriveId, u64, Arc<Vec<u8>>);

/// See the module.
#[derive(Debug)]
pub(super) struct Outbox<C> {
    io: HeadIo,
    outputs: VecDeque<Output<C>>,
    /// The array has ended or stopped: nothing is begun any more.
    over: bool,
}

impl<C> Outbox<C> {
    pub(super) fn new() -> Self {
        Self { io: HeadIo::default(), outputs: VecDeque::new(), over: false }
    }

    /// Whether the array has ended or stopped.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Whether nothing is left to hand out, and nothing under way in heads.
    pub(super) fn is_empty(&self) -> bool {
        self.io.is_empty() && self.outputs.is_empty()
    }

    /// The next output.
    pub(super) fn poll(&mut self) -> Option<Output<C>> {
        self.outputs.pop_front()
    }

    /// Writes into the head of each drive what is its own, in the order of the drives. Returns
    /// whether that is under way: without any drive it is done.
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

    /// Syncs drives. Returns whether that is under way: without any drive it is done.
    pub(super) fn sync(&mut self, ids: &mut IoIds, drives: DriveSet, settles: bool) -> bool {
        let parts = self.io.begin(ids, Task::Sync, drives);
        let is_under_way = !parts.is_empty();
        let syncs = parts.into_iter().map(|(id, drive)| Output::Sync { id, drive, settles });
        self.outputs.extend(syncs);
        is_under_way
    }

    /// The drive and the task of a write or sync; `None` if the drive has failed.
    pub(super) fn part(&self, id: IoId) -> Option<(DriveId, Task)> {
        self.io.part(id)
    }

    /// A drive has done its part. Returns the task if it is done.
    pub(super) fn end_part(&mut self, id: IoId) -> Option<Task> {
        self.io.end(id)
    }

    /// The batch of the journal of which a drive has yet to do its part.
    pub(super) fn batch_of(&self, drive: DriveId) -> Option<u64> {
        self.io.batch_of(drive)
    }

    /// A drive has failed. Returns the tasks that are done without it.
    pub(super) fn end_parts_of(&mut self, drive: DriveId) -> Vec<Task> {
        self.io.fail(drive)
    }

    /// Changes may go to their storage.
    pub(super) fn release(&mut self, changes: Vec<Leaving<C>>) {
        let released = changes.into_iter();
        let released = released.map(|(id, drive, change)| Output::Release { id, drive, change });
        self.outputs.extend(released);
    }

    /// Changes never go there: their drive has failed.
    pub(super) fn cancel(&mut self, changes: Vec<Leaving<C>>) {
        let cancelled = changes.into_iter();
        let cancelled = cancelled.map(|(id, drive, change)| Output::Cancel { id, drive, change });
        self.outputs.extend(cancelled);
    }

    /// A client may be answered.
    pub(super) fn answer(&mut self, answer: Token) {
        self.outputs.push_back(Output::Answer { answer });
    }

    /// A client waits in vain.
    pub(super) fn refuse(&mut self, answer: Token) {
        self.outputs.push_back(Output::Refuse { answer });
    }

    /// The array has to give a drive up.
    pub(super) fn fail_drive(&mut self, drive: DriveId, reason: FailReason) {
        self.outputs.push_back(Output::FailDrive { drive, reason });
    }

    /// The array stops.
    pub(super) fn stop(&mut self, reason: StopReason) {
        self.over = true;
        self.outputs.push_back(Output::Stop { reason });
    }

    /// The array has ended.
    pub(super) fn finish(&mut self, end: End) {
        self.over = true;
        self.outputs.push_back(Output::Ended { end });
    }

    pub(super) fn check_invariants(&self, present: DriveSet, is_syncing: bool) {
        self.io.check_invariants(present);
        assert!(self.over || is_syncing == self.io.is_under_way(Task::Sync));
    }
}
