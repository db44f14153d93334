//! Sorting of slightly disordered requests by time.

use crate::Request;
use std::collections::VecDeque;

/// A request and its line, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lined {
    pub(super) request: Request,
    pub(super) line: u64,
}

/// A request that comes too late: a later one has already left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooLate {
    /// Time by which it is too late, in nanoseconds.
    pub(super) back_nanos: u64,
}

/// Result of adding a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrived {
    /// Not earlier than any request before it.
    InOrder,
    /// Earlier than a request before it, and put in its place.
    Reordered,
    /// Too late for its place; it got the time of the last request that left.
    Clamped,
}

/// Holds back up to `window` requests, sorted by time; equal times keep the order of the file.
///
/// A file that is in order costs one comparison per request; a request out of order costs a
/// search and a move within the window.
pub(super) struct Order {
    window: usize,
    held: VecDeque<Lined>,
    last_out: u64,
    latest_in: u64,
}

impl Order {
    pub(super) fn new(window: usize) -> Self {
        Self { window, held: VecDeque::new(), last_out: 0, latest_in: 0 }
    }

    /// Whether a request must leave before another can be added.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() > self.window
    }

    /// Adds a request. With `clamp`, a request that is too late is moved to the time of the last
    /// one that left.
    pub(super) fn push(&mut self, mut lined: Lined, clamp: bool) -> Result<Arrived, TooLate> {
        let request = &mut lined.request;
        let at = request.at.as_nanos();
        let too_late = at < self.last_out;
        if too_late {
            if !clamp {
                return Err(TooLate { back_nanos: self.last_out - at });
            }
            request.at = units::Instant::from_nanos(self.last_out);
        }
        let arrived = match (too_late, at < self.latest_in) {
            (true, _) => Arrived::Clamped,
            (false, true) => Arrived::Reordered,
            (false, false) => Arrived::InOrder,
        };
        self.latest_in = self.latest_in.max(at);
        let at = request.at;
        if self.held.back().is_none_or(|last| last.request.at <= at) {
            self.held.push_back(lined);
        } else {
            let place = self.held.partition_point(|held| held.request.at <= at);
            self.held.insert(place, lined);
        }
        Ok(arrived)
    }

    /// Whether a held request is `wanted`.
    pub(super) fn holds(&self, wanted: impl Fn(&Request) -> bool) -> bool {
        self.held.iter().rev().any(|held| wanted(&held.request))
    }

    /// Removes the earliest held request.
    pub(super) fn pop(&mut self) -> Option<Lined> {
        let lined = self.held.pop_front()?;
        self.last_out = lined.request.at.as_nanos();
        Some(lined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use units::Instant;

    fn at(nanos: u64) -> Lined {
        let at = Instant::from_nanos(nanos);
        let request = Request {
            at,
            op: Op::Read,
            offset_bytes: 0,
            size_bytes: 512,
            device: 0,
            durable: false,
            after_flush: false,
        };
        Lined { request, line: 1 }
    }

    #[test]
    fn disorder_within_the_window_is_put_right() {
        let mut order = Order::new(2);
        let mut out = Vec::new();
        let mut disordered = 0;
        for nanos in [5, 3, 4, 9, 7, 8, 10] {
            while order.is_full() {
                out.push(order.pop().unwrap().request.at.as_nanos());
            }
            disordered += u32::from(order.push(at(nanos), false).unwrap() == Arrived::Reordered);
        }
        while let Some(lined) = order.pop() {
            out.push(lined.request.at.as_nanos());
        }
        assert_eq!(out, [3, 4, 5, 7, 8, 9, 10]);
        assert_eq!(disordered, 4);
    }

    #[test]
    fn disorder_beyond_the_window_is_refused_or_clamped() {
        let mut order = Order::new(0);
        order.push(at(5), false).unwrap();
        order.pop();
        assert_eq!(order.push(at(2), false), Err(TooLate { back_nanos: 3 }));
        assert_eq!(order.push(at(2), true), Ok(Arrived::Clamped));
        assert_eq!(order.pop().unwrap().request.at.as_nanos(), 5);
    }
}
