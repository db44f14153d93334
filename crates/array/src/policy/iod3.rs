//! IOD3: windows only (IODA §4.3, PL_Win without PL_IO; §4.4).
//!
//! Drives collect in turn, and the array never reads from the drive whose turn it is: every such
//! read is rebuilt from the others. Needs no flag. Costs a rebuild for one read in N, whether or
//! not the page would have met the collection.

use super::{Attempt, Policy};
use crate::windows::Windows;
use nvme::PlFlag;
use units::{DriveId, Instant};

pub(super) struct Iod3;

impl Policy for Iod3 {
    fn first_attempt(&self, now: Instant, drive: DriveId, windows: &Windows) -> Attempt {
        if windows.is_busy(drive, now) { Attempt::Avoid } else { Attempt::Send(PlFlag::Off) }
    }

    fn uses_windows(&self) -> bool {
        true
    }
}
