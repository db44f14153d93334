//! Creating an array on places, opening it again, and a drive that joins: what
//! [`::engine::durability`] does with drives, on files and block devices that are opened and locked
//! here.

use super::ftl::sync_folder;
use super::tended::tended;
use super::{Assembly, Geometry, Intent, Journal, Refusal, Superblock, Uuid};
use crate::storage::{DATA_OFFSET_BYTES, DiskError, DriveLocation, PlaceError, StoredDrive};
use ::engine::durability::{
    self, Doubt, HEAD_BYTES, Opened, Opening, Vacancy, check_blank, check_join, check_new,
    check_return, is_unfinished, prepare, prepare_return,
};
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;
use units::{DriveId, Duration};

const _: () = assert!(DATA_OFFSET_BYTES == HEAD_BYTES, "data begin where the head ends");

/// How long a region is quiet before it is clean, unless another time is chosen.
pub const QUIET_FOR: Duration = Duration::from_secs(5);

/// An array that is open, on files and block devices that are locked.
pub type OpenArray = Opened<StoredDrive>;

/// Why an array was not created or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A place cannot be used.
    #[error("drive {drive}: {error}")]
    DriveLocation {
        /// Number of the place.
        drive: usize,
        /// Why.
        error: PlaceError,
    },
    /// Something is on a place that was to be formatted.
    #[error(
        "drive {drive} at {place} is not blank: {found}; it is not overwritten, but `{wipe}` makes it blank, if nothing on it is needed"
    )]
    NotBlank {
        /// Number of the place.
        drive: usize,
        /// Where it is.
        place: String,
        /// What is on it.
        found: durability::Contents,
        /// The command that wipes it.
        wipe: String,
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
    /// A drive on the network is another server's.
    #[error(transparent)]
    Claim(#[from] super::claim::ClaimError),
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(io::Error),
    /// Anything else, which is not about a place.
    #[error(transparent)]
    Array(durability::OpenError<io::Error>),
}

impl OpenError {
    /// Says where the drives are that an error is about.
    fn located(error: durability::OpenError<io::Error>, places: &[String]) -> Self {
        let place = |drive: usize| places.get(drive).cloned().unwrap_or_default();
        match error {
            durability::OpenError::NotBlank { drive, found } => {
                Self::not_blank(drive, place(drive), found)
            }
            durability::OpenError::Io { drive, error } => {
                Self::Io { drive, place: place(drive), error }
            }
            other => Self::Array(other),
        }
    }

    fn not_blank(drive: usize, place: String, found: durability::Contents) -> Self {
        let wipe = wipe_command(&place);
        Self::NotBlank { drive, place, found, wipe }
    }
}

/// Command that makes a file or device blank.
pub(crate) fn wipe_command(place: &str) -> String {
    // The names of a format are all that wipefs takes away, and the rest of it is data as well.
    match std::fs::metadata(place) {
        Ok(about) if about.is_file() => format!("truncate --size 0 {place}"),
        _ => format!("blkdiscard --zeroout {place}"),
    }
}

impl From<Refusal> for OpenError {
    fn from(refusal: Refusal) -> Self {
        Self::Array(refusal.into())
    }
}

/// Makes a new array on `places`, one for each drive in order: files are made; files that exist and
/// devices must be blank, but for what a creation left that was cut short. `quiet_for` is how long
/// a region of the intent record is quiet before it is clean.
///
/// # Errors
///
/// If a file or device is not blank, or for any other reason of [`OpenError`]; files that
/// were made are removed again.
pub fn create(
    places: &[DriveLocation],
    geometry: &Geometry,
    quiet_for: Duration,
) -> Result<OpenArray, OpenError> {
    check_new(geometry, places.len()).map_err(OpenError::Array)?;
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
    places: &[DriveLocation],
    geometry: &Geometry,
    quiet_for: Duration,
    made: &mut Vec<PathBuf>,
) -> Result<OpenArray, OpenError> {
    let uuid = random_uuid().map_err(OpenError::Random)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let created_seconds = now.map_or(0, |since| since.as_secs());
    let names: Vec<String> = places.iter().map(ToString::to_string).collect();
    let mut disks = Vec::new();
    // What is on any of them must be seen before the first is emptied.
    for (drive, place) in places.iter().enumerate() {
        if !place.exists() {
            continue;
        }
        let mut disk = StoredDrive::open_head(place)
            .map_err(|error| OpenError::DriveLocation { drive, error })?;
        vacancy(drive, &mut disk, |disk| check_blank(drive, disk))
            .map_err(|error| OpenError::located(error, &names))?;
    }
    for (drive, place) in places.iter().enumerate() {
        let exists = place.exists();
        let mut disk = match StoredDrive::create(place, geometry.stored_bytes()) {
            Err(PlaceError::Disk(DiskError::Exists { .. })) => StoredDrive::open_head(place),
            created => created,
        }
        .map_err(|error| OpenError::DriveLocation { drive, error })?;
        if !exists && let Some(path) = place.path() {
            made.push(path.into());
        }
        let vacancy = vacancy(drive, &mut disk, |disk| check_blank(drive, disk))
            .map_err(|error| OpenError::located(error, &names))?;
        make_room(&mut disk, vacancy, geometry.stored_bytes())
            .map_err(|error| OpenError::DriveLocation { drive, error })?;
        disks.push(disk);
    }
    for (drive, place) in places.iter().enumerate() {
        sync_folder_of(place).map_err(|error| OpenError::Io {
            drive,
            place: place.to_string(),
            error,
        })?;
    }
    let disks = disks.into_iter().map(Some).collect();
    let created = tended(disks, |disks| {
        let disks = disks.into_iter().flatten().collect();
        durability::create(disks, geometry, uuid, created_seconds, quiet_for)
    });
    created.map_err(|error| OpenError::located(error, &names))
}

/// Why a drive may be formatted: a file because it holds only zeros, or as `check` says.
fn vacancy(
    drive: usize,
    disk: &mut StoredDrive,
    check: impl FnOnce(&mut StoredDrive) -> Result<Vacancy, durability::OpenError<io::Error>>,
) -> Result<Vacancy, durability::OpenError<io::Error>> {
    if disk.is_hole() {
        return Ok(Vacancy::Blank);
    }
    let vacancy = check(disk)?;
    // Of a device not everything can be looked at; of a file it can.
    match (vacancy, disk.first_data_bytes()) {
        (Vacancy::Blank, Some(at_bytes)) => {
            let found = durability::Contents::Data { at_bytes };
            Err(durability::OpenError::NotBlank { drive, found })
        }
        _ => Ok(vacancy),
    }
}

/// Makes a drive of so many bytes of what may be formatted. A file is truncated only if all that is
/// in it is of an array and outdated.
fn make_room(disk: &mut StoredDrive, vacancy: Vacancy, bytes: u64) -> Result<(), PlaceError> {
    match vacancy {
        Vacancy::Blank => disk.extend(bytes),
        Vacancy::Unfinished | Vacancy::Outdated => disk.empty(bytes),
    }
}

/// Whether a file holds only zeros, or a creation or a joining was cut short there: a new array may
/// be made of it.
#[must_use]
pub fn is_remains(place: &DriveLocation) -> bool {
    StoredDrive::open_head(place).is_ok_and(|mut disk| disk.is_hole() || is_unfinished(&mut disk))
}

/// Makes a drive ready to take the place of `drive` in a running array: makes a file, or takes a
/// blank device, or what was this drive before and failed, which is emptied. What stood in the
/// place must be closed before ([`crate::storage::Storage::remove`]), because it has the lock. Its
/// superblock is written when the array records that the drive is being rebuilt.
///
/// # Errors
///
/// If anything else is on it, or for another reason of [`OpenError`].
pub fn join(
    place: &DriveLocation,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<StoredDrive, OpenError> {
    let number = drive.index();
    let place_error = |error| OpenError::DriveLocation { drive: number, error };
    let io_error = |error| OpenError::Io { drive: number, place: place.to_string(), error };
    let bytes = superblock.geometry.stored_bytes();
    let exists = place.exists();
    let mut disk =
        if exists { StoredDrive::open_head(place) } else { StoredDrive::create(place, bytes) }
            .map_err(place_error)?;
    if exists {
        let check = |disk: &mut StoredDrive| check_join(disk, drive, superblock);
        let vacancy = vacancy(number, &mut disk, check).map_err(|error| {
            let mut places = vec![String::new(); number];
            places.push(place.to_string());
            OpenError::located(error, &places)
        })?;
        make_room(&mut disk, vacancy, bytes).map_err(place_error)?;
    }
    prepare(&mut disk, drive, superblock, intent, journal).map_err(io_error)?;
    sync_folder_of(place).map_err(io_error)?;
    Ok(disk)
}

/// Makes a drive that failed and is connected again ready to take its place, if it holds what it
/// held then.
///
/// # Errors
///
/// Why it cannot, in one sentence.
pub fn take_back(
    mut disk: StoredDrive,
    drive: DriveId,
    superblock: &Superblock,
    intent: &Intent,
    journal: &Journal,
) -> Result<StoredDrive, String> {
    if !check_return(&mut disk, drive, superblock, intent) {
        return Err(format!(
            "it does not hold what it held when it failed; `ioda ctl replace {}` rebuilds it as a new drive",
            drive.0
        ));
    }
    disk.set_bytes(superblock.geometry.stored_bytes()).map_err(|error| error.to_string())?;
    prepare_return(&mut disk, drive, superblock, intent, journal)
        .map_err(|error| error.to_string())?;
    Ok(disk)
}

/// Opens the array on `places`, in whatever order its drives are: [`find`], then
/// [`FoundArray::start`].
///
/// # Errors
///
/// For any reason of [`OpenError`]; nothing has been written unless the drives were found to be
/// one array and enough of it.
pub fn open(
    places: &[DriveLocation],
    asked: Option<&Geometry>,
    quiet_for: Duration,
) -> Result<OpenArray, OpenError> {
    find(places, asked)?.start(quiet_for)
}

/// An array whose drives were found, opened and locked. Nothing has been written.
#[derive(Debug)]
pub struct FoundArray {
    opening: Opening<StoredDrive>,
    names: Vec<String>,
}

/// Finds the array on `places`, in whatever order its drives are. `asked` is what the configuration
/// says of it, if it says anything.
///
/// # Errors
///
/// For any reason of [`OpenError`].
pub fn find(places: &[DriveLocation], asked: Option<&Geometry>) -> Result<FoundArray, OpenError> {
    FoundArray::new(durability::find(disks_at(places)?, asked)?)
}

pub(super) fn disks_at(places: &[DriveLocation]) -> Result<Vec<Option<StoredDrive>>, OpenError> {
    let disk = |(drive, place): (usize, &DriveLocation)| match StoredDrive::open_head(place) {
        Ok(disk) => Ok(Some(disk)),
        Err(error) if error.is_missing() => {
            tracing::debug!(place = drive, "{error}");
            Ok(None)
        }
        Err(error) => Err(OpenError::DriveLocation { drive, error }),
    };
    places.iter().enumerate().map(disk).collect()
}

impl FoundArray {
    pub(super) fn new(mut opening: Opening<StoredDrive>) -> Result<Self, OpenError> {
        let stored_bytes = opening.assembly.geometry.stored_bytes();
        let mut names = Vec::new();
        for (drive, disk) in opening.disks.iter_mut().enumerate() {
            names.push(disk.as_ref().map_or_else(String::new, StoredDrive::name));
            if let Some(disk) = disk {
                disk.set_bytes(stored_bytes)
                    .map_err(|error| OpenError::DriveLocation { drive, error })?;
            }
        }
        Ok(Self { opening, names })
    }

    /// How it is put together.
    #[must_use]
    pub fn assembly(&self) -> &Assembly {
        &self.opening.assembly
    }

    /// Why it must not start without a word from its operator; `None` if it may. Writes nothing.
    ///
    /// # Errors
    ///
    /// If a drive cannot be read.
    pub fn doubt(&mut self, quiet_for: Duration) -> Result<Option<Doubt>, OpenError> {
        let doubt = self.opening.doubt(quiet_for);
        doubt.map_err(|error| OpenError::located(error, &self.names))
    }

    /// Starts it. When this returns, the journal was replayed and the superblocks say that the
    /// array runs, and that those drives have failed that do not take part.
    ///
    /// # Errors
    ///
    /// If a drive says no, or the journal cannot be replayed.
    pub fn start(self, quiet_for: Duration) -> Result<OpenArray, OpenError> {
        let Self { opening, names } = self;
        let Opening { assembly, disks } = opening;
        let started = tended(disks, |disks| Opening { assembly, disks }.start(quiet_for));
        started.map_err(|error| OpenError::located(error, &names))
    }
}

/// A name for a new array, from the system's random numbers.
///
/// # Errors
///
/// If the system gives none.
pub fn random_uuid() -> io::Result<Uuid> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(Uuid::from_random(bytes))
}

/// Brings the creation of a file to stable storage.
fn sync_folder_of(place: &DriveLocation) -> io::Result<()> {
    place.path().map_or(Ok(()), sync_folder)
}

#[cfg(test)]
mod tests {
    use super::random_uuid;

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test")]
    fn names_are_random() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        assert_eq!(&one.to_string()[14..15], "4");
    }
}
