//! The contract of an array whose drives take turns, and the reference for the latency of reads.

use units::Duration;

/// Guarantee that busy windows give to reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Contract {
    /// No guarantee: drives take no turns.
    None,
    /// The whole contract: at most `busy_drives` drives are busy at once, and every stripe can do
    /// without them.
    Whole {
        /// Maximum number of busy drives.
        busy_drives: u32,
    },
    /// The contract with fewer busy drives, because others have failed or are being rebuilt.
    Reduced {
        /// Maximum number of busy drives.
        busy_drives: u32,
    },
    /// No contract for stripes that miss a member: at most `busy_drives` drives are busy at once,
    /// but a read that needs one of them waits for it.
    Suspended {
        /// Maximum number of busy drives.
        busy_drives: u32,
    },
}

/// Maximum times of reads, with no program, erase or collection in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadTimes {
    /// Time from submitting a read of one page to an idle drive to its completion.
    pub alone: Duration,
    /// Maximum time that each further page adds, ahead of the read or part of it.
    pub each: Duration,
}

/// Reference for the latency of reads, to find slow drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Times that drives guarantee to reads that carry the flag.
    Promise(ReadTimes),
    /// Latencies of the other drives, because drives guarantee nothing.
    Peers,
}
