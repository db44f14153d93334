//! Getting the pages that an operation wants: by reading, by rebuilding, or by waiting.

use crate::action::{DataAction, OpId, Slot};
use crate::engine::Array;
use crate::layout::Role;
use crate::op::{OpKind, Phase, SubIo};
use crate::parity::{self, members};
use crate::placement::Place;
use crate::policy::{Attempt, Failure, View};
use nvme::{Cause, CommandId, Delays, PlFlag};
use units::{DriveId, Duration, Instant};

/// How a rebuild may go on.
pub(crate) enum Rebuild {
    /// Read the other members.
    Read,
    /// Read them, and take what this write holds in memory.
    Share(u32),
    /// Wait until this is possible.
    Wait,
}

impl Array {
    /// The member of a mirror that a read of `stripe` goes to, as a bit.
    pub(crate) fn choose_copy(&mut self, now: Instant, stripe: u64, first_row: u32) -> u64 {
        let primary = self.layout.member_of(stripe, 0);
        let all = self.layout.members(stripe);
        let readable = all & !self.unreadable(stripe);
        // If there is none the read fails, whichever is asked.
        let copies = if readable == 0 { all } else { readable };
        let primary = match copies >> primary.0 & 1 {
            1 => primary,
            _ => DriveId(copies.trailing_zeros() as u8),
        };
        let lba = self.layout.lba(stripe, first_row, primary);
        let view = View { coordinator: &self.coordinator, queues: &self.queues, stripe: copies };
        let chosen = self.policy.choose_copy(now, primary, copies, lba, &view);
        assert_eq!(copies >> chosen.0 & 1, 1, "{chosen:?} has no copy of stripe {stripe}");
        1 << chosen.0
    }

    /// Begins to get the `wanted` members of an operation.
    pub(crate) fn gather(&mut self, now: Instant, op: u32, wanted: u64) {
        let target = self.ops.get_mut(op);
        target.phase = Phase::Gather;
        target.wanted = wanted;
        // A read may have taken everything from a write that moves it.
        let unknown = wanted & !target.have;
        if unknown == 0 {
            self.end_gather(now, op);
            return;
        }
        let (stripe, first_row) = (target.stripe, target.first_row);
        let gone = self.note_gone(op);
        if gone & unknown != 0 && gone.count_ones() > self.layout.parities() {
            self.fail(now, op, Delays::ZERO);
            return;
        }
        let spare_reads = self.policy.spare_reads();
        if spare_reads > 0 && gone == 0 && self.begin_race(now, op, wanted, spare_reads) {
            return;
        }
        let (mut avoided, mut doubted) = (self.ops.get(op).moving() & unknown | gone, 0u64);
        let drives = self.placement.drives(&self.layout, stripe);
        for member in members(unknown & !avoided) {
            if self.is_staged(op, member) {
                self.read(now, op, member, PlFlag::Off, false, 0);
                continue;
            }
            let Place { drive, block } =
                self.placement.locate(&self.layout, stripe, first_row, member);
            let view =
                View { coordinator: &self.coordinator, queues: &self.queues, stripe: drives };
            match self.policy.first_attempt(now, drive, block, &view) {
                // Of more drives than there are parities, some must be read whatever they do.
                Attempt::Avoid if avoided.count_ones() < self.layout.parities() => {
                    avoided |= 1 << member;
                }
                Attempt::Avoid => self.read(now, op, member, PlFlag::Off, false, 0),
                Attempt::Send(pl) => self.read(now, op, member, pl, false, 0),
                Attempt::SendAndRebuild => {
                    doubted |= 1 << member;
                    self.read(now, op, member, PlFlag::Off, false, 0);
                }
            }
        }
        if avoided != 0 {
            self.counters.avoided += u64::from((avoided & !gone).count_ones());
            self.ops.get_mut(op).missing = avoided;
            self.rebuild(now, op, Delays::ZERO);
        }
        if doubted != 0 {
            self.rebuild_doubted(now, op, doubted);
        }
        self.set_hedge(now, op);
    }

