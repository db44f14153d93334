//! Notices that wait in a controller until its host reads log page 80h.

use crate::wire::{ReservationLog, ReservationNotice, reservation_mask};
use alloc::collections::VecDeque;

/// Most notices that wait. Beyond that the oldest are dropped; the count of the page shows it.
const WAITING_MAX: usize = 16;

/// The notices of a controller.
#[derive(Debug, Default)]
pub(in crate::target) struct Notices {
    /// Feature 82h: notices that are not wanted.
    mask: u32,
    waiting: VecDeque<(u64, ReservationNotice)>,
    /// Number of notices so far.
    count: u64,
}

impl Notices {
    pub(in crate::target) const fn mask(&self) -> u32 {
        self.mask
    }

    pub(in crate::target) const fn set_mask(&mut self, mask: u32) {
        self.mask = mask & reservation_mask::ALL;
    }

    /// Adds a notice. Returns whether the host wants it.
    pub(in crate::target) fn push(&mut self, notice: ReservationNotice) -> bool {
        if self.mask & notice.mask() != 0 {
            return false;
        }
        // The count of a page with a notice is never 0, even after 2^64 notices.
        self.count = self.count.checked_add(1).unwrap_or(1);
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((self.count, notice));
        true
    }

    /// Whether a notice waits.
    pub(in crate::target) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Page with the oldest notice, which is removed without `retain`.
    pub(in crate::target) fn page(&mut self, retain: bool, nsid: u32) -> ReservationLog {
        let Some(&(count, notice)) = self.waiting.front() else { return ReservationLog::default() };
        let behind = self.waiting.len() - 1;
        if !retain {
            self.waiting.pop_front();
        }
        let available = u8::try_from(behind).unwrap_or(u8::MAX);
        ReservationLog { count, kind: notice.encode(), available, nsid }
    }
}
