//! IOD3: windows only (IODA §4.3, PL_Win without PL_IO; §4.4).
//!
//! Drives collect in turn, and the array never reads from the drive whose turn it is: every such
//! read is rebuilt from the others. Needs no flag. Costs a rebuild for one read in N, whether or
//! not the page would have met the collection.

use super::{Attempt, Policy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Iod3;

impl Policy for Iod3 {
    fn first_attempt(
        &self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        coordinator: &Coordinator,
    ) -> Attempt {
        match coordinator.is_busy(drive, lba, now) {
            true => Attempt::Avoid,
            false => Attempt::Send(PlFlag::Off),
        }
    }

    fn uses_windows(&self) -> bool {
        true
    }
}
