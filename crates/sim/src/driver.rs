//! One run: the event loop that joins a workload, an array and its drives.

use crate::causes::CauseBuckets;
use crate::faults::{Fault, Faults};
use crate::latency::LatencySummary;
use crate::plan::{Plan, PlanError};
use crate::result::{BlockedReads, DriveResult, HostLatency, RunResult};
use crate::timeline::Recorder;
use crate::verify::{Mismatch, Verifier};
use array::{Action, Array, CannotReplace, Outcome, RequestId, RequestKind};
use nvme::{Blocked, CollectionReport, CollectionRight, Status, WindowSchedule};
use ssd::{CollectionSpan, Ssd};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;
use units::{Deadlines, DriveId, Duration, Instant};
use workload::{Arrival, Op, Request};

/// Simulated time without any progress after which a run is given up.
const PATIENCE: Duration = Duration::from_secs(600);
/// Completed requests between two reports of progress, and two entries of [`RunResult::pace`].
pub(crate) const PROGRESS_STEP: u64 = 4096;

/// Why a run ended early.
#[derive(Debug, Error)]
pub enum SimError<E> {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The workload ended with an error.
    #[error(transparent)]
    Workload(E),
    /// A request does not fit the array.
    #[error(
        "request {number} touches bytes {offset_bytes}..{end_bytes}, but the array has {capacity_bytes} bytes; wrap or scale the workload, or use larger drives"
    )]
    OutOfRange {
        /// Number of the request, from 1.
        number: u64,
        /// Its first byte.
        offset_bytes: u64,
        /// The byte after its last.
        end_bytes: u64,
        /// The array's size.
        capacity_bytes: u64,
    },
    /// A request is empty.
    #[error("request {number} has a size of zero; drop it or give it a size")]
    Empty {
        /// Number of the request, from 1.
        number: u64,
    },
    /// A request comes before the one ahead of it.
    #[error(
        "request {number} comes at {at:?}, before the request ahead of it at {before:?}; sort the workload by time"
    )]
    BackInTime {
        /// Number of the request, from 1.
        number: u64,
        /// Its time.
        at: Instant,
        /// The time of the request ahead of it.
        before: Instant,
    },
    /// Nothing moves any more: a bug of the model.
    #[error(
        "{in_flight} requests made no progress for {PATIENCE} of simulated time; this is a bug: please report the command line and the seed {seed}"
    )]
    Stalled {
        /// Requests in flight.
        in_flight: usize,
        /// The seed.
        seed: u64,
    },
    /// A verified run read something that was never written there.
    #[error("verification failed: {mismatch}; repeat with seed {seed} and policy {policy}")]
    Mismatch {
        /// What was wrong.
        mismatch: Mismatch,
        /// The seed.
        seed: u64,
        /// The policy.
        policy: &'static str,
    },
}

/// Runs `plan` on prepared drives with the given requests.
///
/// `progress` is counted up as requests complete.
///
/// # Errors
///
/// If the plan is impossible, the workload does not fit, or a verified run finds a wrong page.
pub fn run<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: impl Iterator<Item = Result<Request, E>>,
    progress: &AtomicU64,
) -> Result<RunResult, SimError<E>> {
    run_with_faults(plan, drives, arrival, requests, Vec::new(), progress)
}

/// The same with faults at given times. The run ends when the last of them has come and nothing is
/// being restored any more; what is verified at the end is verified only if no drive is missing then.
///
/// # Errors
///
/// As [`run`].
pub fn run_with_faults<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: impl Iterator<Item = Result<Request, E>>,
    faults: Vec<(Instant, Fault)>,
    progress: &AtomicU64,
) -> Result<RunResult, SimError<E>> {
    let started = std::time::Instant::now();
    let mut run = Run::new(plan, drives, arrival, requests, progress)?;
    run.faults = Faults::new(faults);
    run.drive()?;
    run.finish(started)
}

