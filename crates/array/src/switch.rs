//! Reasons why an array cannot change its policy.

use crate::layout::Level;
use crate::policy::PolicyKind;
use crate::write_cache::WriteCache;
use core::fmt;

/// Reason why the policy cannot be changed now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotSwitch {
    /// Stripe operations of requests or jobs are in progress.
    Busy {
        /// Number of operations.
        operations: usize,
    },
    /// The policy holds requests back.
    HeldBack {
        /// Number of requests.
        requests: usize,
    },
    /// Pages wait in the write cache for their drives.
    Cached {
        /// Number of pages.
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

impl CannotSwitch {
    /// Returns an error if the policy cannot be changed to `policy` now.
    pub(crate) fn check(
        policy: PolicyKind,
        level: Level,
        held_back: usize,
        operations: usize,
        cache: Option<&WriteCache>,
    ) -> Result<(), Self> {
        if !policy.is_possible(level) {
            let (policy, level) = (policy.name(), level.name());
            return Err(Self::Impossible { policy, level });
        }
        if held_back > 0 {
            return Err(Self::HeldBack { requests: held_back });
        }
        if operations > 0 {
            return Err(Self::Busy { operations });
        }
        match cache {
            Some(cache) if !cache.is_idle() => Err(Self::Cached { pages: cache.held_pages() }),
            _ => Ok(()),
        }
    }
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
