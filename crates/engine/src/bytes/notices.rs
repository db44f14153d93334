//! Notices for clients and administrators, and failed drives for the array.

use crate::durability::{End, StopReason};
use crate::token::Token;
use alloc::collections::VecDeque;
use array::{FailReason, Happening};
use units::DriveId;

/// Notices for the driver, beside the outputs of the engine.
#[derive(Debug)]
pub enum Notice {
    /// Answer this client.
    Answer(Token),
    /// Refuse this request: the array has stopped.
    Refuse(Token),
    /// The array must take no more requests.
    Stop(StopReason),
    /// Something has happened.
    Happened(Happening),
    /// The clean shutdown is over.
    Ended(End),
}

/// Notices and counts that wait for the driver or the array.
#[derive(Debug, Default)]
pub(super) struct Notices {
    waiting: VecDeque<Notice>,
    /// Drives that the array must fail.
    failed: VecDeque<(DriveId, FailReason)>,
    /// Number of comparisons that found wrong parity.
    mismatches: u64,
}

impl Notices {
    pub(super) fn add(&mut self, notice: Notice) {
        self.waiting.push_back(notice);
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Notice> {
        self.waiting.pop_front()
    }

    /// Has the array fail a drive.
    pub(super) fn fail_drive(&mut self, drive: DriveId, reason: FailReason) {
        self.failed.push_back((drive, reason));
    }

    /// Returns the next drive that the array must fail.
    #[inline]
    pub(super) fn next_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        self.failed.pop_front()
    }

    /// Counts a comparison of parity.
    pub(super) fn note_compared(&mut self, fits: bool) {
        self.mismatches += u64::from(!fits);
    }

    pub(super) const fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// Resets the count of wrong parities.
    pub(super) fn reset_mismatches(&mut self) {
        self.mismatches = 0;
    }
}
