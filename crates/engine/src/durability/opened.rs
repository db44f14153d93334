//! What comes of creating or opening an array, and why it may not.

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
    /// How it was put together.
    pub assembly: Assembly,
    /// The drives by their position; `None` where one is missing. Those of `assembly.absent` hold
    /// no usable data.
    pub disks: Vec<Option<D>>,
    /// Its superblock as it was written last, its write-intent record with what may be torn in
    /// [`Intent::dirty_regions`](super::Intent::dirty_regions) (nothing after a clean shutdown),
    /// and its journal, empty.
    pub records: Records,
    /// Records of the journal that were written again.
    pub replayed: usize,
    /// Records of the journal that were reconstructed first, because the drives that were to have
    /// them lacked them.
    pub mended: usize,
}

impl<D> Opened<D> {
    /// Regions in which data of a missing drive may be rebuilt wrong, and cannot be told from right
    /// ones: those that were being written when the array stopped, if it lost a drive by that.
    /// While it was optimal it had no journal.
    #[must_use]
    pub fn doubtful_regions(&self) -> Vec<u32> {
        if has_write_hole(&self.assembly.geometry) && self.assembly.lost != 0 {
            self.records.intent.dirty_regions()
        } else {
            Vec::new()
        }
    }
}

/// Whether a drive that is lost in the moment of a crash cannot be reconstructed in stripes that
/// were being written.
pub(super) fn has_write_hole(geometry: &Geometry) -> bool {
    let Geometry { level, journalled, .. } = *geometry;
    level.is_redundant() && !level.is_mirrored() && journalled != Journalled::Always
}

/// What is on a drive that was to be formatted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contents {
    /// A drive of an array.
    Member(Uuid),
    /// Data that were recognised.
    Foreign(Foreign),
    /// Data of which nobody knows what they are.
    Data {
        /// The first byte of them that is not zero, from the start of the drive.
        at_bytes: u64,
    },
    /// Something else.
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

/// Why an array was not created or opened, or a drive did not join. Drives are named by number
/// only: who opened them knows where they are.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenError<E> {
    /// Something is on a drive that was to be formatted.
    NotBlank {
        /// Number of the drive.
        drive: usize,
        /// What is on it.
        found: Contents,
    },
    /// The drives are not one array, or too few of it.
    Refused(Refusal),
    /// The layout is impossible.
    Geometry {
        /// What.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// A chunk that the journal could not hold.
    Chunk {
        /// Bytes of a chunk.
        chunk_bytes: u64,
        /// Largest chunk that would do.
        most_bytes: u64,
    },
    /// Another number of places than of drives.
    Places {
        /// Drives of the array.
        drives: usize,
        /// Places.
        places: usize,
    },
    /// A drive failed a read, a write or a sync.
    Io {
        /// Number of the drive.
        drive: usize,
        /// What it says.
        error: E,
    },
    /// The journal says something that cannot be done.
    Record {
        /// Number of the drive.
        drive: u8,
        /// Where on it.
        offset_bytes: u64,
        /// How many bytes.
        length_bytes: u64,
    },
    /// The journal of a drive cannot be relied on, and the array did not end cleanly.
    Journal(Damage),
}

impl<E> OpenError<E> {
    /// What a drive says.
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
