//! Requests on their way into a run: in an open loop at their times, in a closed loop as room is
//! available.

use crate::error::SimError;
use units::Instant;
use workload::{Arrival, Op, Request, Room};

/// Takes requests from a workload.
#[derive(Debug)]
pub(crate) struct Feed<I> {
    requests: I,
    next: Option<Request>,
    room: Room,
    /// End of a closed loop.
    until: Instant,
    taken: u64,
    last_arrival: Instant,
    capacity_bytes: u64,
}

impl<E, I: Iterator<Item = Result<Request, E>>> Feed<I> {
    /// Creates a feed for an array of `capacity_bytes`. No request is taken yet.
    pub(crate) fn new(requests: I, arrival: Arrival, capacity_bytes: u64) -> Self {
        let until = match arrival {
            Arrival::Closed { runtime: Some(runtime), .. } => Instant::ZERO + runtime,
            Arrival::Closed { runtime: None, .. } | Arrival::Open => Instant::NEVER,
        };
        let (room, last_arrival) = (Room::of(arrival), Instant::ZERO);
        Self { requests, next: None, room, until, taken: 0, last_arrival, capacity_bytes }
    }

    /// Time of the next request; never if there is none, or no room for one.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Instant {
        self.next.map_or(Instant::NEVER, |request| request.at)
    }

    /// Number of the last request that was taken, from 1.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Arrival of the last request that was begun.
    pub(crate) fn last_arrival(&self) -> Instant {
        self.last_arrival
    }

    /// Takes the next request from the workload if there is room for it.
    pub(crate) fn fetch(&mut self, now: Instant) -> Result<(), SimError<E>> {
        let wanted = self.next.is_none() && !self.room.is_full() && now < self.until;
        if let Some(request) = wanted.then(|| self.requests.next()).flatten() {
            self.taken += 1;
            let mut request = request.map_err(SimError::Workload)?;
            if self.room.is_limited() {
                request.at = now;
                request.op = self.room.direction(request.op);
            }
            self.check(&request)?;
            self.next = Some(request);
        }
        Ok(())
    }

    fn check(&self, request: &Request) -> Result<(), SimError<E>> {
        let number = self.taken;
        let capacity_bytes = self.capacity_bytes;
        let end_bytes = request.end_bytes();
        if request.size_bytes == 0 {
            return Err(SimError::Empty { number });
        }
        if end_bytes > capacity_bytes {
            let offset_bytes = request.offset_bytes;
            return Err(SimError::OutOfRange { number, offset_bytes, end_bytes, capacity_bytes });
        }
        if request.at < self.last_arrival {
            let before = self.last_arrival;
            return Err(SimError::BackInTime { number, at: request.at, before });
        }
        Ok(())
    }

    /// Returns a request that is due now; its number is [`Feed::taken`].
    pub(crate) fn take(&mut self, now: Instant) -> Option<Request> {
        let request = self.next.take_if(|request| request.at <= now)?;
        self.last_arrival = now;
        Some(request)
    }

    /// Notes that a request was begun; then call [`Feed::fetch`].
    pub(crate) fn note_begun(&mut self, op: Op) {
        self.room.take(op);
    }

    /// Notes that a request is done: a closed loop has room for another.
    pub(crate) fn note_done(&mut self, now: Instant, op: Op) -> Result<(), SimError<E>> {
        if self.room.is_limited() {
            self.room.give_back(op);
            self.fetch(now)?;
        }
        Ok(())
    }
}
