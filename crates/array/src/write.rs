//! Writes: turn, plan, parity, commit.

use crate::action::{DataAction, OpId, Slot};
use crate::engine::{Array, ReadOrWrite};
use crate::op::{Phase, Plan};
use crate::parity::{self, members};
use alloc::vec::Vec;
use units::Instant;

impl Array {
    /// A write comes to its stripe.
    pub(crate) fn enter_write(&mut self, now: Instant, op: u32) {
        let stripe = self.ops.get(op).stripe;
        self.ops.get_mut(op).locked = true;
        let turn = self.is_writers_turn(op);
        self.locks.enter(stripe, op);
        if turn {
            self.plan_write(now, op);
        } else {
            self.counters.lock_waits += 1;
            self.ops.get_mut(op).phase = Phase::WaitTurn;
        }
    }

    /// Whether no earlier write has rows in common with this.
    fn is_writers_turn(&self, op: u32) -> bool {
        let target = self.ops.get(op);
        self.locks
            .on(target.stripe)
            .iter()
            .take_while(|&&other| other != op)
            .map(|&other| self.ops.get(other))
            .all(|other| other.kind == ReadOrWrite::Read || !other.overlaps(target))
    }

    /// Chooses how to get parity, whichever way reads less, and begins to read.
    fn plan_write(&mut self, now: Instant, op: u32) {
        self.choose_moves(now, op);
        let target = self.ops.get_mut(op);
        let parity = self.layout.parity_mask(target.stripe);
        let data = self.layout.members(target.stripe) & !parity;
        let modify = target.touched | parity;
        let reconstruct = match parity {
            // Without parity only the rest of a page that is written in part must be known.
            0 => target.partial,
            _ => data & !(target.touched & !target.partial),
        };
        // A chunk that moves was not to be read: its drive is busy.
        let moves = !target.moves.is_empty();
        let wanted = if parity != 0 && !moves && modify.count_ones() < reconstruct.count_ones() {
            target.plan = Plan::ReadModifyWrite;
            self.counters.read_modify_writes += 1;
            modify
        } else {
            target.plan = Plan::Reconstruct;
            if reconstruct == 0 && target.touched == data {
                self.counters.full_stripe_writes += 1;
            } else {
                self.counters.reconstruct_writes += 1;
            }
            reconstruct
        };
        self.gather(now, op, wanted);
    }

    /// Old data is known: compute the new, and write it as soon as no rebuild reads the old.
    pub(crate) fn begin_commit(&mut self, now: Instant, op: u32) {
        if self.data_actions {
            self.say_new_data(op);
        }
        self.ops.get_mut(op).phase = Phase::WaitReaders;
        self.commit_if_unread(now, op);
    }

    fn say_new_data(&mut self, op: u32) {
        let target = self.ops.get(op);
        let (stripe, touched, plan) = (target.stripe, target.touched, target.plan);
        for member in members(touched) {
            let first_page = self.first_page(op, member);
            self.data(DataAction::Merge { op: OpId(op), member, first_page });
        }
        let parities: Vec<u8> = members(self.layout.parity_mask(stripe)).collect();
        for member in parities {
            let terms = match plan {
                Plan::Reconstruct => parity::full(&self.layout, stripe, member, touched),
                Plan::ReadModifyWrite => parity::delta(&self.layout, stripe, member, touched),
            };
            let target = Slot { new: true, member };
            self.data(DataAction::Combine { op: OpId(op), target, terms });
        }
    }

    fn commit_if_unread(&mut self, now: Instant, op: u32) {
        let target = self.ops.get(op);
        let read =
            self.locks.on(target.stripe).iter().any(|&other| self.ops.get(other).holds_up(target));
        if read {
            return;
        }
        let written = target.touched | self.layout.parity_mask(target.stripe);
        let target = self.ops.get_mut(op);
        target.phase = Phase::Commit;
        let stripe = target.stripe;
        self.locks.note_commit(stripe);
        for member in members(written) {
            self.write(now, op, member);
        }
    }

    /// Data and parity are written.
    pub(crate) fn end_commit(&mut self, now: Instant, op: u32) {
        let stripe = self.ops.get(op).stripe;
        if !self.ops.get(op).moves.is_empty() {
            self.end_moves(now, op);
        }
        self.locks.note_commit(stripe);
        self.leave_lock(op);
        self.finish(now, op);
        self.wake(now, stripe);
    }

    /// Lets operations go on that waited for one that has left the stripe.
    pub(crate) fn wake(&mut self, now: Instant, stripe: u64) {
        let waiting: Vec<u32> = self
            .locks
            .on(stripe)
            .iter()
            .copied()
            .filter(|&op| {
                let op = self.ops.get(op);
                op.stripe == stripe
                    && matches!(op.phase, Phase::WaitTurn | Phase::WaitWrite | Phase::WaitReaders)
            })
            .collect();
        for op in waiting {
            // One that went on may have changed what the next waits for, or have ended.
            let target = self.ops.get(op);
            if !target.locked || target.stripe != stripe {
                continue;
            }
            match target.phase {
                Phase::WaitTurn if self.is_writers_turn(op) => self.plan_write(now, op),
                Phase::WaitWrite => self.retry_rebuild(now, op),
                Phase::WaitReaders => self.commit_if_unread(now, op),
                _ => {}
            }
        }
    }
}
