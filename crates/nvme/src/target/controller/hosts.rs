//! Hosts that may use a subsystem.

use crate::wire::Nqn;
use alloc::vec::Vec;

/// Hosts that may use a subsystem. A host names itself, so the list protects against mistakes, and
/// against other hosts only on a private network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostList {
    /// All hosts.
    Any,
    /// These hosts.
    Only(Vec<Nqn>),
}

impl HostList {
    /// Whether a host may use the subsystem.
    #[must_use]
    pub fn allows(&self, host: &Nqn) -> bool {
        match self {
            Self::Any => true,
            Self::Only(hosts) => hosts.contains(host),
        }
    }

    /// Position of a host in the list; 0 if all hosts are allowed, and the length of the list if
    /// this one is not.
    pub(super) fn place(&self, host: &Nqn) -> usize {
        match self {
            Self::Any => 0,
            Self::Only(hosts) => {
                hosts.iter().position(|known| known == host).unwrap_or(hosts.len())
            }
        }
    }
}
