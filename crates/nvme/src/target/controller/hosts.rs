//! Which hosts may use a subsystem.

use crate::wire::Nqn;
use alloc::vec::Vec;

/// Which hosts may use a subsystem. A host names itself, so a list is a guard against mistakes, and
/// against others only on a network that nobody else is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostList {
    /// All.
    Any,
    /// These.
    Only(Vec<Nqn>),
}

impl HostList {
    /// Whether a host may.
    #[must_use]
    pub fn allows(&self, host: &Nqn) -> bool {
        match self {
            Self::Any => true,
            Self::Only(hosts) => hosts.contains(host),
        }
    }

    /// Its place in the list; 0 where all may, and the number of all where it may not.
    pub(super) fn place(&self, host: &Nqn) -> usize {
        match self {
            Self::Any => 0,
            Self::Only(hosts) => {
                hosts.iter().position(|known| known == host).unwrap_or(hosts.len())
            }
        }
    }
}
