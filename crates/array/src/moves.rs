//! Degraded updates: writes that take a chunk to a drive outside its stripe.
//!
//! The policy says which (Sha et al., "Degraded mode-benefited I/O scheduling", §3.1, Figure 3b); this
//! sees to it that nobody reads a place that holds another chunk by then:
//!
//! * A write that moves a chunk begins to write only when no read of its stripe is out that needs a
//!   drive. So all reads are in the lock table where chunks may move.
//! * A read that comes while the write has its new data takes that from memory, and asks drives only
//!   for what the write leaves alone.
//! * When data and parity are written, the chunk is at its new place. The old one is free for another
//!   chunk as soon as its drive knows that nothing is there any more.

use crate::engine::Array;
use crate::parity::members;
use crate::placement::{Move, Place};
use crate::policy::View;
use alloc::vec::Vec;
use units::Instant;

impl Array {
    /// Asks the policy which chunks of a write go to another drive. Parity stays where it is (§3.1).
    pub(crate) fn choose_moves(&mut self, now: Instant, op: u32) {
        if !self.placement.can_move() || self.layout.level().is_mirrored() {
            return;
        }
        let target = self.ops.get(op);
        let (stripe, row, partial) = (target.stripe, target.first_row, target.partial);
        let stripe_drives = self.placement.drives(&self.layout, stripe);
        let mut taken = stripe_drives;
        // Of a page that is written in part the rest must be rebuilt, and only so many can be.
        let mut rebuildable = self.layout.parities();
        for member in members(target.touched) {
            let is_partial = partial >> member & 1 == 1;
            let free = self.placement.with_room() & !taken;
            if free == 0 || (is_partial && rebuildable == 0) {
                continue;
            }
            let from = self.placement.locate(&self.layout, stripe, row, member);
            let view = View {
                coordinator: &self.coordinator,
                queues: &self.queues,
                stripe: stripe_drives,
            };
            let Some(drive) = self.policy.place_update(now, from.drive, free, &view) else {
                continue;
            };
            assert_eq!(free >> drive.0 & 1, 1, "{drive:?} cannot take a chunk of stripe {stripe}");
            let Some(to) = self.placement.take(drive) else { continue };
            taken |= 1 << drive.0;
            rebuildable -= u32::from(is_partial);
            self.counters.moved_chunks += 1;
            self.ops.get_mut(op).moves.push(Move { member, to });
        }
    }

    /// Where a write of an operation to one of its members goes.
    pub(crate) fn place_to_write(&self, op: u32, member: u8) -> Place {
        let target = self.ops.get(op);
        match target.moves.iter().find(|chunk| chunk.member == member) {
            Some(chunk) => chunk.to,
            None => self.placement.locate(&self.layout, target.stripe, target.first_row, member),
        }
    }

    /// A read comes to a stripe whose chunks may move: no chunk moves away under it from now on, and
    /// what a write is about to move it takes from there.
    pub(crate) fn watch_for_moves(&mut self, op: u32) {
        let target = self.ops.get(op);
        let mover = self.locks.on(target.stripe).iter().copied().find(|&other| {
            let write = self.ops.get(other);
            !write.moves.is_empty() && write.has_new_data() && write.overlaps(target)
        });
        self.register(op);
        if let Some(write) = mover {
            self.take_from_write(write, op);
        }
    }

    /// What was written elsewhere is there from now on.
    pub(crate) fn end_moves(&mut self, now: Instant, op: u32) {
        let target = self.ops.get_mut(op);
        let (stripe, row) = (target.stripe, target.first_row);
        let moves: Vec<Move> = core::mem::take(&mut target.moves);
        for chunk in moves {
            let from = self.placement.locate(&self.layout, stripe, row, chunk.member);
            self.placement.put(&self.layout, stripe, chunk);
            if self.health.is_absent(from.drive) {
                // Nothing is there, and nobody to be told.
                self.placement.release(from);
            } else {
                self.deallocate(now, op, chunk.member, from);
            }
        }
    }
}
