//! State of reservations, and the part of it that outlives a loss of power.

use crate::wire::ReservationType;
use alloc::vec::Vec;

/// Identifier of a host, as in Connect.
pub type HostId = [u8; 16];

/// Most registrants of a namespace. Another host is refused with an internal error, because NVMe
/// has no status for it.
pub const REGISTRANTS_MAX: usize = 128;

/// Whether a namespace has reservations, and whether they can outlive a loss of power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// There are no reservations.
    Absent,
    /// A loss of power ends them all.
    Impossible,
    /// Hosts choose whether reservations outlive a loss of power: the driver can save them (Persist
    /// Through Power Loss).
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

/// A reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Its type.
    pub kind: ReservationType,
    /// The registrant that holds it; for a type that all registrants hold, the one that acquired
    /// it.
    pub holder: HostId,
}

/// State of the reservations of a namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReservationState {
    /// GEN.
    pub generation: u32,
    /// PTPLS: this state outlives a loss of power.
    pub persists: bool,
    /// Registrants, in the order in which they registered.
    pub registrants: Vec<Registrant>,
    /// The reservation; `None` without one. Its holder is a registrant.
    pub held: Option<Held>,
}

impl ReservationState {
    /// State after a loss of power.
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
