//! Creating an array on places, opening it again, and what its superblocks say while it runs.
//!
//! A running array is marked unclean, with a generation of its own, before it is handed out; a clean
//! end takes the mark away. Every change of how drives take part is a new generation on all drives
//! that still do, and is on stable storage before the array acts on it.

use super::ftl::sync_folder;
use super::superblock::{random_uuid, read_superblock, write_superblock};
use super::{
    Assembly, Found, Geometry, Intent, Journal, MemberState, Records, Refusal, Superblock,
    SuperblockError, Uuid, assemble,
};
use crate::buffer::Buffer;
use crate::storage::{DATA_OFFSET_BYTES, Disk, Place, PlaceError};
use ::engine::durability::block::BLOCK_BYTES;
use ::engine::durability::intent::INTENT_OFFSET_BYTES;
use ::engine::durability::journal::{HeadWrite, RECORD_BYTES_MAX, Record};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;
use units::{DriveId, Duration};

/// How long a region is quiet before it is clean, unless another time is chosen.
pub const QUIET_FOR: Duration = Duration::from_secs(5);

/// Why an array was not created or opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A place cannot be used.
    #[error("drive {drive}: {error}")]
    Place {
        /// Number of the place.
        drive: usize,
        /// Why.
        error: PlaceError,
    },
    /// Something is on a place that was to be formatted.
    #[error("drive {drive} at {place} is not blank: {found}; it is not overwritten")]
    NotBlank {
        /// Number of the place.
        drive: usize,
        /// Where it is.
        place: String,
        /// What is on it.
        found: String,
    },
    /// The drives are not one array, or too few of it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The layout is impossible.
    #[error("the {field} is {value}, which is impossible")]
    Geometry {
        /// What.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A stripe that the journal could not hold.
    #[error(
        "chunks of {chunk_bytes} bytes in stripes of {stripe_width} drives are too large for the journal: choose at most {most_bytes} bytes"
    )]
    Chunk {
        /// Bytes of a chunk.
        chunk_bytes: u64,
        /// Members of a stripe.
        stripe_width: u8,
        /// Largest chunk that would do.
        most_bytes: u64,
    },
    /// Another number of places than of drives.
    #[error("the array has {drives} drives, and {places} places are configured; name one for each")]
    Places {
        /// Drives of the array.
        drives: usize,
        /// Places.
        places: usize,
    },
    /// A drive failed a read, a write or a sync.
    #[error("drive {drive} at {place} failed while the array was opened: {error}")]
    Io {
        /// Number of the drive.
        drive: usize,
        /// Where it is.
        place: String,
        /// What the system says.
        error: io::Error,
    },
    /// The journal says something that cannot be done.
    #[error(
        "the journal has a record for {length_bytes} bytes at {offset_bytes} of drive {drive}, which has no such place"
    )]
    Record {
        /// Number of the drive.
        drive: u8,
        /// Where on it.
        offset_bytes: u64,
        /// How many bytes.
        length_bytes: usize,
    },
    /// No journal can be read after an unclean end of a degraded array.
    #[error(
        "the array was degraded when it stopped, and no drive has a sound journal: what was being written is lost, and data of the missing drive near it may be wrong"
    )]
    NoJournal,
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(io::Error),
}

/// An array that is open: its drives are locked, its superblocks say that it runs.
#[derive(Debug)]
pub struct OpenArray {
    /// How it was put together.
    pub assembly: Assembly,
    /// The drives by their position, for [`crate::storage::Storage::add`]; `None` where one is
    /// missing. Those of `assembly.absent` hold no usable data.
    pub disks: Vec<Option<Disk>>,
    /// Its superblock as it was written last, its write-intent record with what may be torn in
    /// [`Intent::dirty_regions`] (nothing after a clean shutdown), and its journal, empty.
    pub records: Records,
    /// Records of the journal that were written again.
    pub replayed: usize,
}

impl OpenArray {
    /// Regions in which data of a missing drive may be rebuilt wrong, and cannot be told from right
    /// ones: those that were being written when the array stopped, if it lost a drive by that. While
    /// it was whole it had no journal.
    #[must_use]
    pub fn doubtful_regions(&self) -> Vec<u32> {
        let level = self.assembly.geometry.level;
        let has_hole = level.is_redundant() && !level.is_mirrored();
        if has_hole && self.assembly.lost != 0 {
            self.records.intent.dirty_regions()
        } else {
            Vec::new()
        }
    }
}

