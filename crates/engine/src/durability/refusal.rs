//! Notes on an array that starts, and reasons why an array does not.

use super::superblock::SuperblockError;
use super::uuid::Uuid;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A note for the administrator on an array that starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// A drive was not in its configured place.
    Moved {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
    },
    /// A drive is missing.
    Missing {
        /// The drive.
        member: usize,
    },
    /// A drive had failed before.
    Failed {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
    },
    /// A drive missed changes.
    Stale {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
        /// Generation of the drive.
        generation: u64,
        /// Generation of the array.
        newest: u64,
    },
    /// The data of a drive was overwritten behind its head.
    Overwritten {
        /// The drive.
        member: usize,
        /// The place that has it.
        place: usize,
    },
    /// A place has no usable superblock.
    Unusable {
        /// The place.
        place: usize,
        /// Reason.
        error: SuperblockError,
    },
}

impl Note {
    /// The drive that the array starts without; `None` for other notes.
    #[must_use]
    pub fn left_out(&self) -> Option<usize> {
        match *self {
            Self::Missing { member }
            | Self::Failed { member, .. }
            | Self::Stale { member, .. }
            | Self::Overwritten { member, .. } => Some(member),
            Self::Moved { .. } | Self::Unusable { .. } => None,
        }
    }

    /// Reason for leaving a drive out, with the drive as its subject; empty for other notes.
    #[must_use]
    pub fn why_left_out(&self) -> String {
        match self {
            Self::Missing { .. } => "is missing".to_string(),
            Self::Failed { .. } => "had failed".to_string(),
            Self::Stale { generation, newest, .. } => format!(
                "is outdated: it was left behind at generation {generation} of {newest}"
            ),
            Self::Overwritten { .. } => {
                "was overwritten: it has the head of a drive, and something else instead of its data".to_string()
            }
            Self::Moved { .. } | Self::Unusable { .. } => String::new(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { member, place } => {
                write!(
                    f,
                    "drive {member} of the array is at place {place}, and is used as drive {member}"
                )
            }
            Self::Missing { member } => {
                write!(f, "drive {member} is missing: the array starts degraded")
            }
            Self::Failed { member, place } => {
                write!(f, "drive {member} at place {place} had failed: replace it to rebuild it")
            }
            Self::Stale { member, place, generation, newest } => write!(
                f,
                "drive {member} at place {place} was left behind at generation {generation} of {newest}: replace it to rebuild it"
            ),
            Self::Overwritten { member, place } => write!(
                f,
                "drive {member} at place {place} was overwritten: it has the head of a drive, and something else instead of its data; replace it to rebuild it"
            ),
            Self::Unusable { place, error } => write!(f, "place {place} is not used: {error}"),
        }
    }
}

/// Reason for which an array does not start. Nothing has been written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No place has a superblock.
    Nothing {
        /// Number of places.
        places: usize,
        /// Number of places that do not exist.
        missing: usize,
    },
    /// The creation of the array was cut short.
    BeingCreated,
    /// The drives belong to two arrays.
    ForeignArray {
        /// The place.
        place: usize,
        /// Array of that place.
        found: Uuid,
        /// Array of most drives.
        expected: Uuid,
    },
    /// A place holds something that must not be overwritten.
    Unusable {
        /// The place.
        place: usize,
        /// Reason.
        error: SuperblockError,
    },
    /// A drive is in two places.
    Twice {
        /// The drive.
        member: usize,
        /// One place.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Drives of one array do not agree.
    Disagree {
        /// One place.
        first: usize,
        /// The other.
        second: usize,
        /// Field in which they differ.
        what: &'static str,
    },
    /// The number of places is not the number of drives.
    Width {
        /// Drives of the array.
        drives: usize,
        /// Places configured.
        places: usize,
    },
    /// The configured geometry is another one.
    Geometry {
        /// Field that differs.
        what: &'static str,
        /// Value on the drives.
        found: u64,
        /// Value in the configuration.
        asked: u64,
    },
    /// The configured level is another one.
    Level {
        /// Level on the drives.
        found: &'static str,
        /// Level in the configuration.
        asked: &'static str,
    },
    /// Two drives went on without each other.
    Split {
        /// One place.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Too few drives are usable.
    TooFew {
        /// Number of absent drives.
        absent: u32,
        /// The absent drives, as bits.
        members: u64,
        /// Number of drives that a stripe can miss.
        spare: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing { places: places @ 1.., missing } if missing == places => {
                write!(
                    f,
                    "none of the {places} drives is there: connect or mount them, or correct the paths"
                )
            }
            Self::Nothing { places, missing: 0 } => {
                write!(
                    f,
                    "none of the {places} places holds a drive of an array: correct the paths"
                )
            }
            Self::Nothing { places, missing } => write!(
                f,
                "none of the {places} places holds a drive of an array, and {missing} of them are not there: connect \
                 or mount the missing ones, or correct the paths"
            ),
            Self::BeingCreated => f.write_str(
                "the creation of the array was cut short, and it holds nothing: create it again",
            ),
            Self::ForeignArray { place, found, expected } => write!(
                f,
                "the drive at place {place} belongs to array {found}, the others to {expected}; correct the paths"
            ),
            Self::Unusable { place, error } => {
                write!(f, "the drive at place {place} cannot be used: {error}")
            }
            Self::Twice { member, first, second } => write!(
                f,
                "places {first} and {second} both hold drive {member}: one is a copy; take it away"
            ),
            Self::Disagree { first, second, what } => write!(
                f,
                "the drives at places {first} and {second} disagree about the {what}; one of them was changed by something else"
            ),
            Self::Width { drives, places } => write!(
                f,
                "the array has {drives} drives, and {places} places are configured; name all, also those that are missing"
            ),
            Self::Geometry { what, found, asked } => write!(
                f,
                "the array on the drives has {found} {what}, and the configuration asks for {asked}; change the configuration"
            ),
            Self::Level { found, asked } => write!(
                f,
                "the array on the drives is a {found}, and the configuration asks for a {asked}; change the configuration"
            ),
            Self::Split { first, second } => write!(
                f,
                "the drives at places {first} and {second} each went on without the other: take away the one whose changes are not wanted"
            ),
            Self::TooFew { absent, members, spare } => write!(
                f,
                "{absent} drives are missing, failed or stale ({}), and this array can miss {spare} in a stripe: bring back the missing ones",
                list(*members)
            ),
        }
    }
}

impl core::error::Error for Refusal {}

fn list(members: u64) -> String {
    let numbers = (0..64).filter(|bit| members >> bit & 1 == 1).map(|bit| bit.to_string());
    numbers.collect::<Vec<_>>().join(", ")
}
