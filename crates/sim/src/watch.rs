//! Watchers of a run while it is under way.

use array::{Layout, Outcome, Request};
use engine::{Drive, Event};
use units::{Instant, Observe, Unobserved};

/// A watcher of a run.
pub(crate) trait Watch {
    /// Observer that makes machines keep events for the watcher, or not.
    type Observe: Observe;

    /// Takes the next event.
    fn event(&mut self, at: Instant, event: Event);

    /// All events of an instant were delivered, and nothing is left to do at it.
    fn settled(&mut self, _drives: &[Drive<Self::Observe>]) {}

    /// A request arrives at the array of `drives`. It was not handed to the engine yet.
    #[inline]
    fn arrived(
        &mut self,
        _now: Instant,
        _layout: &Layout,
        _drives: &[Drive<Self::Observe>],
        _request: &Request,
    ) {
    }

    /// A request is done. The call precedes the events of that instant.
    #[inline]
    fn completed(&mut self, _outcome: &Outcome) {}

    /// Returns true to end the run early.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// A watcher that takes nothing and costs nothing.
pub(crate) struct Nobody;

impl Watch for Nobody {
    type Observe = Unobserved;

    #[inline]
    fn event(&mut self, _: Instant, _: Event) {}
}

/// Two watchers of the same run; calls go to the first one first.
pub(crate) struct Both<A, B>(pub(crate) A, pub(crate) B);

impl<A: Watch, B: Watch<Observe = A::Observe>> Watch for Both<A, B> {
    type Observe = A::Observe;

    fn arrived(
        &mut self,
        now: Instant,
        layout: &Layout,
        drives: &[Drive<Self::Observe>],
        request: &Request,
    ) {
        self.0.arrived(now, layout, drives, request);
        self.1.arrived(now, layout, drives, request);
    }

    fn event(&mut self, at: Instant, event: Event) {
        self.0.event(at, event.clone());
        self.1.event(at, event);
    }

    fn settled(&mut self, drives: &[Drive<Self::Observe>]) {
        self.0.settled(drives);
        self.1.settled(drives);
    }

    fn completed(&mut self, outcome: &Outcome) {
        self.0.completed(outcome);
        self.1.completed(outcome);
    }

    fn is_over(&self) -> bool {
        self.0.is_over() || self.1.is_over()
    }
}
