//! Getting the members of a stripe that an operation wants: commands on their way out, answers on
//! their way in, and what [`Fetch`] decides in between.

use super::{Array, copies, judging, repairing, settling};
use crate::action::{Action, DataAction, OpId, Slot};
use crate::commands::{CommandRecord, Purpose, ReadFlag};
use crate::event::{Event, Origin, Why};
use crate::fetch::{Decision, Fetch, Kept, Resend};
use crate::layout::{Role, Segment};
use crate::members::MemberSet;
use crate::operation::{Operation, Phase, RequestSlot, Work};
use crate::parity;
use crate::policy::Attempt;
use crate::relocation::Place;
use crate::request::{Request, RequestKind};
use crate::stripe_queues::Access;
use crate::stripe_writer::StripeWriter;
use crate::timers::Computation;
use crate::trust::Advice;
use nvme::{Cause, Command, CommandId, Completion, Delays, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Observe};

/// A read of one member.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) member: u8,
    pub(super) pl: PlFlag,
    /// It serves only to reconstruct others.
    pub(super) for_others: bool,
    pub(super) round: u8,
    pub(super) why: Why,
}

impl Read {
    /// A read of the first round, of what is wanted.
    #[inline]
    pub(super) const fn wanted(member: u8, pl: PlFlag, why: Why) -> Self {
        Self { member, pl, for_others: false, round: 0, why }
    }
}

impl<O: Observe> Array<O> {
    /// Begins a part of a request.
    #[inline]
    pub(super) fn open(
        &mut self,
        now: Instant,
        slot: RequestSlot,
        request: &Request,
        segment: &Segment,
        partial: MemberSet,
    ) {
        let stripe = segment.stripe;
        let parity = match request.kind {
            RequestKind::Write => self.layout.parity_set(stripe),
            _ => MemberSet::EMPTY,
        };
        let touched = match request.kind {
            RequestKind::Read if self.layout.level().is_mirrored() => {
                copies::choose(self, now, segment)
            }
            RequestKind::Write if segment.chunks == self.layout.data_chunks() => {
                self.layout.member_set(stripe) - parity
            }
            _ => self.layout.data_set(stripe, segment.first_chunk, segment.chunks),
        };
        let work = match request.kind {
            RequestKind::Read => Work::Read { request: slot, touched },
            RequestKind::Write => {
                Work::Write { request: slot, writer: StripeWriter::new(touched, partial, parity) }
            }
            RequestKind::Deallocate => Work::Deallocate { request: slot },
        };
        let op = self.insert_op(now, segment, work, Origin::Request(request.id));
        if request.kind != RequestKind::Read {
            return self.enter_writer(now, op);
        }
        self.counters.stripe_reads += 1;
        if settling::must_wait(self, op) {
            return settling::wait(self, now, op);
        }
        if self.relocation.can_move() {
            self.watch_for_moves(now, op);
        }
        self.fetch(now, op, touched);
    }

    #[inline]
    pub(super) fn insert_op(
        &mut self,
        now: Instant,
        segment: &Segment,
        work: Work,
        origin: Origin,
    ) -> OpId {
        let Segment { stripe, first_row, rows, .. } = *segment;
        let kind = work.kind();
        let op = Operation {
            serial: self.ops.next_serial(),
            stripe,
            first_row,
            rows,
            phase: Phase::Fetch,
            failed: false,
            awaited: MemberSet::EMPTY,
            writing: MemberSet::EMPTY,
            fetch: Fetch::new(self.stripes.commits(stripe)),
            work,
        };
        let op = self.ops.insert(op);
        self.out.emit_event(now, || Event::OperationOpened {
            op,
            origin,
            kind,
            stripe,
            first_row,
            rows,
        });
        self.out.emit_data(|| {
            let request = match origin {
                Origin::Request(request) => Some(request),
                Origin::Job(_) | Origin::ReadRepair => None,
            };
            DataAction::Open { op, request, rows }
        });
        op
    }

    pub(super) fn unreadable(&self, stripe: u64) -> MemberSet {
        self.availability.unreadable(&self.layout, &self.relocation, stripe)
    }

