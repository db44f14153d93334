//! Which queues have shown that their host knows its secret (DH-HMAC-CHAP, TP 8006).
//!
//! Knows: which queues have to, how far each is, what to compute of what. Does not know: how hash functions and powers are
//! computed, where random bytes come from; the driver brings both.

mod cryptography;
mod exchange;

pub use cryptography::{Cryptography, Digest, RANDOM_BYTES, SharedValue};

use super::controller::Queue;
use crate::wire::{AuthFailure, DhGroup, HashFunction, Nqn};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use exchange::Exchange;

/// A secret, as it is used: where the text of a key names a hash function, the driver has transformed it with that.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Vec<u8>);

impl core::fmt::Debug for Secret {
    /// Nothing of it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

/// A host that has a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostSecret {
    /// The host.
    pub host: Nqn,
    /// What it has to know.
    pub secret: Secret,
    /// What the controller shows it, if the host asks.
    pub of_controller: Option<Secret>,
}

/// How hosts authenticate.
#[derive(Clone, Debug)]
pub struct AuthenticationConfig {
    /// The hosts that can. Others cannot.
    pub hosts: Vec<HostSecret>,
    /// Which groups may be used, the best first.
    pub groups: Vec<DhGroup>,
    /// How to compute.
    pub cryptography: Cryptography,
}

/// Which hash functions may be used, the best first: one that processors have instructions for.
const HASHES: [HashFunction; 3] =
    [HashFunction::Sha256, HashFunction::Sha384, HashFunction::Sha512];

/// All queues that have to authenticate.
#[derive(Debug)]
pub(super) struct Authentication {
    config: AuthenticationConfig,
    subsystem: Nqn,
    /// By controller and number.
    queues: BTreeMap<(u16, u16), Exchange>,
    /// S1 of the last exchange.
    sequence: u32,
}

impl Authentication {
    pub(super) const fn new(config: AuthenticationConfig, subsystem: Nqn) -> Self {
        Self { config, subsystem, queues: BTreeMap::new(), sequence: 0 }
    }

    /// A host got a queue.
    pub(super) fn add(&mut self, queue: &Queue, host: Nqn) {
        self.queues.insert((queue.controller(), queue.number()), Exchange::new(host));
    }

    /// A queue is no more.
    pub(super) fn remove(&mut self, queue: &Queue) {
        self.queues.remove(&(queue.controller(), queue.number()));
    }

    /// A controller is no more.
    pub(super) fn remove_controller(&mut self, controller: u16) {
        self.queues.retain(|&(of, _), _| of != controller);
    }

    /// Whether its host has shown that it knows the secret.
    pub(super) fn is_done(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_some_and(Exchange::is_done)
    }

    /// The host sends a message.
    pub(super) fn handle_send(
        &mut self,
        queue: &Queue,
        message: &[u8],
        random: &[u8; RANDOM_BYTES],
    ) {
        let Some(exchange) = self.queues.get_mut(&(queue.controller(), queue.number())) else {
            return;
        };
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let sequence = self.sequence;
        let side = Side { config: &self.config, subsystem: &self.subsystem, sequence, random };
        exchange.handle_send(message, &side);
    }

    /// The message that the host asks for; none if it is the host's turn.
    pub(super) fn handle_receive(&mut self, queue: &Queue) -> Option<Vec<u8>> {
        self.queues.get_mut(&(queue.controller(), queue.number()))?.handle_receive()
    }
}

/// What an exchange needs to know of the controller's side.
struct Side<'a> {
    config: &'a AuthenticationConfig,
    subsystem: &'a Nqn,
    sequence: u32,
    random: &'a [u8; RANDOM_BYTES],
}

impl Side<'_> {
    /// What is known of a host.
    fn host(&self, host: &Nqn) -> Result<&HostSecret, AuthFailure> {
        self.config.hosts.iter().find(|known| known.host == *host).ok_or(AuthFailure::Failed)
    }
}
