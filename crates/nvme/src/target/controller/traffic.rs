//! Traffic of windows for a coordinator, and the counts that it sets: log page C0h and feature C0h.
//!
//! The first controller that sets counts belongs to the coordinator until it ends. Two coordinators
//! would each undo the counts of the other.

use crate::wire::plm_light::{Answered, CountsData, TRAFFIC_MAX, TrafficLog};
use crate::wire::{StatusCode, StatusField};
use crate::{WindowCounts, WindowTraffic};
use alloc::collections::VecDeque;
use units::{Duration, Instant};

/// Traffic and counts.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// Number of policies so far that wanted a coordinator.
    generation: u32,
    /// Length of a window; `None` for a policy that wants no coordinator.
    length: Option<Duration>,
    windows: VecDeque<WindowTraffic>,
    /// Controller over which counts are set.
    owner: Option<u16>,
    counts: Option<(WindowCounts, Answered)>,
}

impl Traffic {
    /// Whether the policy wants counts.
    pub(super) const fn is_wanted(&self) -> bool {
        self.length.is_some()
    }

    /// Begins a policy that wants counts for windows of this length, or none (`None`).
    pub(super) fn begin(&mut self, length: Option<Duration>) {
        let generation = self.generation.wrapping_add(length.is_some().into());
        *self = Self { generation, length, owner: self.owner, ..Self::default() };
    }

    /// Adds a window that has ended.
    pub(super) fn push(&mut self, window: WindowTraffic) {
        if self.windows.len() == TRAFFIC_MAX {
            self.windows.pop_front();
        }
        self.windows.push_back(window);
    }

    /// Log page C0h.
    ///
    /// # Errors
    ///
    /// If the policy wants no coordinator.
    pub(super) fn page(&self) -> Result<TrafficLog, StatusField> {
        Ok(TrafficLog {
            generation: self.generation,
            length: self.length.ok_or(StatusCode::InvalidLogPage.for_good())?,
            answered: self.counts.map(|(_, answered)| answered),
            windows: self.windows.iter().copied().collect(),
        })
    }

    /// Counts that were set last.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub(super) fn counts(&self) -> Result<CountsData, StatusField> {
        let invalid = StatusCode::InvalidField.for_good();
        let (counts, _) = self.counts.filter(|_| self.is_wanted()).ok_or(invalid)?;
        Ok(CountsData { generation: self.generation, counts })
    }

    /// Set Features C0h.
    ///
    /// # Errors
    ///
    /// If the counts are not based on a window of this life of the policy, if they are based on an
    /// earlier window than the last counts, or if another controller sets counts. Nothing is
    /// changed then.
    pub(super) fn set(
        &mut self,
        now: Instant,
        controller: u16,
        data: &CountsData,
    ) -> Result<WindowCounts, StatusField> {
        if !self.is_wanted() {
            return Err(StatusCode::InvalidField.for_good());
        }
        if self.owner.is_some_and(|owner| owner != controller) {
            return Err(StatusCode::CommandSequence.for_good());
        }
        let CountsData { generation, counts } = *data;
        let newest = self.windows.back().map_or(0, |window| window.window);
        let least = self.counts.map_or(1, |(counts, _)| counts.window);
        if generation != self.generation || !(least..=newest).contains(&counts.window) {
            return Err(StatusCode::InvalidField.for_good());
        }
        let from = self.windows.iter().find(|window| window.window >= counts.window);
        let after = from.map_or(Duration::ZERO, |window| now.since(window.ended));
        self.owner = Some(controller);
        self.counts = Some((counts, Answered { window: counts.window, after }));
        Ok(counts)
    }

    /// Forgets a controller that was reset or has ended. The counts that it set stay, until the
    /// policy gives them up.
    pub(super) fn forget(&mut self, controller: u16) {
        self.owner = self.owner.filter(|owner| *owner != controller);
    }
}
