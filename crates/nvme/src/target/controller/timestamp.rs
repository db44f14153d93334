//! Feature 0Eh: a time of day that the host sets.

use crate::wire::{Timestamp, TimestampOrigin};
use units::Instant;

const NANOS_PER_MS: u64 = 1_000_000;

/// The clock of feature 0Eh.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeOfDay {
    at: Instant,
    milliseconds: u64,
    origin: TimestampOrigin,
}

impl TimeOfDay {
    /// Counts from a reset.
    pub(super) const fn reset(now: Instant) -> Self {
        Self { at: now, milliseconds: 0, origin: TimestampOrigin::Reset }
    }

    /// Counts from the time that the host set.
    pub(super) const fn set(now: Instant, timestamp: &Timestamp) -> Self {
        let milliseconds = timestamp.milliseconds;
        Self { at: now, milliseconds, origin: TimestampOrigin::Set }
    }

    pub(super) const fn read(&self, now: Instant) -> Timestamp {
        let since_ms = now.since(self.at).as_nanos() / NANOS_PER_MS;
        let milliseconds = self.milliseconds.saturating_add(since_ms);
        Timestamp { milliseconds, may_have_stopped: false, origin: self.origin }
    }
}
