//! Parity compared with its data.

use super::compare::Comparison;
use super::next::{At, Input, Next};
use crate::members::MemberSet;

/// A stripe of a scrub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Check {
    pub(crate) job: u32,
    /// Whether parity that does not match is written again.
    rewrites: bool,
    compared: Comparison,
}

impl Check {
    pub(crate) const fn of(job: u32, rewrites: bool) -> Self {
        Self { job, rewrites, compared: Comparison::NONE }
    }

    pub(super) fn step(&mut self, input: Input, at: &At<'_>) -> Next {
        match input {
            Input::Turn => plan(at),
            Input::Known if at.has_data => self.compare(at),
            Input::Known => Next::DONE,
            Input::Compared { member, fits } => match self.compared.note(member, fits) {
                None => Next::Wait,
                Some(members) if members.is_empty() => Next::DONE,
                Some(members) => Next::Mismatch { members, rewrites: self.rewrites },
            },
        }
    }

    fn compare(&mut self, at: &At<'_>) -> Next {
        let parities = at.fetch.wanted() & at.places.layout.parity_set(at.stripe);
        self.compared = Comparison::of(parities, MemberSet::EMPTY);
        Next::CheckParity(parities)
    }
}

/// Reads the members to be compared.
fn plan(at: &At<'_>) -> Next {
    let places = at.places;
    let members = places.layout.member_set(at.stripe);
    let parity = places.layout.parity_set(at.stripe);
    let data = members - parity;
    let readable = match places.availability.is_in_doubt(at.stripe) {
        true => MemberSet::EMPTY,
        false => members - places.unreadable(at.stripe),
    };
    if !(data - readable).is_empty() || !parity.meets(readable) {
        // Nothing to compare: no error if there is no parity.
        return Next::Finish { failed: !parity.is_empty() };
    }
    Next::Read(readable)
}
