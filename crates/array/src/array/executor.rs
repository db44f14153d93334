//! The executor: carries out the answers of operations ([`Next`]), hands rows from one operation to
//! the next, and ends operations.

use super::Array;
use super::background::Begun;
use super::fetching::Read;
use super::kinds::{self, At, Input, Next, Write};
use crate::action::{Action, DataAction, OpId, Slot, Term};
use crate::commands::{CommandRecord, Purpose, ReadFlag};
use crate::event::{Event, OperationKind, Why};
use crate::fetch::Fetch;
use crate::happening::Happening;
use crate::members::MemberSet;
use crate::operation::{Operation, Phase, Work};
use crate::parity;
use crate::read_repairs::Waiter;
use crate::relocation::{Move, Place};
use crate::requests::PartEnded;
use crate::stripe_writer::Plan;
use crate::write_cache::Pass;
use alloc::vec;
use nvme::{Cause, CommandId, Completion, Delays, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Observe};

impl<O: Observe> Array<O> {
    /// Steps an operation with `input`; `passed` is the time of a read until now, by cause.
    #[inline]
    pub(super) fn go_on(&mut self, now: Instant, op: OpId, input: Input, passed: &Delays) {
        let target = &mut self.stripes.ops[op];
        let at = At {
            now,
            stripe: target.stripe,
            first_row: target.first_row,
            awaited: target.awaited,
            fetch: &target.fetch,
            places: &self.stripes.places,
            coordinator: self.sending.permits.coordinator(),
            rules: &self.sending.rules,
            has_data: self.sending.out.has_data_actions(),
        };
        let next = kinds::step(&mut target.work, input, &at);
        self.carry_out(now, op, next, passed);
    }

    #[inline]
    fn carry_out(&mut self, now: Instant, op: OpId, next: Next, passed: &Delays) {
        match next {
            Next::Wait => {}
            Next::Settle => {
                self.jobs.wait_for_settling(now, op, &mut self.stripes);
                self.begin_repairs(now);
            }
            Next::Fetch(wanted) => {
                self.note_plan(now, op);
                self.fetch(now, op, wanted);
            }
            Next::Read(members) => {
                let target = &mut self.stripes.ops[op];
                target.enter(Phase::Fetch);
                target.fetch.begin(members);
                for member in members {
                    self.read(now, op, Read::wanted(member, PlFlag::Off, Why::Job));
                }
            }
            Next::Reconstruct { unreadable, spared, wanted } => {
                let target = &mut self.stripes.ops[op];
                target.enter(Phase::Fetch);
                target.fetch.begin_lost(unreadable, spared, wanted);
                self.decide(now, op, &Delays::ZERO);
            }
            Next::Deliver(members) => {
                if self.sending.out.has_data_actions() {
                    self.deliver(op, members);
                }
                self.leave_and_finish(now, op, passed);
            }
            Next::CheckParity(members) => self.check_parity(op, members),
            Next::CompareCopies { members, with } => {
                self.stripes.ops[op].enter(Phase::Compute);
                for member in members {
                    self.sending.out.emit(Action::Compare { op, member, with });
                }
            }
            Next::Mismatch { members, rewrites } => {
                self.report_mismatch(now, op, members, rewrites)
            }
            Next::Write(members) => {
                self.assert_complete(op);
                self.stripes.ops[op].enter(Phase::Commit);
                self.write_back(now, op, members);
            }
            Next::Copy { from, members } => self.copy(now, op, from, members),
            Next::Commit => self.begin_commit(now, op),
            Next::Fail => self.fail(now, op, &Delays::ZERO),
            Next::Finish { failed } => {
                self.stripes.ops[op].failed |= failed;
                self.leave_and_finish(now, op, &Delays::ZERO);
            }
        }
    }

    /// Gives an operation its turn: no other that changes the stripe is ahead of it.
    pub(super) fn take_turn(&mut self, now: Instant, op: OpId) {
        let may_move = self.stripes.places.availability.is_optimal()
            && self.stripes.places.relocation.can_move()
            && !self.stripes.places.layout.level().is_mirrored();
        if may_move {
            self.choose_moves(now, op);
        }
        if matches!(self.stripes.ops[op].work, Work::Rewrite(_)) {
            self.stripes.note_unreadable(op);
        }
        self.go_on(now, op, Input::Turn, &Delays::ZERO);
    }

