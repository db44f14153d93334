//! Who is told what happens in a run while it happens.

use array::{Layout, Outcome, Request};
use engine::{Drive, Event};
use units::{Instant, Observe, Unobserved};

/// Somebody who watches a run.
pub(crate) trait Watch {
    /// Whether machines keep events for it.
    type Observe: Observe;

    /// Takes the next event.
    fn event(&mut self, at: Instant, event: Event);

    /// All events of an instant were told, and nothing is left to do at it.
    fn settled(&mut self, _drives: &[Drive<Self::Observe>]) {}

    /// A request comes to the array of `drives`. It was not handed over yet.
    #[inline]
    fn arrived(
        &mut self,
        _now: Instant,
        _layout: &Layout,
        _drives: &[Drive<Self::Observe>],
        _request: &Request,
    ) {
    }

    /// A request is done. Comes ahead of the events of that instant.
    #[inline]
    fn completed(&mut self, _outcome: &Outcome) {}

    /// Whether it has seen enough: the run ends then.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// Nobody watches, and nothing is paid for it.
pub(crate) struct Nobody;

impl Watch for Nobody {
    type Observe = Unobserved;

    #[inline]
    fn event(&mut self, _: Instant, _: Event) {}
}

/// Two who watch the same run, the first one first.
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
