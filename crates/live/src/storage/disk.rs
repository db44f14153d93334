//! A drive whose bytes are in a file or on a block device.

use super::allocated::Allocated;
use super::claim::{Claim, ClaimError, claim};
use super::holder::Holder;
use super::location::DriveLocation;
use crate::buffer::{Buffer, PAGE_BYTES};
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Most bytes of zeros of a file that are searched for data.
const ZEROS_BYTES_MAX: u64 = 256 << 20;
/// Bytes of them that are read at once.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Where the bytes of the drive begin in its file: what lies before is for the array's own records
/// ([`crate::durable`]).
pub const DATA_OFFSET_BYTES: u64 = 32 << 20;

/// Permissions of files that are made: what is on a drive is for its owner alone.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Why a file or block device cannot be used as a drive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskError {
    /// A drive in memory has no file.
    #[error("a drive in memory has no file to open")]
    Memory,
    /// It does not exist.
    #[error("{} does not exist; connect or mount it, or correct the path", .path.display())]
    Missing {
        /// The file or device.
        path: PathBuf,
    },
    /// It exists, and was to be created.
    #[error("{} exists already; choose another path, or remove it if nothing on it is needed", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A process, a mount or another device has it.
    #[error("{} is in use {holder}", .path.display())]
    InUse {
        /// The file or device.
        path: PathBuf,
        /// Its holder.
        holder: Holder,
    },
    /// The file system cannot do direct I/O.
    #[error("{} cannot be opened for direct I/O: its file system does not offer it; use it through the page cache", .path.display())]
    NotDirect {
        /// The file.
        path: PathBuf,
    },
    /// It is neither a file nor a block device.
    #[error("{} is neither a file nor a block device", .path.display())]
    NotStorage {
        /// The path.
        path: PathBuf,
    },
    /// It has not enough bytes.
    #[error("{} has {has_bytes} bytes, and the drive needs {needs_bytes}", .path.display())]
    TooSmall {
        /// The file or device.
        path: PathBuf,
        /// Its size.
        has_bytes: u64,
        /// The smallest that would do.
        needs_bytes: u64,
    },
    /// The size of the drive is impossible.
    #[error(
        "a drive of {bytes} bytes is impossible: choose a multiple of 4096 between 4096 and {} bytes",
        MOST_BYTES
    )]
    Size {
        /// The size asked for.
        bytes: u64,
    },
    /// The system refuses.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file or device.
        path: PathBuf,
        /// Its error.
        error: io::Error,
    },
}

/// Largest drive: 2^62 bytes, so that no sum of an offset and a length overflows.
const MOST_BYTES: u64 = 1 << 62;

/// A file or block device that is open and locked for a drive.
#[derive(Debug)]
pub struct Disk {
    pub(super) file: Arc<File>,
    /// The same file, past the page cache if it can be: writes into the head that must be stable do
    /// not wait for others of the page cache, which the kernel does one after the other.
    pub(super) head_file: Arc<File>,
    /// The file of a loop device, locked.
    _backing: Option<File>,
    location: DriveLocation,
    path: PathBuf,
    /// Size of the drive: without the reserved head.
    bytes: u64,
    allocated: Allocated,
}

