//! Puts slightly disordered requests in order of time.

use crate::Request;
use std::collections::VecDeque;

/// A request that comes too late: behind one that has already left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooLate {
    /// How far behind, in nanoseconds.
    pub(super) back_nanos: u64,
}

/// How a request came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrived {
    /// Not earlier than any before it.
    InOrder,
    /// Earlier than one before it, and put in its place.
    Reordered,
    /// Too late for its place, and moved to the time of the last one that left.
    Clamped,
}

/// Holds back up to `window` requests, sorted by time; equal times keep the order of the file.
///
/// A file that is in order costs one comparison per request; a request out of order costs a
/// search and a move within the window.
pub(super) struct Order {
    window: usize,
    held: VecDeque<Request>,
    last_out: u64,
    latest_in: u64,
}

impl Order {
    pub(super) fn new(window: usize) -> Self {
        Self { window, held: VecDeque::new(), last_out: 0, latest_in: 0 }
    }

    /// Whether a request must leave before another can come in.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() > self.window
    }

    /// Takes a request in; with `clamp`, one that comes too late is moved.
    pub(super) fn push(&mut self, mut request: Request, clamp: bool) -> Result<Arrived, TooLate> {
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
        if self.held.back().is_none_or(|last| last.at <= request.at) {
            self.held.push_back(request);
        } else {
            let place = self.held.partition_point(|held| held.at <= request.at);
            self.held.insert(place, request);
        }
        Ok(arrived)
    }

    /// The earliest request held.
    pub(super) fn pop(&mut self) -> Option<Request> {
        let request = self.held.pop_front()?;
        self.last_out = request.at.as_nanos();
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use units::Instant;

    fn at(nanos: u64) -> Request {
        Request {
            at: Instant::from_nanos(nanos),
            op: Op::Read,
            offset_bytes: 0,
            size_bytes: 512,
            device: 0,
        }
    }

    #[test]
    fn disorder_within_the_window_is_put_right() {
        let mut order = Order::new(2);
        let mut out = Vec::new();
        let mut disordered = 0;
        for nanos in [5, 3, 4, 9, 7, 8, 10] {
            while order.is_full() {
                out.push(order.pop().unwrap().at.as_nanos());
            }
            disordered += u32::from(order.push(at(nanos), false).unwrap() == Arrived::Reordered);
        }
        while let Some(request) = order.pop() {
            out.push(request.at.as_nanos());
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
        assert_eq!(order.pop().unwrap().at.as_nanos(), 5);
    }
}
