//! Conversation of a coordinator with an array under PLM-light (PLM-light §III-A). It reads the
//! traffic of windows from log page C0h, and sets counts by feature C0h.
//!
//! The page is read after an event of the array, and otherwise at intervals: an array without
//! events only works more slowly. One command of each kind is in flight at a time, so counts arrive
//! in the order of their windows.

use super::controller::{Outgoing, Purpose, Submission, admin, set};
use crate::WindowCounts;
use crate::wire::plm_light::{CountsData, TRAFFIC_LOG_BYTES, TrafficLog};
use crate::wire::{AdminCommand, CompletionEntry, Feature, GetLogPage, LogPage, StatusField};
use core::mem::{replace, take};
use units::{Duration, Instant};

/// Interval between reads of the page without an event: a tenth of the time after which an array
/// with windows of a millisecond gives up waiting for counts.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An answer of the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Log page C0h.
    Traffic(TrafficLog),
    /// There is no such page: the array wants no coordinator.
    NoTraffic(StatusField),
    /// The page has an unknown format.
    Malformed,
    /// Status of setting the counts.
    Counts(StatusField),
}

/// One conversation.
#[derive(Debug)]
pub struct Coordinating {
    is_asking: bool,
    is_due: bool,
    /// Time of the next read of the page without an event.
    next_look: Instant,
    /// Counts to be set; newer counts replace them.
    counts: Option<CountsData>,
    is_setting: bool,
}

impl Coordinating {
    /// A conversation that begins with a read of the page.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        let (is_asking, is_due, is_setting) = (false, true, false);
        Self { is_asking, is_due, next_look: now, counts: None, is_setting }
    }

    /// Handles an event of traffic.
    pub const fn handle_event(&mut self) {
        self.is_due = true;
    }

    /// Sets counts, for the life of the policy with this generation.
    pub const fn set(&mut self, generation: u32, counts: WindowCounts) {
        self.counts = Some(CountsData { generation, counts });
    }

    /// Time at which to call [`Self::poll`] if nothing else happens.
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        if self.is_asking { Instant::NEVER } else { self.next_look }
    }

    /// The next command for the admin queue.
    pub fn poll(&mut self, now: Instant) -> Option<Submission> {
        if !self.is_setting
            && let Some(data) = self.counts.take()
        {
            self.is_setting = true;
            let command = set(Feature::WindowCounts);
            let data = Outgoing::Data(data.encode().to_vec());
            return Some(admin(Purpose::WindowCounts, 0, command, data));
        }
        let is_due = self.is_due || self.next_look <= now;
        if !is_due || replace(&mut self.is_asking, true) {
            return None;
        }
        (self.is_due, self.next_look) = (false, now + LOOK_EVERY);
        let bytes = TRAFFIC_LOG_BYTES as u32;
        let command = AdminCommand::GetLogPage(GetLogPage::new(LogPage::Traffic, bytes));
        Some(admin(Purpose::Traffic, u32::MAX, command, Outgoing::Room(bytes)))
    }

    /// Handles the answer to a command, with its data; `None` if the command belongs to another
    /// machine.
    pub fn handle_completion(
        &mut self,
        purpose: Purpose,
        completion: &CompletionEntry,
        data: &[u8],
    ) -> Option<Heard> {
        let status = completion.status;
        match purpose {
            Purpose::Traffic if !take(&mut self.is_asking) => None,
            Purpose::Traffic if !status.is_success() => Some(Heard::NoTraffic(status)),
            Purpose::Traffic => {
                let page = data.first_chunk().and_then(TrafficLog::decode);
                Some(page.map_or(Heard::Malformed, Heard::Traffic))
            }
            Purpose::WindowCounts if take(&mut self.is_setting) => Some(Heard::Counts(status)),
            _ => None,
        }
    }
}
