//! Initiator and target joined in memory, and the drivers of both.

use crate::target::bench::{Bench, NQN};
use nvme::initiator::{
    CommandData, Connection, Controller, ControllerAction, ControllerConfig, Outgoing, Output,
    Purpose, QueuePlan, Slot, Submission, Terms, TransportEvent,
};
use nvme::wire::pdu::Digests;
use nvme::wire::{CommonFields, CompletionEntry, IoCommand, Nqn, SglDescriptor};
use std::collections::BTreeMap;
use units::{Duration, Instant, Rng, crc32c_append};

pub(super) const HOST: &str =
    "nqn.2014-08.org.nvmexpress:uuid:22222222-2222-3333-4444-555555555555";

pub(super) fn config() -> ControllerConfig {
    ControllerConfig {
        host: Nqn::new(HOST).unwrap(),
        host_id: [0x22; 16],
        subsystem: Nqn::new(NQN).unwrap(),
        namespace: None,
        io_queues: 1,
        entries: 64,
        keep_alive: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
    }
}

/// Sender of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Controller(Purpose),
    Test(u64),
}

/// A connection with its buffers, and the bytes on their way.
pub(super) struct Link {
    socket: usize,
    queue: u16,
    pub(super) connection: Connection,
    commands: BTreeMap<Slot, (Owner, Vec<u8>)>,
    to_target: Vec<u8>,
    to_host: Vec<u8>,
}

/// A completed command of a test.
pub(super) struct Done {
    pub(super) tag: u64,
    pub(super) completion: CompletionEntry,
    pub(super) data: Vec<u8>,
}

/// Both sides.
pub(super) struct Pair {
    pub(super) bench: Bench,
    pub(super) controller: Controller,
    pub(super) now: Instant,
    pub(super) links: Vec<Link>,
    pub(super) done: Vec<Done>,
    /// Events of the controller; actions are carried out instead.
    pub(super) told: Vec<ControllerAction>,
    /// Completions of a coordinator's commands.
    pub(super) over: Vec<(Purpose, CompletionEntry, Vec<u8>)>,
    digests: Digests,
    /// Whether the connection is cut, so that nothing arrives any more.
    pub(super) is_cut: bool,
}

impl Pair {
    pub(super) fn new(bench: Bench, config: ControllerConfig, digests: Digests) -> Self {
        let now = bench.now;
        let controller = Controller::new(now, config);
        let (links, done, told) = (Vec::new(), Vec::new(), Vec::new());
        let over = Vec::new();
        Self { bench, controller, now, links, done, told, over, digests, is_cut: false }
    }

    /// A pair whose drive can be used.
    pub(super) fn ready() -> Self {
        let mut pair = Self::new(Bench::new(), config(), Digests::default());
        pair.settle();
        assert_eq!(pair.told, [ControllerAction::Ready]);
        pair.told.clear();
        pair
    }

    fn act(&mut self) -> bool {
        let mut any = false;
        while let Some(action) = self.controller.poll_action() {
            any = true;
            match action {
                ControllerAction::Open(plan) => self.open(&plan),
                ControllerAction::Submit(submission) => self.submit(submission),
                other => self.told.push(other),
            }
            self.controller.check_invariants();
        }
        any
    }

    /// Sends a command of the controller, or of its driver.
    pub(super) fn submit(&mut self, submission: Submission) {
        let link = self.links.iter_mut().find(|link| link.queue == submission.queue).unwrap();
        let (data, buffer) = match submission.data {
            Outgoing::None => (CommandData::None, Vec::new()),
            Outgoing::Data(data) => (CommandData::ToController { bytes: data.len() as u32 }, data),
            Outgoing::Room(bytes) => (CommandData::ToHost { bytes }, vec![0; bytes as usize]),
        };
        let slot = link.connection.submit(submission.entry, data).unwrap();
        let owner = Owner::Controller(submission.purpose);
        assert!(link.commands.insert(slot, (owner, buffer)).is_none());
    }

    fn open(&mut self, plan: &QueuePlan) {
        let connection = Connection::new(Terms {
            digests: self.digests,
            commands: plan.commands,
            capsule_bytes: plan.capsule_bytes,
            transfer_max_bytes: plan.transfer_max_bytes,
            checksum: crc32c_append,
        });
        self.links.push(Link {
            socket: self.bench.open(),
            queue: plan.queue,
            connection,
            commands: BTreeMap::new(),
            to_target: Vec::new(),
            to_host: Vec::new(),
        });
        self.controller.handle_open(self.now, plan.queue);
    }

