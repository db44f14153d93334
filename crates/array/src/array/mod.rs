//! The array: a router between machines that own their state. Inputs come in here, and only here
//! and in the files beside it are actions and events emitted.

mod background;
mod checking;
mod constants;
mod copies;
mod drives;
mod fetching;
mod judging;
mod repairing;
mod settling;
mod writing;

use crate::action::JobKind;
use crate::action::{Action, Ended, OpId};
use crate::availability::{Availability, CannotReplace, DriveState};
use crate::cache_config::WriteCacheCounters;
use crate::commands::{CommandRecord, Commands, Purpose};
use crate::config::Config;
use crate::contract::Contract;
use crate::coordinate::{Coordination, Coordinator, Notice};
use crate::counters::Counters;
use crate::drive_queues::Queues;
use crate::event::Event;
use crate::jobs::{JobProgress, Jobs};
use crate::layout::{Layout, Segment};
use crate::members::MemberSet;
use crate::operation::{Operations, RequestSlot, Work};
use crate::outbox::Outbox;
use crate::permits::Permits;
use crate::policy::{Answered, Asked, PolicyKind, PolicySettings, PolicySetup, Rules, Tally};
use crate::read_repairs::RepairCounters;
use crate::relocation::{Place, Relocation};
use crate::request::{Request, RequestKind};
use crate::requests::{PartEnded, Requests};
use crate::stripe_queues::StripeQueues;
use crate::switch::CannotSwitch;
use crate::timers::{Computation, Timers};
use crate::trust::Trust;
use crate::write_cache::WriteCache;
use alloc::boxed::Box;
use alloc::vec::Vec;
use constants::Constants;
use core::ops::Range;
use nvme::{Blocked, CollectionReport, Completion, Delays, DriveStatus, Opcode, Status};
use units::{DriveId, Duration, Instant, Lba, Observe, Unobserved};

/// One array. See the crate documentation for the contract of its methods.
pub struct Array<O: Observe = Unobserved> {
    layout: Layout,
    constants: Constants,
    rules: Rules,
    permits: Permits,
    relocation: Relocation,
    availability: Availability,
    jobs: Jobs,
    requests: Requests,
    ops: Operations,
    stripes: StripeQueues,
    commands: Commands,
    timers: Timers,
    /// The fast memory in front of the drives, if the policy has one.
    cache: Option<Box<WriteCache>>,
    counters: Counters,
    out: Outbox<O>,
}

