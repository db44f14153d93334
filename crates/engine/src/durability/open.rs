//! Opening an array.
//!
//! 1. The superblocks are read, and the drives put together.
//! 2. What the journal holds is written again, and synced. Whoever does it again does no harm, as long as
//!    nothing else was written.
//! 3. The write-intent record is read: it says what may be torn.
//! 4. All drives that take part are prepared for the next generation, then that the array runs is
//!    committed ([`lineage`](super::lineage)). From then on drives that are missing are not
//!    taken any more.
//! 5. The records of the journal count no longer.
//!
//! If it is cut short anywhere, the next start does it all again.

use super::HEAD_BYTES;
use super::assembly::{Assembly, Found, assemble};
use super::disk::{Disk, read_copies, read_superblock, write_superblock};
use super::intent::{INTENT_OFFSET_BYTES, Intent};
use super::journal::{HeadWrite, Journal, Record, Replay};
use super::machine::Records;
use super::opened::{OpenError, Opened};
use super::refusal::Refusal;
use super::superblock::{Geometry, MemberState, Superblock, newest_offset_bytes};
use alloc::vec;
use alloc::vec::Vec;
use units::{DriveId, Duration};

/// Opens the array on `disks`, in whatever order its drives are; `None` where none was found. `asked`
/// is what the configuration says of it, if it says anything. When this returns, the journal was
/// replayed and the superblocks say that the array runs.
///
/// # Errors
///
/// For any reason of [`OpenError`]; nothing has been written unless the drives were found to be
/// one array and enough of it.
pub fn open<D: Disk>(
    disks: Vec<Option<D>>,
    asked: Option<&Geometry>,
    quiet_for: Duration,
) -> Result<Opened<D>, OpenError<D::Error>> {
    find(disks, asked)?.start(quiet_for)
}

/// An array whose drives were found. Nothing has been written.
#[derive(Debug)]
pub struct Opening<D> {
    /// How it is put together.
    pub assembly: Assembly,
    /// The drives by their position; `None` where one is missing.
    pub disks: Vec<Option<D>>,
}

/// The first half of [`open`], for those who have something to do with the drives once it is known
/// which is which.
///
/// # Errors
///
/// If they are not one array, or too few of it.
pub fn find<D: Disk>(
    mut disks: Vec<Option<D>>,
    asked: Option<&Geometry>,
) -> Result<Opening<D>, Refusal> {
    let found: Vec<Found> = disks
        .iter_mut()
        .map(|disk| match disk {
            None => Found::Missing,
            Some(disk) => Found::Drive(read_superblock(disk)),
        })
        .collect();
    let assembly = assemble(&found, asked)?;
    let by_position = assembly.order.iter();
    let disks = by_position.map(|place| place.and_then(|place| disks[place].take())).collect();
    Ok(Opening { assembly, disks })
}

impl<D: Disk> Opening<D> {
    /// The second half of [`open`].
    ///
    /// # Errors
    ///
    /// If a drive says no, or the journal cannot be replayed.
    pub fn start(self, quiet_for: Duration) -> Result<Opened<D>, OpenError<D::Error>> {
        let Self { assembly, mut disks } = self;
        let mut replay = replay_journal(&assembly, &mut disks)?;
        let intent = recover_intent(&assembly, &mut disks, quiet_for)?;
        let superblock = write_superblocks(&assembly, &mut disks)?;
        clear_journal(&assembly, &mut disks, &mut replay)?;
        let replayed = replay.records.len();
        let records = Records { superblock, intent, journal: replay.journal };
        Ok(Opened { assembly, disks, records, replayed })
    }
}

