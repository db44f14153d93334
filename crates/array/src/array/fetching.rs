//! Fetching the members of a stripe that an operation wants: commands sent, answers received, and
//! the decisions of [`Fetch`] in between.

use super::Array;
use super::kinds::{Input, Write};
use super::sending::Sending;
use crate::action::{DataAction, OpId, Slot};
use crate::backlog::Backlogs;
use crate::commands::{CommandRecord, Purpose, ReadFlag};
use crate::event::{Event, Origin, Why};
use crate::fetch::{Decision, Fetch, Kept, Resend};
use crate::layout::Segment;
use crate::members::MemberSet;
use crate::operation::{Operation, Phase, Work};
use crate::parity;
use crate::policy::Attempt;
use crate::relocation::Place;
use crate::request::{Request, RequestKind};
use crate::requests::RequestSlot;
use crate::stripe_queues::Access;
use crate::stripe_writer::StripeWriter;
use crate::timers::Computation;
use crate::trust::{Advice, Trust};
use nvme::{Cause, Completion, Delays, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Observe};

/// A read of one member.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) member: u8,
    pub(super) pl: PlFlag,
    /// Whether it serves only to reconstruct others.
    pub(super) for_others: bool,
    pub(super) round: u8,
    pub(super) why: Why,
}

impl Read {
    /// A read of a wanted member, in the first round.
    #[inline]
    pub(super) const fn wanted(member: u8, pl: PlFlag, why: Why) -> Self {
        Self { member, pl, for_others: false, round: 0, why }
    }
}