struct Run<'a, I> {
    plan: &'a Plan,
    array: Array,
    drives: Vec<Ssd>,
    /// One source per drive, then the array, the next arrival, the next change of windows, the
    /// next fault.
    sources: Deadlines,
    /// Drives that were touched and may have completions or another deadline.
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    /// What each drive announced last of its collections, if the policy listens.
    reports: Vec<CollectionReport>,
    requests: I,
    next: Option<Request>,
    /// Requests that a closed loop may still send at once; unlimited in an open loop.
    room: u64,
    /// When a closed loop stops to take requests.
    until: Instant,
    closed: bool,
    taken: u64,
    last_arrival: Instant,
    last_completion: Instant,
    read: LatencySummary,
    write: LatencySummary,
    hosts: Vec<HostLatency>,
    read_bytes: u64,
    written_bytes: u64,
    causes: CauseBuckets,
    blocked_reads: BlockedReads,
    busy_members: Vec<u64>,
    /// Drives that are not [`Ssd::quiet`], as bits.
    unquiet: u64,
    /// Stripe reads until one is looked at again.
    until_look: u32,
    recorder: Recorder,
    changes_made: usize,
    window_changes: Vec<(Instant, Duration)>,
    permits: u64,
    spans: Vec<CollectionSpan>,
    verifier: Option<Verifier>,
    faults: Faults,
    hash: u64,
    completed: u64,
    /// When each further [`PROGRESS_STEP`] requests were done.
    pace: Vec<Instant>,
    progress: &'a AtomicU64,
}

impl<'a, E, I: Iterator<Item = Result<Request, E>>> Run<'a, I> {
    fn new(
        plan: &'a Plan,
        mut drives: Vec<Ssd>,
        arrival: Arrival,
        requests: I,
        progress: &'a AtomicU64,
    ) -> Result<Self, SimError<E>> {
        let array = plan.array()?;
        for drive in &mut drives {
            drive.set_instant_collection(plan.policy.about().collects_instantly);
            if plan.timeline.is_some() {
                drive.record_collections();
            }
            if plan.verify {
                drive.record_media();
            }
        }
        let watched = if array.watches_drives() { drives.len() } else { 0 };
        let (closed, room, until) = match arrival {
            Arrival::Open => (false, u64::MAX, Instant::NEVER),
            Arrival::Closed { iodepth, runtime } => {
                let until = runtime.map_or(Instant::NEVER, |runtime| Instant::ZERO + runtime);
                (true, u64::from(iodepth), until)
            }
        };
        let width = drives.len();
        Ok(Self {
            verifier: plan.verify.then(|| Verifier::new(&array, &drives)),
            plan,
            array,
            sources: Deadlines::new(width + 4),
            touched: (0..width).collect(),
            is_touched: vec![true; width],
            reports: vec![CollectionReport::default(); watched],
            drives,
            requests,
            next: None,
            room,
            until,
            closed,
            taken: 0,
            last_arrival: Instant::ZERO,
            last_completion: Instant::ZERO,
            read: LatencySummary::new(),
            write: LatencySummary::new(),
            hosts: Vec::new(),
            read_bytes: 0,
            written_bytes: 0,
            causes: CauseBuckets::new(),
            blocked_reads: BlockedReads::default(),
            busy_members: vec![0; width + 1],
            unquiet: 0,
            until_look: 1,
            recorder: Recorder::new(plan.timeline, width),
            changes_made: 0,
            window_changes: Vec::new(),
            permits: 0,
            spans: Vec::new(),
            faults: Faults::default(),
            hash: 0x1d0a,
            completed: 0,
            pace: Vec::new(),
            progress,
        })
    }

    fn drive(&mut self) -> Result<(), SimError<E>> {
        let arrivals = self.drives.len() + 1;
        let array = self.drives.len();
        let changes = self.drives.len() + 2;
        let faults = self.drives.len() + 3;
        self.schedule_change();
        self.sources.set(faults, self.faults.next());
        self.fetch(Instant::ZERO)?;
        self.settle(Instant::ZERO)?;
        while let Some(source) = self.sources.first() {
            let now = self.sources.earliest();
            if source == arrivals {
                self.arrive(now)?;
            } else if source == array {
                self.array.handle_deadline(now);
            } else if source == changes {
                let (_, window) = self.plan.windows.changes[self.changes_made];
                self.array.set_window(now, window);
                self.changes_made += 1;
                self.schedule_change();
            } else if source == faults {
                self.break_something(now)?;
                self.sources.set(faults, self.faults.next());
            } else {
                self.drives[source].handle_deadline(now);
                self.touch(source);
            }
            self.settle(now)?;
            let in_flight = self.array.requests_in_flight();
            if in_flight == 0 && self.next.is_none() && self.is_mended() {
                return Ok(());
            }
            if in_flight > 0
                && now.since(self.last_completion) > PATIENCE
                && now.since(self.last_arrival) > PATIENCE
            {
                return Err(SimError::Stalled { in_flight, seed: self.plan.seed });
            }
        }
        match self.array.requests_in_flight() {
            0 => Ok(()),
            in_flight => Err(SimError::Stalled { in_flight, seed: self.plan.seed }),
        }
    }

