//! A simulated disk during creation and opening: one command after the other, until the power
//! fails.

use super::disk::{Content, DiskError, Loss, SimDisk, Write};
use engine::durability::Disk;
use std::cell::Cell;
use std::sync::Arc;
use units::Rng;

/// Number of commands until the power fails; `None` if it stays.
#[derive(Debug)]
pub(super) struct Fuse(Cell<Option<u32>>);

impl Fuse {
    pub(super) fn new(after: Option<u32>) -> Self {
        Self(Cell::new(after))
    }

    /// Counts the begin or end of a command. Returns true if the power is still on.
    pub(super) fn burn(&self) -> bool {
        match self.0.get() {
            None => true,
            Some(0) => false,
            Some(left) => {
                self.0.set(Some(left - 1));
                true
            }
        }
    }

    /// Number of commands left.
    pub(super) fn left(&self) -> Option<u32> {
        self.0.get()
    }

    pub(super) fn is_blown(&self) -> bool {
        self.0.get() == Some(0)
    }
}

/// A simulated disk with its power.
#[derive(Debug)]
pub(super) struct PoweredDisk<'a> {
    pub(super) disk: &'a mut SimDisk,
    pub(super) fuse: &'a Fuse,
    pub(super) rng: Rng,
}

/// Size of the disk, larger than any drive of a history: blocks that were never written are zeros.
const SIZE_BYTES: u64 = 1 << 40;
/// Tag of its writes, which is no tag of the engine.
const TAG: u64 = u64::MAX;

impl PoweredDisk<'_> {
    fn may_begin(&self) -> Result<(), DiskError> {
        match (self.fuse.burn(), self.disk.faults.dead) {
            (false, _) => Err(DiskError::PowerCut),
            (true, true) => Err(DiskError::Failed),
            (true, false) => Ok(()),
        }
    }
}

impl Disk for PoweredDisk<'_> {
    type Error = DiskError;

    fn size_bytes(&mut self) -> Result<u64, DiskError> {
        Ok(SIZE_BYTES)
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), DiskError> {
        if self.disk.faults.dead {
            return Err(DiskError::Failed);
        }
        self.disk.read_blocks(offset_bytes, into);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.may_begin()?;
        let content = Content::Bytes(Arc::new(bytes.to_vec()));
        self.disk.begin(TAG, Write { offset_bytes, content, forced: false });
        self.disk.end(TAG);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DiskError> {
        if let Err(error) = self.may_begin() {
            // A part of the sync may have been done.
            if error == DiskError::PowerCut {
                self.disk.cut(Loss::Sectors, &mut self.rng);
            }
            return Err(error);
        }
        let covered = self.disk.sync_covers();
        self.disk.synced(covered);
        Ok(())
    }
}
