//! Asynchronous Event Requests that wait, and events that wait for one.

use crate::target::transport::{Answer, Slot};
use crate::wire::{AsyncEvent, StatusCode, StatusField, notice};

/// AERL and one: requests that a host may have waiting.
pub(super) const REQUESTS_MAX: usize = 4;

/// How far the one kind of event of a controller is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing happened since the host read its log page.
    Quiet,
    /// The host is to hear of it.
    Pending,
    /// It has heard of it, and not read the log page. More of the same says nothing new.
    Told,
}

/// The events of a controller: those of one kind, whose notice it offers in OAES (windows or the
/// discovery log), those of reservations, which feature 82h is for, and those of traffic, which no
/// feature is for: a host that has not read log page C0h counts as told.
#[derive(Debug)]
pub(super) struct Events {
    kind: AsyncEvent,
    /// Feature 0Bh.
    wanted: u32,
    state: State,
    reservations: State,
    traffic: State,
    /// Requests that wait; the first is answered first.
    requests: [Option<Slot>; REQUESTS_MAX],
}

impl Events {
    pub(super) const fn new(kind: AsyncEvent) -> Self {
        let (state, reservations, traffic) = (State::Quiet, State::Quiet, State::Told);
        Self { kind, wanted: 0, state, reservations, traffic, requests: [None; REQUESTS_MAX] }
    }

    /// OAES.
    pub(super) const fn offered(&self) -> u32 {
        match self.kind {
            AsyncEvent::WindowAggregate => notice::WINDOW_AGGREGATE,
            AsyncEvent::DiscoveryLog => notice::DISCOVERY_LOG,
            AsyncEvent::NamespaceAttributes => notice::NAMESPACE_ATTRIBUTES,
            AsyncEvent::ReservationLog | AsyncEvent::TrafficLog | AsyncEvent::Other { .. } => 0,
        }
    }

    pub(super) const fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Sets feature 0Bh. Bits that are not offered are not kept; those of health warnings (7:0)
    /// are, for there are none.
    pub(super) const fn set_wanted(&mut self, wanted: u32) {
        self.wanted = wanted & (self.offered() | 0xff);
    }

    /// Takes a request in.
    ///
    /// # Errors
    ///
    /// If too many wait already.
    pub(super) fn request(&mut self, slot: Slot) -> Result<(), StatusField> {
        let free = self.requests.iter_mut().find(|request| request.is_none());
        *free.ok_or(StatusCode::AsyncEventLimitExceeded.for_good())? = Some(slot);
        Ok(())
    }

    /// Something happened.
    pub(super) fn happen(&mut self) {
        if self.state == State::Quiet {
            self.state = State::Pending;
        }
    }

    /// The host has read the log page.
    pub(super) const fn acknowledge(&mut self) {
        self.state = State::Quiet;
    }

    /// A reservation notice waits in log page 80h.
    pub(super) fn happen_to_reservation(&mut self) {
        if self.reservations == State::Quiet {
            self.reservations = State::Pending;
        }
    }

    /// The host has read log page 80h. If it holds another notice, the host is told again.
    pub(super) const fn acknowledge_reservation(&mut self, has_more: bool) {
        self.reservations = if has_more { State::Pending } else { State::Quiet };
    }

    /// Log page C0h has another window.
    pub(super) fn happen_to_traffic(&mut self) {
        if self.traffic == State::Quiet {
            self.traffic = State::Pending;
        }
    }

    /// The host has read log page C0h.
    pub(super) const fn acknowledge_traffic(&mut self) {
        self.traffic = State::Quiet;
    }

    /// The next request to answer, if there is something to say that the host wants to hear.
    pub(super) fn poll(&mut self) -> Option<(Slot, Answer)> {
        let is_wanted = self.wanted & self.offered() != 0;
        let (event, state) = match (self.state, self.reservations, self.traffic) {
            (State::Pending, ..) if is_wanted => (self.kind, &mut self.state),
            (_, State::Pending, _) => (AsyncEvent::ReservationLog, &mut self.reservations),
            (.., State::Pending) => (AsyncEvent::TrafficLog, &mut self.traffic),
            _ => return None,
        };
        let first = self.requests[0].take()?;
        *state = State::Told;
        self.requests.rotate_left(1);
        Some((first, Answer::with_result(event.encode().into())))
    }

    /// Forgets everything, and returns a request that waits until there is none: to be aborted.
    pub(super) fn reset(&mut self) -> Option<Slot> {
        (self.wanted, self.state, self.reservations) = (0, State::Quiet, State::Quiet);
        self.traffic = State::Told;
        self.take()
    }

    fn take(&mut self) -> Option<Slot> {
        let first = self.requests[0].take();
        self.requests.rotate_left(1);
        first
    }
}