    /// Whether no fault is to come and nothing is being restored.
    fn is_mended(&self) -> bool {
        self.faults.next() == Instant::NEVER && self.array.restoring().is_none()
    }

    fn break_something(&mut self, now: Instant) -> Result<(), SimError<E>> {
        match self.faults.take() {
            Some(Fault::Fail(drive)) => {
                self.array.fail_drive(now, drive);
                if let Some(verifier) = &mut self.verifier {
                    verifier.forget_drive(drive.index());
                }
            }
            Some(fault @ Fault::Replace(drive)) => match self.array.replace_drive(now, drive) {
                Ok(()) => self.replace(drive.index())?,
                Err(CannotReplace::StillBusy { .. }) => self.faults.again(now, fault),
                // The array had no reason to give it up.
                Err(CannotReplace::Present { .. } | CannotReplace::NoSuchDrive { .. }) => {}
            },
            Some(Fault::Unreadable { drive, every }) => self.faults.set_unreadable(drive, every),
            None => {}
        }
        Ok(())
    }

    /// Puts a factory-new drive in place of one that failed.
    fn replace(&mut self, position: usize) -> Result<(), SimError<E>> {
        let name = self.plan.drive.name.clone();
        let mut drive =
            Ssd::new(self.plan.drive.clone()).map_err(|error| PlanError::Drive { name, error })?;
        drive.set_instant_collection(self.plan.policy.about().collects_instantly);
        if let Some(verifier) = &mut self.verifier {
            drive.record_media();
            verifier.replace_drive(position);
        }
        self.drives[position] = drive;
        self.touch(position);
        Ok(())
    }

    fn schedule_change(&mut self) {
        let next = self.plan.windows.changes.get(self.changes_made);
        let due = next.map_or(Instant::NEVER, |&(after, _)| Instant::ZERO + after);
        self.sources.set(self.drives.len() + 2, due);
    }

    /// Tells a drive when it may collect, on the drive's own clock.
    fn permit(&mut self, now: Instant, drive: usize, right: CollectionRight) {
        let busy_drives = self.plan.array_description().busy_drives();
        let clock = |host| self.plan.windows.on_clock_of(drive as u32, busy_drives, host);
        let on_its_clock = match right {
            CollectionRight::Always => right,
            CollectionRight::Windows(schedule) => CollectionRight::Windows(WindowSchedule {
                cycle_start: clock(schedule.cycle_start),
                not_before: clock(schedule.not_before),
                ..schedule
            }),
            CollectionRight::Lease { until } => {
                self.permits += 1;
                CollectionRight::Lease { until: clock(until) }
            }
            CollectionRight::Order { until } => {
                self.permits += 1;
                CollectionRight::Order { until: clock(until) }
            }
        };
        if let CollectionRight::Windows(WindowSchedule { busy_time_window, .. }) = right
            && self.window_changes.last().is_none_or(|&(_, last)| last != busy_time_window)
        {
            self.window_changes.push((now, busy_time_window));
        }
        self.recorder.record_right(drive, now, right);
        self.drives[drive].set_right(now, on_its_clock);
        self.touch(drive);
    }

    /// Takes the next request from the workload, if there is room for one, and schedules it.
    fn fetch(&mut self, now: Instant) -> Result<(), SimError<E>> {
        let wanted = self.next.is_none() && self.room > 0 && now < self.until;
        if let Some(request) = wanted.then(|| self.requests.next()).flatten() {
            self.taken += 1;
            let mut request = request.map_err(SimError::Workload)?;
            if self.closed {
                request.at = now;
            }
            self.check(&request)?;
            self.next = Some(request);
        }
        let due = self.next.map_or(Instant::NEVER, |request| request.at);
        self.sources.set(self.drives.len() + 1, due);
        Ok(())
    }

