//! Authentication of hosts, with functions that are not cryptographic but differ where real ones
//! do.

use super::bench::{Bench, NQN, config, terms};
use super::host::{HOST_NQN, Host, completion, connect, data, in_capsule, io, transport};
use nvme::target::{
    AuthenticationConfig, Cryptography, Digest, HostSecret, Secret, SubsystemConfig,
};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    AuthFailure, AuthMessage, Authentication, Challenge, Configuration, Connected, DhGroup,
    FabricsCommand, HashFunction, IoCommand, Negotiate, Nqn, Property, PropertySet, PropertySize,
    Reply, SglDescriptor, StatusCode, StatusField, Success1,
};
use units::{Rng, crc32c_append};

fn hash(function: HashFunction, bytes: &[u8]) -> Digest {
    let mut random = Rng::new(u64::from(crc32c_append(function.encode().into(), bytes)));
    let digest: Vec<u8> = (0..function.digest_bytes()).map(|_| random.next_u64() as u8).collect();
    Digest::new(&digest)
}

fn hmac(function: HashFunction, key: &[u8], pieces: &[&[u8]]) -> Digest {
    hash(function, &[key, &pieces.concat()].concat())
}

/// Diffie-Hellman modulo a prime of 31 bits, in the length of the group.
fn power(base: u64, exponent: &[u8]) -> u64 {
    let exponent = u64::from_be_bytes(exponent[..8].try_into().unwrap()) | 1;
    let modulus = (1u64 << 31) - 1;
    (0..64).rev().fold(1, |result, bit| {
        let squared = result * result % modulus;
        if exponent >> bit & 1 == 1 { squared * base % modulus } else { squared }
    })
}

fn in_group(group: DhGroup, value: u64) -> Vec<u8> {
    let mut bytes = vec![0; group.value_bytes() - 8];
    bytes.extend(value.to_be_bytes());
    bytes
}

fn public_value(group: DhGroup, exponent: &[u8]) -> Vec<u8> {
    in_group(group, power(7, exponent))
}

fn shared_value(group: DhGroup, exponent: &[u8], peer: &[u8]) -> Option<Vec<u8>> {
    let value = u64::from_be_bytes(peer[peer.len() - 8..].try_into().unwrap());
    (value > 1).then(|| in_group(group, power(value, exponent)))
}

const SECRET: &[u8] = b"of the host";
const OF_CONTROLLER: &[u8] = b"of the controller";

fn bench(groups: Vec<DhGroup>) -> Bench {
    let cryptography = Cryptography { hash, hmac, public_value, shared_value };
    let host = HostSecret {
        host: Nqn::new(HOST_NQN).unwrap(),
        secret: Secret(SECRET.to_vec()),
        of_controller: Some(Secret(OF_CONTROLLER.to_vec())),
    };
    let authentication = AuthenticationConfig { hosts: vec![host], groups, cryptography };
    let config = SubsystemConfig { authentication: Some(authentication), ..config() };
    Bench::with(config, terms())
}

/// A connection whose host tries to authenticate.
struct Dialogue {
    bench: Bench,
    host: Host,
    socket: usize,
    controller: u16,
}

impl Dialogue {
    fn connected(bench: Bench) -> Self {
        Self::connected_to(bench, 0, None)
    }

    fn connected_to(mut bench: Bench, queue: u16, controller: Option<u16>) -> Self {
        let (socket, mut host) = bench.greet(Digests::default(), 0);
        let (entry, data) = connect(0, (queue, 31), (controller, NQN), 5000, 0);
        let bytes = host.command(entry, &data);
        let answer = completion(&bench.talk(socket, &mut host, &bytes));
        assert!(answer.status.is_success(), "{answer:?}");
        let connected = Connected::decode(answer.result as u32);
        assert!(connected.authenticate, "the host is told that it has to");
        Self { bench, host, socket, controller: connected.controller }
    }

