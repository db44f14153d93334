//! The way of a connection into the target: accepted, connected, perhaps authenticated, with a
//! place by what it may do.
//!
//! All sockets of this way are watched as one. However many of them are ready, a turn of the loop
//! looks at few, so that hosts that are served wait for few.

use super::admission::{Loss, Stage};
use super::connection::{CommandName, ConnectionId, HostConnection};
use super::limits::DISCOVERY_TIMEOUT;
use super::listener::Listener;
use super::powers::Computed;
use super::subsystems::{Joined, Which};
use super::target::Target;
use crate::clock::{Event, Group, Interest};
use crate::crowd::Source;
use crate::seldom::Seldom;
use nvme::target::{
    Answer, AuthenticationAnswer, AuthenticationStep, CommandData, Queue, RANDOM_BYTES, Request,
    Slot,
};
use nvme::wire::{StatusCode, StatusField};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use units::{Duration, Instant};

/// Sockets of strangers that a turn of the loop looks at, and connections that it accepts of one
/// listener: some tens of microseconds, about as long as a served command takes.
const STRANGERS_PER_TURN: usize = 2;
const ACCEPTS_PER_TURN: usize = 2;

/// For how long a queue that may be used is waited for: ICReq, Connect, and authentication where it
/// is demanded.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// By how much more time some connections have for that than others, so that a crowd that came at
/// once does not go, and come again, at once.
const SPREAD: Duration = Duration::from_secs(5);
/// Parts of that.
const SPREAD_PARTS: u32 = 256;
/// Time that a failed connection has until it is closed. Nothing is received meanwhile, and its
/// host does not come again at once.
const FAILED_TIMEOUT: Duration = Duration::from_secs(2);
/// For how long nothing is accepted after there was no place, so that then several come at once.
const BREATH: Duration = Duration::from_millis(4);
/// For how long nothing is accepted after the system refused.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// For how long nothing more is logged of connections that cannot be accepted.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// Why nothing is accepted.
#[derive(Clone, Copy, Debug)]
enum Pause {
    /// All places for entering connections have some that made their last step just now, or too
    /// many came just now.
    Crowded { since: Instant },
    /// The system refused; until then.
    Refused(Instant),
}

/// The sockets that listen, and all that wait at them or behind them.
#[derive(Debug)]
pub(super) struct Entrance {
    listeners: Vec<Listener>,
    is_watched: bool,
    pause: Option<Pause>,
    is_over: bool,
    /// Listeners and connections that are not served.
    strangers: Group,
    events: Vec<Event>,
    /// Connects for whose connections there is no place yet, the first one first.
    to_authenticate: VecDeque<CommandName>,
    to_discover: VecDeque<CommandName>,
    failures: Seldom<Instant>,
}

impl Entrance {
    pub(super) fn new(listeners: Vec<Listener>) -> io::Result<Self> {
        Ok(Self {
            listeners,
            is_watched: false,
            pause: None,
            is_over: false,
            strangers: Group::new(STRANGERS_PER_TURN)?,
            events: Vec::new(),
            to_authenticate: VecDeque::new(),
            to_discover: VecDeque::new(),
            failures: Seldom::default(),
        })
    }

    /// What strangers are watched by.
    pub(super) const fn strangers(&self) -> &Group {
        &self.strangers
    }

    /// The line before a stage; `None` if the stage has none.
    const fn line_mut(&mut self, stage: Stage) -> Option<&mut VecDeque<CommandName>> {
        match stage {
            Stage::Authenticating => Some(&mut self.to_authenticate),
            Stage::Discovering => Some(&mut self.to_discover),
            Stage::Entering | Stage::Serving => None,
        }
    }
}

impl Target {
    /// Stops to listen. Connections that there are stay.
    pub fn stop_listening(&mut self) {
        self.unwatch_listeners();
        self.entrance.is_over = true;
        self.entrance.listeners.clear();
    }

    /// Looks at the next sockets of strangers that are ready. Returns how many bytes were received.
    pub(super) fn handle_strangers(&mut self, now: Instant) -> u64 {
        let mut events = std::mem::take(&mut self.entrance.events);
        if let Err(error) = self.entrance.strangers.poll(&mut events) {
            tracing::debug!(%error, "strangers cannot be looked at");
        }
        let received = events.drain(..).map(|event| self.handle_socket(now, &event)).sum();
        self.entrance.events = events;
        received
    }

