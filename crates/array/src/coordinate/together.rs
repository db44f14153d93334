//! All drives at once: as soon as one must collect, all may (Harmonia; IODA §6.2.2).
//!
//! The host looks at all drives from time to time. When one has come to the point at which it would
//! collect by itself, all are ordered to, whether or not it is due there: what one of them leaves off
//! would be done alone later. A drive that is not ordered to does not collect, unless it has no room
//! left.

use super::looks::Looks;
use crate::action::Action;
use alloc::collections::VecDeque;
use nvme::{CollectionRight, DriveStatus};
use units::{DriveId, Duration, Instant};

/// How drives collect together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TogetherConfig {
    /// How long they have for it.
    pub lease: Duration,
    /// Time between two looks at the drives.
    pub period: Duration,
    /// When the first look is taken.
    pub start: Instant,
}

/// Where the drives stand.
#[derive(Clone, Debug)]
pub struct Together {
    config: TogetherConfig,
    looks: Looks,
    until: Instant,
}

impl Together {
    pub(crate) fn new(config: &TogetherConfig, width: u32, actions: &mut VecDeque<Action>) -> Self {
        let together = Self {
            config: *config,
            looks: Looks::new(width, config.start, config.period),
            until: Instant::ZERO,
        };
        together.order(Instant::ZERO, actions);
        together
    }

    fn order(&self, until: Instant, actions: &mut VecDeque<Action>) {
        let right = CollectionRight::Order { until };
        actions.extend(self.looks.drives().map(|drive| Action::Permit { drive, right }));
    }

    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        now < self.until
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.looks.next()
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, actions: &mut VecDeque<Action>) {
        // While the drives collect there is nothing to decide.
        if self.looks.begin(now) && now >= self.until {
            self.looks.ask(actions);
        }
    }

    pub(crate) fn handle_status(
        &mut self,
        now: Instant,
        drive: DriveId,
        status: &DriveStatus,
        actions: &mut VecDeque<Action>,
    ) {
        if !self.looks.answer(drive, status) {
            return;
        }
        if self.looks.drives().any(|drive| self.looks.of(drive).must_collect) {
            self.until = now + self.config.lease;
            self.order(self.until, actions);
        }
    }
}
