//! Messages of a coordination to drives, and the drives that are missing.

use crate::members::MemberSet;
use nvme::CollectionRight;
use units::DriveId;

/// What a coordination has for a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// When it may collect from now on.
    Permit {
        /// The drive.
        drive: DriveId,
        /// When, on the drive's clock.
        right: CollectionRight,
    },
    /// How much room has it left?
    AskStatus {
        /// The drive.
        drive: DriveId,
    },
}

/// Drives that have failed or are being rebuilt. They count as busy all the time: what they hold is
/// not there to be read, or nobody counts on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing {
    pub(crate) drives: MemberSet,
    /// Members of a stripe that can still be missing besides those.
    pub(crate) parities_left: u32,
}

impl Missing {
    /// Whether stripes that miss these can miss nothing else.
    pub(crate) fn is_without_parity(self) -> bool {
        !self.drives.is_empty() && self.parities_left == 0
    }

    /// Number of other drives that may be busy at once: `whole` while no drive is missing, and 1
    /// where no parity is left. Drives must collect, and reads wait for as few of them as can be.
    pub(crate) fn busy_drives(self, whole: u32) -> u32 {
        match self.drives.is_empty() {
            true => whole,
            false => whole.min(self.parities_left).max(1),
        }
    }
}