    pub(super) fn accept(&mut self, now: Instant, number: usize) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(listener) = self.entrance.listeners.get(number) else { return };
            if self.admission.opens(Stage::Entering) > now {
                self.entrance.pause = Some(Pause::Crowded { since: now });
                return;
            }
            match listener.accept() {
                Ok((socket, peer)) => {
                    tracing::debug!(%peer, "a host has connected");
                    let source = Source::from(peer.ip());
                    let connection = HostConnection::new(socket, source, self.terms);
                    let id = self.table.insert(Box::new(connection));
                    self.table.set_deadline(id.index, Some(now + handshake_timeout(id.index)));
                    self.table.mark_dirty(id.index);
                    if let Some(oldest) = self.admission.accept(now, id.index, source) {
                        self.close(oldest);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => return self.refuse_to_accept(now, &error),
            }
        }
    }

    /// The system refuses a connection. Where it has no descriptor left, an entering connection
    /// makes room.
    fn refuse_to_accept(&mut self, now: Instant, error: &io::Error) {
        let lacks = [Errno::MFILE, Errno::NFILE]
            .contains(&Errno::from_io_error(error).unwrap_or(Errno::IO));
        if lacks && let Some(oldest) = self.admission.give_way(now) {
            return self.close(oldest);
        }
        if self.entrance.failures.may(now, LOG_PAUSE) {
            tracing::warn!(%error, "hosts cannot be accepted");
        }
        self.entrance.pause = Some(Pause::Refused(now + ACCEPT_PAUSE));
    }

    /// When a pause ends.
    fn accepts_from(&self) -> Instant {
        match self.entrance.pause {
            None => Instant::NEVER,
            Some(Pause::Crowded { since }) => {
                self.admission.opens(Stage::Entering).max(since + BREATH)
            }
            Some(Pause::Refused(until)) => until,
        }
    }

    /// When [`Target::open_entrance`] has something to do.
    pub(super) fn entrance_deadline(&self) -> Instant {
        let Entrance { to_authenticate, to_discover, .. } = &self.entrance;
        let lines = [(to_authenticate, Stage::Authenticating), (to_discover, Stage::Discovering)];
        let waiting = lines.into_iter().filter(|(line, _)| !line.is_empty());
        waiting
            .map(|(_, stage)| self.admission.opens(stage))
            .fold(self.accepts_from(), Instant::min)
    }

    /// Lets those in whose time has come.
    pub(super) fn open_entrance(&mut self, now: Instant) {
        if self.accepts_from() <= now {
            self.entrance.pause = None;
        }
        for stage in [Stage::Authenticating, Stage::Discovering] {
            for _ in 0..STRANGERS_PER_TURN {
                let opens = self.admission.opens(stage);
                let Some(line) = self.entrance.line_mut(stage) else { break };
                let Some(&name) = line.front() else { break };
                let own = self.table.get_mut(name.connection);
                let is_there = own.is_some_and(|own| !own.is_ending());
                if is_there && opens > now {
                    break;
                }
                line.pop_front();
                if is_there {
                    self.connect(now, name, stage);
                    self.table.mark_dirty(name.connection.index);
                }
            }
        }
    }

    /// Watches the listeners if a connection would be accepted, and else not.
    pub(super) fn watch_listeners(&mut self) -> io::Result<()> {
        let Entrance { pause, is_over, is_watched, .. } = &self.entrance;
        let wanted = pause.is_none() && !is_over;
        match (*is_watched, wanted) {
            (false, true) => {
                for (listener, token) in self.entrance.listeners.iter().zip(0..) {
                    self.entrance.strangers.add(listener, token, Interest::READ)?;
                }
                self.entrance.is_watched = true;
            }
            (true, false) => self.unwatch_listeners(),
            _ => {}
        }
        Ok(())
    }

    fn unwatch_listeners(&mut self) {
        if std::mem::take(&mut self.entrance.is_watched) {
            for listener in &self.entrance.listeners {
                if let Err(error) = self.entrance.strangers.remove(listener) {
                    tracing::debug!(%error, "a listener was not watched");
                }
            }
        }
    }

    /// The first bytes of a connection have been looked at: ICReq is a step.
    pub(super) fn note_establishment(&mut self, now: Instant, id: ConnectionId) {
        let Some(own) = self.table.get_mut(id) else { return };
        if own.machine.is_established() && !own.entry.is_established {
            own.entry.is_established = true;
            self.admission.step(now, id.index, own.stage);
        }
    }

