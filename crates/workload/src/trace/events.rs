//! Choice of the event that counts as the request, in traces of the block layer with several events
//! for each request.

use super::{BlkparseEvent, SkipReason};
use crate::error::LineProblem;

/// Event that counts as the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    event: BlkparseEvent,
    /// Whether it was chosen because the first lines have no issue.
    is_assumed: bool,
}

impl Chosen {
    /// The event `given`, or the best event among the first ones of a trace.
    pub(super) fn of(given: Option<BlkparseEvent>, first: impl Iterator<Item = char>) -> Self {
        if let Some(event) = given {
            return Self { event, is_assumed: false };
        }
        let mut found = [false; 3];
        let by_worth = [BlkparseEvent::Issue, BlkparseEvent::Queue, BlkparseEvent::Complete];
        for letter in first {
            for (found, event) in found.iter_mut().zip(by_worth) {
                *found |= letter == event.letter();
            }
        }
        let best = found.iter().position(|found| *found).unwrap_or(0);
        Self { event: by_worth[best], is_assumed: best > 0 }
    }

    /// The event.
    pub(super) fn event(self) -> BlkparseEvent {
        self.event
    }

    /// Evidence for the event, if it is not the usual one.
    pub(super) fn evidence(self) -> Option<String> {
        let what = match self.event {
            _ if !self.is_assumed => return None,
            BlkparseEvent::Issue => return None,
            BlkparseEvent::Queue => {
                "Q (queued) are the requests, as the file system asked for them"
            }
            BlkparseEvent::Complete => {
                "C (completed) are the requests, at the times of their completions"
            }
        };
        Some(format!("the first events have no D (issue), so events {what}"))
    }

    /// Whether issues are the requests, so that a requeued request is issued again.
    pub(super) fn is_issue(self) -> bool {
        self.event == BlkparseEvent::Issue
    }

    /// Reason to skip an event with this letter; `None` for the chosen event.
    pub(super) fn skipped(self, letter: char) -> Result<Option<SkipReason>, LineProblem> {
        if letter == self.event.letter() {
            return Ok(None);
        }
        if self.is_assumed && letter == BlkparseEvent::Issue.letter() {
            return Err(LineProblem::LateIssue { taken: self.event.letter() });
        }
        Ok(Some(SkipReason::Event(letter)))
    }
}
