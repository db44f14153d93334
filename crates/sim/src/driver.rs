//! One run: a workload, an engine on the virtual clock, and the measurements.

use crate::busy_members::BusyMembers;
use crate::degraded::DegradedRecorder;
use crate::error::{PATIENCE, SimError};
use crate::faults::{Fault, Faults};
use crate::feed::Feed;
use crate::free_space::FreeSpaceRecorder;
use crate::intervals::BlockRecorder;
use crate::measures::Measures;
use crate::plan::{Plan, PlanError};
use crate::progress::RunProgress;
use crate::requests::{RequestColumns, RequestWatch};
use crate::result::{DriveResult, RunResult};
use crate::sub_reads::SubReadWatch;
use crate::timeline::Recorder;
use crate::verify::{MaybeTags, Mismatch, Reference};
use crate::watch::{Both, Nobody, Watch};
use array::{CannotReplace, Happening, Outcome, RequestId, RequestKind};
use engine::{Drive, Engine, Event, NoData, Output, Tags};
use nvme::{CollectionRight, WindowSchedule};
use ssd::Ssd;
use std::sync::atomic::Ordering;
use units::{DriveId, Duration, EventLog, Instant, Observe, Unobserved};
use workload::{Arrival, Op, Request};

/// Completed requests between two reports of progress, and two entries of [`RunResult::pace`].
pub(crate) const PROGRESS_STEP: u64 = 4096;

/// Runs `plan` on prepared drives with the given requests.
///
/// `progress` is updated as requests complete, and may interrupt the run.
///
/// # Errors
///
/// If the plan is impossible, the workload does not fit, a verified run finds a wrong page, or the
/// run was interrupted.
pub fn run<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: impl Iterator<Item = Result<Request, E>>,
    progress: &RunProgress,
) -> Result<RunResult, SimError<E>> {
    run_with_faults(plan, drives, arrival, requests, Vec::new(), progress)
}

/// Runs as [`run`] does, until more than `most_waiting` requests are in flight. The array is
/// overloaded then, and the queue would only grow.
///
/// # Errors
///
/// As [`run`], and [`SimError::Overloaded`].
pub fn run_bounded<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: impl Iterator<Item = Result<Request, E>>,
    most_waiting: usize,
    progress: &RunProgress,
) -> Result<RunResult, SimError<E>> {
    let input = Input { drives, arrival, requests, faults: Vec::new(), most_waiting };
    run_input(plan, input, progress, &mut Nobody)
}

/// Runs as [`run`] does, with faults at given times. The run ends after the last fault, a verified
/// run also after all background jobs. The check at the end is made only if no drive is missing
/// then.
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
    progress: &RunProgress,
) -> Result<RunResult, SimError<E>> {
    if !plan.measured.sub_reads {
        return run_watched(plan, drives, arrival, requests, faults, progress, &mut Nobody);
    }
    let mut watch = SubReadWatch::new(drives.len(), plan.drive.read_service());
    let run = run_watched(plan, drives, arrival, requests, faults, progress, &mut watch)?;
    Ok(RunResult { sub_reads: Some(watch.finish()), ..run })
}

/// Runs as [`run_with_faults`] does, and hands the requests to `sink` as they complete, up to
/// [`crate::REQUESTS_AT_ONCE`] at a time and the rest at the end. The result is bit-identical. A
/// run that ends with an error has delivered only a part.
///
/// # Errors
///
/// As [`run`].
pub fn run_recorded<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    (arrival, requests): (Arrival, impl Iterator<Item = Result<Request, E>>),
    faults: Vec<(Instant, Fault)>,
    progress: &RunProgress,
    sink: impl FnMut(RequestColumns),
) -> Result<RunResult, SimError<E>> {
    let page_bytes = u64::from(plan.drive.geometry.page_bytes);
    if !plan.measured.sub_reads {
        let mut watch = RequestWatch::<_, Unobserved>::new(page_bytes, sink);
        let run = run_watched(plan, drives, arrival, requests, faults, progress, &mut watch)?;
        watch.finish();
        return Ok(run);
    }
    let of_drives = SubReadWatch::new(drives.len(), plan.drive.read_service());
    let mut watch = Both(of_drives, RequestWatch::new(page_bytes, sink));
    let run = run_watched(plan, drives, arrival, requests, faults, progress, &mut watch)?;
    watch.1.finish();
    Ok(RunResult { sub_reads: Some(watch.0.finish()), ..run })
}

