//! When the host has been idle for long enough that the drive folds its cache of SLC blocks.

use crate::config::Config;
use units::{Duration, Instant};

/// When the drive has been idle for long enough to fold.
#[derive(Clone, Debug)]
pub(crate) struct IdleTimer {
    after: Duration,
    /// When it will have been; never if it has, or if there is nothing to fold.
    due: Instant,
    is_idle: bool,
}

impl IdleTimer {
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let after = config.cells?.slc?.fold_after;
        Some(Self { after, due: Instant::NEVER, is_idle: false })
    }

    /// The host wants something.
    #[inline]
    pub(crate) fn restart(&mut self, now: Instant) {
        self.due = now + self.after;
        self.is_idle = false;
    }

    /// The time is over.
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
