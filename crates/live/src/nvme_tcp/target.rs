//! A target at some addresses: its connections, and the commands that come over them.

use super::admission::{Admission, Shares, Stage};
use super::command_buffer::CommandBuffer;
use super::command_memory::CommandMemory;
use super::connection::{CommandName, ConnectionId, HostConnection, Pending, Received};
use super::entrance::Entrance;
use super::fence::Fence;
use super::limits::{DISCOVERY_TIMEOUT, RECEIVE_BYTES, TRANSFER_BYTES_MAX};
use super::listener::Listener;
use super::powers::Powers;
use super::subsystems::{Joined, Subsystems, Which};
use super::table::Table;
use crate::buffer::Pool;
use crate::certainty::Certainty;
use crate::clock::{Event, Interest, Waiter};
use crate::control::StrangerStatus;
use nvme::WindowTraffic;
use nvme::target::{
    Action, AdminAnswer, AdminRequest, Answer, CommandData, Discovery, DriveReport, IoOutcome,
    IoRequest, Listing, Request, ReservationAnswer, ReservationState, Slot, Subsystem,
    SubsystemConfig, Terms, TransportEvent,
};
use nvme::wire::{ReservationCommand, StatusCode, SubmissionEntry};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use units::{Duration, Instant};

/// Three quarters of all memory are shares.
const SHARES_OF_FOUR: u64 = 3;
/// Data that one C2HData has at most: short ones let other answers go in between.
const CONTROLLER_DATA_BYTES: u32 = 64 << 10;

/// Calls to receive for one connection in one turn of the loop.
const RECEIPTS_PER_TURN: usize = 4;
/// Bytes that are sent over all connections in one turn of the loop.
const SENT_BYTES_PER_TURN: u64 = 2 << 20;
/// For how long a host may take to read what it was sent last, and to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Tokens of connections are behind those of this many listeners, the one of powers and the one of
/// all strangers.
const LISTENERS_MAX: u64 = 256;
const POWERS: u64 = LISTENERS_MAX;
const STRANGERS: u64 = POWERS + 1;
const FIRST_CONNECTION: u64 = STRANGERS + 1;

/// What a target is made of.
#[derive(Debug)]
pub struct TargetSetup {
    /// The subsystem.
    pub config: SubsystemConfig,
    /// Where it listens; at most 256.
    pub listeners: Vec<Listener>,
    /// What of it the discovery subsystem tells.
    pub listings: Vec<Listing>,
    /// Bound on the data of commands that all hosts together have it hold, at least
    /// [`COMMAND_MEMORY_BYTES_MIN`](super::COMMAND_MEMORY_BYTES_MIN).
    pub memory_bytes: u64,
    /// Reservations that were kept.
    pub reservations: ReservationState,
}

/// What a target asks of its driver.
#[derive(Debug)]
pub enum TargetEvent {
    /// An admin command came: call [`Target::handle_admin`].
    Admin(CommandName),
    /// Carry out a command, then call [`Target::complete`].
    Io {
        /// The command.
        name: CommandName,
        /// What it asks.
        request: IoRequest,
        /// Its data, or room for them, if it has any.
        buffer: Option<CommandBuffer>,
    },
    /// Only [`Action::ShutDown`], [`Action::SetWindows`], [`Action::SelectWindow`],
    /// [`Action::SetCounts`] and [`Action::KeepReservations`].
    Action(Action),
}

/// A target.
#[derive(Debug)]
pub struct Target {
    pub(super) subsystems: Subsystems,
    pub(super) entrance: Entrance,
    pub(super) admission: Admission,
    pub(super) table: Table,
    /// The connection of the admin queue of each controller.
    pub(super) admin: BTreeMap<(Which, u16), ConnectionId>,
    /// `None` where hosts do not authenticate.
    pub(super) powers: Option<Powers>,
    fence: Fence,
    pub(super) memory: CommandMemory,
    pool: Pool,
    events: VecDeque<TargetEvent>,
    /// Where bytes are received.
    received: Vec<u8>,
    pub(super) terms: Terms,
    pub(super) first_token: u64,
}