/// Runs as [`run_with_faults`] does, with events for `watch`. The run ends early if
/// [`Watch::is_over`] is true; the result covers the run up to there.
pub(crate) fn run_watched<E, W: Watch>(
    plan: &Plan,
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: impl Iterator<Item = Result<Request, E>>,
    faults: Vec<(Instant, Fault)>,
    progress: &RunProgress,
    watch: &mut W,
) -> Result<RunResult, SimError<E>> {
    let input = Input { drives, arrival, requests, faults, most_waiting: usize::MAX };
    run_input(plan, input, progress, watch)
}

fn run_input<E, W: Watch>(
    plan: &Plan,
    input: Input<impl Iterator<Item = Result<Request, E>>>,
    progress: &RunProgress,
    watch: &mut W,
) -> Result<RunResult, SimError<E>> {
    if plan.verify {
        let tags = Tags::new(u64::from(plan.drive.geometry.page_bytes), &input.drives);
        run_on(tags, plan, input, progress, watch)
    } else {
        run_on(NoData, plan, input, progress, watch)
    }
}

/// Input of a run.
struct Input<I> {
    drives: Vec<Ssd>,
    arrival: Arrival,
    requests: I,
    faults: Vec<(Instant, Fault)>,
    /// Limit of requests in flight: one more ends the run.
    most_waiting: usize,
}

fn run_on<E, P: MaybeTags, W: Watch>(
    plane: P,
    plan: &Plan,
    input: Input<impl Iterator<Item = Result<Request, E>>>,
    progress: &RunProgress,
    watch: &mut W,
) -> Result<RunResult, SimError<E>> {
    let started = std::time::Instant::now();
    let mut run = Run::new(plane, plan, input, progress, watch)?;
    run.drive()?;
    run.finish(started)
}

struct Run<'a, I, P, W: Watch> {
    plan: &'a Plan,
    engine: Engine<P, W::Observe>,
    feed: Feed<I>,
    faults: Faults,
    degraded: DegradedRecorder,
    most_waiting: usize,
    /// Number of changes of the busy windows so far.
    changes_made: usize,
    measures: Measures,
    busy_members: BusyMembers,
    recorder: Recorder,
    free_space: FreeSpaceRecorder,
    /// Busy windows that were programmed, with their times.
    windows: Vec<(Instant, Duration)>,
    /// Number of leases and orders that drives were given.
    permits: u64,
    reference: Reference,
    progress: &'a RunProgress,
    watch: &'a mut W,
}

/// Source of the next event. Of events at the same time, the source that is first in this list goes
/// first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Engine,
    Arrival,
    WindowChange,
    Fault,
}

