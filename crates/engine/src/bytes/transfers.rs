//! Storage work that waits or is under way, each with its owner.

use super::verify::Check;
use super::work::{StorageWork, Work};
use crate::checksums::Key;
use crate::durability::IoId;
use alloc::collections::VecDeque;
use nvme::CommandId;
use units::{DriveId, Slab};

/// Owner of storage work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A command of the array.
    Command(CommandId),
    /// A command of the array that waits at the host for its drive.
    Waiting(CommandId),
    /// The sync after a forced write of the array.
    Forced(CommandId),
    /// Pages that are in memory and count as written: in the write cache, or accepted.
    Cache,
    /// A block of a checksum table, with the era of its drive
    /// (`Verifier`).
    Table(Key, u32),
    /// A read of blocks with doubtful checksums, with the era of its drive.
    Recovery(u32),
    /// The durability machine: one of its records, or a sync.
    Record,
    /// None any more: the command failed fast, or its drive failed.
    Nobody,
}

/// Storage work that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) purpose: Purpose,
    /// Its number in the durability machine; `None` for I/O that is not the machine's.
    pub(super) io: Option<IoId>,
    /// Comparison of a read with its checksums.
    pub(super) check: Option<Check>,
    /// True if the drive is synced before the write counts as done.
    pub(super) forced: bool,
}

/// Storage work that waits or is under way. A tag is the number of a transfer until its end.
#[derive(Debug)]
pub(super) struct Transfers<B> {
    under_way: Slab<Transfer>,
    works: VecDeque<StorageWork<B>>,
}

impl<B> Transfers<B> {
    pub(super) const fn new() -> Self {
        Self { under_way: Slab::new(), works: VecDeque::new() }
    }

    /// Returns a tag for storage work.
    pub(super) fn book(&mut self, purpose: Purpose) -> u32 {
        let transfer = Transfer { purpose, io: None, check: None, forced: false };
        self.under_way.insert(transfer)
    }

    /// Hands the work to the storage.
    #[inline]
    pub(super) fn begin(&mut self, tag: u32, drive: DriveId, work: Work<B>) {
        self.works.push_back(StorageWork { tag, drive, work });
    }

    /// Returns the next work for the storage.
    #[inline]
    pub(super) fn next_work(&mut self) -> Option<StorageWork<B>> {
        self.works.pop_front()
    }

    #[inline]
    pub(super) fn get(&self, tag: u32) -> Transfer {
        *self.under_way.get(tag)
    }

    /// Changes the owner of a transfer.
    pub(super) fn set_purpose(&mut self, tag: u32, purpose: Purpose) {
        self.under_way.get_mut(tag).purpose = purpose;
    }

    /// Sets the number of a transfer in the durability machine.
    pub(super) fn set_io(&mut self, tag: u32, io: IoId) {
        self.under_way.get_mut(tag).io = Some(io);
    }

    /// Sets the comparison of a read with its checksums.
    pub(super) fn set_check(&mut self, tag: u32, check: Option<Check>) {
        self.under_way.get_mut(tag).check = check;
    }

    /// Sets whether the drive is synced before the write counts as done.
    pub(super) fn set_forced(&mut self, tag: u32, forced: bool) {
        self.under_way.get_mut(tag).forced = forced;
    }

    /// Ends a transfer, or cancels it before it begins: its tag may be used again.
    #[inline]
    pub(super) fn end(&mut self, tag: u32) -> Transfer {
        let transfer = self.get(tag);
        self.under_way.release(tag);
        transfer
    }

    /// Number of transfers that have not ended.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }
}
