//! Reports of a drive on its state.

use units::Duration;

/// The windows with which a drive can keep the contract in an array (IODA §4.3.2: the drive
/// computes them when it learns arrayType and arrayWidth).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advertised {
    /// The lower bound: one collection that cannot be interrupted.
    pub shortest: Duration,
    /// Upper bound under the highest load, `TW_burst`; `None` if any window is short enough.
    pub longest: Option<Duration>,
}

/// Room that a drive has left, as in its predictable-latency log page ("DTWIN Writes Estimate" and
/// the state of the window).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveStatus {
    /// Pages that the host can write before the drive must collect.
    pub headroom_pages: u64,
    /// Whether a collection is due now.
    pub due: bool,
    /// Whether some die is at the level at which it collects without a command of the host.
    pub must_collect: bool,
    /// Whether a collection runs or waits for its dies.
    pub collecting: bool,
}

/// Report on a drive's collections, sent without a request whenever it has changed. Drives on the
/// market have none; within a drive, the controller has it for each of its channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CollectionReport {
    /// Whether a collection runs or waits for its dies.
    pub collecting: bool,
    /// Pages that the host can write before the next collection begins.
    pub pages_before_next: u64,
    /// Blocks that collections have erased since the start.
    pub collected_blocks: u64,
    /// Pages that collections copied for that.
    pub moved_pages: u64,
}