impl Target {
    /// A target that begins to accept connections. None if the discovery subsystem cannot have this
    /// serial number or revision, which it has from the subsystem's. All tokens of the waiter from
    /// `first_token` on are its own.
    ///
    /// # Errors
    ///
    /// If the system cannot watch the listeners.
    pub fn new(setup: TargetSetup, first_token: u64, waiter: &mut Waiter) -> io::Result<Self> {
        let TargetSetup { config, listeners, listings, memory_bytes, reservations } = setup;
        let shares = Shares {
            entering_bytes: Stage::Entering.share_bytes(),
            authenticating_bytes: config
                .authentication
                .as_ref()
                .map_or(0, |_| Stage::Authenticating.share_bytes()),
            discovering_bytes: Stage::Discovering.share_bytes(),
            serving_bytes: Stage::Serving.share_bytes(),
        };
        let admission = Admission::new(memory_bytes / 4 * SHARES_OF_FOUR, shares);
        let common = memory_bytes.saturating_sub(admission.shares_bytes());
        let controllers_max = admission.discovery_controllers_max();
        let (serial, revision) = (config.serial, config.firmware);
        let discovery = Discovery::new(controllers_max, serial.as_str(), revision.as_str());
        let mut discovery =
            discovery.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        discovery.set_listings(listings);
        let terms = Terms {
            host_data_max_bytes: TRANSFER_BYTES_MAX,
            controller_data_max_bytes: CONTROLLER_DATA_BYTES,
            transfer_max_bytes: config.transfer_max_bytes(),
            checksum: crc32c::crc32c_append,
        };
        let powers = config.authentication.as_ref().map(|_| Powers::start()).transpose()?;
        if let Some(powers) = &powers {
            waiter.add(powers.bell(), first_token + POWERS, Interest::READ)?;
        }
        let entrance = Entrance::new(listeners)?;
        waiter.add(entrance.strangers(), first_token + STRANGERS, Interest::READ)?;
        let mut target = Self {
            subsystems: Subsystems::new(
                Subsystem::with_reservations(config, reservations),
                discovery,
            ),
            entrance,
            admission,
            table: Table::default(),
            admin: BTreeMap::new(),
            powers,
            fence: Fence::default(),
            memory: CommandMemory::new(common),
            pool: Pool::default(),
            events: VecDeque::new(),
            received: vec![0; RECEIVE_BYTES],
            terms,
            first_token,
        };
        target.watch_listeners()?;
        Ok(target)
    }

    /// The subsystem.
    #[must_use]
    pub const fn subsystem(&self) -> &Subsystem {
        &self.subsystems.own
    }

