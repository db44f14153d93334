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
    /// It has its turn: nothing else that changes the stripe is ahead of it. A read has it at once.
    Turn,
    /// All wanted members are known.
    Known,
    /// A member was compared.
    Compared {
        /// The member.
        member: u8,
        /// Whether it matches.
        fits: bool,
    },
}

/// Answer of an operation: its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Waits for the next input.
    Wait,
    /// Waits until its rows are settled, and begins again.
    Settle,
    /// Gets these members, as the policy says.
    Fetch(MemberSet),
    /// Reads these members for a job, as they are.
    Read(MemberSet),
    /// Reconstructs `wanted` members of a stripe.
    Reconstruct {
        /// Members that cannot be read.
        unreadable: MemberSet,
        /// Members that are read only if they are needed.
        spared: MemberSet,
        /// The members to reconstruct.
        wanted: MemberSet,
    },
    /// Hands these members to the host.
    Deliver(MemberSet),
    /// Has these parities compared with their data.
    CheckParity(MemberSet),
    /// Has these copies compared with another copy.
    CompareCopies {
        /// The copies.
        members: MemberSet,
        /// The other copy.
        with: u8,
    },
    /// Reports parities that do not match, and writes them again if `rewrites` is set.
    Mismatch {
        /// The parities.
        members: MemberSet,
        /// Whether they are written again.
        rewrites: bool,
    },
    /// Writes these members, whose content is known.
    Write(MemberSet),
    /// Writes these members with the content of another, to stable storage.
    Copy {
        /// The other member.
        from: u8,
        /// The members.
        members: MemberSet,
    },
    /// Changes its rows for the host as soon as no reader computes with them.
    Commit,
    /// Fails, because it cannot get what it needs.
    Fail,
    /// Ends.
    Finish {
        /// Whether it did not get what it needs.
        failed: bool,
    },
}

impl Next {
    /// Ends with success.
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
    /// Its reads.
    pub(crate) fetch: &'a Fetch,
    pub(crate) places: &'a Places,
    /// Knows when each drive may collect.
    pub(crate) coordinator: &'a Coordinator,
    /// The policy.
    pub(crate) rules: &'a Rules,
    /// Whether the driver compares and computes.
    pub(crate) has_data: bool,
}

impl At<'_> {
    /// Whether the operation has to wait until its rows are settled. It waits at most once.
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

    /// Wanted members that could not be read.
    pub(crate) fn rewritten(&self) -> MemberSet {
        self.fetch.wanted() & self.fetch.broken()
    }
}
