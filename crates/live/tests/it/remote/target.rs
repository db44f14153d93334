//! A drive that a thread plays: `nvme::target` over real sockets, with data in memory and a
//! volatile cache, that can be hung, cut and killed.

use live::clock::{Clock, Event, Interest, Spin, Waiter};
use live::storage::{DriveLocation, RemoteAddress, RemoteLocation, RemoteOptions};
use nvme::Advertised;
use nvme::target::{
    Action, AdminAnswer, AdminRequest, Answer, CommandData, Connection, DriveReport, HostList,
    IoOperation, IoOutcome, IoRequest, Namespace, Output, Persistence, Queue, Request,
    ReservationState, Slot, Subsystem, SubsystemConfig, Terms, TransportEvent,
};
use nvme::wire::ioda::IodaCapability;
use nvme::wire::{
    Ascii, BlockRange, DataDirection, Estimates, HealthLog, Nqn, StatusCode, SubmissionEntry,
    WindowState, WindowTypicals,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use units::{Duration, Instant};

const BLOCK_SHIFT: u8 = 12;
const BLOCK: usize = 1 << BLOCK_SHIFT;

/// What a drive holds, whatever becomes of the thread that plays it.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) bytes: Vec<u8>,
    /// What blocks held that were written and are not on stable storage.
    unstable: BTreeMap<u64, Vec<u8>>,
    pub(crate) flushes: u64,
    /// As they were kept last.
    pub(crate) reservations: ReservationState,
}

impl Medium {
    pub(crate) fn new(bytes: usize) -> Arc<Mutex<Self>> {
        let bytes = vec![0; bytes];
        let reservations = ReservationState::default();
        let unstable = BTreeMap::new();
        Arc::new(Mutex::new(Self { bytes, unstable, flushes: 0, reservations }))
    }

    fn write(&mut self, range: &BlockRange, data: Option<&[u8]>, is_stable: bool) {
        for number in 0..u64::from(range.blocks.get()) {
            let block = range.lba + number;
            let place = block as usize * BLOCK..(block as usize + 1) * BLOCK;
            if !is_stable {
                let old = &self.bytes;
                self.unstable.entry(block).or_insert_with(|| old[place.clone()].to_vec());
            } else {
                self.unstable.remove(&block);
            }
            match data {
                Some(data) => {
                    let from = number as usize * BLOCK;
                    self.bytes[place].copy_from_slice(&data[from..from + BLOCK]);
                }
                None => self.bytes[place].fill(0),
            }
        }
    }

    fn flush(&mut self) {
        self.unstable.clear();
        self.flushes += 1;
    }

    /// The power goes: some of what is not stable is lost.
    pub(crate) fn lose_power(&mut self, is_lost: impl Fn(u64) -> bool) {
        for (block, old) in std::mem::take(&mut self.unstable) {
            if is_lost(block) {
                self.bytes[block as usize * BLOCK..][..BLOCK].copy_from_slice(&old);
            }
        }
    }
}

/// What a drive does that it should not.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// It answers nothing any more.
    pub(crate) is_hung: bool,
    /// Reads answer nothing any more.
    pub(crate) holds_reads: bool,
    /// It closes all connections after it has sent so many bytes more.
    pub(crate) cut_after: Option<usize>,
    /// Reads that may fail fast do.
    pub(crate) is_collecting: bool,
    /// All commands of I/O queues end so.
    pub(crate) status: Option<StatusCode>,
    /// What it was told of windows.
    pub(crate) actions: Vec<Action>,
    /// Reads that came with a flag, and that failed fast.
    pub(crate) flagged: u64,
    pub(crate) failed_fast: u64,
}

