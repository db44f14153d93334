//! Which part of a trace is used.

use super::DropReason;
use crate::Request;
use crate::error::OptionError;
use units::{Duration, Instant};

/// Which part of a trace is used: first the requests of a range of time, then a number of those.
/// Time then counts from the first request that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Requests before this time since the start of the trace are dropped.
    pub from: Duration,
    /// Requests at this time or later are dropped.
    pub to: Option<Duration>,
    /// How many requests of that range are dropped at its start.
    pub skip: u64,
    /// How many of the others are kept at most.
    pub take: Option<u64>,
}

/// What the cut says about one request.
pub(super) enum Verdict {
    Keep,
    /// This one is dropped.
    Drop(DropReason),
    /// This one and all that follow are dropped.
    End(DropReason),
}

impl Cut {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        let out_of_range = |option, value: String, limit: String| {
            Err(OptionError::OutOfRange { option, value, limit })
        };
        match (self.to, self.take) {
            (Some(to), _) if to <= self.from => out_of_range(
                "the end of the cut",
                to.to_string(),
                format!("later than its start at {}", self.from),
            ),
            (_, Some(0)) => {
                out_of_range("the number of requests taken", "0".to_owned(), "at least 1".into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn description(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        let mut text = format!("cut from {}", self.from);
        if let Some(to) = self.to {
            text.push_str(&format!(" to {to}"));
        }
        if self.skip > 0 {
            text.push_str(&format!(" without the first {}", self.skip));
        }
        if let Some(take) = self.take {
            text.push_str(&format!(" up to {take} requests"));
        }
        Some(text)
    }

    /// Judges a request of which `in_range` came before it in the range of time.
    pub(super) fn judge(&self, request: &Request, in_range: u64) -> Verdict {
        let since_start = request.at.since(Instant::ZERO);
        if since_start < self.from {
            Verdict::Drop(DropReason::BeforeCut)
        } else if self.to.is_some_and(|to| since_start >= to) {
            Verdict::End(DropReason::AfterCut)
        } else if in_range < self.skip {
            Verdict::Drop(DropReason::SkippedByCount)
        } else if self.take.is_some_and(|take| in_range - self.skip >= take) {
            Verdict::End(DropReason::BeyondCount)
        } else {
            Verdict::Keep
        }
    }
}
