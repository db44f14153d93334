//! Keep alive: the longest silence of a host.

use units::{Duration, Instant};

/// KAS: the granularity of the timeout, in units of 100 ms.
pub(super) const GRANULARITY_100MS: u16 = 10;

/// Keep alive timer. The host sets its length, and sends a Keep Alive every half of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    timeout_ms: u32,
    heard: Instant,
}

impl KeepAlive {
    pub(super) const fn new(now: Instant, timeout_ms: u32) -> Self {
        Self { timeout_ms, heard: now }
    }

    pub(super) const fn timeout_ms(&self) -> u32 {
        self.timeout_ms
    }

    /// Restarts the timer, because the host has sent something.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Time at which the timer expires: the timeout rounded up to the granularity, and one granule
    /// more for a message on its way. `None` if the host wants no timer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let step_ms = u64::from(GRANULARITY_100MS) * 100;
        let timeout_ms = u64::from(self.timeout_ms).next_multiple_of(step_ms) + step_ms;
        (self.timeout_ms > 0).then(|| self.heard + Duration::from_millis(timeout_ms))
    }
}