    fn command(&self, bytes: usize) -> Authentication {
        assert!(self.bench.sockets[self.socket].queue.is_some());
        Authentication { specific_0: 1, specific_1: 1, protocol: 0xe9, bytes: bytes as u32 }
    }

    fn send(&mut self, message: &[u8]) -> StatusField {
        let command = FabricsCommand::AuthenticationSend(self.command(message.len()));
        let entry = command.encode(1, in_capsule(message.len()));
        let bytes = self.host.command(entry, message);
        completion(&self.bench.talk(self.socket, &mut self.host, &bytes)).status
    }

    fn receive(&mut self) -> Result<Vec<u8>, StatusField> {
        let command = FabricsCommand::AuthenticationReceive(self.command(4096));
        let bytes = self.host.command(command.encode(2, transport(4096)), &[]);
        let pdus = self.bench.talk(self.socket, &mut self.host, &bytes);
        let status = completion(&pdus).status;
        if status.is_success() { Ok(data(&pdus)) } else { Err(status) }
    }

    /// Status of a command that has nothing to do with authentication.
    fn flush(&mut self) -> StatusField {
        let entry = io(3, SglDescriptor::NO_DATA, IoCommand::Flush);
        let bytes = self.host.command(entry, &[]);
        completion(&self.bench.talk(self.socket, &mut self.host, &bytes)).status
    }

    /// Negotiates, and answers with a secret. Returns the response of the controller.
    fn answer(&mut self, groups: &[DhGroup], secret: &[u8], asks_back: bool) -> Vec<u8> {
        let hashes = vec![HashFunction::Sha512, HashFunction::Sha256];
        let offer =
            Negotiate { transaction: 77, secure_channel: 0, hashes, groups: groups.to_vec() };
        assert!(self.send(&offer.encode()).is_success());
        let challenge = Challenge::decode(&self.receive().unwrap()).unwrap();
        assert_eq!((challenge.transaction, challenge.hash), (77, HashFunction::Sha256));
        let exponent = [3; 40];
        let (public, shared) = match challenge.group {
            DhGroup::Null => (Vec::new(), None),
            group => (
                public_value(group, &exponent),
                shared_value(group, &exponent, &challenge.public_value),
            ),
        };
        let bind = |challenge: &[u8]| match &shared {
            None => challenge.to_vec(),
            Some(shared) => {
                let key = hash(HashFunction::Sha256, shared);
                hmac(HashFunction::Sha256, key.as_bytes(), &[challenge]).as_bytes().to_vec()
            }
        };
        let response =
            |secret: &[u8], challenge: &[u8], sequence: u32, who: &str, names: [&str; 2]| {
                let tail =
                    [&[77, 0, 0], who.as_bytes(), names[0].as_bytes(), &[0], names[1].as_bytes()];
                let all = [&bind(challenge), &sequence.to_le_bytes()[..], &tail.concat()].concat();
                hmac(HashFunction::Sha256, secret, &[&all]).as_bytes().to_vec()
            };
        let names = [HOST_NQN, NQN];
        let mine = response(secret, &challenge.challenge, challenge.sequence, "HostHost", names);
        let reply = Reply {
            transaction: 77,
            response: mine,
            challenge: asks_back.then(|| vec![9; 32]),
            sequence: 4711,
            public_value: public,
        };
        assert!(self.send(&reply.encode()).is_success());
        let outcome = self.receive().unwrap();
        if let Some(success) = Success1::decode(&outcome) {
            let expected = response(OF_CONTROLLER, &[9; 32], 4711, "Controller", [NQN, HOST_NQN]);
            assert_eq!(success.response, asks_back.then_some(expected), "the controller's answer");
        }
        outcome
    }
}

const REQUIRED: StatusField = StatusCode::AuthenticationRequired.for_good();