    /// Connections that there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.count()
    }

    /// Controllers whose hosts may use them.
    #[must_use]
    pub fn served_controllers(&self) -> usize {
        let all = self.admin.keys();
        all.filter(|(which, controller)| self.is_served(*which, *controller)).count()
    }

    /// How many connections ended before they were of use.
    #[must_use]
    pub const fn strangers(&self) -> StrangerStatus {
        self.admission.status()
    }

    /// The next thing for the driver.
    pub fn poll_event(&mut self) -> Option<TargetEvent> {
        self.events.pop_front()
    }

    /// Whether there is something for the driver: what was sent may have made room for the next
    /// command.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether more is to be sent than [`Target::settle`] does at a time.
    #[must_use]
    pub fn has_more_to_send(&self) -> bool {
        self.table.has_dirty()
    }

    /// When [`Target::handle_deadline`] wants to be called if nothing else happens.
    pub fn next_deadline(&mut self) -> Instant {
        let own = self.table.next_deadline().min(self.admission.next_deadline());
        own.min(self.subsystems.next_deadline()).min(self.entrance_deadline())
    }

    /// Ends what has taken too long. To be followed by [`Target::settle`].
    pub fn handle_deadline(&mut self, now: Instant) {
        self.subsystems.handle_deadline(now);
        while let Some(index) = self.table.pop_expired(now) {
            self.close_late(index);
        }
        self.admission.log(now);
        self.open_entrance(now);
    }

    /// Whether an event of the waiter is for this target.
    #[must_use]
    pub const fn owns(&self, event: &Event) -> bool {
        event.token >= self.first_token
    }

    /// A socket is ready. Returns how many bytes were received. To be followed by
    /// [`Target::settle`].
    pub fn handle_ready(&mut self, now: Instant, event: &Event) -> u64 {
        match event.token - self.first_token {
            POWERS => {
                self.take_powers(now);
                0
            }
            STRANGERS => self.handle_strangers(now),
            number => self.handle_socket(now, &Event { token: number, ..*event }),
        }
    }

    /// A listener or a connection is ready.
    pub(super) fn handle_socket(&mut self, now: Instant, event: &Event) -> u64 {
        if event.token < LISTENERS_MAX {
            self.accept(now, event.token as usize);
            return 0;
        }
        let index = (event.token - FIRST_CONNECTION) as u32;
        let Some(id) = self.table.id(index) else { return 0 };
        let mut received = 0;
        if event.writable || event.hung_up {
            self.table.get_mut(id).into_iter().for_each(HostConnection::set_writable);
        }
        if event.readable || event.hung_up {
            received = self.receive(now, id);
        }
        self.table.mark_dirty(index);
        received
    }

    /// Answers an admin command.
    pub fn handle_admin(&mut self, now: Instant, name: CommandName, drive: &DriveReport) {
        let CommandName { connection, slot } = name;
        let Some(own) = self.table.get_mut(connection) else { return };
        let Some(joined) = own.joined else { return };
        let local = own.local_ip(joined.which);
        let Some(pending) = own.pending_mut(slot) else { return };
        let Request::Admin(command) = pending.request else { return };
        let (mut nothing, mut data) = ([0; 0], pending.buffer.as_mut());
        let is_to_host = matches!(pending.data, CommandData::ToHost { .. });
        let (data, into): (&[u8], &mut [u8]) = match &mut data {
            Some(buffer) if is_to_host => (&[], buffer.bytes_mut()),
            Some(buffer) => (buffer.bytes(), &mut nothing),
            None => (&[], &mut nothing),
        };
        let request = AdminRequest { slot, nsid: pending.nsid, command, data, into };
        let answer = self.subsystems.handle_admin(now, &joined, request, drive, local);
        match answer {
            AdminAnswer::Now(answer) => own.machine.complete(slot, answer),
            AdminAnswer::WhenKept(answer) => {
                let (ends_first, keep) = (Vec::new(), true);
                self.fence.hold(name, ReservationAnswer { answer, ends_first, keep });
            }
            AdminAnswer::Held => {}
        }
        self.table.mark_dirty(connection.index);
    }

    /// A command was carried out, and its data, if it has any, are back or no longer needed.
    /// Without the buffer it was lent, [`Target::take_back`] is called when that is back.
    pub fn complete(
        &mut self,
        name: CommandName,
        outcome: IoOutcome,
        buffer: Option<CommandBuffer>,
    ) {
        self.fence.end(name);
        self.answer_fenced();
        let Some(own) = self.table.get_mut(name.connection) else {
            buffer.into_iter().for_each(|buffer| self.take_back(name, buffer));
            return;
        };
        let Some(Pending { request: Request::Io(request), .. }) = own.pending_mut(name.slot) else {
            unreachable!("{name:?} is in flight")
        };
        let answer = request.answer(outcome);
        let mut unneeded = buffer;
        if answer.status.is_success()
            && answer.data_bytes > 0
            && let Some(buffer) = unneeded.take()
        {
            own.returned(&buffer);
            if let Some(pending) = own.pending_mut(name.slot) {
                pending.buffer = Some(buffer);
            }
        }
        own.machine.complete(name.slot, answer);
        self.table.mark_dirty(name.connection.index);
        unneeded.into_iter().for_each(|buffer| self.take_back(name, buffer));
    }

    /// A buffer that a command was lent is back after the command was answered without it.
    pub fn take_back(&mut self, name: CommandName, buffer: CommandBuffer) {
        let Some(own) = self.table.get_mut(name.connection) else {
            self.memory.give_common(buffer.held_bytes());
            buffer.recycle(&mut self.pool);
            return;
        };
        own.returned(&buffer);
        own.give(&mut self.memory, &mut self.pool, buffer);
        self.table.mark_dirty(name.connection.index);
    }

    /// The flush that [`Action::ShutDown`] asked for is over.
    pub fn handle_shut_down(&mut self, controller: u16) {
        self.subsystems.own.handle_shut_down(controller);
    }

    /// The state of reservations that an [`Action::KeepReservations`] ordered to be kept is on
    /// stable storage, or could not be brought there. To be called once for each of them, in order.
    pub fn handle_reservations_kept(&mut self, is_kept: bool) {
        self.fence.handle_kept(is_kept);
        self.answer_fenced();
    }

    /// Answers reservation commands that wait for nothing any more.
    fn answer_fenced(&mut self) {
        while let Some((CommandName { connection, slot }, answer)) = self.fence.poll() {
            if let Some(own) = self.table.get_mut(connection) {
                own.machine.complete(slot, answer);
                self.table.mark_dirty(connection.index);
            }
        }
    }

    /// Events of windows happened.
    pub fn handle_window_events(&mut self, events: u16) {
        self.subsystems.own.handle_window_events(events);
    }

    /// A policy begins that wants a coordinator for windows of this length, or one that wants none.
    pub fn begin_traffic(&mut self, length: Option<Duration>) {
        self.subsystems.own.begin_traffic(length);
    }

    /// A deterministic window has ended. To be followed by [`Target::settle`].
    pub fn handle_traffic(&mut self, window: WindowTraffic) {
        self.subsystems.own.handle_traffic(window);
    }

    /// Place of the host of a command in the list of those that may attach; 0 where all may.
    #[must_use]
    pub fn place_of_host(&self, name: CommandName) -> usize {
        let joined = self.table.get(name.connection).and_then(|own| own.joined.as_ref());
        joined.map_or(0, |joined| self.subsystems.own.place_of_host(&joined.queue))
    }

    /// Ends all connections: what is to be sent is sent.
    pub fn close_all(&mut self) {
        let all: Vec<u32> = self
            .table
            .iter_mut()
            .map(|(id, own)| {
                own.machine.close();
                id.index
            })
            .collect();
        all.into_iter().for_each(|index| self.table.mark_dirty(index));
    }

    /// Whether something is to be sent that some socket does not take.
    pub fn has_unsent(&mut self) -> bool {
        self.table.iter_mut().any(|(_, own)| own.has_unsent())
    }

    /// Does what there is to do until nothing is left but to wait, or
    /// [much](Target::has_more_to_send) was sent, or `certainty` ends. Returns how many bytes were
    /// sent.
    ///
    /// # Errors
    ///
    /// If the system cannot watch a listener.
    pub fn settle(
        &mut self,
        now: Instant,
        certainty: Certainty,
        waiter: &mut Waiter,
    ) -> io::Result<u64> {
        let mut sent = 0;
        while sent < SENT_BYTES_PER_TURN && certainty.holds() {
            while let Some((which, action)) = self.subsystems.poll_action() {
                self.act(which, action);
            }
            if let Some(index) = self.table.pop_dirty() {
                sent += self.look_after(now, waiter, index);
                continue;
            }
            match self.table.first_in_line() {
                Some(id) if self.would_go_on(id) => {
                    self.table.leave_line();
                    self.table.mark_dirty(id.index);
                }
                _ => break,
            }
        }
        self.go_on_with_powers();
        self.watch_listeners()?;
        Ok(sent)
    }

    fn would_go_on(&mut self, id: ConnectionId) -> bool {
        let Some(own) = self.table.get_mut(id) else { return true };
        !own.waits_for_memory(&self.memory) || own.would_go_on(&self.memory)
    }

    fn receive(&mut self, now: Instant, id: ConnectionId) -> u64 {
        let mut all = 0;
        if let Some(own) = self.table.get_mut(id) {
            own.notice_hang_up();
        }
        let mut received = std::mem::take(&mut self.received);
        for _ in 0..RECEIPTS_PER_TURN {
            let Some(own) = self.table.get_mut(id) else { break };
            if !own.may_receive(&self.memory) {
                break;
            }
            let most = own.stage.receive_bytes();
            let Received::Bytes(count) = own.receive(&mut received[..most]) else { break };
            all += count as u64;
            self.take_bytes(now, id, &received[..count]);
            // Strangers take turns.
            if count < RECEIVE_BYTES {
                break;
            }
        }
        self.received = received;
        all
    }

    fn take_bytes(&mut self, now: Instant, id: ConnectionId, mut bytes: &[u8]) {
        while let Some(own) = self.table.get_mut(id)
            && !own.entry.has_failed
        {
            let (taken, event) = own.machine.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(_) | TransportEvent::Over => {
                    return self.note_establishment(now, id);
                }
                TransportEvent::Command { slot, entry, data } => {
                    self.begin(now, id, slot, &entry, data);
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    own.put_data(slot, offset_bytes, bytes);
                }
                TransportEvent::Received(slot) => self.start(now, id, slot),
            }
        }
    }

    /// A command has come, not its data.
    fn begin(
        &mut self,
        now: Instant,
        id: ConnectionId,
        slot: Slot,
        entry: &SubmissionEntry,
        data: CommandData,
    ) {
        let Some(own) = self.table.get_mut(id) else { return };
        if own.stage == Stage::Discovering {
            self.table.set_deadline(id.index, Some(now + DISCOVERY_TIMEOUT));
        }
        let Some(own) = self.table.get_mut(id) else { return };
        let request = match self.subsystems.decode(own.joined.as_ref(), entry, data) {
            Ok(request) => request,
            Err(status) => {
                tracing::debug!(opcode = entry.opcode, ?status, "a command is refused");
                own.machine.complete(slot, Answer::new(status));
                return self.note_refusal(now, id);
            }
        };
        own.insert(slot, Pending { nsid: entry.common.nsid, request, data, buffer: None });
        match data {
            CommandData::None => self.start(now, id, slot),
            CommandData::InCapsule { .. } => own.hold(&mut self.memory, &mut self.pool, slot),
            CommandData::AtHost { .. } | CommandData::ToHost { .. } => {
                own.wait_for_buffer(slot);
                self.grant(now, id);
            }
        }
    }

    /// Commands that wait for buffers get them, as far as there is room.
    fn grant(&mut self, now: Instant, id: ConnectionId) {
        while let Some(own) = self.table.get_mut(id)
            && let Some(slot) = own.poll_grant(&mut self.memory, &mut self.pool)
        {
            match own.pending_mut(slot).map(|pending| pending.data) {
                Some(CommandData::AtHost { .. }) => own.machine.receive(slot),
                _ => self.start(now, id, slot),
            }
        }
    }

    /// A command is there with all its data, or room for those that it asks for.
    fn start(&mut self, now: Instant, id: ConnectionId, slot: Slot) {
        let Some(own) = self.table.get_mut(id) else { return };
        let Some(pending) = own.pending_mut(slot) else { return };
        let name = CommandName { connection: id, slot };
        match pending.request {
            Request::Connect(_) => self.knock(now, name),
            Request::Authenticate(step) => self.authenticate(now, id, slot, step),
            Request::Admin(_) => self.events.push_back(TargetEvent::Admin(name)),
            Request::Reservation(command) => self.reserve(name, &command),
            Request::Io(request) => {
                let subsystem = &self.subsystems.own;
                if subsystem.reservations().held.is_some()
                    && let Some(Joined { queue, .. }) = own.joined
                {
                    match subsystem.host_of(&queue) {
                        Some(host) if subsystem.allows(&queue, &request.operation) => {
                            self.fence.begin(name, host);
                        }
                        _ => {
                            let conflict = StatusCode::ReservationConflict.for_good();
                            return own.machine.complete(slot, Answer::new(conflict));
                        }
                    }
                }
                let buffer = own.lend(slot);
                self.events.push_back(TargetEvent::Io { name, request, buffer });
            }
        }
    }

    /// Carries out a reservation command.
    fn reserve(&mut self, name: CommandName, command: &ReservationCommand) {
        let Some(own) = self.table.get_mut(name.connection) else { return };
        let Some(Joined { which: Which::Own, queue }) = own.joined else { return };
        let Some(pending) = own.pending_mut(name.slot) else { return };
        let is_to_host = matches!(pending.data, CommandData::ToHost { .. });
        let (mut nothing, mut data) = ([0; 0], pending.buffer.as_mut());
        let (data, into): (&[u8], &mut [u8]) = match &mut data {
            Some(buffer) if is_to_host => (&[], buffer.bytes_mut()),
            Some(buffer) => (buffer.bytes(), &mut nothing),
            None => (&[], &mut nothing),
        };
        let subsystem = &mut self.subsystems.own;
        let answer = subsystem.handle_reservation(&queue, command, data, into);
        tracing::debug!(?command, status = ?answer.answer.status, "a reservation command");
        self.fence.hold(name, answer);
        self.answer_fenced();
    }

    fn act(&mut self, which: Which, action: Action) {
        match action {
            Action::Answer { controller, slot, answer } => {
                let Some(&id) = self.admin.get(&(which, controller)) else { return };
                let Some(own) = self.table.get_mut(id) else { return };
                own.machine.complete(slot, answer);
                self.table.mark_dirty(id.index);
            }
            Action::CloseIoQueues { controller } => self.close_queues(which, controller, true),
            Action::CloseController { controller } => {
                // Strangers could fill the log.
                if self.is_served(which, controller) {
                    tracing::info!(
                        controller,
                        "nothing was heard of a host: its controller is no more"
                    );
                }
                self.close_queues(which, controller, false);
            }
            Action::ShutDown { .. } if which == Which::Discovery => {}
            Action::ShutDown { .. }
            | Action::SetWindows(_)
            | Action::SelectWindow(_)
            | Action::SetCounts(_)
            | Action::KeepReservations => {
                self.events.push_back(TargetEvent::Action(action));
            }
        }
    }

    /// Ends the connections of a controller.
    fn close_queues(&mut self, which: Which, controller: u16, io_only: bool) {
        let is_meant = |joined: &Joined| {
            joined.which == which
                && joined.queue.controller() == controller
                && !(io_only && joined.queue.is_admin())
        };
        let mut closed = Vec::new();
        for (id, own) in self.table.iter_mut() {
            if own.joined.as_ref().is_some_and(is_meant) {
                own.machine.close();
                closed.push(id.index);
            }
        }
        closed.into_iter().for_each(|index| self.table.mark_dirty(index));
    }

    /// Goes on with a connection of which something has changed. Returns how many bytes were sent.
    fn look_after(&mut self, now: Instant, waiter: &mut Waiter, index: u32) -> u64 {
        let Some(id) = self.table.id(index) else { return 0 };
        self.grant(now, id);
        let Some(own) = self.table.get_mut(id) else { return 0 };
        let sent = own.send(&mut self.memory, &mut self.pool);
        if own.is_over() {
            self.close(index);
            return sent;
        }
        let has_more_to_send = own.has_more_to_send();
        let (is_ending, stage) = (own.is_ending(), own.stage);
        if own.waits_for_memory(&self.memory) {
            // What was sent just now may have made room in its own share.
            match own.would_go_on(&self.memory) {
                true => self.table.mark_dirty(index),
                false => self.table.join_line(id),
            }
        }
        if has_more_to_send {
            self.table.mark_dirty(index);
        }
        if is_ending {
            if self.leave(id) {
                // It waits for nothing any more, and may end for another.
                self.admission.step(now, index, stage);
            }
            self.table.shorten_deadline(index, now + CLOSE_TIMEOUT);
        }
        if let Err(error) = self.watch(waiter, index) {
            match self.table.get(id).is_some_and(|own| own.stage == Stage::Serving) {
                true => tracing::warn!(%error, "a host cannot be served any more"),
                false => tracing::debug!(%error, "a connection cannot be watched"),
            }
            self.close(index);
        }
        sent
    }

    /// Whether a controller is of a host that may use its queues.
    fn is_served(&self, which: Which, controller: u16) -> bool {
        let own = self.admin.get(&(which, controller)).and_then(|id| self.table.get(*id));
        own.is_some_and(|own| own.stage == Stage::Serving)
    }

    /// Has a connection watched for what it waits for: by the waiter if it is served, and else
    /// among strangers.
    fn watch(&mut self, waiter: &mut Waiter, index: u32) -> io::Result<()> {
        let number = FIRST_CONNECTION + u64::from(index);
        let token = self.first_token + number;
        let strangers = self.entrance.strangers();
        let Some(place) = self.table.place_mut(index) else { return Ok(()) };
        let Some(own) = &place.connection else { return Ok(()) };
        let is_stranger = own.stage != Stage::Serving;
        if place.interest.is_some() && place.is_among_strangers && !is_stranger {
            strangers.remove(own.fd())?;
            place.interest = None;
        }
        place.is_among_strangers = is_stranger;
        let wanted = own.interest(&self.memory);
        let watched = place.interest;
        if wanted == watched {
            return Ok(());
        }
        match (watched, wanted, is_stranger) {
            (None, Some(interest), true) => strangers.add(own.fd(), number, interest)?,
            (None, Some(interest), false) => waiter.add(own.fd(), token, interest)?,
            (Some(_), Some(interest), true) => strangers.change(own.fd(), number, interest)?,
            (Some(_), Some(interest), false) => waiter.change(own.fd(), token, interest)?,
            (Some(_), None, true) => strangers.remove(own.fd())?,
            (Some(_), None, false) => waiter.remove(own.fd())?,
            (None, None, _) => {}
        }
        place.interest = wanted;
        Ok(())
    }

    /// A connection is no more. Its commands go on, and their answers are dropped. A descriptor
    /// that is closed is watched no longer.
    pub(super) fn close(&mut self, index: u32) {
        let Some(id) = self.table.id(index) else { return };
        self.leave(id);
        let Some(mut own) = self.table.remove(index) else { return };
        self.admission.leave(index, own.stage);
        own.close(&mut self.memory, &mut self.pool);
    }

    /// A connection is a queue no more: its place in the controller is free at once, though the
    /// host may still be reading its last answers. Returns whether it was one.
    fn leave(&mut self, id: ConnectionId) -> bool {
        let Some(joined) = self.table.get_mut(id).and_then(|own| own.joined.take()) else {
            return false;
        };
        let key = (joined.which, joined.queue.controller());
        if joined.queue.is_admin() && self.admin.get(&key) == Some(&id) {
            self.admin.remove(&key);
        }
        self.subsystems.handle_closed(&joined);
        true
    }
}
