//! The array: a router between machines that own their state. All inputs come in here. Actions and
//! events are emitted only here and in the files beside it.

mod background;
mod checking;
mod constants;
mod executor;
mod fetching;
pub(crate) mod kinds;
pub(crate) mod places;
mod sending;
mod stripes;

use crate::action::{Action, Ended, OpId};
use crate::availability::{CannotReplace, DriveState};
use crate::cache_config::WriteCacheCounters;
use crate::commands::{CommandRecord, Purpose};
use crate::config::Config;
use crate::contract::Contract;
use crate::coordinate::{Coordination, Coordinator, WindowChange};
use crate::counters::Counters;
use crate::drive_queues::Queues;
use crate::event::Event;
use crate::happening::{FailReason, Happening, JobKind};
use crate::jobs::{JobProgress, Jobs};
use crate::layout::Layout;
use crate::learnt::{Memory, Stalls};
use crate::members::MemberSet;
use crate::permits::Permits;
use crate::policy::{
    Answered, Asked, Correspondence, PolicyKind, PolicySettings, PolicySetup, Rules, Tally,
};
use crate::read_repairs::RepairCounters;
use crate::relocation::{Place, Relocation};
use crate::request::{Request, RequestKind};
use crate::requests::{PartEnded, RequestSlot, Requests};
use crate::switch::CannotSwitch;
use crate::timers::Computation;
use alloc::vec::Vec;
use constants::Constants;
use core::ops::Range;
use kinds::Input;
use nvme::{Blocked, CollectionReport, Completion, Delays, DriveStatus, Opcode, Status};
use sending::Sending;
use stripes::Stripes;
use units::{DriveId, Duration, Instant, Lba, Observe, Unobserved};

/// One array. See the crate documentation for the contract of its methods.
pub struct Array<O: Observe = Unobserved> {
    stripes: Stripes,
    sending: Sending<O>,
    requests: Requests,
    jobs: Jobs,
    constants: Constants,
}

impl Array<Unobserved> {
    /// An idle array without an observer.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::observed(config)
    }
}

impl<O: Observe> Array<O> {
    /// An idle array that keeps its events, if `O` does, until [`Array::drain_events`].
    #[must_use]
    pub fn observed(config: Config) -> Self {
        let Config { layout, policy_settings, spare, .. } = config;
        let (width, page_bytes) = (layout.width(), u64::from(config.page_bytes));
        let about = config.policy.about();
        let absent = MemberSet::from_bits(config.absent);
        let rules = Rules::of(
            config.policy,
            &PolicySetup {
                drives: width,
                parities: layout.parities(),
                reconstruct_compute: config.reconstruct_compute,
                settings: &policy_settings,
            },
            absent,
        );
        let relocates = rules.view().relocates_chunks() && layout.chunk_pages() == 1;
        let spare_blocks = if relocates { spare.end - spare.start } else { 0 };
        let permits = Permits::new(
            (width, layout.parities()),
            about.windows,
            config.coordination,
            MemberSet::from_bits(config.absent),
        );
        let mut array = Self {
            constants: Constants {
                page_bytes,
                capacity_bytes: layout.capacity_pages() * page_bytes,
                reconstruct_time: config.reconstruct_compute,
                spare: spare.clone(),
            },
            requests: Requests::default(),
            jobs: Jobs::new(config.job_depth, config.read_repair),
            sending: Sending::new(rules, permits, (width, page_bytes), config.data_actions),
            stripes: Stripes::new(layout, absent, spare.start, spare_blocks),
        };
        array.sending.emit_notices(Instant::ZERO);
        array.sending.refresh_deadline();
        array
    }

