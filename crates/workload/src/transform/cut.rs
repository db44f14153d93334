//! Part of a trace that is used.

use super::DropReason;
use crate::Request;
use crate::error::OptionError;
use units::{Duration, Instant};

/// Part of a trace that is used: the requests in a range of time, and of these a number of
/// requests. Time then counts from the first kept request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Requests before this time since the start of the trace are dropped.
    pub from: Duration,
    /// Requests at this time or later are dropped; `None` for no limit.
    pub to: Option<Duration>,
    /// Number of requests that are dropped at the start of that range.
    pub skip: u64,
    /// Most requests that are kept of the rest; `None` for all.
    pub take: Option<u64>,
}

/// Verdict on one request.
pub(super) enum Verdict {
    Keep,
    /// The request is dropped.
    Drop(DropReason),
    /// The request and all that follow are dropped.
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

    /// Judges a request that has `in_range` requests before it in the range of time.
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
