//! What others are to be told: clients and people, and the array.

use crate::durability::{End, StopReason};
use crate::token::Token;
use alloc::collections::VecDeque;
use array::{FailReason, Happening};
use units::DriveId;

/// What the driver is told beside the outputs of the engine.
#[derive(Debug)]
pub enum Notice {
    /// A client may be answered.
    Answer(Token),
    /// A client waits in vain: the array has stopped.
    Refuse(Token),
    /// The array must take no requests any more.
    Stop(StopReason),
    /// Something has happened.
    Happened(Happening),
    /// The clean shutdown is over.
    Ended(End),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Notices {
    waiting: VecDeque<Notice>,
    /// Drives that the array must give up.
    failed: VecDeque<(DriveId, FailReason)>,
    /// Parities that were compared and found wrong.
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

    /// The array must give a drive up.
    pub(super) fn fail_drive(&mut self, drive: DriveId, reason: FailReason) {
        self.failed.push_back((drive, reason));
    }

    /// The next drive that the array must give up.
    #[inline]
    pub(super) fn next_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        self.failed.pop_front()
    }

    /// A parity was compared.
    pub(super) fn note_compared(&mut self, fits: bool) {
        self.mismatches += u64::from(!fits);
    }

    pub(super) const fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// Wrong parities are counted anew.
    pub(super) fn reset_mismatches(&mut self) {
        self.mismatches = 0;
    }
}
