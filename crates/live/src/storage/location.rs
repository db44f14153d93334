//! Where a drive keeps its bytes.

use std::fmt;
use std::path::{Path, PathBuf};

/// The name of [`DriveLocation`] in code that has not been moved to it.
pub type Place = DriveLocation;

/// Where a drive keeps its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveLocation {
    /// In memory: lost when the process ends.
    Memory,
    /// In a file, through the page cache.
    File(PathBuf),
    /// In a file or on a block device, past the page cache (`O_DIRECT`).
    Direct(PathBuf),
}

impl DriveLocation {
    /// The file or device.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::File(path) | Self::Direct(path) => Some(path),
        }
    }
}

impl fmt::Display for DriveLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path() {
            None => write!(f, "memory"),
            Some(path) => write!(f, "{}", path.display()),
        }
    }
}
