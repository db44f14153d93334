//! The array: requests in, actions out.

use crate::action::{Action, DataAction, Ended, OpId, Outcome};
use crate::admission::HeldBack;
use crate::coordinate::{Coordination, Coordinator};
use crate::counters::Counters;
use crate::degraded::Health;
use crate::hedge::Hedges;
use crate::layout::{Layout, Segment};
use crate::lock::LockTable;
use crate::op::{OpKind, Phase, Plan, StripeOp, SubIo};
use crate::placement::{Place, Placement};
use crate::policy::{Answered, Asked, Policy, PolicySetup, Sent, Tally, WindowUse};
use crate::queues::Queues;
use crate::request::{Config, InFlight, Request, RequestKind};
use crate::stage::{Stage, StageCounters};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use nvme::{
    Blocked, Cause, CollectionReport, Command, CommandId, Completion, Delays, DriveStatus, Opcode,
    PlFlag, Status,
};
use units::{DriveId, Duration, Instant, Lba, Slab};

/// One array. See the crate documentation for the contract of its methods.
pub struct Array {
    pub(crate) layout: Layout,
    pub(crate) page_bytes: u64,
    pub(crate) policy: Box<dyn Policy>,
    /// Whether the drives hear when they may collect.
    pub(crate) permits: bool,
    pub(crate) coordinator: Coordinator,
    pub(crate) placement: Placement,
    pub(crate) rebuild_compute: Duration,
    pub(crate) data_actions: bool,
    pub(crate) requests: Slab<InFlight>,
    pub(crate) ops: Slab<StripeOp>,
    pub(crate) sub_ios: Slab<SubIo>,
    pub(crate) locks: LockTable,
    pub(crate) actions: VecDeque<Action>,
    /// Rebuilds that are being computed; all take as long, so they stay in order.
    pub(crate) computing: VecDeque<(Instant, u32)>,
    pub(crate) hedges: Hedges,
    pub(crate) queues: Queues,
    /// Requests that the policy holds back.
    pub(crate) held_back: HeldBack,
    /// The fast memory in front of the drives, if the policy has one.
    pub(crate) stage: Option<Box<Stage>>,
    /// What is missing, and what is being restored.
    pub(crate) health: Health,
    /// The blocks that the layout leaves free on every drive.
    pub(crate) spare: Range<u64>,
    /// Stripe operations since the start.
    pub(crate) operations: u64,
    pub(crate) counters: Counters,
}