/// Makes a new array on `places`, one for each drive in order: files are made, devices must be
/// blank. `quiet_for` is how long a region of the intent record is quiet before it is clean.
///
/// # Errors
///
/// If a file exists, a device is not blank, or for any other reason of [`OpenError`]; files that
/// were made are removed again.
pub fn create(
    places: &[Place],
    geometry: &Geometry,
    quiet_for: Duration,
) -> Result<OpenArray, OpenError> {
    check_geometry(geometry, places.len())?;
    let mut made = Vec::new();
    let created = create_on(places, geometry, quiet_for, &mut made);
    if created.is_err() {
        for path in made {
            // The reason is in the error already; the files are empty.
            let _ = std::fs::remove_file(path);
        }
    }
    created
}

fn create_on(
    places: &[Place],
    geometry: &Geometry,
    quiet_for: Duration,
    made: &mut Vec<std::path::PathBuf>,
) -> Result<OpenArray, OpenError> {
    let uuid = random_uuid().map_err(OpenError::Random)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let region_bytes = Intent::suitable_region_bytes(geometry.drive_bytes);
    let assembly = Assembly {
        uuid,
        geometry: *geometry,
        region_bytes,
        created_seconds: now.map_or(0, |since| since.as_secs()),
        order: (0..places.len()).map(Some).collect(),
        absent: 0,
        rebuilding: 0,
        lost: 0,
        states: vec![MemberState::Serving; places.len()],
        generation: 0,
        clean: true,
        notes: Vec::new(),
    };
    let intent = Intent::new(uuid, geometry.drive_bytes, region_bytes, quiet_for);
    let mut journal = Journal::new(uuid);
    // The first header; it cannot be busy, because nothing was appended.
    let _ = journal.clear();

    let mut disks = Vec::new();
    for (drive, place) in places.iter().enumerate() {
        let exists = place.path().is_some_and(std::path::Path::exists);
        let disk = Disk::create(place, geometry.drive_bytes)
            .map_err(|error| OpenError::Place { drive, error })?;
        if !exists && let Some(path) = place.path() {
            made.push(path.into());
        }
        check_blank(drive, &disk)?;
        disks.push(Some(disk));
    }
    for (drive, disk) in disks.iter().flatten().enumerate() {
        prepare(disk, &intent, &journal).map_err(|error| io_error(drive, disk, error))?;
        if let Some(path) = disk.place().path() {
            sync_folder(path).map_err(|error| io_error(drive, disk, error))?;
        }
    }
    begin(assembly, disks, intent, journal, 0)
}

/// Formats the head of a drive that joins an array: no superblock yet, the intent record as it is,
/// an empty journal. On stable storage when it is done.
///
/// # Errors
///
/// If the drive says no.
pub fn prepare(disk: &Disk, intent: &Intent, journal: &Journal) -> io::Result<()> {
    disk.write_now(0, &Buffer::zeroed(2 * BLOCK_BYTES))?;
    for write in intent.all_blocks() {
        write_head(disk, write.offset_bytes, &write.bytes[..])?;
    }
    for write in journal.headers() {
        write_head(disk, write.offset_bytes, &write.bytes)?;
    }
    disk.sync_now()
}

