//! Commands in flight inside the drive.

use nvme::{CommandId, Delays};
use units::Instant;

/// A command whose pages are not all done.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) id: CommandId,
    pub(crate) first_logical: u32,
    pub(crate) blocks: u32,
    pub(crate) remaining: u32,
    pub(crate) met_collection: bool,
    /// Some page of it queued where a collection had held something up.
    pub(crate) held_up: bool,
    /// Time from the arrival to the start of page operations: data crossing PCIe.
    pub(crate) before_flash: Delays,
    pub(crate) arrived: Instant,
}