    pub(super) fn unwritable(&self, stripe: u64) -> MemberSet {
        self.availability.unwritable(&self.layout, &self.relocation, stripe)
    }

    pub(super) fn is_beyond_repair(&self, stripe: u64) -> bool {
        self.availability.is_beyond_repair(&self.layout, &self.relocation, stripe)
    }

    /// Begins to get the `wanted` members of an operation.
    #[inline]
    pub(super) fn fetch(&mut self, now: Instant, op: OpId, wanted: MemberSet) {
        let target = &mut self.ops[op];
        target.phase = Phase::Fetch;
        target.fetch.begin(wanted);
        // A read may have taken everything from a write that moves it.
        let unknown = target.fetch.unknown();
        if unknown.is_empty() {
            return self.end_fetch(now, op, &Delays::ZERO);
        }
        let why = match &target.work {
            Work::Read { .. } => Why::Wanted,
            _ => Why::Parity,
        };
        let is_plain = self.availability.is_optimal()
            && !self.rules.chooses_reads()
            && self.cache.is_none()
            && !self.relocation.can_move();
        if !is_plain {
            return self.fetch_by_policy(now, op, unknown, why);
        }
        for member in unknown {
            self.read(now, op, Read::wanted(member, PlFlag::Off, why));
        }
    }

    pub(super) fn fetch_by_policy(&mut self, now: Instant, op: OpId, unknown: MemberSet, why: Why) {
        let stripe = self.ops[op].stripe;
        let unreadable = self.note_unreadable(op);
        let parities = self.layout.parities();
        if unreadable.meets(unknown) && unreadable.len() > parities {
            return self.fail(now, op, &Delays::ZERO);
        }
        let spare_reads = self.rules.spare_reads();
        if spare_reads > 0 && unreadable.is_empty() && self.begin_race(now, op, spare_reads) {
            return;
        }
        judging::shun_distrusted(self, op);
        let (mut avoided, mut doubted) = (unreadable, MemberSet::EMPTY);
        let target = &self.ops[op];
        let (row, rows) = (target.first_row, target.rows);
        if let Work::Write { writer, .. } = &target.work {
            avoided |= writer.relocated() & unknown;
        }
        let drives = self.stripe_drives(stripe);
        for member in unknown - avoided {
            let Place { drive, block } = self.relocation.locate(&self.layout, stripe, row, member);
            let view = self.permits.view(&self.commands, drives);
            let out = view.queues.of(drive).read_blocks;
            let mut is_probe = false;
            let attempt = match &self.cache {
                Some(cache) if cache.holds(drive, block, rows) => Attempt::Send(PlFlag::Off),
                _ if self.rules.sends_at_once(why) => Attempt::Send(PlFlag::Off),
                _ => match self.rules.advice(now, drive, out) {
                    Advice::Read => self.rules.first_attempt(now, drive, block, &view),
                    Advice::Avoid => Attempt::Avoid,
                    Advice::Probe => {
                        is_probe = true;
                        Attempt::Avoid
                    }
                },
            };
            let pl = match attempt {
                // Of more drives than there are parities, some must be read whatever they do.
                Attempt::Avoid if avoided.len() < parities => {
                    avoided.insert(member);
                    if is_probe {
                        // Nobody waits for it.
                        self.read(now, op, Read::wanted(member, PlFlag::Predictable, Why::Hedge));
                    }
                    continue;
                }
                Attempt::Send(pl) => pl,
                Attempt::Avoid => PlFlag::Off,
                Attempt::SendAndReconstruct => {
                    doubted.insert(member);
                    PlFlag::Off
                }
            };
            self.read(now, op, Read::wanted(member, pl, why));
        }
        if !avoided.is_empty() {
            let members = avoided - unreadable;
            self.counters.avoided += u64::from(members.len());
            if !members.is_empty() {
                self.out.emit_event(now, || Event::Avoided { op, members });
            }
            self.ops[op].fetch.avoid(avoided);
            self.advance(now, op, &Delays::ZERO);
        }
        if !doubted.is_empty()
            && self.ops[op].fetch.to_reconstruct().is_empty()
            && self.can_reconstruct_beside(op, doubted)
        {
            self.reconstruct_beside(now, op, doubted, &Delays::ZERO);
        }
        if parities > 0
            && let Some(after) = self.rules.hedge_after(now)
        {
            self.timers.late_from(now + after, self.ops[op].serial, op);
        }
    }

