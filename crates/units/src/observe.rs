//! Observers: whether the events of a machine are kept.
//!
//! A machine has a typed event for each step that a person may want to see. The type of the machine
//! decides about the events. For an [`Unobserved`] machine the compiler removes them, and the code
//! that makes them. A [`Recorded`] machine keeps them until its driver takes them. A [`Traced`]
//! machine keeps the last [`TRACED_EVENTS`].

use crate::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt::Debug;

/// Whether the events of a machine are kept: [`Unobserved`], [`Recorded`] or [`Traced`].
pub trait Observe: Copy + Debug + Default + Send + 'static {
    /// Log of events of type `E`.
    type Log<E: Clone + Debug + Send>: EventLog<E>;
}

/// The events of one machine that its driver has not taken.
pub trait EventLog<E>: Clone + Debug + Default + Send {
    /// Whether events are kept: a constant, so that code behind a check of it costs nothing where
    /// they are not kept.
    const ENABLED: bool;
    /// Whether the driver of the machine takes the events ([`EventLog::drain`]). Otherwise they
    /// stay with the machine, to be shown ([`EventLog::each`]).
    const IS_TAKEN: bool;

    /// Keeps the result of `event`; does not call it where events are not kept.
    fn emit(&mut self, at: Instant, event: impl FnOnce() -> E);

    /// Passes the kept events to `take`, in order, and removes them.
    fn drain(&mut self, take: impl FnMut(Instant, E));

    /// Passes the kept events to `see`, in order.
    fn each(&self, see: impl FnMut(Instant, &E));
}

/// No event is kept, at no cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unobserved;

/// Every event is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recorded;

/// The last [`TRACED_EVENTS`] events are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traced;

/// Maximum number of events that a [`Traced`] machine keeps.
pub const TRACED_EVENTS: usize = 1 << 13;

impl Observe for Unobserved {
    type Log<E: Clone + Debug + Send> = NoEvents;
}

impl Observe for Recorded {
    type Log<E: Clone + Debug + Send> = Vec<(Instant, E)>;
}

impl Observe for Traced {
    type Log<E: Clone + Debug + Send> = Ring<E>;
}

/// The log of an [`Unobserved`] machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl<E> EventLog<E> for NoEvents {
    const ENABLED: bool = false;
    const IS_TAKEN: bool = false;

    #[inline(always)]
    fn emit(&mut self, _: Instant, _: impl FnOnce() -> E) {}

    #[inline(always)]
    fn drain(&mut self, _: impl FnMut(Instant, E)) {}

    #[inline(always)]
    fn each(&self, _: impl FnMut(Instant, &E)) {}
}

impl<E: Clone + Debug + Send> EventLog<E> for Vec<(Instant, E)> {
    const ENABLED: bool = true;
    const IS_TAKEN: bool = true;

    fn emit(&mut self, at: Instant, event: impl FnOnce() -> E) {
        self.push((at, event()));
    }

    fn drain(&mut self, mut take: impl FnMut(Instant, E)) {
        for (at, event) in Vec::drain(self, ..) {
            take(at, event);
        }
    }

    fn each(&self, mut see: impl FnMut(Instant, &E)) {
        self.iter().for_each(|(at, event)| see(*at, event));
    }
}

/// The log of a [`Traced`] machine.
#[derive(Clone, Debug)]
pub struct Ring<E> {
    events: VecDeque<(Instant, E)>,
}

impl<E> Default for Ring<E> {
    fn default() -> Self {
        Self { events: VecDeque::new() }
    }
}

impl<E: Clone + Debug + Send> EventLog<E> for Ring<E> {
    const ENABLED: bool = true;
    const IS_TAKEN: bool = false;

    #[inline]
    fn emit(&mut self, at: Instant, event: impl FnOnce() -> E) {
        if self.events.len() == TRACED_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back((at, event()));
    }

    #[inline]
    fn drain(&mut self, mut take: impl FnMut(Instant, E)) {
        for (at, event) in self.events.drain(..) {
            take(at, event);
        }
    }

    fn each(&self, mut see: impl FnMut(Instant, &E)) {
        self.events.iter().for_each(|(at, event)| see(*at, event));
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

    #[test]
    fn the_last_events_are_kept_and_shown_as_often_as_somebody_looks() {
        let mut log = <Traced as Observe>::Log::<usize>::default();
        for number in 0..TRACED_EVENTS + 3 {
            log.emit(Instant::from_nanos(number as u64), || number);
        }
        for _ in 0..2 {
            let mut seen = Vec::new();
            log.each(|at, event| seen.push((at.as_nanos(), *event)));
            assert_eq!((seen.len(), seen[0]), (TRACED_EVENTS, (3, 3)));
        }
        let mut taken = 0;
        log.drain(|_, _| taken += 1);
        log.each(|_, _| taken += 1);
        assert_eq!(taken, TRACED_EVENTS);
    }
}
