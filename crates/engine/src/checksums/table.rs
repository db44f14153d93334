//! The table of sums of a drive, block by block, as it lies behind the data of the drive.
//!
//! | bytes of a block | field |
//! |---|---|
//! | 0..8 | magic `ioda\0sum` |
//! | 8..12 | CRC-32 of all other bytes of the block |
//! | 12 | index of the drive |
//! | 13..16 | zero |
//! | 16..24 | number of the block, from 0 |
//! | 24..40 | the array |
//! | 40..4096 | 4 bytes per block of data: its sum |
//!
//! A block of zeros was never written: all its sums are 0, those of blocks of zeros. A block that is
//! anything else was torn, or belongs elsewhere, and says nothing.

use crate::durability::Uuid;
use crate::durability::block::{BLOCK_BYTES, array, get_u32, get_u64, is_sealed, put, seal};
use alloc::boxed::Box;
use units::DriveId;

const MAGIC: [u8; 8] = *b"ioda\0sum";
const SUM_AT: usize = 8;
const DRIVE_AT: usize = 12;
const NUMBER_AT: usize = 16;
const UUID_AT: usize = 24;
const SUMS_AT: usize = 40;

/// Sums in a block of the table.
pub(crate) const SUMS: usize = (BLOCK_BYTES - SUMS_AT) / 4;

/// Bytes that the table of a drive with so many bytes of data takes.
#[must_use]
pub const fn table_bytes(drive_bytes: u64) -> u64 {
    let blocks = drive_bytes.div_ceil(BLOCK_BYTES as u64);
    blocks.div_ceil(SUMS as u64) * BLOCK_BYTES as u64
}

/// A block of the table: of which drive, and which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) drive: u8,
    pub(crate) number: u64,
}

impl Key {
    /// The block of the table with the sum of this block of data, and the place of the sum in it.
    #[inline]
    pub(crate) const fn of(drive: DriveId, block: u64) -> (Self, usize) {
        let number = block / SUMS as u64;
        (Self { drive: drive.0, number }, (block % SUMS as u64) as usize)
    }

    /// The block of data whose sum comes first in it.
    pub(crate) const fn first_block(self) -> u64 {
        self.number * SUMS as u64
    }
}

/// The sums of a block of the table.
pub(crate) type Sums = Box<[u32; SUMS]>;

/// The block as it lies on the drive.
pub(crate) fn encode(uuid: Uuid, key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
    block[..SUMS_AT].fill(0);
    put(block, 0, &MAGIC);
    block[DRIVE_AT] = key.drive;
    put(block, NUMBER_AT, &key.number.to_le_bytes());
    put(block, UUID_AT, &uuid.0);
    for (into, sum) in block[SUMS_AT..].chunks_exact_mut(4).zip(sums) {
        into.copy_from_slice(&sum.to_le_bytes());
    }
    seal(block, SUM_AT);
}

/// What a block says; none if it is torn or belongs elsewhere.
pub(crate) fn decode(uuid: Uuid, key: Key, block: &[u8]) -> Option<Sums> {
    let mut sums = Box::new([0; SUMS]);
    if block.iter().all(|&byte| byte == 0) {
        return Some(sums);
    }
    let is_ours = block[..8] == MAGIC
        && is_sealed(block, SUM_AT)
        && block[DRIVE_AT] == key.drive
        && get_u64(block, NUMBER_AT) == key.number
        && array::<16>(block, UUID_AT) == uuid.0;
    if !is_ours {
        return None;
    }
    for (index, sum) in sums.iter_mut().enumerate() {
        *sum = get_u32(block, SUMS_AT + 4 * index);
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: Uuid = Uuid([9; 16]);
    const KEY: Key = Key { drive: 3, number: 77 };

    #[test]
    fn a_block_says_what_was_written_and_where() {
        let mut sums = Box::new([0; SUMS]);
        sums.iter_mut().enumerate().for_each(|(index, sum)| *sum = index as u32 * 7 + 1);
        let mut block = [0xaa; BLOCK_BYTES];
        encode(UUID, KEY, &sums, &mut block);
        assert_eq!(decode(UUID, KEY, &block).as_ref(), Some(&sums));
        assert_eq!(decode(UUID, Key { number: 78, ..KEY }, &block), None, "misdirected");
        assert_eq!(decode(UUID, Key { drive: 2, ..KEY }, &block), None);
        assert_eq!(decode(Uuid([8; 16]), KEY, &block), None);
        for at in [0, 12, 16, 24, 40, 4095] {
            let mut torn = block;
            torn[at] ^= 1;
            assert_eq!(decode(UUID, KEY, &torn), None, "byte {at}");
        }
        assert_eq!(decode(UUID, KEY, &[0; BLOCK_BYTES]), Some(Box::new([0; SUMS])));
    }

    #[test]
    fn the_table_has_a_sum_for_every_block() {
        assert_eq!(table_bytes(4096), 4096);
        assert_eq!(table_bytes(SUMS as u64 * 4096), 4096);
        assert_eq!(table_bytes(SUMS as u64 * 4096 + 1), 8192);
        assert_eq!(Key::of(DriveId(1), SUMS as u64 + 5), (Key { drive: 1, number: 1 }, 5));
        // A tebibyte needs about a gibibyte.
        assert_eq!(table_bytes(1 << 40) >> 20, 1034);
    }
}
