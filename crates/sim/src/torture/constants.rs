//! What all histories have in common.

use engine::durability::Uuid;
use units::Duration;

pub(super) const UUID: Uuid = Uuid([7; 16]);
pub(super) const PAGE_BYTES: u32 = 4096;
/// How long a region of the intent record is quiet before it is clean.
pub(super) const QUIET_FOR: Duration = Duration::from_secs(5);
/// Longest that a shutdown waits for requests.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Longest that the array may take to come to rest when nothing more goes wrong.
pub(super) const REST: Duration = Duration::from_secs(600);
