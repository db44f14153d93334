//! The generator: draws one request after the other.

use super::address::Addresses;
use super::arrivals::{Arrival, Clock, Gaps};
use super::sizes::Sizes;
use crate::{Op, Request};
use units::{Instant, Rng};

/// Draws random requests, the same for the same seed on every machine. An iterator; made by
/// [`crate::Synthetic::generator`] or [`crate::Preset::generator`].
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) arrival: Arrival,
    /// Number of hosts, 1 or more. Each request comes from a random host, with equal probability.
    pub(super) hosts: u32,
    pub(super) clock: Clock,
    /// A 64-bit draw up to this bound is a read; `None` for writes only.
    pub(super) read_bound: Option<u64>,
    pub(super) read_sizes: Sizes,
    pub(super) write_sizes: Sizes,
    pub(super) addresses: Addresses,
    /// Added to every address.
    pub(super) offset: u64,
    /// No more requests than this.
    pub(super) requests: Option<u64>,
    /// No more bytes than this.
    pub(super) bytes: Option<u64>,
    /// No request later than this.
    pub(super) until: Option<Instant>,
    pub(super) drawn: u64,
    pub(super) drawn_bytes: u64,
    pub(super) draws: Draws,
}

/// Random streams for everything but arrivals, one for each purpose.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    ops: Rng,
    places: Rng,
    lengths: Rng,
    /// Host of a request; not used with one host.
    whose: Rng,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        let stream = |name| Rng::stream(seed, name);
        Self {
            ops: stream("operations"),
            places: stream("addresses"),
            lengths: stream("sizes"),
            whose: stream("hosts"),
        }
    }
}

impl Generator {
    /// Rule for the time of the next request.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Number of requests; `None` if the end is set otherwise.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        self.requests
    }

    /// Number of requests drawn so far.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// The same workload without limits and times, drawn with another seed.
    pub(crate) fn endless(self, seed: u64) -> Self {
        Self {
            clock: Clock::new(Gaps::None, Rng::stream(seed, "arrivals")),
            requests: None,
            bytes: None,
            until: None,
            drawn: 0,
            drawn_bytes: 0,
            draws: Draws::new(seed),
            ..self
        }
    }

    fn is_over(&self) -> bool {
        self.requests.is_some_and(|limit| self.drawn >= limit)
            || self.bytes.is_some_and(|limit| self.drawn_bytes >= limit)
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.is_over() {
            return None;
        }
        let at = self.clock.tick();
        if self.until.is_some_and(|until| at >= until) {
            // Time only grows, so no later request can qualify.
            self.requests = Some(self.drawn);
            return None;
        }
        let reads = self.read_bound.is_some_and(|bound| self.draws.ops.next_u64() <= bound);
        let (op, sizes) =
            if reads { (Op::Read, &self.read_sizes) } else { (Op::Write, &self.write_sizes) };
        let size_bytes = sizes.draw(&mut self.draws.lengths);
        let offset = self.addresses.draw(op, size_bytes, &mut self.draws.places);
        self.drawn += 1;
        self.drawn_bytes = self.drawn_bytes.saturating_add(size_bytes);
        let device = match self.hosts {
            1 => 0,
            hosts => self.draws.whose.below(u64::from(hosts)) as u32,
        };
        Some(Request {
            at,
            op,
            offset_bytes: self.offset + offset,
            size_bytes,
            device,
            durable: false,
            after_flush: false,
        })
    }
}
