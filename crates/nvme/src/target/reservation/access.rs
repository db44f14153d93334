//! Commands that a reservation denies to a host (NVM Express 1.4, Figure "Command Behavior in the
//! Presence of a Reservation").

use super::state::{HostId, ReservationState};
use crate::target::io::IoOperation;

/// Kind of a command, as reservations distinguish it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The read group: Read, Compare.
    Read,
    /// The write group: Write, Write Zeroes, Dataset Management, Flush.
    Write,
}

impl Access {
    pub(in crate::target) const fn of(operation: &IoOperation) -> Self {
        match operation {
            IoOperation::Read(_) => Self::Read,
            IoOperation::Write(_)
            | IoOperation::WriteZeroes { .. }
            | IoOperation::Deallocate { .. }
            | IoOperation::Flush
            | IoOperation::Nothing => Self::Write,
        }
    }
}

impl ReservationState {
    /// Whether a host has this access.
    #[must_use]
    pub fn allows(&self, host: &HostId, access: Access) -> bool {
        let Some(held) = self.held else { return true };
        if access == Access::Read && !held.kind.guards_reads() {
            return true;
        }
        self.holds(host) || held.kind.admits_registrants() && self.has(host)
    }
}
