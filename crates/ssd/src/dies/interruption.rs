//! The program or erase of one die that was interrupted for reads.
//!
//! Knows: its remaining time, the number of interruptions, and the earliest time of the next. Does
//! not know: the rules (`suspend.rs`).

use crate::dies::die::State;
use crate::dies::ledger::Work;
use units::{Duration, Instant};

/// A program or an erase that was interrupted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspended {
    pub(super) state: State,
    /// Remaining time, with the time to resume.
    pub(super) left: Duration,
    pub(super) work: Option<Work>,
}

/// The interruptions of the operation in service on a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interruption {
    suspended: Option<Suspended>,
    count: u32,
    /// Earliest time of the next interruption, by the least time between two.
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

    /// Earliest time of the next interruption.
    pub(super) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// Records that the operation is interrupted.
    pub(super) fn suspend(&mut self, suspended: Suspended) {
        self.count += 1;
        self.suspended = Some(suspended);
    }

    /// Takes the suspended operation, to continue it; `None` if none is suspended.
    pub(super) fn resume(&mut self) -> Option<Suspended> {
        self.suspended.take()
    }

    /// The next interruption comes at `earliest` or later.
    pub(super) fn wait_until(&mut self, earliest: Instant) {
        self.earliest = earliest;
    }

    /// Ends the operation with its step, unless it is suspended: the count of interruptions starts
    /// again.
    #[inline]
    pub(super) fn end_operation(&mut self) {
        if self.suspended.is_none() {
            self.count = 0;
        }
    }
}
