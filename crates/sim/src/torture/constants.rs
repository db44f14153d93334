//! Constants of all histories.

use engine::durability::Uuid;
use units::Duration;

pub(super) const UUID: Uuid = Uuid([7; 16]);
pub(super) const PAGE_BYTES: u32 = 4096;
/// Time without writes after which a region of the intent record becomes clean.
pub(super) const QUIET_FOR: Duration = Duration::from_secs(5);
/// Longest time for which a shutdown waits for requests.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time in which the array must become idle after the last fault.
pub(super) const REST: Duration = Duration::from_secs(600);
