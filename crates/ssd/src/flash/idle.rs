//! Timer of the host's idleness, after which a drive folds its cache of SLC blocks.

use crate::config::Config;
use units::{Duration, Instant};

/// Timer that runs out when the host has been idle for long enough to fold.
#[derive(Clone, Debug)]
pub(crate) struct IdleTimer {
    after: Duration,
    /// Time at which it runs out; [`Instant::NEVER`] if it has run out, or if there is nothing to
    /// fold.
    due: Instant,
    is_idle: bool,
}

impl IdleTimer {
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let after = config.cells?.slc?.fold_after;
        Some(Self { after, due: Instant::NEVER, is_idle: false })
    }

    /// Starts the timer again, because the host has sent a command.
    #[inline]
    pub(crate) fn restart(&mut self, now: Instant) {
        self.due = now + self.after;
        self.is_idle = false;
    }

    /// Ends the timer: the host is idle.
    pub(crate) fn end(&mut self) {
        self.due = Instant::NEVER;
        self.is_idle = true;
    }

    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle
    }
}