impl<'a, E, I, P, W> Run<'a, I, P, W>
where
    I: Iterator<Item = Result<Request, E>>,
    P: MaybeTags,
    W: Watch,
{
    fn new(
        plane: P,
        plan: &'a Plan,
        input: Input<I>,
        progress: &'a RunProgress,
        watch: &'a mut W,
    ) -> Result<Self, SimError<E>> {
        let Input { mut drives, arrival, requests, faults, most_waiting } = input;
        let has_served_in_windows = plan.has_served_in_windows();
        for drive in &mut drives {
            if has_served_in_windows {
                drive.restore_free_space();
            }
            if plan.timeline.is_some() {
                drive.record_collections();
            }
            if plan.verify {
                drive.record_media();
            }
        }
        let width = drives.len();
        let drives = drives.into_iter().map(|drive| Drive::emulated(drive.observed())).collect();
        let mut engine = Engine::observed(plan.array_config()?, drives, plane);
        let busy_drives = plan.array_description().busy_drives();
        for drive in (0..width as u8).map(DriveId) {
            let offset = plan.windows.clock_offset(u32::from(drive.0), busy_drives);
            engine.set_clock_offset(drive, offset);
        }
        Ok(Self {
            plan,
            feed: Feed::new(requests, arrival, engine.array().capacity_bytes()),
            engine,
            faults: Faults::new(faults),
            degraded: DegradedRecorder::default(),
            most_waiting,
            changes_made: 0,
            measures: Measures::new(
                plan.measured,
                plan.measured.intervals.then(|| Box::new(BlockRecorder::new(plan.seed))),
            ),
            busy_members: BusyMembers::new(width, u64::from(plan.drive.geometry.page_bytes)),
            recorder: Recorder::new(plan.timeline, width),
            free_space: FreeSpaceRecorder::new(),
            windows: Vec::new(),
            permits: 0,
            reference: Reference::default(),
            progress,
            watch,
        })
    }

    fn drive(&mut self) -> Result<(), SimError<E>> {
        self.go_on()?;
        self.feed.fetch(Instant::ZERO)?;
        self.settle(Instant::ZERO)?;
        while let Some((mut now, next)) = self.next() {
            match next {
                Next::Engine => {
                    let (last, output) = self.engine.run_until(self.engine_until(now));
                    now = last;
                    if let Some(output) = output {
                        self.take(now, output)?;
                    }
                }
                Next::Arrival => self.arrive(now)?,
                Next::WindowChange => {
                    let (_, change) = self.plan.windows.changes[self.changes_made];
                    self.engine.set_window(now, change);
                    self.changes_made += 1;
                }
                Next::Fault => self.break_something(now)?,
            }
            self.settle(now)?;
            if self.watch.is_over() {
                return Ok(());
            }
            let in_flight = self.engine.array().requests_in_flight();
            if in_flight == 0 && self.feed.next_arrival() == Instant::NEVER {
                if self.is_mended() {
                    self.engine.catch_up(now);
                    return Ok(());
                }
                // A rebuild may take long without the end of any request.
                self.go_on()?;
            }
            if in_flight > 0
                && now.since(self.measures.last_completion) > PATIENCE
                && now.since(self.feed.last_arrival()) > PATIENCE
            {
                return Err(SimError::Stalled { in_flight, seed: self.plan.seed });
            }
        }
        match self.engine.array().requests_in_flight() {
            0 => Ok(()),
            in_flight => Err(SimError::Stalled { in_flight, seed: self.plan.seed }),
        }
    }

    /// Returns an error if the run was interrupted.
    #[inline]
    fn go_on(&self) -> Result<(), SimError<E>> {
        if self.progress.is_interrupted() { Err(SimError::Interrupted) } else { Ok(()) }
    }

    /// Returns the next event and its time; `None` if no event is due.
    #[inline]
    fn next(&self) -> Option<(Instant, Next)> {
        let next = (self.engine.next_deadline(), Next::Engine).min(self.next_from_outside());
        (next.0 != Instant::NEVER).then_some(next)
    }

    /// Next event that does not come from the engine.
    #[inline]
    fn next_from_outside(&self) -> (Instant, Next) {
        let change = self.plan.windows.changes.get(self.changes_made);
        let change = change.map_or(Instant::NEVER, |&(after, _)| Instant::ZERO + after);
        (self.feed.next_arrival(), Next::Arrival)
            .min((change, Next::WindowChange))
            .min((self.faults.next(), Next::Fault))
    }

    /// Time until which the engine may run on its own from `now`, as long as it has no output.
    #[inline]
    fn engine_until(&self, now: Instant) -> Instant {
        let nothing_comes = self.feed.next_arrival() == Instant::NEVER
            && self.engine.array().requests_in_flight() == 0;
        if nothing_comes || <W::Observe as Observe>::Log::<Event>::ENABLED {
            return now;
        }
        // A run without progress until then has stalled.
        let patient = self.measures.last_completion.max(self.feed.last_arrival()) + PATIENCE;
        self.next_from_outside().0.min(patient)
    }

    /// Returns true if no fault is left, and no background job that the check at the end has to
    /// wait for.
    fn is_mended(&self) -> bool {
        let is_restored = !self.plan.verify || self.engine.array().job().is_none();
        self.faults.next() == Instant::NEVER && is_restored
    }

    fn break_something(&mut self, now: Instant) -> Result<(), SimError<E>> {
        match self.faults.take() {
            Some(Fault::Fail(drive)) => {
                self.engine.fail_drive(now, drive);
                if let Some(tags) = self.engine.plane_mut().tags_mut() {
                    tags.forget_drive(drive);
                }
            }
            // Asked first: a busy place is retried often, and making a drive is expensive.
            Some(fault @ Fault::Replace(drive)) => match self.engine.array().can_replace(drive) {
                Ok(()) => {
                    let new = Drive::emulated(self.new_drive(drive)?.observed());
                    let replaced = self.engine.replace_drive(now, drive, new);
                    debug_assert_eq!(replaced, Ok(()), "the array has just allowed it");
                    self.degraded.begin(now, drive, self.engine.array());
                }
                Err(CannotReplace::StillBusy { .. }) => self.faults.again(now, fault),
                // The array had no reason to fail the drive.
                Err(CannotReplace::Present { .. } | CannotReplace::NoSuchDrive { .. }) => {}
            },
            Some(Fault::Unreadable { drive, every }) => self.engine.set_read_errors(drive, every),
            Some(Fault::Slow { drive, factor }) => self.engine.set_slowness(now, drive, factor),
            Some(Fault::Worn { drive, share }) => self.engine.set_added_retries(now, drive, share),
            Some(Fault::IgnoresWindows { drive, on }) => {
                self.engine.set_ignores_windows(now, drive, on);
            }
            None => {}
        }
        self.degraded.note(self.engine.array());
        Ok(())
    }

    /// Makes a factory-new drive for a place.
    fn new_drive(&self, place: DriveId) -> Result<Ssd, PlanError> {
        let config = self.plan.drive_at(place);
        let mut drive = Ssd::new(config.clone())
            .map_err(|error| PlanError::Drive { name: config.name.clone(), error })?;
        if self.plan.verify {
            drive.record_media();
        }
        Ok(drive)
    }

    fn arrive(&mut self, now: Instant) -> Result<(), SimError<E>> {
        while let Some(request) = self.feed.take(now) {
            let op = request.op;
            let kind = match op {
                Op::Read => RequestKind::Read,
                Op::Write => RequestKind::Write,
            };
            let request = array::Request {
                id: RequestId(self.feed.taken()),
                host: u8::try_from(request.device).unwrap_or(u8::MAX),
                kind,
                offset_bytes: request.offset_bytes,
                size_bytes: request.size_bytes,
            };
            let (layout, drives) = (self.engine.array().layout(), self.engine.drives());
            self.watch.arrived(now, layout, drives, &request);
            match kind {
                RequestKind::Read => {
                    self.measures.read_bytes += request.size_bytes;
                    self.busy_members.look(now, layout, drives, &request);
                }
                RequestKind::Write => self.measures.written_bytes += request.size_bytes,
                RequestKind::Deallocate => {}
            }
            if let Some(tags) = self.engine.plane_mut().tags_mut() {
                self.reference.begin_request(tags, &request);
            }
            self.engine.handle_request(now, &request);
            let in_flight = self.engine.array().requests_in_flight();
            if in_flight > self.most_waiting {
                return Err(SimError::Overloaded { most_waiting: self.most_waiting });
            }
            self.feed.note_begun(op);
            self.feed.fetch(now)?;
        }
        Ok(())
    }

    /// Takes outputs of the engine until there are none at `now`.
    #[inline]
    fn settle(&mut self, now: Instant) -> Result<(), SimError<E>> {
        while let Some(output) = self.engine.poll_output(now) {
            self.take(now, output)?;
        }
        if <<W::Observe as Observe>::Log<Event> as EventLog<Event>>::ENABLED {
            self.engine.drain_events(|at, event| self.watch.event(at, event));
            self.watch.settled(self.engine.drives());
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, now: Instant, output: Output) -> Result<(), SimError<E>> {
        match output {
            Output::Complete(outcome) => self.complete(now, &outcome)?,
            Output::Permitted { drive, right } => self.note_right(now, drive, right),
            Output::Command { .. } | Output::AskStatus { .. } => {
                unreachable!("all drives of a run are emulated")
            }
            Output::Happened(Happening::JobEnded { job, .. }) => {
                self.degraded.end(now, job, self.engine.array());
            }
            Output::Happened(_) => {}
        }
        Ok(())
    }

    fn note_right(&mut self, now: Instant, drive: DriveId, right: CollectionRight) {
        match right {
            CollectionRight::Windows(WindowSchedule { busy_time_window, .. }) => {
                if self.windows.last().is_none_or(|&(_, last)| last != busy_time_window) {
                    self.windows.push((now, busy_time_window));
                }
            }
            CollectionRight::Lease { .. } | CollectionRight::Order { .. } => self.permits += 1,
            CollectionRight::Always => {}
        }
        self.recorder.record_right(drive.index(), now, right);
    }

    fn complete(&mut self, now: Instant, outcome: &Outcome) -> Result<(), SimError<E>> {
        self.watch.completed(outcome);
        let step = self.measures.record(now, outcome);
        if outcome.kind == RequestKind::Read {
            let latency = outcome.completed.since(outcome.arrived);
            self.recorder.record_read(now, latency, &outcome.delays);
        }
        if let Some(tags) = self.engine.plane_mut().tags_mut() {
            let checked = self.reference.end_request(tags, outcome.request, outcome.ended);
            checked.map_err(|mismatch| self.mismatch(mismatch))?;
        }
        if self.recorder.looks_at_space(now) || self.free_space.is_due(now) {
            self.engine.catch_up(now);
        }
        self.recorder.look_at_space(now, self.engine.drives());
        if self.free_space.is_due(now) {
            let drives = self.engine.drives().iter().filter_map(Drive::ssd);
            self.free_space.look(now, &drives.map(Ssd::free_share).collect::<Vec<_>>());
        }
        if step {
            self.progress.completed.fetch_add(PROGRESS_STEP, Ordering::Relaxed);
            self.collect_spans();
            self.go_on()?;
        }
        let op = match outcome.kind {
            RequestKind::Write => Op::Write,
            RequestKind::Read | RequestKind::Deallocate => Op::Read,
        };
        self.feed.note_done(now, op)
    }

    fn mismatch(&self, mismatch: Mismatch) -> SimError<E> {
        let (seed, policy) = (self.plan.seed, self.plan.policy.name());
        SimError::Mismatch { mismatch, seed, policy }
    }

    fn collect_spans(&mut self) {
        let mut spans = Vec::new();
        for (position, drive) in self.engine.drives_mut().iter_mut().enumerate() {
            if let Some(ssd) = drive.ssd_mut() {
                ssd.take_collections(&mut spans);
                self.recorder.record_collections(position, &spans);
                spans.clear();
            }
        }
    }

    fn finish(mut self, started: std::time::Instant) -> Result<RunResult, SimError<E>> {
        self.collect_spans();
        self.progress
            .completed
            .fetch_add(self.measures.completed % PROGRESS_STEP, Ordering::Relaxed);
        let array = self.engine.array();
        let mut verified_pages = 0;
        if let Some(tags) =
            self.engine.plane().tags().filter(|_| array.is_optimal() && !self.watch.is_over())
        {
            let checked = self.reference.scrub(tags, array, self.engine.drives());
            checked.map_err(|mismatch| self.mismatch(mismatch))?;
            verified_pages = self.reference.checked_pages();
        }
        let drives = self.engine.drives().iter().filter_map(Drive::ssd).map(|drive| DriveResult {
            counters: *drive.counters(),
            violations: drive.violations().to_vec(),
            free_share: drive.free_share(),
            buffer_peak_bytes: u64::from(drive.buffered_pages_peak())
                * u64::from(drive.config().geometry.page_bytes),
            buffer_bytes: drive.config().write_buffer_bytes(),
        });
        let measures = self.measures;
        let (busy_members, collecting_members) = self.busy_members.into_counts();
        Ok(RunResult {
            policy: self.plan.policy,
            hash: measures.hash,
            requests: self.feed.taken(),
            simulated: measures.last_completion.since(Instant::ZERO),
            pace: measures.pace,
            wall: started.elapsed(),
            read: measures.read,
            write: measures.write,
            blocks: measures.blocks.map(|blocks| blocks.finish()),
            sub_reads: None,
            hosts: measures.hosts,
            capacity_bytes: array.capacity_bytes(),
            read_bytes: measures.read_bytes,
            written_bytes: measures.written_bytes,
            causes: measures.causes,
            blocked_reads: measures.blocked_reads,
            busy_members,
            collecting_members,
            queues: array.queues().all().to_vec(),
            expected_collection: array.expected_collection(),
            map_bytes: array.map_bytes(),
            distrusted: array.distrusted_times(measures.last_completion),
            stalls: array.stalls(),
            array: array.counters().clone(),
            write_cache: array.write_cache_counters().copied(),
            tallies: array.tallies(),
            drives: drives.collect(),
            windows: self.windows,
            permits: self.permits,
            degraded: self.degraded.finish(measures.last_completion, array),
            free_space: self.free_space.finish(),
            timeline: self.recorder.finish(),
            verified_pages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::small;
    use crate::{Preparation, prepare_drives};
    use array::policy::PolicyKind;
    use std::convert::Infallible;

    fn plan() -> Plan {
        let mut plan = Plan { verify: true, ..small(PolicyKind::BASE, Preparation::Fresh) };
        plan.drive.geometry.pages_per_block = 4;
        plan
    }

    fn write(page: u64) -> Result<Request, Infallible> {
        let (at, offset_bytes) = (Instant::from_nanos(page), page * 4096);
        Ok(Request {
            at,
            op: Op::Write,
            offset_bytes,
            size_bytes: 4096,
            device: 0,
            durable: false,
            after_flush: false,
        })
    }

    fn error(requests: Vec<Result<Request, Infallible>>) -> String {
        let plan = plan();
        let drives = prepare_drives(&plan).unwrap();
        let progress = RunProgress::default();
        run(&plan, drives, Arrival::Open, requests.into_iter(), &progress).unwrap_err().to_string()
    }

    /// The check itself is tested: a verified run fails if a page or a parity is wrong.
    #[test]
    fn one_wrong_tag_fails_the_run() {
        for wrong_drive in 0..4 {
            let plan = plan();
            let drives = prepare_drives(&plan).unwrap();
            let progress = RunProgress::default();
            let requests = (0..3).map(write);
            let tags = Tags::new(u64::from(plan.drive.geometry.page_bytes), &drives);
            let (arrival, faults) = (Arrival::Open, Vec::new());
            let input = Input { drives, arrival, requests, faults, most_waiting: usize::MAX };
            let mut nobody = Nobody;
            let mut run = Run::new(tags, &plan, input, &progress, &mut nobody).unwrap();
            run.drive().unwrap();
            let ssd = run.engine.drives()[wrong_drive].ssd().unwrap();
            let page = ssd.flash_page(units::Lba(0)).unwrap();
            run.engine.plane_mut().flip_a_bit(DriveId(wrong_drive as u8), page);
            let error = run.finish(std::time::Instant::now()).unwrap_err();
            assert!(matches!(error, SimError::Mismatch { .. }), "drive {wrong_drive}: {error}");
        }
    }

    #[test]
    fn a_backlog_ends_a_run_that_is_bounded() {
        let plan = plan();
        let progress = RunProgress::default();
        let bounded = |most_waiting| {
            let drives = prepare_drives(&plan).unwrap();
            // Requests come a nanosecond apart, and none ends before the last.
            let requests = (0..40).map(write);
            run_bounded(&plan, drives, Arrival::Open, requests, most_waiting, &progress)
        };
        assert_eq!(bounded(40).unwrap().requests, 40);
        let error = bounded(39).unwrap_err();
        assert!(matches!(error, SimError::Overloaded { most_waiting: 39 }), "{error}");
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