impl Array {
    /// An idle array.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut actions = VecDeque::new();
        let width = config.layout.width();
        let about = config.policy.about();
        let policy = (about.build)(&PolicySetup {
            drives: width,
            parities: config.layout.parities(),
            rebuild_compute: config.rebuild_compute,
            settings: &config.policy_settings,
        });
        let page_bytes = u64::from(config.page_bytes);
        let stage = policy.stage().map(|stage| Box::new(Stage::new(stage, width, page_bytes)));
        let moves = policy.moves_chunks() && config.layout.chunk_pages() == 1;
        let spare_blocks = if moves { config.spare.end - config.spare.start } else { 0 };
        let placement = Placement::new(&config.layout, config.spare.start, spare_blocks);
        let coordination = match about.windows {
            WindowUse::None => Coordination::Free,
            _ => config.coordination,
        };
        let coordinator = Coordinator::new(&coordination, width, &mut actions);
        let permits = about.windows != WindowUse::Imagined;
        if !permits {
            actions.clear();
        }
        Self {
            page_bytes,
            policy,
            permits,
            coordinator,
            placement,
            rebuild_compute: config.rebuild_compute,
            data_actions: config.data_actions,
            requests: Slab::new(),
            ops: Slab::new(),
            sub_ios: Slab::new(),
            locks: LockTable::new(),
            actions,
            computing: VecDeque::new(),
            hedges: Hedges::new(),
            queues: Queues::new(width),
            held_back: HeldBack::default(),
            stage,
            health: Health::new(width, config.absent, config.restore_depth),
            spare: config.spare,
            operations: 0,
            counters: Counters::new(width as usize),
            layout: config.layout,
        }
    }

    /// The arrangement of the array.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes that the host can use.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.layout.capacity_pages() * self.page_bytes
    }

    /// Totals since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the stage has done; none if the policy has none.
    #[must_use]
    pub fn stage_counters(&self) -> Option<&StageCounters> {
        self.stage.as_ref().map(|stage| &stage.counters)
    }

    /// Pages that the stage holds.
    #[must_use]
    pub fn staged_pages(&self) -> u64 {
        self.stage.as_ref().map_or(0, |stage| stage.held_pages())
    }

    /// What the policy has counted since the start.
    #[must_use]
    pub fn tallies(&self) -> Vec<Tally> {
        self.policy.tallies()
    }

    /// Requests that are not done.
    #[must_use]
    pub fn requests_in_flight(&self) -> usize {
        self.requests.len() + self.held_back.len()
    }

    /// Stripe operations that are not closed; more than the requests need while superfluous reads
    /// are still out.
    #[must_use]
    pub fn operations_in_flight(&self) -> usize {
        self.ops.len()
    }

    /// The next thing to do.
    #[inline]
    pub fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if let Some(Action::Permit { drive, right }) = &action {
            self.health.rights[drive.index()] = Some(*right);
        }
        action
    }

    /// When [`Array::handle_deadline`] should be called if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let computed = self.computing.front().map_or(Instant::NEVER, |&(due, _)| due);
        computed
            .min(self.coordinator.next_deadline())
            .min(self.hedges.next_deadline())
            .min(self.policy.next_deadline())
            .min(self.stage.as_ref().map_or(Instant::NEVER, |stage| stage.next_deadline()))
    }

    /// Lets time pass until `now`.
    pub fn handle_deadline(&mut self, now: Instant) {
        while let Some(&(due, op)) = self.computing.front() {
            if due > now {
                break;
            }
            self.computing.pop_front();
            self.end_gather(due, op);
        }
        if self.coordinator.next_deadline() <= now {
            self.coordinator.handle_deadline(now, &mut self.actions);
            if self.health.absent != 0 {
                self.answer_for_absent(now);
            }
        }
        if self.policy.next_deadline() <= now {
            self.policy.handle_deadline(now);
            self.follow_policy(now);
        }
        if self.stage.as_ref().is_some_and(|stage| stage.next_deadline() <= now) {
            self.handle_stage_deadline(now);
        }
        while let Some((op, serial)) = self.hedges.pop_due(now) {
            self.hedge(now, op, serial);
        }
        self.pump_restoration(now);
    }

    /// Who may collect when.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Gives the busy windows a new length, from the end of the windows that are open now on
    /// (IODA §4.3.7). Returns whether it did: not without windows, nor while their length is
    /// adapted.
    ///
    /// # Panics
    ///
    /// If the window is zero.
    pub fn set_window(&mut self, now: Instant, busy_time_window: Duration) -> bool {
        assert!(!busy_time_window.is_zero(), "a window of no length");
        self.handle_deadline(now);
        let changed = self.coordinator.set_window(now, busy_time_window, &mut self.actions);
        if !self.permits {
            self.actions.retain(|action| !matches!(action, Action::Permit { .. }));
        }
        changed
    }

    /// Takes the answer of a drive to [`Action::AskStatus`].
    pub fn handle_status(&mut self, now: Instant, drive: DriveId, status: &DriveStatus) {
        self.coordinator.handle_status(now, drive, status, &mut self.actions);
    }

    /// Whether [`Array::handle_report`] is to be called whenever a drive's collections change.
    #[must_use]
    pub fn watches_drives(&self) -> bool {
        self.policy.watches_drives()
    }

    /// Takes what a drive announces about its collections, if [`Array::watches_drives`].
    pub fn handle_report(&mut self, now: Instant, drive: DriveId, report: &CollectionReport) {
        self.policy.handle_report(now, drive, report);
    }

    /// What the policy took collections to last, on average, if it reckoned with any.
    #[must_use]
    pub fn expected_collection(&self) -> Option<Duration> {
        self.policy.expected_collection()
    }

    /// Commands that were sent to each drive, and those that are out.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Bytes of the map from chunks to where they were moved, when it was largest.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.placement.bytes()
    }

    /// The drive and the block where row `row` of the chunk of `member` is, a member of `stripe`.
    #[must_use]
    pub fn locate(&self, stripe: u64, row: u32, member: DriveId) -> (DriveId, Lba) {
        let Place { drive, block } = self.placement.locate(&self.layout, stripe, row, member.0);
        (drive, block)
    }

    /// Takes a request.
    ///
    /// # Panics
    ///
    /// If the request is empty or reaches past the end of the array: the driver knows the size.
    pub fn handle_request(&mut self, now: Instant, request: &Request) {
        assert!(
            request.size_bytes > 0
                && request.offset_bytes < self.capacity_bytes()
                && request.size_bytes <= self.capacity_bytes() - request.offset_bytes,
            "{request:?} on an array of {} bytes",
            self.capacity_bytes()
        );
        let Request { host, kind, size_bytes, .. } = *request;
        if kind == RequestKind::Deallocate {
            // It is no work for the drives that a policy could wish to delay.
            self.admit_deallocation(now, request);
        } else if self.policy.admits(now, &Asked { host, kind, size_bytes }) {
            self.admit(now, now, request);
        } else {
            self.counters.held_back += 1;
            self.held_back.push(now, *request);
        }
        if self.stage.is_some() || self.held_back.len() > 0 {
            self.follow_policy(now);
        }
    }

    /// Begins a request that came at `arrived`.
    pub(crate) fn admit(&mut self, now: Instant, arrived: Instant, request: &Request) {
        let end_bytes = request.offset_bytes + request.size_bytes;
        let first = request.offset_bytes / self.page_bytes;
        let pages = end_bytes.div_ceil(self.page_bytes) - first;
        let cut_first = !request.offset_bytes.is_multiple_of(self.page_bytes);
        let cut_last = !end_bytes.is_multiple_of(self.page_bytes);
        match request.kind {
            RequestKind::Read => self.counters.host_read_pages += pages,
            RequestKind::Write => self.counters.host_written_pages += pages,
            RequestKind::Deallocate => unreachable!("it is admitted elsewhere"),
        }
        let slot = self.insert_request(now, arrived, request);
        // Counted before any of them starts, because a stripe operation may end at once.
        let segments = self.layout.segments(first, pages);
        self.requests.get_mut(slot).ops_left = self.layout.segments(first, pages).count() as u32;
        for segment in segments {
            let mut partial = 0;
            if cut_first {
                partial |= self.member_at(&segment, first);
            }
            if cut_last {
                partial |= self.member_at(&segment, first + pages - 1);
            }
            self.open(now, slot, &segment, partial);
        }
    }

    fn insert_request(&mut self, now: Instant, arrived: Instant, request: &Request) -> u32 {
        self.requests.insert(InFlight {
            id: request.id,
            kind: request.kind,
            host: request.host,
            arrived,
            admitted: now,
            ops_left: 0,
            rebuilds: 0,
            blocked: Blocked::No,
            ended: Ended::Done,
        })
    }

    /// Begins a deallocation: of the rows all of whose data it covers. It is a hint, so the rest may
    /// stay as it is.
    fn admit_deallocation(&mut self, now: Instant, request: &Request) {
        let first = request.offset_bytes.div_ceil(self.page_bytes);
        let end = (request.offset_bytes + request.size_bytes) / self.page_bytes;
        let chunks = self.layout.data_chunks();
        let whole_rows = self.layout.segments(first, end.saturating_sub(first));
        let whole_rows = whole_rows.filter(move |segment| segment.chunks == chunks);
        let slot = self.insert_request(now, now, request);
        // One more, so that it does not end before all have begun.
        self.requests.get_mut(slot).ops_left = 1;
        for segment in whole_rows {
            self.requests.get_mut(slot).ops_left += 1;
            self.open(now, slot, &segment, 0);
        }
        self.end_part(now, slot, Delays::ZERO);
    }

    /// The member of `segment` that holds page `page` of the array, as a bit; 0 if none does.
    fn member_at(&self, segment: &Segment, page: u64) -> u64 {
        for chunk in segment.first_chunk..segment.first_chunk + segment.chunks {
            let first = self.layout.page(segment.stripe, chunk, segment.first_row);
            if (first..first + u64::from(segment.rows)).contains(&page) {
                return 1 << self.layout.member_of(segment.stripe, chunk).0;
            }
        }
        0
    }

    fn open(&mut self, now: Instant, request: u32, segment: &Segment, partial: u64) {
        let InFlight { id, kind, .. } = *self.requests.get(request);
        let touched = match kind {
            RequestKind::Read if self.layout.level().is_mirrored() => {
                self.choose_copy(now, segment.stripe, segment.first_row)
            }
            _ => (segment.first_chunk..segment.first_chunk + segment.chunks)
                .fold(0, |mask, chunk| mask | 1 << self.layout.member_of(segment.stripe, chunk).0),
        };
        let op_kind = match kind {
            RequestKind::Read => OpKind::Read,
            RequestKind::Write => OpKind::Write,
            RequestKind::Deallocate => OpKind::Deallocate,
        };
        let op = self.insert_op(now, request, op_kind, segment, touched, partial);
        if self.data_actions {
            let rows = segment.rows;
            self.data(DataAction::Open { op: OpId(op), request: Some(id), rows });
        }
        match kind {
            RequestKind::Read => {
                self.counters.stripe_reads += 1;
                if self.placement.can_move() {
                    self.watch_for_moves(op);
                }
                self.gather(now, op, touched);
            }
            RequestKind::Write | RequestKind::Deallocate => self.enter_write(now, op),
        }
    }

    pub(crate) fn insert_op(
        &mut self,
        now: Instant,
        request: u32,
        kind: OpKind,
        segment: &Segment,
        touched: u64,
        partial: u64,
    ) -> u32 {
        self.operations += 1;
        self.ops.insert(StripeOp {
            serial: self.operations,
            lent_by: 0,
            request,
            kind,
            phase: Phase::Gather,
            plan: Plan::Reconstruct,
            stripe: segment.stripe,
            first_row: segment.first_row,
            rows: segment.rows,
            touched,
            partial,
            wanted: 0,
            have: 0,
            missing: 0,
            gone: 0,
            left_out: 0,
            drive_failures: 0,
            failed: false,
            outstanding: 0,
            writing: 0,
            stale: 0,
            commits_seen: self.locks.commits(segment.stripe),
            busy: 0,
            blocked: Blocked::No,
            locked: false,
            still: false,
            moves: Vec::new(),
            races: false,
            hedge_reads: 0,
            rebuilt: false,
            failures: Vec::new(),
            prefixes: Vec::new(),
            rebuild_round: 0,
            waiting_since: now,
            delays: Delays::ZERO,
        })
    }

    /// Takes the answer of a drive to a command. A read that the drive could not do
    /// ([`Status::Unrecovered`]) is rebuilt; a drive that could not write is given up, as by
    /// [`Array::fail_drive`]. What a drive answers after it was given up counts for nothing.
    ///
    /// `completion.delays` must sum to the time from the command's submission to `now` for reads.
    pub fn handle_completion(&mut self, now: Instant, completion: &Completion) {
        self.handle_deadline(now);
        let slot = completion.id.0;
        let sub_io = *self.sub_ios.get(slot);
        self.sub_ios.release(slot);
        if sub_io.opcode == Opcode::Deallocate {
            self.end_deallocation(now, &sub_io, completion.status);
        } else {
            self.end_command(now, &sub_io, completion);
        }
        self.pump_restoration(now);
    }

    fn end_command(&mut self, now: Instant, sub_io: &SubIo, completion: &Completion) {
        let slot = completion.id.0;
        let drain = self.take_drain(slot);
        let command = drain.unwrap_or_else(|| self.command_of(sub_io));
        self.queues.remove(command.drive, command.opcode, command.blocks);
        let latency = now.since(sub_io.sent);
        self.policy.answered(now, &Answered { command, status: completion.status, latency });
        if sub_io.opcode == Opcode::Write && completion.status == Status::Unrecovered {
            self.give_up(now, command.drive);
        }
        if drain.is_some() {
            self.end_drain(now, &command);
            return;
        }
        if sub_io.opcode == Opcode::Write {
            self.end_bypass(now, &command);
        }
        if self.health.absent != 0 && self.health.is_absent(command.drive) {
            let lost = Completion { status: Status::Unrecovered, ..*completion };
            self.take_answer(now, sub_io, &lost);
        } else {
            self.take_answer(now, sub_io, completion);
        }
    }

    /// A drive knows that nothing is in some blocks any more. Those that a chunk has left are free for
    /// another.
    fn end_deallocation(&mut self, now: Instant, sub_io: &SubIo, status: Status) {
        if self.ops.get(sub_io.op).kind == OpKind::Deallocate {
            if status == Status::Unrecovered {
                // The other drives have zeros there: this one does not fit them any more.
                self.give_up(now, sub_io.place.drive);
            }
            let command = self.command_of(sub_io);
            self.end_bypass(now, &command);
            self.end_write_of_member(now, sub_io);
            return;
        }
        self.ops.get_mut(sub_io.op).writing &= !(1 << sub_io.member);
        self.placement.release(sub_io.place);
        self.close_if_drained(sub_io.op);
    }

    /// The pages that a command is about.
    pub(crate) fn command_of(&self, sub_io: &SubIo) -> Sent {
        let op = self.ops.get(sub_io.op);
        Sent {
            drive: sub_io.place.drive,
            opcode: sub_io.opcode,
            lba: sub_io.place.block,
            blocks: op.rows,
        }
    }

    /// Goes on with the stripe operation whose command was answered, by its drive or the stage.
    pub(crate) fn take_answer(&mut self, now: Instant, sub_io: &SubIo, completion: &Completion) {
        let bit = 1 << sub_io.member;
        let op = self.ops.get_mut(sub_io.op);
        if completion.met_collection {
            op.busy |= bit;
        }
        if sub_io.opcode == Opcode::Write {
            self.end_write_of_member(now, sub_io);
            return;
        }
        op.outstanding &= !bit;
        self.counters.fail_fasts += u64::from(completion.status == Status::FailedFast);
        match op.phase {
            Phase::Gather | Phase::WaitWrite => {
                let passed = self.passed(sub_io, &completion.delays);
                if completion.status == Status::Success {
                    let op = self.ops.get_mut(sub_io.op);
                    op.blocked = op.blocked.max(completion.blocked());
                }
                match completion.status {
                    Status::Success => self.read_succeeded(now, sub_io, completion.id, passed),
                    Status::FailedFast => {
                        self.read_failed(now, sub_io, passed, completion.busy_remaining);
                    }
                    Status::Unrecovered => self.read_lost(now, sub_io, passed),
                }
            }
            Phase::Drain => self.close_if_drained(sub_io.op),
            // The pages were rebuilt before this answer came; nobody needs it any more.
            Phase::Compute | Phase::WaitReaders | Phase::Commit | Phase::WaitTurn => {}
        }
    }

    /// What has passed since the stripe operation began when one of its reads has been answered.
    fn passed(&self, sub_io: &SubIo, delays: &Delays) -> Delays {
        let before = match sub_io.round {
            0 => Delays::ZERO,
            round => self.ops.get(sub_io.op).prefixes[usize::from(round) - 1],
        };
        if sub_io.for_rebuild {
            before.then(&delays.with_service_as(Cause::Rebuild))
        } else {
            before.then(delays)
        }
    }

    pub(crate) fn data(&mut self, action: DataAction) {
        self.actions.push_back(Action::Data(action));
    }

    /// Sends a read of all rows of `op` to one of its members.
    #[inline]
    pub(crate) fn read(
        &mut self,
        now: Instant,
        op: u32,
        member: u8,
        pl: PlFlag,
        for_rebuild: bool,
        round: u8,
    ) {
        let target = self.ops.get(op);
        let place = self.placement.locate(&self.layout, target.stripe, target.first_row, member);
        let opcode = Opcode::Read;
        self.submit(SubIo { op, member, opcode, place, for_rebuild, round, sent: now }, pl);
    }

    /// Sends a write of all rows of `op` to one of its members.
    #[inline]
    pub(crate) fn write(&mut self, now: Instant, op: u32, member: u8) {
        let place = self.place_to_write(op, member);
        let opcode = Opcode::Write;
        let (for_rebuild, round) = (false, 0);
        let sub_io = SubIo { op, member, opcode, place, for_rebuild, round, sent: now };
        self.submit(sub_io, PlFlag::Off);
    }

    /// Tells a drive that nothing is at `place` any more, where a member of `op` was.
    #[cold]
    pub(crate) fn deallocate(&mut self, now: Instant, op: u32, member: u8, place: Place) {
        let opcode = Opcode::Deallocate;
        let (for_rebuild, round) = (false, 0);
        let sub_io = SubIo { op, member, opcode, place, for_rebuild, round, sent: now };
        self.submit(sub_io, PlFlag::Off);
    }

    #[inline]
    fn submit(&mut self, sub_io: SubIo, pl: PlFlag) {
        let SubIo { op, member, opcode, for_rebuild, sent, .. } = sub_io;
        let slot = self.sub_ios.insert(sub_io);
        let command = self.command_of(&sub_io);
        let target = self.ops.get_mut(op);
        let out = match opcode {
            Opcode::Read => &mut target.outstanding,
            Opcode::Write | Opcode::Deallocate => &mut target.writing,
        };
        debug_assert_eq!(*out & 1 << member, 0, "one command per member and direction");
        *out |= 1 << member;
        if self.stage.is_some() && self.stage_command(sent, slot, &command) {
            return;
        }
        if for_rebuild {
            self.counters.rebuild_read_pages += u64::from(command.blocks);
        }
        self.send(sent, slot, &command, pl);
    }

    /// Sends a command to its drive.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, slot: u32, command: &Sent, pl: PlFlag) {
        let Sent { drive, opcode, lba, blocks } = *command;
        let pages = u64::from(blocks);
        match opcode {
            Opcode::Read => self.counters.drive_read_pages += pages,
            Opcode::Write => self.counters.drive_written_pages += pages,
            Opcode::Deallocate => {}
        }
        if opcode != Opcode::Deallocate {
            self.queues.add(drive, opcode, blocks);
            self.policy.sent(now, command);
        }
        let SubIo { op, member, .. } = *self.sub_ios.get(slot);
        let to_drive = Command { id: CommandId(slot), opcode, lba, blocks, pl };
        self.actions.push_back(Action::Submit { drive, command: to_drive, op: OpId(op), member });
        if opcode == Opcode::Read {
            self.say_staged(slot, command);
        }
    }

    /// A stripe operation has done what its request needs of it, or cannot.
    pub(crate) fn finish(&mut self, now: Instant, op: u32) {
        let target = self.ops.get_mut(op);
        target.phase = Phase::Drain;
        let (request, delays, failed) = (target.request, target.delays, target.failed);
        let rebuilt = target.rebuilt && !failed;
        let hedge_reads = target.hedge_reads;
        let blocked = target.blocked;
        match target.kind {
            OpKind::Restore | OpKind::Check => {
                self.end_restore(op);
                self.close_if_drained(op);
                return;
            }
            OpKind::Read => {
                let busy = target.busy.count_ones() as usize;
                self.counters.busy_sub_ios[busy] += 1;
            }
            OpKind::Write | OpKind::Deallocate => {}
        }
        self.counters.rebuilds += u64::from(rebuilt);
        if hedge_reads > 0 {
            self.counters.hedges_won += u64::from(rebuilt);
            self.policy.hedge_ended(hedge_reads, rebuilt);
        }
        let in_flight = self.requests.get_mut(request);
        in_flight.rebuilds += u32::from(rebuilt);
        in_flight.blocked = in_flight.blocked.max(blocked);
        if failed {
            in_flight.ended = Ended::Failed;
        }
        self.end_part(now, request, delays);
        self.close_if_drained(op);
    }

    /// A part of a request is over; with the last of them the request is.
    fn end_part(&mut self, now: Instant, request: u32, delays: Delays) {
        let in_flight = self.requests.get_mut(request);
        in_flight.ops_left -= 1;
        if in_flight.ops_left > 0 {
            return;
        }
        let InFlight { id, kind, host, arrived, admitted, rebuilds, blocked, ended, .. } =
            *in_flight;
        let mut delays = delays;
        if kind == RequestKind::Read {
            delays.add(Cause::HeldBack, admitted.since(arrived));
        }
        self.counters.failed_requests += u64::from(ended == Ended::Failed);
        self.requests.release(request);
        self.actions.push_back(Action::Complete(Outcome {
            request: id,
            host,
            kind,
            ended,
            arrived,
            completed: now,
            delays,
            rebuilds,
            blocked,
        }));
    }

    fn close_if_drained(&mut self, op: u32) {
        let target = self.ops.get(op);
        if target.outstanding == 0 && target.writing == 0 {
            if self.data_actions {
                self.data(DataAction::Close { op: OpId(op) });
            }
            self.ops.release(op);
        }
    }
}
