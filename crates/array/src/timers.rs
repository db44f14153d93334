//! Deadlines of stripe operations other than answers of drives: ends of computations, and times at
//! which an answer counts as late.

use crate::action::OpId;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use nvme::Delays;
use units::Instant;

/// Members that are being reconstructed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computation {
    /// Time when they are known.
    pub(crate) due: Instant,
    pub(crate) op: OpId,
    /// Time of the operation until then, by cause.
    pub(crate) passed: Delays,
}

/// Deadlines of all stripe operations.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// Reconstructions that are being computed. All take equally long, so they stay in order.
    computing: VecDeque<Computation>,
    /// Times at which operations count as late, with serial numbers. Entries of operations that
    /// ended in time stay until they are due.
    late: BinaryHeap<Reverse<(Instant, u64, OpId)>>,
    /// The earliest of these deadlines and of the others of the array.
    next: Instant,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        let next = Instant::NEVER;
        Self { computing: VecDeque::new(), late: BinaryHeap::new(), next }
    }

    /// The earliest deadline of the array.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Updates the earliest deadline; `others` is that of everything else.
    pub(crate) fn refresh(&mut self, others: Instant) {
        let computed = self.computing.front().map_or(Instant::NEVER, |computation| computation.due);
        self.next = computed.min(self.next_late()).min(others);
    }

    fn next_late(&self) -> Instant {
        self.late.peek().map_or(Instant::NEVER, |Reverse((due, ..))| *due)
    }

    pub(crate) fn compute(&mut self, computation: Computation) {
        self.next = self.next.min(computation.due);
        self.computing.push_back(computation);
    }

    /// Removes and returns the next computation that is done at `now`.
    pub(crate) fn pop_computed(&mut self, now: Instant) -> Option<Computation> {
        match self.computing.front() {
            Some(computation) if computation.due <= now => self.computing.pop_front(),
            _ => None,
        }
    }

    pub(crate) fn late_from(&mut self, due: Instant, serial: u64, op: OpId) {
        self.late.push(Reverse((due, serial, op)));
        self.next = self.next.min(due);
    }

    /// Removes and returns the next operation that is late at `now`, with its serial number.
    pub(crate) fn pop_late(&mut self, now: Instant) -> Option<(OpId, u64)> {
        if self.next_late() > now {
            return None;
        }
        self.late.pop().map(|Reverse((_, serial, op))| (op, serial))
    }

    /// Clears all times at which operations count as late.
    pub(crate) fn forget_late(&mut self) {
        self.late.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_ends_when_it_is_due_and_not_before() {
        let mut timers = Timers::new();
        let due = Instant::from_nanos(5);
        timers.compute(Computation { due, op: OpId(1), passed: Delays::ZERO });
        assert_eq!(timers.next_deadline(), due);
        assert!(timers.pop_computed(Instant::from_nanos(4)).is_none());
        assert_eq!(timers.pop_computed(due).map(|computation| computation.op), Some(OpId(1)));
        assert!(timers.pop_computed(due).is_none());
    }
}
