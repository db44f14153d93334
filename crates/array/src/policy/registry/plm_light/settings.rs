//! Settings of PLM-light.

use super::allocation::{AllocationConfig, BaseRule};
use units::Duration;

/// Place of the coordinator (PLM-light §III-A).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CoordinatorPlace {
    /// Beside the array: it gets the traffic of each window, and its counts follow.
    #[default]
    Own,
    /// On a separate host, which takes [`WindowTraffic`](nvme::WindowTraffic) and sets
    /// [`WindowCounts`](nvme::WindowCounts) through the driver of the array.
    Remote,
}

/// Settings of PLM-light.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlmLightSettings {
    /// Length of a deterministic window that is not ended early; not zero. 1 ms (§IV-D).
    pub deterministic_window: Duration,
    /// Shortest non-deterministic window. The value is ours.
    pub shortest_drain: Duration,
    /// Longest non-deterministic window: pages left by then wait for the next. The value is ours.
    pub longest_drain: Duration,
    /// Allocation of reads, where the coordinator is beside the array.
    pub allocation: AllocationConfig,
    /// Time that each of the two messages takes between array and coordinator, where the
    /// coordinator is beside the array. Zero unless a network is modelled (§III-A: "using
    /// NVMe-OF").
    pub message: Duration,
    /// Place of the coordinator.
    pub coordinator: CoordinatorPlace,
}

impl Default for PlmLightSettings {
    fn default() -> Self {
        Self {
            deterministic_window: Duration::from_millis(1),
            shortest_drain: Duration::from_micros(100),
            longest_drain: Duration::from_millis(10),
            allocation: AllocationConfig::article(BaseRule::Prioritized),
            message: Duration::ZERO,
            coordinator: CoordinatorPlace::Own,
        }
    }
}