impl Array<Unobserved> {
    /// An idle array that nobody watches.
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
        let cache = rules.view().write_cache();
        let cache = cache.map(|cache| Box::new(WriteCache::new(cache, width, page_bytes)));
        let relocates = rules.view().relocates_chunks() && layout.chunk_pages() == 1;
        let spare_blocks = if relocates { spare.end - spare.start } else { 0 };
        let mut array = Self {
            constants: Constants {
                page_bytes,
                capacity_bytes: layout.capacity_pages() * page_bytes,
                reconstruct_time: config.reconstruct_compute,
                spare: spare.clone(),
            },
            rules,
            permits: Permits::new(
                (width, layout.parities()),
                about.windows,
                config.coordination,
                MemberSet::from_bits(config.absent),
            ),
            relocation: Relocation::new(&layout, spare.start, spare_blocks),
            availability: Availability::new(absent),
            jobs: Jobs::new(config.job_depth, config.read_repair),
            requests: Requests::default(),
            ops: Operations::default(),
            stripes: StripeQueues::new(),
            commands: Commands::new(width),
            timers: Timers::new(),
            cache,
            counters: Counters::new(width as usize),
            out: Outbox::new(config.data_actions),
            layout,
        };
        array.emit_notices(Instant::ZERO);
        array.refresh_deadline();
        array
    }

    /// The arrangement of the array.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes that the host can use.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.constants.capacity_bytes
    }

    /// Totals since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What has become of pages that drives could not read.
    #[must_use]
    pub fn read_repairs(&self) -> &RepairCounters {
        self.jobs.repairs.counters()
    }

    /// What the write cache has done; none if the policy has none.
    #[must_use]
    pub fn write_cache_counters(&self) -> Option<&WriteCacheCounters> {
        self.cache.as_ref().map(|cache| cache.counters())
    }

    /// Pages that the write cache holds.
    #[must_use]
    pub fn cached_pages(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.held_pages())
    }

    /// What the policy has counted since the start.
    #[must_use]
    pub fn tallies(&self) -> Vec<Tally> {
        let mut tallies = self.rules.view().tallies();
        tallies.extend(self.rules.trust().into_iter().flat_map(Trust::tallies));
        tallies
    }

    /// Requests that are not done.
    #[must_use]
    pub fn requests_in_flight(&self) -> usize {
        self.requests.len()
    }

    /// Stripe operations that are not closed; more than the requests need while superfluous reads
    /// are still out.
    #[must_use]
    pub fn operations_in_flight(&self) -> usize {
        self.ops.len()
    }

    /// Drives that are missing, as bits. A drive that was replaced is not.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.availability.absent().bits()
    }

    /// What a drive holds of its data.
    #[must_use]
    pub fn drive_state(&self, drive: DriveId) -> DriveState {
        let stripes = self.availability.stripes_to_rebuild(drive);
        match stripes {
            _ if self.availability.is_absent(drive) => DriveState::Failed,
            0 => DriveState::Serving,
            _ if self.jobs.has_rebuild(drive) => DriveState::Rebuilding { stripes },
            _ => DriveState::Incomplete { stripes },
        }
    }

    /// Whether every member of every stripe can be read.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.availability.is_optimal()
    }

    /// Who may collect when.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        self.permits.coordinator()
    }

    /// What reads can count on now, as far as busy windows go.
    #[must_use]
    pub fn contract(&self) -> Contract {
        self.permits.contract()
    }

    /// Whether [`Array::handle_report`] is to be called whenever a drive's collections change.
    #[must_use]
    pub fn watches_drives(&self) -> bool {
        self.rules.view().watches_drives()
    }

    /// What the policy took collections to last, on average, if it reckoned with any.
    #[must_use]
    pub fn expected_collection(&self) -> Option<Duration> {
        self.rules.view().expected_collection()
    }

    /// Commands that were sent to each drive, and those that are out.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        self.commands.queues()
    }

    /// Bytes of the map of relocated chunks, when it was largest.
    #[must_use]
    pub fn map_bytes(&self) -> u64 {
        self.relocation.bytes()
    }

    /// The drive and the block where row `row` of the chunk of `member` is, a member of `stripe`.
    #[must_use]
    pub fn locate(&self, stripe: u64, row: u32, member: DriveId) -> (DriveId, Lba) {
        let Place { drive, block } = self.relocation.locate(&self.layout, stripe, row, member.0);
        (drive, block)
    }

    /// The job that is under way; of several the one that is done first.
    #[must_use]
    pub fn job(&self) -> Option<JobProgress> {
        self.jobs.current()
    }

    /// The next thing to do.
    #[inline]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.out.poll()
    }

    /// Gives `take` the events since the last call, in order ([`units::Recorded`] arrays keep them).
    pub fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.out.drain_events(take);
    }

    /// When [`Array::handle_deadline`] should be called if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.timers.next_deadline()
    }

    /// Something may have changed when the array wants to be called.
    fn refresh_deadline(&mut self) {
        let cache = self.cache.as_ref().map_or(Instant::NEVER, |cache| cache.next_deadline());
        let others = self.permits.next_deadline().min(self.rules.next_deadline()).min(cache);
        self.timers.refresh(others);
    }

    /// As [`Array::refresh_deadline`], after an input that changes only the deadlines of the policy
    /// and of the write cache: those of all else are noted where they arise.
    #[inline]
    fn end_input(&mut self) {
        if self.cache.is_some() || self.rules.has_deadline() {
            self.refresh_deadline();
        }
    }

    /// Lets time pass until `now`.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.timers.next_deadline() <= now || !self.jobs.is_empty() {
            self.pass_time(now);
        }
    }

    #[cold]
    fn pass_time(&mut self, now: Instant) {
        while let Some(Computation { due, op, passed }) = self.timers.pop_computed(now) {
            self.end_fetch(due, op, &passed);
        }
        if self.permits.next_deadline() <= now {
            self.permits.handle_deadline(now);
            self.emit_notices(now);
            self.answer_for_absent(now);
        }
        if self.rules.next_deadline() <= now {
            self.rules.policy().handle_deadline(now);
            self.follow_policy(now);
        }
        if self.cache.as_ref().is_some_and(|cache| cache.next_deadline() <= now) {
            self.handle_cache_deadline(now);
        }
        while let Some((op, serial)) = self.timers.pop_late(now) {
            self.hedge(now, op, serial);
        }
        background::pump(self, now);
        self.refresh_deadline();
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
        let changed = self.permits.set_window(now, busy_time_window);
        self.emit_notices(now);
        self.refresh_deadline();
        changed
    }

    /// Takes the answer of a drive to [`Action::AskStatus`].
    pub fn handle_status(&mut self, now: Instant, drive: DriveId, status: &DriveStatus) {
        self.permits.handle_status(now, drive, status);
        self.emit_notices(now);
        self.refresh_deadline();
    }

    /// Says to the drives what the coordination has for them.
    fn emit_notices(&mut self, now: Instant) {
        while let Some(notice) = self.permits.poll_notice() {
            match notice {
                Notice::Permit { drive, right } => {
                    self.out.emit_event(now, || Event::Permitted { drive, right });
                    self.out.emit(Action::Permit { drive, right });
                }
                Notice::AskStatus { drive } => self.out.emit(Action::AskStatus { drive }),
            }
        }
    }

    /// Answers for drives that are not there when the coordination asks how much room they have.
    fn answer_for_absent(&mut self, now: Instant) {
        let absent = self.availability.absent();
        if absent.is_empty() {
            return;
        }
        let mut asked = MemberSet::EMPTY;
        self.out.retract(|action| match action {
            Action::AskStatus { drive } if absent.contains(drive.0) => {
                asked.insert(drive.0);
                true
            }
            _ => false,
        });
        for drive in asked {
            self.permits.answer_for_absent(now, DriveId(drive));
            self.emit_notices(now);
        }
    }

    /// Takes what a drive announces about its collections, if [`Array::watches_drives`].
    pub fn handle_report(&mut self, now: Instant, drive: DriveId, report: &CollectionReport) {
        self.rules.policy().handle_report(now, drive, report);
        self.end_input();
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
        self.out.emit_event(now, || Event::RequestArrived {
            request: id,
            kind,
            offset_bytes,
            size_bytes,
        });
        if kind == RequestKind::Deallocate {
            // It is no work for the drives that a policy could wish to delay.
            self.admit_deallocation(now, request);
        } else if self.rules.admits(now, || Asked { host, kind, size_bytes }) {
            self.admit(now, now, request);
        } else {
            self.counters.held_back += 1;
            self.out.emit_event(now, || Event::RequestHeldBack { request: id });
            self.requests.hold_back(now, *request);
        }
        if self.cache.is_some() || self.requests.held_back() > 0 {
            self.follow_policy(now);
        }
        self.end_input();
    }

    /// Begins requests that the policy no longer holds back, and drains the write cache.
    fn follow_policy(&mut self, now: Instant) {
        while self.requests.held_back() > 0 && self.rules.view().releases() {
            if let Some((arrived, request)) = self.requests.release_one() {
                self.admit(now, arrived, &request);
            }
        }
        self.drain_cache(now);
    }

    /// Begins a request that came at `arrived`.
    fn admit(&mut self, now: Instant, arrived: Instant, request: &Request) {
        let page_bytes = self.constants.page_bytes;
        let end_bytes = request.offset_bytes + request.size_bytes;
        let first = request.offset_bytes / page_bytes;
        let end = end_bytes.div_ceil(page_bytes);
        let pages = end - first;
        let cut_first = first * page_bytes != request.offset_bytes;
        let cut_last = end * page_bytes != end_bytes;
        match request.kind {
            RequestKind::Read => self.counters.host_read_pages += pages,
            RequestKind::Write => self.counters.host_written_pages += pages,
            RequestKind::Deallocate => {}
        }
        let slot = self.requests.begin(now, arrived, request);
        if pages == 1 {
            let segment = self.layout.segment_of(first);
            let is_partial = cut_first || cut_last;
            let partial = match is_partial {
                true => self.member_at(&segment, first),
                false => MemberSet::EMPTY,
            };
            return self.open(now, slot, request, &segment, partial);
        }
        let mut segments = self.layout.segments(first, pages);
        let mut next = segments.next();
        while let Some(segment) = next {
            next = segments.next();
            // Counted before this one begins, because it may end at once.
            if next.is_some() {
                self.requests.add_part(slot);
            }
            let mut partial = MemberSet::EMPTY;
            if cut_first {
                partial |= self.member_at(&segment, first);
            }
            if cut_last {
                partial |= self.member_at(&segment, end - 1);
            }
            self.open(now, slot, request, &segment, partial);
        }
    }

    /// Begins a deallocation: of the rows all of whose data it covers. It is a hint, so the rest
    /// may stay as it is.
    fn admit_deallocation(&mut self, now: Instant, request: &Request) {
        let page_bytes = self.constants.page_bytes;
        let first = request.offset_bytes.div_ceil(page_bytes);
        let end = (request.offset_bytes + request.size_bytes) / page_bytes;
        let chunks = self.layout.data_chunks();
        let segments = self.layout.segments(first, end.saturating_sub(first));
        // It has one part more than stripes, so that it does not end before all have begun.
        let slot = self.requests.begin(now, now, request);
        for segment in segments.filter(move |segment| segment.chunks == chunks) {
            self.requests.add_part(slot);
            self.open(now, slot, request, &segment, MemberSet::EMPTY);
        }
        let part = PartEnded { failed: false, reconstructed: false, blocked: Blocked::No };
        self.end_part(now, slot, &part, &Delays::ZERO);
    }

    /// The member of `segment` that holds page `page` of the array, if one does.
    fn member_at(&self, segment: &Segment, page: u64) -> MemberSet {
        for chunk in segment.first_chunk..segment.first_chunk + segment.chunks {
            let first = self.layout.page(segment.stripe, chunk, segment.first_row);
            if (first..first + u64::from(segment.rows)).contains(&page) {
                return MemberSet::of(self.layout.member_of(segment.stripe, chunk).0);
            }
        }
        MemberSet::EMPTY
    }

    /// A part of a request is over; with the last of them the request is.
    #[inline]
    fn end_part(&mut self, now: Instant, slot: RequestSlot, part: &PartEnded, delays: &Delays) {
        if let Some(outcome) = self.requests.end_part(now, slot, part, delays) {
            let (request, ended) = (outcome.request, outcome.ended);
            self.counters.failed_requests += u64::from(ended == Ended::Failed);
            self.out.emit_event(now, || Event::RequestCompleted { request, ended });
            self.out.emit(Action::Complete(outcome));
        }
    }

    /// Takes the answer of a drive to a command. A read that the drive could not do
    /// ([`nvme::Status::Unrecovered`]) is reconstructed; a drive that could not write is given up,
    /// as by [`Array::fail_drive`]. What a drive answers after it was given up counts for nothing.
    ///
    /// `completion.delays` must sum to the time from the command's submission to `now` for reads.
    pub fn handle_completion(&mut self, now: Instant, completion: &Completion) {
        self.handle_deadline(now);
        self.end_command(now, completion);
        repairing::pump(self, now);
        background::pump(self, now);
        self.end_input();
    }

    /// Takes the answer to [`Action::Check`] or [`Action::Compare`]: whether `member` fits.
    pub fn handle_checked(&mut self, now: Instant, op: OpId, member: u8, fits: bool) {
        match self.ops[op].work {
            Work::Settle { .. } => settling::compared(self, now, op, member, fits),
            _ => background::compared(self, now, op, member, fits),
        }
        repairing::pump(self, now);
        background::pump(self, now);
        self.end_input();
    }

    /// A drive has answered a command.
    #[inline]
    pub(super) fn end_command(&mut self, now: Instant, completion: &Completion) {
        let record = self.commands.take(completion.id);
        let CommandRecord { purpose, drive, opcode, .. } = record;
        let mut status = completion.status;
        self.out.emit_event(now, || Event::Answered { command: completion.id, drive, status });
        let Purpose::Member { op, member, .. } = purpose else {
            self.answered(now, &record, status);
            self.end_drain(now, &record);
            return;
        };
        if opcode == Opcode::Deallocate {
            self.end_deallocation(now, op, member, &record, status);
            return;
        }
        self.answered(now, &record, status);
        if opcode == Opcode::Write {
            self.end_bypass(now, &record);
            self.end_write_of_member(now, op, member);
            return;
        }
        if self.availability.is_absent(drive) {
            status = Status::Unrecovered;
        }
        self.take_answer(now, &record, completion, status);
    }

    /// A read or a write is answered by its drive. One that could not write is given up.
    #[inline]
    pub(super) fn answered(&mut self, now: Instant, record: &CommandRecord, status: Status) {
        self.commands.answered_by_drive(record);
        let latency = now.since(record.sent);
        self.rules.answered(now, || Answered { command: record.as_sent(), status, latency });
        if record.opcode == Opcode::Read {
            judging::judge(self, now, record, status, latency);
        }
        if record.opcode == Opcode::Write && status == Status::Unrecovered {
            self.give_up(now, record.drive);
        }
    }

    /// When the array began to distrust a drive, for its late answers; `None` while it is read.
    #[must_use]
    pub fn distrusted_since(&self, drive: DriveId) -> Option<Instant> {
        self.rules.trust()?.since(drive)
    }

    /// Drives that were ever distrusted, and for how long until `now` in all.
    #[must_use]
    pub fn distrusted_times(&self, now: Instant) -> Vec<(DriveId, Duration)> {
        self.rules.trust().map_or(Vec::new(), |trust| trust.times(now).collect())
    }

    /// A drive could not write: the array goes on without it.
    #[cold]
    pub(super) fn give_up(&mut self, now: Instant, drive: DriveId) {
        self.counters.unrecovered_writes += 1;
        self.fail_drive(now, drive);
    }

    /// Gives a drive up: [`Action::DriveFailed`], and nothing is sent to it from now on. Commands
    /// that are out to it must still be answered, with any status; they count for nothing.
    ///
    /// If the drive is absent already, or there is none, nothing happens.
    pub fn fail_drive(&mut self, now: Instant, drive: DriveId) {
        drives::fail(self, now, drive);
    }

    /// An empty drive has replaced one that is absent: rebuilds all its stripes in the background,
    /// until [`Action::JobEnded`]. The drive is told when it may collect.
    ///
    /// # Errors
    ///
    /// If the drive is not absent, or commands to the one before it are still out.
    pub fn replace_drive(&mut self, now: Instant, drive: DriveId) -> Result<(), CannotReplace> {
        self.resume_rebuild(now, drive, core::iter::once(0..self.layout.stripes()))
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
        drives::replace(self, now, drive, stripes)
    }

    /// As [`Array::replace_drive`] with the drive that was there before, which lacks only what was
    /// written since it is absent: these stripes, and any that is being written now. Only if
    /// stripes keep their places.
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
        drives::take_back(self, now, drive, stripes)
    }

    /// Whether [`Array::replace_drive`] would be done now.
    ///
    /// # Errors
    ///
    /// Those of [`Array::replace_drive`].
    pub fn can_replace(&self, drive: DriveId) -> Result<(), CannotReplace> {
        drives::can_replace(self, drive)
    }

    /// Resyncs these stripes in the background: after a crash their parity may not match their
    /// data, and copies of a mirror may differ. Until a stripe is done nothing is reconstructed
    /// with its parity, and its copies are made equal before they are read. [`Action::JobEnded`]
    /// when all are done. To be called before the first request.
    ///
    /// Parity of a stripe with missing data stays as it is and is assumed to match. A driver that
    /// writes to arrays with missing drives must ensure that before, with a journal for example.
    /// Data that becomes unreadable before its stripe is done cannot be reconstructed: reads of it
    /// and all writes of the stripe fail.
    pub fn resync(&mut self, now: Instant, stripes: impl IntoIterator<Item = Range<u64>>) {
        if self.layout.level().is_redundant() {
            let stripes = self.availability.begin_resync(&self.layout, &self.relocation, stripes);
            self.add_job(now, JobKind::Resync, stripes);
        }
    }

    /// Scrubs: has the parity of each stripe compared with its data ([`Action::Check`]). Pages that
    /// cannot be read are repaired ([`Config::read_repair`]). Parity that does not fit is reported
    /// ([`Action::ParityMismatch`]), and with `rewrites` written again. [`Action::JobEnded`] ends it.
    pub fn scrub(&mut self, now: Instant, rewrites: bool) {
        let job = if rewrites { JobKind::ScrubRepair } else { JobKind::Scrub };
        self.add_job(now, job, self.layout.stripes());
    }

    fn add_job(&mut self, now: Instant, job: JobKind, stripes: u64) {
        self.out.emit_event(now, || Event::JobStarted { job });
        self.jobs.add(job, stripes);
        background::pump(self, now);
        self.end_input();
    }

    /// Prepares a switch of the policy: the write cache takes nothing in and drains, and jobs begin
    /// no stripe. Requests are served. [`Array::set_policy`] or [`Array::stay_with_policy`] ends it.
    pub fn prepare_to_switch(&mut self, now: Instant) {
        self.jobs.set_paused(true);
        if let Some(cache) = &mut self.cache {
            cache.set_closed(true);
            self.drain_cache(now);
        }
        self.end_input();
    }

    /// Takes [`Array::prepare_to_switch`] back.
    pub fn stay_with_policy(&mut self, now: Instant) {
        self.jobs.set_paused(false);
        if let Some(cache) = &mut self.cache {
            cache.set_closed(false);
        }
        background::pump(self, now);
        self.end_input();
    }

    /// Goes on under another policy. Every drive is sent a new permit; windows begin now.
    /// Chunks that have moved stay where they are. What is counted goes on.
    ///
    /// # Errors
    ///
    /// If anything is under way (see [`Array::prepare_to_switch`]) or the policy does not suit the
    /// level; nothing has changed then.
    pub fn set_policy(
        &mut self,
        now: Instant,
        policy: PolicyKind,
        settings: &PolicySettings,
        coordination: Coordination,
    ) -> Result<(), CannotSwitch> {
        self.handle_deadline(now);
        self.may_switch(policy)?;
        let about = policy.about();
        let width = self.layout.width();
        self.rules = Rules::of(
            policy,
            &PolicySetup {
                drives: width,
                parities: self.layout.parities(),
                reconstruct_compute: self.constants.reconstruct_time,
                settings,
            },
            self.availability.absent(),
        );
        let (cache, page_bytes) = (self.rules.view().write_cache(), self.constants.page_bytes);
        self.cache = cache.map(|cache| Box::new(WriteCache::new(cache, width, page_bytes)));
        self.timers.forget_late();
        let relocates = self.rules.view().relocates_chunks() && self.layout.chunk_pages() == 1;
        if relocates && !self.relocation.can_move() {
            let Range { start, end } = self.constants.spare;
            self.relocation = Relocation::new(&self.layout, start, end - start);
        }
        // What the drives were told under the policy before is void.
        self.out
            .retract(|action| matches!(action, Action::Permit { .. } | Action::AskStatus { .. }));
        self.permits.switch(now, about.windows, coordination);
        self.emit_notices(now);
        self.stay_with_policy(now);
        self.refresh_deadline();
        Ok(())
    }

    fn may_switch(&self, policy: PolicyKind) -> Result<(), CannotSwitch> {
        let level = self.layout.level();
        if !policy.is_possible(level) {
            let (policy, level) = (policy.name(), level.name());
            return Err(CannotSwitch::Impossible { policy, level });
        }
        if self.requests.held_back() > 0 {
            return Err(CannotSwitch::HeldBack { requests: self.requests.held_back() });
        }
        if !self.ops.is_empty() {
            return Err(CannotSwitch::Busy { operations: self.ops.len() });
        }
        match &self.cache {
            Some(cache) if !cache.is_idle() => {
                Err(CannotSwitch::Cached { pages: cache.held_pages() })
            }
            _ => Ok(()),
        }
    }

    /// What a policy can look at about `stripe`.
    fn stripe_drives(&self, stripe: u64) -> u64 {
        self.relocation.drives(&self.layout, stripe).bits()
    }

    /// Panics if the state of the array contradicts itself. May be called between any two inputs.
    pub fn check_invariants(&self) {
        self.availability.check_invariants();
        self.stripes.check_invariants();
        self.commands.check_invariants();
        self.jobs.repairs.check_invariants();
        if let Some(cache) = &self.cache {
            cache.check_invariants();
        }
        checking::check_operations(self);
        let next = self.next_deadline();
        let cache = self.cache.as_ref().map_or(Instant::NEVER, |cache| cache.next_deadline());
        for due in [self.permits.next_deadline(), self.rules.next_deadline(), cache] {
            assert!(next <= due, "something is due at {due:?}, before {next:?}");
        }
    }
}
