//! What stripe operations wait for that is no answer of a drive: computations, and the time at
//! which an answer counts as late.

use crate::action::OpId;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use nvme::Delays;
use units::Instant;

/// Members that are being reconstructed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computation {
    /// When they are known.
    pub(crate) due: Instant,
    pub(crate) op: OpId,
    /// Where the time of the operation went until then.
    pub(crate) passed: Delays,
}

/// The times of all stripe operations.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// Reconstructions that are being computed; all take as long, so they stay in order.
    computing: VecDeque<Computation>,
    /// When operations are late, by time and serial number. Those that ended in time stay until
    /// their time comes.
    late: BinaryHeap<Reverse<(Instant, u64, OpId)>>,
    /// The earliest of these and of what else the array waits for.
    next: Instant,
}

impl Timers {
    pub(crate) const fn new() -> Self {
        let next = Instant::NEVER;
        Self { computing: VecDeque::new(), late: BinaryHeap::new(), next }
    }

    /// When the array wants to be called.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Notes the earliest deadline of all, `others` being that of everything else.
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

    /// The next computation that is done at `now`.
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

    /// The next operation that is late at `now`, and its serial number.
    pub(crate) fn pop_late(&mut self, now: Instant) -> Option<(OpId, u64)> {
        if self.next_late() > now {
            return None;
        }
        self.late.pop().map(|Reverse((_, serial, op))| (op, serial))
    }

    /// Nothing is late any more.
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
