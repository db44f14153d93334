//! The keys that reservation commands carry as their data.

use super::super::structure::structure;

/// Bytes of the data of Reservation Register.
pub const REGISTER_KEYS_BYTES: usize = 16;
/// Bytes of the data of Reservation Acquire.
pub const ACQUIRE_KEYS_BYTES: usize = 16;
/// Bytes of the data of Reservation Release.
pub const RELEASE_KEY_BYTES: usize = 8;

/// The data of Reservation Register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterKeys {
    /// CRKEY: the present key of the host.
    pub current: u64,
    /// NRKEY: its new key.
    pub new: u64,
}

structure! { RegisterKeys, REGISTER_KEYS_BYTES;
    current: "CRKEY" @ 0,
    new: "NRKEY" @ 8,
}

/// The data of Reservation Acquire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireKeys {
    /// CRKEY: the present key of the host.
    pub current: u64,
    /// PRKEY: key of the registrants to preempt.
    pub preempt: u64,
}

structure! { AcquireKeys, ACQUIRE_KEYS_BYTES;
    current: "CRKEY" @ 0,
    preempt: "PRKEY" @ 8,
}

/// The data of Reservation Release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseKey {
    /// CRKEY: the present key of the host.
    pub current: u64,
}

structure! { ReleaseKey, RELEASE_KEY_BYTES;
    current: "CRKEY" @ 0,
}
