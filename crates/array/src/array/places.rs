//! Places of chunks on drives, and members that are missing.

use crate::availability::Availability;
use crate::layout::{Layout, Segment};
use crate::members::MemberSet;
use crate::relocation::Relocation;

/// The layout of the stripes, relocated chunks, and drives that are absent or incomplete.
pub(crate) struct Places {
    pub(crate) layout: Layout,
    pub(crate) relocation: Relocation,
    pub(crate) availability: Availability,
}

impl Places {
    pub(crate) fn unreadable(&self, stripe: u64) -> MemberSet {
        self.availability.unreadable(&self.layout, &self.relocation, stripe)
    }

    pub(crate) fn unwritable(&self, stripe: u64) -> MemberSet {
        self.availability.unwritable(&self.layout, &self.relocation, stripe)
    }

    pub(crate) fn is_beyond_repair(&self, stripe: u64) -> bool {
        self.availability.is_beyond_repair(&self.layout, &self.relocation, stripe)
    }

    /// The drives that hold the chunks of `stripe`, as bits.
    pub(crate) fn drives(&self, stripe: u64) -> u64 {
        self.relocation.drives(&self.layout, stripe).bits()
    }

    /// The member of `segment` that holds page `page` of the array; empty if none does.
    pub(crate) fn member_at(&self, segment: &Segment, page: u64) -> MemberSet {
        for chunk in segment.first_chunk..segment.first_chunk + segment.chunks {
            let first = self.layout.page(segment.stripe, chunk, segment.first_row);
            if (first..first + u64::from(segment.rows)).contains(&page) {
                return MemberSet::of(self.layout.member_of(segment.stripe, chunk).0);
            }
        }
        MemberSet::EMPTY
    }

    /// Whether a stripe has more unreadable members than parities, so that a write only destroys
    /// data.
    #[inline]
    pub(crate) fn cannot_write(&self, stripe: u64) -> bool {
        !self.availability.is_optimal() && self.is_beyond_repair(stripe)
    }

    /// Whether copies of a stripe may differ.
    #[inline]
    pub(crate) fn has_doubtful_copies(&self, stripe: u64) -> bool {
        !self.availability.is_optimal()
            && self.layout.level().is_mirrored()
            && self.availability.is_in_doubt(stripe)
    }

    /// The copies of a stripe that hold its data.
    pub(crate) fn copies(&self, stripe: u64) -> MemberSet {
        self.layout.member_set(stripe) - self.unwritable(stripe)
    }

    /// The members of a stripe that lie on these drives.
    pub(crate) fn members_on(&self, stripe: u64, drives: MemberSet) -> MemberSet {
        self.relocation.members_on(&self.layout, stripe, drives)
    }

    /// The members of a stripe whose drives are absent.
    pub(crate) fn absent_members(&self, stripe: u64) -> MemberSet {
        self.members_on(stripe, self.availability.absent())
    }

    /// Drives that lack data, and the number of parities of a stripe.
    pub(crate) fn incomplete(&self) -> (MemberSet, u32) {
        (self.availability.incomplete(), self.layout.parities())
    }
}
