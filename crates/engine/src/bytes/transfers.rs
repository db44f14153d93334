//! Work of the storage that waits or is under way, each with its owner.

use super::verify::Check;
use super::work::{StorageWork, Work};
use crate::checksums::Key;
use crate::durability::IoId;
use alloc::collections::VecDeque;
use nvme::CommandId;
use units::{DriveId, Slab};

/// For whom the storage does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A command of the array.
    Command(CommandId),
    /// The same, while it waits at the host for its drive.
    Waiting(CommandId),
    /// The sync after a write of the array that is forced.
    Forced(CommandId),
    /// Pages that are in memory, and count as written: of the write cache, or accepted.
    Cache,
    /// A block of a table of checksums; of the drive that was in the place then.
    Table(Key, u32),
    /// What is in doubt is read so that its checksums are known; of the drive that was in the place
    /// then.
    Recovery(u32),
    /// The durability machine: a record of it, or a sync.
    Record,
    /// Nobody any more: the command was failed fast, or its drive was given up.
    Nobody,
}

/// Something that the storage has yet to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) purpose: Purpose,
    /// Its number in the durability machine, if that knows it.
    pub(super) io: Option<IoId>,
    /// What is read, to be compared with its checksums.
    pub(super) check: Option<Check>,
    /// The drive is synced before the end of the write is told.
    pub(super) forced: bool,
}

/// See the module. A tag is the number of a transfer until its end.
#[derive(Debug)]
pub(super) struct Transfers<B> {
    under_way: Slab<Transfer>,
    works: VecDeque<StorageWork<B>>,
}

impl<B> Transfers<B> {
    pub(super) const fn new() -> Self {
        Self { under_way: Slab::new(), works: VecDeque::new() }
    }

    /// A tag for something that the storage will do.
    pub(super) fn book(&mut self, purpose: Purpose) -> u32 {
        let transfer = Transfer { purpose, io: None, check: None, forced: false };
        self.under_way.insert(transfer)
    }

    /// The storage is to do it now.
    #[inline]
    pub(super) fn begin(&mut self, tag: u32, drive: DriveId, work: Work<B>) {
        self.works.push_back(StorageWork { tag, drive, work });
    }

    /// The next thing for the storage to do.
    #[inline]
    pub(super) fn next_work(&mut self) -> Option<StorageWork<B>> {
        self.works.pop_front()
    }

    #[inline]
    pub(super) fn get(&self, tag: u32) -> Transfer {
        *self.under_way.get(tag)
    }

    /// It is for somebody else from now on.
    pub(super) fn set_purpose(&mut self, tag: u32, purpose: Purpose) {
        self.under_way.get_mut(tag).purpose = purpose;
    }

    /// The durability machine knows it by this number.
    pub(super) fn set_io(&mut self, tag: u32, io: IoId) {
        self.under_way.get_mut(tag).io = Some(io);
    }

    /// It is a read that is compared with its checksums.
    pub(super) fn set_check(&mut self, tag: u32, check: Option<Check>) {
        self.under_way.get_mut(tag).check = check;
    }

    /// Whether its drive is synced before its end is told.
    pub(super) fn set_forced(&mut self, tag: u32, forced: bool) {
        self.under_way.get_mut(tag).forced = forced;
    }

    /// It has ended, or never begins: the tag is used again.
    #[inline]
    pub(super) fn end(&mut self, tag: u32) -> Transfer {
        let transfer = self.get(tag);
        self.under_way.release(tag);
        transfer
    }

    /// How many have not ended.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }
}
