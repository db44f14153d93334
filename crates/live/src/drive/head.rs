//! The head of a drive in a file or on a block device: what makes it a drive of its own, and its
//! name for ever.
//!
//! It is the first block of what lies before the data ([`DATA_OFFSET_BYTES`]); a drive of an array
//! has a superblock there, which looks different.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0drv` |
//! | 8..12 | CRC-32 of all other bytes of the block |
//! | 12..16 | version, 1 |
//! | 16..32 | UUID |
//! | 32..40 | bytes of the drive |
//!
//! The two blocks behind it are for [reservations](super::reservations).

use super::reservations::{KeptReservations, PLACES};
use crate::buffer::{Buffer, PAGE_BYTES};
use crate::durable::format::wipe_command;
use crate::durable::{self, Uuid, ftl, random_uuid};
use crate::storage::{
    Backing, DATA_OFFSET_BYTES, Disk, DiskError, DriveLocation, IoMethod, Memory, Storage,
};
use ::engine::durability::block::{array, get_u32, get_u64, is_sealed, put, seal};
use ::engine::durability::{Contents, SuperblockError, recognise, recognise_in_head};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use units::DriveId;

const MAGIC: [u8; 8] = *b"ioda\0drv";
const VERSION: u32 = 1;
const SUM_AT: usize = 8;
/// Ends are not numbered: the state beside the drive is removed when it is taken.
const GENERATION: u64 = 0;

/// What a drive says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveHead {
    /// Its name.
    pub uuid: Uuid,
    /// Its size.
    pub bytes: u64,
}

/// Why there is no drive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or device cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The system refuses.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or device.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is something else.
    #[error("{} is not a drive of `ioda drive`; say --create to make it one: what is on it is lost", .path.display())]
    Foreign {
        /// The file or device.
        path: PathBuf,
    },
    /// It holds what another program made, which `--create` does not overwrite.
    #[error(
        "{} is not blank: {found}; --create does not overwrite it, but `{wipe}` makes it blank, if nothing on it is needed",
        .path.display()
    )]
    NotBlank {
        /// The file or device.
        path: PathBuf,
        /// Its content.
        found: Contents,
        /// The command that wipes it.
        wipe: String,
    },
    /// It belongs to an array.
    #[error("{} is a drive of an array, which `ioda serve` serves; name another file", .path.display())]
    OfArray {
        /// The file or device.
        path: PathBuf,
    },
    /// It is damaged or of a later program.
    #[error("{}: the head of the drive {what}", .path.display())]
    Damaged {
        /// The file or device.
        path: PathBuf,
        /// In which way.
        what: &'static str,
    },
    /// It has another size than was asked for.
    #[error("{} is a drive of {bytes} bytes, and {asked_bytes} are asked for", .path.display())]
    Size {
        /// The file or device.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// What is asked for.
        asked_bytes: u64,
    },
    /// There is no room for it.
    #[error("cannot map {bytes} bytes for a drive in memory: {error}")]
    Memory {
        /// Its size.
        bytes: u64,
        /// What the system says.
        error: io::Error,
    },
    /// No random numbers, descriptors or threads.
    #[error("the system refuses what a drive needs: {0}")]
    System(io::Error),
}

/// A drive that is open.
#[derive(Debug)]
pub struct OpenedDrive {
    /// Its bytes.
    pub storage: Storage,
    /// Its name and size.
    pub head: DriveHead,
    /// Reservations that outlived its last process.
    pub reservations: KeptReservations,
    /// What its model was at the last clean end.
    pub state: Option<Vec<u8>>,
    /// What people should know.
    pub notes: Vec<String>,
}

