//! What is known of reservations, and what of it outlives a loss of power.

use crate::wire::ReservationType;
use alloc::vec::Vec;

/// The identifier of a host, as Connect has it.
pub type HostId = [u8; 16];

/// Most registrants of a namespace. Another host is refused with an internal error, because NVMe
/// has no status for it.
pub const REGISTRANTS_MAX: usize = 128;

/// Whether a namespace has reservations, and what becomes of them with a loss of power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// There are no reservations.
    Absent,
    /// A loss of power ends them all.
    Impossible,
    /// Hosts choose: the driver can keep them (Persist Through Power Loss).
    Possible,
}

/// A host that has registered a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registrant {
    /// The host.
    pub host: HostId,
    /// Its key.
    pub key: u64,
}

/// The reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Its type.
    pub kind: ReservationType,
    /// The registrant that holds it; of a type that all hold, the one that acquired it.
    pub holder: HostId,
}

/// Everything that is known of the reservations of a namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReservationState {
    /// GEN.
    pub generation: u32,
    /// PTPLS: all this outlives a loss of power.
    pub persists: bool,
    /// Registrants, in the order in which they registered.
    pub registrants: Vec<Registrant>,
    /// The reservation, if there is one. Its holder is a registrant.
    pub held: Option<Held>,
}

impl ReservationState {
    /// What is left of it after a loss of power.
    #[must_use]
    pub fn after_power_loss(self) -> Self {
        if self.persists { self } else { Self::default() }
    }

    /// Whether a host is a registrant.
    #[must_use]
    pub fn has(&self, host: &HostId) -> bool {
        self.key_of(host).is_some()
    }

    /// Whether a host holds the reservation.
    #[must_use]
    pub fn holds(&self, host: &HostId) -> bool {
        self.held.is_some_and(|held| match held.kind.is_held_by_all() {
            true => self.has(host),
            false => held.holder == *host,
        })
    }

    pub(super) fn key_of(&self, host: &HostId) -> Option<u64> {
        let own = self.registrants.iter().find(|registrant| registrant.host == *host);
        own.map(|registrant| registrant.key)
    }
}
