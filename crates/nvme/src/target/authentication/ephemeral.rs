//! The controller's own exponents, which a few exchanges share: whoever only negotiates makes it
//! compute next to nothing.
//!
//! An exponent that is shared does not weaken an exchange: its challenge is new, and values of the
//! host are checked before they are raised to it. It is renewed so that one that leaks tells of few
//! exchanges.

use super::cryptography::EXPONENT_BYTES;
use crate::wire::DhGroup;
use alloc::vec::Vec;

/// Exchanges that share an exponent.
const EXCHANGES_MAX: u32 = 64;

/// An exponent, and what it gives.
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
    /// Nothing of what is secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Ephemeral")
    }
}

impl Ephemeral {
    /// The exponent of a group and its value for one more exchange; `None` when a new one is to be
    /// made. Until that is there others go on with the old one.
    pub(super) fn take(&mut self, group: DhGroup) -> Option<([u8; EXPONENT_BYTES], Vec<u8>)> {
        let pair = self.0.iter_mut().find(|pair| pair.group == group)?;
        pair.exchanges += 1;
        if pair.exchanges.is_multiple_of(EXCHANGES_MAX) {
            return None;
        }
        Some((pair.exponent, pair.public_value.clone()))
    }

    /// Keeps an exponent for the exchanges to come.
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
