//! Counts for "N of M requests replayed", with the reasons for the others.

use std::collections::BTreeMap;
use std::fmt;

/// Reason why a request of a trace is not replayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// Before the range of time of the cut.
    BeforeCut,
    /// After the range of time of the cut.
    AfterCut,
    /// Among the first requests, which the cut skips.
    SkippedByCount,
    /// Beyond the number of requests of the cut.
    BeyondCount,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeCut => "before the cut",
            Self::AfterCut => "after the cut",
            Self::SkippedByCount => "skipped by count",
            Self::BeyondCount => "beyond the count",
        })
    }
}

/// Progress of a workload. At any time, `of` is `taken` plus all dropped requests plus those that
/// were not requested yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Requests delivered so far; a split request counts once.
    pub taken: u64,
    /// Total requests, with all repetitions; `None` if unknown, as for a generator that runs for a
    /// time.
    pub of: Option<u64>,
    /// Requests dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Requests that were split to fit, and delivered in pieces.
    pub split: u64,
    /// Requests delivered, counting each piece.
    pub pieces: u64,
    /// Requests shifted so as not to cross the end of the array.
    pub shifted: u64,
    /// Requests whose address was beyond the array and wrapped.
    pub wrapped: u64,
}

impl Replayed {
    /// Total of the dropped requests.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Requests that were not requested yet; `None` if unknown.
    #[must_use]
    pub fn left(&self) -> Option<u64> {
        self.of.map(|of| of.saturating_sub(self.taken + self.dropped_total()))
    }

    pub(crate) fn drop_requests(&mut self, reason: DropReason, count: u64) {
        if count > 0 {
            *self.dropped.entry(reason).or_default() += count;
        }
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Some(of) => write!(f, "{} of {of} requests replayed", self.taken)?,
            None => write!(f, "{} requests replayed", self.taken)?,
        }
        if !self.dropped.is_empty() {
            let parts: Vec<String> =
                self.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            write!(f, "; dropped: {}", parts.join(", "))?;
        }
        if let Some(left) = self.left().filter(|left| *left > 0) {
            write!(f, "; not reached {left}")?;
        }
        for (what, count) in
            [("wrapped", self.wrapped), ("shifted", self.shifted), ("split", self.split)]
        {
            if count > 0 {
                write!(f, "; {what} {count}")?;
            }
        }
        Ok(())
    }
}
