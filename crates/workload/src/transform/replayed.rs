//! "N of M requests replayed", with what became of the others.

use std::collections::BTreeMap;
use std::fmt;

/// Why a request of a trace is not replayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// It comes before the range of time that was cut out.
    BeforeCut,
    /// It comes after that range.
    AfterCut,
    /// It is one of the first that were to be left out.
    SkippedByCount,
    /// Enough requests were taken before it.
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

/// How much of a workload has been handed out. At any time, `of` is `taken` plus everything
/// dropped plus what has not been asked for yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Requests handed out so far; one that was split counts once.
    pub taken: u64,
    /// Requests there are, each repetition counted; none where nobody knows, as with a generator
    /// that runs for a time.
    pub of: Option<u64>,
    /// Requests dropped, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Requests that were split to fit, and are handed out in pieces.
    pub split: u64,
    /// Requests handed out, each piece counted.
    pub pieces: u64,
    /// Requests moved so as not to cross the end of the array.
    pub shifted: u64,
    /// Requests whose address was beyond the array and wrapped.
    pub wrapped: u64,
}

impl Replayed {
    /// All requests that were dropped.
    #[must_use]
    pub fn dropped_total(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Requests that have not been asked for; none where nobody knows.
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