#[test]
fn the_right_secret_opens_a_queue_in_every_group() {
    for group in [DhGroup::Null, DhGroup::Ffdhe2048, DhGroup::Ffdhe3072] {
        let mut dialogue = Dialogue::connected(bench(vec![group]));
        assert_eq!(dialogue.flush(), REQUIRED);
        let outcome = dialogue.answer(&[DhGroup::Null, group], SECRET, false);
        assert!(Success1::decode(&outcome).is_some(), "{outcome:?}");
        assert_ne!(dialogue.flush(), REQUIRED);
    }
}

#[test]
fn a_host_that_asks_back_is_answered_before_it_is_done() {
    let mut dialogue = Dialogue::connected(bench(vec![DhGroup::Ffdhe2048]));
    let outcome = dialogue.answer(&[DhGroup::Ffdhe2048], SECRET, true);
    assert!(Success1::decode(&outcome).is_some(), "{outcome:?}");
    assert_eq!(dialogue.flush(), REQUIRED, "the host has not said that the answer is right");
    let mut success = vec![0; 16];
    success[..8].copy_from_slice(&[1, 4, 0, 0, 77, 0, 0, 0]);
    assert!(dialogue.send(&success).is_success());
    assert_ne!(dialogue.flush(), REQUIRED);
}

#[test]
fn a_wrong_secret_closes_it_for_good() {
    let mut dialogue = Dialogue::connected(bench(vec![DhGroup::Null]));
    let outcome = dialogue.answer(&[DhGroup::Null], b"something else", false);
    assert_eq!(AuthFailure::decode(&outcome), Some(AuthFailure::Failed));
    assert_eq!(dialogue.flush(), REQUIRED);
    let offer = Negotiate {
        transaction: 78,
        secure_channel: 0,
        hashes: vec![HashFunction::Sha256],
        groups: vec![DhGroup::Null],
    };
    let again = dialogue.send(&offer.encode());
    assert_eq!(again, StatusCode::CommandSequence.for_good(), "one try for a connection");
    assert_eq!(
        dialogue.bench.last_answers, 2,
        "with the reason the connection ends, and with this"
    );
}

fn offer(groups: &[DhGroup]) -> Vec<u8> {
    let (hashes, groups) = (vec![HashFunction::Sha256], groups.to_vec());
    Negotiate { transaction: 77, secure_channel: 0, hashes, groups }.encode()
}

#[test]
fn negotiating_again_in_the_middle_costs_no_power_and_ends_the_connection() {
    let group = DhGroup::Ffdhe3072;
    // Once before the challenge is fetched, once after.
    for fetches in [false, true] {
        let mut dialogue = Dialogue::connected(bench(vec![group]));
        assert!(dialogue.send(&offer(&[group])).is_success());
        assert_eq!(dialogue.bench.powers, 1);
        if fetches {
            assert!(Challenge::decode(&dialogue.receive().unwrap()).is_ok());
        }
        assert!(dialogue.send(&offer(&[group])).is_success());
        assert_eq!(dialogue.bench.last_answers, 0, "the reason is still to be fetched");
        let said = AuthFailure::decode(&dialogue.receive().unwrap());
        assert_eq!(said, Some(AuthFailure::IncorrectMessage));
        assert_eq!(dialogue.bench.last_answers, 1);
        for _ in 0..10 {
            assert!(!dialogue.send(&offer(&[group])).is_success());
        }
        assert_eq!((dialogue.bench.powers, dialogue.bench.last_answers), (1, 11));
    }
}

#[test]
fn hosts_that_only_negotiate_share_an_exponent_which_is_renewed() {
    const CONNECTIONS: usize = 256;
    let group = DhGroup::Ffdhe2048;
    let mut bench = bench(vec![group]);
    let mut values = std::collections::BTreeSet::new();
    for _ in 0..CONNECTIONS {
        let mut dialogue = Dialogue::connected(bench);
        assert!(dialogue.send(&offer(&[group])).is_success());
        let challenge = Challenge::decode(&dialogue.receive().unwrap()).unwrap();
        values.insert(challenge.public_value);
        let queue = dialogue.bench.sockets[dialogue.socket].queue.unwrap();
        dialogue.bench.subsystem.handle_closed(&queue);
        bench = dialogue.bench;
    }
    assert!((2..=CONNECTIONS / 16).contains(&bench.powers), "{} powers", bench.powers);
    // The random bytes of the bench are constant, and so are the exponents.
    assert_eq!(values.len(), 1);
}

