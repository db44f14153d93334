//! A driver of the target without sockets, with a drive in memory.

use super::host::{Host, Pdu, connect};
use nvme::Advertised;
use nvme::target::{
    Action, AdminAnswer, AdminRequest, Answer, AuthenticationAnswer, CommandData, Connection,
    Discovery, DriveReport, HostList, IoOperation, IoOutcome, IoRequest, Namespace, Output,
    Persistence, Queue, RANDOM_BYTES, Reached, Request, ReservationAnswer, Slot, Subsystem,
    SubsystemConfig, Terms, TransportEvent,
};
use nvme::wire::ioda::{CollectionActivity, IodaCapability};
use nvme::wire::pdu::{Digests, FatalStatus, Header};
use nvme::wire::{
    Ascii, ConnectData, Connected, Estimates, HealthLog, Nqn, StatusCode, StatusField,
    SubmissionEntry, WindowState, WindowTypicals,
};
use std::collections::BTreeMap;
use units::{Duration, Instant, crc32c_append};

pub(crate) const NQN: &str = "nqn.2026-01.example:ioda:drive-0";
pub(crate) const BLOCK: usize = 512;
pub(crate) const BLOCKS: usize = 4096;
pub(super) const ENTRIES_MAX: u16 = 128;

pub(crate) fn terms() -> Terms {
    Terms {
        host_data_max_bytes: 8192,
        controller_data_max_bytes: 16384,
        transfer_max_bytes: config().transfer_max_bytes(),
        checksum: crc32c_append,
    }
}

pub(crate) fn config() -> SubsystemConfig {
    SubsystemConfig {
        nqn: Nqn::new(NQN).unwrap(),
        hosts: HostList::Any,
        authentication: None,
        serial: Ascii::new("0001").unwrap(),
        model: Ascii::new("IODA emulated drive").unwrap(),
        firmware: Ascii::new("1").unwrap(),
        namespace: Namespace {
            blocks: BLOCKS as u64,
            block_shift: 9,
            nguid: [7; 16],
            write_bytes: 4096,
            random_read_100ns: 500,
            write_cache: true,
        },
        ioda: Some(IodaCapability { patient: true, all_work: false }),
        reservations: Persistence::Possible,
        controllers_max: 4,
        io_queues_max: 2,
        entries_max: ENTRIES_MAX,
        transfer_shift: 5,
        capsule_bytes: 4096,
    }
}

fn report() -> DriveReport {
    DriveReport {
        clock: Instant::from_nanos(77_000_000),
        state: WindowState::Deterministic,
        typicals: WindowTypicals::default(),
        estimates: Estimates { reads: 0, writes: 1234, time_ms: 5 },
        advertised: Advertised { shortest: Duration::from_millis(5), longest: None },
        busy_time_window: Duration::from_millis(100),
        activity: CollectionActivity { due: true, must_collect: false, collecting: false },
        health: HealthLog { temperature_k: 300, ..HealthLog::default() },
    }
}

/// One connection and the driver's state for it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(super) connection: Connection,
    pub(super) queue: Option<Queue>,
    is_discovery: bool,
    buffers: BTreeMap<Slot, Vec<u8>>,
    waiting: BTreeMap<Slot, (SubmissionEntry, Request)>,
    /// I/O commands that the drive has to serve.
    pub(crate) at_drive: Vec<(Slot, IoRequest)>,
    sent: Vec<u8>,
    pub(super) is_closed: bool,
}

