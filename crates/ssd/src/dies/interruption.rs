//! The program or erase of one die that was interrupted for reads.
//!
//! Knows: what is left of it, how often it was interrupted, and when that may happen again. Does not
//! know: the rules (`suspend.rs`).

use crate::dies::die::State;
use crate::dies::ledger::Work;
use units::{Duration, Instant};

/// A program or an erase that was interrupted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub(super) state: State,
    /// Rest of it, resuming included.
    pub(super) left: Duration,
    pub(super) work: Option<Work>,
}

/// The interruptions of the operation in service on a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interruption {
    suspended: Option<Suspended>,
    count: u32,
    /// Earliest time of the next one, by the least time between two.
    earliest: Instant,
}

impl Interruption {
    pub(super) const NONE: Self = Self { suspended: None, count: 0, earliest: Instant::ZERO };

    /// Whether the operation is suspended.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Rest of the operation if it is suspended; else zero.
    pub(crate) fn left(&self) -> Duration {
        self.suspended.map_or(Duration::ZERO, |suspended| suspended.left)
    }

    /// State of the die before the operation was suspended.
    pub(super) fn state_before(&self) -> Option<State> {
        self.suspended.map(|suspended| suspended.state)
    }

    /// Interruptions so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Earliest time of the next one.
    pub(super) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// The operation is interrupted.
    pub(super) fn suspend(&mut self, suspended: Suspended) {
        self.count += 1;
        self.suspended = Some(suspended);
    }

    /// The operation goes on; `None` if it is not suspended.
    pub(super) fn resume(&mut self) -> Option<Suspended> {
        self.suspended.take()
    }

    /// The next interruption comes at `earliest` or later.
    pub(super) fn wait_until(&mut self, earliest: Instant) {
        self.earliest = earliest;
    }

    /// A step of the die has ended, and with it the operation, unless that is suspended.
    #[inline]
    pub(super) fn end_operation(&mut self) {
        if self.suspended.is_none() {
            self.count = 0;
        }
    }
}
