//! All drives at once: as soon as one must collect, all may (Harmonia; IODA §6.2.2).
//!
//! The host polls the status of all drives. When one drive has reached the watermark at which it
//! would collect by itself, all drives are ordered to collect, even where no collection is due: a
//! drive that collected less now would collect alone later. A drive without an order does not
//! collect, unless it has no free blocks left.

use super::status_poller::StatusPoller;
use crate::coordinate::notice::Notice;
use alloc::collections::VecDeque;
use nvme::{CollectionRight, DriveStatus};
use units::{DriveId, Duration, Instant};

/// Settings of synchronized collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SynchronizedConfig {
    /// Time for which an order to collect is valid.
    pub lease: Duration,
    /// Time between two polls of the drives' status.
    pub period: Duration,
    /// Time of the first poll.
    pub start: Instant,
}

/// State of synchronized collection.
#[derive(Clone, Debug)]
pub struct Synchronized {
    config: SynchronizedConfig,
    poller: StatusPoller,
    until: Instant,
}

impl Synchronized {
    pub(crate) fn new(
        config: &SynchronizedConfig,
        width: u32,
        notices: &mut VecDeque<Notice>,
    ) -> Self {
        let synchronized = Self {
            config: *config,
            poller: StatusPoller::new(width, config.start, config.period),
            until: Instant::ZERO,
        };
        synchronized.order(Instant::ZERO, notices);
        synchronized
    }

    fn order(&self, until: Instant, notices: &mut VecDeque<Notice>) {
        let right = CollectionRight::Order { until };
        notices.extend(self.poller.drives().map(|drive| Notice::Permit { drive, right }));
    }

    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        now < self.until
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.poller.next()
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        // While the drives collect there is nothing to decide.
        if self.poller.begin(now) && now >= self.until {
            self.poller.ask(notices);
        }
    }

    pub(crate) fn handle_status(
        &mut self,
        now: Instant,
        drive: DriveId,
        status: &DriveStatus,
        notices: &mut VecDeque<Notice>,
    ) {
        if !self.poller.answer(drive, status) {
            return;
        }
        if self.poller.drives().any(|drive| self.poller.of(drive).must_collect) {
            self.until = now + self.config.lease;
            self.order(self.until, notices);
        }
    }
}
