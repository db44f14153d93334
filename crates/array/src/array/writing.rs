//! Changing stripes: writes from their turn to the end of their commit, relocation, background
//! jobs, and the write cache below them.

use super::{Array, background, repairing, settling};
use crate::action::{DataAction, OpId, Slot};
use crate::commands::{CommandRecord, Purpose, ReadFlag};
use crate::event::{Event, OperationKind, Why};
use crate::members::MemberSet;
use crate::operation::{Phase, Work};
use crate::parity;
use crate::relocation::{Move, Place};
use crate::requests::PartEnded;
use crate::stripe_writer::Plan;
use crate::write_cache::{Drain, Pass};
use alloc::vec::Vec;
use nvme::{Cause, CommandId, Completion, Delays, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Lba, Observe};

impl<O: Observe> Array<O> {
    pub(super) fn go_on_changing(&mut self, now: Instant, op: OpId) {
        match self.ops[op].work {
            Work::Write { .. } | Work::Deallocate { .. } => self.begin_commit(now, op),
            Work::Repair { .. } => background::commit_repair(self, now, op),
            Work::Rewrite { .. } => repairing::commit(self, now, op),
            Work::Settle { .. } => settling::compare(self, now, op),
            Work::Check { .. } => background::compare(self, now, op),
            Work::Read { .. } => unreachable!("a read changes nothing"),
        }
    }

    /// A writer comes to its stripe.
    pub(super) fn enter_writer(&mut self, now: Instant, op: OpId) {
        let target = &self.ops[op];
        let behind = self.stripes.enter_writer(op, target.stripe, target.range());
        if behind.is_none() {
            return self.take_turn(now, op);
        }
        self.counters.lock_waits += 1;
        self.ops[op].phase = Phase::WaitTurn;
        self.out.emit_event(now, || Event::LockWaited { op, behind });
    }

    /// Nothing else that changes the stripe is ahead of the operation.
    pub(super) fn take_turn(&mut self, now: Instant, op: OpId) {
        match self.ops[op].work {
            Work::Write { .. } => self.plan_write(now, op),
            Work::Deallocate { .. } => self.begin_commit(now, op),
            Work::Repair { .. } => background::plan_repair(self, now, op),
            Work::Check { .. } => background::plan_check(self, now, op),
            Work::Rewrite { members, .. } => repairing::plan(self, now, op, members),
            Work::Settle { .. } => settling::plan(self, now, op),
            Work::Read { .. } => unreachable!("reads take no turn"),
        }
    }

    /// Chooses how to get parity, whichever way reads less, and begins to read.
    pub(super) fn plan_write(&mut self, now: Instant, op: OpId) {
        let stripe = self.ops[op].stripe;
        let (mut unreadable, mut unwritable) = (MemberSet::EMPTY, MemberSet::EMPTY);
        if self.availability.is_optimal() {
            if self.relocation.can_move() && !self.layout.level().is_mirrored() {
                self.choose_moves(now, op);
            }
        } else {
            if self.fails_before_commit(now, op) {
                return;
            }
            let is_partial = matches!(&self.ops[op].work,
                Work::Write { writer, .. } if !writer.partial().is_empty());
            if is_partial && settling::must_wait(self, op) {
                return settling::wait(self, now, op);
            }
            (unreadable, unwritable) = (self.unreadable(stripe), self.unwritable(stripe));
        }
        let spared = match self.rules.spares_windows_in_writes() {
            true => self.members_in_windows(now, op),
            false => MemberSet::EMPTY,
        };
        let distrusted = self.rules.distrusted();
        if !distrusted.is_empty() {
            // As if it could not be read: that it is written, and what with, is another matter.
            unreadable |= self.relocation.members_on(&self.layout, stripe, distrusted);
        }
        let Work::Write { writer, .. } = &mut self.ops[op].work else { return };
        let data = self.layout.member_set(stripe) - writer.parity();
        let (plan, wanted) = writer.plan(data, unreadable, unwritable, spared);
        *match plan {
            Plan::FullStripe => &mut self.counters.full_stripe_writes,
            Plan::Reconstruct => &mut self.counters.reconstruct_writes,
            Plan::ReadModifyWrite => &mut self.counters.read_modify_writes,
        } += 1;
        self.fetch(now, op, wanted);
    }