    /// Asks so many members of the stripe more than suffice, if it stands still. A write in flight is
    /// not raced against: its rows are read as they are, like by any other policy. Returns whether
    /// the race has begun.
    fn begin_race(&mut self, now: Instant, op: u32, wanted: u64, spare_reads: u32) -> bool {
        let is_read = self.ops.get(op).kind == OpKind::Read;
        if !is_read || self.layout.parities() == 0 || !matches!(self.may_rebuild(op), Rebuild::Read)
        {
            return false;
        }
        self.settle(op);
        self.enter_lock(op);
        self.ops.get_mut(op).races = true;
        let stripe = self.ops.get(op).stripe;
        let parity = self.layout.parity_mask(stripe);
        let all = self.layout.members(stripe);
        // All data first: it takes one parity less to compute with.
        let others = members(all & !parity & !wanted).chain(members(parity & !wanted));
        let more = self
            .layout
            .data_chunks()
            .saturating_add(spare_reads)
            .saturating_sub(wanted.count_ones());
        let asked = others.take(more as usize).fold(wanted, |mask, member| mask | 1 << member);
        for member in members(asked) {
            let for_rebuild = wanted >> member & 1 == 0;
            self.read(now, op, member, PlFlag::Off, for_rebuild, 0);
        }
        true
    }

    pub(crate) fn read_succeeded(
        &mut self,
        now: Instant,
        sub_io: &SubIo,
        command: CommandId,
        passed: Delays,
    ) {
        let SubIo { op, member, .. } = *sub_io;
        let target = self.ops.get_mut(op);
        let bit = 1 << member;
        if target.stale & bit != 0 {
            target.stale &= !bit;
            if self.note_gone(op) & bit != 0 {
                self.read_lost(now, sub_io, passed);
                return;
            }
            let pl = self.policy.rebuild_flag();
            let round = self.new_round(op, passed);
            self.read(now, op, member, pl, true, round);
            return;
        }
        // What a write in flight has lent is newer than anything that arrives now.
        if target.have & bit == 0 {
            target.have |= bit;
            if self.data_actions {
                self.data(DataAction::Keep { op: OpId(op), command, member });
            }
        }
        self.go_on_if_known(now, op, passed);
    }

    /// Remembers what had passed when a new round of reads is sent.
    pub(crate) fn new_round(&mut self, op: u32, passed: Delays) -> u8 {
        let target = self.ops.get_mut(op);
        target.prefixes.push(passed);
        target.prefixes.len() as u8
    }

    pub(crate) fn read_failed(
        &mut self,
        now: Instant,
        sub_io: &SubIo,
        passed: Delays,
        busy_remaining: Duration,
    ) {
        let SubIo { op, member, .. } = *sub_io;
        let target = self.ops.get_mut(op);
        let bit = 1 << member;
        target.stale &= !bit;
        if target.have & bit != 0 {
            // A write in flight has lent it meanwhile.
            return;
        }
        target.missing |= bit;
        target.failures.push(Failure { drive: DriveId(member), busy_remaining });
        if self.cope_with_missing(now, op, passed) {
            self.rebuild(now, op, passed);
        }
    }

    /// Reads whatever the missing members are to be rebuilt from and is not known or on its way.
    pub(crate) fn rebuild(&mut self, now: Instant, op: u32, passed: Delays) {
        let target = self.ops.get(op);
        if target.phase != Phase::Gather {
            return;
        }
        // What is gone needs no rebuilding unless it is wanted.
        let unknown = target.wanted & !target.have;
        if target.missing & !(target.gone & !target.wanted) != 0 && unknown != 0 {
            match self.may_rebuild(op) {
                Rebuild::Read => self.settle(op),
                Rebuild::Share(write) => {
                    self.settle(op);
                    self.take_from_write(write, op);
                }
                Rebuild::Wait => {
                    self.counters.lock_waits += 1;
                    let round = self.new_round(op, passed);
                    let target = self.ops.get_mut(op);
                    target.phase = Phase::WaitWrite;
                    target.waiting_since = now;
                    target.rebuild_round = round;
                    let (was_locked, stripe) = (target.locked, target.stripe);
                    self.enter_lock(op);
                    if was_locked {
                        // The write may be waiting for this very rebuild.
                        self.wake(now, stripe);
                    }
                    return;
                }
            }
            self.enter_lock(op);
            let suffices = self.health.whole && self.ops.get(op).gone == 0;
            if !suffices && !self.cope_with_missing(now, op, passed) {
                return;
            }
            self.read_survivors(now, op, &passed);
        }
        self.go_on_if_known(now, op, passed);
    }

