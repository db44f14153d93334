//! Polling of the status of all drives.

use crate::coordinate::notice::Notice;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::DriveStatus;
use units::{DriveId, Duration, Instant};

/// Poller of the log pages of all drives, with their answers.
#[derive(Clone, Debug)]
pub(super) struct StatusPoller {
    period: Duration,
    next: Instant,
    /// Answer of each drive to the current poll; `None` if it has not come.
    answers: Vec<Option<DriveStatus>>,
}

impl StatusPoller {
    /// The first poll is at `start`.
    pub(super) fn new(drives: u32, start: Instant, period: Duration) -> Self {
        Self { period, next: start, answers: vec![None; drives as usize] }
    }

    /// Time of the next poll.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// The drives.
    pub(super) fn drives(&self) -> impl Iterator<Item = DriveId> + use<> {
        (0..self.answers.len()).map(|drive| DriveId(drive as u8))
    }

    /// Begins a poll if one is due at `now`, and returns whether it did. An unfinished poll is
    /// dropped.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        if self.next > now {
            return false;
        }
        self.next = now + self.period;
        self.answers.fill(None);
        true
    }

    /// Asks all drives.
    pub(super) fn ask(&self, notices: &mut VecDeque<Notice>) {
        notices.extend(self.drives().map(|drive| Notice::AskStatus { drive }));
    }

    /// Takes an answer. Returns whether every drive has answered.
    pub(super) fn answer(&mut self, drive: DriveId, status: &DriveStatus) -> bool {
        self.answers[drive.index()] = Some(*status);
        self.answers.iter().all(Option::is_some)
    }

    /// The answer of `drive`; valid once every drive has answered.
    pub(super) fn of(&self, drive: DriveId) -> DriveStatus {
        let nothing = DriveStatus {
            headroom_pages: u64::MAX,
            due: false,
            must_collect: false,
            collecting: false,
        };
        self.answers[drive.index()].unwrap_or(nothing)
    }
}
