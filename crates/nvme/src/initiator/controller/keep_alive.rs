//! Timing of Keep Alive commands.

use units::{Duration, Instant};

/// Timer of Keep Alive commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    timeout: Duration,
    /// Time at which the last Keep Alive was sent, or the queue was connected.
    sent: Instant,
    is_out: bool,
}

/// Action that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Send,
    /// The controller has not answered for too long.
    GiveUp,
}

impl KeepAlive {
    pub(super) const fn new(now: Instant, timeout: Duration) -> Self {
        Self { timeout, sent: now, is_out: false }
    }

    /// Time of the next Keep Alive: half of the timeout after the last. The answer may take the
    /// other half.
    pub(super) fn deadline(&self) -> Instant {
        let half = Duration::from_nanos(self.timeout.as_nanos() / 2);
        if self.timeout.is_zero() { Instant::NEVER } else { self.sent + half }
    }

    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        if now < self.deadline() {
            return None;
        }
        if self.is_out {
            return Some(Due::GiveUp);
        }
        (self.sent, self.is_out) = (now, true);
        Some(Due::Send)
    }

    pub(super) const fn answered(&mut self) {
        self.is_out = false;
    }
}