    /// Asks so many members of the stripe more than suffice, if it stands still. A write in flight
    /// is not raced against: its rows are read as they are, like by any other policy. Returns
    /// whether the race has begun.
    pub(super) fn begin_race(&mut self, now: Instant, op: OpId, spare_reads: u32) -> bool {
        let target = &self.ops[op];
        let parities = self.layout.parities();
        if !target.is_read() || parities == 0 || self.access(op) != Access::Free {
            return false;
        }
        let shape = target.shape(&self.layout);
        let wanted = target.fetch.wanted();
        self.settle(op);
        self.compute_with(op);
        self.ops[op].fetch.begin_race();
        // All data first: it takes one parity less to compute with.
        let others = (shape.data - wanted).iter().chain(shape.parity - wanted);
        let enough = self.layout.data_chunks().saturating_add(spare_reads);
        let more = enough.saturating_sub(wanted.len()) as usize;
        let asked = wanted | others.take(more).collect();
        for member in asked {
            let for_others = !wanted.contains(member);
            let why = if for_others { Why::Hedge } else { Why::Wanted };
            self.read(now, op, Read { member, pl: PlFlag::Off, for_others, round: 0, why });
        }
        true
    }

    /// Sends a read of all rows of `op` to one of its members.
    #[inline]
    pub(super) fn read(&mut self, now: Instant, op: OpId, read: Read) {
        let Read { member, pl, for_others, round, why } = read;
        let target = &mut self.ops[op];
        target.fetch.read_sent(member);
        let (stripe, row, blocks) = (target.stripe, target.first_row, target.rows);
        let Place { drive, block: lba } = self.relocation.locate(&self.layout, stripe, row, member);
        let purpose = Purpose::Member { op, member, round, for_others };
        let opcode = Opcode::Read;
        let (sent, flag) = (now, ReadFlag::NONE);
        let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
        self.dispatch(&record, pl, why);
    }

    /// Sends a write or a deallocation of all rows of `op`, of one of its members, to `place`.
    #[inline]
    pub(super) fn change(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        opcode: Opcode,
        place: Place,
        why: Why,
    ) {
        let target = &mut self.ops[op];
        debug_assert!(!target.writing.contains(member), "one write of a member at a time");
        target.writing.insert(member);
        let (drive, lba, blocks) = (place.drive, place.block, target.rows);
        let purpose = Purpose::Member { op, member, round: 0, for_others: false };
        let (sent, flag) = (now, ReadFlag::NONE);
        let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
        self.dispatch(&record, PlFlag::Off, why);
    }

