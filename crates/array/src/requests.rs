//! Requests that are not completed: those in flight, and those that the policy holds back.

use crate::action::{Ended, Outcome};
use crate::request::{Request, RequestId, RequestKind};
use alloc::collections::{BTreeMap, VecDeque};
use nvme::{Blocked, Cause, Delays};
use units::{Instant, Slab};

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    id: RequestId,
    kind: RequestKind,
    host: u8,
    size_bytes: u64,
    arrived: Instant,
    /// Time when it began: later than `arrived` if the policy held it back.
    admitted: Instant,
    /// Its stripe operations that are not done or still to be opened.
    parts: u32,
    reconstructed: u32,
    blocked: Blocked,
    ended: Ended,
}

/// Number of a request in flight; reused afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestSlot(pub(crate) u32);

/// Result of a stripe operation, for its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartEnded {
    pub(crate) failed: bool,
    pub(crate) reconstructed: bool,
    pub(crate) blocked: Blocked,
}

/// All requests that are not completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    in_flight: Slab<InFlight>,
    /// Requests held back, by host and in order of arrival.
    held_back: BTreeMap<u8, VecDeque<(Instant, Request)>>,
    held_back_count: usize,
}

impl Requests {
    /// Number of requests that are not completed.
    pub(crate) fn len(&self) -> usize {
        self.in_flight.len() + self.held_back_count
    }

    /// Number of requests that are held back.
    #[inline]
    pub(crate) fn held_back(&self) -> usize {
        self.held_back_count
    }

    pub(crate) fn hold_back(&mut self, arrived: Instant, request: Request) {
        self.held_back.entry(request.host).or_default().push_back((arrived, request));
        self.held_back_count += 1;
    }

    /// Releases the oldest request held back of the first host that has one, with its arrival time.
    pub(crate) fn release_one(&mut self) -> Option<(Instant, Request)> {
        let next = self.held_back.values_mut().find_map(VecDeque::pop_front)?;
        self.held_back_count -= 1;
        Some(next)
    }

    /// Begins a request that arrived at `arrived`, with one part to be opened.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        arrived: Instant,
        request: &Request,
    ) -> RequestSlot {
        RequestSlot(self.in_flight.insert(InFlight {
            id: request.id,
            kind: request.kind,
            host: request.host,
            size_bytes: request.size_bytes,
            arrived,
            admitted: now,
            parts: 1,
            reconstructed: 0,
            blocked: Blocked::No,
            ended: Ended::Done,
        }))
    }

    /// Adds a part that is to be opened.
    #[inline]
    pub(crate) fn add_part(&mut self, slot: RequestSlot) {
        self.in_flight.get_mut(slot.0).parts += 1;
    }

    pub(crate) fn admitted(&self, slot: RequestSlot) -> Instant {
        self.in_flight.get(slot.0).admitted
    }

    /// Bytes of the request, on all drives together.
    pub(crate) fn size_bytes(&self, slot: RequestSlot) -> u64 {
        self.in_flight.get(slot.0).size_bytes
    }

    /// Number of parts that are not done.
    pub(crate) fn parts(&self, slot: RequestSlot) -> u32 {
        self.in_flight.get(slot.0).parts
    }

    /// Ends a part. Returns the outcome of the request if this was its last part.
    #[inline]
    pub(crate) fn end_part(
        &mut self,
        now: Instant,
        slot: RequestSlot,
        part: &PartEnded,
        delays: &Delays,
    ) -> Option<Outcome> {
        let request = self.in_flight.get_mut(slot.0);
        request.reconstructed += u32::from(part.reconstructed);
        request.blocked = request.blocked.max(part.blocked);
        if part.failed {
            request.ended = Ended::Failed;
        }
        request.parts -= 1;
        if request.parts > 0 {
            return None;
        }
        let mut outcome = Outcome {
            request: request.id,
            host: request.host,
            kind: request.kind,
            ended: request.ended,
            arrived: request.arrived,
            admitted: request.admitted,
            completed: now,
            delays: Delays::ZERO,
            reconstructions: request.reconstructed,
            blocked: request.blocked,
        };
        if request.kind == RequestKind::Read {
            outcome.delays = *delays;
            outcome.delays.add(Cause::HeldBack, request.admitted.since(request.arrived));
        }
        self.in_flight.release(slot.0);
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_are_held_back_are_not_done_either() {
        let mut requests = Requests::default();
        let request = |id, host| Request {
            id: RequestId(id),
            host,
            kind: RequestKind::Read,
            offset_bytes: 0,
            size_bytes: 1,
        };
        let slot = requests.begin(Instant::ZERO, Instant::ZERO, &request(1, 0));
        for id in 2..5 {
            requests.hold_back(Instant::ZERO, request(id, (5 - id) as u8));
        }
        assert_eq!((requests.len(), requests.held_back()), (4, 3));
        requests.add_part(slot);
        assert_eq!(requests.parts(slot), 2);
        let part = PartEnded { failed: false, reconstructed: true, blocked: Blocked::Queue };
        assert!(requests.end_part(Instant::ZERO, slot, &part, &Delays::ZERO).is_none());
        let outcome = requests.end_part(Instant::ZERO, slot, &part, &Delays::ZERO).unwrap();
        assert_eq!((outcome.reconstructions, outcome.blocked), (2, Blocked::Queue));
        assert_eq!(requests.len(), 3);
        let next = requests.release_one().unwrap();
        assert_eq!((next.1.id, requests.len()), (RequestId(4), 2), "of the first host");
    }
}