    fn check(&self, request: &Request) -> Result<(), SimError<E>> {
        let number = self.taken;
        let capacity_bytes = self.array.capacity_bytes();
        let end_bytes = request.end_bytes();
        if request.size_bytes == 0 {
            return Err(SimError::Empty { number });
        }
        if end_bytes > capacity_bytes {
            let offset_bytes = request.offset_bytes;
            return Err(SimError::OutOfRange { number, offset_bytes, end_bytes, capacity_bytes });
        }
        if request.at < self.last_arrival {
            let before = self.last_arrival;
            return Err(SimError::BackInTime { number, at: request.at, before });
        }
        Ok(())
    }

    fn arrive(&mut self, now: Instant) -> Result<(), SimError<E>> {
        while let Some(request) = self.next.take_if(|request| request.at <= now) {
            self.last_arrival = now;
            let kind = match request.op {
                Op::Read => RequestKind::Read,
                Op::Write => RequestKind::Write,
            };
            let request = array::Request {
                id: RequestId(self.taken),
                host: u8::try_from(request.device).unwrap_or(u8::MAX),
                kind,
                offset_bytes: request.offset_bytes,
                size_bytes: request.size_bytes,
            };
            match kind {
                RequestKind::Read => {
                    self.read_bytes += request.size_bytes;
                    self.look_at_stripes(now, &request);
                }
                RequestKind::Write => self.written_bytes += request.size_bytes,
                RequestKind::Deallocate => {}
            }
            if let Some(verifier) = &mut self.verifier {
                verifier.request_arrives(&request);
            }
            self.array.handle_request(now, &request);
            if self.closed {
                self.room -= 1;
            }
            self.fetch(now)?;
        }
        Ok(())
    }

    /// Counts how many members of a stripe that is read would meet a collection now: what a rebuild
    /// would find, whether or not the policy tries one.
    ///
    /// Looking costs as much as the array is wide, so of wide arrays only every so many stripe reads
    /// are looked at; up to eight drives it is all of them.
    fn look_at_stripes(&mut self, now: Instant, request: &array::Request) {
        let layout = *self.array.layout();
        let page_bytes = u64::from(self.plan.drive.geometry.page_bytes);
        let first = request.offset_bytes / page_bytes;
        let pages = (request.offset_bytes + request.size_bytes).div_ceil(page_bytes) - first;
        for segment in layout.segments(first, pages) {
            self.until_look -= 1;
            if self.until_look > 0 {
                continue;
            }
            self.until_look = layout.stripe_width().div_ceil(8);
            let mut candidates = self.unquiet & layout.members(segment.stripe);
            let mut busy = 0;
            while candidates != 0 {
                let drive = candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let lba = layout.lba(segment.stripe, segment.first_row, DriveId(drive as u8));
                busy += usize::from(self.drives[drive].would_meet_collection(now, lba));
            }
            self.busy_members[busy] += 1;
        }
    }

    #[inline]
    fn touch(&mut self, drive: usize) {
        if !self.is_touched[drive] {
            self.is_touched[drive] = true;
            self.touched.push(drive);
        }
    }

    /// Carries actions to drives and completions to the array until nothing is left to do at `now`.
    fn settle(&mut self, now: Instant) -> Result<(), SimError<E>> {
        self.act(now)?;
        while let Some(drive) = self.touched.pop() {
            self.is_touched[drive] = false;
            if let Some(verifier) = &mut self.verifier {
                verifier.carry(drive, &mut self.drives[drive]);
            }
            while let Some(mut completed) = self.drives[drive].poll_completion() {
                debug_assert_eq!(completed.at, now);
                if self.faults.hits(DriveId(drive as u8), completed.completion.id) {
                    completed.completion.status = Status::Unrecovered;
                }
                self.array.handle_completion(now, &completed.completion);
                self.act(now)?;
            }
            self.sources.set(drive, self.drives[drive].next_deadline());
            if !self.reports.is_empty() {
                self.announce(now, drive);
            }
            let quiet = u64::from(self.drives[drive].quiet());
            self.unquiet = self.unquiet & !(1 << drive) | (1 - quiet) << drive;
        }
        self.sources.set(self.drives.len(), self.array.next_deadline());
        Ok(())
    }

