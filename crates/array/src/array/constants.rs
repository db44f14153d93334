//! What never changes about an array.

use core::ops::Range;
use units::Duration;

/// See the module.
pub(super) struct Constants {
    pub(super) page_bytes: u64,
    pub(super) capacity_bytes: u64,
    /// Time to compute a reconstructed page.
    pub(super) reconstruct_time: Duration,
    /// The blocks that the layout leaves free on every drive.
    pub(super) spare: Range<u64>,
}
