//! Format of the table of sums, block by block, behind the data of its drive.
//!
//! A block of the table is eight sectors, each sealed by itself ([`TableSeal::Sectors`]). A power
//! cut leaves each sector old or new, and so tears no seal: a wrong seal is damage.
//!
//! | bytes of a sector | field |
//! |---|---|
//! | 0..4 | CRC-32 of array, drive, number of the block, number of the sector, and the bytes that follow |
//! | 4..512 | 4 bytes per block of data: its sum |
//!
//! Each block is written when its drive is formatted, so a block of zeros is damage too.
//!
//! Arrays of superblock versions before 5 have one seal for the block ([`TableSeal::Block`]):
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
//! There, a block of zeros was never written: all its sums are 0, the sum of a block of zeros. Any
//! other block without a seal is damaged, or was torn by a power cut.

use crate::durability::Uuid;
use crate::durability::block::{BLOCK_BYTES, array, get_u32, get_u64, is_sealed, put, seal};
use alloc::boxed::Box;
use crc32fast::Hasher;
use units::DriveId;

const MAGIC: [u8; 8] = *b"ioda\0sum";
const SUM_AT: usize = 8;
const DRIVE_AT: usize = 12;
const NUMBER_AT: usize = 16;
const UUID_AT: usize = 24;
const SUMS_AT: usize = 40;

const SECTOR_BYTES: usize = 512;
const SEAL_BYTES: usize = 4;
const SUMS_PER_SECTOR: usize = (SECTOR_BYTES - SEAL_BYTES) / 4;

/// Number of sums in a block of the table.
pub(crate) const SUMS: usize = (BLOCK_BYTES - SUMS_AT) / 4;

/// Length of the table, in bytes, of a drive with `drive_bytes` of data.
#[must_use]
pub const fn table_bytes(drive_bytes: u64) -> u64 {
    let blocks = drive_bytes.div_ceil(BLOCK_BYTES as u64);
    blocks.div_ceil(SUMS as u64) * BLOCK_BYTES as u64
}

/// Identity of a block of a table: its drive and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) drive: u8,
    pub(crate) number: u64,
}

impl Key {
    /// Returns the block of the table for this block of data, and the index of the sum in it.
    #[inline]
    pub(crate) const fn of(drive: DriveId, block: u64) -> (Self, usize) {
        let number = block / SUMS as u64;
        (Self { drive: drive.0, number }, (block % SUMS as u64) as usize)
    }

    /// Block of data of its first sum.
    pub(crate) const fn first_block(self) -> u64 {
        self.number * SUMS as u64
    }
}

/// The sums of a block of the table.
pub(crate) type Sums = Box<[u32; SUMS]>;

/// Kind of the seal of a table's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableSeal {
    /// One seal for the whole block: a power cut may tear it.
    Block,
    /// One seal for each sector.
    Sectors,
}

/// Marker of a lost sum. No block of data has this sum ([`stored`]), so data that is read there
/// never fits.
pub(crate) const LOST: u32 = u32::MAX;

/// Sum in the form in which tables hold it.
#[inline]
pub(crate) const fn stored(sum: u32) -> u32 {
    if sum == LOST { LOST - 1 } else { sum }
}

/// Content of a decoded block of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Decoded {
    /// All sums.
    Sound(Sums),
    /// Some sums; those of damaged sectors are [`LOST`].
    Damaged(Sums),
    /// No sums: its only seal is wrong.
    Nothing,
}

impl Decoded {
    /// The sums; unknown ones are [`LOST`].
    pub(crate) fn sums(self) -> Sums {
        match self {
            Self::Sound(sums) | Self::Damaged(sums) => sums,
            Self::Nothing => Box::new([LOST; SUMS]),
        }
    }
}

/// Encodes a block for its drive.
pub(crate) fn encode(seal: TableSeal, uuid: Uuid, key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
    match seal {
        TableSeal::Block => encode_block(uuid, key, sums, block),
        TableSeal::Sectors => encode_sectors(uuid, key, sums, block),
    }
}

/// Decodes a block.
pub(crate) fn decode(seal: TableSeal, uuid: Uuid, key: Key, block: &[u8]) -> Decoded {
    match seal {
        TableSeal::Block => decode_block(uuid, key, block).map_or(Decoded::Nothing, Decoded::Sound),
        TableSeal::Sectors => decode_sectors(uuid, key, block),
    }
}

pub(super) fn encode_sectors(uuid: Uuid, key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
    block.fill(0);
    let identity = identity(uuid, key);
    let sectors = block.chunks_exact_mut(SECTOR_BYTES).zip(sums.chunks(SUMS_PER_SECTOR));
    for (number, (sector, sums)) in sectors.enumerate() {
        let (seal, data) = sector.split_at_mut(SEAL_BYTES);
        for (into, sum) in data.chunks_exact_mut(4).zip(sums) {
            into.copy_from_slice(&sum.to_le_bytes());
        }
        seal.copy_from_slice(&seal_of(&identity, number, data).to_le_bytes());
    }
}

fn decode_sectors(uuid: Uuid, key: Key, block: &[u8]) -> Decoded {
    let identity = identity(uuid, key);
    let mut sums = Box::new([LOST; SUMS]);
    let mut is_sound = true;
    let sectors = block.chunks_exact(SECTOR_BYTES).zip(sums.chunks_mut(SUMS_PER_SECTOR));
    for (number, (sector, sums)) in sectors.enumerate() {
        let data = &sector[SEAL_BYTES..];
        if get_u32(sector, 0) != seal_of(&identity, number, data) {
            is_sound = false;
            continue;
        }
        for (index, sum) in sums.iter_mut().enumerate() {
            *sum = get_u32(data, 4 * index);
        }
    }
    if is_sound { Decoded::Sound(sums) } else { Decoded::Damaged(sums) }
}