impl Disk {
    /// Makes a new file of the right size for a drive of `bytes` and locks it. A block device is
    /// used as it is: look for something on it first.
    ///
    /// # Errors
    ///
    /// If a file is there already, or for any reason of [`DiskError`].
    pub fn create(location: &DriveLocation, bytes: u64) -> Result<Self, DiskError> {
        let path = location.path().ok_or(DiskError::Memory)?;
        check_size(bytes)?;
        if is_device(path) {
            return Self::open(location, bytes);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(FILE_MODE);
        let made = options.open(path);
        let file = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => DiskError::Exists { path: path.into() },
            _ => DiskError::Io { path: path.into(), error },
        })?;
        let sized = file.set_len(DATA_OFFSET_BYTES + bytes).and_then(|()| file.sync_all());
        let opened = sized
            .map_err(|error| DiskError::Io { path: path.into(), error })
            .and_then(|()| Self::open(location, bytes));
        if opened.is_err() {
            // What was just made is of no use, and the error says why.
            let _ = std::fs::remove_file(path);
        }
        opened
    }

    /// Opens and locks what is there for a drive of `bytes`.
    ///
    /// # Errors
    ///
    /// For any reason of [`DiskError`].
    pub fn open(location: &DriveLocation, bytes: u64) -> Result<Self, DiskError> {
        check_size(bytes)?;
        let mut disk = Self::open_head(location)?;
        disk.set_bytes(bytes)?;
        Ok(disk)
    }

    /// Opens and locks what is there before it is known how large the drive is: its reserved head
    /// can be read, the drive has no bytes yet.
    ///
    /// # Errors
    ///
    /// For any reason of [`DiskError`].
    pub fn open_head(location: &DriveLocation) -> Result<Self, DiskError> {
        let path = location.path().ok_or(DiskError::Memory)?;
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => DiskError::Missing { path: path.into() },
            _ => DiskError::Io { path: path.into(), error },
        };
        let kind = std::fs::metadata(path).map_err(io)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(DiskError::NotStorage { path: path.into() });
        }
        let flags = match location {
            DriveLocation::Direct(_) => OFlags::DIRECT,
            _ => OFlags::empty(),
        };
        let claimed = claim(path, flags).map_err(|error| match error {
            ClaimError::InUse(holder) => DiskError::InUse { path: path.into(), holder },
            ClaimError::Io(error) => {
                let invalid = error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
                if !flags.is_empty() && invalid {
                    DiskError::NotDirect { path: path.into() }
                } else {
                    io(error)
                }
            }
        })?;
        let Claim { file, backing } = claimed;
        let file = Arc::new(file);
        let head_file = reopen_direct(&file).map_or_else(|_| Arc::clone(&file), Arc::new);
        Ok(Self {
            file,
            head_file,
            _backing: backing,
            location: location.clone(),
            path: path.into(),
            bytes: 0,
            allocated: Allocated::nothing(0),
        })
    }

    /// Sets the size of the drive, and finds out which pages of it hold data.
    ///
    /// # Errors
    ///
    /// If there is less room, or the system refuses.
    pub fn set_bytes(&mut self, bytes: u64) -> Result<(), DiskError> {
        check_size(bytes)?;
        let io = |error| DiskError::Io { path: self.path.clone(), error };
        let has_bytes = self.end_bytes().map_err(io)?;
        let needs_bytes = DATA_OFFSET_BYTES + bytes;
        if has_bytes < needs_bytes {
            return Err(DiskError::TooSmall { path: self.path.clone(), has_bytes, needs_bytes });
        }
        self.allocated = if is_device(&self.path) {
            Allocated::everything(bytes)
        } else {
            scan(&self.file, bytes).map_err(|error| io(error.into()))?
        };
        self.bytes = bytes;
        Ok(())
    }

    /// Truncates a file, with its reserved head, and makes it a drive of `bytes`. A block device
    /// keeps its bytes, and all of them count as data.
    ///
    /// # Errors
    ///
    /// If a device is smaller, or the system refuses.
    pub fn empty(&mut self, bytes: u64) -> Result<(), DiskError> {
        check_size(bytes)?;
        if !is_device(&self.path) {
            let cut =
                self.file.set_len(0).and_then(|()| self.file.set_len(DATA_OFFSET_BYTES + bytes));
            cut.map_err(|error| DiskError::Io { path: self.path.clone(), error })?;
        }
        self.set_bytes(bytes)
    }

    /// Makes a drive of `bytes` of a file with at least that size: it grows if it has to, and keeps
    /// all that it holds.
    ///
    /// # Errors
    ///
    /// If a device is smaller, or the system refuses.
    pub fn extend(&mut self, bytes: u64) -> Result<(), DiskError> {
        check_size(bytes)?;
        if !is_device(&self.path) {
            let needs_bytes = DATA_OFFSET_BYTES + bytes;
            let has_bytes = self.end_bytes();
            let grown = has_bytes.and_then(|has_bytes| match has_bytes < needs_bytes {
                true => self.file.set_len(needs_bytes),
                false => Ok(()),
            });
            grown.map_err(|error| DiskError::Io { path: self.path.clone(), error })?;
        }
        self.set_bytes(bytes)
    }

    /// Size of the drive, without the reserved head.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a file holds nothing but zeros. `false` of a device, which is not searched.
    #[must_use]
    pub fn is_hole(&self) -> bool {
        !is_device(&self.path) && self.first_data_bytes().is_none()
    }

    /// Offset in a file behind which it may hold other bytes than zeros, to a page, counted from
    /// its start. `None` of a file of zeros, and of a device.
    ///
    /// Zeros are searched up to 256 MiB: a write that was cut short leaves a page of them.
    #[must_use]
    pub fn first_data_bytes(&self) -> Option<u64> {
        if is_device(&self.path) {
            return None;
        }
        let mut at = 0;
        let mut left = ZEROS_BYTES_MAX;
        loop {
            at = match seek(&*self.file, SeekFrom::Data(at)) {
                Ok(data) => data / PAGE_BYTES as u64 * PAGE_BYTES as u64,
                Err(Errno::NXIO) => return None,
                // A file system that cannot tell holes has data everywhere.
                Err(_) => at,
            };
            let end = self.end_bytes().ok()?;
            let length = SEARCHED_BYTES.min(end.checked_sub(at).filter(|left| *left > 0)?);
            let pages = length.next_multiple_of(PAGE_BYTES as u64) as usize;
            let Some(rest) = left.checked_sub(length) else { return Some(at) };
            let Ok(buffer) = self.read_to_end_now(at, pages) else { return Some(at) };
            let is_zero = |page: &[u8]| page.iter().fold(0, |all, &byte| all | byte) == 0;
            let bytes = &buffer.bytes()[..pages];
            if let Some(page) = bytes.chunks(PAGE_BYTES).position(|page| !is_zero(page)) {
                return Some(at + (page * PAGE_BYTES) as u64);
            }
            (at, left) = (at + pages as u64, rest);
        }
    }

    /// Size of the file or device, with the reserved head.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn end_bytes(&self) -> io::Result<u64> {
        Ok(seek(&*self.file, SeekFrom::End(0))?)
    }

    /// Bytes that the file or device has for the drive, without the reserved head.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn room_bytes(&self) -> Result<u64, DiskError> {
        let io = |error| DiskError::Io { path: self.path.clone(), error };
        Ok(self.end_bytes().map_err(io)?.saturating_sub(DATA_OFFSET_BYTES))
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &DriveLocation {
        &self.location
    }

    /// Which of its pages may hold data: of a device, all.
    #[must_use]
    pub fn allocated(&self) -> &Allocated {
        &self.allocated
    }

    pub(super) fn allocated_mut(&mut self) -> &mut Allocated {
        &mut self.allocated
    }

    /// Reads whole pages of the file (counted from its start, with the reserved head) and waits.
    ///
    /// # Errors
    ///
    /// If the system refuses, or the file ends before.
    pub fn read_now(&self, offset_bytes: u64, length_bytes: usize) -> io::Result<Buffer> {
        debug_assert!(offset_bytes.is_multiple_of(PAGE_BYTES as u64));
        let mut buffer = Buffer::zeroed(length_bytes);
        self.file.read_exact_at(buffer.bytes_mut(), offset_bytes)?;
        Ok(buffer)
    }

    /// As [`Disk::read_now`], but if the file ends within the last page the rest of that is zeros.
    ///
    /// # Errors
    ///
    /// If the system refuses, or the file ends before.
    pub fn read_to_end_now(&self, offset_bytes: u64, length_bytes: usize) -> io::Result<Buffer> {
        let end = self.end_bytes()?;
        let short = (offset_bytes + length_bytes as u64).saturating_sub(end) as usize;
        if short == 0 || short >= PAGE_BYTES.min(length_bytes) {
            return self.read_now(offset_bytes, length_bytes);
        }
        let mut buffer = Buffer::zeroed(length_bytes);
        // Past the page cache the system wants whole pages asked for, and gives what there is.
        let mut filled = 0;
        while filled < length_bytes - short {
            let into = &mut buffer.bytes_mut()[filled..length_bytes];
            match self.file.read_at(into, offset_bytes + filled as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(buffer)
    }

    /// Writes whole pages of the file (counted from its start, with the reserved head) and waits;
    /// they are on stable storage after [`Disk::sync_now`].
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn write_now(&self, offset_bytes: u64, buffer: &Buffer) -> io::Result<()> {
        debug_assert!(offset_bytes.is_multiple_of(PAGE_BYTES as u64));
        self.file.write_all_at(buffer.bytes(), offset_bytes)
    }

    /// Waits until everything written is on stable storage.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn sync_now(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Another handle of the same open file, and of its lock, for records in the reserved head.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { file: Arc::clone(&self.file) }
    }
}