/// Opens a drive of `bytes`, or makes it: in memory, in a file that is not there, and with `create`
/// of whatever is there but drives of arrays. Without `bytes` a drive that is there has the size
/// that it has, and a device all that there is room for.
///
/// # Errors
///
/// For any reason of [`OpenError`].
pub fn open(
    location: &DriveLocation,
    bytes: Option<u64>,
    default_bytes: u64,
    create: bool,
) -> Result<OpenedDrive, OpenError> {
    let mut storage = Storage::new(IoMethod::Best);
    let (mut state, mut notes) = (None, Vec::new());
    let mut reservations = KeptReservations::default();
    let (backing, head) = match location.path() {
        None => {
            let bytes = bytes.unwrap_or(default_bytes);
            let memory = Memory::new(bytes).map_err(|error| OpenError::Memory { bytes, error })?;
            (Backing::Memory(memory), DriveHead { uuid: new_uuid()?, bytes })
        }
        Some(path) => {
            let (disk, head, is_new) = match path.exists() {
                true => open_there(location, path, bytes, create)?,
                false => {
                    let mut disk = Disk::create(location, bytes.unwrap_or(default_bytes))?;
                    let head = write_head(&mut disk, path)?;
                    (disk, head, true)
                }
            };
            reservations = read_reservations(&disk, path)?;
            match ftl::take(path, &owner(&head)) {
                Ok(taken) => state = taken.filter(|_| !is_new),
                Err(error) => notes.push(error.to_string()),
            }
            (Backing::Disk(disk), head)
        }
    };
    storage.add(DriveId(0), backing).map_err(OpenError::System)?;
    Ok(OpenedDrive { storage, head, reservations, state, notes })
}

impl DriveHead {
    /// Keeps the state of a model beside a drive in a file, for the next start.
    ///
    /// # Errors
    ///
    /// If the system says no.
    pub fn save_state(&self, drive: &Path, state: &[u8]) -> Result<(), ftl::FtlError> {
        ftl::save(drive, &owner(self), state)
    }

    fn encode(&self) -> Buffer {
        let mut block = Buffer::zeroed(PAGE_BYTES);
        let bytes = block.bytes_mut();
        put(bytes, 0, &MAGIC);
        put(bytes, 12, &VERSION.to_le_bytes());
        put(bytes, 16, &self.uuid.0);
        put(bytes, 32, &self.bytes.to_le_bytes());
        seal(bytes, SUM_AT);
        block
    }

    /// None if the block is not the head of a drive at all.
    fn decode(block: &[u8]) -> Result<Option<Self>, &'static str> {
        if block[..8] != MAGIC {
            return Ok(None);
        }
        if !is_sealed(block, SUM_AT) {
            return Err("is damaged");
        }
        if get_u32(block, 12) != VERSION {
            return Err("is of a version that this program does not know");
        }
        Ok(Some(Self { uuid: Uuid(array(block, 16)), bytes: get_u64(block, 32) }))
    }
}

fn owner(head: &DriveHead) -> ftl::Owner {
    ftl::Owner { uuid: head.uuid, drive: DriveId(0), generation: GENERATION }
}

fn new_uuid() -> Result<Uuid, OpenError> {
    random_uuid().map_err(|error| OpenError::System(io::Error::other(error.to_string())))
}

fn open_there(
    location: &DriveLocation,
    path: &Path,
    bytes: Option<u64>,
    create: bool,
) -> Result<(Disk, DriveHead, bool), OpenError> {
    let io = |error| OpenError::Io { path: path.into(), error };
    let mut disk = Disk::open_head(location)?;
    let superblock = durable::read_superblock(&mut disk);
    if superblock.is_ok() {
        return Err(OpenError::OfArray { path: path.into() });
    }
    let room_bytes = disk.room_bytes()?;
    let has_head = disk.end_bytes().map_err(io)? >= PAGE_BYTES as u64;
    let block = if has_head {
        disk.read_now(0, PAGE_BYTES).map_err(io)?
    } else {
        Buffer::zeroed(PAGE_BYTES)
    };
    let found = DriveHead::decode(block.bytes());
    if create {
        // On a drive of its own, hosts may have put anything behind the head.
        let known = if matches!(found, Ok(None)) {
            recognise(&mut disk)
        } else {
            recognise_in_head(&mut disk)
        };
        use SuperblockError::{Checksum, Field, Version};
        let of_array = match superblock {
            Err(error @ (Checksum | Version { .. } | Field { .. })) => Some(Contents::Other(error)),
            _ => None,
        };
        if let Some(found) = known.map_err(io)?.map(Contents::Foreign).or(of_array) {
            let wipe = wipe_command(&path.to_string_lossy());
            return Err(OpenError::NotBlank { path: path.into(), found, wipe });
        }
        let room_bytes = room_bytes / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        disk.empty(bytes.unwrap_or(room_bytes))?;
        let head = write_head(&mut disk, path)?;
        return Ok((disk, head, true));
    }
    let found = found.map_err(|what| OpenError::Damaged { path: path.into(), what })?;
    let head = found.ok_or_else(|| OpenError::Foreign { path: path.into() })?;
    if let Some(asked_bytes) = bytes.filter(|bytes| *bytes != head.bytes) {
        return Err(OpenError::Size { path: path.into(), bytes: head.bytes, asked_bytes });
    }
    disk.set_bytes(head.bytes)?;
    Ok((disk, head, false))
}

