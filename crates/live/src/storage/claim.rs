//! Exclusive use of a file or block device for as long as it is open.
//!
//! Block devices are opened with `O_EXCL`, which mounts, swap, md, device mapper and partitioning
//! tools respect. The inode of a file is locked (`flock`), so a hard link is no second file. A loop
//! device also locks its file, so one server on loop devices and one on their files exclude each
//! other.

use super::holder::{self, Holder};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for a holder that ends: the kernel finishes the commands of a killed process before
/// it unlocks.
const ENDING_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest wait for any other holder: a signal may be on its way to it.
const RUNNING_TIMEOUT: Duration = Duration::from_millis(100);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A file or block device in exclusive use.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) file: File,
    /// The locked file of a loop device.
    pub(super) backing: Option<File>,
}

/// Reason for a file or block device that cannot be claimed.
#[derive(Debug)]
pub(super) enum ClaimError {
    InUse(Holder),
    Io(io::Error),
}

impl From<io::Error> for ClaimError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a file or block device for reading and writing, with more `flags`, and claims it.
pub(super) fn claim(path: &Path, flags: OFlags) -> Result<Claim, ClaimError> {
    let file = open_and_lock(path, || {
        let device = std::fs::metadata(path)?.file_type().is_block_device();
        let flags = if device { flags | OFlags::EXCL } else { flags };
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)
    })?;
    let about = file.metadata()?;
    let backing = match holder::backing_file(&about) {
        Some(backing) => lock_backing(&backing)?,
        None => None,
    };
    match holder::user_of_loops(&about) {
        Some(holder) => Err(ClaimError::InUse(holder)),
        None => Ok(Claim { file, backing }),
    }
}

/// Locks the file of a loop device. A file that this process cannot reach cannot be locked.
fn lock_backing(backing: &Path) -> Result<Option<File>, ClaimError> {
    match open_and_lock(backing, || File::open(backing)) {
        Ok(file) => Ok(Some(file)),
        Err(ClaimError::InUse(holder)) => {
            let holder = Box::new(holder);
            Err(ClaimError::InUse(Holder::OfBacking { file: backing.into(), holder }))
        }
        Err(ClaimError::Io(error)) => {
            tracing::warn!(
                "the file {} of a loop device cannot be locked: {error}; serve it nowhere else",
                backing.display()
            );
            Ok(None)
        }
    }
}

fn open_and_lock(path: &Path, open: impl Fn() -> io::Result<File>) -> Result<File, ClaimError> {
    let began = Instant::now();
    let mut told = false;
    loop {
        let error = match open() {
            Ok(file) => match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(error) => error.into(),
            },
            Err(error) => error,
        };
        let busy = [Errno::BUSY, Errno::WOULDBLOCK].map(|busy| Some(busy.raw_os_error()));
        if !busy.contains(&error.raw_os_error()) {
            return Err(error.into());
        }
        let holder = Holder::of(&std::fs::metadata(path)?);
        let limit = if holder.may_end() { ENDING_TIMEOUT } else { RUNNING_TIMEOUT };
        if holder.is_kernel() || began.elapsed() >= limit {
            return Err(ClaimError::InUse(holder));
        }
        if !told && holder.may_end() && began.elapsed() >= RUNNING_TIMEOUT {
            told = true;
            tracing::warn!(
                "{} is in use {}; waiting up to {} s for its end",
                path.display(),
                holder.by(),
                ENDING_TIMEOUT.as_secs()
            );
        }
        std::thread::sleep(PAUSE);
    }
}

/// Identity of the bytes of a drive, whatever path leads to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Identity {
    /// A file, by file system and inode; a loop device counts as its file.
    File(u64, u64),
    /// A block device, by its number.
    Device(u64),
    /// A file that does not exist yet.
    Future(PathBuf),
}

impl Identity {
    /// Identity of the bytes at a path.
    pub(super) fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(about) => Self::of_existing(&about),
            Err(_) => {
                let folder = path.parent().filter(|folder| *folder != Path::new(""));
                let folder = folder.unwrap_or(Path::new(".")).canonicalize();
                let whole = folder.ok().zip(path.file_name());
                Self::Future(whole.map_or(path.into(), |(folder, name)| folder.join(name)))
            }
        }
    }

    fn of_existing(about: &Metadata) -> Self {
        if !about.file_type().is_block_device() {
            return Self::File(about.dev(), about.ino());
        }
        let backing = holder::backing_file(about).and_then(|file| std::fs::metadata(file).ok());
        match backing {
            Some(backing) => Self::File(backing.dev(), backing.ino()),
            None => Self::Device(about.rdev()),
        }
    }
}