impl engine::durability::Disk for Disk {
    type Error = io::Error;

    fn size_bytes(&mut self) -> io::Result<u64> {
        self.end_bytes()
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let buffer = self.read_to_end_now(offset_bytes, into.len())?;
        into.copy_from_slice(&buffer.bytes()[..into.len()]);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_now(offset_bytes, &Buffer::copy_of(bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_now()
    }
}

/// The reserved head of a drive that its storage owns.
#[derive(Clone, Debug)]
pub struct Head {
    file: Arc<File>,
}

impl Head {
    /// Writes whole pages of the head and waits until they are on stable storage.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn write_stable(&self, offset_bytes: u64, buffer: &Buffer) -> io::Result<()> {
        debug_assert!(offset_bytes + buffer.len() as u64 <= DATA_OFFSET_BYTES);
        self.file.write_all_at(buffer.bytes(), offset_bytes)?;
        self.file.sync_data()
    }
}

/// The same file once more, past the page cache.
fn reopen_direct(file: &File) -> io::Result<File> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

fn check_size(bytes: u64) -> Result<(), DiskError> {
    let possible = (1..=MOST_BYTES).contains(&bytes) && bytes.is_multiple_of(PAGE_BYTES as u64);
    if possible { Ok(()) } else { Err(DiskError::Size { bytes }) }
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// Finds out where a file has data; a file system that cannot tell says "everywhere".
fn scan(file: &File, bytes: u64) -> Result<Allocated, Errno> {
    let mut found = Allocated::nothing(bytes);
    let end = DATA_OFFSET_BYTES + bytes;
    let mut at = DATA_OFFSET_BYTES;
    while at < end {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Allocated::everything(bytes)),
            Err(error) => return Err(error),
        };
        if data >= end {
            break;
        }
        let hole = seek(file, SeekFrom::Hole(data))?.min(end);
        found.set(data - DATA_OFFSET_BYTES, hole - data);
        at = hole;
    }
    Ok(found)
}
