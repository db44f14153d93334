//! The ranges of a Dataset Management command: its data.

use super::structure::structure;

/// Bytes of a range.
pub const RANGE_BYTES: usize = 16;

/// Most ranges of one command.
pub const RANGES_MAX: usize = 256;

/// Consecutive logical blocks (Linux `struct nvme_dsm_range`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatasetRange {
    /// Context attributes: hints, which a drive may ignore.
    pub attributes: u32,
    /// Number of logical blocks. Unlike in a read it is not 0's based: zero means none.
    pub blocks: u32,
    /// First logical block.
    pub lba: u64,
}

structure! { DatasetRange, RANGE_BYTES;
    attributes: "attributes" @ 0,
    blocks: "NLB" @ 4,
    lba: "SLBA" @ 8,
}

impl DatasetRange {
    /// The block behind the last one; `None` if its number overflows.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.lba.checked_add(self.blocks as u64)
    }

    /// Ranges in the data of a command; an incomplete one at the end is ignored.
    pub fn decode_all(data: &[u8]) -> impl Iterator<Item = Self> {
        data.as_chunks().0.iter().map(Self::decode)
    }
}
