//! Connections that never show who they are, beside hosts that do.

use super::beside::{Signs, Stops, bother, kinds};
use super::host::{BLOCK, HOST_NQN, Host, Queue, Terms, in_capsule, read, write};
use super::served::{Plan, SECRET, Served};
use live::dhchap::CRYPTOGRAPHY;
use nvme::wire::pdu::Digests;
use nvme::wire::{
    AUTHENTICATION_PROTOCOL, AUTHENTICATION_SPECIFIC, Authentication, CNTLID_DYNAMIC, Challenge,
    DhGroup, FabricsCommand, HashFunction, Negotiate, Nqn, Reply, SglDescriptor, SubmissionEntry,
    Success1,
};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Least memory: some hundred and thirty places for connections that enter, as many for those that
/// authenticate, and 14 for discovery.
const MEMORY_BYTES: u64 = 16 << 20;
const STRANGERS: usize = 250;
const TRANSACTION: u16 = 77;
const HASH: HashFunction = HashFunction::Sha256;
const GROUP: DhGroup = DhGroup::Ffdhe3072;

fn plan() -> Plan {
    Plan { authenticates: true, memory_bytes: MEMORY_BYTES, ..Plan::plain() }
}

fn message(bytes: usize) -> Authentication {
    Authentication {
        specific_0: AUTHENTICATION_SPECIFIC,
        specific_1: AUTHENTICATION_SPECIFIC,
        protocol: AUTHENTICATION_PROTOCOL,
        bytes: bytes as u32,
    }
}

fn negotiate() -> Vec<u8> {
    let (hashes, groups) = (vec![HASH], vec![GROUP]);
    Negotiate { transaction: TRANSACTION, secure_channel: 0, hashes, groups }.encode()
}

/// Sends a message of authentication without waiting for the answer.
fn send(queue: &mut Queue, bytes: &[u8]) -> u16 {
    let command = FabricsCommand::AuthenticationSend(message(bytes.len()));
    queue.send(command.encode(0, in_capsule(bytes.len())), bytes)
}

fn receive(queue: &mut Queue) -> Vec<u8> {
    let command = FabricsCommand::AuthenticationReceive(message(4096));
    let entry = command.encode(0, SglDescriptor::Transport { bytes: 4096 });
    let answered = queue.execute(entry, &[]);
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
    answered.data
}

/// Shows that this host knows its secret.
fn authenticate(queue: &mut Queue, subsystem: &str) {
    let sent = send(queue, &negotiate());
    assert!(queue.wait(sent).entry.status.is_success());
    let challenge = Challenge::decode(&receive(queue)).unwrap();
    let exponent = [5; 40];
    let shared = (CRYPTOGRAPHY.shared_value)(GROUP, &exponent, &challenge.public_value).unwrap();
    let key = (CRYPTOGRAPHY.hash)(HASH, &shared);
    let bound = (CRYPTOGRAPHY.hmac)(HASH, key.as_bytes(), &[&challenge.challenge]);
    let response = (CRYPTOGRAPHY.hmac)(
        HASH,
        SECRET,
        &[
            bound.as_bytes(),
            &challenge.sequence.to_le_bytes(),
            &TRANSACTION.to_le_bytes(),
            &[0],
            b"HostHost",
            HOST_NQN.as_bytes(),
            &[0],
            subsystem.as_bytes(),
        ],
    );
    let reply = Reply {
        transaction: TRANSACTION,
        response: response.as_bytes().to_vec(),
        challenge: None,
        sequence: 0,
        public_value: (CRYPTOGRAPHY.public_value)(GROUP, &exponent),
    };
    let sent = send(queue, &reply.encode());
    assert!(queue.wait(sent).entry.status.is_success());
    assert!(Success1::decode(&receive(queue)).is_some());
}

/// A host with an admin queue and an I/O queue that has authenticated on both.
fn attach(served: &Served) -> Host {
    attach_at(served.address, &served.nqn)
}

pub(crate) fn attach_at(address: SocketAddr, subsystem: &str) -> Host {
    let terms = Terms::new(subsystem);
    let mut admin = Queue::connect(address, &terms, (0, 31), CNTLID_DYNAMIC).unwrap();
    authenticate(&mut admin, subsystem);
    admin.enable();
    let mut io = Queue::connect(address, &terms, (1, 127), admin.controller).unwrap();
    authenticate(&mut io, subsystem);
    Host { admin, io }
}

/// The command that negotiates, for those who send without looking at answers.
pub(crate) fn negotiate_command() -> (SubmissionEntry, Vec<u8>) {
    let bytes = negotiate();
    let command = FabricsCommand::AuthenticationSend(message(bytes.len()));
    (command.encode(0, in_capsule(bytes.len())), bytes)
}

