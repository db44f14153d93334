//! Joining of a drive in the place of a failed one.

use super::HEAD_BYTES;
use super::block::BLOCK_BYTES;
use super::disk::{Disk, overwrite_superblocks, read_superblock};
use super::foreign::{first_data, recognise, recognise_in_head};
use super::intent::Intent;
use super::journal::Journal;
use super::opened::{Contents, OpenError};
use super::owner::{Found, OWNER_AT};
use super::superblock::{COPIES_AT, Superblock, SuperblockError};
use crate::checksums::{TableSeal, format as format_table, table_bytes};
use alloc::vec;
use units::DriveId;

/// Bytes of a table that are cleared at a time.
const CLEARED_BYTES: u64 = 1 << 20;

/// Reason for which a drive may be formatted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vacancy {
    /// No content was found on it.
    Blank,
    /// A creation or a joining was cut short on it.
    Unfinished,
    /// It was this drive of the array before.
    Outdated,
}

/// Checks that a drive may take the place of `drive` in the array of `superblock`: it is blank, was
/// this drive before, or has an unfinished creation or joining.
///
/// # Errors
///
/// Any other content that is on it.
pub fn check_join<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
) -> Result<Vacancy, OpenError<D::Error>> {
    let is_ours = |old: &Superblock| old.uuid == superblock.uuid && old.member == drive;
    check_vacant(drive.index(), disk, is_ours)
}

/// Returns true if a drive is the failed drive of this place with its old content: it lacks only
/// the regions that the intent record names ([`Intent::missed`]).
#[must_use]
pub fn check_return<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
) -> bool {
    let Some(missed) = intent.missed(drive) else { return false };
    read_superblock(disk).is_ok_and(|found| missed.is_of(&found, superblock))
}

fn is_short<D: Disk>(drive: usize, disk: &mut D) -> Result<bool, OpenError<D::Error>> {
    let end = COPIES_AT[1] + BLOCK_BYTES as u64;
    Ok(disk.size_bytes().map_err(OpenError::io(drive))? < end)
}

/// Returns the reason for which a drive may be formatted; a drive whose superblock `is_ours` may
/// be.
pub(super) fn check_vacant<D: Disk>(
    drive: usize,
    disk: &mut D,
    is_ours: impl Fn(&Superblock) -> bool,
) -> Result<Vacancy, OpenError<D::Error>> {
    let refuse = |found| Err(OpenError::NotBlank { drive, found });
    let vacancy = match read_superblock(disk) {
        Ok(superblock) if superblock.is_being_created() => Vacancy::Unfinished,
        Err(SuperblockError::Unfinished) => Vacancy::Unfinished,
        Ok(superblock) if is_ours(&superblock) => Vacancy::Outdated,
        Ok(superblock) => return refuse(Contents::Member(superblock.uuid)),
        Err(SuperblockError::Blank | SuperblockError::Foreign) => Vacancy::Blank,
        // The drive ends before the places of the superblocks.
        Err(SuperblockError::Unreadable(_)) if is_short(drive, disk)? => Vacancy::Blank,
        Err(error) => return refuse(Contents::Other(error)),
    };
    // A user of the drive after the array may have left one of the superblocks.
    let known = match vacancy {
        Vacancy::Blank => recognise(disk),
        Vacancy::Unfinished | Vacancy::Outdated => recognise_in_head(disk),
    };
    if let Some(foreign) = known.map_err(OpenError::io(drive))? {
        return refuse(Contents::Foreign(foreign));
    }
    if vacancy == Vacancy::Blank
        && let Some(at_bytes) = first_data(disk).map_err(OpenError::io(drive))?
    {
        return refuse(Contents::Data { at_bytes });
    }
    Ok(vacancy)
}

/// Returns true if a server may write its owner block on a drive: it has done so before, or the
/// drive belongs to an array, or is blank.
#[must_use]
pub fn is_claimable<D: Disk>(disk: &mut D) -> bool {
    let mut block = vec![0; BLOCK_BYTES];
    let is_known =
        disk.read(OWNER_AT, &mut block).is_ok() && matches!(Found::decode(&block), Found::Owner(_));
    is_known || read_superblock(disk).is_ok() || check_vacant(0, disk, |_| false).is_ok()
}

/// Formats the head of a drive that takes the place of `drive`: a mark that the drive holds
/// nothing, the present intent record and an empty journal, but no superblock. All of it is on
/// stable storage on return. The superblock follows when the array records that the drive is being
/// rebuilt.
///
/// A drive on which this is cut short, at any write, may join again ([`check_join`]).
///
/// # Errors
///
/// If the drive fails an I/O.
pub fn prepare<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<(), D::Error> {
    begin_joining(disk, drive, superblock)?;
    let drive_bytes = superblock.geometry.drive_bytes;
    match superblock.table_seal() {
        _ if !superblock.geometry.checksums => {}
        TableSeal::Sectors => format_table(disk, superblock.uuid, drive, drive_bytes)?,
        TableSeal::Block => clear_table(disk, drive_bytes)?,
    }
    write_records(disk, intent, journal)
}

/// Formats as [`prepare`] does, for a drive that is back ([`check_return`]): the drive keeps its
/// data and checksums.
///
/// # Errors
///
/// If the drive fails an I/O. It no longer counts as the returned drive then, and may join as any
/// other.
pub fn prepare_return<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<(), D::Error> {
    begin_joining(disk, drive, superblock)?;
    write_records(disk, intent, journal)
}

/// Marks a drive as holding nothing of the array yet.
fn begin_joining<D: Disk>(
    disk: &mut D,
    drive: DriveId,
    superblock: &Superblock,
) -> Result<(), D::Error> {
    let superblock = Superblock { member: drive, ..superblock.clone() };
    overwrite_superblocks(disk, &superblock.encode_joining())
}

/// Clears the checksums of a drive. A device that was this drive before has checksums that fit its
/// old data, which would be trusted.
fn clear_table<D: Disk>(disk: &mut D, drive_bytes: u64) -> Result<(), D::Error> {
    let (start, length) = (HEAD_BYTES + drive_bytes, table_bytes(drive_bytes));
    let mut bytes = vec![0; length.min(CLEARED_BYTES) as usize];
    let mut done = 0;
    while done < length {
        let part = &mut bytes[..(length - done).min(CLEARED_BYTES) as usize];
        disk.read(start + done, part)?;
        // Blocks that were never written stay so: files have holes there.
        if part.iter().any(|&byte| byte != 0) {
            part.fill(0);
            disk.write(start + done, part)?;
        }
        done += part.len() as u64;
    }
    Ok(())
}

/// Writes the records of a head other than the superblocks.
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
