//! Looking at all drives from time to time.

use crate::coordinate::notice::Notice;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::DriveStatus;
use units::{DriveId, Duration, Instant};

/// StatusPoller at the log pages of all drives, and what they answered.
#[derive(Clone, Debug)]
pub(super) struct StatusPoller {
    period: Duration,
    next: Instant,
    /// The last answer of each drive, if it came since the last look.
    answers: Vec<Option<DriveStatus>>,
}

impl StatusPoller {
    /// The first look is taken at `start`.
    pub(super) fn new(drives: u32, start: Instant, period: Duration) -> Self {
        Self { period, next: start, answers: vec![None; drives as usize] }
    }

    /// When the next look is due.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// The drives.
    pub(super) fn drives(&self) -> impl Iterator<Item = DriveId> + use<> {
        (0..self.answers.len()).map(|drive| DriveId(drive as u8))
    }

    /// Whether a look is due at `now`. One that is still unanswered is given up for it.
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

    /// What `drive` answered; to be asked once every drive has.
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
