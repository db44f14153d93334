//! Writes of the host: how they get their parity.

use super::next::{At, Input, Next};
use crate::members::MemberSet;
use crate::requests::RequestSlot;
use crate::stripe_writer::StripeWriter;

/// Part of a write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) request: RequestSlot,
    pub(crate) writer: StripeWriter,
}

impl Write {
    pub(super) fn step(&mut self, input: Input, at: &At<'_>) -> Next {
        match input {
            Input::Turn => self.plan(at),
            Input::Known if at.places.cannot_write(at.stripe) => Next::Fail,
            Input::Known => Next::Commit,
            Input::Compared { .. } => Next::Wait,
        }
    }

    /// Chooses how to get parity, whichever way reads less, and begins to read.
    fn plan(&mut self, at: &At<'_>) -> Next {
        let (places, stripe) = (at.places, at.stripe);
        let (mut unreadable, mut unwritable) = (MemberSet::EMPTY, MemberSet::EMPTY);
        if !places.availability.is_optimal() {
            if places.is_beyond_repair(stripe) {
                return Next::Fail;
            }
            if !self.writer.partial().is_empty() && at.must_settle() {
                return Next::Settle;
            }
            (unreadable, unwritable) = (places.unreadable(stripe), places.unwritable(stripe));
        }
        let spared = match at.rules.spares_windows_in_writes() {
            true => at.members_in_windows(),
            false => MemberSet::EMPTY,
        };
        let distrusted = at.rules.distrusted();
        if !distrusted.is_empty() {
            // Treated as unreadable here; whether it is written, and with what, is decided
            // elsewhere.
            unreadable |= places.members_on(stripe, distrusted);
        }
        let data = places.layout.member_set(stripe) - self.writer.parity();
        let (_, wanted) = self.writer.plan(data, unreadable, unwritable, spared);
        Next::Fetch(wanted)
    }
}
