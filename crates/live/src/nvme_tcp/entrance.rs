//! The way of a connection into the target: accepted, perhaps authenticated, and then given a place by what it may do.

use super::admission::{Loss, Stage};
use super::connection::{CommandName, ConnectionId, HostConnection};
use super::listener::Listener;
use super::powers::Computed;
use super::subsystems::{Joined, Which};
use super::target::{DISCOVERY_TIMEOUT, Target};
use crate::clock::{Interest, Waiter};
use crate::crowd::Source;
use nvme::target::{
    Answer, AuthenticationAnswer, AuthenticationStep, CommandData, RANDOM_BYTES, Slot,
};
use nvme::wire::{StatusCode, StatusField};
use std::io;
use units::{Duration, Instant};

/// Connections that are accepted in one turn of the loop.
const ACCEPTS_PER_TURN: usize = 16;

/// For how long a queue that may be used is waited for: ICReq, Connect, and authentication where it is demanded.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long nothing is accepted after the system had no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The sockets that listen.
#[derive(Debug)]
pub(super) struct Listening {
    listeners: Vec<Listener>,
    is_watched: bool,
    /// Until when nothing is accepted: the system had no descriptor left, or all places have new connections.
    pub(super) paused_until: Option<Instant>,
    is_over: bool,
}

impl Listening {
    pub(super) const fn new(listeners: Vec<Listener>) -> Self {
        Self { listeners, is_watched: false, paused_until: None, is_over: false }
    }
}

impl Target {
    /// Stops to listen. Connections that there are stay.
    pub fn stop_listening(&mut self, waiter: &mut Waiter) {
        self.unwatch_listeners(waiter);
        self.listening.is_over = true;
        self.listening.listeners.clear();
    }

    pub(super) fn accept(&mut self, now: Instant, number: usize) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(listener) = self.listening.listeners.get(number) else { return };
            let earliest = self.admission.accepts_from();
            if earliest > now {
                self.listening.paused_until = Some(earliest);
                return;
            }
            match listener.accept() {
                Ok((socket, peer)) => {
                    tracing::debug!(%peer, "a host has connected");
                    let source = Source::from(peer.ip());
                    let connection = HostConnection::new(socket, source, self.terms);
                    let id = self.table.insert(Box::new(connection));
                    self.table.set_deadline(id.index, Some(now + HANDSHAKE_TIMEOUT));
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
                Err(error) => {
                    tracing::warn!(%error, "a host cannot be accepted");
                    self.listening.paused_until = Some(now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    /// Watches the listeners if a connection would be accepted, and else not.
    pub(super) fn watch_listeners(&mut self, waiter: &mut Waiter) -> io::Result<()> {
        let Listening { paused_until, is_over, is_watched, .. } = &self.listening;
        let wanted = paused_until.is_none() && !is_over;
        match (*is_watched, wanted) {
            (false, true) => {
                for (listener, token) in self.listening.listeners.iter().zip(self.first_token..) {
                    waiter.add(listener, token, Interest::READ)?;
                }
                self.listening.is_watched = true;
            }
            (true, false) => self.unwatch_listeners(waiter),
            _ => {}
        }
        Ok(())
    }

    fn unwatch_listeners(&mut self, waiter: &mut Waiter) {
        if std::mem::take(&mut self.listening.is_watched) {
            for listener in &self.listening.listeners {
                if let Err(error) = waiter.remove(listener) {
                    tracing::debug!(%error, "a listener was not watched");
                }
            }
        }
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
            AuthenticationAnswer::Now(answer) => own.machine.complete(slot, answer),
            AuthenticationAnswer::Held(power) => {
                let name = CommandName { connection: id, slot };
                self.powers.iter_mut().for_each(|powers| powers.order(name, power.clone()));
            }
            AuthenticationAnswer::Last(answer) => {
                own.machine.complete(slot, answer);
                own.machine.close();
                self.table.mark_dirty(id.index);
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
            self.table.mark_dirty(id.index);
            self.admit(now, id);
        }
    }

    /// Has the next powers computed.
    pub(super) fn go_on_with_powers(&mut self) {
        let Self { powers: Some(powers), table, .. } = self else { return };
        powers.go_on(|name| {
            let own = table.get_mut(name.connection);
            own.is_some_and(|own| own.joined.is_some() && !own.is_ending())
        });
    }

    /// A connection has become a queue.
    pub(super) fn join(&mut self, now: Instant, id: ConnectionId, slot: Slot, joined: Joined) {
        let Some(own) = self.table.get_mut(id) else { return };
        own.joined = Some(joined);
        own.machine.start_queue(joined.queue.terms());
        own.machine.complete(slot, joined.queue.answer());
        let (controller, queue) = (joined.queue.controller(), joined.queue.number());
        tracing::debug!(controller, queue, subsystem = ?joined.which, "a host has a queue");
        if joined.queue.is_admin() {
            self.admin.insert((joined.which, controller), id);
        }
        self.admit(now, id);
    }

    /// Gives an entering connection the place that it has earned, if its queue may be used by now.
    fn admit(&mut self, now: Instant, id: ConnectionId) {
        let Some(own) = self.table.get_mut(id) else { return };
        let (Stage::Entering, Some(Joined { which, queue })) = (own.stage, own.joined) else {
            return;
        };
        let (stage, deadline) = match which {
            Which::Discovery => (Stage::Discovering, Some(now + DISCOVERY_TIMEOUT)),
            Which::Own if !self.subsystems.own.may_use(&queue) => return,
            // Others have authenticated meanwhile.
            Which::Own if self.admission.is_full() => {
                self.admission.note(Loss::Refused);
                own.machine.close();
                self.table.mark_dirty(id.index);
                return;
            }
            Which::Own => (Stage::Serving, None),
        };
        own.stage = stage;
        let source = own.source;
        self.table.set_deadline(id.index, deadline);
        if let Some(oldest) = self.admission.promote(now, id.index, source, stage) {
            self.close(oldest);
        }
    }

    /// The time of a connection is over.
    pub(super) fn close_late(&mut self, index: u32) {
        let own = self.table.id(index).and_then(|id| self.table.get_mut(id));
        if own.is_some_and(|own| !own.is_ending() && own.stage != Stage::Serving) {
            self.admission.note(Loss::Late);
        }
        self.close(index);
    }
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
