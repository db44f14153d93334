//! All drives at once: as soon as one must collect, all may (Harmonia; IODA §6.2.2).
//!
//! The host looks at all drives from time to time. When one has come to the point at which it would
//! collect by itself, all are ordered to, whether or not it is due there: what one of them leaves off
//! would be done alone later. A drive that is not ordered to does not collect, unless it has no room
//! left.

use crate::action::Action;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
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
    /// Drives of which some must collect, and how many have answered since the last look.
    answers: Vec<Option<bool>>,
    until: Instant,
    next_look: Instant,
}

impl Together {
    pub(crate) fn new(config: &TogetherConfig, width: u32, actions: &mut VecDeque<Action>) -> Self {
        let together = Self {
            config: *config,
            answers: vec![None; width as usize],
            until: Instant::ZERO,
            next_look: config.start,
        };
        together.lease(Instant::ZERO, actions);
        together
    }

    fn lease(&self, until: Instant, actions: &mut VecDeque<Action>) {
        let right = CollectionRight::Order { until };
        let drives = (0..self.answers.len()).map(|drive| DriveId(drive as u8));
        actions.extend(drives.map(|drive| Action::Permit { drive, right }));
    }

    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        now < self.until
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.next_look
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, actions: &mut VecDeque<Action>) {
        if self.next_look > now {
            return;
        }
        self.next_look = now + self.config.period;
        self.answers.fill(None);
        // While the drives collect there is nothing to decide.
        if now >= self.until {
            let drives = (0..self.answers.len()).map(|drive| DriveId(drive as u8));
            actions.extend(drives.map(|drive| Action::AskStatus { drive }));
        }
    }

    pub(crate) fn handle_status(
        &mut self,
        now: Instant,
        drive: DriveId,
        status: &DriveStatus,
        actions: &mut VecDeque<Action>,
    ) {
        self.answers[drive.index()] = Some(status.must_collect);
        let all = self.answers.iter().all(Option::is_some);
        if all && self.answers.contains(&Some(true)) {
            self.until = now + self.config.lease;
            self.lease(self.until, actions);
        }
    }
}
