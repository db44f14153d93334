//! Authentication of queues: hosts prove that they know their secret (DH-HMAC-CHAP, TP 8006).
//!
//! Knows: the queues that have to authenticate, the progress of each, and the inputs of each
//! computation. Does not know: the implementation of hash functions and powers, or the source of
//! random bytes; the driver provides both.

mod cryptography;
mod ephemeral;
mod exchange;

pub use cryptography::{Cryptography, Digest, Power, RANDOM_BYTES, SharedValue};

use super::controller::Queue;
use super::transport::Answer;
use crate::wire::{AuthFailure, DhGroup, HashFunction, Nqn};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use cryptography::EXPONENT_BYTES;
use ephemeral::Ephemeral;
use exchange::Exchange;

/// A secret in its final form: if the text of a key names a hash function, the driver has
/// transformed the key with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Vec<u8>);

impl core::fmt::Debug for Secret {
    /// Shows nothing of the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

/// A host that has a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostSecret {
    /// The host.
    pub host: Nqn,
    /// Secret of the host.
    pub secret: Secret,
    /// Secret that the controller proves to know, if the host challenges it.
    pub of_controller: Option<Secret>,
}

/// Settings of authentication.
#[derive(Clone, Debug)]
pub struct AuthenticationConfig {
    /// Hosts that can authenticate; others cannot.
    pub hosts: Vec<HostSecret>,
    /// Groups that may be used, the best first.
    pub groups: Vec<DhGroup>,
    /// Cryptographic functions.
    pub cryptography: Cryptography,
}

/// Hash functions that may be used, the best first: SHA-256, for which processors have
/// instructions.
const HASHES: [HashFunction; 3] =
    [HashFunction::Sha256, HashFunction::Sha384, HashFunction::Sha512];

/// Action of a driver for a command of authentication.
#[derive(Debug)]
pub enum AuthenticationAnswer {
    /// Answer the command.
    Now(Answer),
    /// Compute this, pass it to [`Subsystem::handle_power`](super::Subsystem::handle_power), and
    /// then answer the command with success.
    Held(Power),
    /// Answer the command and end the connection: its host has failed, and gets no other attempt
    /// there.
    Last(Answer),
}

/// Authentication of all queues that need it.
#[derive(Debug)]
pub(super) struct Authentication {
    config: AuthenticationConfig,
    subsystem: Nqn,
    /// Exchanges by controller and queue number.
    queues: BTreeMap<(u16, u16), Exchange>,
    /// S1 of the last exchange.
    sequence: u32,
    ephemeral: Ephemeral,
}

impl Authentication {
    pub(super) fn new(config: AuthenticationConfig, subsystem: Nqn) -> Self {
        let ephemeral = Ephemeral::default();
        Self { config, subsystem, queues: BTreeMap::new(), sequence: 0, ephemeral }
    }

    /// Adds a queue that a host got.
    pub(super) fn add(&mut self, queue: &Queue, host: Nqn) {
        self.queues.insert((queue.controller(), queue.number()), Exchange::new(host));
    }

    /// Removes a queue that has ended.
    pub(super) fn remove(&mut self, queue: &Queue) {
        self.queues.remove(&(queue.controller(), queue.number()));
    }

    /// Removes the queues of a controller that has ended.
    pub(super) fn remove_controller(&mut self, controller: u16) {
        self.queues.retain(|&(of, _), _| of != controller);
    }

    /// Whether the host of a queue has authenticated.
    pub(super) fn is_done(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_some_and(Exchange::is_done)
    }

    /// Completed steps of a queue's exchange.
    pub(super) fn progress(&self, queue: &Queue) -> u8 {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.map_or(0, Exchange::progress)
    }

    /// Whether an attempt of the host has failed, and no message with the reason is left to send.
    pub(super) fn is_over(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_none_or(Exchange::is_over)
    }

    /// Whether an attempt of the host has failed.
    pub(super) fn has_failed(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_none_or(Exchange::has_failed)
    }

    /// Handles a message of the host. Returns the power that is needed to continue, if any.
    pub(super) fn handle_send(
        &mut self,
        queue: &Queue,
        message: &[u8],
        random: &[u8; RANDOM_BYTES],
    ) -> Option<Power> {
        let exchange = self.queues.get_mut(&(queue.controller(), queue.number()))?;
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let sequence = self.sequence;
        let side = Side { config: &self.config, subsystem: &self.subsystem, sequence, random };
        exchange.handle_send(message, &side, &mut self.ephemeral)
    }

    /// Handles a power that the driver has computed for the queue.
    pub(super) fn handle_power(&mut self, queue: &Queue, value: Option<Vec<u8>>) {
        let Some(exchange) = self.queues.get_mut(&(queue.controller(), queue.number())) else {
            return;
        };
        let (sequence, random) = (self.sequence, &[0; RANDOM_BYTES]);
        let side = Side { config: &self.config, subsystem: &self.subsystem, sequence, random };
        exchange.handle_power(value, &side, &mut self.ephemeral);
    }

    /// Message that the host requests; `None` if the host has to send the next one.
    pub(super) fn handle_receive(&mut self, queue: &Queue) -> Option<Vec<u8>> {
        self.queues.get_mut(&(queue.controller(), queue.number()))?.handle_receive()
    }
}

/// The controller's side, for an exchange.
struct Side<'a> {
    config: &'a AuthenticationConfig,
    subsystem: &'a Nqn,
    sequence: u32,
    random: &'a [u8; RANDOM_BYTES],
}

impl Side<'_> {
    /// A power that the driver has to compute.
    const fn power(
        &self,
        group: DhGroup,
        exponent: [u8; EXPONENT_BYTES],
        base: Option<Vec<u8>>,
    ) -> Power {
        Power { group, exponent, base, cryptography: self.config.cryptography }
    }

    /// Secrets of a host.
    fn host(&self, host: &Nqn) -> Result<&HostSecret, AuthFailure> {
        self.config.hosts.iter().find(|known| known.host == *host).ok_or(AuthFailure::Failed)
    }
}
