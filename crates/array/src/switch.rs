//! Why an array cannot go on under another policy.

use core::fmt;

/// Why the policy cannot be changed now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotSwitch {
    /// Stripe operations are under way, of requests or of jobs.
    Busy {
        /// How many.
        operations: usize,
    },
    /// The policy holds requests back.
    HeldBack {
        /// How many.
        requests: usize,
    },
    /// Pages wait in the write cache for their drives.
    Cached {
        /// How many.
        pages: u64,
    },
    /// The policy cannot work with this level.
    Impossible {
        /// The policy.
        policy: &'static str,
        /// The level.
        level: &'static str,
    },
}

impl fmt::Display for CannotSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { operations } => {
                write!(f, "the policy can be changed when {operations} operations have ended")
            }
            Self::HeldBack { requests } => write!(
                f,
                "the policy holds back {requests} requests; it can be changed when it has let them go"
            ),
            Self::Cached { pages } => write!(
                f,
                "the policy can be changed when {pages} pages have been written from the write cache to their drives"
            ),
            Self::Impossible { policy, level } => {
                write!(f, "policy {policy} needs redundancy of another kind than {level} has")
            }
        }
    }
}

impl core::error::Error for CannotSwitch {}
