//! The conversation of a coordinator with an array under PLM-light (PLM-light §III-A): traffic of
//! windows comes as log page C0h, counts go as feature C0h.
//!
//! The page is asked for when the array tells of an event, and otherwise from time to time: an
//! array that tells of none is only slower. One command of each kind is out at a time, so counts
//! arrive in the order of their windows.

use super::controller::{Outgoing, Purpose, Submission, admin, set};
use crate::WindowCounts;
use crate::wire::plm_light::{CountsData, TRAFFIC_LOG_BYTES, TrafficLog};
use crate::wire::{AdminCommand, CompletionEntry, Feature, GetLogPage, LogPage, StatusField};
use core::mem::{replace, take};
use units::{Duration, Instant};

/// After how long without an event the page is asked for: a tenth of the time in which an array
/// with windows of a millisecond gives counts up.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An answer of the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Log page C0h.
    Traffic(TrafficLog),
    /// There is no such page: the array wants no coordinator.
    NoTraffic(StatusField),
    /// The page is none that is known here.
    Malformed,
    /// Status of the counts.
    Counts(StatusField),
}

/// One conversation.
#[derive(Debug)]
pub struct Coordinating {
    is_asking: bool,
    is_due: bool,
    /// When the page is asked for without an event.
    next_look: Instant,
    /// Counts that are to be set. Newer ones take their place.
    counts: Option<CountsData>,
    is_setting: bool,
}

impl Coordinating {
    /// A conversation that begins with the page.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        let (is_asking, is_due, is_setting) = (false, true, false);
        Self { is_asking, is_due, next_look: now, counts: None, is_setting }
    }

    /// The array told of traffic.
    pub const fn handle_event(&mut self) {
        self.is_due = true;
    }

    /// Counts are to be set in the life of the policy that has this generation.
    pub const fn set(&mut self, generation: u32, counts: WindowCounts) {
        self.counts = Some(CountsData { generation, counts });
    }

    /// When [`Self::poll`] wants to be called if nothing else happens.
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

    /// Takes the answer to a command, with its data; `None` if the command was another's.
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
