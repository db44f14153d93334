//! Tokens instead of clocks: the host grants the right to collect to a limited number of drives at
//! a time, by need.
//!
//! Windows in turn give every drive the same share of the time, whether or not it has anything to
//! collect. A token goes to the drive with the least room left among those with something to
//! collect. It is a lease that ends by itself. It is extended while no other drive is in greater
//! need, and taken back when nothing is left to do. The host has to read every drive's log page in
//! each period, and a lease must be longer than one collection. Tokens are not in the paper; its
//! §7.2 only lets the host choose the length of fixed windows.

use super::status_poller::StatusPoller;
use crate::coordinate::notice::{Missing, Notice};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::{CollectionRight, DriveStatus};
use units::{DriveId, Duration, Instant};

/// Settings of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenConfig {
    /// Time for which a token is valid unless it is extended.
    pub lease: Duration,
    /// Time between two polls of the drives' status.
    pub period: Duration,
    /// Tokens: drives that may be busy at once, at most the number of parities.
    pub busy_drives: u32,
    /// Maximum error of any drive's clock; leases end earlier for the drives by this time.
    pub guard: Duration,
    /// Time of the first poll.
    pub start: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    drive: u8,
    until: Instant,
}

/// The state of the tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    config: TokenConfig,
    holders: Vec<Holder>,
    /// Drives that have failed or are being rebuilt, which need no token.
    missing: Missing,
    poller: StatusPoller,
}

impl Tokens {
    pub(crate) fn new(
        config: &TokenConfig,
        width: u32,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) -> Self {
        for drive in (0..width).filter(|&drive| !missing.drives.contains(drive as u8)) {
            let right = CollectionRight::Lease { until: Instant::ZERO };
            notices.push_back(Notice::Permit { drive: DriveId(drive as u8), right });
        }
        Self {
            config: *config,
            holders: Vec::new(),
            missing,
            poller: StatusPoller::new(width, config.start, config.period),
        }
    }

    /// Updates the missing drives. A drive with a token keeps it until it runs out.
    pub(crate) fn set_missing(
        &mut self,
        now: Instant,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) {
        self.holders.retain(|holder| !missing.drives.contains(holder.drive));
        for drive in self.missing.drives - missing.drives {
            // A drive that comes back collected at any time, and has a token while it still
            // collects.
            self.holders.push(Holder { drive, until: now });
            self.lease(drive, now, notices);
        }
        self.missing = missing;
    }

    /// Maximum number of tokens that are granted at once.
    pub(crate) fn busy_drives(&self) -> u32 {
        self.missing.busy_drives(self.config.busy_drives)
    }

    pub(crate) fn is_busy(&self, drive: DriveId, now: Instant) -> bool {
        self.missing.drives.contains(drive.0)
            || self.holders.iter().any(|holder| holder.drive == drive.0 && now < holder.until)
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.poller.next()
    }

    /// Polls all drives when that is due.
    pub(crate) fn handle_deadline(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        if self.poller.begin(now) {
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
        if self.poller.answer(drive, status) {
            self.take_back(now, notices);
            self.grant(now, notices);
            self.extend(now, notices);
        }
    }

    fn answer(&self, drive: u8) -> DriveStatus {
        self.poller.of(DriveId(drive))
    }

    fn lease(&self, drive: u8, until: Instant, notices: &mut VecDeque<Notice>) {
        let until =
            Instant::from_nanos(until.as_nanos().saturating_sub(self.config.guard.as_nanos()));
        let right = CollectionRight::Lease { until };
        notices.push_back(Notice::Permit { drive: DriveId(drive), right });
    }

    /// Takes back tokens that have run out, or whose holders have nothing left to do.
    fn take_back(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        let mut holders = core::mem::take(&mut self.holders);
        holders.retain(|holder| {
            let DriveStatus { due, collecting, .. } = self.answer(holder.drive);
            // A drive that overruns its lease keeps the token: better late than two at once.
            let keep = collecting || (due && now < holder.until);
            if !keep {
                self.lease(holder.drive, now, notices);
            }
            keep
        });
        self.holders = holders;
    }

    /// The drive in greatest need that holds no token.
    fn neediest(&self) -> Option<u8> {
        self.poller
            .drives()
            .map(|drive| drive.0)
            .filter(|&drive| self.answer(drive).due && !self.missing.drives.contains(drive))
            .filter(|&drive| self.holders.iter().all(|holder| holder.drive != drive))
            .min_by_key(|&drive| self.answer(drive).headroom_pages)
    }

    fn grant(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        while self.holders.len() < self.busy_drives() as usize {
            let Some(drive) = self.neediest() else { return };
            let until = now + self.config.lease;
            self.holders.push(Holder { drive, until });
            self.lease(drive, until, notices);
        }
    }

    /// Extends the tokens of drives that are in greater need than those without one.
    fn extend(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        let waiting = self.neediest().map(|drive| self.answer(drive).headroom_pages);
        for index in 0..self.holders.len() {
            let Holder { drive, until } = self.holders[index];
            let DriveStatus { headroom_pages, due, .. } = self.answer(drive);
            let neediest = waiting.is_none_or(|waiting| headroom_pages <= waiting);
            if due && neediest && until < now + self.config.lease {
                self.holders[index].until = now + self.config.lease;
                self.lease(drive, now + self.config.lease, notices);
            }
        }
    }
}
