//! Where a drive keeps its bytes.

use super::claim::Identity;
use super::remote::{RemoteAddress, RemoteOptions};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a drive keeps its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveLocation {
    /// In memory: lost when the process ends.
    Memory,
    /// In a file, through the page cache.
    File(PathBuf),
    /// In a file or on a block device, past the page cache (`O_DIRECT`).
    Direct(PathBuf),
    /// On the network.
    Remote(Box<RemoteLocation>),
}

/// A drive on the network, and how it is dealt with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteLocation {
    /// Where it is.
    pub address: RemoteAddress,
    /// How it is dealt with.
    pub options: RemoteOptions,
}

impl DriveLocation {
    /// The file or device.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory | Self::Remote(_) => None,
            Self::File(path) | Self::Direct(path) => Some(path),
        }
    }

    /// Whether another location has the same bytes, under whatever path. A loop device has those of
    /// its file.
    #[must_use]
    pub fn has_bytes_of(&self, other: &Self) -> bool {
        match (self.path(), other.path()) {
            (Some(path), Some(other)) => Identity::of(path) == Identity::of(other),
            _ => self == other && *self != Self::Memory,
        }
    }

    /// Whether something is there already, or is said to be: a drive on the network always is.
    #[must_use]
    pub fn exists(&self) -> bool {
        match self {
            Self::Memory => false,
            Self::File(path) | Self::Direct(path) => path.exists(),
            Self::Remote(_) => true,
        }
    }
}

impl fmt::Display for DriveLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => write!(f, "memory"),
            Self::File(path) | Self::Direct(path) => write!(f, "{}", path.display()),
            Self::Remote(remote) => write!(f, "{}", remote.address),
        }
    }
}