    /// From here on the stripe stands still for this operation. If it moved since the operation
    /// began, what was read before may not fit what is read now: parity needs all members of one
    /// moment.
    pub(crate) fn settle(&mut self, op: u32) {
        let target = self.ops.get_mut(op);
        let commits = self.locks.commits(target.stripe);
        if target.kind == OpKind::Read && target.commits_seen != commits {
            target.commits_seen = commits;
            target.have = 0;
            target.lent_by = 0;
            target.stale = target.outstanding;
            if target.races {
                // What a race has brought is of no use any more: all is asked for again that did not
                // fail.
                let failed = target.failures.iter().fold(0, |mask, f| mask | 1 << f.drive.0);
                target.races = false;
                target.missing = failed & !target.outstanding | target.gone;
            }
        }
    }

    pub(crate) fn enter_lock(&mut self, op: u32) {
        self.ops.get_mut(op).still = true;
        self.register(op);
    }

    /// Enters an operation into the lock table.
    pub(crate) fn register(&mut self, op: u32) {
        let target = self.ops.get_mut(op);
        if !target.locked {
            target.locked = true;
            let stripe = target.stripe;
            self.locks.enter(stripe, op);
        }
    }

    /// Sends the reads that a rebuild needs.
    pub(crate) fn read_survivors(&mut self, now: Instant, op: u32, passed: &Delays) {
        let target = self.ops.get(op);
        let pl = match target.kind {
            OpKind::Restore => PlFlag::Off,
            _ => self.policy.rebuild_flag(),
        };
        let known = target.have | target.outstanding;
        let parity = self.layout.parity_mask(target.stripe);
        let data = self.layout.members(target.stripe) & !parity;
        let mut needed = data & !target.missing;
        // One parity for each missing data chunk, those first that are there or coming anyway.
        let mut parities_needed = (target.missing & data).count_ones();
        for choice in [parity & known, parity & !known] {
            for member in members(choice & !target.missing) {
                if parities_needed > 0 {
                    needed |= 1 << member;
                    parities_needed -= 1;
                }
            }
        }
        let to_read = needed & !known;
        if to_read == 0 {
            return;
        }
        let round = self.new_round(op, *passed);
        for member in members(to_read) {
            self.read(now, op, member, pl, true, round);
        }
    }

    /// Whether a rebuild may read the stripe now. Writes have the stripe to themselves already.
    pub(crate) fn may_rebuild(&self, op: u32) -> Rebuild {
        let target = self.ops.get(op);
        if target.kind != OpKind::Read {
            return Rebuild::Read;
        }
        let mut answer = Rebuild::Read;
        for &other in self.locks.on(target.stripe) {
            let write = self.ops.get(other);
            if !write.changes_stripe() || !write.overlaps(target) {
                continue;
            }
            if !write.covers(target) || !write.has_new_data() {
                return Rebuild::Wait;
            }
            answer = Rebuild::Share(other);
        }
        answer
    }

    /// Takes what a write holds in memory as if it had been read.
    pub(crate) fn take_from_write(&mut self, write: u32, op: u32) {
        let (stripe, row) = (self.ops.get(op).stripe, self.ops.get(op).first_row);
        let first_row = row - self.ops.get(write).first_row;
        let (all_parity, left_out) =
            (self.layout.parity_mask(stripe), self.ops.get(write).left_out);
        let in_memory = self.ops.get(write).touched | all_parity & !left_out;
        let serial = self.ops.get(write).serial;
        let target = self.ops.get_mut(op);
        target.lent_by = serial;
        // All of it, known or not: the rows of parity and data must be of one moment.
        target.have |= in_memory;
        target.missing &= !in_memory;
        // Parity that the write leaves out does not fit any more, even if it was read in time.
        let outdated = all_parity & left_out;
        target.have &= !outdated;
        target.gone |= outdated;
        target.missing |= outdated;
        target.stale &= !in_memory;
        target.failures.retain(|failure| in_memory >> failure.drive.0 & 1 == 0);
        self.counters.shared_with_write += 1;
        if self.data_actions {
            for member in members(in_memory) {
                let (from, to) = (OpId(write), OpId(op));
                self.data(DataAction::Share { from, to, member, first_row });
            }
        }
    }

