//! One queue, from Negotiate to Success.

use super::cryptography::{Cryptography, Digest, EXPONENT_BYTES};
use super::{HASHES, Secret, Side};
use crate::wire::{
    AuthFailure, AuthMessage, Challenge, DhGroup, HashFunction, Negotiate, Nqn, Reply, Success1,
};
use alloc::vec::Vec;

/// What of an exchange both messages of the controller need.
#[derive(Clone, PartialEq, Eq)]
struct Terms {
    transaction: u16,
    hash: HashFunction,
    group: DhGroup,
    sequence: u32,
    challenge: Vec<u8>,
    exponent: [u8; EXPONENT_BYTES],
}

/// Whose turn it is.
#[derive(Clone, PartialEq, Eq)]
enum Step {
    /// The host's: Negotiate.
    Negotiate,
    /// The controller's: this message, and then it is the host's turn with a reply.
    Challenge(Vec<u8>, Terms),
    /// The host's: Reply.
    Reply(Terms),
    /// The controller's: this message. If the host asked back, Success2 has to follow.
    Success1(Vec<u8>, Option<u16>),
    /// The host's: Success2 of this transaction.
    Success2(u16),
    /// The controller's: this message, the last one.
    Failure(Vec<u8>),
    /// Nobody's: the queue is of no use any more.
    Over,
}

/// How far a queue is.
pub(super) struct Exchange {
    host: Nqn,
    /// An exchange succeeded, and none failed since: a host may repeat it on a queue in use.
    is_done: bool,
    step: Step,
}

impl core::fmt::Debug for Exchange {
    /// Nothing of what is secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exchange")
            .field("host", &self.host)
            .field("is_done", &self.is_done)
            .finish()
    }
}

impl Exchange {
    pub(super) const fn new(host: Nqn) -> Self {
        Self { host, is_done: false, step: Step::Negotiate }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) fn handle_send(&mut self, message: &[u8], side: &Side<'_>) {
        let decoded = AuthMessage::decode(message);
        if let Err(failure) = self.take(message, decoded, side) {
            self.is_done = false;
            let transaction = decoded.map_or(0, |(_, transaction)| transaction);
            self.step = Step::Failure(failure.encode(transaction).to_vec());
        }
    }

    pub(super) fn handle_receive(&mut self) -> Option<Vec<u8>> {
        let (message, next) = match &self.step {
            Step::Challenge(message, terms) => (message, Step::Reply(terms.clone())),
            Step::Success1(message, Some(transaction)) => (message, Step::Success2(*transaction)),
            Step::Success1(message, None) => (message, Step::Negotiate),
            Step::Failure(message) => (message, Step::Over),
            Step::Negotiate | Step::Reply(_) | Step::Success2(_) | Step::Over => return None,
        };
        let message = message.clone();
        self.step = next;
        Some(message)
    }

    /// Takes a message of this kind and transaction.
    fn take(
        &mut self,
        message: &[u8],
        decoded: Option<(AuthMessage, u16)>,
        side: &Side<'_>,
    ) -> Result<(), AuthFailure> {
        self.step = match (&self.step, decoded) {
            // One failure ends it: a host that guesses needs a new connection for each guess.
            (Step::Failure(_) | Step::Over, _) | (_, Some((AuthMessage::Failure2, _))) => {
                return Err(AuthFailure::Failed);
            }
            // A host may begin again in the middle.
            (_, Some((AuthMessage::Negotiate, _))) => self.choose(message, side)?,
            (Step::Reply(terms), Some((AuthMessage::Reply, _))) => {
                let (step, is_done) = answer(&self.host, terms, message, side)?;
                self.is_done |= is_done;
                step
            }
            (Step::Success2(expected), Some((AuthMessage::Success2, transaction))) => {
                if transaction != *expected {
                    return Err(AuthFailure::IncorrectPayload);
                }
                self.is_done = true;
                Step::Negotiate
            }
            _ => return Err(AuthFailure::IncorrectMessage),
        };
        Ok(())
    }

