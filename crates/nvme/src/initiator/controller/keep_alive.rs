//! When the controller is to hear of the host.

use units::{Duration, Instant};

/// The timer of keep alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    timeout: Duration,
    /// When the last Keep Alive went, or the queue was connected.
    sent: Instant,
    is_out: bool,
}

/// What is to be done.
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

    /// A Keep Alive every half of the timeout; one without answer may take the other half.
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
