//! Permits: when each drive may collect, and whether the drives are told.
//!
//! The coordination decides when. Only this module decides whether the drives are told: under a
//! policy with imagined windows the array acts as if the drives kept them, but sends no permit.

use crate::commands::Commands;
use crate::contract::Contract;
use crate::coordinate::{Coordination, Coordinator, Missing, Notice, WindowChange};
use crate::members::MemberSet;
use crate::policy::{View, WindowUse};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionRight, DriveStatus};
use units::{DriveId, Instant};

/// The state of the permits.
#[derive(Clone, Debug)]
pub(crate) struct Permits {
    coordinator: Coordinator,
    /// Use of windows under the policy.
    windows: WindowUse,
    /// Members that a stripe can miss.
    parities: u32,
    /// Drives that have failed or are being rebuilt, or are treated as such.
    missing: MemberSet,
    /// The last permit sent to each drive.
    announced: Vec<Option<CollectionRight>>,
    /// Decisions of the coordination that are not published yet.
    decided: VecDeque<Notice>,
    /// Permits and status requests that are to be sent to the drives.
    notices: VecDeque<Notice>,
}

impl Permits {
    /// The policy's view of a stripe on these drives.
    pub(crate) fn view<'a>(&'a self, commands: &'a Commands, stripe: u64) -> View<'a> {
        let (coordinator, queues) = (&self.coordinator, commands.queues());
        View { coordinator, queues, stripe, missing: self.missing }
    }

    /// Permits of an array in which the drives of `missing` are missing at the start.
    pub(crate) fn new(
        (width, parities): (u32, u32),
        windows: WindowUse,
        coordination: Coordination,
        missing: MemberSet,
    ) -> Self {
        let mut permits = Self {
            coordinator: Coordinator::Free,
            windows,
            parities,
            missing,
            announced: vec![None; width as usize],
            decided: VecDeque::new(),
            notices: VecDeque::new(),
        };
        permits.coordinate(windows, coordination);
        permits
    }

    /// Starts the coordination. Returns whether all drives may collect at any time.
    fn coordinate(&mut self, windows: WindowUse, coordination: Coordination) -> bool {
        let coordination = match windows {
            WindowUse::None => Coordination::Free,
            _ => coordination,
        };
        self.windows = windows;
        let width = self.announced.len() as u32;
        let missing = self.missing();
        self.coordinator = Coordinator::new(&coordination, width, missing, &mut self.decided);
        self.publish();
        !self.is_announced() || coordination == Coordination::Free
    }

    /// Whether permits are sent to the drives.
    fn is_announced(&self) -> bool {
        self.windows != WindowUse::Imagined
    }

    fn missing(&self) -> Missing {
        let parities_left = self.parities.saturating_sub(self.missing.len());
        Missing { drives: self.missing, parities_left }
    }

    /// Whether drives need no turns once stripes can miss no further member, because reads
    /// interrupt their collections.
    pub(crate) fn can_do_without_turns(&self) -> bool {
        self.coordinator.can_do_without_turns()
    }

    /// Sets the drives that have failed, are being rebuilt, or are treated as such. Returns whether
    /// the set has changed.
    pub(crate) fn set_missing(&mut self, now: Instant, drives: MemberSet) -> bool {
        if drives == self.missing {
            return false;
        }
        self.missing = drives;
        let missing = self.missing();
        self.coordinator.set_missing(now, missing, &mut self.decided);
        self.publish();
        true
    }

    /// The contract that the array gives its reads.
    pub(crate) fn contract(&self) -> Contract {
        let Some(busy_drives) = self.coordinator.busy_drives() else { return Contract::None };
        match self.missing() {
            Missing { drives, .. } if drives.is_empty() => Contract::Whole { busy_drives },
            Missing { parities_left: 0, .. } => Contract::Suspended { busy_drives },
            _ => Contract::Reduced { busy_drives },
        }
    }

    /// Restarts the coordination under another policy at `now`. Every drive is sent a new permit,
    /// because the one it has is void.
    pub(crate) fn switch(&mut self, now: Instant, windows: WindowUse, coordination: Coordination) {
        let all = self.coordinate(windows, coordination.starting_at(now));
        let missing = self.missing;
        let drives = (0..self.announced.len() as u8).map(DriveId);
        for drive in drives.filter(|drive| all || missing.contains(drive.0)) {
            self.announce(drive, CollectionRight::Always);
        }
    }

    /// Publishes the decisions of the coordination: every status request, and permits if the drives
    /// are told.
    fn publish(&mut self) {
        while let Some(notice) = self.decided.pop_front() {
            match notice {
                Notice::Permit { drive, right } if self.is_announced() => {
                    self.announce(drive, right);
                }
                Notice::Permit { .. } => {}
                Notice::AskStatus { .. } => self.notices.push_back(notice),
            }
        }
    }

    fn announce(&mut self, drive: DriveId, right: CollectionRight) {
        self.announced[drive.index()] = Some(right);
        self.notices.push_back(Notice::Permit { drive, right });
    }

    /// Sends a permit to a drive that replaces another. Where drives take turns, it may always
    /// collect until it is rebuilt, since no read relies on it. Otherwise it gets the last permit
    /// of the old drive.
    pub(crate) fn drive_replaced(&mut self, drive: DriveId) {
        let turns = self.coordinator.busy_drives().filter(|_| self.is_announced());
        match (turns, self.announced[drive.index()]) {
            (Some(_), _) => self.announce(drive, CollectionRight::Always),
            (None, Some(right)) => self.announce(drive, right),
            (None, None) => {}
        }
    }

    /// The next permit or status request for a drive.
    #[inline]
    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The coordinator, which knows when each drive may collect.
    #[inline]
    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.coordinator.next_deadline()
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        self.coordinator.handle_deadline(now, &mut self.decided);
        self.publish();
    }

    pub(crate) fn handle_status(&mut self, now: Instant, drive: DriveId, status: &DriveStatus) {
        self.coordinator.handle_status(now, drive, status, &mut self.decided);
        self.publish();
    }

    /// Answers for an absent drive: it needs no time to collect.
    pub(crate) fn answer_for_absent(&mut self, now: Instant, drive: DriveId) {
        let status = DriveStatus {
            headroom_pages: u64::MAX,
            due: false,
            must_collect: false,
            collecting: false,
        };
        self.handle_status(now, drive, &status);
    }

    /// Changes the length of busy windows, and the width of the cycle. Returns whether it did.
    pub(crate) fn set_window(&mut self, now: Instant, change: WindowChange) -> bool {
        let changed = self.coordinator.set_window(now, change, &mut self.decided);
        self.publish();
        changed
    }

    /// Notes that a stripe had more busy members than parities.
    pub(crate) fn note_too_many_busy(&mut self) {
        self.coordinator.note_too_many_busy();
    }
}
