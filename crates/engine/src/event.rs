//! Events of an engine for its observer: those of all its machines, in one order.

use crate::model::DriveEvent;
use core::fmt;
use units::DriveId;

/// One step of the array or of one of its drives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Event of the array.
    Array(array::Event),
    /// Event of an emulated drive.
    Drive(DriveId, DriveEvent),
}

impl fmt::Display for Event {
    /// A line of a trace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(event) => write!(f, "array: {event}"),
            Self::Drive(drive, event) => write!(f, "drive {}: {event}", drive.0),
        }
    }
}
