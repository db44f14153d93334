//! Settings of a cache of SLC blocks.

use crate::cells::{CellConfig, PageTime};
use units::Duration;

/// Treatment of writes that find the cache full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlcOverflow {
    /// Writes go to ordinary blocks.
    Bypass,
    /// Writes wait until a block has been folded.
    Wait,
}

/// Cache of blocks that are programmed with one bit in a cell, to be folded later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcCacheConfig {
    /// Times to sense and program a page of such a block, on all planes.
    pub page: PageTime,
    /// Most blocks of a die (or lines) that are in SLC mode at a time.
    pub most_blocks: u32,
    /// Blocks of each die (or lines) that are kept for the cache, even if the drive is full.
    pub fixed_blocks: u32,
    /// Time without commands of the host after which the drive folds.
    pub fold_after: Duration,
    /// The drive also folds under load while fewer blocks of a die than this could still be opened
    /// in SLC mode.
    pub low_blocks: u32,
    /// Treatment of writes that find the cache full.
    pub overflow: SlcOverflow,
}

impl SlcCacheConfig {
    /// Logical blocks that a block holds in SLC mode.
    #[must_use]
    pub fn pages_per_block(&self, cells: &CellConfig, pages_per_block: u32) -> u32 {
        let row = cells.row_pages();
        pages_per_block / cells.bits / row * row
    }

    /// Blocks of each die (or lines) that are not available for ordinary data.
    pub(crate) fn reserved_blocks(&self) -> u32 {
        // A borrowed block may be open, with no data in it that is worth folding.
        self.fixed_blocks + u32::from(self.most_blocks > self.fixed_blocks)
    }
}
