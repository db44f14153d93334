//! Creation of an array on blank drives.
//!
//! A creation that is cut short leaves an array, or nothing that counts as one:
//!
//! 1. All drives get superblocks of generation 0. Drives in this state hold nothing: opening
//!    refuses such an array, and another creation may begin.
//! 2. The tables of checksums and the other records are written.
//! 3. All drives get generation 1. All records are written before the first drive gets it. So an
//!    array is complete if any of its drives has generation 1; drives at generation 0 count too
//!    ([`lineage`](super::lineage)).

use super::HEAD_BYTES;
use super::assembly::Assembly;
use super::disk::{Disk, overwrite_superblocks, write_superblock};
use super::foreign::sampled_data;
use super::intent::Intent;
use super::join::{Vacancy, check_vacant, write_records};
use super::journal::Journal;
use super::machine::Records;
use super::opened::{Contents, OpenError, Opened};
use super::setup::{Setup, Sizes};
use super::superblock::{Geometry, MemberState, Past, Superblock, SuperblockError};
use super::uuid::Uuid;
use crate::checksums::{ChecksumSetup, format};
use alloc::vec;
use alloc::vec::Vec;
use units::DriveId;

/// Creates array `uuid` on `disks`, one for each drive in order. `setup` chooses how it keeps its
/// records; a [`Duration`](units::Duration) alone stands for an array that serves. On return,
/// the superblocks say that the array runs.
///
/// # Errors
///
/// If the layout is impossible ([`check_new`]), a drive is not blank, or a drive fails an I/O. All
/// future data has to be zeros, of which samples are read.
pub fn create<D: Disk>(
    mut disks: Vec<D>,
    geometry: &Geometry,
    uuid: Uuid,
    created_seconds: u64,
    setup: impl Into<Setup>,
) -> Result<Opened<D>, OpenError<D::Error>> {
    let setup = setup.into();
    check_sized(geometry, disks.len(), &setup.sizes)?;
    let region_bytes = Intent::suitable_region_bytes(geometry.drive_bytes);
    let mut blank = Superblock {
        uuid,
        member: DriveId(0),
        geometry: *geometry,
        region_bytes,
        generation: 0,
        committed: 0,
        states: vec![MemberState::Serving; disks.len()],
        joined: vec![0; disks.len()],
        began: 0,
        past: Past::default(),
        seals_sectors: geometry.checksums,
        proposed: 0,
        clean: false,
        created_seconds,
    };
    let intent = Intent::new(uuid, geometry.drive_bytes, region_bytes, setup);
    let mut journal = Journal::new(uuid, &setup);
    // The first header; the journal cannot be busy, because nothing was appended.
    let _ = journal.clear();
    let _ = journal.header_written();

    for (drive, disk) in disks.iter_mut().enumerate() {
        check_blank(drive, disk)?;
        let data = HEAD_BYTES..HEAD_BYTES + geometry.drive_bytes;
        if let Some(at_bytes) = sampled_data(disk, data).map_err(OpenError::io(drive))? {
            return Err(OpenError::NotBlank { drive, found: Contents::Data { at_bytes } });
        }
    }
    for (drive, disk) in disks.iter_mut().enumerate() {
        blank.member = DriveId(drive as u8);
        overwrite_superblocks(disk, &blank.encode()).map_err(OpenError::io(drive))?;
    }
    for (drive, disk) in disks.iter_mut().enumerate() {
        if blank.seals_sectors {
            let id = DriveId(drive as u8);
            format(disk, uuid, id, geometry.drive_bytes).map_err(OpenError::io(drive))?;
        }
        write_records(disk, &intent, &journal).map_err(OpenError::io(drive))?;
    }
    let mut superblock = Superblock { generation: 1, ..blank.clone() };
    for (drive, disk) in disks.iter_mut().enumerate() {
        superblock.member = DriveId(drive as u8);
        write_superblock(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    let checksums = ChecksumSetup::of(&superblock, Vec::new(), Vec::new(), &setup);
    let records = Records { superblock, intent, journal, checksums, setup };
    let disks: Vec<Option<D>> = disks.into_iter().map(Some).collect();
    let assembly = Assembly { clean: true, ..Assembly::new(blank) };
    Ok(Opened { assembly, disks, records, replayed: 0, mended: 0 })
}

/// Checks that an array of this geometry can be created on `places` drives.
///
/// # Errors
///
/// The reason why it cannot.
pub fn check_new<E>(geometry: &Geometry, places: usize) -> Result<(), OpenError<E>> {
    check_sized(geometry, places, &Sizes::SERVED)
}

/// Checks as [`check_new`] does, for an array whose journal has these sizes.
fn check_sized<E>(geometry: &Geometry, places: usize, sizes: &Sizes) -> Result<(), OpenError<E>> {
    if let Err(SuperblockError::Field { field, value }) = geometry.check() {
        return Err(OpenError::Geometry { field, value });
    }
    let chunk_bytes = geometry.chunk_bytes;
    let most_bytes = sizes.chunk_bytes_max();
    if Journal::is_needed(geometry, 1) && chunk_bytes > most_bytes {
        return Err(OpenError::Chunk { chunk_bytes, most_bytes });
    }
    let drives = usize::from(geometry.width);
    if drives == places { Ok(()) } else { Err(OpenError::Places { drives, places }) }
}

/// Refuses a drive that holds anything. No known format may be found on it, and its first and last
/// MiB must be zeros. Leftovers of a creation or joining that was cut short are allowed.
///
/// # Errors
///
/// The content that was found.
pub fn check_blank<D: Disk>(drive: usize, disk: &mut D) -> Result<Vacancy, OpenError<D::Error>> {
    check_vacant(drive, disk, |_| false)
}