/// Prepares all drives that take part for the next generation, and commits that the array runs.
fn write_superblocks<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
) -> Result<Superblock, OpenError<D::Error>> {
    let mut superblock = assembly.leader.clone();
    superblock.generation = assembly.generation.saturating_add(1);
    for (drive, disk) in taking_part(&assembly.states, disks) {
        superblock.member = DriveId(drive as u8);
        let newest = newest_offset_bytes(&read_copies(disk));
        if newest == Some(superblock.offset_bytes()) {
            // What it says last must outlive a torn write.
            let before = Superblock { generation: assembly.generation, ..superblock.clone() };
            write_superblock(&before, disk).map_err(OpenError::io(drive))?;
        }
        write_superblock(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    superblock.commit(assembly.states.clone(), superblock.joined.clone(), false);
    for (drive, disk) in taking_part(&assembly.states, disks) {
        superblock.member = DriveId(drive as u8);
        write_superblock(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    Ok(superblock)
}

/// Reads the journal, and writes what it holds to all drives that hold data, on stable storage.
fn replay_journal<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
) -> Result<Replay, OpenError<D::Error>> {
    let mut journals = Vec::new();
    let mut serving = 0u64;
    for (drive, disk) in members(assembly, disks) {
        let image =
            Journal::read(assembly.uuid, |offset_bytes, into| disk.read(offset_bytes, into))
                .map_err(OpenError::io(drive))?;
        serving |= 1 << drive;
        journals.push((DriveId(drive as u8), image));
    }
    let bytes = journals.iter().map(|(drive, image)| (*drive, &image[..]));
    let replay = Journal::replay(assembly.uuid, bytes);
    let needed =
        !assembly.clean && !Journal::holders(&assembly.geometry, assembly.absent).is_empty();
    if needed && replay.unsound & serving == serving {
        return Err(OpenError::NoJournal);
    }
    write_again(assembly, disks, &replay.records)?;
    for (drive, disk) in members(assembly, disks) {
        disk.sync().map_err(OpenError::io(drive))?;
    }
    Ok(replay)
}

/// Has the records of the journal count no longer. Not before the superblocks: if this start missed a
/// drive and was cut short, the next one may find it, and must write the records to it as well.
fn clear_journal<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    replay: &mut Replay,
) -> Result<(), OpenError<D::Error>> {
    // It cannot be busy: nothing was appended to it.
    let header = replay.journal.clear().ok();
    for (drive, disk) in members(assembly, disks) {
        // A drive without any sound header gets both.
        let unsound = replay.unsound >> drive & 1 == 1;
        let both = unsound.then(|| replay.journal.headers());
        write_heads(disk, header.iter().chain(both.iter().flatten()))
            .map_err(OpenError::io(drive))?;
    }
    Ok(())
}

/// Writes to the drives what records of the journal say.
fn write_again<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    records: &[Record],
) -> Result<(), OpenError<D::Error>> {
    let drive_bytes = assembly.geometry.drive_bytes;
    for part in records.iter().flat_map(|record| &record.parts) {
        let length_bytes = part.bytes.len();
        let end = part.offset_bytes.checked_add(length_bytes as u64);
        if part.drive.index() >= disks.len() || end.is_none_or(|end| end > drive_bytes) {
            let (drive, offset_bytes) = (part.drive.0, part.offset_bytes);
            return Err(OpenError::Record { drive, offset_bytes, length_bytes });
        }
    }
    for part in records.iter().flat_map(|record| &record.parts) {
        let drive = part.drive.index();
        let serves = assembly.absent >> drive & 1 == 0;
        let Some(disk) = disks[drive].as_mut().filter(|_| serves) else { continue };
        disk.write(HEAD_BYTES + part.offset_bytes, &part.bytes).map_err(OpenError::io(drive))?;
    }
    Ok(())
}

fn recover_intent<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    quiet_for: Duration,
) -> Result<Intent, OpenError<D::Error>> {
    let drive_bytes = assembly.geometry.drive_bytes;
    let mut intent = Intent::new(assembly.uuid, drive_bytes, assembly.region_bytes, quiet_for);
    if assembly.clean {
        // What is still marked was only not taken back yet; it is, with the first block written.
        intent.rewrite();
        return Ok(intent);
    }
    let mut record = vec![0; intent.record_bytes()];
    for (drive, disk) in members(assembly, disks) {
        disk.read(INTENT_OFFSET_BYTES, &mut record).map_err(OpenError::io(drive))?;
        intent.recover(&record);
    }
    Ok(intent)
}

/// The drives that get superblocks.
fn taking_part<'a, D>(
    states: &'a [MemberState],
    disks: &'a mut [Option<D>],
) -> impl Iterator<Item = (usize, &'a mut D)> {
    let present = disks.iter_mut().enumerate();
    present.filter_map(|(drive, disk)| {
        Some((drive, disk.as_mut().filter(|_| states[drive] != MemberState::Failed)?))
    })
}

/// The drives that hold data.
fn members<'a, D>(
    assembly: &Assembly,
    disks: &'a mut [Option<D>],
) -> impl Iterator<Item = (usize, &'a mut D)> + use<'a, D> {
    let absent = assembly.absent;
    let present = disks.iter_mut().enumerate();
    present.filter_map(move |(drive, disk)| {
        Some((drive, disk.as_mut().filter(|_| absent >> drive & 1 == 0)?))
    })
}

fn write_heads<'a, D: Disk>(
    disk: &mut D,
    writes: impl Iterator<Item = &'a HeadWrite>,
) -> Result<(), D::Error> {
    for write in writes {
        disk.write(write.offset_bytes, &write.bytes)?;
    }
    disk.sync()
}
