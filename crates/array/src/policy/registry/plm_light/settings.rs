//! Settings of PLM-light.

use super::allocation::{AllocationConfig, BaseRule};
use units::Duration;

/// Where the coordinator is (PLM-light §III-A).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CoordinatorPlace {
    /// Beside the array: it has the traffic of each window and counts follow.
    #[default]
    Own,
    /// A host of its own, which takes [`WindowTraffic`](nvme::WindowTraffic) and sets
    /// [`WindowCounts`](nvme::WindowCounts) through the driver of the array.
    Remote,
}

/// Settings of PLM-light.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlmLightSettings {
    /// Length of a deterministic window that nothing ends early; not zero. 1 ms (§IV-D).
    pub deterministic_window: Duration,
    /// Shortest non-deterministic window. Ours.
    pub shortest_drain: Duration,
    /// Longest non-deterministic window: what is not drained by then waits for the next. Ours.
    pub longest_drain: Duration,
    /// How reads are counted out, where the coordinator is beside the array.
    pub allocation: AllocationConfig,
    /// Time that each of the two messages takes between array and coordinator, where the
    /// coordinator is beside the array. None unless a network is modelled (§III-A: "using
    /// NVMe-OF").
    pub message: Duration,
    /// Where the coordinator is.
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
