//! Order of changes of the same bytes.

use super::output::IoId;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;
use units::DriveId;

/// Changes of each block in the order of their arrival. Stripe operations never overlap, but pages
/// of the write cache may be drained while newer versions are written or older ones are in flight.
#[derive(Debug, Default)]
pub(super) struct ChangeOrder {
    /// Each change with its pending write.
    blocks: BTreeMap<(DriveId, u64), VecDeque<(IoId, IoId)>>,
}

impl ChangeOrder {
    /// Newest write that has a change in these blocks.
    pub(super) fn last(&self, drive: DriveId, blocks: Range<u64>) -> Option<IoId> {
        let queues = self.blocks.range((drive, blocks.start)..(drive, blocks.end));
        queues.filter_map(|(_, queue)| queue.back()).map(|&(_, write)| write).max()
    }

    /// Adds a change. Returns the number of its blocks in which other changes are before it.
    pub(super) fn enter(
        &mut self,
        drive: DriveId,
        blocks: Range<u64>,
        id: IoId,
        write: IoId,
    ) -> usize {
        let mut behind = 0;
        for block in blocks {
            let queue = self.blocks.entry((drive, block)).or_default();
            behind += usize::from(!queue.is_empty());
            queue.push_back((id, write));
        }
        behind
    }

    /// Removes a change that has ended or was cancelled. No change is before it in its blocks:
    /// writes join only the end of a queue, and the changes of a failed drive are cancelled in
    /// order. Returns the writes that move to the front of a block, once for each block.
    pub(super) fn leave(&mut self, drive: DriveId, blocks: Range<u64>, id: IoId) -> Vec<IoId> {
        let mut first = Vec::new();
        for block in blocks {
            let Some(queue) = self.blocks.get_mut(&(drive, block)) else { continue };
            let left = queue.pop_front();
            assert_eq!(left.map(|(left, _)| left), Some(id), "others are before it");
            match queue.front() {
                Some(&(_, write)) => first.push(write),
                None => {
                    self.blocks.remove(&(drive, block));
                }
            }
        }
        first
    }
}
