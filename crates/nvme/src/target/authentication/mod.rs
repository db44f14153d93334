//! Which queues have shown that their host knows its secret (DH-HMAC-CHAP, TP 8006).
//!
//! Knows: which queues have to, how far each is, what to compute of what. Does not know: how hash
//! functions and powers are computed, where random bytes come from; the driver brings both.

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

/// A secret, as it is used: where the text of a key names a hash function, the driver has
/// transformed it with that.
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

/// What a driver does with a command of authentication.
#[derive(Debug)]
pub enum AuthenticationAnswer {
    /// It answers the command.
    Now(Answer),
    /// It computes this, passes it to [`Subsystem::handle_power`](super::Subsystem::handle_power),
    /// and then answers the command with success.
    Held(Power),
    /// It answers the command and ends the connection: its host has failed, and gets no other
    /// attempt there.
    Last(Answer),
}

/// All queues that have to authenticate.
#[derive(Debug)]
pub(super) struct Authentication {
    config: AuthenticationConfig,
    subsystem: Nqn,
    /// By controller and number.
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

    /// Steps of its exchange that are done.
    pub(super) fn progress(&self, queue: &Queue) -> u8 {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.map_or(0, Exchange::progress)
    }

    /// Whether an attempt of its host has failed, and no message is left that says why.
    pub(super) fn is_over(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_none_or(Exchange::is_over)
    }

    /// Whether an attempt of its host has failed.
    pub(super) fn has_failed(&self, queue: &Queue) -> bool {
        let exchange = self.queues.get(&(queue.controller(), queue.number()));
        exchange.is_none_or(Exchange::has_failed)
    }

    /// The host sends a message. Returns the power that is needed to go on, if one is.
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

    /// The driver has computed a power for the queue.
    pub(super) fn handle_power(&mut self, queue: &Queue, value: Option<Vec<u8>>) {
        let Some(exchange) = self.queues.get_mut(&(queue.controller(), queue.number())) else {
            return;
        };
        let (sequence, random) = (self.sequence, &[0; RANDOM_BYTES]);
        let side = Side { config: &self.config, subsystem: &self.subsystem, sequence, random };
        exchange.handle_power(value, &side, &mut self.ephemeral);
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
    /// A power that the driver is to compute.
    const fn power(
        &self,
        group: DhGroup,
        exponent: [u8; EXPONENT_BYTES],
        base: Option<Vec<u8>>,
    ) -> Power {
        Power { group, exponent, base, cryptography: self.config.cryptography }
    }

    /// What is known of a host.
    fn host(&self, host: &Nqn) -> Result<&HostSecret, AuthFailure> {
        self.config.hosts.iter().find(|known| known.host == *host).ok_or(AuthFailure::Failed)
    }
}
