//! A drive that takes the place of a failed one.

use super::create::check_blank;
use super::disk::{Disk, overwrite_superblocks, read_superblock};
use super::intent::Intent;
use super::journal::Journal;
use super::opened::OpenError;
use super::superblock::Superblock;
use units::DriveId;

/// Whether a drive may take the place of `drive` in the array of `superblock`: it is blank, or was
/// this drive before, or was being made a drive of some array.
///
/// # Errors
///
/// What else is on it.
pub fn check_join<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
) -> Result<(), OpenError<D::Error>> {
    match read_superblock(disk) {
        Ok(old) if old.uuid == superblock.uuid && old.member == drive => Ok(()),
        _ => check_blank(drive.index(), disk),
    }
}

/// Formats the head of a drive that takes the place of `drive`: no superblock yet, but a mark that it
/// holds nothing, the intent record as it is, an empty journal. On stable storage when it is done. Its
/// superblock is written when the array records that the drive is being rebuilt.
///
/// A drive on which this is cut short, at whatever write, may join again ([`check_join`]).
///
/// # Errors
///
/// If the drive says no.
pub fn prepare<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<(), D::Error> {
    let superblock = Superblock { member: drive, ..superblock.clone() };
    overwrite_superblocks(disk, &superblock.encode_joining())?;
    write_records(disk, intent, journal)
}

/// Writes what is in a head beside superblocks.
pub(super) fn write_records<D: Disk>(
    disk: &mut D,
    intent: &Intent,
    journal: &Journal,
) -> Result<(), D::Error> {
    for write in intent.all_blocks() {
        disk.write(write.offset_bytes, &write.bytes[..])?;
    }
    for write in journal.headers() {
        disk.write(write.offset_bytes, &write.bytes)?;
    }
    disk.sync()
}