    /// Chooses of what the host offers.
    fn choose(&self, message: &[u8], side: &Side<'_>) -> Result<Step, AuthFailure> {
        let offer = Negotiate::decode(message)?;
        if offer.secure_channel != 0 {
            return Err(AuthFailure::ChannelMismatch);
        }
        let hash = HASHES.into_iter().find(|hash| offer.hashes.contains(hash));
        let hash = hash.ok_or(AuthFailure::HashUnusable)?;
        let group = side.config.groups.iter().find(|group| offer.groups.contains(group));
        let group = *group.ok_or(AuthFailure::GroupUnusable)?;
        let (exponent, challenge) = side.random.split_at(EXPONENT_BYTES);
        let mut terms = Terms {
            transaction: offer.transaction,
            hash,
            group,
            sequence: side.sequence,
            challenge: challenge[..hash.digest_bytes()].to_vec(),
            exponent: [0; EXPONENT_BYTES],
        };
        terms.exponent.copy_from_slice(exponent);
        let public_value = match group {
            DhGroup::Null => Vec::new(),
            _ => (side.config.cryptography.public_value)(group, exponent),
        };
        let message = Challenge {
            transaction: terms.transaction,
            hash,
            group,
            sequence: terms.sequence,
            challenge: terms.challenge.clone(),
            public_value,
        };
        Ok(Step::Challenge(message.encode(), terms))
    }
}

/// Compares the answer of the host, and answers what it asks. The next step, and whether nothing else is needed.
fn answer(
    host: &Nqn,
    terms: &Terms,
    message: &[u8],
    side: &Side<'_>,
) -> Result<(Step, bool), AuthFailure> {
    let reply = Reply::decode(message, terms.hash, terms.group)?;
    if reply.transaction != terms.transaction {
        return Err(AuthFailure::IncorrectPayload);
    }
    let known = side.host(host)?;
    let functions = &side.config.cryptography;
    let shared = match terms.group {
        DhGroup::Null => None,
        group => {
            let shared = (functions.shared_value)(group, &terms.exponent, &reply.public_value);
            Some(shared.ok_or(AuthFailure::IncorrectPayload)?)
        }
    };
    let responder = Responder { terms, functions, shared: shared.as_deref() };
    let asked = Question {
        challenge: &terms.challenge,
        sequence: terms.sequence,
        who: "HostHost",
        names: [host, side.subsystem],
    };
    if !responder.response(&known.secret, &asked).equals(&reply.response) {
        return Err(AuthFailure::Failed);
    }
    let response = match &reply.challenge {
        None => None,
        Some(challenge) => {
            let secret = known.of_controller.as_ref().ok_or(AuthFailure::Failed)?;
            let asked = Question {
                challenge,
                sequence: reply.sequence,
                who: "Controller",
                names: [side.subsystem, host],
            };
            Some(responder.response(secret, &asked).as_bytes().to_vec())
        }
    };
    let asks_back = response.is_some();
    let digest_bytes = terms.hash.digest_bytes() as u8;
    let success = Success1 { transaction: terms.transaction, digest_bytes, response };
    let then = asks_back.then_some(terms.transaction);
    Ok((Step::Success1(success.encode(), then), !asks_back))
}

/// What one side asks the other.
struct Question<'a> {
    challenge: &'a [u8],
    sequence: u32,
    who: &'a str,
    /// Of the side that answers, and of the side that asks.
    names: [&'a Nqn; 2],
}

/// Computes answers.
struct Responder<'a> {
    terms: &'a Terms,
    functions: &'a Cryptography,
    shared: Option<&'a [u8]>,
}

impl Responder<'_> {
    /// R1 or R2: HMAC with the secret of the challenge and of who talks to whom. With a group the challenge is first
    /// bound to what both have computed there.
    fn response(&self, secret: &Secret, asked: &Question<'_>) -> Digest {
        let Cryptography { hash, hmac, .. } = self.functions;
        let function = self.terms.hash;
        let challenge = match self.shared {
            None => Digest::new(asked.challenge),
            Some(shared) => hmac(function, hash(function, shared).as_bytes(), &[asked.challenge]),
        };
        let [answers, asks] = asked.names;
        let pieces: [&[u8]; 8] = [
            challenge.as_bytes(),
            &asked.sequence.to_le_bytes(),
            &self.terms.transaction.to_le_bytes(),
            // SC_C: no secure channel.
            &[0],
            asked.who.as_bytes(),
            answers.as_str().as_bytes(),
            &[0],
            asks.as_str().as_bytes(),
        ];
        hmac(function, &secret.0, &pieces)
    }
}
