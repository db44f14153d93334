//! Writes into heads, and syncs, that are under way.

use super::drive_set::DriveSet;
use super::io_ids::IoIds;
use super::output::IoId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use array::FailReason;
use units::DriveId;

/// A task that several drives carry out at once, each its part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Task {
    /// Writing a block of the write-intent record.
    Intent {
        /// Number of the block.
        block: u32,
    },
    /// Writing a batch of the journal.
    Batch {
        /// Number of the batch.
        sequence: u64,
    },
    /// Writing superblocks of a new generation.
    Superblocks,
    /// Writing a header of the journal, after which older batches no longer count.
    JournalHeader,
    /// Syncing drives.
    Sync,
}

impl Task {
    /// Reason for which a drive fails if it fails its part.
    pub(super) const fn fail_reason(self) -> FailReason {
        match self {
            Self::Intent { .. } => FailReason::Intent,
            Self::Batch { .. } | Self::JournalHeader => FailReason::Journal,
            Self::Superblocks => FailReason::Superblock,
            Self::Sync => FailReason::Sync,
        }
    }
}

/// All tasks under way. A task is done when every drive that took part has done its part or has
/// failed: the content of a failed drive no longer matters.
#[derive(Debug, Default)]
pub(super) struct HeadIo {
    parts: BTreeMap<IoId, (DriveId, Task)>,
    /// Drives that have yet to do their part.
    pending: BTreeMap<Task, DriveSet>,
}

impl HeadIo {
    /// Begins a task that is not under way. Returns the part of each drive; without any, the task
    /// is done.
    pub(super) fn begin(
        &mut self,
        ids: &mut IoIds,
        task: Task,
        drives: DriveSet,
    ) -> Vec<(IoId, DriveId)> {
        let mut parts = Vec::new();
        for drive in drives.iter() {
            let id = ids.take();
            self.parts.insert(id, (drive, task));
            parts.push((id, drive));
        }
        if !drives.is_empty() {
            debug_assert!(!self.is_under_way(task));
            self.pending.insert(task, drives);
        }
        parts
    }

    pub(super) fn is_under_way(&self, task: Task) -> bool {
        self.pending.contains_key(&task)
    }

    /// Returns the batch of the journal that a drive has yet to write.
    pub(super) fn batch_of(&self, drive: DriveId) -> Option<u64> {
        self.pending.iter().find_map(|(task, drives)| match task {
            Task::Batch { sequence } if drives.contains(drive) => Some(*sequence),
            _ => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the drive and the task of a part; `None` for other I/O, or if its drive has failed.
    pub(super) fn part(&self, id: IoId) -> Option<(DriveId, Task)> {
        self.parts.get(&id).copied()
    }

    /// Ends a drive's part. Returns the task if all of it is done.
    pub(super) fn end(&mut self, id: IoId) -> Option<Task> {
        let (drive, task) = self.parts.remove(&id)?;
        self.leave(drive, task)
    }

    /// Drops the parts of a failed drive. Returns the tasks that are done without it.
    pub(super) fn fail(&mut self, drive: DriveId) -> Vec<Task> {
        self.parts.retain(|_, (other, _)| *other != drive);
        let tasks: Vec<Task> = self.pending.keys().copied().collect();
        tasks.into_iter().filter_map(|task| self.leave(drive, task)).collect()
    }

    fn leave(&mut self, drive: DriveId, task: Task) -> Option<Task> {
        let pending = self.pending.get_mut(&task)?;
        if !pending.remove(drive) || !pending.is_empty() {
            return None;
        }
        self.pending.remove(&task);
        Some(task)
    }

    pub(super) fn check_invariants(&self, present: DriveSet) {
        for (task, drives) in &self.pending {
            assert!(!drives.is_empty() && drives.without(present).is_empty(), "{task:?}");
            let parts = self.parts.values().filter(|(_, other)| other == task);
            assert_eq!(parts.map(|(drive, _)| *drive).collect::<DriveSet>(), *drives);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(drives: &[u8]) -> DriveSet {
        drives.iter().copied().map(DriveId).collect()
    }

    #[test]
    fn a_task_is_done_when_the_last_drive_is_or_has_failed() {
        let (mut io, mut ids) = (HeadIo::default(), IoIds::default());
        let (one, two) = (Task::Batch { sequence: 7 }, Task::Sync);
        assert!(io.is_empty() && io.begin(&mut ids, one, DriveSet::EMPTY).is_empty());
        assert!(io.is_empty() && !io.is_under_way(one));
        let parts = io.begin(&mut ids, one, set(&[0, 2]));
        let syncs = io.begin(&mut ids, two, set(&[0, 1, 2]));
        assert_eq!(parts.iter().map(|(_, drive)| drive.0).collect::<Vec<u8>>(), [0, 2]);
        assert!(!io.is_empty() && io.is_under_way(one) && io.is_under_way(two));
        assert_eq!(io.part(syncs[1].0), Some((DriveId(1), two)));
        let batches = |io: &HeadIo| [0, 1, 2].map(|drive| io.batch_of(DriveId(drive)));
        assert_eq!(batches(&io), [Some(7), None, Some(7)]);
        io.check_invariants(set(&[0, 1, 2]));
        assert_eq!(io.end(parts[0].0), None);
        assert_eq!(io.end(parts[0].0), None, "it has ended");
        assert_eq!(batches(&io), [None, None, Some(7)]);
        assert_eq!(io.fail(DriveId(2)), [one]);
        assert_eq!((io.part(parts[1].0), io.end(syncs[2].0)), (None, None));
        io.check_invariants(set(&[0, 1]));
        assert_eq!((io.end(syncs[1].0), io.end(syncs[0].0)), (None, Some(two)));
        assert!(io.is_empty() && !io.is_under_way(two) && io.fail(DriveId(0)).is_empty());
    }
}
