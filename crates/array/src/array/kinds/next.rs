//! Inputs of an operation, the view that its kind has of the array, and its answers.

use crate::array::places::Places;
use crate::coordinate::Coordinator;
use crate::fetch::Fetch;
use crate::members::MemberSet;
use crate::policy::Rules;
use crate::relocation::Place;
use units::Instant;

/// Input of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Nothing else that changes the stripe is ahead of it. A read has begun.
    Turn,
    /// Everything that it wanted is known.
    Known,
    /// A member was compared.
    Compared {
        /// The member.
        member: u8,
        /// Whether it fits.
        fits: bool,
    },
}

/// Answer of an operation: its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Nothing before it hears more.
    Wait,
    /// It waits until its rows are settled, and begins again.
    Settle,
    /// Gets these members, as the policy says.
    Fetch(MemberSet),
    /// Reads these members for a job, as they are.
    Read(MemberSet),
    /// Reconstructs `wanted` members of a stripe.
    Reconstruct {
        /// Members that cannot be read.
        unreadable: MemberSet,
        /// Members that are read only if it takes them.
        spared: MemberSet,
        /// The members.
        wanted: MemberSet,
    },
    /// Hands these members to the host.
    Deliver(MemberSet),
    /// Has these parities compared with their data.
    CheckParity(MemberSet),
    /// Has these copies compared with another.
    CompareCopies {
        /// The copies.
        members: MemberSet,
        /// The other.
        with: u8,
    },
    /// Reports parities that do not fit, and writes them again if that was ordered.
    Mismatch {
        /// The parities.
        members: MemberSet,
        /// Whether it was.
        rewrites: bool,
    },
    /// Writes these members, whose content is known.
    Write(MemberSet),
    /// Writes these members with what another holds, on stable storage.
    Copy {
        /// The other.
        from: u8,
        /// The members.
        members: MemberSet,
    },
    /// Changes its rows for the host as soon as no reader computes with them.
    Commit,
    /// It cannot get what it needs.
    Fail,
    /// It is over.
    Finish {
        /// It did not get what it needs.
        failed: bool,
    },
}

impl Next {
    /// It is over, and well.
    pub(crate) const DONE: Self = Self::Finish { failed: false };
}

/// View that the kind of an operation has of the array.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) now: Instant,
    pub(crate) stripe: u64,
    pub(crate) first_row: u32,
    /// Members for whose repair the operation has waited.
    pub(crate) awaited: MemberSet,
    /// What it has read.
    pub(crate) fetch: &'a Fetch,
    pub(crate) places: &'a Places,
    /// Who may collect when.
    pub(crate) coordinator: &'a Coordinator,
    /// The policy.
    pub(crate) rules: &'a Rules,
    /// Whether the driver compares and computes.
    pub(crate) has_data: bool,
}

impl At<'_> {
    /// Whether the operation has to wait until its rows are settled. It waits once.
    #[inline]
    pub(crate) fn must_settle(&self) -> bool {
        self.places.has_doubtful_copies(self.stripe)
            && self.awaited.is_empty()
            && self.places.copies(self.stripe).len() > 1
    }

    /// The members of the stripe whose drives are in their busy windows.
    pub(crate) fn members_in_windows(&self) -> MemberSet {
        let Self { now, stripe, first_row, places, .. } = *self;
        let is_in_window = |&member: &u8| {
            let layout = &places.layout;
            let Place { drive, block } =
                places.relocation.locate(layout, stripe, first_row, member);
            self.coordinator.is_busy(drive, block, now)
        };
        places.layout.member_set(stripe).iter().filter(is_in_window).collect()
    }

    /// Members that it wanted and could not read.
    pub(crate) fn rewritten(&self) -> MemberSet {
        self.fetch.wanted() & self.fetch.broken()
    }
}