    /// Counts the plan of a write, and keeps chunks from being relocated under a read.
    #[inline]
    fn note_plan(&mut self, now: Instant, op: OpId) {
        match &self.stripes.ops[op].work {
            Work::Write(Write { writer, .. }) => {
                let counters = &mut self.sending.counters;
                *match writer.how() {
                    Plan::FullStripe => &mut counters.full_stripe_writes,
                    Plan::Reconstruct => &mut counters.reconstruct_writes,
                    Plan::ReadModifyWrite => &mut counters.read_modify_writes,
                } += 1;
            }
            Work::Read { .. } if self.stripes.places.relocation.can_move() => {
                self.watch_for_moves(now, op)
            }
            _ => {}
        }
    }

    fn deliver(&mut self, op: OpId, members: MemberSet) {
        for member in members {
            let first_page = self.stripes.first_page(op, member);
            self.sending.out.emit_data(|| DataAction::Deliver { op, member, first_page });
        }
    }

    fn check_parity(&mut self, op: OpId, members: MemberSet) {
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::Compute);
        let stripe = target.stripe;
        for member in members {
            let terms = parity::full(&self.stripes.places.layout, stripe, member, MemberSet::EMPTY);
            let target = Slot { new: false, member };
            self.sending.out.emit(Action::Check { op, target, terms });
        }
    }

    fn report_mismatch(&mut self, now: Instant, op: OpId, members: MemberSet, rewrites: bool) {
        let target = &mut self.stripes.ops[op];
        let stripe = target.stripe;
        self.sending.out.emit_event(now, || Event::ParityMismatch { stripe, members });
        let happening = Happening::ParityMismatch { stripe, members };
        self.sending.out.emit(Action::Happened(happening));
        if !rewrites {
            return self.leave_and_finish(now, op, &Delays::ZERO);
        }
        target.enter(Phase::Commit);
        for member in members {
            let terms = parity::full(&self.stripes.places.layout, stripe, member, MemberSet::EMPTY);
            let target = Slot { new: true, member };
            self.sending.out.emit_data(|| DataAction::Combine { op, target, terms });
        }
        self.write_back(now, op, members);
    }

    /// Checks that members can be computed before they are written.
    ///
    /// # Panics
    ///
    /// If a member that they are computed from is unknown: the array stops rather than write
    /// doubtful parity.
    #[inline]
    fn assert_complete(&self, op: OpId) {
        let Operation { stripe, fetch, .. } = &self.stripes.ops[op];
        let unknown = fetch.unknown();
        assert!(fetch.is_complete(), "stripe {stripe} would be written without {unknown:?}");
    }

    fn copy(&mut self, now: Instant, op: OpId, from: u8, members: MemberSet) {
        self.assert_complete(op);
        self.stripes.ops[op].enter(Phase::Commit);
        for member in members {
            self.sending.out.emit_data(|| {
                let slot = Slot { new: false, member: from };
                let terms = vec![Term { coefficient: 1, slot }];
                DataAction::Combine { op, target: Slot { new: true, member }, terms }
            });
        }
        self.sending.out.emit_data(|| DataAction::Force { op });
        self.write_back(now, op, members);
    }

    /// Writes back members that should have held this already, where their drives are present.
    fn write_back(&mut self, now: Instant, op: OpId, members: MemberSet) {
        self.sending.out.emit_event(now, || Event::CommitBegun { op, members });
        self.write_members(now, op, members, Why::Job);
        if self.stripes.ops[op].writing.is_empty() {
            self.leave_and_finish(now, op, &Delays::ZERO);
        }
    }

    /// Enters a writer into the queue of its stripe.
    pub(super) fn enter_writer(&mut self, now: Instant, op: OpId) {
        let target = &self.stripes.ops[op];
        let behind = self.stripes.queues.enter_writer(op, target.stripe, target.range());
        if behind.is_none() {
            return self.take_turn(now, op);
        }
        self.sending.counters.lock_waits += 1;
        self.stripes.ops[op].enter(Phase::WaitTurn);
        self.sending.out.emit_event(now, || Event::LockWaited { op, behind });
    }

    /// Computes new data and parity, and writes them as soon as no reader computes with the old
    /// data.
    pub(super) fn begin_commit(&mut self, now: Instant, op: OpId) {
        self.assert_complete(op);
        if self.sending.out.has_data_actions() {
            self.emit_new_data(op);
        }
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::WaitReaders);
        let (has_data, relocates) = match &target.work {
            Work::Write(Write { writer, .. }) => (true, writer.relocates()),
            _ => (false, false),
        };
        if self.stripes.queues.begin_change(op, relocates, has_data) {
            self.commit(now, op);
        } else {
            self.sending.out.emit_event(now, || Event::LockWaited { op, behind: None });
        }
    }

    pub(super) fn emit_new_data(&mut self, op: OpId) {
        let target = &self.stripes.ops[op];
        let Work::Write(Write { writer, .. }) = &target.work else { return };
        let (stripe, touched, plan) = (target.stripe, writer.touched(), writer.how());
        let parities = writer.written_parity();
        for member in touched {
            let first_page = self.stripes.first_page(op, member);
            self.sending.out.emit_data(|| DataAction::Merge { op, member, first_page });
        }
        for member in parities {
            let terms = match plan {
                Plan::ReadModifyWrite => {
                    parity::delta(&self.stripes.places.layout, stripe, member, touched)
                }
                _ => parity::full(&self.stripes.places.layout, stripe, member, touched),
            };
            let target = Slot { new: true, member };
            self.sending.out.emit_data(|| DataAction::Combine { op, target, terms });
        }
    }

    /// Writes the rows, with which no reader computes any more.
    pub(super) fn commit(&mut self, now: Instant, op: OpId) {
        if self.stripes.fails_before_commit(op) {
            return self.fail(now, op, &Delays::ZERO);
        }
        let target = &mut self.stripes.ops[op];
        let stripe = target.stripe;
        target.enter(Phase::Commit);
        self.stripes.queues.note_commit(stripe);
        match &target.work {
            Work::Write(Write { writer, .. }) => {
                let members = writer.written();
                self.sending.out.emit_event(now, || Event::CommitBegun { op, members });
                self.write_members(now, op, members, Why::Commit);
            }
            _ => self.deallocate_rows(now, op),
        }
        if self.stripes.ops[op].writing.is_empty() {
            self.end_commit(now, op);
        }
    }

    /// Sends writes of all rows of `op` to these members, where their drives are present.
    pub(super) fn write_members(&mut self, now: Instant, op: OpId, members: MemberSet, why: Why) {
        let target = &self.stripes.ops[op];
        let (stripe, row, blocks) = (target.stripe, target.first_row, target.rows);
        let writing = target.writing;
        assert!(!writing.meets(members), "{op:?} writes {members:?}, and {writing:?} are out");
        let relocates =
            matches!(&target.work, Work::Write(Write { writer, .. }) if writer.relocates());
        let mut written = MemberSet::EMPTY;
        for member in members {
            let moved = match &self.stripes.ops[op].work {
                Work::Write(Write { writer, .. }) if relocates => writer.new_place(member),
                _ => None,
            };
            let Place { drive, block: lba } = moved.unwrap_or_else(|| {
                self.stripes.places.relocation.locate(
                    &self.stripes.places.layout,
                    stripe,
                    row,
                    member,
                )
            });
            if self.stripes.places.availability.is_absent(drive) {
                continue;
            }
            written.insert(member);
            let purpose = Purpose::Member { op, member, round: 0, for_others: false };
            let opcode = Opcode::Write;
            let (sent, flag) = (now, ReadFlag::NONE);
            let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
            self.dispatch(&record, PlFlag::Off, why);
        }
        self.stripes.ops[op].writing |= written;
    }

    /// Deallocates these rows on all drives of a stripe, data and parity alike. If more members are
    /// unreadable than there are parities, nothing is done: deallocation is a hint.
    pub(super) fn deallocate_rows(&mut self, now: Instant, op: OpId) {
        let target = &self.stripes.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        if self.stripes.places.is_beyond_repair(stripe) {
            return;
        }
        let members =
            self.stripes.places.layout.member_set(stripe) - self.stripes.places.unwritable(stripe);
        self.sending.out.emit_event(now, || Event::CommitBegun { op, members });
        for member in members {
            let place = self.stripes.places.relocation.locate(
                &self.stripes.places.layout,
                stripe,
                row,
                member,
            );
            self.change(now, op, member, Opcode::Deallocate, place, Why::Commit);
        }
    }

    /// Ends the write of a member, successful or not.
    #[inline]
    pub(super) fn end_write_of_member(&mut self, now: Instant, op: OpId, member: u8) {
        let target = &mut self.stripes.ops[op];
        assert!(target.writing.contains(member), "member {member} of {op:?} was not being written");
        target.writing.remove(member);
        if target.writing.is_empty() {
            self.end_commit(now, op);
        }
    }

    /// Ends a commit: all members are written.
    pub(super) fn end_commit(&mut self, now: Instant, op: OpId) {
        let phase = self.stripes.ops[op].phase();
        assert!(phase == Phase::Commit, "the commit of {op:?} ends in {phase:?}");
        self.sending.out.emit_event(now, || Event::CommitEnded { op });
        let stripe = self.stripes.ops[op].stripe;
        if self.stripes.ops[op].is_repair() {
            return self.leave_and_finish(now, op, &Delays::ZERO);
        }
        if let Work::Write(Write { writer, .. }) = &self.stripes.ops[op].work {
            let relocates = writer.relocates();
            // Drives may have failed during the commit.
            self.stripes.ops[op].failed |= self.stripes.places.is_beyond_repair(stripe);
            if relocates {
                self.end_moves(now, op);
            }
        }
        self.stripes.queues.note_commit(stripe);
        // Delays are reported for reads only.
        self.leave_and_finish(now, op, &Delays::ZERO);
    }

    /// Resumes operations that waited for one that has left the stripe.
    pub(super) fn wake(&mut self, now: Instant, stripe: u64) {
        let mut ticket = 0;
        while let Some((next, op)) = self.stripes.queues.next_ready(stripe, ticket) {
            ticket = next;
            match self.stripes.ops[op].phase() {
                Phase::WaitTurn => {
                    self.sending.out.emit_event(now, || Event::LockObtained { op });
                    self.take_turn(now, op);
                }
                Phase::WaitWrite => self.retry(now, op),
                Phase::WaitReaders => {
                    self.sending.out.emit_event(now, || Event::LockObtained { op });
                    self.commit(now, op);
                }
                _ => {}
            }
        }
    }

    /// Ends an operation that cannot get what it needs.
    #[cold]
    pub(super) fn fail(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &mut self.stripes.ops[op];
        if let Work::Write(Write { writer, .. }) = &mut target.work {
            for chunk in writer.take_moves() {
                self.stripes.places.relocation.release(chunk.to);
            }
        }
        if self.jobs.can_repair_for(op, &self.stripes) {
            return self.wait_for_repair(now, op, passed);
        }
        self.stripes.ops[op].failed = true;
        self.leave_and_finish(now, op, passed);
    }

    /// Ends an operation, successful or not; its rows are free for others.
    #[inline]
    pub(super) fn leave_and_finish(&mut self, now: Instant, op: OpId, delays: &Delays) {
        let stripe = self.stripes.ops[op].stripe;
        let someone_waits = self.stripes.queues.is_in(op) && self.stripes.queues.leave(op);
        self.finish(now, op, delays);
        if someone_waits {
            self.wake(now, stripe);
        }
    }

    /// Asks the policy which chunks of a write to relocate (Sha et al., "Degraded mode-benefited
    /// I/O scheduling", §3.1, Figure 3b). Parity stays where it is.
    ///
    /// No read uses a place that holds another chunk by then: where chunks may be relocated, all
    /// reads enter the queue of their stripe, and the write waits for those that need a drive. A
    /// read that comes when the write has its new data takes that from memory.
    pub(super) fn choose_moves(&mut self, now: Instant, op: OpId) {
        let target = &self.stripes.ops[op];
        let Work::Write(Write { writer, .. }) = &target.work else { return };
        let (touched, partial) = (writer.touched(), writer.partial());
        let (stripe, row) = (target.stripe, target.first_row);
        let drives = self.stripes.places.relocation.drives(&self.stripes.places.layout, stripe);
        let mut taken = drives;
        // The rest of a partly written page must be reconstructed, which the parities limit.
        let mut reconstructable = self.stripes.places.layout.parities();
        for member in touched {
            let is_partial = partial.contains(member);
            let free = self.stripes.places.relocation.with_room() - taken;
            if free.is_empty() || (is_partial && reconstructable == 0) {
                continue;
            }
            let from = self.stripes.places.relocation.locate(
                &self.stripes.places.layout,
                stripe,
                row,
                member,
            );
            let view = self.sending.permits.view(&self.sending.commands, drives.bits());
            let policy = self.sending.rules.policy();
            let Some(drive) = policy.place_update(now, from.drive, free.bits(), &view) else {
                continue;
            };
            assert!(free.contains(drive.0), "{drive:?} cannot take a chunk of stripe {stripe}");
            let Some(to) = self.stripes.places.relocation.take(drive) else { continue };
            taken.insert(drive.0);
            reconstructable -= u32::from(is_partial);
            self.sending.counters.relocated_chunks += 1;
            if let Work::Write(Write { writer, .. }) = &mut self.stripes.ops[op].work {
                writer.relocate(Move { member, to });
            }
        }
    }

    /// A read begins on a stripe whose chunks may be relocated. From now on no chunk is relocated
    /// under it, and it takes members that a write is about to relocate from that write.
    pub(super) fn watch_for_moves(&mut self, now: Instant, op: OpId) {
        let target = &self.stripes.ops[op];
        let (stripe, rows) = (target.stripe, target.range());
        let mover = self.stripes.queues.relocating(stripe, rows.clone());
        self.stripes.queues.enter_reader(op, stripe, rows, false);
        if let Some(write) = mover {
            self.take_from_write(now, write, op);
        }
    }

    /// Records the new places of the chunks. An old place is free for another chunk as soon as its
    /// drive knows that it is unused.
    pub(super) fn end_moves(&mut self, now: Instant, op: OpId) {
        let target = &mut self.stripes.ops[op];
        let (stripe, row) = (target.stripe, target.first_row);
        let Work::Write(Write { writer, .. }) = &mut target.work else { return };
        for chunk in writer.take_moves() {
            let from = self.stripes.places.relocation.locate(
                &self.stripes.places.layout,
                stripe,
                row,
                chunk.member,
            );
            self.stripes.places.relocation.put(&self.stripes.places.layout, stripe, chunk);
            if self.stripes.places.availability.is_absent(from.drive) {
                // An absent drive needs no command.
                self.stripes.places.relocation.release(from);
            } else {
                self.change(now, op, chunk.member, Opcode::Deallocate, from, Why::Relocate);
            }
        }
    }

    /// Passes a command through the write cache before its drive gets it. Returns whether it needs
    /// no drive, or not now.
    pub(super) fn is_kept_by_cache(
        &mut self,
        now: Instant,
        id: CommandId,
        record: &CommandRecord,
    ) -> bool {
        let Purpose::Member { op, .. } = record.purpose else { return false };
        let work = &self.stripes.ops[op].work;
        let replaces = work.kind() == OperationKind::Deallocate || record.opcode == Opcode::Write;
        let requested_bytes = match *work {
            Work::Write(Write { request, .. }) => Some(self.requests.size_bytes(request)),
            // The cache does not survive a power failure.
            Work::Settle(_) => Some(u64::MAX),
            _ => None,
        };
        let Some(cache) = &mut self.sending.cache else { return false };
        let pass = cache.accept(now, id, record, requested_bytes, replaces);
        if pass == Pass::ToDrive {
            return false;
        }
        self.sending.out.emit_event(now, || Event::Cached { command: id });
        match pass {
            Pass::Read => self.sending.emit_cached_rows(id, record),
            Pass::Taken => {
                self.sending.write_cached(now, id);
                self.sending.drain_cache(now);
            }
            Pass::ToDrive | Pass::Waits => {}
        }
        true
    }

    /// Passes on the answers of the write cache, and drains it to the drives that may be drained.
    pub(super) fn handle_cache_deadline(&mut self, now: Instant) {
        while let Some((due, id, latency)) =
            self.sending.cache.as_mut().and_then(|cache| cache.pop_answer(now))
        {
            self.answer_from_cache(due, id, latency);
        }
        self.sending.drain_cache(now);
    }

    pub(super) fn answer_from_cache(&mut self, now: Instant, id: CommandId, latency: Duration) {
        let record = self.sending.commands.take(id);
        let status = Status::Success;
        self.sending.out.emit_event(now, || Event::Answered {
            command: id,
            drive: record.drive,
            status,
        });
        self.end_without_drive(now, id, &record, status, (Cause::Transfer, latency));
    }

    /// Ends a command that no drive answers; its `latency` counts as `cause`.
    fn end_without_drive(
        &mut self,
        now: Instant,
        id: CommandId,
        record: &CommandRecord,
        status: Status,
        (cause, latency): (Cause, Duration),
    ) {
        let Purpose::Member { op, member, .. } = record.purpose else { return };
        if record.opcode == Opcode::Write {
            return self.end_write_of_member(now, op, member);
        }
        let mut delays = Delays::ZERO;
        delays.add(cause, latency);
        let completion = Completion {
            id,
            status,
            busy_remaining: Duration::ZERO,
            met_collection: false,
            held_up: false,
            delays,
        };
        self.take_answer(now, record, &completion, status);
    }

    /// Drops what is cached for a drive that has failed; parity covers it. Ends writes that wait
    /// for room in the cache, or for a drain.
    pub(super) fn abandon_cache(&mut self, now: Instant, drive: DriveId) {
        let Some(cache) = &mut self.sending.cache else { return };
        let (left, over) = cache.abandon(drive);
        if !left.is_empty() {
            self.sending.out.emit_data(|| DataAction::Uncache { drive, pages: left });
        }
        for id in over {
            if let Purpose::Member { op, member, .. } = self.sending.commands.take(id).purpose {
                self.end_write_of_member(now, op, member);
            }
        }
        self.sending.make_room_in_cache(now);
    }

    /// Ends commands that wait at the host for a drive that has failed.
    pub(super) fn abandon_backlog(&mut self, now: Instant, drive: DriveId) {
        let Some(backlogs) = &mut self.sending.backlogs else { return };
        for id in backlogs.abandon(drive) {
            let record = self.sending.commands.take(id);
            let waited = (Cause::HeldBack, now.since(record.sent));
            self.end_without_drive(now, id, &record, Status::Unrecovered, waited);
        }
    }

    /// Sends all writes that wait at the host, whatever the load of their drives. Returns whether
    /// there are any.
    pub fn send_waiting_writes(&mut self, now: Instant) -> bool {
        self.sending.send_all_writes(now)
    }

    /// Ends a deallocation. Blocks that a relocated chunk has left become free for another.
    pub(super) fn end_deallocation(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        record: &CommandRecord,
        status: Status,
    ) {
        if self.stripes.ops[op].work.kind() == OperationKind::Deallocate {
            if status == Status::Unrecovered {
                // The other drives have zeros there: this drive does not match them any more.
                self.give_up(now, record.drive);
            }
            self.sending.end_bypass(now, record);
            self.end_write_of_member(now, op, member);
            return;
        }
        let writing = &mut self.stripes.ops[op].writing;
        assert!(writing.contains(member), "member {member} of {op:?} was not being changed");
        writing.remove(member);
        self.stripes.places.relocation.release(Place { drive: record.drive, block: record.lba });
        self.close_if_drained(now, op);
    }

    /// Ends a stripe operation, successful or not, for its request or its job.
    #[inline]
    pub(super) fn finish(&mut self, now: Instant, op: OpId, delays: &Delays) {
        if !self.stripes.ops[op].fetch.broken().is_empty() {
            self.jobs.note_broken(op, &self.stripes);
        }
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::Drain);
        let fetch = &target.fetch;
        let part = PartEnded {
            failed: target.failed,
            reconstructed: fetch.is_reconstructed() && !target.failed,
            blocked: fetch.blocked(),
        };
        let request = match target.work {
            Work::Repair(_) | Work::Check(_) | Work::Rewrite(_) | Work::Settle(_) => {
                let waiter = self.jobs.end(now, op, &mut self.stripes, &mut self.sending);
                if let Some(waiter) = waiter {
                    self.begin_again(now, waiter);
                }
                return self.close_if_drained(now, op);
            }
            Work::Read { request, .. } => {
                self.sending.counters.busy_sub_ios[fetch.busy_members() as usize] += 1;
                request
            }
            Work::Write(Write { request, .. }) | Work::Deallocate { request } => request,
        };
        self.sending.counters.reconstructions += u64::from(part.reconstructed);
        let hedge_reads = fetch.hedge_reads();
        if hedge_reads > 0 {
            self.sending.counters.hedges_won += u64::from(part.reconstructed);
            self.sending.rules.policy().hedge_ended(hedge_reads, part.reconstructed);
        }
        self.end_part(now, request, &part, delays);
        self.close_if_drained(now, op);
    }

    #[inline]
    pub(super) fn close_if_drained(&mut self, now: Instant, op: OpId) {
        if self.stripes.ops[op].has_nothing_out() {
            self.sending.out.emit_event(now, || Event::OperationClosed { op });
            self.sending.out.emit_data(|| DataAction::Close { op });
            self.stripes.ops.release(op);
        }
    }

    /// Begins repairs of rows, up to their maximum number.
    #[inline]
    pub(super) fn begin_repairs(&mut self, now: Instant) {
        if !self.jobs.no_repair_waits() {
            self.begin_more_repairs(now);
        }
    }

    #[cold]
    fn begin_more_repairs(&mut self, now: Instant) {
        while let Some(begun) = self.jobs.next_repair(&self.stripes) {
            self.begin(now, begun);
        }
    }

    /// Begins stripes of jobs, up to their maximum number.
    #[inline]
    pub(super) fn begin_stripes(&mut self, now: Instant) {
        if !self.jobs.is_empty() {
            self.begin_more_stripes(now);
        }
    }

    #[cold]
    fn begin_more_stripes(&mut self, now: Instant) {
        let Self { jobs, stripes, sending, .. } = self;
        let mut next = jobs.next_stripe(now, stripes, sending);
        while let Some(begun) = next {
            self.begin(now, begun);
            let Self { jobs, stripes, sending, .. } = self;
            next = jobs.next_stripe(now, stripes, sending);
        }
    }

    fn begin(&mut self, now: Instant, begun: Begun) {
        let Begun { segment, work, origin, has_turn } = begun;
        let op = self.insert_op(now, &segment, work, origin);
        match has_turn {
            true => self.take_turn(now, op),
            false => self.enter_writer(now, op),
        }
    }

    /// Has the rows of an operation repaired; then the operation begins again. It has changed
    /// nothing so far.
    fn wait_for_repair(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &mut self.stripes.ops[op];
        let stripe = target.stripe;
        target.enter(Phase::WaitRepair);
        target.fetch.park(now, passed);
        // A writer keeps its turn, so that those behind it stay behind it.
        let queues = &mut self.stripes.queues;
        if target.is_read() && queues.is_in(op) && queues.leave(op) {
            self.wake(now, stripe);
        }
        self.begin_again(now, op);
    }

    /// Resumes an operation that met media errors. Its outstanding reads end first, then its rows
    /// are repaired, then it begins again.
    pub(super) fn begin_again(&mut self, now: Instant, op: OpId) {
        let broken = self.stripes.broken(op);
        let target = &mut self.stripes.ops[op];
        let repairs = &mut self.jobs.repairs;
        let is_waiting = repairs.is_waiting(op);
        let is_reading = !target.fetch.outstanding().is_empty();
        if target.phase() != Phase::WaitRepair || is_reading || is_waiting {
            return;
        }
        let more = broken - target.awaited;
        if !more.is_empty() {
            target.awaited |= more;
            let waiter = Waiter { op, lends: !target.is_read() };
            return repairs.wait(waiter, target.stripe, target.range(), more);
        }
        let (mut passed, since) = target.fetch.unpark();
        passed.add(Cause::Rebuild, now.since(since));
        target.fetch = Fetch::new(self.stripes.queues.commits(target.stripe));
        match &mut target.work {
            Work::Read { touched, .. } => {
                let touched = *touched;
                return self.read_once_more(now, op, touched, &passed);
            }
            Work::Write(Write { writer, .. }) => writer.forget_plan(),
            _ => {}
        }
        self.take_turn(now, op);
    }
}