    /// Sends a command of the I/O queue; false if there is no room.
    pub(super) fn send(&mut self, tag: u64, command: IoCommand, data: Outgoing) -> bool {
        let nsid = self.controller.facts().unwrap().nsid;
        let entry = command.encode(CommonFields { cid: 0, nsid, data: SglDescriptor::NO_DATA });
        let (data, buffer) = match data {
            Outgoing::None => (CommandData::None, Vec::new()),
            Outgoing::Data(data) => (CommandData::ToController { bytes: data.len() as u32 }, data),
            Outgoing::Room(bytes) => (CommandData::ToHost { bytes }, vec![0; bytes as usize]),
        };
        let link = &mut self.links[1];
        let has_room = link.connection.has_room();
        let slot = link.connection.submit(entry, data);
        assert_eq!(slot.is_some(), has_room);
        let Some(slot) = slot else { return false };
        assert!(link.commands.insert(slot, (Owner::Test(tag), buffer)).is_none());
        true
    }

    /// Moves the output of a link on its way.
    fn drain(&mut self, number: usize) -> bool {
        let link = &mut self.links[number];
        let mut any = false;
        link.connection.check_invariants();
        while let Some(output) = link.connection.poll_output() {
            any = true;
            let Output::Send(pdu) = output else { continue };
            link.to_target.extend_from_slice(pdu.prefix());
            if let Some(piece) = pdu.data() {
                let (_, buffer) = &link.commands[&piece.slot];
                let data = &buffer[piece.offset_bytes as usize..][..piece.bytes as usize];
                link.to_target.extend_from_slice(data);
                link.to_target.extend(pdu.data_digest(data).iter().flatten());
            }
        }
        link.connection.check_invariants();
        any
    }

    /// Delivers at most `most` bytes to the target.
    pub(super) fn deliver_to_target(&mut self, number: usize, most: usize) {
        self.drain(number);
        let link = &mut self.links[number];
        let bytes: Vec<u8> = link.to_target.drain(..link.to_target.len().min(most)).collect();
        if !bytes.is_empty() && !self.is_cut {
            self.bench.now = self.now;
            self.bench.feed(link.socket, &bytes);
        }
    }

    /// Delivers at most `most` bytes to the host.
    pub(super) fn deliver_to_host(&mut self, number: usize, most: usize) {
        let link = &mut self.links[number];
        link.to_host.extend(self.bench.take(link.socket));
        let bytes: Vec<u8> = link.to_host.drain(..link.to_host.len().min(most)).collect();
        if !self.is_cut {
            self.receive(number, &bytes);
        }
    }

    /// Delivers bytes to the host.
    pub(super) fn receive(&mut self, number: usize, mut bytes: &[u8]) {
        loop {
            let link = &mut self.links[number];
            let (taken, event) = link.connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(missing) => {
                    assert!(missing > 0 && bytes.is_empty());
                    break;
                }
                TransportEvent::Over => {
                    assert!(bytes.is_empty() && link.connection.end().is_some());
                    self.controller.handle_closed();
                    break;
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    let (_, buffer) = link.commands.get_mut(&slot).unwrap();
                    buffer[offset_bytes as usize..][..bytes.len()].copy_from_slice(bytes);
                }
                TransportEvent::Completed { slot, completion } => {
                    let (owner, data) = link.commands.remove(&slot).unwrap();
                    match owner {
                        Owner::Test(tag) => self.done.push(Done { tag, completion, data }),
                        Owner::Controller(purpose @ (Purpose::Traffic | Purpose::WindowCounts)) => {
                            self.over.push((purpose, completion, data))
                        }
                        Owner::Controller(purpose) => {
                            let now = self.now;
                            self.controller.handle_completion(now, purpose, &completion, &data);
                        }
                    }
                }
            }
            self.links[number].connection.check_invariants();
            self.act();
        }
    }

    /// Delivers all bytes, in pieces, until none is on its way.
    pub(super) fn settle(&mut self) {
        let mut rng = Rng::stream(1, "pieces");
        loop {
            let mut any = self.act();
            for number in 0..self.links.len() {
                any |= self.drain(number);
                let link = &mut self.links[number];
                link.to_host.extend(self.bench.take(link.socket));
                any |= !link.to_target.is_empty() || !link.to_host.is_empty();
                let most = 1 + rng.below(3000) as usize;
                self.deliver_to_target(number, most);
                self.deliver_to_host(number, most);
            }
            if !any || self.is_cut {
                return;
            }
        }
    }

    /// Lets time pass and delivers all bytes at once.
    pub(super) fn pass(&mut self, duration: Duration) {
        let until = self.now + duration;
        while self.controller.next_deadline() <= until {
            self.now = self.now.max(self.controller.next_deadline());
            self.controller.handle_deadline(self.now);
            self.settle();
            self.bench.subsystem.handle_deadline(self.now);
            self.bench.pump();
            self.settle();
        }
        self.now = until;
        self.bench.now = until;
    }
}
