//! The two messages between an array and PLM-light's coordinator (PLM-light §III-A to III-C): the
//! traffic of a window that has ended, and in return the counts for the windows to come.

use units::Instant;

/// Classes of quality of service (PLM-light §III-A), the highest first.
pub const QOS_CLASSES: usize = 3;

/// Traffic of a deterministic window that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowTraffic {
    /// Number of the window, from 1.
    pub window: u64,
    /// End of the window, by the clock of the array.
    pub ended: Instant,
    /// Reads of each class. A window that ended early counts as if it had had its full length.
    pub reads: [u64; QOS_CLASSES],
    /// Writes, in the same way.
    pub writes: u64,
}

/// Counts for the windows to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowCounts {
    /// Last window whose traffic the counts are based on.
    pub window: u64,
    /// `read_DC` of each class.
    pub reads: [u64; QOS_CLASSES],
    /// `write_DC`, of all classes together.
    pub writes: u64,
}