    /// Goes on if everything wanted is known or can be computed.
    pub(crate) fn go_on_if_known(&mut self, now: Instant, op: u32, passed: Delays) {
        let target = self.ops.get(op);
        if target.phase != Phase::Gather {
            return;
        }
        let unknown = target.wanted & !target.have;
        if unknown == 0 {
            self.ops.get_mut(op).delays = passed;
            self.end_gather(now, op);
            return;
        }
        let parity = self.layout.parity_mask(target.stripe);
        let data = self.layout.members(target.stripe) & !parity;
        if target.races {
            // Whatever has not answered is computed as soon as that is possible.
            let have = self.ops.get(op).have;
            self.ops.get_mut(op).missing = data & !have | unknown;
        }
        let target = self.ops.get(op);
        if unknown & !target.missing != 0 {
            return;
        }
        let known_parities = (target.have & parity).count_ones();
        let solvable = data & !target.have & !target.missing == 0
            && known_parities >= (target.missing & data).count_ones();
        if !solvable {
            return;
        }
        let target = self.ops.get_mut(op);
        target.rebuilt = true;
        target.phase = Phase::Compute;
        target.delays = passed;
        // A copy is taken as it is; only parity has to be added up.
        let compute = match self.layout.level().is_mirrored() {
            true => Duration::ZERO,
            false => self.rebuild_compute,
        };
        target.delays.add(Cause::Rebuild, compute);
        if self.data_actions {
            self.say_rebuild(op);
        }
        self.computing.push_back((now + compute, op));
    }

    fn say_rebuild(&mut self, op: u32) {
        let target = self.ops.get(op);
        let recipes = parity::rebuild(&self.layout, target.stripe, target.missing, target.have);
        let new = target.kind == OpKind::Restore;
        for (member, terms) in recipes {
            let target = Slot { new, member };
            self.data(DataAction::Combine { op: OpId(op), target, terms });
        }
    }

    /// Everything wanted is known.
    pub(crate) fn end_gather(&mut self, now: Instant, op: u32) {
        match self.ops.get(op).kind {
            OpKind::Write | OpKind::Deallocate => self.begin_commit(now, op),
            OpKind::Restore => self.commit_restored(now, op),
            OpKind::Check => self.say_check(now, op),
            OpKind::Read => {
                if self.data_actions {
                    self.say_deliver(op);
                }
                let was_locked = self.ops.get(op).locked;
                let stripe = self.ops.get(op).stripe;
                if was_locked {
                    self.leave_lock(op);
                }
                self.finish(now, op);
                if was_locked {
                    self.wake(now, stripe);
                }
            }
        }
    }

    pub(crate) fn leave_lock(&mut self, op: u32) {
        let target = self.ops.get_mut(op);
        target.locked = false;
        let stripe = target.stripe;
        self.locks.leave(stripe, op);
    }

    fn say_deliver(&mut self, op: u32) {
        let target = self.ops.get(op);
        let touched = target.touched;
        for member in members(touched) {
            let first_page = self.first_page(op, member);
            self.data(DataAction::Deliver { op: OpId(op), member, first_page });
        }
    }

    /// Page of the array that row 0 of a member of an operation is: one with data, or with a copy.
    pub(crate) fn first_page(&self, op: u32, member: u8) -> u64 {
        let target = self.ops.get(op);
        let chunk = match self.layout.role(target.stripe, DriveId(member)) {
            Role::Data(chunk) => chunk,
            // All members of a mirror hold its one chunk.
            Role::P if self.layout.level().is_mirrored() => 0,
            Role::P | Role::Q => unreachable!("the host's pages are data"),
        };
        self.layout.page(target.stripe, chunk, target.first_row)
    }

    /// A read that waited for a write tries its rebuild again.
    pub(crate) fn retry_rebuild(&mut self, now: Instant, op: u32) {
        if matches!(self.may_rebuild(op), Rebuild::Wait) {
            return;
        }
        let target = self.ops.get_mut(op);
        target.phase = Phase::Gather;
        let waited = now.since(target.waiting_since);
        let mut passed = target.prefixes[usize::from(target.rebuild_round) - 1];
        passed.add(Cause::StripeLock, waited);
        self.rebuild(now, op, passed);
    }
}