    /// The members of a stripe whose drives are in their busy windows.
    pub(super) fn members_in_windows(&self, now: Instant, op: OpId) -> MemberSet {
        let target = &self.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        let coordinator = self.permits.coordinator();
        let members = self.layout.member_set(stripe).iter();
        members
            .filter(|&member| {
                let Place { drive, block } =
                    self.relocation.locate(&self.layout, stripe, row, member);
                coordinator.is_busy(drive, block, now)
            })
            .collect()
    }

    /// Fails a write whose stripe has more unreadable members than parities: it could only destroy
    /// data. Returns whether it has failed.
    pub(super) fn fails_before_commit(&mut self, now: Instant, op: OpId) -> bool {
        let target = &self.ops[op];
        let fails = !self.availability.is_optimal()
            && matches!(target.work, Work::Write { .. })
            && self.is_beyond_repair(target.stripe);
        if fails {
            self.fail(now, op, &Delays::ZERO);
        }
        fails
    }

    /// Old data is known: compute the new, and write it as soon as no reader computes with the old.
    pub(super) fn begin_commit(&mut self, now: Instant, op: OpId) {
        if self.fails_before_commit(now, op) {
            return;
        }
        if self.out.has_data_actions() {
            self.emit_new_data(op);
        }
        let target = &mut self.ops[op];
        target.phase = Phase::WaitReaders;
        let (has_data, relocates) = match &target.work {
            Work::Write { writer, .. } => (true, writer.relocates()),
            _ => (false, false),
        };
        if self.stripes.begin_change(op, relocates, has_data) {
            self.commit(now, op);
        } else {
            self.out.emit_event(now, || Event::LockWaited { op, behind: None });
        }
    }

    pub(super) fn emit_new_data(&mut self, op: OpId) {
        let target = &self.ops[op];
        let Work::Write { writer, .. } = &target.work else { return };
        let (stripe, touched, plan) = (target.stripe, writer.touched(), writer.how());
        let parities = writer.written_parity();
        for member in touched {
            let first_page = self.first_page(op, member);
            self.out.emit_data(|| DataAction::Merge { op, member, first_page });
        }
        for member in parities {
            let terms = match plan {
                Plan::ReadModifyWrite => parity::delta(&self.layout, stripe, member, touched),
                _ => parity::full(&self.layout, stripe, member, touched),
            };
            let target = Slot { new: true, member };
            self.out.emit_data(|| DataAction::Combine { op, target, terms });
        }
    }

    /// No reader computes with the rows any more: writes them.
    pub(super) fn commit(&mut self, now: Instant, op: OpId) {
        if self.fails_before_commit(now, op) {
            return;
        }
        let target = &mut self.ops[op];
        let stripe = target.stripe;
        target.phase = Phase::Commit;
        self.stripes.note_commit(stripe);
        match &target.work {
            Work::Write { writer, .. } => {
                let members = writer.written();
                self.out.emit_event(now, || Event::CommitBegun { op, members });
                self.write_members(now, op, members, Why::Commit);
            }
            _ => self.deallocate_rows(now, op),
        }
        if self.ops[op].writing.is_empty() {
            self.end_commit(now, op);
        }
    }

    /// Sends writes of all rows of `op` to these members, as far as their drives are there.
    pub(super) fn write_members(&mut self, now: Instant, op: OpId, members: MemberSet, why: Why) {
        let target = &self.ops[op];
        let (stripe, row, blocks) = (target.stripe, target.first_row, target.rows);
        let relocates = matches!(&target.work, Work::Write { writer, .. } if writer.relocates());
        let mut written = MemberSet::EMPTY;
        for member in members {
            let moved = match &self.ops[op].work {
                Work::Write { writer, .. } if relocates => writer.new_place(member),
                _ => None,
            };
            let Place { drive, block: lba } =
                moved.unwrap_or_else(|| self.relocation.locate(&self.layout, stripe, row, member));
            if self.availability.is_absent(drive) {
                continue;
            }
            written.insert(member);
            let purpose = Purpose::Member { op, member, round: 0, for_others: false };
            let opcode = Opcode::Write;
            let (sent, flag) = (now, ReadFlag::NONE);
            let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
            self.dispatch(&record, PlFlag::Off, why);
        }
        self.ops[op].writing |= written;
    }

