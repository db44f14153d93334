//! Stripe operations with the places that they work on and the queues that they wait in.

use super::places::Places;
use crate::action::OpId;
use crate::availability::Availability;
use crate::layout::{Layout, Role};
use crate::members::MemberSet;
use crate::operation::{Operations, Work};
use crate::relocation::{Place, Relocation};
use crate::stripe_queues::{Access, StripeQueues};
use units::DriveId;

/// Places, operations and their queues.
pub(super) struct Stripes {
    pub(super) places: Places,
    pub(super) queues: StripeQueues,
    pub(super) ops: Operations,
}

impl Stripes {
    /// Idle stripes; relocated chunks go to the `spare_blocks` from `spare_start` on.
    pub(super) fn new(
        layout: Layout,
        absent: MemberSet,
        spare_start: u64,
        spare_blocks: u64,
    ) -> Self {
        Self {
            places: Places {
                relocation: Relocation::new(&layout, spare_start, spare_blocks),
                availability: Availability::new(absent),
                layout,
            },
            queues: StripeQueues::new(),
            ops: Operations::default(),
        }
    }

    /// Access of a reconstruction to the stripe. Writers have the stripe to themselves already.
    pub(super) fn access(&self, op: OpId) -> Access {
        let target = &self.ops[op];
        if !target.is_read() {
            return Access::Free;
        }
        self.queues.access(target.stripe, target.range())
    }

    /// Fixes the stripe for a read from here on.
    pub(super) fn settle(&mut self, op: OpId) {
        let commits = self.queues.commits(self.ops[op].stripe);
        let target = &mut self.ops[op];
        if target.is_read() && target.fetch.settle(commits) {
            self.queues.share(op, None);
        }
    }

    /// Has a read compute with members of the stripe from now on.
    pub(super) fn compute_with(&mut self, op: OpId) {
        let target = &self.ops[op];
        if target.is_read() {
            self.queues.enter_reader(op, target.stripe, target.range(), true);
        }
    }

    /// Notes the unreadable members of the stripe of an operation, and returns them.
    pub(super) fn note_unreadable(&mut self, op: OpId) -> MemberSet {
        if !self.places.availability.is_optimal() || self.ops[op].fetch.has_unsynced() {
            let stripe = self.ops[op].stripe;
            let unreadable = self.places.unreadable(stripe);
            let unsynced = self.places.availability.unsynced(&self.places.layout, stripe);
            self.ops[op].fetch.note_unreadable(unreadable, unsynced);
        }
        self.ops[op].fetch.unreadable()
    }

    /// Whether the `late` members may be reconstructed while they are still awaited.
    pub(super) fn can_reconstruct_beside(&self, op: OpId, late: MemberSet) -> bool {
        let target = &self.ops[op];
        // Parity needs members of one moment. Members that a read has from before a write are good
        // enough for the host, but not to compute with; reading them again would cost more than the
        // wait.
        let moved = target.is_read()
            && target.fetch.commits() != self.queues.commits(target.stripe)
            && (!target.fetch.coming_without(late).is_empty() || late.len() > 1);
        late.len() <= self.places.layout.parities()
            && !moved
            && target.fetch.unreadable().is_empty()
            && self.places.unreadable(target.stripe).is_empty()
            && self.access(op) == Access::Free
    }

    /// Array page of row 0 of a member of an operation; the member holds data, or a copy.
    pub(super) fn first_page(&self, op: OpId, member: u8) -> u64 {
        let target = &self.ops[op];
        let chunk = match self.places.layout.role(target.stripe, DriveId(member)) {
            Role::Data(chunk) => chunk,
            // All members of a mirror hold its one chunk.
            Role::P if self.places.layout.level().is_mirrored() => 0,
            Role::P | Role::Q => unreachable!("the host's pages are data"),
        };
        self.places.layout.page(target.stripe, chunk, target.first_row)
    }

    /// Whether a write has to fail, because it could only destroy data.
    #[inline]
    pub(super) fn fails_before_commit(&self, op: OpId) -> bool {
        let target = &self.ops[op];
        matches!(target.work, Work::Write(_)) && self.places.cannot_write(target.stripe)
    }

    /// Drive and block of the first row of an operation on a member.
    #[inline]
    pub(super) fn place(&self, op: OpId, member: u8) -> Place {
        let target = &self.ops[op];
        self.places.relocation.locate(&self.places.layout, target.stripe, target.first_row, member)
    }

    /// Members that an operation could not read although their drives are there.
    pub(super) fn broken(&self, op: OpId) -> MemberSet {
        let target = &self.ops[op];
        target.fetch.broken() - self.places.unreadable(target.stripe)
    }
}
