//! Whether a machine tells what it does.
//!
//! A machine has a typed event for each step that a person would want to see. Its type says whether
//! anybody watches: of an [`Unobserved`] machine the compiler removes every event, and the code
//! that would have made it; a [`Recorded`] one keeps them until its driver takes them.

use crate::Instant;
use alloc::vec::Vec;
use core::fmt::Debug;

/// Whether the events of a machine are kept. [`Unobserved`] and [`Recorded`] are the two answers.
pub trait Observe: Copy + Debug + Default + Send + 'static {
    /// Where events of type `E` go.
    type Log<E: Clone + Debug + Send>: EventLog<E>;
}

/// The events of one machine that its driver has not taken.
pub trait EventLog<E>: Clone + Debug + Default + Send {
    /// Whether events are kept: a constant, so that the code behind a test of it costs nothing
    /// where they are not.
    const ENABLED: bool;

    /// Keeps what `event` makes; never calls it where events are not kept.
    fn emit(&mut self, at: Instant, event: impl FnOnce() -> E);

    /// Gives all events since the last call to `take`, in their order.
    fn drain(&mut self, take: impl FnMut(Instant, E));
}

/// Nobody watches, and nothing is paid for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unobserved;

/// Every event is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recorded;

impl Observe for Unobserved {
    type Log<E: Clone + Debug + Send> = NoEvents;
}

impl Observe for Recorded {
    type Log<E: Clone + Debug + Send> = Vec<(Instant, E)>;
}

/// The log of an [`Unobserved`] machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl<E> EventLog<E> for NoEvents {
    const ENABLED: bool = false;

    #[inline(always)]
    fn emit(&mut self, _: Instant, _: impl FnOnce() -> E) {}

    #[inline(always)]
    fn drain(&mut self, _: impl FnMut(Instant, E)) {}
}

impl<E: Clone + Debug + Send> EventLog<E> for Vec<(Instant, E)> {
    const ENABLED: bool = true;

    fn emit(&mut self, at: Instant, event: impl FnOnce() -> E) {
        self.push((at, event()));
    }

    fn drain(&mut self, mut take: impl FnMut(Instant, E)) {
        for (at, event) in Vec::drain(self, ..) {
            take(at, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<O: Observe>() -> (O::Log<u32>, u32) {
        let (mut log, mut made) = (O::Log::<u32>::default(), 0);
        for nanos in 0..3 {
            log.emit(Instant::from_nanos(nanos), || {
                made += 1;
                made
            });
        }
        (log, made)
    }

    #[test]
    fn events_are_made_only_where_they_are_kept() {
        assert_eq!(run::<Unobserved>().1, 0);
        let (mut log, made) = run::<Recorded>();
        assert_eq!(made, 3);
        let mut taken = Vec::new();
        EventLog::drain(&mut log, |at, event| taken.push((at.as_nanos(), event)));
        assert_eq!(taken, [(0, 1), (1, 2), (2, 3)]);
        assert!(log.is_empty());
    }
}
