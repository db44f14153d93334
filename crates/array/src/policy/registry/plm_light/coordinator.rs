//! The coordinator as a separate machine: a message with the traffic of a window comes in, one with
//! the counts of the next windows goes out. It knows neither the array nor a clock.

use super::allocation::{Allocation, AllocationConfig};
use nvme::{WindowCounts, WindowTraffic};

/// PLMLC, the coordinator of PLM-light (§III-A).
#[derive(Clone, Debug)]
pub struct Plmlc {
    allocation: Allocation,
}

impl Plmlc {
    /// A coordinator that has seen nothing.
    #[must_use]
    pub fn new(config: AllocationConfig) -> Self {
        Self { allocation: Allocation::new(config) }
    }

    /// Takes the traffic of a window, and returns the counts of the next windows. Windows come in
    /// order. A window that is missing changes nothing.
    pub fn handle_traffic(&mut self, traffic: &WindowTraffic) -> WindowCounts {
        let WindowTraffic { window, reads, writes, .. } = *traffic;
        self.allocation.learn(reads, writes);
        let (reads, writes) = self.allocation.counts();
        WindowCounts { window, reads, writes }
    }
}