fn read_reservations(disk: &Disk, path: &Path) -> Result<KeptReservations, OpenError> {
    let read = |at| disk.read_now(at, PAGE_BYTES);
    let blocks = PLACES.map(read);
    let [first, second] = blocks;
    let io = |error| OpenError::Io { path: path.into(), error };
    let (first, second) = (first.map_err(io)?, second.map_err(io)?);
    Ok(KeptReservations::of([first.bytes(), second.bytes()]))
}

/// Gives a drive a name.
fn write_head(disk: &mut Disk, path: &Path) -> Result<DriveHead, OpenError> {
    let io = |error| OpenError::Io { path: path.into(), error };
    let head = DriveHead { uuid: new_uuid()?, bytes: disk.bytes() };
    // Nothing of what was there is to be taken for a superblock.
    let blank = Buffer::zeroed(1 << 20);
    for piece in 0..DATA_OFFSET_BYTES >> 20 {
        disk.write_now(piece << 20, &blank).map_err(io)?;
    }
    disk.write_now(0, &head.encode()).map_err(io)?;
    disk.sync_now().map_err(io)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_in_a_file_keeps_its_name_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive");
        let location = DriveLocation::File(path.clone());
        let open = |bytes, create| super::open(&location, bytes, 1 << 20, create);
        let first = open(None, false).unwrap().head;
        assert_eq!(first.bytes, 1 << 20);
        assert_eq!(open(None, false).unwrap().head, first);
        assert_eq!(open(Some(1 << 20), false).unwrap().head, first);
        let said = open(Some(1 << 21), false).unwrap_err().to_string();
        assert!(said.ends_with("is a drive of 1048576 bytes, and 2097152 are asked for"), "{said}");
        first.save_state(&path, b"worn").unwrap();
        assert_eq!(open(None, false).unwrap().state.as_deref(), Some(&b"worn"[..]));
        assert_eq!(open(None, false).unwrap().state, None, "taken is taken");
        let again = open(Some(1 << 21), true).unwrap().head;
        assert!(again.uuid != first.uuid && again.bytes == 1 << 21);
    }

    #[test]
    fn what_is_something_else_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letter");
        std::fs::write(&path, "precious").unwrap();
        let location = DriveLocation::File(path.clone());
        let said = open(&location, None, 1 << 20, false).unwrap_err().to_string();
        assert!(said.contains("is not a drive of `ioda drive`; say --create"), "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(open(&location, Some(1 << 20), 0, true).unwrap().head.bytes, 1 << 20);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let said = open(&location, None, 0, false).unwrap_err().to_string();
        assert!(said.ends_with("the head of the drive is damaged"), "{said}");
    }

    /// Hosts may put a file system on a drive, which is theirs to lose.
    #[test]
    fn a_file_system_is_not_overwritten_by_a_creation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        let mut image = vec![0; 1 << 20];
        image[1080..1082].copy_from_slice(&[0x53, 0xef]);
        std::fs::write(&path, &image).unwrap();
        let location = DriveLocation::File(path.clone());
        let said = open(&location, Some(1 << 20), 0, true).unwrap_err().to_string();
        let named = said.contains("is not blank: ext2, ext3 or ext4 file system at byte 1080");
        let remedy = format!("`truncate --size 0 {}` makes it blank", path.display());
        assert!(named && said.contains(&remedy), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), image, "it stays as it is");
        std::fs::File::create(&path).unwrap();
        assert_eq!(open(&location, Some(1 << 20), 0, true).unwrap().head.bytes, 1 << 20);

        // What hosts wrote behind the head is not of another program.
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let end_bytes = file.metadata().unwrap().len();
        std::os::unix::fs::FileExt::write_all_at(&file, b"EFI PART", end_bytes - 512).unwrap();
        assert_eq!(open(&location, Some(1 << 20), 0, true).unwrap().head.bytes, 1 << 20);
    }

    #[test]
    fn drives_in_memory_differ_in_their_names() {
        let open = || open(&DriveLocation::Memory, None, 1 << 20, false).unwrap().head;
        let (first, second) = (open(), open());
        assert!(first.bytes == 1 << 20 && first.uuid != second.uuid);
    }
}
