//! The ranges of a Dataset Management command: its data.

use super::field::{get_u32, get_u64, put_u32, put_u64};

/// Bytes of a range.
pub const RANGE_BYTES: usize = 16;

/// Most ranges of one command.
pub const RANGES_MAX: usize = 256;

const ATTRIBUTES: usize = 0;
const BLOCKS: usize = 4;
const LBA: usize = 8;

/// Some logical blocks (Linux `struct nvme_dsm_range`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatasetRange {
    /// Context attributes: hints, which a drive may ignore.
    pub attributes: u32,
    /// Number of logical blocks. Unlike that of a read it is not 0's based: zero is none.
    pub blocks: u32,
    /// First logical block.
    pub lba: u64,
}

impl DatasetRange {
    /// The block behind the last one; none if there is no such number.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.lba.checked_add(self.blocks as u64)
    }

    /// Reads a range.
    #[must_use]
    pub fn decode(range: &[u8; RANGE_BYTES]) -> Self {
        Self {
            attributes: get_u32(range, ATTRIBUTES),
            blocks: get_u32(range, BLOCKS),
            lba: get_u64(range, LBA),
        }
    }

    /// Writes the range.
    #[must_use]
    pub fn encode(&self) -> [u8; RANGE_BYTES] {
        let mut range = [0; RANGE_BYTES];
        put_u32(&mut range, ATTRIBUTES, self.attributes);
        put_u32(&mut range, BLOCKS, self.blocks);
        put_u64(&mut range, LBA, self.lba);
        range
    }

    /// The ranges in the data of a command; what is left of an incomplete one is not a range.
    pub fn decode_all(data: &[u8]) -> impl Iterator<Item = Self> {
        data.as_chunks().0.iter().map(Self::decode)
    }
}
