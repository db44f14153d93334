//! The keys that reservation commands carry as their data.

use super::super::field::{get_u64, put_u64};

/// Bytes of the data of Reservation Register.
pub const REGISTER_KEYS_BYTES: usize = 16;
/// Bytes of the data of Reservation Acquire.
pub const ACQUIRE_KEYS_BYTES: usize = 16;
/// Bytes of the data of Reservation Release.
pub const RELEASE_KEY_BYTES: usize = 8;

const CRKEY: usize = 0;
const SECOND: usize = 8;

/// The data of Reservation Register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterKeys {
    /// CRKEY: the present key of the host.
    pub current: u64,
    /// NRKEY: its new key.
    pub new: u64,
}

/// The data of Reservation Acquire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireKeys {
    /// CRKEY: the present key of the host.
    pub current: u64,
    /// PRKEY: the key of those that are preempted.
    pub preempt: u64,
}

/// The data of Reservation Release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseKey {
    /// CRKEY: the present key of the host.
    pub current: u64,
}

impl RegisterKeys {
    /// Reads the data.
    #[must_use]
    pub fn decode(data: &[u8; REGISTER_KEYS_BYTES]) -> Self {
        Self { current: get_u64(data, CRKEY), new: get_u64(data, SECOND) }
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; REGISTER_KEYS_BYTES] {
        two(self.current, self.new)
    }
}

impl AcquireKeys {
    /// Reads the data.
    #[must_use]
    pub fn decode(data: &[u8; ACQUIRE_KEYS_BYTES]) -> Self {
        Self { current: get_u64(data, CRKEY), preempt: get_u64(data, SECOND) }
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; ACQUIRE_KEYS_BYTES] {
        two(self.current, self.preempt)
    }
}

impl ReleaseKey {
    /// Reads the data.
    #[must_use]
    pub fn decode(data: &[u8; RELEASE_KEY_BYTES]) -> Self {
        Self { current: get_u64(data, CRKEY) }
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; RELEASE_KEY_BYTES] {
        self.current.to_le_bytes()
    }
}

fn two(first: u64, second: u64) -> [u8; 16] {
    let mut data = [0; 16];
    put_u64(&mut data, CRKEY, first);
    put_u64(&mut data, SECOND, second);
    data
}