/// Starts the checksum of a seal with the identity of its block.
fn identity(uuid: Uuid, key: Key) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(&MAGIC);
    hasher.update(&uuid.0);
    hasher.update(&[key.drive]);
    hasher.update(&key.number.to_le_bytes());
    hasher
}

/// Seal of a sector: never 0, so that a sector of zeros has no right seal.
fn seal_of(identity: &Hasher, sector: usize, data: &[u8]) -> u32 {
    let mut hasher = identity.clone();
    hasher.update(&[sector as u8]);
    hasher.update(data);
    hasher.finalize().max(1)
}

fn encode_block(uuid: Uuid, key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
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

fn decode_block(uuid: Uuid, key: Key, block: &[u8]) -> Option<Sums> {
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

    fn some_sums() -> Sums {
        let mut sums = Box::new([0; SUMS]);
        sums.iter_mut().enumerate().for_each(|(index, sum)| *sum = index as u32 * 7 + 1);
        sums
    }

    #[test]
    fn a_block_says_what_was_written_and_where() {
        let sums = some_sums();
        let mut block = [0xaa; BLOCK_BYTES];
        encode_block(UUID, KEY, &sums, &mut block);
        assert_eq!(decode_block(UUID, KEY, &block).as_ref(), Some(&sums));
        assert_eq!(decode_block(UUID, Key { number: 78, ..KEY }, &block), None, "misdirected");
        assert_eq!(decode_block(UUID, Key { drive: 2, ..KEY }, &block), None);
        assert_eq!(decode_block(Uuid([8; 16]), KEY, &block), None);
        for at in [0, 12, 16, 24, 40, 4095] {
            let mut torn = block;
            torn[at] ^= 1;
            assert_eq!(decode_block(UUID, KEY, &torn), None, "byte {at}");
        }
        assert_eq!(decode_block(UUID, KEY, &[0; BLOCK_BYTES]), Some(Box::new([0; SUMS])));
    }

    #[test]
    fn a_sector_says_what_was_written_and_where() {
        let sums = some_sums();
        let mut block = [0xaa; BLOCK_BYTES];
        encode_sectors(UUID, KEY, &sums, &mut block);
        assert_eq!(decode_sectors(UUID, KEY, &block), Decoded::Sound(sums.clone()));
        let all_lost = Decoded::Damaged(Box::new([LOST; SUMS]));
        for (uuid, key) in [
            (UUID, Key { number: 78, ..KEY }),
            (UUID, Key { drive: 2, ..KEY }),
            (Uuid([8; 16]), KEY),
        ] {
            assert_eq!(decode_sectors(uuid, key, &block), all_lost);
        }
        for garbage in [0, 0xff, 0x5a] {
            assert_eq!(decode_sectors(UUID, KEY, &[garbage; BLOCK_BYTES]), all_lost);
        }
        for at in 0..BLOCK_BYTES {
            block[at] ^= 0x10;
            let Decoded::Damaged(found) = decode_sectors(UUID, KEY, &block) else {
                panic!("byte {at}")
            };
            let first = at / SECTOR_BYTES * SUMS_PER_SECTOR;
            for (index, (found, sum)) in found.iter().zip(&*sums).enumerate() {
                let is_lost = (first..first + SUMS_PER_SECTOR).contains(&index);
                assert_eq!(*found, if is_lost { LOST } else { *sum }, "byte {at}, sum {index}");
            }
            block[at] ^= 0x10;
        }
    }

    /// A power cut leaves each sector old or new.
    #[test]
    fn a_torn_block_has_old_and_new_sums_and_none_that_is_lost() {
        let (old, new) = (Box::new([5; SUMS]), some_sums());
        let (mut first, mut second) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
        encode_sectors(UUID, KEY, &old, &mut first);
        encode_sectors(UUID, KEY, &new, &mut second);
        for kept in 0..256u32 {
            let mut torn = first;
            let sectors =
                torn.chunks_exact_mut(SECTOR_BYTES).zip(second.chunks_exact(SECTOR_BYTES));
            for (number, (sector, later)) in sectors.enumerate() {
                if kept >> number & 1 == 1 {
                    sector.copy_from_slice(later);
                }
            }
            let Decoded::Sound(found) = decode_sectors(UUID, KEY, &torn) else {
                panic!("sectors {kept:b}")
            };
            let fits = |(index, sum): (usize, &u32)| *sum == old[index] || *sum == new[index];
            assert!(found.iter().enumerate().all(fits));
        }
    }

    #[test]
    fn no_block_of_data_has_the_sum_that_stands_for_a_lost_one() {
        assert_ne!(stored(LOST), LOST);
        assert_eq!((stored(0), stored(LOST - 1)), (0, LOST - 1));
    }

    #[test]
    fn the_table_has_a_sum_for_every_block() {
        assert_eq!(table_bytes(4096), 4096);
        assert_eq!(table_bytes(SUMS as u64 * 4096), 4096);
        assert_eq!(table_bytes(SUMS as u64 * 4096 + 1), 8192);
        assert_eq!(Key::of(DriveId(1), SUMS as u64 + 5), (Key { drive: 1, number: 1 }, 5));
        // The table of a tebibyte needs about a gibibyte.
        assert_eq!(table_bytes(1 << 40) >> 20, 1034);
    }
}
