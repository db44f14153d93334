//! Results and errors of creating and opening an array.

use super::assembly::Assembly;
use super::foreign::Foreign;
use super::journal::Damage;
use super::machine::Records;
use super::refusal::Refusal;
use super::superblock::{Geometry, Journalled, SuperblockError};
use super::uuid::Uuid;
use alloc::vec::Vec;
use core::fmt;

/// An array that is open: its superblocks say that it runs.
#[derive(Debug)]
pub struct Opened<D> {
    /// The assembly.
    pub assembly: Assembly,
    /// Drives by their position; `None` where one is missing. Drives of `assembly.absent` hold no
    /// usable data.
    pub disks: Vec<Option<D>>,
    /// Records: the last superblock written, the write-intent record and the empty journal. Regions
    /// that may be torn are in [`Intent::dirty_regions`](super::Intent::dirty_regions); there are
    /// none after a clean shutdown.
    pub records: Records,
    /// Number of journal records that were replayed.
    pub replayed: usize,
    /// Number of journal records that were reconstructed first, because their drives lacked them.
    pub mended: usize,
}

impl<D> Opened<D> {
    /// Regions in which data of a missing drive may be reconstructed wrong without notice. They
    /// were being written when the array stopped, and it has lost a drive since. While it was
    /// optimal it had no journal.
    #[must_use]
    pub fn doubtful_regions(&self) -> Vec<u32> {
        if has_write_hole(&self.assembly.geometry) && self.assembly.lost != 0 {
            self.records.intent.dirty_regions()
        } else {
            Vec::new()
        }
    }
}

/// Returns true if a drive that is lost in a crash cannot be reconstructed in stripes that were
/// being written.
pub(super) fn has_write_hole(geometry: &Geometry) -> bool {
    let Geometry { level, journalled, .. } = *geometry;
    level.is_redundant() && !level.is_mirrored() && journalled != Journalled::Always
}

/// Content of a drive that was to be formatted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// A drive of an array.
    Member(Uuid),
    /// Data of a known format.
    Foreign(Foreign),
    /// Data of unknown format.
    Data {
        /// First byte that is not zero, from the start of the drive.
        at_bytes: u64,
    },
    /// A head that cannot be read as a superblock.
    Other(SuperblockError),
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(uuid) => write!(f, "it is a drive of array {uuid}"),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::Data { at_bytes } => write!(f, "data at byte {at_bytes}"),
            Self::Other(error) => error.fmt(f),
        }
    }
}

/// Reason for which an array was not created or opened, or a drive did not join. Drives are named
/// by number only: the caller knows their paths.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenError<E> {
    /// A drive that was to be formatted has content.
    NotBlank {
        /// Number of the drive.
        drive: usize,
        /// Content of the drive.
        found: Contents,
    },
    /// The drives are not one array, or too few of it.
    Refused(Refusal),
    /// The layout is impossible.
    Geometry {
        /// Field of the geometry.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The journal could not hold a chunk of this size.
    Chunk {
        /// Bytes of a chunk.
        chunk_bytes: u64,
        /// Largest chunk that it could hold.
        most_bytes: u64,
    },
    /// The number of places is not the number of drives.
    Places {
        /// Drives of the array.
        drives: usize,
        /// Number of places.
        places: usize,
    },
    /// A drive failed a read, a write or a sync.
    Io {
        /// Number of the drive.
        drive: usize,
        /// Error of the drive.
        error: E,
    },
    /// A record of the journal lies outside of its drive.
    Record {
        /// Number of the drive.
        drive: u8,
        /// First byte on the drive.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// The journal of a drive cannot be relied on, and the array did not end cleanly.
    Journal(Damage),
}

impl<E> OpenError<E> {
    /// Returns a conversion for errors of this drive.
    pub(super) fn io(drive: usize) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { drive, error }
    }
}

impl<E> From<Refusal> for OpenError<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<E: fmt::Display> fmt::Display for OpenError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBlank { drive, found } => {
                write!(f, "drive {drive} is not blank: {found}; it is not overwritten")
            }
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Geometry { field, value } => {
                write!(f, "the {field} is {value}, which is impossible")
            }
            Self::Chunk { chunk_bytes, most_bytes } => write!(
                f,
                "chunks of {chunk_bytes} bytes are too large for the journal: choose at most {most_bytes} bytes"
            ),
            Self::Places { drives, places } => write!(
                f,
                "the array has {drives} drives, and {places} places are configured; name one for each"
            ),
            Self::Io { drive, error } => {
                write!(f, "drive {drive} failed while the array was opened: {error}")
            }
            Self::Record { drive, offset_bytes, length_bytes } => write!(
                f,
                "the journal has a record for {length_bytes} bytes at {offset_bytes} of drive {drive}, which has no such place"
            ),
            Self::Journal(damage) => damage.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for OpenError<E> {}
