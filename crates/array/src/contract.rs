//! What an array promises its reads while drives take turns, and what reads of drives are held
//! against.

use units::Duration;

/// What reads can count on as far as windows go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Contract {
    /// Nothing: drives take no turns.
    None,
    /// The whole contract: so many drives are busy at once at most, and every stripe can do without
    /// them.
    Whole {
        /// How many.
        busy_drives: u32,
    },
    /// The same with fewer drives, because others have failed or are being rebuilt.
    Reduced {
        /// How many.
        busy_drives: u32,
    },
    /// Nothing for stripes that miss a member: so many drives are busy at once at most, and a read
    /// that needs one of them waits for it.
    Suspended {
        /// How many.
        busy_drives: u32,
    },
}

/// What reads can take at most, if nothing that changes flash is in their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadTimes {
    /// From sending the read of a page to an idle drive to the answer.
    pub alone: Duration,
    /// What each page more in front of it, or of its own, adds at most.
    pub each: Duration,
}

/// What reads are held against, to find drives that are slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// What drives promise reads that carry the flag.
    Promise(ReadTimes),
    /// Reads of the other drives: nothing is promised.
    Peers,
}
