//! What is where in the stripes, and whose turn it is.

use crate::action::OpId;
use crate::availability::Availability;
use crate::coordinate::Coordinator;
use crate::layout::{Layout, Role, Segment};
use crate::members::MemberSet;
use crate::operation::{Operations, Work};
use crate::relocation::{Place, Relocation};
use crate::stripe_queues::{Access, StripeQueues};
use units::{DriveId, Instant};

/// Places of chunks, members that are missing, operations and their queues.
pub(super) struct Stripes {
    pub(super) layout: Layout,
    pub(super) relocation: Relocation,
    pub(super) availability: Availability,
    pub(super) queues: StripeQueues,
    pub(super) ops: Operations,
}

impl Stripes {
    pub(super) fn unreadable(&self, stripe: u64) -> MemberSet {
        self.availability.unreadable(&self.layout, &self.relocation, stripe)
    }

    pub(super) fn unwritable(&self, stripe: u64) -> MemberSet {
        self.availability.unwritable(&self.layout, &self.relocation, stripe)
    }

    pub(super) fn is_beyond_repair(&self, stripe: u64) -> bool {
        self.availability.is_beyond_repair(&self.layout, &self.relocation, stripe)
    }

    /// How a reconstruction may go on. Writers have the stripe to themselves already.
    pub(super) fn access(&self, op: OpId) -> Access {
        let target = &self.ops[op];
        if !target.is_read() {
            return Access::Free;
        }
        self.queues.access(target.stripe, target.range())
    }

    /// From here on the stripe stands still for a read.
    pub(super) fn settle(&mut self, op: OpId) {
        let commits = self.queues.commits(self.ops[op].stripe);
        let target = &mut self.ops[op];
        if target.is_read() && target.fetch.settle(commits) {
            self.queues.share(op, None);
        }
    }

    /// A read computes with members of the stripe from now on.
    pub(super) fn compute_with(&mut self, op: OpId) {
        let target = &self.ops[op];
        if target.is_read() {
            self.queues.enter_reader(op, target.stripe, target.range(), true);
        }
    }

    /// Notes what of its stripe an operation cannot get. Returns all of it.
    pub(super) fn note_unreadable(&mut self, op: OpId) -> MemberSet {
        if !self.availability.is_optimal() || self.ops[op].fetch.has_unsynced() {
            let stripe = self.ops[op].stripe;
            let unreadable = self.unreadable(stripe);
            let unsynced = self.availability.unsynced(&self.layout, stripe);
            self.ops[op].fetch.note_unreadable(unreadable, unsynced);
        }
        self.ops[op].fetch.unreadable()
    }

    /// Whether the `late` members may be reconstructed while they are still awaited.
    pub(super) fn can_reconstruct_beside(&self, op: OpId, late: MemberSet) -> bool {
        let target = &self.ops[op];
        // Parity needs members of one moment. What a read knows from before a write is good enough
        // for the host, but not to compute with; reading it again would cost more than the wait is
        // worth.
        let moved = target.is_read()
            && target.fetch.commits() != self.queues.commits(target.stripe)
            && (!target.fetch.coming_without(late).is_empty() || late.len() > 1);
        late.len() <= self.layout.parities()
            && !moved
            && target.fetch.unreadable().is_empty()
            && self.unreadable(target.stripe).is_empty()
            && self.access(op) == Access::Free
    }

    /// Page of the array that row 0 of a member of an operation is: one with data, or with a copy.
    pub(super) fn first_page(&self, op: OpId, member: u8) -> u64 {
        let target = &self.ops[op];
        let chunk = match self.layout.role(target.stripe, DriveId(member)) {
            Role::Data(chunk) => chunk,
            // All members of a mirror hold its one chunk.
            Role::P if self.layout.level().is_mirrored() => 0,
            Role::P | Role::Q => unreachable!("the host's pages are data"),
        };
        self.layout.page(target.stripe, chunk, target.first_row)
    }

    /// The members of a stripe whose drives are in their busy windows.
    pub(super) fn members_in_windows(
        &self,
        now: Instant,
        op: OpId,
        coordinator: &Coordinator,
    ) -> MemberSet {
        let target = &self.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        let members = self.layout.member_set(stripe).iter();
        members
            .filter(|&member| {
                let Place { drive, block } =
                    self.relocation.locate(&self.layout, stripe, row, member);
                coordinator.is_busy(drive, block, now)
            })
            .collect()
    }

    /// Drives that lack data, and the parities of a stripe.
    pub(super) fn incomplete(&self) -> (MemberSet, u32) {
        (self.availability.incomplete(), self.layout.parities())
    }

    /// The members of a stripe that lie on these drives.
    pub(super) fn members_on(&self, stripe: u64, drives: MemberSet) -> MemberSet {
        self.relocation.members_on(&self.layout, stripe, drives)
    }

    /// The members of a stripe whose drives are absent.
    pub(super) fn absent_members(&self, stripe: u64) -> MemberSet {
        self.members_on(stripe, self.availability.absent())
    }

    /// Whether a write has more unreadable members in its stripe than parities: it could only
    /// destroy data.
    #[inline]
    pub(super) fn fails_before_commit(&self, op: OpId) -> bool {
        let target = &self.ops[op];
        !self.availability.is_optimal()
            && matches!(target.work, Work::Write { .. })
            && self.is_beyond_repair(target.stripe)
    }

    /// The drive and block of the first row of an operation that a member has.
    #[inline]
    pub(super) fn place(&self, op: OpId, member: u8) -> Place {
        let target = &self.ops[op];
        self.relocation.locate(&self.layout, target.stripe, target.first_row, member)
    }

    /// What a policy can look at about `stripe`.
    pub(super) fn drives(&self, stripe: u64) -> u64 {
        self.relocation.drives(&self.layout, stripe).bits()
    }

    /// The member of `segment` that holds page `page` of the array, if one does.
    pub(super) fn member_at(&self, segment: &Segment, page: u64) -> MemberSet {
        for chunk in segment.first_chunk..segment.first_chunk + segment.chunks {
            let first = self.layout.page(segment.stripe, chunk, segment.first_row);
            if (first..first + u64::from(segment.rows)).contains(&page) {
                return MemberSet::of(self.layout.member_of(segment.stripe, chunk).0);
            }
        }
        MemberSet::EMPTY
    }

    /// Whether copies of a stripe may differ.
    #[inline]
    pub(super) fn is_in_doubt(&self, stripe: u64) -> bool {
        !self.availability.is_optimal()
            && self.layout.level().is_mirrored()
            && self.availability.is_in_doubt(stripe)
    }

    /// The copies of a stripe that hold its data.
    pub(super) fn copies(&self, stripe: u64) -> MemberSet {
        self.layout.member_set(stripe) - self.unwritable(stripe)
    }

    /// Whether an operation has to wait until its rows are settled. It waits once.
    #[inline]
    pub(super) fn must_settle(&self, op: OpId) -> bool {
        let target = &self.ops[op];
        self.is_in_doubt(target.stripe)
            && target.awaited.is_empty()
            && self.copies(target.stripe).len() > 1
    }

    /// Members that an operation could not read although their drives are there.
    pub(super) fn broken(&self, op: OpId) -> MemberSet {
        let target = &self.ops[op];
        target.fetch.broken() - self.unreadable(target.stripe)
    }
}