    /// Tells the array if something about a drive's collections has changed.
    fn announce(&mut self, now: Instant, drive: usize) {
        let report = self.drives[drive].collection_report();
        if report != self.reports[drive] {
            self.reports[drive] = report;
            self.array.handle_report(now, DriveId(drive as u8), &report);
        }
    }

    fn act(&mut self, now: Instant) -> Result<(), SimError<E>> {
        while let Some(action) = self.array.poll_action() {
            match action {
                Action::Submit { drive, command, op, member } => {
                    let drive = drive.index();
                    if let Some(verifier) = &mut self.verifier {
                        verifier.submit(&command, op, member);
                    }
                    self.faults.submit(&command);
                    self.drives[drive].handle_command(now, &command);
                    self.touch(drive);
                }
                Action::SubmitStaged { drive, command } => {
                    let drive = drive.index();
                    if let Some(verifier) = &mut self.verifier {
                        verifier.submit_staged(drive, &command);
                    }
                    self.drives[drive].handle_command(now, &command);
                    self.touch(drive);
                }
                Action::Permit { drive, right } => self.permit(now, drive.index(), right),
                Action::AskStatus { drive } => {
                    let status = self.drives[drive.index()].status();
                    self.array.handle_status(now, drive, &status);
                }
                Action::Data(action) => {
                    if let Some(verifier) = &mut self.verifier {
                        verifier.data(&action);
                    }
                }
                Action::Complete(outcome) => self.complete(now, &outcome)?,
                Action::DriveFailed { .. }
                | Action::Restored { .. }
                | Action::NotRestored { .. }
                | Action::Scrubbed { .. } => {}
            }
        }
        Ok(())
    }