    /// Deallocates these rows on all drives of a stripe, data and parity alike. If more members are
    /// unreadable than there are parities, nothing is done: deallocation is a hint.
    pub(super) fn deallocate_rows(&mut self, now: Instant, op: OpId) {
        let target = &self.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        if self.is_beyond_repair(stripe) {
            return;
        }
        let members = self.layout.member_set(stripe) - self.unwritable(stripe);
        self.out.emit_event(now, || Event::CommitBegun { op, members });
        for member in members {
            let place = self.relocation.locate(&self.layout, stripe, row, member);
            self.change(now, op, member, Opcode::Deallocate, place, Why::Commit);
        }
    }

    /// A member is written, as far as it can be.
    #[inline]
    pub(super) fn end_write_of_member(&mut self, now: Instant, op: OpId, member: u8) {
        let target = &mut self.ops[op];
        target.writing.remove(member);
        if target.writing.is_empty() {
            self.end_commit(now, op);
        }
    }

    /// All members are written.
    pub(super) fn end_commit(&mut self, now: Instant, op: OpId) {
        self.out.emit_event(now, || Event::CommitEnded { op });
        let stripe = self.ops[op].stripe;
        if self.ops[op].is_repair() {
            return self.leave_and_finish(now, op, &Delays::ZERO);
        }
        if let Work::Write { writer, .. } = &self.ops[op].work {
            let relocates = writer.relocates();
            // Drives have failed while it was being written.
            self.ops[op].failed |= self.is_beyond_repair(stripe);
            if relocates {
                self.end_moves(now, op);
            }
        }
        self.stripes.note_commit(stripe);
        // Where the time went is told of reads only.
        self.leave_and_finish(now, op, &Delays::ZERO);
    }

    /// Lets operations go on that waited for one that has left the stripe.
    pub(super) fn wake(&mut self, now: Instant, stripe: u64) {
        let mut ticket = 0;
        while let Some((next, op)) = self.stripes.next_ready(stripe, ticket) {
            ticket = next;
            match self.ops[op].phase {
                Phase::WaitTurn => {
                    self.out.emit_event(now, || Event::LockObtained { op });
                    self.take_turn(now, op);
                }
                Phase::WaitWrite => self.retry(now, op),
                Phase::WaitReaders => {
                    self.out.emit_event(now, || Event::LockObtained { op });
                    self.commit(now, op);
                }
                _ => {}
            }
        }
    }

    /// Ends an operation that cannot get what it needs.
    #[cold]
    pub(super) fn fail(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &mut self.ops[op];
        if let Work::Write { writer, .. } = &mut target.work {
            for chunk in writer.take_moves() {
                self.relocation.release(chunk.to);
            }
        }
        if repairing::waits_for_repair(self, now, op, passed) {
            return;
        }
        self.ops[op].failed = true;
        self.leave_and_finish(now, op, passed);
    }

    /// An operation is over, by success or not; the stripe is for others.
    #[inline]
    pub(super) fn leave_and_finish(&mut self, now: Instant, op: OpId, delays: &Delays) {
        let stripe = self.ops[op].stripe;
        let someone_waits = self.stripes.is_in(op) && self.stripes.leave(op);
        self.finish(now, op, delays);
        if someone_waits {
            self.wake(now, stripe);
        }
    }

