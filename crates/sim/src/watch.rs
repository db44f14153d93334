//! Who is told what happens in a run while it happens.

use array::Outcome;
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
