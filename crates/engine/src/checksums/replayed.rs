//! Sums of data that is replayed from the journal when an array is opened.

use super::SUMMED_BYTES;
use super::crc32c;
use super::table::{Decoded, Key, Sums, TableSeal, decode, encode, stored};
use crate::durability::block::BLOCK_BYTES;
use crate::durability::{Disk, HEAD_BYTES, Uuid};
use alloc::collections::BTreeMap;
use alloc::vec;
use units::DriveId;

/// Place and format of a drive's table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePlace {
    pub(crate) uuid: Uuid,
    pub(crate) seal: TableSeal,
    /// Bytes of data of the drive, behind which the table begins.
    pub(crate) drive_bytes: u64,
}

impl TablePlace {
    /// Place of a block of the table, in bytes from the start of its drive.
    pub(crate) const fn at(&self, key: Key) -> u64 {
        HEAD_BYTES + self.drive_bytes + key.number * BLOCK_BYTES as u64
    }
}

/// A write to a drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// First byte, in the data of the drive.
    pub(crate) offset_bytes: u64,
    /// Length in bytes.
    pub(crate) length_bytes: u64,
    /// Bytes written; `None` for zeros.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// Updates the table of a drive with the sums of what was written to it. The update is on stable
/// storage after the next sync. Sums in damaged sectors of the table are lost. A block of the table
/// without any sound seal is left as it is.
pub(crate) fn note_written<'a, D: Disk>(
    disk: &mut D,
    tables: TablePlace,
    drive: DriveId,
    written: impl IntoIterator<Item = Written<'a>>,
) -> Result<(), D::Error> {
    let zero_sum = crc32c(&[0; SUMMED_BYTES]);
    let place = tables;
    let TablePlace { uuid, seal, .. } = place;
    let mut tables: BTreeMap<Key, Option<Sums>> = BTreeMap::new();
    let mut block_bytes = vec![0; BLOCK_BYTES];
    for Written { offset_bytes, length_bytes, bytes } in written {
        let first = offset_bytes / SUMMED_BYTES as u64;
        for index in 0..length_bytes / SUMMED_BYTES as u64 {
            let (key, index_in_table) = Key::of(drive, first + index);
            if let alloc::collections::btree_map::Entry::Vacant(entry) = tables.entry(key) {
                disk.read(place.at(key), &mut block_bytes)?;
                entry.insert(match decode(seal, uuid, key, &block_bytes) {
                    Decoded::Sound(sums) | Decoded::Damaged(sums) => Some(sums),
                    Decoded::Nothing => None,
                });
            }
            let Some(Some(sums)) = tables.get_mut(&key) else { continue };
            let start = index as usize * SUMMED_BYTES;
            sums[index_in_table] = stored(
                bytes.map_or(0, |bytes| crc32c(&bytes[start..start + SUMMED_BYTES]) ^ zero_sum),
            );
        }
    }
    for (key, sums) in tables {
        if let Some(sums) = sums {
            encode(seal, uuid, key, &sums, &mut block_bytes);
            disk.write(place.at(key), &block_bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::table::{LOST, SUMS};
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use core::convert::Infallible;
    use core::ops::Range;
    use units::Rng;

    const UUID: Uuid = Uuid([3; 16]);
    const DRIVE: DriveId = DriveId(2);
    const BLOCK: u64 = BLOCK_BYTES as u64;
    const BLOCKS: u64 = SUMS as u64;
    /// Blocks of the table.
    const TABLES: u64 = 3;
    /// Blocks of data: the last block of the table is used in part.
    const DATA: u64 = 2 * BLOCKS + 40;
    const SEAL: TableSeal = TableSeal::Block;
    const PLACE: TablePlace = TablePlace { uuid: UUID, seal: SEAL, drive_bytes: DATA * BLOCK };

    /// Sums of a block with one seal; `None` if the seal is wrong.
    fn said(key: Key, block: &[u8]) -> Option<Sums> {
        match decode(SEAL, UUID, key, block) {
            Decoded::Sound(sums) => Some(sums),
            Decoded::Damaged(_) | Decoded::Nothing => None,
        }
    }

    /// A drive whose data is never touched, only its table.
    struct TableOnly {
        blocks: Vec<Vec<u8>>,
        written: Vec<u64>,
    }

    fn number(offset_bytes: u64) -> usize {
        let at = offset_bytes.checked_sub(HEAD_BYTES + DATA * BLOCK).expect("in the table");
        assert!(at.is_multiple_of(BLOCK) && at / BLOCK < TABLES, "{at}");
        (at / BLOCK) as usize
    }

    impl Disk for TableOnly {
        type Error = Infallible;

        fn size_bytes(&mut self) -> Result<u64, Infallible> {
            Ok(HEAD_BYTES + (DATA + TABLES) * BLOCK)
        }

        fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Infallible> {
            into.copy_from_slice(&self.blocks[number(offset_bytes)]);
            Ok(())
        }

        fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Infallible> {
            self.written.push(number(offset_bytes) as u64);
            self.blocks[number(offset_bytes)] = bytes.to_vec();
            Ok(())
        }

        fn sync(&mut self) -> Result<(), Infallible> {
            panic!("whoever calls syncs once for all")
        }
    }

    #[test]
    fn sums_of_a_damaged_sector_are_lost_and_all_others_stay() {
        let key = Key { drive: DRIVE.0, number: 0 };
        let place = TablePlace { seal: TableSeal::Sectors, ..PLACE };
        let mut block = vec![0; BLOCK_BYTES];
        encode(TableSeal::Sectors, UUID, key, &[7; SUMS], &mut block);
        block[600] ^= 1;
        let mut disk = TableOnly { blocks: vec![block], written: Vec::new() };
        // The first block of the second sector, which is damaged.
        let written = Written { offset_bytes: 127 * BLOCK, length_bytes: BLOCK, bytes: None };
        let Ok(()) = note_written(&mut disk, place, DRIVE, [written]);
        let Decoded::Sound(sums) = decode(TableSeal::Sectors, UUID, key, &disk.blocks[0]) else {
            panic!("it is sealed again")
        };
        for (index, sum) in sums.iter().enumerate() {
            let expected = match index {
                127 => 0,
                128..254 => LOST,
                _ => 7,
            };
            assert_eq!(*sum, expected, "{index}");
        }
    }

    #[test]
    fn every_block_that_was_written_gets_its_sum_and_no_other() {
        let zero_sum = crc32c(&[0; SUMMED_BYTES]);
        for seed in testing::seeds(0..40) {
            let mut rng = Rng::stream(seed, "replayed");
            let mut expected: Vec<Option<Box<[u32; SUMS]>>> = Vec::new();
            let mut disk = TableOnly { blocks: Vec::new(), written: Vec::new() };
            for number in 0..TABLES {
                let mut block = vec![0; BLOCK_BYTES];
                let mut sums = Box::new([0; SUMS]);
                sums.fill_with(|| rng.next_u64() as u32);
                encode(SEAL, UUID, Key { drive: DRIVE.0, number }, &sums, &mut block);
                if rng.below(4) == 0 {
                    block[77] ^= 1;
                }
                expected.push(said(Key { drive: DRIVE.0, number }, &block));
                disk.blocks.push(block);
            }
            let torn: Vec<_> = disk
                .blocks
                .iter()
                .zip(&expected)
                .map(|(block, sums)| sums.is_none().then(|| block.clone()))
                .collect();
            let mut parts: Vec<(Range<u64>, Option<Vec<u8>>)> = Vec::new();
            for _ in 0..rng.below(6) {
                // Sometimes across the end of a block of the table.
                let start = match rng.below(3) {
                    0 => BLOCKS - 1 - rng.below(3),
                    _ => rng.below(DATA),
                };
                let blocks = start..(start + 1 + rng.below(5)).min(DATA);
                let bytes = (rng.below(3) > 0).then(|| {
                    let count = (blocks.end - blocks.start) * BLOCK;
                    (0..count).map(|_| rng.next_u64() as u8).collect::<Vec<u8>>()
                });
                for (index, block) in blocks.clone().enumerate() {
                    let sum = bytes.as_ref().map_or(0, |bytes| {
                        let start = index * SUMMED_BYTES;
                        crc32c(&bytes[start..start + SUMMED_BYTES]) ^ zero_sum
                    });
                    if let Some(sums) = &mut expected[(block / BLOCKS) as usize] {
                        sums[(block % BLOCKS) as usize] = sum;
                    }
                }
                parts.push((blocks, bytes));
            }
            let written = parts.iter().map(|(blocks, bytes)| Written {
                offset_bytes: blocks.start * BLOCK,
                length_bytes: (blocks.end - blocks.start) * BLOCK,
                bytes: bytes.as_deref(),
            });
            let Ok(()) = note_written(&mut disk, PLACE, DRIVE, written);
            for (number, block) in disk.blocks.iter().enumerate() {
                let key = Key { drive: DRIVE.0, number: number as u64 };
                assert_eq!(said(key, block), expected[number], "seed {seed}: {number}");
                if let Some(torn) = &torn[number] {
                    assert_eq!(block, torn, "seed {seed}: it says nothing, as before");
                }
            }
            let touched = |number: u64| {
                let its = number * BLOCKS..(number + 1) * BLOCKS;
                let is_its = |(blocks, _): &(Range<u64>, _)| {
                    blocks.start < its.end && its.start < blocks.end
                };
                parts.iter().any(is_its) && torn[number as usize].is_none()
            };
            let written: Vec<u64> = (0..TABLES).filter(|number| touched(*number)).collect();
            assert_eq!(disk.written, written, "seed {seed}: each once");
        }
    }
}