    /// Asks the policy which chunks of a write go to another drive (Sha et al., "Degraded
    /// mode-benefited I/O scheduling", §3.1, Figure 3b). Parity stays where it is.
    ///
    /// Nobody reads a place that holds another chunk by then: all reads enter the queue of their
    /// stripe where chunks may move, and the write waits for those that need a drive. One that
    /// comes while the write has its new data takes that from memory.
    pub(super) fn choose_moves(&mut self, now: Instant, op: OpId) {
        let target = &self.ops[op];
        let Work::Write { writer, .. } = &target.work else { return };
        let (touched, partial) = (writer.touched(), writer.partial());
        let (stripe, row) = (target.stripe, target.first_row);
        let drives = self.relocation.drives(&self.layout, stripe);
        let mut taken = drives;
        // Of a page that is written in part the rest must be reconstructed, and only so many can
        // be.
        let mut reconstructable = self.layout.parities();
        for member in touched {
            let is_partial = partial.contains(member);
            let free = self.relocation.with_room() - taken;
            if free.is_empty() || (is_partial && reconstructable == 0) {
                continue;
            }
            let from = self.relocation.locate(&self.layout, stripe, row, member);
            let view = self.permits.view(&self.commands, drives.bits());
            let policy = self.rules.policy();
            let Some(drive) = policy.place_update(now, from.drive, free.bits(), &view) else {
                continue;
            };
            assert!(free.contains(drive.0), "{drive:?} cannot take a chunk of stripe {stripe}");
            let Some(to) = self.relocation.take(drive) else { continue };
            taken.insert(drive.0);
            reconstructable -= u32::from(is_partial);
            self.counters.relocated_chunks += 1;
            if let Work::Write { writer, .. } = &mut self.ops[op].work {
                writer.relocate(Move { member, to });
            }
        }
    }

    /// A read begins on a stripe whose chunks may be relocated: from now on no chunk is relocated
    /// under it, and what a write is about to move it takes from there.
    pub(super) fn watch_for_moves(&mut self, now: Instant, op: OpId) {
        let target = &self.ops[op];
        let (stripe, rows) = (target.stripe, target.range());
        let mover = self.stripes.relocating(stripe, rows.clone());
        self.stripes.enter_reader(op, stripe, rows, false);
        if let Some(write) = mover {
            self.take_from_write(now, write, op);
        }
    }

    /// What was written elsewhere is there from now on. The old place is free for another chunk as
    /// soon as its drive knows that nothing is there any more.
    pub(super) fn end_moves(&mut self, now: Instant, op: OpId) {
        let target = &mut self.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        let Work::Write { writer, .. } = &mut target.work else { return };
        for chunk in writer.take_moves() {
            let from = self.relocation.locate(&self.layout, stripe, row, chunk.member);
            self.relocation.put(&self.layout, stripe, chunk);
            if self.availability.is_absent(from.drive) {
                // There is no drive to send it to.
                self.relocation.release(from);
            } else {
                self.change(now, op, chunk.member, Opcode::Deallocate, from, Why::Relocate);
            }
        }
    }

    /// Lets the write cache have a command before its drive does. Returns whether it needs no
    /// drive, or not now.
    pub(super) fn is_kept_by_cache(
        &mut self,
        now: Instant,
        id: CommandId,
        record: &CommandRecord,
    ) -> bool {
        let Purpose::Member { op, .. } = record.purpose else { return false };
        let work = &self.ops[op].work;
        let replaces = work.kind() == OperationKind::Deallocate || record.opcode == Opcode::Write;
        let requested_bytes = match *work {
            Work::Write { request, .. } => Some(self.requests.size_bytes(request)),
            // The cache keeps nothing when the power goes.
            Work::Settle { .. } => Some(u64::MAX),
            _ => None,
        };
        let Some(cache) = &mut self.cache else { return false };
        let pass = cache.accept(now, id, record, requested_bytes, replaces);
        if pass == Pass::ToDrive {
            return false;
        }
        self.out.emit_event(now, || Event::Cached { command: id });
        match pass {
            Pass::Read => self.emit_cached_rows(id, record),
            Pass::Taken => {
                self.write_cached(now, id);
                self.drain_cache(now);
            }
            Pass::ToDrive | Pass::Waits => {}
        }
        true
    }