    /// A connection asks for a queue with its Connect. It waits for a place behind those that came
    /// before.
    pub(super) fn knock(&mut self, now: Instant, name: CommandName) {
        let CommandName { connection: id, slot } = name;
        let Some(own) = self.table.get_mut(id) else { return };
        own.entry.is_established = true;
        let Some(stage) = own.connect_data(slot).map(|data| self.subsystems.stage_of(data)) else {
            return;
        };
        let opens = self.admission.opens(stage);
        match self.entrance.line_mut(stage) {
            Some(line) if !line.is_empty() || opens > now => {
                line.push_back(name);
                match stage {
                    Stage::Authenticating => self.admission.hold(id.index, Stage::Entering),
                    // Whoever discovers takes no place from those who wait to authenticate.
                    _ => self.admission.step(now, id.index, Stage::Entering),
                }
            }
            _ => self.connect(now, name, stage),
        }
    }

    /// Gives a connection the queue that it asks for, in a stage that has a place.
    fn connect(&mut self, now: Instant, name: CommandName, stage: Stage) {
        let CommandName { connection: id, slot } = name;
        let Some(own) = self.table.get_mut(id) else { return };
        let Some(Request::Connect(connect)) = own.pending_mut(slot).map(|pending| pending.request)
        else {
            return;
        };
        let Some(data) = own.connect_data(slot) else { return };
        let is_full = self.admission.is_full();
        match self.subsystems.connect(now, &connect, data, is_full) {
            Ok(joined) => self.join(now, id, slot, (joined, stage)),
            Err(refusal) => {
                tracing::debug!(?refusal, "a host is refused");
                self.admission.note(Loss::Refused);
                self.admission.step(now, id.index, own.stage);
                let (status, result) = refusal.encode();
                let answer = Answer { result: result.into(), ..Answer::new(status) };
                own.machine.complete(slot, answer);
                self.note_refusal(now, id);
            }
        }
    }

    /// A command of a connection was refused.
    pub(super) fn note_refusal(&mut self, now: Instant, id: ConnectionId) {
        if self.table.get_mut(id).is_some_and(HostConnection::note_refusal) {
            self.fail(now, id);
        }
    }

    /// A connection is of no use any more, and waits for nothing.
    fn fail(&mut self, now: Instant, id: ConnectionId) {
        let Some(own) = self.table.get_mut(id) else { return };
        own.entry.has_failed = true;
        self.admission.step(now, id.index, own.stage);
        self.table.shorten_deadline(id.index, now + FAILED_TIMEOUT);
        self.table.mark_dirty(id.index);
    }

    /// Goes on with the authentication of a queue.
    pub(super) fn authenticate(
        &mut self,
        now: Instant,
        id: ConnectionId,
        slot: Slot,
        step: AuthenticationStep,
    ) {
        let Some(own) = self.table.get_mut(id) else { return };
        let Some(Joined { which: Which::Own, queue }) = own.joined else { return };
        let mut random = [0; RANDOM_BYTES];
        if let Err(error) = fill_random(&mut random) {
            tracing::error!(%error, "a host cannot be authenticated without random numbers");
            return own.machine.complete(slot, Answer::new(StatusCode::Internal.for_now()));
        }
        let Some(pending) = own.pending_mut(slot) else { return };
        let is_to_host = matches!(pending.data, CommandData::ToHost { .. });
        let (mut nothing, mut data) = ([0; 0], pending.buffer.as_mut());
        let (data, into): (&[u8], &mut [u8]) = match &mut data {
            Some(buffer) if is_to_host => (&[], buffer.bytes_mut()),
            Some(buffer) => (buffer.bytes(), &mut nothing),
            None => (&[], &mut nothing),
        };
        let subsystem = &mut self.subsystems.own;
        match subsystem.handle_authentication(&queue, step, data, into, &random) {
            AuthenticationAnswer::Now(answer) => {
                own.machine.complete(slot, answer);
                match answer.status.is_success() {
                    true => self.note_progress(now, id, &queue),
                    false => self.note_refusal(now, id),
                }
            }
            AuthenticationAnswer::Held(power) => {
                let name = CommandName { connection: id, slot };
                let party = (own.source, !queue.is_admin());
                // How long others make it wait is none of its own time.
                self.admission.hold(id.index, own.stage);
                if let Some(powers) = &mut self.powers {
                    powers.order(party, name, power);
                }
            }
            AuthenticationAnswer::Last(answer) => {
                own.machine.complete(slot, answer);
                self.fail(now, id);
            }
        }
        self.admit(now, id);
    }

