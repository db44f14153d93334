//! Values of an array that never change.

use core::ops::Range;
use units::Duration;

/// Values of an array that never change.
pub(super) struct Constants {
    pub(super) page_bytes: u64,
    pub(super) capacity_bytes: u64,
    /// Time to compute a reconstructed page.
    pub(super) reconstruct_time: Duration,
    /// Spare blocks of every drive, outside the layout.
    pub(super) spare: Range<u64>,
}
