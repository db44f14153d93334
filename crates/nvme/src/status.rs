//! What a drive says about itself when it is asked.

use units::Duration;

/// The windows with which a drive can keep the contract in an array (IODA §4.3.2: it computes them
/// when it learns arrayType and arrayWidth).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advertised {
    /// The lower bound: one collection that cannot be interrupted.
    pub shortest: Duration,
    /// The upper bound under the highest load, `TW_burst`; none if any window is short enough.
    pub longest: Option<Duration>,
}

/// How much room a drive has left, as its predictable-latency log page would say it ("DTWIN Writes
/// Estimate" and the state of the window).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveStatus {
    /// Pages that the host can write before the drive must collect.
    pub headroom_pages: u64,
    /// Whether there is something to collect now.
    pub due: bool,
    /// Whether some die has come to the point at which it would collect without being told.
    pub must_collect: bool,
    /// Whether a collection runs or waits for its dies.
    pub collecting: bool,
}

/// What a drive announces about its collections unasked, whenever it has changed. Drives on the
/// market do not; within a drive, the controller knows it of each of its channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CollectionReport {
    /// Whether a collection runs or waits for its dies.
    pub collecting: bool,
    /// Pages that the host can write before the next collection begins.
    pub pages_before_next: u64,
    /// Blocks that collections have erased since the start.
    pub collected_blocks: u64,
    /// Pages that they copied for that.
    pub moved_pages: u64,
}
