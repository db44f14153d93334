//! A drive whose bytes outlive the process, wherever they are, before it belongs to a storage.

use super::disk::{Disk, DiskError};
use super::location::DriveLocation;
use super::remote::{RemoteDrive, RemoteError};
use super::{Backing, DATA_OFFSET_BYTES};
use crate::buffer::Buffer;
use std::io;

/// Why a place cannot be used for a drive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// A file or device.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A drive on the network.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl PlaceError {
    /// Whether nothing is there, as far as one can tell.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Disk(error) => matches!(error, DiskError::Missing { .. }),
            Self::Remote(error) => error.may_pass(),
        }
    }

    /// Whether something else has it.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Disk(DiskError::InUse { .. }))
    }
}

/// A drive that is open.
#[derive(Debug)]
pub enum StoredDrive {
    /// In a file or on a block device.
    Disk(Disk),
    /// On the network.
    Remote(Box<RemoteDrive>),
}

impl StoredDrive {
    /// Makes what is needed for a drive of `bytes`; what is there already must be looked at first.
    ///
    /// # Errors
    ///
    /// For any reason of [`PlaceError`].
    pub fn create(location: &DriveLocation, bytes: u64) -> Result<Self, PlaceError> {
        match location {
            DriveLocation::Remote(_) => {
                let mut drive = Self::open_head(location)?;
                drive.set_bytes(bytes)?;
                Ok(drive)
            }
            _ => Ok(Self::Disk(Disk::create(location, bytes)?)),
        }
    }

    /// Opens what is there before it is known how large the drive is: its reserved head can be
    /// read, the drive has no bytes yet.
    ///
    /// # Errors
    ///
    /// For any reason of [`PlaceError`].
    pub fn open_head(location: &DriveLocation) -> Result<Self, PlaceError> {
        match location {
            DriveLocation::Remote(remote) => {
                let drive = RemoteDrive::open(&remote.address, &remote.options)?;
                Ok(Self::Remote(Box::new(drive)))
            }
            _ => Ok(Self::Disk(Disk::open_head(location)?)),
        }
    }

    /// Sets the size of the drive.
    ///
    /// # Errors
    ///
    /// If there is less room, or the system refuses.
    pub fn set_bytes(&mut self, bytes: u64) -> Result<(), PlaceError> {
        match self {
            Self::Disk(disk) => disk.set_bytes(bytes)?,
            Self::Remote(drive) => drive.set_bytes(bytes)?,
        }
        Ok(())
    }

    /// As [`Disk::empty`]: what is on the network keeps its bytes, as a block device does.
    ///
    /// # Errors
    ///
    /// If there is less room, or the system refuses.
    pub fn empty(&mut self, bytes: u64) -> Result<(), PlaceError> {
        match self {
            Self::Disk(disk) => disk.empty(bytes)?,
            Self::Remote(drive) => drive.set_bytes(bytes)?,
        }
        Ok(())
    }

    /// As [`Disk::extend`].
    ///
    /// # Errors
    ///
    /// If there is less room, or the system refuses.
    pub fn extend(&mut self, bytes: u64) -> Result<(), PlaceError> {
        match self {
            Self::Disk(disk) => disk.extend(bytes)?,
            Self::Remote(drive) => drive.set_bytes(bytes)?,
        }
        Ok(())
    }

    /// As [`Disk::is_hole`]; `false` of a drive on the network.
    #[must_use]
    pub fn is_hole(&self) -> bool {
        matches!(self, Self::Disk(disk) if disk.is_hole())
    }

    /// As [`Disk::first_data_bytes`].
    #[must_use]
    pub fn first_data_bytes(&self) -> Option<u64> {
        match self {
            Self::Disk(disk) => disk.first_data_bytes(),
            Self::Remote(_) => None,
        }
    }

    /// Bytes that there are for the drive, without the reserved head.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn room_bytes(&self) -> Result<u64, PlaceError> {
        match self {
            Self::Disk(disk) => Ok(disk.room_bytes()?),
            Self::Remote(drive) => Ok(drive.facts().bytes().saturating_sub(DATA_OFFSET_BYTES)),
        }
    }

    /// Keeps a drive on the network alive, and its claim, while no command is sent to it. The next
    /// command reports an error that is met here.
    pub fn tend(&mut self) {
        if let Self::Remote(drive) = self {
            let _ = drive.collect().and_then(|()| drive.kick());
        }
    }

    /// Where it is, for people.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Disk(disk) => disk.place().to_string(),
            Self::Remote(drive) => drive.address().to_string(),
        }
    }
}

impl From<StoredDrive> for Backing {
    fn from(drive: StoredDrive) -> Self {
        match drive {
            StoredDrive::Disk(disk) => Self::Disk(disk),
            StoredDrive::Remote(remote) => Self::Remote(remote),
        }
    }
}

impl engine::durability::Disk for StoredDrive {
    type Error = io::Error;

    fn size_bytes(&mut self) -> io::Result<u64> {
        match self {
            Self::Disk(disk) => disk.size_bytes(),
            Self::Remote(drive) => Ok(drive.facts().bytes()),
        }
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Disk(disk) => disk.read(offset_bytes, into),
            Self::Remote(drive) => {
                let buffer = drive.read_now(offset_bytes, into.len())?;
                into.copy_from_slice(&buffer.bytes()[..into.len()]);
                Ok(())
            }
        }
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Disk(disk) => disk.write(offset_bytes, bytes),
            Self::Remote(drive) => drive.write_now(offset_bytes, &Buffer::copy_of(bytes)),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::Disk(disk) => disk.sync(),
            Self::Remote(drive) => drive.sync_now(),
        }
    }
}
