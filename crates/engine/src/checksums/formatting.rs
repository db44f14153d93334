//! Tables of new drives.

use super::table::{Key, SUMS, encode_sectors, table_bytes};
use crate::durability::block::BLOCK_BYTES;
use crate::durability::{Disk, HEAD_BYTES, Uuid};
use alloc::vec;
use units::DriveId;

/// Bytes of a table that are written at a time.
const FORMATTED_BYTES: u64 = 1 << 20;

/// Writes the table of a drive without data. It is on stable storage after the next sync.
///
/// # Errors
///
/// If the drive fails a write.
pub(crate) fn format<D: Disk>(
    disk: &mut D,
    uuid: Uuid,
    drive: DriveId,
    drive_bytes: u64,
) -> Result<(), D::Error> {
    let (start, length) = (HEAD_BYTES + drive_bytes, table_bytes(drive_bytes));
    let mut bytes = vec![0; length.min(FORMATTED_BYTES) as usize];
    let mut done = 0;
    while done < length {
        let part = &mut bytes[..(length - done).min(FORMATTED_BYTES) as usize];
        for (number, block) in (done / BLOCK_BYTES as u64..).zip(part.chunks_exact_mut(BLOCK_BYTES))
        {
            encode_sectors(uuid, Key { drive: drive.0, number }, &[0; SUMS], block);
        }
        disk.write(start + done, part)?;
        done += part.len() as u64;
    }
    Ok(())
}
