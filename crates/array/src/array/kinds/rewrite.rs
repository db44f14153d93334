//! Pages that a drive could not read: reconstructed and written again.

use super::next::{At, Input, Next};
use crate::members::MemberSet;
use crate::read_repairs::Waiter;

/// A row of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rewrite {
    /// Members that could not be read.
    pub(crate) members: MemberSet,
    /// The operation that waits for it, and that lends its turn if it has one.
    pub(crate) waiter: Option<Waiter>,
}

impl Rewrite {
    pub(super) fn step(&self, input: Input, at: &At<'_>) -> Next {
        match input {
            Input::Turn => self.plan(at),
            Input::Known if at.rewritten().is_empty() => Next::DONE,
            Input::Known => Next::Write(at.rewritten()),
            Input::Compared { .. } => Next::Wait,
        }
    }

    /// Reads the members again, because a write may have replaced them since.
    fn plan(&self, at: &At<'_>) -> Next {
        let wanted = match at.places.availability.is_in_doubt(at.stripe) {
            // A resync writes them.
            true => MemberSet::EMPTY,
            false => self.members - at.fetch.unreadable(),
        };
        if wanted.is_empty() { Next::DONE } else { Next::Read(wanted) }
    }
}
