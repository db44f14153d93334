//! Exchange of one queue, from Negotiate to Success.

use super::cryptography::{Cryptography, Digest, EXPONENT_BYTES, Power};
use super::ephemeral::Ephemeral;
use super::{HASHES, Secret, Side};
use crate::wire::{
    AuthFailure, AuthMessage, Challenge, DhGroup, HashFunction, Negotiate, Nqn, Reply, Success1,
};
use alloc::vec::Vec;

/// Terms of an exchange that both messages of the controller need.
#[derive(Clone, PartialEq, Eq)]
struct Terms {
    transaction: u16,
    hash: HashFunction,
    group: DhGroup,
    sequence: u32,
    challenge: Vec<u8>,
    exponent: [u8; EXPONENT_BYTES],
}

/// Next step of an exchange, and the side that takes it.
#[derive(Clone, PartialEq, Eq)]
enum Step {
    /// The host sends Negotiate.
    Negotiate,
    /// The driver computes the controller's value in a group, which completes the challenge.
    ChallengePower(Terms),
    /// The driver computes the shared value, with which this reply of the host is checked.
    ReplyPower(Terms, Reply),
    /// The controller sends this message; then the host replies.
    Challenge(Vec<u8>, Terms),
    /// The host sends Reply.
    Reply(Terms),
    /// The controller sends this message. If the host challenged the controller, Success2 has to
    /// follow.
    Success1(Vec<u8>, Option<u16>),
    /// The host sends Success2 of this transaction.
    Success2(u16),
    /// The controller sends this message, the last one.
    Failure(Vec<u8>),
    /// None: the queue can no longer be used.
    Over,
}

/// State of a queue's authentication.
pub(super) struct Exchange {
    host: Nqn,
    /// An exchange succeeded, and none has failed since: a host may repeat it on a queue in use.
    is_done: bool,
    step: Step,
}

impl core::fmt::Debug for Exchange {
    /// Shows no secrets.
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

    /// Completed steps towards success; zero before the first and after a failure.
    pub(super) const fn progress(&self) -> u8 {
        match self.step {
            Step::Negotiate | Step::Failure(_) | Step::Over => 0,
            Step::ChallengePower(_) => 1,
            Step::Challenge(..) => 2,
            Step::Reply(_) => 3,
            Step::ReplyPower(..) => 4,
            Step::Success1(..) => 5,
            Step::Success2(_) => 6,
        }
    }

    /// Whether it has failed, so that the connection can no longer be used.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.step, Step::Over)
    }

    /// Whether it has failed, and the host may still fetch the reason.
    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.step, Step::Failure(_) | Step::Over)
    }

    /// Handles a message of the host. Returns the power that is needed to continue, if any.
    pub(super) fn handle_send(
        &mut self,
        message: &[u8],
        side: &Side<'_>,
        ephemeral: &mut Ephemeral,
    ) -> Option<Power> {
        let decoded = AuthMessage::decode(message);
        match self.take(message, decoded, side, ephemeral) {
            Ok(power) => power,
            Err(failure) => {
                self.fail(failure, decoded.map_or(0, |(_, transaction)| transaction));
                None
            }
        }
    }

    /// Handles the power that the last message needed.
    pub(super) fn handle_power(
        &mut self,
        value: Option<Vec<u8>>,
        side: &Side<'_>,
        ephemeral: &mut Ephemeral,
    ) {
        let (transaction, result) = match (&self.step, value) {
            (Step::ChallengePower(terms), Some(value)) => {
                ephemeral.keep(terms.group, terms.exponent, value.clone());
                (terms.transaction, Ok((challenge(terms.clone(), value), false)))
            }
            (Step::ReplyPower(terms, reply), Some(value)) => {
                (terms.transaction, answer(&self.host, terms, reply, Some(&value), side))
            }
            (Step::ChallengePower(terms) | Step::ReplyPower(terms, _), None) => {
                (terms.transaction, Err(AuthFailure::IncorrectPayload))
            }
            // The exchange failed while the power was computed.
            _ => return,
        };
        match result {
            Ok((step, is_done)) => {
                self.is_done |= is_done;
                self.step = step;
            }
            Err(failure) => self.fail(failure, transaction),
        }
    }

    fn fail(&mut self, failure: AuthFailure, transaction: u16) {
        self.is_done = false;
        self.step = Step::Failure(failure.encode(transaction).to_vec());
    }

    pub(super) fn handle_receive(&mut self) -> Option<Vec<u8>> {
        let (message, next) = match &self.step {
            Step::Challenge(message, terms) => (message, Step::Reply(terms.clone())),
            Step::Success1(message, Some(transaction)) => (message, Step::Success2(*transaction)),
            Step::Success1(message, None) => (message, Step::Negotiate),
            Step::Failure(message) => (message, Step::Over),
            Step::Negotiate
            | Step::ChallengePower(_)
            | Step::ReplyPower(..)
            | Step::Reply(_)
            | Step::Success2(_)
            | Step::Over => return None,
        };
        let message = message.clone();
        self.step = next;
        Some(message)
    }

    /// Handles a message of this kind and transaction. Returns the power that is needed to
    /// continue, if any.
    fn take(
        &mut self,
        message: &[u8],
        decoded: Option<(AuthMessage, u16)>,
        side: &Side<'_>,
        ephemeral: &mut Ephemeral,
    ) -> Result<Option<Power>, AuthFailure> {
        let (step, power) = match (&self.step, decoded) {
            // One failure ends the exchange: a host that guesses needs a new connection for each
            // guess.
            (Step::Failure(_) | Step::Over, _) | (_, Some((AuthMessage::Failure2, _))) => {
                return Err(AuthFailure::Failed);
            }
            // Negotiate is refused in the middle of an exchange, because each may cost a power.
            (Step::Negotiate, Some((AuthMessage::Negotiate, _))) => {
                choose(message, side, ephemeral)?
            }
            (Step::Reply(terms), Some((AuthMessage::Reply, _))) => {
                let reply = Reply::decode(message, terms.hash, terms.group)?;
                if reply.transaction != terms.transaction {
                    return Err(AuthFailure::IncorrectPayload);
                }
                match terms.group {
                    DhGroup::Null => {
                        let (step, is_done) = answer(&self.host, terms, &reply, None, side)?;
                        self.is_done |= is_done;
                        (step, None)
                    }
                    group => {
                        let base = Some(reply.public_value.clone());
                        let power = side.power(group, terms.exponent, base);
                        (Step::ReplyPower(terms.clone(), reply), Some(power))
                    }
                }
            }
            (Step::Success2(expected), Some((AuthMessage::Success2, transaction))) => {
                if transaction != *expected {
                    return Err(AuthFailure::IncorrectPayload);
                }
                self.is_done = true;
                (Step::Negotiate, None)
            }
            _ => return Err(AuthFailure::IncorrectMessage),
        };
        self.step = step;
        Ok(power)
    }
}

