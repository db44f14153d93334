//! Messages of a coordination to drives, and the drives that are missing.

use crate::members::MemberSet;
use nvme::CollectionRight;
use units::DriveId;

/// Message of a coordination to a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// Permit to collect, from now on.
    Permit {
        /// The drive.
        drive: DriveId,
        /// The permit, with times on the drive's clock.
        right: CollectionRight,
    },
    /// Request for the room that it has left.
    AskStatus {
        /// The drive.
        drive: DriveId,
    },
}

/// Drives that have failed or are being rebuilt. They count as busy all the time: their data is
/// missing, or no read relies on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    pub(crate) drives: MemberSet,
    /// Number of further members that a stripe can miss.
    pub(crate) parities_left: u32,
}

impl Missing {
    /// Whether stripes that miss these drives can miss nothing else.
    pub(crate) fn is_without_parity(self) -> bool {
        !self.drives.is_empty() && self.parities_left == 0
    }

    /// Number of other drives that may be busy at once: `whole` while no drive is missing, and 1
    /// where no parity is left. Drives must collect, and reads should wait for as few of them as
    /// possible.
    pub(crate) fn busy_drives(self, whole: u32) -> u32 {
        match self.drives.is_empty() {
            true => whole,
            false => whole.min(self.parities_left).max(1),
        }
    }
}