    /// Tells which rows of a read come from the write cache, as it is now.
    pub(super) fn emit_cached_rows(&mut self, command: CommandId, record: &CommandRecord) {
        let Some(cache) = &self.cache else { return };
        if !self.out.has_data_actions() {
            return;
        }
        let CommandRecord { drive, lba, blocks, .. } = *record;
        let rows = cache.rows(drive, lba, blocks);
        if !rows.is_empty() {
            self.out.emit_data(|| DataAction::ReadCache { command, drive, lba, blocks, rows });
        }
    }

    /// The write cache has taken a write.
    pub(super) fn write_cached(&mut self, now: Instant, id: CommandId) {
        self.cache_changed(now);
        let CommandRecord { purpose, drive, lba, .. } = *self.commands.get(id);
        if let Purpose::Member { op, member, .. } = purpose {
            self.out.emit_data(|| DataAction::Cache { op, member, drive, lba });
        }
    }

    pub(super) fn cache_changed(&mut self, now: Instant) {
        let held_pages = self.cached_pages();
        self.rules.policy().write_cache_changed(now, held_pages);
    }

    /// Passes on what the write cache has answered, and drains the drives that may be drained.
    pub(super) fn handle_cache_deadline(&mut self, now: Instant) {
        while let Some((due, id, latency)) =
            self.cache.as_mut().and_then(|cache| cache.pop_answer(now))
        {
            self.answer_from_cache(due, id, latency);
        }
        self.drain_cache(now);
    }

    pub(super) fn answer_from_cache(&mut self, now: Instant, id: CommandId, latency: Duration) {
        let record = self.commands.take(id);
        let status = Status::Success;
        self.out.emit_event(now, || Event::Answered { command: id, drive: record.drive, status });
        let Purpose::Member { op, member, .. } = record.purpose else { return };
        if record.opcode == Opcode::Write {
            return self.end_write_of_member(now, op, member);
        }
        let mut delays = Delays::ZERO;
        delays.add(Cause::Transfer, latency);
        let completion = Completion {
            id,
            status,
            busy_remaining: Duration::ZERO,
            met_collection: false,
            held_up: false,
            delays,
        };
        self.take_answer(now, &record, &completion, status);
    }

    /// Sends what waits in the write cache to every drive that may be drained.
    pub(super) fn drain_cache(&mut self, now: Instant) {
        let Some(cache) = &mut self.cache else { return };
        cache.begin_draining();
        for drive in (0..self.layout.width()).map(|drive| DriveId(drive as u8)) {
            while let Some(cache) = &mut self.cache
                && cache.may_drain(drive)
            {
                let view = self.permits.view(&self.commands, 1 << drive.0);
                let from = match cache.is_closed() {
                    true => now,
                    false => self.rules.policy().may_drain_from(now, drive, &view),
                };
                if from > now {
                    cache.drain_from(from);
                    break;
                }
                let Some(Drain { lba, blocks }) = cache.begin_drain(drive) else { break };
                let (purpose, opcode) = (Purpose::Drain, Opcode::Write);
                let (sent, flag) = (now, ReadFlag::NONE);
                let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
                let id = self.commands.insert(record);
                self.tell_dispatched(now, id, &record, PlFlag::Off, Why::Drain);
                self.send(now, id, &record, PlFlag::Off);
            }
        }
    }

    /// A drain is done.
    pub(super) fn end_drain(&mut self, now: Instant, record: &CommandRecord) {
        let CommandRecord { drive, lba, blocks, .. } = *record;
        let Some(cache) = &mut self.cache else { return };
        let left = cache.end_drain(drive, Drain { lba, blocks });
        self.leave_cache(now, drive, left);
        // Large writes that waited until their pages were drained.
        let ready = self.cache.as_mut().map_or(Vec::new(), |cache| cache.take_behind_drains());
        for id in ready {
            let record = *self.commands.get(id);
            self.send(now, id, &record, PlFlag::Off);
        }
        self.drain_cache(now);
    }

    /// A drive has done a write that went past the write cache: what it replaces leaves.
    #[inline]
    pub(super) fn end_bypass(&mut self, now: Instant, record: &CommandRecord) {
        if self.cache.is_some() {
            self.end_bypass_of_cache(now, record);
        }
    }

