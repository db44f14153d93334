//! The controller's own exponents, which a few exchanges share: a host that only negotiates costs
//! almost no computation.
//!
//! An exponent that is shared does not weaken an exchange: its challenge is new, and values of the
//! host are checked before they are raised to it. It is renewed so that a leaked exponent reveals
//! few exchanges.

use super::cryptography::EXPONENT_BYTES;
use crate::wire::DhGroup;
use alloc::vec::Vec;

/// Number of exchanges that share an exponent.
const EXCHANGES_MAX: u32 = 64;

/// An exponent with its public value.
struct Pair {
    group: DhGroup,
    exponent: [u8; EXPONENT_BYTES],
    public_value: Vec<u8>,
    exchanges: u32,
}

/// At most one exponent of each group.
#[derive(Default)]
pub(super) struct Ephemeral(Vec<Pair>);

impl core::fmt::Debug for Ephemeral {
    /// Shows no secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Ephemeral")
    }
}

impl Ephemeral {
    /// Exponent of a group and its public value for one more exchange; `None` when a new one has to
    /// be made. Until it is there, other exchanges use the old one.
    pub(super) fn take(&mut self, group: DhGroup) -> Option<([u8; EXPONENT_BYTES], Vec<u8>)> {
        let pair = self.0.iter_mut().find(|pair| pair.group == group)?;
        pair.exchanges += 1;
        if pair.exchanges.is_multiple_of(EXCHANGES_MAX) {
            return None;
        }
        Some((pair.exponent, pair.public_value.clone()))
    }

    /// Keeps an exponent for later exchanges.
    pub(super) fn keep(
        &mut self,
        group: DhGroup,
        exponent: [u8; EXPONENT_BYTES],
        public_value: Vec<u8>,
    ) {
        self.0.retain(|pair| pair.group != group);
        self.0.push(Pair { group, exponent, public_value, exchanges: 1 });
    }
}