/// A drive that a thread plays.
#[derive(Debug)]
pub(crate) struct TestDrive {
    pub(crate) address: SocketAddr,
    nqn: String,
    pub(crate) medium: Arc<Mutex<Medium>>,
    pub(crate) faults: Arc<Mutex<Faults>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a drive is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) number: u8,
    pub(crate) write_cache: bool,
    pub(crate) knows_ioda: bool,
    pub(crate) capsule_bytes: u32,
    pub(crate) reservations: Persistence,
}

impl Kind {
    pub(crate) const fn plain(number: u8) -> Self {
        let reservations = Persistence::Possible;
        Self { number, write_cache: true, knows_ioda: false, capsule_bytes: 8192, reservations }
    }
}

impl TestDrive {
    pub(crate) fn start(kind: Kind, medium: Arc<Mutex<Medium>>) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), kind, medium)
    }

    pub(crate) fn start_at(address: SocketAddr, kind: Kind, medium: Arc<Mutex<Medium>>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let nqn = format!("nqn.2026-01.example:drive-{}", kind.number);
        let faults = Arc::new(Mutex::new(Faults::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let blocks = medium.lock().unwrap().bytes.len() / BLOCK;
        let config = config(&nqn, kind, blocks as u64);
        let thread = std::thread::spawn({
            let (medium, faults, stop) = (medium.clone(), faults.clone(), stop.clone());
            move || Player::new(listener, config, medium, faults).run(&stop)
        });
        Self { address, nqn, medium, faults, stop, thread: Some(thread) }
    }

    pub(crate) fn remote(&self) -> RemoteAddress {
        format!("nvme+tcp://{}/{}", self.address, self.nqn).parse().unwrap()
    }

    pub(crate) fn place(&self, options: &RemoteOptions) -> DriveLocation {
        let (address, options) = (self.remote(), options.clone());
        DriveLocation::Remote(Box::new(RemoteLocation { address, options }))
    }

    /// The process of the drive is killed: its connections are closed, what it holds stays.
    pub(crate) fn kill(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for TestDrive {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn options() -> RemoteOptions {
    let host = Nqn::new("nqn.2014-08.org.nvmexpress:uuid:5ee1bb4f-0000-4000-8000-000000000001");
    RemoteOptions {
        connect_timeout: Duration::from_secs(5),
        command_timeout: Duration::from_secs(20),
        reconnect: Duration::ZERO,
        ..RemoteOptions::of(host.unwrap(), [9; 16])
    }
}

fn config(nqn: &str, kind: Kind, blocks: u64) -> SubsystemConfig {
    SubsystemConfig {
        nqn: Nqn::new(nqn).unwrap(),
        hosts: HostList::Any,
        serial: Ascii::new("0001").unwrap(),
        model: Ascii::new("IODA test drive").unwrap(),
        firmware: Ascii::new("1").unwrap(),
        namespace: Namespace {
            blocks,
            block_shift: BLOCK_SHIFT,
            nguid: [kind.number + 1; 16],
            write_bytes: 4096,
            random_read_100ns: 500,
            write_cache: kind.write_cache,
        },
        reservations: kind.reservations,
        ioda: kind.knows_ioda.then_some(IodaCapability { patient: true, all_work: true }),
        controllers_max: 4,
        io_queues_max: 2,
        entries_max: 128,
        transfer_shift: 5,
        capsule_bytes: kind.capsule_bytes,
        authentication: None,
    }
}

struct Socket {
    stream: TcpStream,
    connection: Connection,
    queue: Option<Queue>,
    buffers: BTreeMap<Slot, Vec<u8>>,
    waiting: BTreeMap<Slot, (SubmissionEntry, Request)>,
    to_send: Vec<u8>,
    is_closed: bool,
}

/// The thread of a drive.
struct Player {
    clock: Clock,
    waiter: Waiter,
    listener: TcpListener,
    subsystem: Subsystem,
    sockets: BTreeMap<u64, Socket>,
    next_token: u64,
    medium: Arc<Mutex<Medium>>,
    faults: Arc<Mutex<Faults>>,
    /// Sockets with something to send.
    touched: BTreeSet<u64>,
}

impl Player {
    fn new(
        listener: TcpListener,
        config: SubsystemConfig,
        medium: Arc<Mutex<Medium>>,
        faults: Arc<Mutex<Faults>>,
    ) -> Self {
        let kept = medium.lock().unwrap().reservations.clone();
        let mut waiter = Waiter::new(Spin::Fixed(Duration::ZERO)).unwrap();
        waiter.add(&listener, 0, Interest::READ).unwrap();
        Self {
            clock: Clock::new(),
            waiter,
            listener,
            subsystem: Subsystem::with_reservations(config, kept),
            sockets: BTreeMap::new(),
            next_token: 1,
            medium,
            faults,
            touched: BTreeSet::new(),
        }
    }

    fn run(mut self, stop: &AtomicBool) {
        let mut events: Vec<Event> = Vec::new();
        while !stop.load(Ordering::Acquire) {
            let due = self.clock.now() + Duration::from_millis(5);
            self.waiter.wait(&self.clock, due, false, &mut events).unwrap();
            if self.faults.lock().unwrap().is_hung {
                std::thread::sleep(std::time::Duration::from_millis(5));
                continue;
            }
            for event in &events {
                match event.token {
                    0 => self.accept(),
                    token => self.read(token),
                }
            }
            self.subsystem.handle_deadline(self.clock.now());
            self.pump();
        }
    }

    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let token = self.next_token;
        self.next_token += 1;
        self.waiter.add(&stream, token, Interest::READ).unwrap();
        let connection = Connection::new(Terms {
            host_data_max_bytes: 16 << 10,
            controller_data_max_bytes: 64 << 10,
            transfer_max_bytes: self.subsystem.config().transfer_max_bytes(),
            checksum: units::crc32c_append,
        });
        self.sockets.insert(
            token,
            Socket {
                stream,
                connection,
                queue: None,
                buffers: BTreeMap::new(),
                waiting: BTreeMap::new(),
                to_send: Vec::new(),
                is_closed: false,
            },
        );
    }

    fn read(&mut self, token: u64) {
        let mut room = vec![0; 64 << 10];
        let Some(socket) = self.sockets.get_mut(&token) else { return };
        match socket.stream.read(&mut room) {
            Ok(0) => socket.is_closed = true,
            Ok(count) => self.feed(token, &room[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => socket.is_closed = true,
        }
        self.touched.insert(token);
    }

    fn feed(&mut self, token: u64, mut bytes: &[u8]) {
        loop {
            let socket = self.sockets.get_mut(&token).unwrap();
            let (taken, event) = socket.connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(_) | TransportEvent::Over => break,
                TransportEvent::Command { slot, entry, data } => {
                    self.begin(token, slot, entry, data);
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    let buffer = socket.buffers.get_mut(&slot).unwrap();
                    buffer[offset_bytes as usize..][..bytes.len()].copy_from_slice(bytes);
                }
                TransportEvent::Received(slot) => {
                    let (entry, request) = socket.waiting.remove(&slot).unwrap();
                    self.execute(token, slot, &entry, &request);
                }
            }
        }
    }

    fn begin(&mut self, token: u64, slot: Slot, entry: SubmissionEntry, data: CommandData) {
        let socket = self.sockets.get_mut(&token).unwrap();
        match self.subsystem.decode(socket.queue.as_ref(), &entry, data) {
            Err(status) => socket.connection.complete(slot, Answer::new(status)),
            Ok(request) => {
                let bytes = data.to_controller_bytes().max(data.to_host_bytes());
                socket.buffers.insert(slot, vec![0xee; bytes as usize]);
                match data {
                    CommandData::InCapsule { .. } | CommandData::AtHost { .. } => {
                        socket.waiting.insert(slot, (entry, request));
                        if matches!(data, CommandData::AtHost { .. }) {
                            socket.connection.receive(slot);
                        }
                    }
                    CommandData::None | CommandData::ToHost { .. } => {
                        self.execute(token, slot, &entry, &request);
                    }
                }
            }
        }
    }

    fn execute(&mut self, token: u64, slot: Slot, entry: &SubmissionEntry, request: &Request) {
        let now = self.clock.now();
        let socket = self.sockets.get_mut(&token).unwrap();
        let buffer = socket.buffers.get_mut(&slot).unwrap();
        match request {
            Request::Connect(command) => {
                let data = buffer[..].first_chunk().unwrap();
                match self.subsystem.connect(now, command, data) {
                    Ok(queue) => {
                        socket.queue = Some(queue);
                        socket.connection.start_queue(queue.terms());
                        socket.connection.complete(slot, queue.answer());
                    }
                    Err(refusal) => {
                        let (status, result) = refusal.encode();
                        let answer = Answer { result: result.into(), ..Answer::new(status) };
                        socket.connection.complete(slot, answer);
                    }
                }
            }
            Request::Admin(command) => {
                let is_read = entry.direction() == DataDirection::ToHost;
                let mut into = if is_read { buffer.clone() } else { Vec::new() };
                let (nsid, command) = (entry.common.nsid, *command);
                let request = AdminRequest { slot, nsid, command, data: buffer, into: &mut into };
                let queue = socket.queue.unwrap();
                let answer = self.subsystem.handle_admin(now, &queue, request, &report(now));
                if let AdminAnswer::Now(answer) | AdminAnswer::WhenKept(answer) = answer {
                    if is_read {
                        socket.buffers.insert(slot, into);
                    }
                    socket.connection.complete(slot, answer);
                }
            }
            Request::Authenticate(_) => unreachable!("no host of these drives has a key"),
            Request::Reservation(command) => {
                let (keys, queue) = (buffer.clone(), socket.queue.unwrap());
                // Commands are carried out at once, so nothing has to end first.
                let answer = self.subsystem.handle_reservation(&queue, command, &keys, buffer);
                socket.connection.complete(slot, answer.answer);
            }
            Request::Io(request) if !self.is_allowed(token, request) => {
                let conflict = StatusCode::ReservationConflict.for_good();
                let socket = self.sockets.get_mut(&token).unwrap();
                socket.connection.complete(slot, Answer::new(conflict));
            }
            Request::Io(request) => {
                let socket = self.sockets.get_mut(&token).unwrap();
                let buffer = socket.buffers.get_mut(&slot).unwrap();
                let mut faults = self.faults.lock().unwrap();
                let is_read = matches!(request.operation, IoOperation::Read(_));
                if is_read && faults.holds_reads {
                    return;
                }
                let may_fail = request.pl != nvme::PlFlag::Off;
                faults.flagged += u64::from(may_fail);
                let outcome = match faults.status {
                    Some(status) => IoOutcome::Failed(status.for_good()),
                    None if faults.is_collecting && may_fail => {
                        faults.failed_fast += 1;
                        IoOutcome::FailedFast { busy_remaining: Duration::from_micros(300) }
                    }
                    None => self.medium.lock().unwrap().execute(request, buffer),
                };
                socket.connection.complete(slot, request.answer(outcome));
            }
        }
    }

    fn is_allowed(&self, token: u64, request: &IoRequest) -> bool {
        let queue = self.sockets[&token].queue.unwrap();
        self.subsystem.allows(&queue, &request.operation)
    }

    /// Actions and outputs, until there are none.
    fn pump(&mut self) {
        while let Some(action) = self.subsystem.poll_action() {
            match action {
                Action::Answer { controller, slot, answer } => {
                    let admin = self.sockets.values_mut().find(|socket| {
                        socket.queue.is_some_and(|queue| {
                            queue.is_admin() && queue.controller() == controller
                        })
                    });
                    if let Some(admin) = admin {
                        admin.connection.complete(slot, answer);
                    }
                }
                Action::CloseIoQueues { controller } => {
                    self.close(|queue| queue.controller() == controller && !queue.is_admin());
                }
                Action::CloseController { controller } => {
                    self.close(|queue| queue.controller() == controller);
                }
                Action::ShutDown { controller, .. } => {
                    self.medium.lock().unwrap().flush();
                    self.subsystem.handle_shut_down(controller);
                }
                Action::KeepReservations => {
                    let state = self.subsystem.reservations().clone();
                    self.medium.lock().unwrap().reservations = state;
                }
                Action::SetWindows(_) | Action::SelectWindow(_) | Action::SetCounts(_) => {
                    self.faults.lock().unwrap().actions.push(action);
                }
            }
        }
        let mut faults = self.faults.lock().unwrap();
        for socket in self.sockets.values_mut() {
            socket.send(&mut faults);
        }
        drop(faults);
        let closed: Vec<u64> = self
            .sockets
            .iter()
            .filter(|(_, socket)| socket.is_closed)
            .map(|(&token, _)| token)
            .collect();
        for token in closed {
            let socket = self.sockets.remove(&token).unwrap();
            if let Some(queue) = socket.queue {
                self.subsystem.handle_closed(&queue);
            }
        }
    }

    fn close(&mut self, is_meant: impl Fn(&Queue) -> bool) {
        for socket in self.sockets.values_mut() {
            if socket.queue.as_ref().is_some_and(&is_meant) {
                socket.connection.close();
            }
        }
    }
}

impl Medium {
    fn execute(&mut self, request: &IoRequest, buffer: &mut [u8]) -> IoOutcome {
        match &request.operation {
            IoOperation::Read(range) => {
                let start = range.lba as usize * BLOCK;
                buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
            }
            IoOperation::Write(range) => {
                self.write(range, Some(buffer), request.force_unit_access);
            }
            IoOperation::WriteZeroes { range, .. } => {
                self.write(range, None, request.force_unit_access);
            }
            IoOperation::Flush => self.flush(),
            IoOperation::Deallocate { .. } | IoOperation::Nothing => {}
        }
        IoOutcome::Done
    }
}

impl Socket {
    fn send(&mut self, faults: &mut Faults) {
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Send(pdu) => {
                    self.to_send.extend_from_slice(pdu.prefix());
                    if let Some(piece) = pdu.data() {
                        let buffer = &self.buffers[&piece.slot];
                        let data = &buffer[piece.offset_bytes as usize..][..piece.bytes as usize];
                        self.to_send.extend_from_slice(data);
                        self.to_send.extend(pdu.data_digest(data).iter().flatten());
                    }
                }
                Output::Released(slot) => {
                    self.buffers.remove(&slot);
                    self.waiting.remove(&slot);
                }
                Output::Close => self.is_closed = true,
            }
        }
        if self.queue.is_some_and(|queue| !queue.is_admin())
            && let Some(left) = &mut faults.cut_after
        {
            let most = self.to_send.len().min(*left);
            *left -= most;
            self.to_send.truncate(most);
            self.is_closed |= *left == 0;
        }
        let mut sent = 0;
        while sent < self.to_send.len() {
            match self.stream.write(&self.to_send[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.is_closed = true;
                    break;
                }
            }
        }
        self.to_send.drain(..sent);
    }
}

fn report(now: Instant) -> DriveReport {
    DriveReport {
        // As if it had been on for an hour.
        clock: now + Duration::from_secs(3600),
        state: WindowState::Deterministic,
        typicals: WindowTypicals::default(),
        estimates: Estimates { reads: 0, writes: 1000, time_ms: 0 },
        advertised: Advertised { shortest: Duration::from_millis(5), longest: None },
        busy_time_window: Duration::from_millis(100),
        activity: nvme::wire::ioda::CollectionActivity::default(),
        health: HealthLog::default(),
    }
}