    fn complete(&mut self, now: Instant, outcome: &Outcome) -> Result<(), SimError<E>> {
        let latency = outcome.completed.since(outcome.arrived);
        self.last_completion = now;
        self.completed += 1;
        for word in [outcome.request.0, now.as_nanos()] {
            self.hash = (self.hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        }
        self.record_host(outcome, latency);
        match outcome.kind {
            RequestKind::Read => {
                debug_assert_eq!(outcome.delays.total(), latency, "delays must sum to the latency");
                self.read.record(latency);
                self.causes.record(&outcome.delays, latency);
                self.recorder.record_read(now, latency, &outcome.delays);
                match outcome.blocked {
                    Blocked::No => {}
                    Blocked::Queue => self.blocked_reads.by_queue += 1,
                    Blocked::Collection => self.blocked_reads.by_collection += 1,
                }
            }
            RequestKind::Write => self.write.record(latency),
            RequestKind::Deallocate => {}
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.complete(outcome.request, outcome.ended).map_err(|mismatch| {
                SimError::Mismatch {
                    mismatch,
                    seed: self.plan.seed,
                    policy: self.plan.policy.name(),
                }
            })?;
        }
        self.recorder.look_at_space(now, &self.drives);
        if self.completed.is_multiple_of(PROGRESS_STEP) {
            self.progress.fetch_add(PROGRESS_STEP, Ordering::Relaxed);
            self.pace.push(now);
            self.collect_spans();
        }
        if self.closed {
            self.room += 1;
            self.fetch(now)?;
        }
        Ok(())
    }

    /// Latency by host, as soon as there are several: all that was recorded before was of the first.
    fn record_host(&mut self, outcome: &Outcome, latency: Duration) {
        let host = usize::from(outcome.host);
        if host == 0 && self.hosts.is_empty() {
            return;
        }
        if self.hosts.is_empty() {
            let first = HostLatency { read: self.read.clone(), write: self.write.clone() };
            self.hosts.push(first);
        }
        while self.hosts.len() <= host {
            self.hosts
                .push(HostLatency { read: LatencySummary::new(), write: LatencySummary::new() });
        }
        match outcome.kind {
            RequestKind::Read => self.hosts[host].read.record(latency),
            RequestKind::Write => self.hosts[host].write.record(latency),
            RequestKind::Deallocate => {}
        }
    }

    fn collect_spans(&mut self) {
        for (position, drive) in self.drives.iter_mut().enumerate() {
            drive.take_collections(&mut self.spans);
            self.recorder.record_collections(position, &self.spans);
            self.spans.clear();
        }
    }

    fn finish(mut self, started: std::time::Instant) -> Result<RunResult, SimError<E>> {
        self.collect_spans();
        self.progress.fetch_add(self.completed % PROGRESS_STEP, Ordering::Relaxed);
        let mut verified_pages = 0;
        if let Some(verifier) = self.verifier.as_ref().filter(|_| self.array.is_whole()) {
            verifier.scrub(&self.array, &self.drives).map_err(|mismatch| SimError::Mismatch {
                mismatch,
                seed: self.plan.seed,
                policy: self.plan.policy.name(),
            })?;
            verified_pages = verifier.checked_pages();
        }
        let drives = self
            .drives
            .iter()
            .map(|drive| DriveResult {
                counters: *drive.counters(),
                free_share: drive.free_share(),
            })
            .collect();
        Ok(RunResult {
            policy: self.plan.policy,
            hash: self.hash,
            requests: self.taken,
            simulated: self.last_completion.since(Instant::ZERO),
            pace: self.pace,
            wall: started.elapsed(),
            read: self.read,
            write: self.write,
            hosts: self.hosts,
            capacity_bytes: self.array.capacity_bytes(),
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            causes: self.causes,
            blocked_reads: self.blocked_reads,
            busy_members: self.busy_members,
            queues: self.array.queues().all().to_vec(),
            expected_collection: self.array.expected_collection(),
            map_bytes: self.array.map_bytes(),
            array: self.array.counters().clone(),
            stage: self.array.stage_counters().copied(),
            tallies: self.array.tallies(),
            drives,
            windows: self.window_changes,
            permits: self.permits,
            timeline: self.recorder.finish(),
            verified_pages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Preparation, prepare_drives};
    use array::{Level, policy::PolicyKind};
    use std::convert::Infallible;

    fn plan() -> Plan {
        let mut drive = ssd::presets::preset("femu-artifact").unwrap();
        drive.geometry.blocks_per_plane = 64;
        drive.geometry.pages_per_block = 4;
        Plan {
            drive,
            level: Level::Raid5,
            width: 4,
            stripe_width: None,
            spare: units::Ratio::ZERO,
            chunk_bytes: 4096,
            policy: PolicyKind::BASE,
            policy_settings: array::policy::PolicySettings::default(),
            windows: crate::WindowPlan::default(),
            rebuild_compute: Duration::ZERO,
            preparation: Preparation::Fresh,
            seed: 1,
            verify: true,
            timeline: None,
        }
    }

    fn write(page: u64) -> Result<Request, Infallible> {
        let (at, offset_bytes) = (Instant::from_nanos(page), page * 4096);
        Ok(Request { at, op: Op::Write, offset_bytes, size_bytes: 4096, device: 0 })
    }

    fn error(requests: Vec<Result<Request, Infallible>>) -> String {
        let plan = plan();
        let drives = prepare_drives(&plan).unwrap();
        let progress = AtomicU64::new(0);
        run(&plan, drives, Arrival::Open, requests.into_iter(), &progress).unwrap_err().to_string()
    }

    /// The canary: a verified run must not sing when a page or a parity is wrong.
    #[test]
    fn one_wrong_tag_fails_the_run() {
        for wrong_drive in 0..4 {
            let plan = plan();
            let drives = prepare_drives(&plan).unwrap();
            let progress = AtomicU64::new(0);
            let requests = (0..3).map(write);
            let mut run = Run::new(&plan, drives, Arrival::Open, requests, &progress).unwrap();
            run.drive().unwrap();
            let page = run.drives[wrong_drive].flash_page(units::Lba(0)).unwrap();
            run.verifier.as_mut().unwrap().flip_a_bit(wrong_drive, page);
            let error = run.finish(std::time::Instant::now()).unwrap_err();
            assert!(matches!(error, SimError::Mismatch { .. }), "drive {wrong_drive}: {error}");
        }
    }

    #[test]
    fn requests_that_do_not_fit_are_refused_with_a_sentence() {
        let request = write(1_000_000).unwrap();
        assert!(error(vec![Ok(request)]).starts_with("request 1 touches bytes 4096000000..409600"));
        let empty = Request { size_bytes: 0, ..write(1).unwrap() };
        assert!(error(vec![write(0), Ok(empty)]).starts_with("request 2 has a size of zero"));
        let early = Request { at: Instant::ZERO, ..write(1).unwrap() };
        let message = error(vec![write(5), Ok(early)]);
        assert!(message.contains("before the request ahead of it"), "{message}");
    }
}
