//! Cryptography that the driver provides.

use crate::wire::{DIGEST_BYTES_MAX, DhGroup, HashFunction};
use alloc::vec::Vec;

/// Most random bytes of one message: a challenge, and an exponent.
pub const RANDOM_BYTES: usize = DIGEST_BYTES_MAX + EXPONENT_BYTES;

/// Bytes of the exponent of a side: twice the strength of the largest group (RFC 7919, 5.2).
pub(super) const EXPONENT_BYTES: usize = 40;

/// The result of a hash function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    bytes: [u8; DIGEST_BYTES_MAX],
    length: usize,
}

impl Digest {
    /// The digest with these bytes.
    ///
    /// # Panics
    ///
    /// If `digest` has more than [`DIGEST_BYTES_MAX`] bytes.
    #[must_use]
    pub fn new(digest: &[u8]) -> Self {
        let mut bytes = [0; DIGEST_BYTES_MAX];
        bytes[..digest.len()].copy_from_slice(digest);
        Self { bytes, length: digest.len() }
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Whether it equals other bytes, in a time that does not depend on the position of a
    /// difference.
    pub(super) fn equals(&self, other: &[u8]) -> bool {
        let pairs = self.as_bytes().iter().zip(other);
        let differing = pairs.fold(0, |differing, (a, b)| differing | (a ^ b));
        other.len() == self.length && core::hint::black_box(differing) == 0
    }
}

/// Cryptographic functions that an exchange needs.
#[derive(Clone, Copy, Debug)]
pub struct Cryptography {
    /// The digest of some bytes.
    pub hash: fn(HashFunction, &[u8]) -> Digest,
    /// HMAC with a key, over the concatenation of some pieces.
    pub hmac: fn(HashFunction, &[u8], &[&[u8]]) -> Digest,
    /// g^x in the length of the group, for an exponent of 40 bytes.
    pub public_value: fn(DhGroup, &[u8]) -> Vec<u8>,
    /// y^x in the length of the group, for an exponent of 40 bytes; `None` if y is not a valid
    /// value.
    pub shared_value: SharedValue,
}

/// Computes with a group, an exponent and the value of the other side.
pub type SharedValue = fn(DhGroup, &[u8], &[u8]) -> Option<Vec<u8>>;

/// A power in a group that an exchange needs to continue. It takes milliseconds, so a driver
/// computes it in a thread that serves no I/O, and passes it to
/// [`Subsystem::handle_power`](crate::target::Subsystem::handle_power).
#[derive(Clone)]
pub struct Power {
    pub(super) group: DhGroup,
    pub(super) exponent: [u8; EXPONENT_BYTES],
    /// The host's value; `None` for the generator.
    pub(super) base: Option<Vec<u8>>,
    pub(super) cryptography: Cryptography,
}

impl core::fmt::Debug for Power {
    /// Shows no secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Power").field("group", &self.group).finish()
    }
}

impl Power {
    /// Computes the power; `None` if the host's value is not valid.
    #[must_use]
    pub fn compute(&self) -> Option<Vec<u8>> {
        let Self { group, exponent, base, cryptography } = self;
        match base {
            None => Some((cryptography.public_value)(*group, exponent)),
            Some(base) => (cryptography.shared_value)(*group, exponent, base),
        }
    }
}