    /// The one point at which commands leave the stripe operations. Part of its callers, so that a
    /// record is made where it is kept: a tenth of what a command costs the array.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, record: &CommandRecord, pl: PlFlag, why: Why) {
        let (now, id) = (record.sent, self.commands.insert(*record));
        self.tell_dispatched(now, id, record, pl, why);
        if self.cache.is_some() && self.is_kept_by_cache(now, id, record) {
            return;
        }
        if let Purpose::Member { for_others: true, .. } = record.purpose {
            self.counters.reconstruct_read_pages += u64::from(record.blocks);
        }
        self.send(now, id, record, pl);
    }

    #[inline]
    pub(super) fn tell_dispatched(
        &mut self,
        now: Instant,
        command: CommandId,
        record: &CommandRecord,
        pl: PlFlag,
        why: Why,
    ) {
        let CommandRecord { purpose, drive, opcode, lba, blocks, .. } = *record;
        self.out.emit_event(now, || {
            let target = match purpose {
                Purpose::Member { op, member, .. } => Some((op, member)),
                Purpose::Drain => None,
            };
            Event::Dispatched { command, target, drive, opcode, lba, blocks, pl, why }
        });
    }

    /// Sends a command to its drive.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Instant, id: CommandId, record: &CommandRecord, pl: PlFlag) {
        let CommandRecord { purpose, drive, opcode, lba, blocks, .. } = *record;
        match opcode {
            Opcode::Read => self.counters.drive_read_pages += u64::from(blocks),
            Opcode::Write => self.counters.drive_written_pages += u64::from(blocks),
            Opcode::Deallocate => {}
        }
        if let Some(trust) = self.rules.trust_mut().filter(|_| opcode == Opcode::Read) {
            let flag = self.commands.note_flag(id, pl);
            trust.sent(now, drive, flag, blocks);
        }
        self.commands.sent_to_drive(record);
        if opcode != Opcode::Deallocate {
            self.rules.sent(now, || record.as_sent());
        }
        let command = Command { id, opcode, lba, blocks, pl };
        match purpose {
            Purpose::Member { op, member, .. } => self.out.submit(drive, command, op, member),
            Purpose::Drain => self.out.emit(Action::SubmitCached { drive, command }),
        }
        if opcode == Opcode::Read && self.cache.is_some() {
            self.emit_cached_rows(id, record);
        }
    }

    /// Goes on with the stripe operation whose read was answered, by its drive or the write cache.
    #[inline]
    pub(super) fn take_answer(
        &mut self,
        now: Instant,
        record: &CommandRecord,
        completion: &Completion,
        status: Status,
    ) {
        let Purpose::Member { op, member, round, for_others } = record.purpose else { return };
        let target = &mut self.ops[op];
        target.fetch.read_ended(member, completion.met_collection);
        self.counters.fail_fasts += u64::from(status == Status::FailedFast);
        match target.phase {
            Phase::Fetch | Phase::WaitWrite => {}
            Phase::Drain => return self.close_if_drained(now, op),
            Phase::WaitRepair => {
                if status == Status::Unrecovered {
                    target.fetch.note_broken(member);
                }
                return repairing::begin_again(self, now, op);
            }
            // The pages were reconstructed before this answer came; nobody needs it any more.
            _ => return,
        }
        let spent;
        let passed = if round == 0 && !for_others {
            &completion.delays
        } else {
            let own = match for_others {
                true => completion.delays.with_service_as(Cause::Rebuild),
                false => completion.delays,
            };
            let before = target.fetch.passed_before(round).copied().unwrap_or(Delays::ZERO);
            spent = before.then(&own);
            &spent
        };
        let (drive, busy_remaining) = (record.drive, completion.busy_remaining);
        match status {
            Status::Success => {
                let fetch = &mut self.ops[op].fetch;
                let kept = fetch.read_succeeded(member, completion.blocked());
                if kept == Kept::Outdated {
                    return self.read_again(now, op, member, drive, passed);
                }
                if kept == Kept::New {
                    let command = completion.id;
                    self.out.emit_data(|| DataAction::Keep { op, command, member });
                }
                self.advance(now, op, passed);
            }
            Status::FailedFast => {
                let command = completion.id;
                self.out.emit_event(now, || Event::FailedFast {
                    command,
                    op,
                    member,
                    busy_remaining,
                });
                self.read_failed(now, op, member, drive, Some(busy_remaining), passed);
            }
            Status::Unrecovered => self.read_failed(now, op, member, drive, None, passed),
        }
    }

    /// Goes on with a fetch after something has happened to it; `passed` is where the time went
    /// until now.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &self.ops[op];
        if target.phase != Phase::Fetch || !target.fetch.is_plain() {
            self.decide(now, op, passed);
        } else if target.fetch.unknown().is_empty() {
            self.end_fetch(now, op, passed);
        }
    }

    /// Does what the fetch decides, until it has to wait.
    pub(super) fn decide(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let shape = self.ops[op].shape(&self.layout);
        loop {
            let target = &mut self.ops[op];
            let goes_on = target.phase == Phase::Fetch;
            let decision = target.fetch.decide(&shape, goes_on);
            match decision {
                Decision::Settle => {
                    if !self.settle_stripe(now, op, passed) {
                        return;
                    }
                }
                Decision::Read(survivors) => {
                    self.read_survivors(now, op, survivors, passed);
                    self.ops[op].fetch.reviewed(&shape, goes_on);
                }
                Decision::Resend(resend) => self.resend(now, op, resend, passed),
                Decision::Fail => return self.fail(now, op, passed),
                Decision::Done | Decision::Wait | Decision::Reconstruct => {
                    target.fetch.reviewed(&shape, goes_on);
                    return match decision {
                        Decision::Done => self.end_fetch(now, op, passed),
                        Decision::Reconstruct => self.reconstruct(now, op, passed),
                        _ => {}
                    };
                }
            }
        }
    }

    /// A read was failed fast, or could not be done: the member is missing.
    #[cold]
    pub(super) fn read_failed(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        drive: DriveId,
        busy_remaining: Option<Duration>,
        passed: &Delays,
    ) {
        self.counters.unrecovered_reads += u64::from(busy_remaining.is_none());
        if self.ops[op].fetch.read_failed(member, drive, busy_remaining) {
            self.go_on_without(now, op, passed);
        }
    }

    /// Decides again after a member of the stripe was lost to an operation.
    pub(super) fn go_on_without(&mut self, now: Instant, op: OpId, passed: &Delays) {
        self.note_unreadable(op);
        self.ops[op].fetch.count_unreadable();
        self.decide(now, op, passed);
    }

    /// What a read brought may be older than the rest: reads the member again, if it can be.
    #[cold]
    pub(super) fn read_again(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        drive: DriveId,
        passed: &Delays,
    ) {
        if self.note_unreadable(op).contains(member) {
            return self.read_failed(now, op, member, drive, None, passed);
        }
        let pl = self.rules.view().reconstruct_flag();
        let round = self.ops[op].fetch.new_round(passed);
        let why = Why::Reconstruct;
        self.read(now, op, Read { member, pl, for_others: true, round, why });
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

    pub(super) fn resend(&mut self, now: Instant, op: OpId, resend: Resend, passed: &Delays) {
        let shunned = judging::fastest_shunned(self, op);
        let fetch = &mut self.ops[op].fetch;
        let member = match resend {
            Resend::OneOfTheFailed => {
                let least = fetch.failures()[self.rules.view().wait_for(fetch.failures())];
                let wait = least.busy_remaining;
                match shunned.filter(|&(_, expected)| expected < wait) {
                    Some((member, _)) if fetch.outstanding().contains(member) => {
                        // It is being probed.
                        return fetch.resent(member);
                    }
                    Some((member, _)) => member,
                    None => fetch.take_failure(least),
                }
            }
            Resend::Avoided(member) => member,
        };
        fetch.resent(member);
        let round = fetch.new_round(passed);
        self.counters.resubmitted += 1;
        self.permits.note_too_many_busy();
        self.out.emit_event(now, || Event::Resent { op, member });
        let (pl, why) = (PlFlag::Off, Why::Wanted);
        self.read(now, op, Read { member, pl, for_others: false, round, why });
    }

    /// How a reconstruction may go on. Writers have the stripe to themselves already.
    pub(super) fn access(&self, op: OpId) -> Access {
        let target = &self.ops[op];
        if !target.is_read() {
            return Access::Free;
        }
        self.stripes.access(target.stripe, target.range())
    }

    /// From here on the stripe stands still for a read.
    pub(super) fn settle(&mut self, op: OpId) {
        let commits = self.stripes.commits(self.ops[op].stripe);
        let target = &mut self.ops[op];
        if target.is_read() && target.fetch.settle(commits) {
            self.stripes.share(op, None);
        }
    }

    /// A read computes with members of the stripe from now on.
    pub(super) fn compute_with(&mut self, op: OpId) {
        let target = &self.ops[op];
        if target.is_read() {
            self.stripes.enter_reader(op, target.stripe, target.range(), true);
        }
    }

    /// Makes the stripe stand still for an operation that computes with it. Returns false if it has
    /// to wait for a write.
    pub(super) fn settle_stripe(&mut self, now: Instant, op: OpId, passed: &Delays) -> bool {
        let access = self.access(op);
        if let Access::Wait(write) = access {
            self.wait_for_write(now, op, write, passed);
            return false;
        }
        self.settle(op);
        self.compute_with(op);
        if let Access::Share(write) = access {
            self.take_from_write(now, write, op);
        }
        let is_intact = self.availability.is_optimal();
        let target = &mut self.ops[op];
        target.fetch.settled(is_intact);
        if !is_intact || !target.fetch.unreadable().is_empty() {
            self.note_unreadable(op);
            self.ops[op].fetch.count_unreadable();
        }
        true
    }

    /// A read cannot compute with the stripe before a write has left it.
    pub(super) fn wait_for_write(&mut self, now: Instant, op: OpId, write: OpId, passed: &Delays) {
        self.counters.lock_waits += 1;
        let target = &mut self.ops[op];
        target.fetch.park(now, passed);
        target.phase = Phase::WaitWrite;
        let (stripe, rows) = (target.stripe, target.range());
        let was_in = self.stripes.is_in(op);
        self.stripes.wait_for_write(op, stripe, rows, write);
        self.out.emit_event(now, || Event::LockWaited { op, behind: Some(write) });
        if was_in {
            // The write may be waiting for this very read.
            self.wake(now, stripe);
        }
    }

    /// The write that a read waited for has left. Another may be in its way.
    pub(super) fn retry(&mut self, now: Instant, op: OpId) {
        let target = &mut self.ops[op];
        let (stripe, rows) = (target.stripe, target.range());
        if let Access::Wait(write) = self.stripes.access(stripe, rows.clone()) {
            return self.stripes.wait_for_write(op, stripe, rows, write);
        }
        self.stripes.read_on(op);
        target.phase = Phase::Fetch;
        let (mut passed, since) = target.fetch.unpark();
        passed.add(Cause::StripeLock, now.since(since));
        self.out.emit_event(now, || Event::LockObtained { op });
        self.advance(now, op, &passed);
    }

    /// Takes what a write holds in memory as if it had been read.
    pub(super) fn take_from_write(&mut self, now: Instant, write: OpId, op: OpId) {
        let Work::Write { writer, .. } = &self.ops[write].work else { return };
        let (members, outdated) = (writer.in_memory(), writer.outdated_parity());
        let target = &mut self.ops[op];
        target.fetch.take_from_write(members, outdated);
        let first_row = target.first_row - self.stripes.first_row(write);
        self.stripes.share(op, Some(write));
        self.counters.shared_with_write += 1;
        self.out.emit_event(now, || Event::SharedWithWrite { op, write, members });
        for member in members {
            self.out.emit_data(|| DataAction::Share { from: write, to: op, member, first_row });
        }
    }

    /// Sends the reads that a reconstruction needs.
    pub(super) fn read_survivors(
        &mut self,
        now: Instant,
        op: OpId,
        survivors: MemberSet,
        passed: &Delays,
    ) {
        let fetch = &mut self.ops[op].fetch;
        let (members, races) = (fetch.to_reconstruct(), fetch.races());
        let round = fetch.new_round(passed);
        self.out.emit_event(now, || Event::ReconstructBegun { op, members, from: survivors });
        let (pl, why) = match self.ops[op].work {
            Work::Repair { .. } | Work::Rewrite { .. } | Work::Settle { .. } => {
                (PlFlag::Off, Why::Job)
            }
            _ if races => (self.rules.view().reconstruct_flag(), Why::Hedge),
            _ => (self.rules.view().reconstruct_flag(), Why::Reconstruct),
        };
        for member in survivors {
            self.read(now, op, Read { member, pl, for_others: true, round, why });
        }
    }

    /// All that the missing members are computed from is known.
    pub(super) fn reconstruct(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &mut self.ops[op];
        target.phase = Phase::Compute;
        target.fetch.reconstruct();
        let (members, from) = (target.fetch.to_reconstruct(), target.fetch.known());
        let stripe = target.stripe;
        let new = target.is_repair();
        // A copy is taken as it is; only parity has to be added up.
        let compute = match self.layout.level().is_mirrored() {
            true => Duration::ZERO,
            false => self.constants.reconstruct_time,
        };
        let mut passed = *passed;
        passed.add(Cause::Rebuild, compute);
        self.out.emit_event(now, || Event::Reconstructed { op, members, from });
        if self.out.has_data_actions() {
            for (member, terms) in parity::reconstruct(&self.layout, stripe, members, from) {
                let target = Slot { new, member };
                self.out.emit_data(|| DataAction::Combine { op, target, terms });
            }
        }
        self.timers.compute(Computation { due: now + compute, op, passed });
    }

    /// An operation is late, unless it has ended: reconstructs what is missing if that can be done
    /// and the policy lets it.
    pub(super) fn hedge(&mut self, now: Instant, op: OpId, serial: u64) {
        let target = &self.ops[op];
        let (fetch, late) = (&target.fetch, target.fetch.unknown());
        if target.serial != serial || target.phase != Phase::Fetch || late.is_empty() {
            return;
        }
        // What is being reconstructed already needs no hedge.
        if fetch.races() || !fetch.to_reconstruct().is_empty() {
            return;
        }
        let reads = fetch.reads_to_hedge(&target.shape(&self.layout), late);
        let drives = self.stripe_drives(target.stripe);
        let can = self.can_reconstruct_beside(op, late);
        let view = self.permits.view(&self.commands, drives);
        if !can || !self.rules.policy().may_hedge(now, late.bits(), reads, &view) {
            self.counters.hedges_denied += 1;
            self.out.emit_event(now, || Event::HedgeDenied { op, late });
            return;
        }
        self.counters.hedges += 1;
        self.out.emit_event(now, || Event::HedgeFired { op, late, reads });
        let target = &mut self.ops[op];
        target.fetch.note_hedge(reads);
        let mut passed = Delays::ZERO;
        if let Work::Read { request, .. } | Work::Write { request, .. } = target.work {
            passed.add(Cause::LateAnswer, now.since(self.requests.admitted(request)));
        }
        self.reconstruct_beside(now, op, late, &passed);
    }

    /// Whether the `late` members may be reconstructed while they are still awaited.
    pub(super) fn can_reconstruct_beside(&self, op: OpId, late: MemberSet) -> bool {
        let target = &self.ops[op];
        // Parity needs members of one moment. What a read knows from before a write is good enough
        // for the host, but not to compute with; reading it again would cost more than the wait is
        // worth.
        let moved = target.is_read()
            && target.fetch.commits() != self.stripes.commits(target.stripe)
            && (!target.fetch.coming_without(late).is_empty() || late.len() > 1);
        late.len() <= self.layout.parities()
            && !moved
            && target.fetch.unreadable().is_empty()
            && self.unreadable(target.stripe).is_empty()
            && self.access(op) == Access::Free
    }

    /// Reads what the `late` members can be computed from, and goes on with what comes first.
    pub(super) fn reconstruct_beside(
        &mut self,
        now: Instant,
        op: OpId,
        late: MemberSet,
        passed: &Delays,
    ) {
        let commits = self.stripes.commits(self.ops[op].stripe);
        self.ops[op].fetch.reconstruct_late(late, commits);
        self.compute_with(op);
        // Nothing to read if everything else is known already.
        self.decide(now, op, passed);
    }

    /// Everything wanted is known.
    #[inline]
    pub(super) fn end_fetch(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let Work::Read { touched, .. } = self.ops[op].work else {
            return self.go_on_changing(now, op);
        };
        if self.out.has_data_actions() {
            for member in touched {
                let first_page = self.first_page(op, member);
                self.out.emit_data(|| DataAction::Deliver { op, member, first_page });
            }
        }
        self.leave_and_finish(now, op, passed);
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
}