/// Makes a drive ready to take the place of `drive` in a running array: makes a file, or takes a blank
/// device, or what was this drive before and failed, which is emptied. What stood in the place must
/// be closed before ([`crate::storage::Storage::remove`]), because it has the lock. Its superblock is
/// written when the array records that the drive is being rebuilt.
///
/// # Errors
///
/// If anything else is on it, or for another reason of [`OpenError`].
pub fn join(
    place: &Place,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<Disk, OpenError> {
    let number = drive.index();
    let place_error = |error| OpenError::Place { drive: number, error };
    let bytes = superblock.geometry.drive_bytes;
    let exists = place.path().is_some_and(std::path::Path::exists);
    let mut disk = if exists { Disk::open_head(place) } else { Disk::create(place, bytes) }
        .map_err(place_error)?;
    if exists {
        match read_superblock(&disk) {
            Ok(old) if old.uuid == superblock.uuid && old.member == drive => {}
            _ => check_blank(number, &disk)?,
        }
        disk.empty(bytes).map_err(place_error)?;
    }
    prepare(&disk, intent, journal).map_err(|error| io_error(number, &disk, error))?;
    if let Some(path) = place.path() {
        sync_folder(path).map_err(|error| io_error(number, &disk, error))?;
    }
    Ok(disk)
}

/// Refuses a drive that anything is on: its head must be zeros.
///
/// # Errors
///
/// What was found on it.
pub fn check_blank(drive: usize, disk: &Disk) -> Result<(), OpenError> {
    let refuse = |found: String| {
        let place = disk.place().to_string();
        Err(OpenError::NotBlank { drive, place, found })
    };
    match read_superblock(disk) {
        Err(SuperblockError::Blank) => {}
        Ok(superblock) => return refuse(format!("it is a drive of array {}", superblock.uuid)),
        Err(error) => return refuse(error.to_string()),
    }
    let head = disk
        .read_now(0, INTENT_OFFSET_BYTES as usize)
        .map_err(|error| io_error(drive, disk, error))?;
    if head.bytes().iter().any(|&byte| byte != 0) {
        return refuse(SuperblockError::Foreign.to_string());
    }
    Ok(())
}

/// Opens the array on `places`, in whatever order its drives are. `asked` is what the configuration
/// says of it, if it says anything. When this returns, the journal was replayed and the superblocks
/// say that the array runs.
///
/// # Errors
///
/// For any reason of [`OpenError`]; nothing has been written unless the drives were found to be
/// one array and enough of it.
pub fn open(
    places: &[Place],
    asked: Option<&Geometry>,
    quiet_for: Duration,
) -> Result<OpenArray, OpenError> {
    let mut opened = Vec::new();
    let mut found = Vec::new();
    for (drive, place) in places.iter().enumerate() {
        match Disk::open_head(place) {
            Ok(disk) => {
                found.push(Found::Drive(read_superblock(&disk)));
                opened.push(Some(disk));
            }
            Err(PlaceError::Missing { .. }) => {
                found.push(Found::Missing);
                opened.push(None);
            }
            Err(error) => return Err(OpenError::Place { drive, error }),
        }
    }
    let assembly = assemble(&found, asked)?;
    let mut disks = Vec::new();
    for place in &assembly.order {
        disks.push(place.and_then(|place| opened[place].take()));
    }
    for (drive, disk) in disks.iter_mut().enumerate() {
        if let Some(disk) = disk {
            disk.set_bytes(assembly.geometry.drive_bytes)
                .map_err(|error| OpenError::Place { drive, error })?;
        }
    }
    let taking_part = taking_part(&assembly, &disks);
    let (journal, replayed) = recover_journal(&assembly, &disks, taking_part)?;
    let intent = recover_intent(&assembly, &disks, taking_part, quiet_for)?;
    begin(assembly, disks, intent, journal, replayed)
}

/// The drives that hold data, as bits.
fn taking_part(assembly: &Assembly, disks: &[Option<Disk>]) -> u64 {
    let present = disks.iter().enumerate().filter(|(_, disk)| disk.is_some());
    present.fold(0, |bits, (drive, _)| bits | 1 << drive) & !assembly.absent
}

fn recover_journal(
    assembly: &Assembly,
    disks: &[Option<Disk>],
    taking_part: u64,
) -> Result<(Journal, usize), OpenError> {
    let mut journals = Vec::new();
    for (drive, disk) in members(disks, taking_part) {
        let image =
            read_journal(assembly.uuid, disk).map_err(|error| io_error(drive, disk, error))?;
        journals.push((DriveId(drive as u8), image));
    }
    let bytes = journals.iter().map(|(drive, image)| (*drive, &image[..]));
    let mut replay = Journal::replay(assembly.uuid, bytes);
    let needed =
        !assembly.clean && !Journal::holders(&assembly.geometry, assembly.absent).is_empty();
    if needed && replay.unsound & taking_part == taking_part {
        return Err(OpenError::NoJournal);
    }
    let drive_bytes = assembly.geometry.drive_bytes;
    for part in replay.records.iter().flat_map(|record: &Record| &record.parts) {
        let length_bytes = part.bytes.len();
        let end = part.offset_bytes.checked_add(length_bytes as u64);
        if part.drive.index() >= disks.len() || end.is_none_or(|end| end > drive_bytes) {
            let (drive, offset_bytes) = (part.drive.0, part.offset_bytes);
            return Err(OpenError::Record { drive, offset_bytes, length_bytes });
        }
    }
    let mut disks_of = vec![None; disks.len()];
    members(disks, taking_part).for_each(|(drive, disk)| disks_of[drive] = Some(disk));
    for part in replay.records.iter().flat_map(|record| &record.parts) {
        let Some(disk) = disks_of[part.drive.index()] else { continue };
        write_head(disk, DATA_OFFSET_BYTES + part.offset_bytes, &part.bytes)
            .map_err(|error| io_error(part.drive.index(), disk, error))?;
    }
    for (drive, disk) in members(disks, taking_part) {
        disk.sync_now().map_err(|error| io_error(drive, disk, error))?;
    }
    // It cannot be busy: nothing was appended to it.
    let header = replay.journal.clear().ok();
    for (drive, disk) in members(disks, taking_part) {
        // A drive without any sound header gets both.
        let unsound = replay.unsound >> drive & 1 == 1;
        let both = unsound.then(|| replay.journal.headers());
        let writes = header.iter().chain(both.iter().flatten());
        write_all(disk, writes).map_err(|error| io_error(drive, disk, error))?;
    }
    Ok((replay.journal, replay.records.len()))
}

fn recover_intent(
    assembly: &Assembly,
    disks: &[Option<Disk>],
    taking_part: u64,
    quiet_for: Duration,
) -> Result<Intent, OpenError> {
    let drive_bytes = assembly.geometry.drive_bytes;
    let mut intent = Intent::new(assembly.uuid, drive_bytes, assembly.region_bytes, quiet_for);
    if assembly.clean {
        // What is still marked was only not taken back yet; it is, with the first block written.
        intent.rewrite();
        return Ok(intent);
    }
    for (drive, disk) in members(disks, taking_part) {
        let read = disk.read_now(INTENT_OFFSET_BYTES, intent.record_bytes());
        let buffer = read.map_err(|error| io_error(drive, disk, error))?;
        intent.recover(buffer.bytes());
    }
    Ok(intent)
}

/// Says on all drives that the array runs.
fn begin(
    assembly: Assembly,
    disks: Vec<Option<Disk>>,
    intent: Intent,
    journal: Journal,
    replayed: usize,
) -> Result<OpenArray, OpenError> {
    let mut superblock = Superblock {
        uuid: assembly.uuid,
        member: DriveId(0),
        geometry: assembly.geometry,
        region_bytes: assembly.region_bytes,
        generation: assembly.generation + 1,
        states: assembly.states.clone(),
        clean: false,
        created_seconds: assembly.created_seconds,
    };
    for (drive, disk) in disks.iter().enumerate() {
        let takes_part = superblock.states[drive] != MemberState::Failed;
        if let Some(disk) = disk.as_ref().filter(|_| takes_part) {
            superblock.member = DriveId(drive as u8);
            write_superblock(&superblock, &disk.head())
                .map_err(|error| io_error(drive, disk, error))?;
        }
    }
    let records = Records { superblock, intent, journal };
    Ok(OpenArray { assembly, disks, records, replayed })
}

fn members(disks: &[Option<Disk>], bits: u64) -> impl Iterator<Item = (usize, &Disk)> {
    let present = disks.iter().enumerate();
    present.filter_map(move |(drive, disk)| {
        Some((drive, disk.as_ref().filter(|_| bits >> drive & 1 == 1)?))
    })
}

fn write_all<'a>(disk: &Disk, writes: impl Iterator<Item = &'a HeadWrite>) -> io::Result<()> {
    for write in writes {
        write_head(disk, write.offset_bytes, &write.bytes)?;
    }
    disk.sync_now()
}