impl<O: Observe> Array<O> {
    /// Begins the part of a request in `segment`.
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
            RequestKind::Write => self.stripes.places.layout.parity_set(stripe),
            _ => MemberSet::EMPTY,
        };
        let touched = match request.kind {
            RequestKind::Read if self.stripes.places.layout.level().is_mirrored() => {
                self.choose_copy(now, segment)
            }
            RequestKind::Write if segment.chunks == self.stripes.places.layout.data_chunks() => {
                self.stripes.places.layout.member_set(stripe) - parity
            }
            _ => self.stripes.places.layout.data_set(stripe, segment.first_chunk, segment.chunks),
        };
        let work = match request.kind {
            RequestKind::Read => Work::Read { request: slot, touched },
            RequestKind::Write => {
                let writer = StripeWriter::new(touched, partial, parity);
                Work::Write(Write { request: slot, writer })
            }
            RequestKind::Deallocate => Work::Deallocate { request: slot },
        };
        let op = self.insert_op(now, segment, work, Origin::Request(request.id));
        if request.kind != RequestKind::Read {
            return self.enter_writer(now, op);
        }
        self.sending.counters.stripe_reads += 1;
        self.go_on(now, op, Input::Turn, &Delays::ZERO);
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
        let serial = self.stripes.ops.next_serial();
        let fetch = Fetch::new(self.stripes.queues.commits(stripe));
        let op = self.stripes.ops.insert(Operation::new(serial, segment, fetch, work));
        self.sending.out.emit_event(now, || Event::OperationOpened {
            op,
            origin,
            kind,
            stripe,
            first_row,
            rows,
        });
        self.sending.out.emit_data(|| {
            let request = match origin {
                Origin::Request(request) => Some(request),
                Origin::Job(_) | Origin::ReadRepair => None,
            };
            DataAction::Open { op, request, rows }
        });
        op
    }

    /// Begins to get the `wanted` members of an operation.
    #[inline]
    pub(super) fn fetch(&mut self, now: Instant, op: OpId, wanted: MemberSet) {
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::Fetch);
        target.fetch.begin(wanted);
        // A read may have taken all members from a write that relocates them.
        let unknown = target.fetch.unknown();
        if unknown.is_empty() {
            return self.go_on(now, op, Input::Known, &Delays::ZERO);
        }
        let why = match &target.work {
            Work::Read { .. } => Why::Wanted,
            _ => Why::Parity,
        };
        let is_plain = self.stripes.places.availability.is_optimal()
            && !self.sending.rules.chooses_reads()
            && self.sending.cache.is_none()
            && !self.stripes.places.relocation.can_move();
        if !is_plain {
            return self.fetch_by_policy(now, op, unknown, why);
        }
        for member in unknown {
            self.read(now, op, Read::wanted(member, PlFlag::Off, why));
        }
    }

    pub(super) fn fetch_by_policy(&mut self, now: Instant, op: OpId, unknown: MemberSet, why: Why) {
        let stripe = self.stripes.ops[op].stripe;
        let unreadable = self.stripes.note_unreadable(op);
        let parities = self.stripes.places.layout.parities();
        if unreadable.meets(unknown) && unreadable.len() > parities {
            return self.fail(now, op, &Delays::ZERO);
        }
        let spare_reads = self.sending.rules.spare_reads();
        if spare_reads > 0 && unreadable.is_empty() && self.begin_race(now, op, spare_reads) {
            return;
        }
        self.shun_distrusted(op);
        if unreadable.is_empty() && self.race_around_shunned(now, op) {
            return;
        }
        let (mut avoided, mut doubted) = (unreadable, MemberSet::EMPTY);
        let mut late = MemberSet::EMPTY;
        let target = &self.stripes.ops[op];
        let (row, rows) = (target.first_row, target.rows);
        if let Work::Write(Write { writer, .. }) = &target.work {
            avoided |= writer.relocated() & unknown;
        }
        let drives = self.stripes.places.drives(stripe);
        for member in unknown - avoided {
            let Place { drive, block } = self.stripes.places.relocation.locate(
                &self.stripes.places.layout,
                stripe,
                row,
                member,
            );
            let view = self.sending.permits.view(&self.sending.commands, drives);
            let out = view.queues.of(drive).read_blocks;
            let mut advice = Advice::Read;
            let attempt = match &self.sending.cache {
                Some(cache) if cache.holds(drive, block, rows) => Attempt::Send(PlFlag::Off),
                _ if self.sending.rules.sends_at_once(why) => Attempt::Send(PlFlag::Off),
                _ => {
                    advice = self.sending.rules.advice(now, drive, out);
                    match advice {
                        Advice::Read => self.sending.rules.first_attempt(now, drive, block, &view),
                        Advice::Avoid | Advice::Probe => Attempt::Avoid,
                    }
                }
            };
            let pl = match attempt {
                // With more members to avoid than there are parities, some must be read anyway.
                Attempt::Avoid if avoided.len() < parities => {
                    avoided.insert(member);
                    if advice != Advice::Read {
                        late.insert(member);
                    }
                    if advice == Advice::Probe {
                        self.probe(now, op, member);
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
            self.sending.counters.avoided += u64::from(members.len());
            if !members.is_empty() {
                self.sending.out.emit_event(now, || Event::Avoided { op, members, late });
            }
            self.stripes.ops[op].fetch.avoid(avoided);
            self.advance(now, op, &Delays::ZERO);
        }
        if !doubted.is_empty()
            && self.stripes.ops[op].fetch.to_reconstruct().is_empty()
            && self.stripes.can_reconstruct_beside(op, doubted)
        {
            self.reconstruct_beside(now, op, doubted, &Delays::ZERO);
        }
        if parities > 0
            && let Some(after) = self.sending.rules.hedge_after(now, || {
                let target = &self.stripes.ops[op];
                let shape = target.shape(&self.stripes.places.layout);
                let waiting = Backlogs::writes_waiting_blocks(self.sending.backlogs.as_deref());
                target.fetch.awaited(&shape, target.is_read(), Duration::ZERO, waiting)
            })
        {
            self.sending.timers.late_from(now + after, self.stripes.ops[op].serial, op);
        }
    }

    /// Begins a race: reads `spare_reads` members of the stripe more than suffice. With a write in
    /// flight there is no race: rows are read as they are, as by any other policy. Returns whether
    /// the race has begun.
    pub(super) fn begin_race(&mut self, now: Instant, op: OpId, spare_reads: u32) -> bool {
        let target = &self.stripes.ops[op];
        let parities = self.stripes.places.layout.parities();
        if !target.is_read() || parities == 0 || self.stripes.access(op) != Access::Free {
            return false;
        }
        let shape = target.shape(&self.stripes.places.layout);
        let (wanted, shunned) = (target.fetch.wanted(), target.fetch.shunned());
        self.stripes.settle(op);
        self.stripes.compute_with(op);
        self.stripes.ops[op].fetch.begin_race();
        let asked = wanted - shunned;
        // All data first: one parity less is then needed to compute.
        let others = (shape.data - wanted - shunned).iter().chain(shape.parity - wanted - shunned);
        let enough = self.stripes.places.layout.data_chunks().saturating_add(spare_reads);
        let more = enough.saturating_sub(asked.len()) as usize;
        let asked = asked | others.take(more).collect();
        for member in asked {
            let for_others = !wanted.contains(member);
            let why = if for_others { Why::Hedge } else { Why::Wanted };
            self.read(now, op, Read { member, pl: PlFlag::Off, for_others, round: 0, why });
        }
        true
    }

    /// Reads one member more than suffices, if wanted members are on distrusted drives and the
    /// policy pays for it. Returns whether it does.
    fn race_around_shunned(&mut self, now: Instant, op: OpId) -> bool {
        let target = &self.stripes.ops[op];
        let (wanted, shunned) = (target.fetch.wanted(), target.fetch.shunned());
        let around = wanted & shunned;
        if around.is_empty()
            || !target.is_read()
            || shunned.len() >= self.stripes.places.layout.parities()
            || self.stripes.access(op) != Access::Free
            || !self.sending.rules.policy().asks_more_around()
            || !self.begin_race(now, op, 1)
        {
            return false;
        }
        self.sending.counters.avoided += u64::from(around.len());
        self.sending.out.emit_event(now, || Event::Avoided { op, members: around, late: around });
        let drives = self.stripes.places.drives(self.stripes.ops[op].stripe);
        for member in around {
            let drive = self.stripes.place(op, member).drive;
            let view = self.sending.permits.view(&self.sending.commands, drives);
            let out = view.queues.of(drive).read_blocks;
            if self.sending.rules.advice(now, drive, out) == Advice::Probe {
                self.probe(now, op, member);
            }
        }
        true
    }

    /// Reads a member on a distrusted drive to measure the latency; no request waits for it.
    fn probe(&mut self, now: Instant, op: OpId, member: u8) {
        let flag = self.sending.rules.trust().map_or(PlFlag::Off, Trust::probe_flag);
        self.read(now, op, Read::wanted(member, flag, Why::Hedge));
    }

    /// Sends a read of all rows of `op` to one of its members.
    #[inline]
    pub(super) fn read(&mut self, now: Instant, op: OpId, read: Read) {
        let Read { member, pl, for_others, round, why } = read;
        let target = &mut self.stripes.ops[op];
        target.fetch.read_sent(member);
        let (stripe, row, blocks) = (target.stripe, target.first_row, target.rows);
        let Place { drive, block: lba } =
            self.stripes.places.relocation.locate(&self.stripes.places.layout, stripe, row, member);
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
        let target = &mut self.stripes.ops[op];
        assert!(!target.writing.contains(member), "{op:?} changes member {member} twice at a time");
        target.writing.insert(member);
        let (drive, lba, blocks) = (place.drive, place.block, target.rows);
        let purpose = Purpose::Member { op, member, round: 0, for_others: false };
        let (sent, flag) = (now, ReadFlag::NONE);
        let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
        self.dispatch(&record, PlFlag::Off, why);
    }

    /// The only point at which commands leave the stripe operations. Inlined, so that a record is
    /// made where it is kept: that saves a tenth of the array's cost of a command.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, record: &CommandRecord, pl: PlFlag, why: Why) {
        let (now, id) = (record.sent, self.sending.commands.insert(*record));
        self.sending.tell_dispatched(now, id, record, pl, why);
        if self.sending.cache.is_some() && self.is_kept_by_cache(now, id, record) {
            return;
        }
        if let Purpose::Member { for_others: true, .. } = record.purpose {
            self.sending.counters.reconstruct_read_pages += u64::from(record.blocks);
        }
        if self.sending.waits_at_host(now, id, record, (pl, why)) {
            return;
        }
        self.sending.send(now, id, record, pl);
    }

    /// Resumes the stripe operation whose read was answered, by its drive or the write cache.
    #[inline]
    pub(super) fn take_answer(
        &mut self,
        now: Instant,
        record: &CommandRecord,
        completion: &Completion,
        status: Status,
    ) {
        let Purpose::Member { op, member, round, for_others } = record.purpose else { return };
        let target = &mut self.stripes.ops[op];
        target.fetch.read_ended(member, completion.met_collection);
        self.sending.counters.fail_fasts += u64::from(status == Status::FailedFast);
        match target.phase() {
            Phase::Fetch | Phase::WaitWrite => {}
            Phase::Drain => return self.close_if_drained(now, op),
            Phase::WaitRepair => {
                if status == Status::Unrecovered {
                    target.fetch.note_broken(member);
                }
                return self.begin_again(now, op);
            }
            // The pages were reconstructed before this answer came, which is not needed any more.
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
                let fetch = &mut self.stripes.ops[op].fetch;
                let kept = fetch.read_succeeded(member, completion.blocked());
                if kept == Kept::Outdated {
                    return self.read_again(now, op, member, drive, passed);
                }
                if kept == Kept::New {
                    let command = completion.id;
                    self.sending.out.emit_data(|| DataAction::Keep { op, command, member });
                }
                self.advance(now, op, passed);
            }
            Status::FailedFast => {
                let command = completion.id;
                self.sending.out.emit_event(now, || Event::FailedFast {
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

    /// Continues a fetch after a change of its state; `passed` is the time until now, by cause.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &self.stripes.ops[op];
        if target.phase() != Phase::Fetch || !target.fetch.is_plain() {
            self.decide(now, op, passed);
        } else if target.fetch.unknown().is_empty() {
            self.go_on(now, op, Input::Known, passed);
        }
    }

    /// Carries out the decisions of the fetch, until it has to wait.
    pub(super) fn decide(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let shape = self.stripes.ops[op].shape(&self.stripes.places.layout);
        loop {
            let target = &mut self.stripes.ops[op];
            let goes_on = target.phase() == Phase::Fetch;
            let decision = target.fetch.decide(&shape, goes_on);
            match decision {
                Decision::Settle => {
                    if !self.settle_stripe(now, op, passed) {
                        return;
                    }
                }
                Decision::Read(survivors) => {
                    self.read_survivors(now, op, survivors, passed);
                    self.stripes.ops[op].fetch.reviewed(&shape, goes_on);
                }
                Decision::Resend(resend) => self.resend(now, op, resend, passed),
                Decision::Fail => return self.fail(now, op, passed),
                Decision::Done | Decision::Wait | Decision::Reconstruct => {
                    target.fetch.reviewed(&shape, goes_on);
                    return match decision {
                        Decision::Done => self.go_on(now, op, Input::Known, passed),
                        Decision::Reconstruct => self.reconstruct(now, op, passed),
                        _ => {}
                    };
                }
            }
        }
    }

    /// Handles a read that was failed fast, or failed: the member is missing.
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
        self.sending.counters.unrecovered_reads += u64::from(busy_remaining.is_none());
        if self.stripes.ops[op].fetch.read_failed(member, drive, busy_remaining) {
            self.go_on_without(now, op, passed);
        }
    }

    /// Decides again after an operation has lost a member of the stripe.
    pub(super) fn go_on_without(&mut self, now: Instant, op: OpId, passed: &Delays) {
        self.stripes.note_unreadable(op);
        self.stripes.ops[op].fetch.count_unreadable();
        self.decide(now, op, passed);
    }

    /// Reads a member again, if possible, because its data may be older than the rest.
    #[cold]
    pub(super) fn read_again(
        &mut self,
        now: Instant,
        op: OpId,
        member: u8,
        drive: DriveId,
        passed: &Delays,
    ) {
        if self.stripes.note_unreadable(op).contains(member) {
            return self.read_failed(now, op, member, drive, None, passed);
        }
        let pl = self.sending.rules.view().reconstruct_flag();
        let round = self.stripes.ops[op].fetch.new_round(passed);
        let why = Why::Reconstruct;
        self.read(now, op, Read { member, pl, for_others: true, round, why });
    }

    pub(super) fn resend(&mut self, now: Instant, op: OpId, resend: Resend, passed: &Delays) {
        let shunned = self.fastest_shunned(op);
        let fetch = &mut self.stripes.ops[op].fetch;
        let member = match resend {
            Resend::OneOfTheFailed => {
                let least = fetch.failures()[self.sending.rules.view().wait_for(fetch.failures())];
                let wait = least.busy_remaining;
                match shunned.filter(|&(_, expected)| expected < wait) {
                    Some((member, _)) if fetch.outstanding().contains(member) => {
                        // A probe of it is in flight.
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
        self.sending.counters.resubmitted += 1;
        self.sending.permits.note_too_many_busy();
        self.sending.out.emit_event(now, || Event::Resent { op, member });
        let (pl, why) = (PlFlag::Off, Why::Wanted);
        self.read(now, op, Read { member, pl, for_others: false, round, why });
    }

    /// Fixes the stripe for an operation that computes with it. Returns `false` if the operation
    /// has to wait for a write.
    pub(super) fn settle_stripe(&mut self, now: Instant, op: OpId, passed: &Delays) -> bool {
        let access = self.stripes.access(op);
        if let Access::Wait(write) = access {
            self.wait_for_write(now, op, write, passed);
            return false;
        }
        self.stripes.settle(op);
        self.stripes.compute_with(op);
        if let Access::Share(write) = access {
            self.take_from_write(now, write, op);
        }
        let is_intact = self.stripes.places.availability.is_optimal();
        let target = &mut self.stripes.ops[op];
        target.fetch.settled(is_intact);
        if !is_intact || !target.fetch.unreadable().is_empty() {
            self.stripes.note_unreadable(op);
            self.stripes.ops[op].fetch.count_unreadable();
        }
        true
    }

    /// Has a read wait until a write has left the stripe: it cannot compute with it before.
    pub(super) fn wait_for_write(&mut self, now: Instant, op: OpId, write: OpId, passed: &Delays) {
        self.sending.counters.lock_waits += 1;
        let target = &mut self.stripes.ops[op];
        target.fetch.park(now, passed);
        target.enter(Phase::WaitWrite);
        let (stripe, rows) = (target.stripe, target.range());
        let was_in = self.stripes.queues.is_in(op);
        self.stripes.queues.wait_for_write(op, stripe, rows, write);
        self.sending.out.emit_event(now, || Event::LockWaited { op, behind: Some(write) });
        if was_in {
            // The write may be waiting for this very read.
            self.wake(now, stripe);
        }
    }

    /// Resumes a read after its write has left, unless another write is in its way.
    pub(super) fn retry(&mut self, now: Instant, op: OpId) {
        let target = &mut self.stripes.ops[op];
        let (stripe, rows) = (target.stripe, target.range());
        if let Access::Wait(write) = self.stripes.queues.access(stripe, rows.clone()) {
            return self.stripes.queues.wait_for_write(op, stripe, rows, write);
        }
        self.stripes.queues.read_on(op);
        target.enter(Phase::Fetch);
        let (mut passed, since) = target.fetch.unpark();
        passed.add(Cause::StripeLock, now.since(since));
        self.sending.out.emit_event(now, || Event::LockObtained { op });
        self.advance(now, op, &passed);
    }

    /// Takes the members that a write holds in memory as if they had been read.
    pub(super) fn take_from_write(&mut self, now: Instant, write: OpId, op: OpId) {
        let Work::Write(Write { writer, .. }) = &self.stripes.ops[write].work else { return };
        let (members, outdated) = (writer.in_memory(), writer.outdated_parity());
        let target = &mut self.stripes.ops[op];
        target.fetch.take_from_write(members, outdated);
        let first_row = target.first_row - self.stripes.queues.first_row(write);
        self.stripes.queues.share(op, Some(write));
        self.sending.counters.shared_with_write += 1;
        self.sending.out.emit_event(now, || Event::SharedWithWrite { op, write, members });
        for member in members {
            self.sending.out.emit_data(|| DataAction::Share {
                from: write,
                to: op,
                member,
                first_row,
            });
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
        let fetch = &mut self.stripes.ops[op].fetch;
        let (members, races) = (fetch.to_reconstruct(), fetch.races());
        let round = fetch.new_round(passed);
        self.sending.out.emit_event(now, || Event::ReconstructBegun {
            op,
            members,
            from: survivors,
        });
        let (pl, why) = match self.stripes.ops[op].work {
            Work::Repair(_) | Work::Rewrite(_) | Work::Settle(_) => (PlFlag::Off, Why::Job),
            _ if races => (self.sending.rules.view().reconstruct_flag(), Why::Hedge),
            _ => (self.sending.rules.view().reconstruct_flag(), Why::Reconstruct),
        };
        for member in survivors {
            self.read(now, op, Read { member, pl, for_others: true, round, why });
        }
    }

    /// Computes the missing members; all members that they are computed from are known.
    pub(super) fn reconstruct(&mut self, now: Instant, op: OpId, passed: &Delays) {
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::Compute);
        target.fetch.reconstruct();
        let (members, from) = (target.fetch.to_reconstruct(), target.fetch.known());
        let stripe = target.stripe;
        let new = target.is_repair();
        // A copy is taken as it is; only parity takes time to compute.
        let compute = match self.stripes.places.layout.level().is_mirrored() {
            true => Duration::ZERO,
            false => self.constants.reconstruct_time,
        };
        let mut passed = *passed;
        passed.add(Cause::Rebuild, compute);
        self.sending.out.emit_event(now, || Event::Reconstructed { op, members, from });
        if self.sending.out.has_data_actions() {
            for (member, terms) in
                parity::reconstruct(&self.stripes.places.layout, stripe, members, from)
            {
                let target = Slot { new, member };
                self.sending.out.emit_data(|| DataAction::Combine { op, target, terms });
            }
        }
        self.sending.timers.compute(Computation { due: now + compute, op, passed });
    }

    /// Hedges a late operation, unless it has ended: reconstructs the missing members if that is
    /// possible and the policy permits it.
    pub(super) fn hedge(&mut self, now: Instant, op: OpId, serial: u64) {
        let target = &self.stripes.ops[op];
        let (fetch, late) = (&target.fetch, target.fetch.unknown());
        if target.serial != serial || target.phase() != Phase::Fetch || late.is_empty() {
            return;
        }
        // A reconstruction in progress needs no hedge.
        if fetch.races() || !fetch.to_reconstruct().is_empty() {
            return;
        }
        let shape = target.shape(&self.stripes.places.layout);
        let reads = fetch.reads_to_hedge(&shape, late);
        let drives = self.stripes.places.drives(target.stripe);
        let can = self.stripes.can_reconstruct_beside(op, late);
        let view = self.sending.permits.view(&self.sending.commands, drives);
        let waited = match target.work {
            Work::Read { request, .. } | Work::Write(Write { request, .. }) => {
                now.since(self.requests.admitted(request))
            }
            _ => Duration::ZERO,
        };
        let rules = &mut self.sending.rules;
        if !can || !rules.policy().may_hedge(now, late.bits(), reads, &view) {
            let waiting = Backlogs::writes_waiting_blocks(self.sending.backlogs.as_deref());
            let awaited = fetch.awaited(&shape, target.is_read(), waited, waiting);
            if can && let Some(after) = rules.policy().hedge_again_after(now, &awaited) {
                return self.sending.timers.late_from(now + after, serial, op);
            }
            self.sending.counters.hedges_denied += 1;
            self.sending.out.emit_event(now, || Event::HedgeDenied { op, late });
            return;
        }
        self.sending.counters.hedges += 1;
        self.sending.out.emit_event(now, || Event::HedgeFired { op, late, reads });
        let target = &mut self.stripes.ops[op];
        target.fetch.note_hedge(reads);
        let mut passed = Delays::ZERO;
        passed.add(Cause::LateAnswer, waited);
        self.reconstruct_beside(now, op, late, &passed);
    }

    /// Reads the members that `late` ones can be computed from, and takes whatever comes first.
    pub(super) fn reconstruct_beside(
        &mut self,
        now: Instant,
        op: OpId,
        late: MemberSet,
        passed: &Delays,
    ) {
        let commits = self.stripes.queues.commits(self.stripes.ops[op].stripe);
        self.stripes.ops[op].fetch.reconstruct_late(late, commits);
        self.stripes.compute_with(op);
        // Nothing is read if everything else is known already.
        self.decide(now, op, passed);
    }

    /// Begins a read again after its rows were repaired.
    pub(super) fn read_once_more(
        &mut self,
        now: Instant,
        op: OpId,
        touched: MemberSet,
        passed: &Delays,
    ) {
        if self.stripes.places.relocation.can_move() {
            self.watch_for_moves(now, op);
        }
        let target = &mut self.stripes.ops[op];
        target.enter(Phase::Fetch);
        target.fetch.begin(touched);
        let round = target.fetch.new_round(passed);
        let unreadable = self.stripes.note_unreadable(op);
        if unreadable.meets(touched) && unreadable.len() > self.stripes.places.layout.parities() {
            return self.fail(now, op, passed);
        }
        for member in self.stripes.ops[op].fetch.unknown() - unreadable {
            let (pl, why) = (PlFlag::Off, Why::Wanted);
            self.read(now, op, Read { member, pl, for_others: false, round, why });
        }
        if unreadable.meets(touched) {
            self.stripes.ops[op].fetch.avoid(unreadable);
        }
        self.advance(now, op, passed);
    }

    /// Chooses the copy of a mirror to read.
    fn choose_copy(&mut self, now: Instant, segment: &Segment) -> MemberSet {
        let Segment { stripe, first_row, .. } = *segment;
        let layout = &self.stripes.places.layout;
        let primary = layout.member_of(stripe, 0);
        let all = layout.member_set(stripe);
        let copies = all - self.stripes.places.unreadable(stripe);
        // Without a readable copy the read fails, whichever is chosen.
        let copies = if copies.is_empty() { all } else { copies };
        let primary = match copies.first() {
            Some(first) if !copies.contains(primary.0) => DriveId(first),
            _ => primary,
        };
        let lba = layout.lba(stripe, first_row, primary);
        let copies = copies.bits();
        let Sending { permits, commands, rules, .. } = &mut self.sending;
        let view = permits.view(commands, copies);
        let chosen = rules.policy().choose_copy(now, primary, copies, lba, &view);
        assert_eq!(copies >> chosen.0 & 1, 1, "{chosen:?} has no copy of stripe {stripe}");
        MemberSet::of(chosen.0)
    }

    /// Tells an operation which of its members are on distrusted drives.
    fn shun_distrusted(&mut self, op: OpId) {
        let distrusted = self.sending.rules.distrusted();
        if !distrusted.is_empty() {
            let shunned = self.stripes.places.members_on(self.stripes.ops[op].stripe, distrusted);
            self.stripes.ops[op].fetch.shun(shunned);
        }
    }

    /// Of the members that an operation avoids because of distrusted drives, the one expected
    /// first, with its expected latency.
    fn fastest_shunned(&self, op: OpId) -> Option<(u8, Duration)> {
        let trust = self.sending.rules.trust()?;
        let members = self.stripes.ops[op].fetch.shunned_readable().iter();
        let expected = members.map(|member| {
            let place = self.stripes.place(op, member);
            (member, trust.expected(place.drive))
        });
        expected.min_by_key(|&(_, expected)| expected)
    }
}