    /// The layout of the array.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.stripes.places.layout
    }

    /// Bytes that the host can use.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.constants.capacity_bytes
    }

    /// Totals since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.sending.counters
    }

    /// Results of the repair of pages that drives could not read.
    #[must_use]
    pub fn read_repairs(&self) -> &RepairCounters {
        self.jobs.repairs.counters()
    }

    /// Counters of the write cache; `None` if the policy has no write cache.
    #[must_use]
    pub fn write_cache_counters(&self) -> Option<&WriteCacheCounters> {
        self.sending.cache.as_ref().map(|cache| cache.counters())
    }

    /// Pages that the write cache holds.
    #[must_use]
    pub fn cached_pages(&self) -> u64 {
        self.sending.cached_pages()
    }

    /// Counters of the policy since the start.
    #[must_use]
    pub fn tallies(&self) -> Vec<Tally> {
        self.sending.tallies()
    }

    /// Stalls of each drive as learnt by the policy, in order of drives; empty if it learns none.
    #[must_use]
    pub fn stalls(&self) -> Vec<Stalls> {
        self.sending.rules.view().stalls()
    }

    /// Knowledge that policies have learnt, for [`Array::remember`].
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.sending.memory()
    }

    /// Gives the policy, and those after it, knowledge learnt before. To be called at the start.
    pub fn remember(&mut self, memory: Memory) {
        self.sending.remember(memory);
    }

    /// Number of requests that are not completed.
    #[must_use]
    pub fn requests_in_flight(&self) -> usize {
        self.requests.len()
    }

    /// Number of stripe operations that are not closed: more than the requests need while
    /// superfluous reads are in flight.
    #[must_use]
    pub fn operations_in_flight(&self) -> usize {
        self.stripes.ops.len()
    }

    /// Missing drives, as bits. A replaced drive is not missing.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.stripes.places.availability.absent().bits()
    }

    /// State of the data of a drive.
    #[must_use]
    pub fn drive_state(&self, drive: DriveId) -> DriveState {
        let stripes = self.stripes.places.availability.stripes_to_rebuild(drive);
        match stripes {
            _ if self.stripes.places.availability.is_absent(drive) => DriveState::Failed,
            0 => DriveState::Serving,
            _ if self.jobs.has_rebuild(drive) => DriveState::Rebuilding { stripes },
            _ => DriveState::Incomplete { stripes },
        }
    }

    /// Whether every member of every stripe can be read.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.stripes.places.availability.is_optimal()
    }

    /// The coordinator, which knows when each drive may collect.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        self.sending.permits.coordinator()
    }

    /// The contract that reads can rely on now, as far as busy windows go.
    #[must_use]
    pub fn contract(&self) -> Contract {
        self.sending.permits.contract()
    }

    /// Whether [`Array::handle_report`] is to be called whenever a drive's collections change.
    #[must_use]
    pub fn watches_drives(&self) -> bool {
        self.sending.rules.view().watches_drives()
    }

    /// Messages of a coordinator on another host; `None` if the policy needs no such coordinator.
    #[inline]
    pub fn correspondence(&mut self) -> Option<Correspondence<'_>> {
        self.sending.rules.correspondence()
    }

    /// Mean of the durations that the policy estimated for collections; `None` without an estimate.
    #[must_use]
    pub fn expected_collection(&self) -> Option<Duration> {
        self.sending.rules.view().expected_collection()
    }

    /// Commands sent to each drive, and the blocks in flight.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        self.sending.commands.queues()
    }

    /// Peak size of the map of relocated chunks, in bytes.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.stripes.places.relocation.bytes()
    }

    /// The drive and the block of row `row` of the chunk of `member` in `stripe`.
    #[must_use]
    pub fn locate(&self, stripe: u64, row: u32, member: DriveId) -> (DriveId, Lba) {
        let Place { drive, block } = self.stripes.places.relocation.locate(
            &self.stripes.places.layout,
            stripe,
            row,
            member.0,
        );
        (drive, block)
    }

    /// The job in progress; of several the one that is done first.
    #[must_use]
    pub fn job(&self) -> Option<JobProgress> {
        self.jobs.current()
    }

    /// The next action to carry out.
    #[inline]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.sending.out.poll()
    }

    /// Passes `take` the events since the last call, in order ([`units::Recorded`] arrays keep
    /// them).
    pub fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.sending.out.drain_events(take);
    }

    /// Passes `see` the events that are kept, in order.
    pub fn each_event(&self, see: impl FnMut(Instant, &Event)) {
        self.sending.out.each_event(see);
    }

    /// Time at which to call [`Array::handle_deadline`] if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.sending.timers.next_deadline()
    }

    /// Lets time pass until `now`.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.sending.timers.next_deadline() <= now || !self.jobs.is_empty() {
            self.pass_time(now);
        }
    }

    #[cold]
    fn pass_time(&mut self, now: Instant) {
        while let Some(Computation { due, op, passed }) = self.sending.timers.pop_computed(now) {
            self.go_on(due, op, Input::Known, &passed);
        }
        if self.sending.permits.next_deadline() <= now {
            self.sending.permits.handle_deadline(now);
            self.sending.emit_notices(now);
            self.sending.answer_for_absent(now, self.stripes.places.availability.absent());
        }
        if self.sending.rules.next_deadline() <= now {
            self.sending.rules.policy().handle_deadline(now);
            self.follow_policy(now);
        }
        if self.sending.cache.as_ref().is_some_and(|cache| cache.next_deadline() <= now) {
            self.handle_cache_deadline(now);
        }
        while let Some((op, serial)) = self.sending.timers.pop_late(now) {
            self.hedge(now, op, serial);
        }
        self.begin_stripes(now);
        self.sending.refresh_deadline();
    }

    /// Changes the length of the busy windows (IODA §4.3.7), and the width of the cycle if `change`
    /// has one (§4.4). Both apply from the end of the windows that are open now. Returns `false`
    /// without windows, or while their length is adapted; then nothing changes.
    ///
    /// # Panics
    ///
    /// If the window is zero, or if a cycle would have fewer turns than the array has drives.
    pub fn set_window(&mut self, now: Instant, change: impl Into<WindowChange>) -> bool {
        let change = change.into();
        assert!(!change.busy_time_window.is_zero(), "a window of no length");
        self.handle_deadline(now);
        let changed = self.sending.permits.set_window(now, change);
        self.sending.emit_notices(now);
        self.sending.refresh_deadline();
        changed
    }

    /// Takes the answer of a drive to [`Action::AskStatus`].
    pub fn handle_status(&mut self, now: Instant, drive: DriveId, status: &DriveStatus) {
        self.sending.permits.handle_status(now, drive, status);
        self.sending.emit_notices(now);
        self.sending.refresh_deadline();
    }

    /// Takes the report of a drive about its collections, if [`Array::watches_drives`].
    pub fn handle_report(&mut self, now: Instant, drive: DriveId, report: &CollectionReport) {
        self.sending.rules.policy().handle_report(now, drive, report);
        self.sending.end_input();
    }

    /// Takes a request.
    ///
    /// # Panics
    ///
    /// If the request is empty or reaches past the end of the array: the driver knows the size.
    pub fn handle_request(&mut self, now: Instant, request: &Request) {
        let Request { id, host, kind, offset_bytes, size_bytes } = *request;
        let capacity_bytes = self.capacity_bytes();
        assert!(
            size_bytes > 0
                && offset_bytes < capacity_bytes
                && size_bytes <= capacity_bytes - offset_bytes,
            "{request:?} on an array of {capacity_bytes} bytes",
        );
        self.sending.out.emit_event(now, || Event::RequestArrived {
            request: id,
            kind,
            offset_bytes,
            size_bytes,
        });
        if kind == RequestKind::Deallocate {
            // No policy delays it: it is no work for the drives.
            self.admit_deallocation(now, request);
        } else if self.sending.rules.admits(now, || Asked { host, kind, size_bytes }) {
            self.admit(now, now, request);
        } else {
            self.sending.counters.held_back += 1;
            self.sending.out.emit_event(now, || Event::RequestHeldBack { request: id });
            self.requests.hold_back(now, *request);
        }
        if self.sending.cache.is_some() || self.requests.held_back() > 0 {
            self.follow_policy(now);
        }
        self.sending.end_input();
    }

    /// Begins requests that the policy no longer holds back, and drains the write cache.
    fn follow_policy(&mut self, now: Instant) {
        while self.requests.held_back() > 0 && self.sending.rules.policy().releases(now) {
            if let Some((arrived, request)) = self.requests.release_one() {
                self.admit(now, arrived, &request);
            }
        }
        self.sending.drain_cache(now);
    }

    /// Begins a request that arrived at `arrived`.
    fn admit(&mut self, now: Instant, arrived: Instant, request: &Request) {
        let page_bytes = self.constants.page_bytes;
        let end_bytes = request.offset_bytes + request.size_bytes;
        let first = request.offset_bytes / page_bytes;
        let end = end_bytes.div_ceil(page_bytes);
        let pages = end - first;
        let cut_first = first * page_bytes != request.offset_bytes;
        let cut_last = end * page_bytes != end_bytes;
        match request.kind {
            RequestKind::Read => self.sending.counters.host_read_pages += pages,
            RequestKind::Write => self.sending.counters.host_written_pages += pages,
            RequestKind::Deallocate => {}
        }
        let slot = self.requests.begin(now, arrived, request);
        if pages == 1 {
            let segment = self.stripes.places.layout.segment_of(first);
            let is_partial = cut_first || cut_last;
            let partial = match is_partial {
                true => self.stripes.places.member_at(&segment, first),
                false => MemberSet::EMPTY,
            };
            return self.open(now, slot, request, &segment, partial);
        }
        let mut segments = self.stripes.places.layout.segments(first, pages);
        let mut next = segments.next();
        while let Some(segment) = next {
            next = segments.next();
            // Counted before this one begins, because it may end at once.
            if next.is_some() {
                self.requests.add_part(slot);
            }
            let mut partial = MemberSet::EMPTY;
            if cut_first {
                partial |= self.stripes.places.member_at(&segment, first);
            }
            if cut_last {
                partial |= self.stripes.places.member_at(&segment, end - 1);
            }
            self.open(now, slot, request, &segment, partial);
        }
    }

    /// Begins a deallocation of the rows that it covers completely. It is a hint, so the rest may
    /// stay as it is.
    fn admit_deallocation(&mut self, now: Instant, request: &Request) {
        let page_bytes = self.constants.page_bytes;
        let first = request.offset_bytes.div_ceil(page_bytes);
        let end = (request.offset_bytes + request.size_bytes) / page_bytes;
        let chunks = self.stripes.places.layout.data_chunks();
        let segments = self.stripes.places.layout.segments(first, end.saturating_sub(first));
        // It has one part more than stripes, so that it does not end before all of them have begun.
        let slot = self.requests.begin(now, now, request);
        for segment in segments.filter(move |segment| segment.chunks == chunks) {
            self.requests.add_part(slot);
            self.open(now, slot, request, &segment, MemberSet::EMPTY);
        }
        let part = PartEnded { failed: false, reconstructed: false, blocked: Blocked::No };
        self.end_part(now, slot, &part, &Delays::ZERO);
    }

    /// Ends a part of a request, and with the last part the request.
    #[inline]
    fn end_part(&mut self, now: Instant, slot: RequestSlot, part: &PartEnded, delays: &Delays) {
        if let Some(outcome) = self.requests.end_part(now, slot, part, delays) {
            let (request, ended) = (outcome.request, outcome.ended);
            self.sending.counters.failed_requests += u64::from(ended == Ended::Failed);
            self.sending.out.emit_event(now, || Event::RequestCompleted { request, ended });
            self.sending.out.emit(Action::Complete(outcome));
        }
    }

    /// Takes the answer of a drive to a command. A read that failed ([`nvme::Status::Unrecovered`])
    /// is reconstructed; a drive that failed a write is declared failed, as by
    /// [`Array::fail_drive`]. Later answers of a failed drive are ignored.
    ///
    /// `completion.delays` must sum to the time from the command's submission to `now` for reads.
    pub fn handle_completion(&mut self, now: Instant, completion: &Completion) {
        self.handle_deadline(now);
        self.end_command(now, completion);
        self.begin_repairs(now);
        self.begin_stripes(now);
        self.sending.end_input();
    }

    /// Takes the answer to [`Action::Check`] or [`Action::Compare`]: whether `member` matches.
    pub fn handle_checked(&mut self, now: Instant, op: OpId, member: u8, fits: bool) {
        self.go_on(now, op, Input::Compared { member, fits }, &Delays::ZERO);
        self.begin_repairs(now);
        self.begin_stripes(now);
        self.sending.end_input();
    }

    /// Ends a command that its drive has answered.
    #[inline]
    pub(super) fn end_command(&mut self, now: Instant, completion: &Completion) {
        let record = self.sending.commands.take(completion.id);
        let CommandRecord { purpose, drive, opcode, .. } = record;
        let mut status = completion.status;
        self.sending.out.emit_event(now, || Event::Answered {
            command: completion.id,
            drive,
            status,
        });
        let Purpose::Member { op, member, .. } = purpose else {
            self.answered(now, &record, status);
            self.sending.end_drain(now, &record);
            return;
        };
        if opcode == Opcode::Deallocate {
            self.end_deallocation(now, op, member, &record, status);
            return;
        }
        self.answered(now, &record, status);
        self.sending.follow_backlog(now, completion.id, &record);
        if opcode == Opcode::Write {
            self.sending.end_bypass(now, &record);
            self.end_write_of_member(now, op, member);
            return;
        }
        if self.stripes.places.availability.is_absent(drive) {
            status = Status::Unrecovered;
        }
        self.take_answer(now, &record, completion, status);
    }

    /// Notes a read or write that its drive has answered. A drive that failed a write is declared
    /// failed.
    #[inline]
    pub(super) fn answered(&mut self, now: Instant, record: &CommandRecord, status: Status) {
        self.sending.commands.answered_by_drive(record);
        let latency = now.since(record.sent);
        self.sending.rules.answered(now, || Answered {
            command: record.as_sent(),
            status,
            latency,
            for_others: matches!(record.purpose, Purpose::Member { for_others: true, .. }),
            hedged: match record.purpose {
                Purpose::Member { op, .. } => self.stripes.ops[op].fetch.hedge_reads() > 0,
                _ => false,
            },
        });
        if record.opcode == Opcode::Read && self.sending.judge(now, record, status, latency) {
            let (incomplete, parities) = self.stripes.places.incomplete();
            self.sending.tell_verdicts(now, incomplete, parities);
        }
        if record.opcode == Opcode::Write && status == Status::Unrecovered {
            self.give_up(now, record.drive);
        }
    }

    /// Time at which the array began to distrust a drive for late answers; `None` while it is read.
    #[must_use]
    pub fn distrusted_since(&self, drive: DriveId) -> Option<Instant> {
        self.sending.rules.trust()?.since(drive)
    }

    /// Drives that were ever distrusted, each with the total time of distrust until `now`.
    #[must_use]
    pub fn distrusted_times(&self, now: Instant) -> Vec<(DriveId, Duration)> {
        self.sending.rules.trust().map_or(Vec::new(), |trust| trust.times(now).collect())
    }

    /// Declares a drive failed that could not write.
    #[cold]
    pub(super) fn give_up(&mut self, now: Instant, drive: DriveId) {
        self.sending.counters.unrecovered_writes += 1;
        self.fail_drive(now, drive);
    }

    /// Declares a drive failed: emits [`Happening::DriveFailed`], and sends nothing to it from now
    /// on. Commands in flight to it must still be answered, with any status, which is ignored.
    ///
    /// Nothing happens if the drive is absent already, or does not exist.
    pub fn fail_drive(&mut self, now: Instant, drive: DriveId) {
        self.fail_drive_for(now, drive, FailReason::GivenUp);
    }

    /// As [`Array::fail_drive`], for a reason found elsewhere.
    pub fn fail_drive_for(&mut self, now: Instant, drive: DriveId, reason: FailReason) {
        let is_there = u32::from(drive.0) < self.stripes.places.layout.width();
        if !is_there || !self.stripes.places.availability.drive_failed(drive) {
            return;
        }
        self.jobs.cancel_rebuild(drive);
        let (incomplete, parities) = self.stripes.places.incomplete();
        if let Some(trust) = self.sending.rules.trust_mut() {
            trust.drive_failed(now, drive);
            self.sending.tell_verdicts(now, incomplete, parities);
        }
        self.sending.out.emit_event(now, || Event::DriveFailed { drive });
        self.sending.out.emit(Action::Happened(Happening::DriveFailed { drive, reason }));
        self.sending.note_missing(now, incomplete, parities);
        self.sending.answer_for_absent(now, self.stripes.places.availability.absent());
        self.abandon_cache(now, drive);
        self.abandon_backlog(now, drive);
        self.begin_stripes(now);
        self.sending.refresh_deadline();
    }

    /// Puts an empty drive in the place of an absent one, and rebuilds all its stripes in the
    /// background, until [`Happening::JobEnded`]. The drive is told when it may collect.
    ///
    /// # Errors
    ///
    /// If the drive is not absent, or commands to the drive before it are in flight.
    pub fn replace_drive(&mut self, now: Instant, drive: DriveId) -> Result<(), CannotReplace> {
        self.resume_rebuild(now, drive, core::iter::once(0..self.stripes.places.layout.stripes()))
    }

    /// As [`Array::replace_drive`] with a drive that lacks only these stripes. To be called before
    /// the first request, and only if stripes keep their places.
    ///
    /// # Errors
    ///
    /// Those of [`Array::replace_drive`].
    pub fn resume_rebuild(
        &mut self,
        now: Instant,
        drive: DriveId,
        stripes: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<(), CannotReplace> {
        self.can_replace(drive)?;
        let all = self.stripes.places.layout.stripes();
        let stripes = stripes.into_iter().map(|Range { start, end }| start.min(all)..end.min(all));
        let stripes = self.stripes.places.availability.drive_replaced(drive, stripes);
        self.sending.permits.drive_replaced(drive);
        self.sending.rules.drive_replaced(drive);
        self.sending.emit_notices(now);
        self.add_job(now, JobKind::Rebuild(drive), stripes);
        Ok(())
    }

    /// As [`Array::replace_drive`] with the drive that was there before. It lacks only data written
    /// in its absence: these stripes, and any that is being written now. Only if stripes keep their
    /// places.
    ///
    /// # Errors
    ///
    /// Those of [`Array::replace_drive`].
    pub fn take_drive_back(
        &mut self,
        now: Instant,
        drive: DriveId,
        stripes: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<(), CannotReplace> {
        // Operations in progress began without it.
        let at_work = self.stripes.queues.at_work().map(|stripe| stripe..stripe + 1);
        let at_work: Vec<Range<u64>> = at_work.collect();
        self.resume_rebuild(now, drive, stripes.into_iter().chain(at_work))
    }

    /// Checks whether [`Array::replace_drive`] is possible now.
    ///
    /// # Errors
    ///
    /// Those of [`Array::replace_drive`].
    pub fn can_replace(&self, drive: DriveId) -> Result<(), CannotReplace> {
        let width = self.stripes.places.layout.width();
        if u32::from(drive.0) >= width {
            return Err(CannotReplace::NoSuchDrive { drive, width });
        }
        if !self.stripes.places.availability.is_absent(drive) {
            return Err(CannotReplace::Present { drive });
        }
        if self.sending.commands.queues().of(drive).blocks() > 0 {
            return Err(CannotReplace::StillBusy { drive });
        }
        Ok(())
    }

    /// Resyncs these stripes in the background: after a crash their parity may not match their
    /// data, and copies of a mirror may differ. Until a stripe is done nothing is reconstructed
    /// with its parity, and its copies are made equal before they are read. [`Happening::JobEnded`]
    /// when all are done. To be called before the first request.
    ///
    /// Parity of a stripe with missing data stays as it is and is assumed to match. A driver that
    /// writes to arrays with missing drives must ensure that before, with a journal for example.
    /// Data that becomes unreadable before its stripe is done cannot be reconstructed: reads of it
    /// and all writes of the stripe fail.
    pub fn resync(&mut self, now: Instant, stripes: impl IntoIterator<Item = Range<u64>>) {
        if self.stripes.places.layout.level().is_redundant() {
            let stripes = self.stripes.places.availability.begin_resync(
                &self.stripes.places.layout,
                &self.stripes.places.relocation,
                stripes,
            );
            self.add_job(now, JobKind::Resync, stripes);
        }
    }

    /// Scrubs: has the parity of each stripe compared with its data ([`Action::Check`]). Pages that
    /// cannot be read are repaired ([`Config::read_repair`]). Parity that does not match is
    /// reported ([`Happening::ParityMismatch`]), and with `rewrites` written again.
    /// [`Happening::JobEnded`] ends it.
    pub fn scrub(&mut self, now: Instant, rewrites: bool) {
        let job = if rewrites { JobKind::ScrubRepair } else { JobKind::Scrub };
        self.add_job(now, job, self.stripes.places.layout.stripes());
    }

    fn add_job(&mut self, now: Instant, job: JobKind, stripes: u64) {
        self.sending.out.emit_event(now, || Event::JobStarted { job });
        self.jobs.add(job, stripes);
        self.begin_stripes(now);
        self.sending.end_input();
    }

    /// Prepares a change of the policy: the write cache takes nothing in and drains, and jobs begin
    /// no stripe. Requests are served. [`Array::set_policy`] or [`Array::stay_with_policy`] ends
    /// it.
    pub fn prepare_to_switch(&mut self, now: Instant) {
        self.jobs.set_paused(true);
        if let Some(cache) = &mut self.sending.cache {
            cache.set_closed(true);
            self.sending.drain_cache(now);
        }
        self.sending.end_input();
    }

    /// Cancels [`Array::prepare_to_switch`].
    pub fn stay_with_policy(&mut self, now: Instant) {
        self.jobs.set_paused(false);
        if let Some(cache) = &mut self.sending.cache {
            cache.set_closed(false);
        }
        self.begin_stripes(now);
        self.sending.end_input();
    }

    /// Changes the policy. Every drive is sent a new permit; windows begin now. Relocated chunks
    /// stay where they are. Counters go on.
    ///
    /// # Errors
    ///
    /// If anything is in progress (see [`Array::prepare_to_switch`]) or the policy does not suit
    /// the level; then nothing has changed.
    pub fn set_policy(
        &mut self,
        now: Instant,
        policy: PolicyKind,
        settings: &PolicySettings,
        coordination: Coordination,
    ) -> Result<(), CannotSwitch> {
        self.handle_deadline(now);
        let level = self.stripes.places.layout.level();
        let (held_back, operations) = (self.requests.held_back(), self.stripes.ops.len());
        CannotSwitch::check(policy, level, held_back, operations, self.sending.cache.as_deref())?;
        let about = policy.about();
        let width = self.stripes.places.layout.width();
        let rules = Rules::of(
            policy,
            &PolicySetup {
                drives: width,
                parities: self.stripes.places.layout.parities(),
                reconstruct_compute: self.constants.reconstruct_time,
                settings,
            },
            self.stripes.places.availability.absent(),
        );
        self.sending.set_rules(rules, (width, self.constants.page_bytes));
        let relocates = self.sending.rules.view().relocates_chunks()
            && self.stripes.places.layout.chunk_pages() == 1;
        if relocates && !self.stripes.places.relocation.can_move() {
            let Range { start, end } = self.constants.spare;
            self.stripes.places.relocation =
                Relocation::new(&self.stripes.places.layout, start, end - start);
        }
        // Permits and status requests of the policy before are void.
        self.sending
            .out
            .retract(|action| matches!(action, Action::Permit { .. } | Action::AskStatus { .. }));
        self.sending.permits.switch(now, about.windows, coordination);
        self.sending.emit_notices(now);
        self.stay_with_policy(now);
        self.sending.refresh_deadline();
        Ok(())
    }

    /// Panics if the state of the array contradicts itself. May be called between any two inputs.
    pub fn check_invariants(&self) {
        self.stripes.places.availability.check_invariants();
        self.stripes.queues.check_invariants();
        self.sending.commands.check_invariants();
        self.jobs.repairs.check_invariants();
        if let Some(cache) = &self.sending.cache {
            cache.check_invariants();
        }
        if let Some(backlogs) = &self.sending.backlogs {
            backlogs.check_invariants();
        }
        checking::check_operations(self);
        let next = self.next_deadline();
        let cache =
            self.sending.cache.as_ref().map_or(Instant::NEVER, |cache| cache.next_deadline());
        for due in [self.sending.permits.next_deadline(), self.sending.rules.next_deadline(), cache]
        {
            assert!(next <= due, "something is due at {due:?}, before {next:?}");
        }
    }
}
