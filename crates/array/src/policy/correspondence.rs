//! Messages between an array and a coordinator on another host, carried by the array's driver.

use super::Policy;
use nvme::{WindowCounts, WindowTraffic};
use units::Duration;

/// State of a coordinator on another host, as the policy knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoordinatorState {
    /// It has set no counts yet: there is no limit.
    Awaited,
    /// Its counts are in force from the next window on.
    Heard,
    /// It has set none for so long that the last counts were dropped: there is no limit.
    Silent,
}

/// Messages between a policy and its coordinator on another host.
pub struct Correspondence<'a> {
    policy: &'a mut dyn Policy,
    state: CoordinatorState,
}

impl<'a> Correspondence<'a> {
    /// Messages of a policy; `None` without such a coordinator.
    pub(super) fn of(policy: &'a mut dyn Policy) -> Option<Self> {
        let state = policy.coordinator()?;
        Some(Self { policy, state })
    }

    /// State of the coordinator.
    #[must_use]
    pub const fn state(&self) -> CoordinatorState {
        self.state
    }

    /// Length of the windows for which it gives counts.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.policy.coordinated_window()
    }

    /// Next traffic for the coordinator.
    pub fn poll_traffic(&mut self) -> Option<WindowTraffic> {
        self.policy.poll_traffic()
    }

    /// Takes counts for windows that begin from now on. Returns whether the policy accepts them.
    pub fn set_counts(&mut self, counts: &WindowCounts) -> bool {
        self.policy.set_counts(counts)
    }
}
