//! What an engine tells whoever observes it: the events of its machines, in one order.

use units::DriveId;

/// One step of the array or of one of its drives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Of the array.
    Array(array::Event),
    /// Of an emulated drive.
    Drive(DriveId, ssd::Event),
}
