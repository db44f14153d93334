//! How a cache of SLC blocks is set.

use crate::cells::{CellConfig, PageTime};
use units::Duration;

/// What becomes of writes that find the cache full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlcOverflow {
    /// They go to ordinary blocks.
    Bypass,
    /// They wait until something has been folded.
    Wait,
}

/// Blocks that are programmed with one bit in a cell, to be folded later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlcCacheConfig {
    /// Sensing and programming a page of such a block, on all planes.
    pub page: PageTime,
    /// Most blocks of a die (or lines) that are in SLC mode at a time.
    pub most_blocks: u32,
    /// Blocks of each die (or lines) that are kept for the cache, however full the drive is.
    pub fixed_blocks: u32,
    /// The drive folds when the host has sent nothing for this long.
    pub fold_after: Duration,
    /// It folds under load as well while fewer blocks of a die than this could still be opened in
    /// SLC mode.
    pub low_blocks: u32,
    /// What becomes of writes that find the cache full.
    pub overflow: SlcOverflow,
}

impl SlcCacheConfig {
    /// Logical blocks that a block holds in SLC mode.
    #[must_use]
    pub fn pages_per_block(&self, cells: &CellConfig, pages_per_block: u32) -> u32 {
        let row = cells.row_pages();
        pages_per_block / cells.bits / row * row
    }

    /// Blocks of each die (or lines) that hold no more than what the cache keeps them for.
    pub(crate) fn reserved_blocks(&self) -> u32 {
        // One that was borrowed may be open, with nothing in it that is worth folding.
        self.fixed_blocks + u32::from(self.most_blocks > self.fixed_blocks)
    }
}
