//! Who this server is for the drives on the network that it claims.

use super::address::RemoteAddress;
use crate::clock::Clock;
use engine::durability::Uuid;
use engine::durability::owner::{Guard, Lease, OwnerName, Process};
use std::sync::{Arc, Mutex, PoisonError};
use units::Duration;

/// A server that claims drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimant {
    /// Its identifier, another one at every start: two servers of one machine are two hosts.
    pub owner: Uuid,
    /// Its process.
    pub process: Process,
    /// Its name for people.
    pub name: OwnerName,
    /// For how long a drive is its own after it has said so.
    pub lease: Duration,
}

/// A drive that is claimed and not connected now.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) lease: Lease,
    pub(super) guard: Guard,
}

#[derive(Debug)]
struct Shared {
    claimant: Claimant,
    /// The clock of all leases.
    clock: Clock,
    parked: Mutex<Vec<(RemoteAddress, Parked)>>,
}

/// The claims of a server. Its copies are one: a drive that is closed and connected again stays
/// claimed.
#[derive(Clone, Debug)]
pub struct Claims(Arc<Shared>);

impl PartialEq for Claims {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Claims {}

impl Claims {
    /// A server that has claimed nothing yet.
    #[must_use]
    pub fn new(claimant: Claimant) -> Self {
        let (clock, parked) = (Clock::new(), Mutex::default());
        Self(Arc::new(Shared { claimant, clock, parked }))
    }

    /// Who it is.
    #[must_use]
    pub fn claimant(&self) -> &Claimant {
        &self.0.claimant
    }

    pub(super) fn clock(&self) -> Clock {
        self.0.clock
    }

    /// A drive that is claimed is closed.
    pub(super) fn park(&self, address: &RemoteAddress, parked: Parked) {
        let mut all = self.0.parked.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(other, _)| other != address);
        all.push((address.clone(), parked));
    }

    /// The claim of a drive that is connected now.
    pub(super) fn unpark(&self, address: &RemoteAddress) -> Option<Parked> {
        let mut all = self.0.parked.lock().unwrap_or_else(PoisonError::into_inner);
        let position = all.iter().position(|(other, _)| other == address)?;
        Some(all.swap_remove(position).1)
    }

    /// Whether a drive is claimed and not connected.
    pub(crate) fn is_unconnected(&self, address: &RemoteAddress) -> bool {
        let all = self.0.parked.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|(other, _)| other == address)
    }
}