    fn end_bypass_of_cache(&mut self, now: Instant, record: &CommandRecord) {
        let Some(cache) = &mut self.cache else { return };
        let left = cache.end_bypass(record.drive, record.lba, record.blocks);
        if !left.is_empty() {
            self.leave_cache(now, record.drive, left);
        }
        self.drain_cache(now);
    }

    /// Pages have left the write cache.
    pub(super) fn leave_cache(&mut self, now: Instant, drive: DriveId, left: Vec<Lba>) {
        self.cache_changed(now);
        self.out.emit_data(|| DataAction::Uncache { drive, pages: left });
        self.make_room_in_cache(now);
    }

    /// Takes in writes that wait for room, as far as there is some.
    pub(super) fn make_room_in_cache(&mut self, now: Instant) {
        while let Some(id) = self.cache.as_mut().and_then(|cache| cache.take_waiting(now)) {
            self.write_cached(now, id);
        }
    }

    /// Forgets what is cached for a drive that has failed: parity has it. Writes that wait for room
    /// in the cache, or behind a drain, are over.
    pub(super) fn abandon_cache(&mut self, now: Instant, drive: DriveId) {
        let Some(cache) = &mut self.cache else { return };
        let (left, over) = cache.abandon(drive);
        if !left.is_empty() {
            self.out.emit_data(|| DataAction::Uncache { drive, pages: left });
        }
        for id in over {
            if let Purpose::Member { op, member, .. } = self.commands.take(id).purpose {
                self.end_write_of_member(now, op, member);
            }
        }
        self.make_room_in_cache(now);
    }

    /// A drive knows that nothing is in some blocks any more. Those that a chunk has left are free
    /// for another.
    pub(super) fn end_deallocation(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        record: &CommandRecord,
        status: Status,
    ) {
        if self.ops[op].work.kind() == OperationKind::Deallocate {
            if status == Status::Unrecovered {
                // The other drives have zeros there: this one does not fit them any more.
                self.give_up(now, record.drive);
            }
            self.end_bypass(now, record);
            self.end_write_of_member(now, op, member);
            return;
        }
        self.ops[op].writing.remove(member);
        self.relocation.release(Place { drive: record.drive, block: record.lba });
        self.close_if_drained(now, op);
    }

    /// A stripe operation has done what its request or its job needs of it, or cannot.
    #[inline]
    pub(super) fn finish(&mut self, now: Instant, op: OpId, delays: &Delays) {
        if !self.ops[op].fetch.broken().is_empty() {
            repairing::note_broken(self, op);
        }
        let target = &mut self.ops[op];
        target.phase = Phase::Drain;
        let fetch = &target.fetch;
        let part = PartEnded {
            failed: target.failed,
            reconstructed: fetch.is_reconstructed() && !target.failed,
            blocked: fetch.blocked(),
        };
        let request = match target.work {
            Work::Repair { .. } | Work::Check { .. } => {
                background::end(self, op);
                return self.close_if_drained(now, op);
            }
            Work::Rewrite { waiter, .. } => {
                repairing::end(self, now, op, waiter);
                return self.close_if_drained(now, op);
            }
            Work::Settle { .. } => {
                settling::end(self, now, op);
                return self.close_if_drained(now, op);
            }
            Work::Read { request, .. } => {
                self.counters.busy_sub_ios[fetch.busy_members() as usize] += 1;
                request
            }
            Work::Write { request, .. } | Work::Deallocate { request } => request,
        };
        self.counters.reconstructions += u64::from(part.reconstructed);
        let hedge_reads = fetch.hedge_reads();
        if hedge_reads > 0 {
            self.counters.hedges_won += u64::from(part.reconstructed);
            self.rules.policy().hedge_ended(hedge_reads, part.reconstructed);
        }
        self.end_part(now, request, &part, delays);
        self.close_if_drained(now, op);
    }

    #[inline]
    pub(super) fn close_if_drained(&mut self, now: Instant, op: OpId) {
        if self.ops[op].has_nothing_out() {
            self.out.emit_event(now, || Event::OperationClosed { op });
            self.out.emit_data(|| DataAction::Close { op });
            self.ops.release(op);
        }
    }
}
