//! Asynchronous Event Requests that wait, and events that wait for a request.

use crate::target::transport::{Answer, Slot};
use crate::wire::{AsyncEvent, StatusCode, StatusField, notice};

/// AERL plus one: requests of a host that may wait.
pub(super) const REQUESTS_MAX: usize = 4;

/// State of one kind of event of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No event since the host read the log page.
    Quiet,
    /// An event is to be reported to the host.
    Pending,
    /// An event was reported, and the host has not read the log page. Further events add nothing.
    Told,
}

/// Events of a controller, of three kinds. The first is the kind whose notice OAES offers (windows
/// or the discovery log). The second is reservations, which feature 82h masks. The third is
/// traffic, which has no feature: a host that has not read log page C0h gets no such event.
#[derive(Debug)]
pub(super) struct Events {
    kind: AsyncEvent,
    /// Feature 0Bh.
    wanted: u32,
    state: State,
    reservations: State,
    traffic: State,
    /// Waiting requests; the first is answered first.
    requests: [Option<Slot>; REQUESTS_MAX],
}

impl Events {
    pub(super) const fn new(kind: AsyncEvent) -> Self {
        let (state, reservations, traffic) = (State::Quiet, State::Quiet, State::Told);
        Self { kind, wanted: 0, state, reservations, traffic, requests: [None; REQUESTS_MAX] }
    }

    /// OAES: notices that are offered.
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

    /// Sets feature 0Bh. Bits that are not offered are cleared; bits of health warnings (7:0) are
    /// kept, because there are no such warnings.
    pub(super) const fn set_wanted(&mut self, wanted: u32) {
        self.wanted = wanted & (self.offered() | 0xff);
    }

    /// Adds a request.
    ///
    /// # Errors
    ///
    /// If the most requests wait already.
    pub(super) fn request(&mut self, slot: Slot) -> Result<(), StatusField> {
        let free = self.requests.iter_mut().find(|request| request.is_none());
        *free.ok_or(StatusCode::AsyncEventLimitExceeded.for_good())? = Some(slot);
        Ok(())
    }

    /// Records an event.
    pub(super) fn happen(&mut self) {
        if self.state == State::Quiet {
            self.state = State::Pending;
        }
    }

    /// Records that the host has read the log page.
    pub(super) const fn acknowledge(&mut self) {
        self.state = State::Quiet;
    }

    /// Records a reservation notice that waits in log page 80h.
    pub(super) fn happen_to_reservation(&mut self) {
        if self.reservations == State::Quiet {
            self.reservations = State::Pending;
        }
    }

    /// Records that the host has read log page 80h. If the page holds another notice, there is
    /// another event.
    pub(super) const fn acknowledge_reservation(&mut self, has_more: bool) {
        self.reservations = if has_more { State::Pending } else { State::Quiet };
    }

    /// Records another window in log page C0h.
    pub(super) fn happen_to_traffic(&mut self) {
        if self.traffic == State::Quiet {
            self.traffic = State::Pending;
        }
    }

    /// Records that the host has read log page C0h.
    pub(super) const fn acknowledge_traffic(&mut self) {
        self.traffic = State::Quiet;
    }

    /// Takes the next request to answer, with the event, if a wanted event is pending.
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

    /// Forgets all events, and takes one waiting request, which has to be aborted. To be called
    /// until it returns `None`.
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