/// Target, drive and clock.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) now: Instant,
    pub(crate) subsystem: Subsystem,
    pub(super) discovery: Discovery,
    /// Address by which hosts have reached the discovery subsystem.
    pub(super) reached: Option<Reached>,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) drive: Vec<u8>,
    pub(crate) report: DriveReport,
    /// Actions for the drive and the driver, except answers.
    pub(crate) actions: Vec<Action>,
    /// Results of reservation commands.
    pub(crate) reserved: Vec<ReservationAnswer>,
    /// Whether reads that may fail fast do so.
    pub(crate) is_collecting: bool,
    /// Whether the drive serves commands at once.
    pub(crate) is_prompt: bool,
    /// Terms of connections that are opened from now on.
    pub(super) terms: Terms,
    /// Powers that were computed for hosts that authenticate.
    pub(super) powers: usize,
    /// Answers after which a driver ends the connection.
    pub(super) last_answers: usize,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(config(), terms())
    }

    pub(crate) fn with(config: SubsystemConfig, terms: Terms) -> Self {
        Self {
            now: Instant::ZERO,
            subsystem: Subsystem::new(config),
            discovery: Discovery::new(4, "0000", "1").unwrap(),
            reached: None,
            sockets: Vec::new(),
            drive: vec![0; BLOCKS * BLOCK],
            report: report(),
            actions: Vec::new(),
            reserved: Vec::new(),
            is_collecting: false,
            is_prompt: true,
            terms,
            powers: 0,
            last_answers: 0,
        }
    }

    /// A new connection.
    pub(crate) fn open(&mut self) -> usize {
        self.sockets.push(Socket {
            connection: Connection::new(self.terms),
            queue: None,
            is_discovery: false,
            buffers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            at_drive: Vec::new(),
            sent: Vec::new(),
            is_closed: false,
        });
        self.sockets.len() - 1
    }

    /// A connection with a queue, and its host.
    pub(super) fn queue(
        &mut self,
        digests: Digests,
        queue: u16,
        controller: Option<u16>,
    ) -> (usize, Host) {
        let size = if queue == 0 { 31 } else { ENTRIES_MAX - 1 };
        let (socket, mut host) = self.greet(digests, 0);
        let (entry, data) = connect(0, (queue, size), (controller, NQN), 5000, 0);
        let bytes = host.command(entry, &data);
        let pdus = self.talk(socket, &mut host, &bytes);
        assert!(super::host::completion(&pdus).status.is_success(), "{pdus:?}");
        (socket, host)
    }

    /// A connection after ICReq and ICResp, and its host.
    pub(super) fn greet(&mut self, digests: Digests, alignment: u8) -> (usize, Host) {
        let socket = self.open();
        let mut host = Host::new();
        let bytes = host.init(digests, alignment);
        let pdus = self.talk(socket, &mut host, &bytes);
        assert!(matches!(pdus[..], [(Header::InitResponse(terms), _)] if terms.digests == digests));
        host.establish(digests, alignment);
        (socket, host)
    }

    /// Delivers bytes from the host. Returns the PDUs that come back.
    pub(super) fn talk(&mut self, socket: usize, host: &mut Host, bytes: &[u8]) -> Vec<Pdu> {
        self.feed(socket, bytes);
        host.read(&self.take(socket))
    }

    /// Takes the bytes that a connection has sent.
    pub(crate) fn take(&mut self, socket: usize) -> Vec<u8> {
        std::mem::take(&mut self.sockets[socket].sent)
    }

    /// Reason why a connection was ended; `None` if none was sent.
    pub(super) fn end(&mut self, socket: usize, host: &mut Host) -> Option<FatalStatus> {
        let bytes = self.take(socket);
        host.read(&bytes).into_iter().find_map(|(header, _)| match header {
            Header::ControllerTermination(termination) => Some(termination.fault.status),
            _ => None,
        })
    }

    /// Delivers bytes from the host.
    pub(crate) fn feed(&mut self, socket: usize, mut bytes: &[u8]) {
        loop {
            let (taken, event) = self.sockets[socket].connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(missing) => {
                    assert!(missing > 0 && bytes.is_empty());
                    break;
                }
                TransportEvent::Over => break,
                TransportEvent::Command { slot, entry, data } => {
                    self.begin(socket, slot, entry, data);
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    let buffer = self.sockets[socket].buffers.get_mut(&slot).unwrap();
                    buffer[offset_bytes as usize..][..bytes.len()].copy_from_slice(bytes);
                }
                TransportEvent::Received(slot) => {
                    let (entry, request) = self.sockets[socket].waiting.remove(&slot).unwrap();
                    self.execute(socket, slot, &entry, &request);
                }
            }
            self.sockets[socket].connection.check_invariants();
        }
        self.pump();
    }

    fn begin(&mut self, socket: usize, slot: Slot, entry: SubmissionEntry, data: CommandData) {
        let own = &self.sockets[socket];
        let request = match own.is_discovery {
            true => self.discovery.decode(own.queue.as_ref(), &entry, data),
            false => self.subsystem.decode(own.queue.as_ref(), &entry, data),
        };
        let own = &mut self.sockets[socket];
        match request {
            Err(status) => own.connection.complete(slot, Answer::new(status)),
            Ok(request) => {
                let bytes = data.to_controller_bytes().max(data.to_host_bytes());
                assert_eq!(own.buffers.insert(slot, vec![0xee; bytes as usize]), None);
                match data {
                    CommandData::InCapsule { .. } | CommandData::AtHost { .. } => {
                        own.waiting.insert(slot, (entry, request));
                        if matches!(data, CommandData::AtHost { .. }) {
                            own.connection.receive(slot);
                        }
                    }
                    CommandData::None | CommandData::ToHost { .. } => {
                        self.execute(socket, slot, &entry, &request);
                    }
                }
            }
        }
    }

    fn execute(&mut self, socket: usize, slot: Slot, entry: &SubmissionEntry, request: &Request) {
        let own = &mut self.sockets[socket];
        let buffer = own.buffers.get_mut(&slot).unwrap();
        match request {
            Request::Connect(command) => {
                let data = buffer[..].first_chunk().unwrap();
                let name =
                    ConnectData::decode(data).map(|data| data.subsystem.as_str() == Nqn::DISCOVERY);
                own.is_discovery = name == Ok(true);
                let queue = match own.is_discovery {
                    true => self.discovery.connect(self.now, command, data),
                    false => self.subsystem.connect(self.now, command, data),
                };
                match queue {
                    Ok(queue) => {
                        own.queue = Some(queue);
                        own.connection.start_queue(queue.terms());
                        own.connection.complete(slot, queue.answer());
                    }
                    Err(refusal) => {
                        let (status, result) = refusal.encode();
                        let answer = Answer { result: result.into(), ..Answer::new(status) };
                        own.connection.complete(slot, answer);
                    }
                }
            }
            Request::Admin(command) => {
                let mut into = match entry.direction() {
                    nvme::wire::DataDirection::ToHost => buffer.clone(),
                    _ => Vec::new(),
                };
                let request = AdminRequest {
                    slot,
                    nsid: entry.common.nsid,
                    command: *command,
                    data: buffer,
                    into: &mut into,
                };
                let queue = own.queue.unwrap();
                let answer = match own.is_discovery {
                    true => self.discovery.handle_admin(
                        self.now,
                        &queue,
                        request,
                        self.reached.as_ref(),
                    ),
                    false => self.subsystem.handle_admin(self.now, &queue, request, &self.report),
                };
                if let AdminAnswer::Now(answer) | AdminAnswer::WhenKept(answer) = answer {
                    if !into.is_empty() {
                        *own.buffers.get_mut(&slot).unwrap() = into;
                    }
                    own.connection.complete(slot, answer);
                }
            }
            Request::Authenticate(step) => {
                let (message, random) = (buffer.clone(), [0x5a; RANDOM_BYTES]);
                let queue = own.queue.unwrap();
                let subsystem = &mut self.subsystem;
                let answer =
                    subsystem.handle_authentication(&queue, *step, &message, buffer, &random);
                let answer = match answer {
                    AuthenticationAnswer::Now(answer) => answer,
                    AuthenticationAnswer::Held(power) => {
                        self.powers += 1;
                        subsystem.handle_power(&queue, power.compute());
                        Answer::new(StatusField::SUCCESS)
                    }
                    AuthenticationAnswer::Last(answer) => {
                        self.last_answers += 1;
                        answer
                    }
                };
                own.connection.complete(slot, answer);
            }
            Request::Reservation(command) => {
                let keys = buffer.clone();
                let queue = own.queue.unwrap();
                let answer = self.subsystem.handle_reservation(&queue, command, &keys, buffer);
                own.connection.complete(slot, answer.answer);
                self.reserved.push(answer);
            }
            Request::Io(request) => {
                if !self.subsystem.allows(&own.queue.unwrap(), &request.operation) {
                    let conflict = StatusCode::ReservationConflict.for_good();
                    return own.connection.complete(slot, Answer::new(conflict));
                }
                own.at_drive.push((slot, *request));
                if self.is_prompt {
                    self.work(socket, 0);
                }
            }
        }
    }

    /// Serves the command at this position of the drive's queue.
    pub(crate) fn work(&mut self, socket: usize, place: usize) {
        let own = &mut self.sockets[socket];
        let (slot, request) = own.at_drive.remove(place);
        let buffer = own.buffers.get_mut(&slot).unwrap();
        let bytes = |range: &nvme::wire::BlockRange| {
            let start = range.lba as usize * BLOCK;
            start..start + range.blocks.get() as usize * BLOCK
        };
        let mut outcome = IoOutcome::Done;
        match &request.operation {
            IoOperation::Read(_) if self.is_collecting && request.pl != nvme::PlFlag::Off => {
                let busy_remaining = Duration::from_micros(1500);
                outcome = IoOutcome::FailedFast { busy_remaining };
            }
            IoOperation::Read(range) => buffer.copy_from_slice(&self.drive[bytes(range)]),
            IoOperation::Write(range) => self.drive[bytes(range)].copy_from_slice(buffer),
            IoOperation::WriteZeroes { range, .. } => self.drive[bytes(range)].fill(0),
            IoOperation::Deallocate { ranges } => {
                match self.subsystem.config().namespace.dataset(*ranges, buffer) {
                    Ok(ranges) => {
                        for range in ranges {
                            let start = range.lba as usize * BLOCK;
                            self.drive[start..][..range.blocks as usize * BLOCK].fill(0);
                        }
                    }
                    Err(status) => outcome = IoOutcome::Failed(status),
                }
            }
            IoOperation::Flush | IoOperation::Nothing => {}
        }
        own.connection.complete(slot, request.answer(outcome));
        self.pump();
    }

    /// Carries out actions and outputs until there are none.
    pub(crate) fn pump(&mut self) {
        loop {
            let is_discovery = self.discovery.poll_action();
            let Some((action, is_discovery)) = is_discovery
                .map(|action| (action, true))
                .or_else(|| self.subsystem.poll_action().map(|action| (action, false)))
            else {
                break;
            };
            match action {
                Action::Answer { controller, slot, answer } => {
                    let admin = self.sockets.iter_mut().find(|socket| {
                        socket.is_discovery == is_discovery
                            && socket.queue.is_some_and(|queue| {
                                queue.is_admin() && queue.controller() == controller
                            })
                    });
                    admin.unwrap().connection.complete(slot, answer);
                }
                Action::CloseIoQueues { controller } => {
                    self.close(is_discovery, |queue| {
                        queue.controller() == controller && !queue.is_admin()
                    });
                    self.actions.push(action);
                }
                Action::CloseController { controller } => {
                    self.close(is_discovery, |queue| queue.controller() == controller);
                    self.actions.push(action);
                }
                Action::ShutDown { .. }
                | Action::SetWindows(_)
                | Action::SelectWindow(_)
                | Action::SetCounts(_)
                | Action::KeepReservations => {
                    self.actions.push(action);
                }
            }
        }
        for socket in &mut self.sockets {
            socket.send();
        }
        for number in 0..self.sockets.len() {
            if self.sockets[number].is_closed
                && let Some(queue) = self.sockets[number].queue.take()
            {
                match self.sockets[number].is_discovery {
                    true => self.discovery.handle_closed(&queue),
                    false => self.subsystem.handle_closed(&queue),
                }
                self.pump();
            }
        }
    }

    fn close(&mut self, is_discovery: bool, is_meant: impl Fn(&Queue) -> bool) {
        for socket in &mut self.sockets {
            if socket.is_discovery == is_discovery && socket.queue.as_ref().is_some_and(&is_meant) {
                socket.connection.close();
            }
        }
    }
}

impl Socket {
    fn send(&mut self) {
        self.connection.check_invariants();
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Send(pdu) => {
                    self.sent.extend_from_slice(pdu.prefix());
                    if let Some(piece) = pdu.data() {
                        let buffer = &self.buffers[&piece.slot];
                        let data = &buffer[piece.offset_bytes as usize..][..piece.bytes as usize];
                        self.sent.extend_from_slice(data);
                        self.sent.extend(pdu.data_digest(data).iter().flatten());
                    }
                }
                // A command has a buffer unless it was refused before it needed one.
                Output::Released(slot) => {
                    self.buffers.remove(&slot);
                    self.waiting.remove(&slot);
                }
                Output::Close => self.is_closed = true,
            }
        }
        self.connection.check_invariants();
    }

    /// Buffers in use.
    pub(super) fn buffers(&self) -> usize {
        self.buffers.len()
    }
}

/// Controller in the answer to a Connect.
pub(super) fn controller(pdus: &[Pdu]) -> u16 {
    Connected::decode(super::host::completion(pdus).dw0()).controller
}
