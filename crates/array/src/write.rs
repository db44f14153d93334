//! Writes: turn, plan, parity, commit.

use crate::action::{DataAction, OpId, Slot};
use crate::engine::Array;
use crate::op::{OpKind, Phase, Plan, SubIo};
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
            self.take_turn(now, op);
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
            .all(|other| other.kind == OpKind::Read || !other.overlaps(target))
    }

    /// Nothing else that changes the stripe is ahead of the operation.
    fn take_turn(&mut self, now: Instant, op: u32) {
        match self.ops.get(op).kind {
            OpKind::Write => self.plan_write(now, op),
            OpKind::Deallocate => self.begin_commit(now, op),
            OpKind::Restore => self.plan_restore(now, op),
            OpKind::Check => self.plan_check(now, op),
            OpKind::Read => unreachable!("reads take no turn"),
        }
    }

    /// Chooses how to get parity, whichever way reads less, and begins to read.
    fn plan_write(&mut self, now: Instant, op: u32) {
        let (mut unreadable, mut left_out) = (0, 0);
        if self.health.whole {
            self.choose_moves(now, op);
        } else {
            if self.fails_before_commit(now, op) {
                return;
            }
            let stripe = self.ops.get(op).stripe;
            unreadable = self.unreadable(stripe);
            left_out = self.unwritable(stripe);
        }
        let target = self.ops.get_mut(op);
        target.left_out = left_out;
        let all_parity = self.layout.parity_mask(target.stripe);
        let data = self.layout.members(target.stripe) & !all_parity;
        let parity = all_parity & !left_out;
        let modify = target.touched | parity;
        let reconstruct = match parity {
            // Without parity only the rest of a page that is written in part must be known.
            0 => target.partial,
            _ => data & !(target.touched & !target.partial),
        };
        // A chunk that moves was not to be read: its drive is busy.
        let moves = !target.moves.is_empty();
        // What cannot be read is computed from as many members as there are data chunks.
        let cost = |wanted: u64| match wanted & unreadable {
            0 => wanted.count_ones(),
            _ => data.count_ones(),
        };
        let may_modify = parity != 0 && !moves && parity & unreadable == 0;
        let wanted = if may_modify && cost(modify) < cost(reconstruct) {
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
        if self.fails_before_commit(now, op) {
            return;
        }
        if self.data_actions && self.ops.get(op).kind == OpKind::Write {
            self.say_new_data(op);
        }
        self.ops.get_mut(op).phase = Phase::WaitReaders;
        self.commit_if_unread(now, op);
    }

    fn say_new_data(&mut self, op: u32) {
        let target = self.ops.get(op);
        let (stripe, touched, plan) = (target.stripe, target.touched, target.plan);
        let left_out = target.left_out;
        for member in members(touched) {
            let first_page = self.first_page(op, member);
            self.data(DataAction::Merge { op: OpId(op), member, first_page });
        }
        let parities: Vec<u8> = members(self.layout.parity_mask(stripe) & !left_out).collect();
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
        if read || self.fails_before_commit(now, op) {
            return;
        }
        let target = self.ops.get(op);
        let stripe = target.stripe;
        let written = (target.touched | self.layout.parity_mask(stripe)) & !target.left_out;
        self.ops.get_mut(op).phase = Phase::Commit;
        self.locks.note_commit(stripe);
        match self.ops.get(op).kind {
            OpKind::Deallocate => self.deallocate_rows(now, op),
            _ if self.health.whole => {
                for member in members(written) {
                    self.write(now, op, member);
                }
            }
            _ => {
                for member in members(written) {
                    if !self.health.is_absent(self.place_to_write(op, member).drive) {
                        self.write(now, op, member);
                    }
                }
            }
        }
        if self.ops.get(op).writing == 0 {
            self.end_commit(now, op);
        }
    }

    /// Tells all drives of a stripe that nothing is in these rows any more, data and parity alike. If
    /// more is missing than parities, what is left stays: it is a hint.
    fn deallocate_rows(&mut self, now: Instant, op: u32) {
        let target = self.ops.get(op);
        let (stripe, row) = (target.stripe, target.first_row);
        if self.is_beyond_repair(stripe) {
            return;
        }
        let there = self.layout.members(stripe) & !self.unwritable(stripe);
        for member in members(there) {
            let place = self.placement.locate(&self.layout, stripe, row, member);
            self.deallocate(now, op, member, place);
        }
    }

    /// A member is written, as far as it can be.
    pub(crate) fn end_write_of_member(&mut self, now: Instant, sub_io: &SubIo) {
        let op = self.ops.get_mut(sub_io.op);
        op.writing &= !(1 << sub_io.member);
        if op.writing == 0 {
            self.end_commit(now, sub_io.op);
        }
    }

    /// Data and parity are written.
    pub(crate) fn end_commit(&mut self, now: Instant, op: u32) {
        let target = self.ops.get(op);
        let stripe = target.stripe;
        match target.kind {
            OpKind::Restore => return self.end_turn(now, op),
            // Drives have failed while it was being written.
            OpKind::Write if self.is_beyond_repair(stripe) => self.ops.get_mut(op).failed = true,
            _ => {}
        }
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
                Phase::WaitTurn if self.is_writers_turn(op) => self.take_turn(now, op),
                Phase::WaitWrite => self.retry_rebuild(now, op),
                Phase::WaitReaders => self.commit_if_unread(now, op),
                _ => {}
            }
        }
    }
}