/// Writes bytes, filled up to whole pages with zeros, at an offset of the file.
fn write_head(disk: &Disk, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
    let mut buffer = Buffer::zeroed(bytes.len());
    buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    disk.write_now(offset_bytes, &buffer)
}

/// Reads the journal of a drive as far as records reach.
fn read_journal(uuid: Uuid, disk: &Disk) -> io::Result<Vec<u8>> {
    Journal::read(uuid, |offset_bytes, into| {
        into.copy_from_slice(disk.read_now(offset_bytes, into.len())?.bytes());
        Ok(())
    })
}

fn check_geometry(geometry: &Geometry, places: usize) -> Result<(), OpenError> {
    if let Err(SuperblockError::Field { field, value }) = geometry.check() {
        return Err(OpenError::Geometry { field, value });
    }
    let (chunk_bytes, stripe_width) = (geometry.chunk_bytes, geometry.stripe_width);
    let has_journal = !Journal::holders(geometry, 1).is_empty();
    let most_bytes = ((RECORD_BYTES_MAX - BLOCK_BYTES) / usize::from(stripe_width)) as u64;
    if has_journal && chunk_bytes > most_bytes {
        return Err(OpenError::Chunk { chunk_bytes, stripe_width, most_bytes });
    }
    let drives = usize::from(geometry.width);
    if drives == places { Ok(()) } else { Err(OpenError::Places { drives, places }) }
}

fn io_error(drive: usize, disk: &Disk, error: io::Error) -> OpenError {
    OpenError::Io { drive, place: disk.place().to_string(), error }
}
