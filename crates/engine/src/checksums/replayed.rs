//! Sums of what is written again from the journal when an array is opened.

use super::SUMMED_BYTES;
use super::crc32c;
use super::table::{Key, Sums, decode, encode};
use crate::durability::block::BLOCK_BYTES;
use crate::durability::{Disk, HEAD_BYTES, Uuid};
use alloc::collections::BTreeMap;
use alloc::vec;
use units::DriveId;

/// Something that was written to a drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// First byte of the data of the drive.
    pub(crate) offset_bytes: u64,
    /// Its length.
    pub(crate) length_bytes: u64,
    /// What was written; none if it was zeros.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// Notes in the table of a drive what was written to it. Not on stable storage before the next sync. A block
/// of the table that says nothing is left as it is: all that it stands for is in doubt.
pub(crate) fn note_written<'a, D: Disk>(
    disk: &mut D,
    uuid: Uuid,
    drive: DriveId,
    drive_bytes: u64,
    written: impl IntoIterator<Item = Written<'a>>,
) -> Result<(), D::Error> {
    let zero_sum = crc32c(&[0; SUMMED_BYTES]);
    let at = |key: Key| HEAD_BYTES + drive_bytes + key.number * BLOCK_BYTES as u64;
    let mut tables: BTreeMap<Key, Option<Sums>> = BTreeMap::new();
    let mut block_bytes = vec![0; BLOCK_BYTES];
    for Written { offset_bytes, length_bytes, bytes } in written {
        let first = offset_bytes / SUMMED_BYTES as u64;
        for index in 0..length_bytes / SUMMED_BYTES as u64 {
            let (key, place) = Key::of(drive, first + index);
            if let alloc::collections::btree_map::Entry::Vacant(entry) = tables.entry(key) {
                disk.read(at(key), &mut block_bytes)?;
                entry.insert(decode(uuid, key, &block_bytes));
            }
            let Some(Some(sums)) = tables.get_mut(&key) else { continue };
            let start = index as usize * SUMMED_BYTES;
            sums[place] =
                bytes.map_or(0, |bytes| crc32c(&bytes[start..start + SUMMED_BYTES]) ^ zero_sum);
        }
    }
    for (key, sums) in tables {
        if let Some(sums) = sums {
            encode(uuid, key, &sums, &mut block_bytes);
            disk.write(at(key), &block_bytes)?;
        }
    }
    Ok(())
}