/// Chooses hash function and group from the offers of the host.
fn choose(
    message: &[u8],
    side: &Side<'_>,
    ephemeral: &mut Ephemeral,
) -> Result<(Step, Option<Power>), AuthFailure> {
    let offer = Negotiate::decode(message)?;
    if offer.secure_channel != 0 {
        return Err(AuthFailure::ChannelMismatch);
    }
    let hash = HASHES.into_iter().find(|hash| offer.hashes.contains(hash));
    let hash = hash.ok_or(AuthFailure::HashUnusable)?;
    let group = side.config.groups.iter().find(|group| offer.groups.contains(group));
    let group = *group.ok_or(AuthFailure::GroupUnusable)?;
    let (random, fresh) = side.random.split_at(EXPONENT_BYTES);
    let mut exponent = [0; EXPONENT_BYTES];
    exponent.copy_from_slice(random);
    let mut terms = Terms {
        transaction: offer.transaction,
        hash,
        group,
        sequence: side.sequence,
        challenge: fresh[..hash.digest_bytes()].to_vec(),
        exponent,
    };
    if group == DhGroup::Null {
        return Ok((challenge(terms, Vec::new()), None));
    }
    match ephemeral.take(group) {
        Some((exponent, value)) => {
            terms.exponent = exponent;
            Ok((challenge(terms, value), None))
        }
        None => {
            let power = side.power(group, exponent, None);
            Ok((Step::ChallengePower(terms), Some(power)))
        }
    }
}

/// The controller's first message, with its value in the group.
fn challenge(terms: Terms, public_value: Vec<u8>) -> Step {
    let message = Challenge {
        transaction: terms.transaction,
        hash: terms.hash,
        group: terms.group,
        sequence: terms.sequence,
        challenge: terms.challenge.clone(),
        public_value,
    };
    Step::Challenge(message.encode(), terms)
}

/// Compares the answer of the host, and answers its challenge. Returns the next step, and whether
/// the exchange is complete.
fn answer(
    host: &Nqn,
    terms: &Terms,
    reply: &Reply,
    shared: Option<&[u8]>,
    side: &Side<'_>,
) -> Result<(Step, bool), AuthFailure> {
    let known = side.host(host)?;
    let functions = &side.config.cryptography;
    let responder = Responder { terms, functions, shared };
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

/// Challenge of one side to the other.
struct Question<'a> {
    challenge: &'a [u8],
    sequence: u32,
    who: &'a str,
    /// Names of the side that answers and of the side that challenges.
    names: [&'a Nqn; 2],
}

/// Computes answers.
struct Responder<'a> {
    terms: &'a Terms,
    functions: &'a Cryptography,
    shared: Option<&'a [u8]>,
}

impl Responder<'_> {
    /// R1 or R2: HMAC, with the secret, over the challenge and the names of both sides. With a
    /// group, the challenge is first bound to the shared value.
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