    /// Powers are computed: the exchanges that needed them go on.
    pub(super) fn take_powers(&mut self, now: Instant) {
        if let Some(powers) = &self.powers {
            powers.acknowledge();
        }
        while let Some(powers) = &mut self.powers
            && let Some(Computed { name, value }) = powers.poll_computed()
        {
            let CommandName { connection: id, slot } = name;
            let Some(own) = self.table.get_mut(id) else { continue };
            let Some(Joined { which: Which::Own, queue }) = own.joined else { continue };
            self.subsystems.own.handle_power(&queue, value);
            own.machine.complete(slot, Answer::new(StatusField::SUCCESS));
            own.entry.progress = self.subsystems.own.authentication_progress(&queue);
            self.admission.step(now, id.index, own.stage);
            self.table.mark_dirty(id.index);
            self.admit(now, id);
        }
    }

    /// Has the next powers computed.
    pub(super) fn go_on_with_powers(&mut self) {
        let Self { powers: Some(powers), table, .. } = self else { return };
        powers.go_on(|name| {
            let own = table.get_mut(name.connection);
            own.is_some_and(|own| own.joined.is_some() && !own.is_ending() && !own.entry.has_failed)
        });
    }

    /// The host of a queue may have made a step. Each counts once.
    fn note_progress(&mut self, now: Instant, id: ConnectionId, queue: &Queue) {
        let progress = self.subsystems.own.authentication_progress(queue);
        let Some(own) = self.table.get_mut(id) else { return };
        if progress > own.entry.progress {
            own.entry.progress = progress;
            self.admission.step(now, id.index, own.stage);
        }
    }

    /// A connection has become a queue.
    fn join(
        &mut self,
        now: Instant,
        id: ConnectionId,
        slot: Slot,
        (joined, stage): (Joined, Stage),
    ) {
        let Some(own) = self.table.get_mut(id) else { return };
        own.joined = Some(joined);
        own.machine.start_queue(joined.queue.terms());
        own.machine.complete(slot, joined.queue.answer());
        let (controller, queue) = (joined.queue.controller(), joined.queue.number());
        tracing::debug!(controller, queue, subsystem = ?joined.which, "a host has a queue");
        if joined.queue.is_admin() {
            self.admin.insert((joined.which, controller), id);
        }
        self.advance(now, id, stage);
    }

    /// Lets a connection serve its queue if its host has authenticated by now.
    fn admit(&mut self, now: Instant, id: ConnectionId) {
        let Some(own) = self.table.get_mut(id) else { return };
        let (Stage::Authenticating, Some(Joined { queue, .. })) = (own.stage, own.joined) else {
            return;
        };
        if !self.subsystems.own.may_use(&queue) {
            return;
        }
        // Others have authenticated meanwhile.
        if self.admission.is_full() {
            self.admission.note(Loss::Refused);
            own.machine.close();
            return self.table.mark_dirty(id.index);
        }
        self.advance(now, id, Stage::Serving);
    }

    /// A connection comes into its next stage.
    fn advance(&mut self, now: Instant, id: ConnectionId, stage: Stage) {
        let Some(own) = self.table.get_mut(id) else { return };
        let (from, source) = (own.stage, own.source);
        own.set_stage(&mut self.memory, stage);
        match stage {
            Stage::Entering | Stage::Authenticating => {}
            Stage::Discovering => self.table.set_deadline(id.index, Some(now + DISCOVERY_TIMEOUT)),
            Stage::Serving => self.table.set_deadline(id.index, None),
        }
        self.table.mark_dirty(id.index);
        if let Some(oldest) = self.admission.promote(now, id.index, source, (from, stage)) {
            self.close(oldest);
        }
    }

    /// The time of a connection is over.
    pub(super) fn close_late(&mut self, index: u32) {
        let own = self.table.id(index).and_then(|id| self.table.get_mut(id));
        if let Some(own) = own
            && !own.is_ending()
            && own.stage != Stage::Serving
        {
            let loss = if own.entry.has_failed { Loss::Refused } else { Loss::Late };
            self.admission.note(loss);
        }
        self.close(index);
    }
}

/// How much time a connection has for its handshake.
const fn handshake_timeout(number: u32) -> Duration {
    let part_nanos = SPREAD.as_nanos() / SPREAD_PARTS as u64;
    let spread_nanos = part_nanos * (number % SPREAD_PARTS) as u64;
    Duration::from_nanos(HANDSHAKE_TIMEOUT.as_nanos() + spread_nanos)
}

/// Fills bytes with random ones of the system.
fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