#[test]
fn every_queue_has_to() {
    let mut admin = Dialogue::connected(bench(vec![DhGroup::Null]));
    admin.answer(&[DhGroup::Null], SECRET, false);
    let value = Configuration {
        enable: true,
        submission_entry: 6,
        completion_entry: 4,
        ..Configuration::default()
    };
    let (property, size) = (Property::Configuration, PropertySize::Four);
    let set = PropertySet { property, size, value: value.encode().into() };
    let entry = FabricsCommand::PropertySet(set).encode(9, SglDescriptor::NO_DATA);
    let bytes = admin.host.command(entry, &[]);
    let pdus = admin.bench.talk(admin.socket, &mut admin.host, &bytes);
    assert!(completion(&pdus).status.is_success());
    let id = admin.controller;
    let mut queue = Dialogue::connected_to(admin.bench, 1, Some(id));
    assert_eq!(queue.flush(), REQUIRED);
    queue.answer(&[DhGroup::Null], SECRET, false);
    assert!(queue.flush().is_success());
    // On a queue in use an exchange may be repeated; a failure ends the queue.
    queue.answer(&[DhGroup::Null], SECRET, false);
    assert!(queue.flush().is_success());
    queue.answer(&[DhGroup::Null], b"something else", false);
    assert_eq!(queue.flush(), REQUIRED);
}

#[test]
fn what_neither_knows_is_told() {
    let offer = |hashes: &[HashFunction], groups: &[DhGroup], secure_channel| {
        let (hashes, groups) = (hashes.to_vec(), groups.to_vec());
        Negotiate { transaction: 5, secure_channel, hashes, groups }.encode()
    };
    let sha = [HashFunction::Sha384];
    let cases = [
        (offer(&[], &[DhGroup::Ffdhe2048], 0), AuthFailure::HashUnusable),
        (offer(&sha, &[DhGroup::Null], 0), AuthFailure::GroupUnusable),
        (offer(&sha, &[DhGroup::Ffdhe2048], 1), AuthFailure::ChannelMismatch),
        (vec![0; 7], AuthFailure::IncorrectMessage),
        (vec![1, 2, 0, 0, 5, 0, 32, 0, 0, 0, 0, 0], AuthFailure::IncorrectMessage),
    ];
    for (message, expected) in cases {
        let mut dialogue = Dialogue::connected(bench(vec![DhGroup::Ffdhe2048]));
        assert_eq!(dialogue.receive(), Err(StatusCode::CommandSequence.for_good()), "its turn");
        assert!(dialogue.send(&message).is_success());
        assert_eq!(AuthFailure::decode(&dialogue.receive().unwrap()), Some(expected));
    }
}

#[test]
fn random_messages_open_nothing() {
    let seed = testing::Seed::new(testing::setting("IODA_SEED", 1));
    let mut random = Rng::new(seed.get());
    for _ in 0..300 {
        let mut dialogue = Dialogue::connected(bench(vec![DhGroup::Ffdhe2048]));
        for _ in 0..4 {
            let length = 1 + random.below(400) as usize;
            let mut message: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            // Half of the messages begin like a valid one.
            if length > 8 && random.below(2) == 0 {
                (message[0], message[1]) = (random.below(2) as u8, random.below(5) as u8);
                (message[6], message[7]) = (32 * random.below(2) as u8, random.below(3) as u8);
            }
            dialogue.send(&message);
            if let Ok(said) = dialogue.receive() {
                assert!(AuthMessage::decode(&said).is_some());
            }
            assert_eq!(dialogue.flush(), REQUIRED);
        }
    }
}