/// The command that fetches a message.
pub(crate) fn fetch_command() -> (SubmissionEntry, Vec<u8>) {
    let command = FabricsCommand::AuthenticationReceive(message(4096));
    (command.encode(0, SglDescriptor::Transport { bytes: 4096 }), Vec::new())
}

/// The command that replies with a wrong answer, for which the target has to compute.
pub(crate) fn wrong_reply_command() -> (SubmissionEntry, Vec<u8>) {
    let reply = Reply {
        transaction: TRANSACTION,
        response: vec![0; HASH.digest_bytes()],
        challenge: None,
        sequence: 0,
        public_value: (CRYPTOGRAPHY.public_value)(GROUP, &[5; 40]),
    };
    let bytes = reply.encode();
    let command = FabricsCommand::AuthenticationSend(message(bytes.len()));
    (command.encode(0, in_capsule(bytes.len())), bytes)
}

/// A queue that asks for no keep alive timer, and has not authenticated.
fn connect(served: &Served) -> Queue {
    Queue::connect(served.address, &served.terms(), (0, 31), CNTLID_DYNAMIC).unwrap()
}

/// That a new host comes in and an older one is still served.
fn check_service(served: &Served, host: &mut Host) {
    write(&mut host.io, 1, &[1; BLOCK]);
    let mut new = attach(served);
    assert_eq!(read(&mut new.io, 1, 1), [1; BLOCK]);
}

#[test]
fn strangers_that_connect_and_never_authenticate_end_for_newer_ones_and_hosts_come_in() {
    let served = Served::start(plan());
    let mut host = attach(&served);
    let mut strangers: Vec<Queue> = (0..STRANGERS).map(|_| connect(&served)).collect();
    check_service(&served, &mut host);
    assert!(strangers[0].is_closed(), "the oldest went first");
    // The last ones stay until they are too late.
    let mut last = strangers.pop().unwrap();
    let begin = Instant::now();
    assert!(last.is_closed());
    assert!(begin.elapsed() > Duration::from_secs(5), "too early");
    check_service(&served, &mut host);
}

#[test]
fn silent_strangers_end_for_newer_ones_and_hosts_come_in() {
    let served = Served::start(plan());
    let mut host = attach(&served);
    let greet = |_| Queue::greet(served.address, Digests::default());
    let mut strangers: Vec<Queue> = (0..STRANGERS).map(greet).collect();
    let begin = Instant::now();
    assert!(strangers[0].is_closed());
    assert!(begin.elapsed() < Duration::from_secs(5), "its deadline is later than that");
    check_service(&served, &mut host);
}

#[test]
fn discovery_has_few_places_which_newer_ones_get() {
    let served = Served::start(plan());
    let mut host = attach(&served);
    let mut terms = served.terms();
    terms.subsystem = Nqn::DISCOVERY.into();
    let discover = |_| Queue::connect(served.address, &terms, (0, 31), CNTLID_DYNAMIC).unwrap();
    let mut strangers: Vec<Queue> = (0..STRANGERS).map(discover).collect();
    assert!(strangers[0].is_closed());
    let mut last = strangers.pop().unwrap();
    last.enable();
    check_service(&served, &mut host);
}

#[test]
fn a_stranger_that_negotiates_again_and_again_is_ended() {
    let served = Served::start(plan());
    let mut host = attach(&served);
    let mut strangers: Vec<Queue> = (0..8).map(|_| connect(&served)).collect();
    for stranger in &mut strangers {
        // They do not wait for answers, as who wants to cost processor time does.
        for _ in 0..20 {
            send(stranger, &negotiate());
        }
    }
    for stranger in &mut strangers {
        while stranger.step() {}
    }
    check_service(&served, &mut host);
}

#[test]
fn hosts_come_in_while_strangers_of_all_kinds_come_again_as_soon_as_they_are_ended() {
    const OF_EACH: usize = 60;
    const HOSTS: usize = 5;
    let served = Served::start(plan());
    let mut host = attach(&served);
    let kinds: Vec<_> = kinds(&served.nqn).into_iter().filter(|kind| !kind.at_nbd).collect();
    let signs = Signs::default();
    std::thread::scope(|scope| {
        let _stops = Stops(&signs);
        for kind in &kinds {
            scope.spawn(|| bother(kind, served.address, OF_EACH, &signs));
        }
        while signs.standing.load(Ordering::Relaxed) < kinds.len() * OF_EACH {
            std::thread::yield_now();
        }
        (0..HOSTS).for_each(|_| check_service(&served, &mut host));
    });
}
