//! The loop that joins an array and its drives: which drive is due, which completion goes where.

use crate::drive::Drive;
use crate::event::Event;
use crate::liars::Liars;
use crate::plane::{DataPlane, Target};
use crate::read_errors::ReadErrors;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use array::policy::{Correspondence, PolicyKind, PolicySettings};
use array::{
    Action, Array, CannotReplace, CannotSwitch, Coordination, Happening, JobKind, Outcome, Request,
    WindowChange,
};
use nvme::{
    CollectionReport, CollectionRight, Command, Completion, DriveStatus, Status, WindowSchedule,
    WindowScope,
};
use units::{Deadlines, DriveId, Duration, EventLog, Instant, Observe, Ratio, Unobserved};

/// The outputs of an engine, for its driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// A request is done.
    Complete(Outcome),
    /// This command goes to this remote drive. The driver brings its completion.
    Command {
        /// The drive.
        drive: DriveId,
        /// The command.
        command: Command,
        /// The memory that it reads into or writes from; `None` for pages of the write cache.
        target: Option<Target>,
    },
    /// Asks this remote drive for its free space. The answer goes to [`Engine::handle_status`].
    AskStatus {
        /// The drive.
        drive: DriveId,
    },
    /// Reports a drive's new right to collect, in the host's time. For a remote drive the driver
    /// passes it on.
    Permitted {
        /// The drive.
        drive: DriveId,
        /// Windows, lease or order by which it may collect.
        right: CollectionRight,
    },
    /// Something has happened.
    Happened(Happening),
}

/// Difference between the clock of a drive and that of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockOffset {
    /// The drive's clock is ahead, or right.
    Ahead(Duration),
    /// The drive's clock is behind.
    Behind(Duration),
}

impl ClockOffset {
    /// Time on the drive's clock when the host's clock shows `host`.
    fn apply(self, host: Instant) -> Instant {
        match self {
            Self::Ahead(offset) => host + offset,
            Self::Behind(offset) => {
                Instant::from_nanos(host.as_nanos().saturating_sub(offset.as_nanos()))
            }
        }
    }

    fn apply_to_right(self, right: CollectionRight) -> CollectionRight {
        match right {
            CollectionRight::Always => right,
            CollectionRight::Windows(schedule) => CollectionRight::Windows(WindowSchedule {
                cycle_start: self.apply(schedule.cycle_start),
                not_before: self.apply(schedule.not_before),
                ..schedule
            }),
            CollectionRight::Lease { until } => CollectionRight::Lease { until: self.apply(until) },
            CollectionRight::Order { until } => CollectionRight::Order { until: self.apply(until) },
        }
    }
}

/// One array with its drives, under any clock.
///
/// After every `handle_*` and every change, call [`Engine::poll_output`] with the same time until
/// it returns `None`. Several requests may be handed over before that: they come at the same
/// instant.
pub struct Engine<P, O: Observe = Unobserved> {
    array: Array<O>,
    policy: PolicyKind,
    drives: Vec<Drive<O>>,
    plane: P,
    /// One source per drive, then the array.
    sources: Deadlines,
    touched: Touched,
    /// The drive whose completions are being handed to the array.
    current: Option<DriveId>,
    /// Last collection report of each drive; empty if the policy reads no reports.
    reports: Vec<CollectionReport>,
    clocks: Vec<ClockOffset>,
    read_errors: ReadErrors,
    liars: Liars,
    /// Completions of remote drives.
    arrived: VecDeque<Completion>,
    /// Completions of drive models since the start.
    model_completions: u64,
    /// Events of the machines, in the order in which they were emitted.
    events: O::Log<Event>,
}

/// Drives that may have completions or another deadline, each once.
#[derive(Clone, Debug)]
struct Touched {
    drives: Vec<DriveId>,
    contains: Vec<bool>,
}

impl Touched {
    fn all(width: usize) -> Self {
        let drives = (0..width as u8).map(DriveId).collect();
        Self { drives, contains: vec![true; width] }
    }

    #[inline]
    fn insert(&mut self, drive: DriveId) {
        if !self.contains[drive.index()] {
            self.contains[drive.index()] = true;
            self.drives.push(drive);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<DriveId> {
        let drive = self.drives.pop()?;
        self.contains[drive.index()] = false;
        Some(drive)
    }
}

impl<P: DataPlane> Engine<P> {
    /// Creates an engine with an idle array. The plane's type decides if the array emits data
    /// actions ([`DataPlane::CARRIES_DATA`]).
    ///
    /// # Panics
    ///
    /// If there are not as many drives as the layout has.
    #[must_use]
    pub fn new(config: array::Config, drives: Vec<Drive>, plane: P) -> Self {
        Self::observed(config, drives, plane)
    }
}

impl<P: DataPlane, O: Observe> Engine<P, O> {
    /// Creates an engine as [`Engine::new`] does. Events are kept until [`Engine::drain_events`],
    /// if `O` keeps any.
    ///
    /// # Panics
    ///
    /// If there are not as many drives as the layout has.
    #[must_use]
    pub fn observed(config: array::Config, mut drives: Vec<Drive<O>>, plane: P) -> Self {
        let width = drives.len();
        assert_eq!(config.layout.width() as usize, width, "one drive for each place of the array");
        let policy = config.policy;
        for drive in &mut drives {
            drive.suit(policy);
        }
        let array = Array::observed(array::Config { data_actions: P::CARRIES_DATA, ..config });
        let watched = if array.watches_drives() { width } else { 0 };
        for drive in &mut drives {
            drive.set_deferred_copies(Self::may_defer_copies(watched));
        }
        Self {
            array,
            policy,
            drives,
            plane,
            sources: Deadlines::new(width + 1),
            touched: Touched::all(width),
            current: None,
            reports: vec![CollectionReport::default(); watched],
            clocks: vec![ClockOffset::Ahead(Duration::ZERO); width],
            read_errors: ReadErrors::default(),
            liars: Liars::default(),
            arrived: VecDeque::new(),
            model_completions: 0,
            events: O::Log::default(),
        }
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &Array<O> {
        &self.array
    }

    /// Hands over what policies have learnt in earlier runs; see [`Array::remember`].
    pub fn remember(&mut self, memory: array::Memory) {
        self.array.remember(memory);
    }

    /// Access to the messages of a coordinator on another host; `None` if the policy needs none.
    #[inline]
    pub fn correspondence(&mut self) -> Option<Correspondence<'_>> {
        self.array.correspondence()
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> PolicyKind {
        self.policy
    }

    /// The drives, by position.
    #[must_use]
    pub fn drives(&self) -> &[Drive<O>] {
        &self.drives
    }

    /// The drives, so that a recorder can drain them.
    pub fn drives_mut(&mut self) -> &mut [Drive<O>] {
        &mut self.drives
    }

    /// The data plane.
    #[must_use]
    pub fn plane(&self) -> &P {
        &self.plane
    }

    /// The data plane, to hand it requests and storage results.
    pub fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Completions of drive models since the start.
    #[must_use]
    pub fn model_completions(&self) -> u64 {
        self.model_completions
    }

    /// Time at which to call [`Engine::handle_deadline`] if nothing else happens.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.sources.earliest()
    }

    /// Lets the first machine that is due at `now` act. Another may be due at the same time: after
    /// the outputs, [`Engine::next_deadline`] returns that time again.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant) {
        let Some(source) = self.sources.first().filter(|_| self.sources.earliest() <= now) else {
            return;
        };
        if source == self.drives.len() {
            self.array.handle_deadline(now);
        } else {
            let drive = DriveId(source as u8);
            self.drives[source].handle_deadline(now);
            self.note_drive(drive);
            if self.current.is_none() && self.touched.drives.is_empty() {
                // `hand_over_completion` polls this drive next in any case.
                self.enter(drive);
            } else {
                self.touched.insert(drive);
            }
        }
    }

    /// Lets the machines that are due act, one after the other, each until nothing is left to do.
    /// Stops at the first output, or after the last machine that is due at `until`. The first
    /// machine acts even if it is due after `until`. Returns the time of the last one. After an
    /// output, call [`Engine::poll_output`] for further outputs of that time.
    pub fn run_until(&mut self, until: Instant) -> (Instant, Option<Output>) {
        loop {
            let now = self.next_deadline();
            self.handle_deadline(now);
            let output = self.poll_output(now);
            let next = self.next_deadline();
            if output.is_some() || next > until || next == Instant::NEVER {
                return (now, output);
            }
        }
    }

    /// Returns true if models may defer copies. The array must watch no drive (`watched` is 0) and
    /// move no data: then nothing outside of a drive depends on one copy.
    fn may_defer_copies(watched: usize) -> bool {
        watched == 0 && !P::CARRIES_DATA
    }

    /// Lets all models apply their deferred copies before `now`. Call it before reading their
    /// counters or maps.
    pub fn catch_up(&mut self, now: Instant) {
        for position in 0..self.drives.len() {
            self.catch_up_with(now, DriveId(position as u8));
        }
    }

    fn catch_up_with(&mut self, now: Instant, drive: DriveId) {
        let behind = &mut self.drives[drive.index()];
        behind.catch_up(now);
        self.sources.set(drive.index(), behind.next_deadline());
    }

    /// Status of a drive at `now`; `None` if the driver has to ask it.
    fn status_at(&mut self, now: Instant, drive: DriveId) -> Option<DriveStatus> {
        self.catch_up_with(now, drive);
        self.drives[drive.index()].status()
    }

    /// Takes a request.
    ///
    /// # Panics
    ///
    /// If the request is empty or reaches past the end of the array.
    pub fn handle_request(&mut self, now: Instant, request: &Request) {
        self.array.handle_request(now, request);
    }

    /// Takes the completion of a command that went to a remote drive.
    pub fn handle_completion(&mut self, completion: Completion) {
        self.arrived.push_back(completion);
    }

    /// Takes the answer of a remote drive to [`Output::AskStatus`].
    pub fn handle_status(&mut self, now: Instant, drive: DriveId, status: &DriveStatus) {
        self.array.handle_status(now, drive, status);
    }

    /// Returns the next output for the driver.
    #[inline]
    pub fn poll_output(&mut self, now: Instant) -> Option<Output> {
        loop {
            self.note_array();
            while let Some(action) = self.array.poll_action() {
                if let Some(output) = self.act(now, action) {
                    return Some(output);
                }
            }
            if self.hand_over_completion(now) || self.send_waiting_writes(now) {
                continue;
            }
            if let Some((drive, reason)) = self.plane.poll_failed_drive() {
                self.array.fail_drive_for(now, drive, reason);
            } else {
                break;
            }
        }
        self.sources.set(self.drives.len(), self.array.next_deadline());
        None
    }

    /// Sends writes that wait at the host, if the records wait for them. Returns true if there were
    /// any.
    fn send_waiting_writes(&mut self, now: Instant) -> bool {
        self.plane.wants_all_writes() && self.array.send_waiting_writes(now)
    }

    /// Does what the array asks for, or passes it to the driver.
    #[inline]
    fn act(&mut self, now: Instant, action: Action) -> Option<Output> {
        match action {
            Action::Submit { drive, command, op, member } => {
                return self.submit(now, drive, command, Some(Target { op, member }));
            }
            Action::SubmitCached { drive, command } => {
                return self.submit(now, drive, command, None);
            }
            Action::Permit { drive, right } => {
                let on_its_clock = self.clocks[drive.index()].apply_to_right(right);
                match self.liars.told(drive) {
                    Some(told) => *told = on_its_clock,
                    None => self.drives[drive.index()].set_right(now, on_its_clock),
                }
                self.note_drive(drive);
                self.touched.insert(drive);
                return Some(Output::Permitted { drive, right });
            }
            Action::AskStatus { drive } => match self.status_at(now, drive) {
                Some(status) => {
                    self.array.handle_status(now, drive, &status);
                    self.note_array();
                }
                None => return Some(Output::AskStatus { drive }),
            },
            Action::Data(action) => self.plane.data(action),
            Action::Check { op, target, terms } => {
                let fits = self.plane.check(op, target, &terms);
                self.array.handle_checked(now, op, target.member, fits);
                self.note_array();
            }
            Action::Compare { op, member, with } => {
                let fits = self.plane.compare(op, member, with);
                self.array.handle_checked(now, op, member, fits);
                self.note_array();
            }
            Action::Complete(outcome) => return Some(Output::Complete(outcome)),
            Action::Happened(happening) => {
                self.note(now, &happening);
                return Some(Output::Happened(happening));
            }
            Action::RebuiltBefore { drive, stripe } => {
                self.plane.rebuilt_before(now, drive, stripe)
            }
        }
        None
    }

    /// Tells the data plane what has happened.
    fn note(&mut self, now: Instant, happening: &Happening) {
        match *happening {
            Happening::DriveFailed { drive, .. } => {
                if self.plane.drive_failed(now, drive) {
                    self.drives[drive.index()] = Drive::Plain;
                    self.sources.set(drive.index(), Instant::NEVER);
                }
            }
            Happening::JobEnded { job: JobKind::Rebuild(drive), skipped: 0 } => {
                self.plane.drive_rebuilt(now, drive);
            }
            Happening::JobEnded { job: JobKind::Resync, .. } => self.plane.parity_resynced(now),
            Happening::JobEnded { .. }
            | Happening::PageRepaired(_)
            | Happening::ParityMismatch { .. }
            | Happening::ChecksumMismatch { .. } => {}
        }
    }

    #[inline]
    fn submit(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: Command,
        target: Option<Target>,
    ) -> Option<Output> {
        let behind = &mut self.drives[drive.index()];
        let model_answers = !matches!(behind, Drive::Plain);
        self.plane.submit(now, drive, &command, target, model_answers);
        if target.is_some() {
            self.read_errors.submit(&command);
        }
        match behind {
            Drive::Emulated(ssd) => {
                ssd.handle_command(now, &self.liars.taken(drive, command));
                self.note_drive(drive);
                self.touched.insert(drive);
                None
            }
            Drive::Plain => None,
            Drive::Remote => Some(Output::Command { drive, command, target }),
        }
    }

    /// Hands the next completion to the array: from the data plane, a remote drive or an emulated
    /// one. Returns false if there is none. The completion is passed by reference: it is large, and
    /// most calls end here.
    #[inline]
    fn hand_over_completion(&mut self, now: Instant) -> bool {
        loop {
            self.plane.advance();
            if let Some(completion) = self.plane.poll_completion() {
                self.deliver(now, &completion);
                return true;
            }
            if let Some(mut completion) = self.arrived.pop_front() {
                if self.plane.join(now, &mut completion) {
                    self.deliver(now, &completion);
                    return true;
                }
                continue;
            }
            let drive = match self.current {
                Some(drive) => drive,
                None => match self.touched.pop() {
                    Some(drive) => drive,
                    None => return false,
                },
            };
            self.enter(drive);
            if let Some(mut completed) = self.drives[drive.index()].poll_completion() {
                debug_assert!(completed.at <= now, "a drive does not answer ahead of its time");
                self.model_completions += 1;
                let completion = &mut completed.completion;
                if self.read_errors.hits(drive, completion.id) {
                    completion.status = Status::Unrecovered;
                }
                if self.plane.join(now, completion) {
                    self.deliver(now, completion);
                    return true;
                }
                continue;
            }
            self.current = None;
            self.leave(now, drive);
        }
    }

    #[inline]
    fn deliver(&mut self, now: Instant, completion: &Completion) {
        self.plane.deliver(completion);
        self.array.handle_completion(now, completion);
    }

    /// Begins to hand over completions of a drive. The data plane follows the drive before each
    /// completion. A completion may cause a command that ends at the same instant, if writes take
    /// no time.
    #[inline]
    fn enter(&mut self, drive: DriveId) {
        self.current = Some(drive);
        if let Drive::Emulated(ssd) = &mut self.drives[drive.index()] {
            self.plane.follow(drive, ssd);
        }
    }

    /// Ends the hand-over when a drive has no more completions.
    #[inline]
    fn leave(&mut self, now: Instant, drive: DriveId) {
        let behind = &self.drives[drive.index()];
        self.sources.set(drive.index(), behind.next_deadline());
        if !self.reports.is_empty() {
            let report = behind.report();
            if report != self.reports[drive.index()] {
                self.reports[drive.index()] = report;
                self.array.handle_report(now, drive, &report);
                self.note_array();
            }
        }
    }

    /// Gives the events since the last call to `take`. Events of the array and of all drives come
    /// in the order in which they happened: a cause before its effect.
    pub fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.events.drain(take);
    }

    /// Events that the array and the drives keep ([`units::Traced`]), by time. Events of one
    /// machine stay in order; at the same time, those of the array come first.
    #[must_use]
    pub fn kept_events(&self) -> Vec<(Instant, Event)> {
        let mut events = Vec::new();
        self.array.each_event(|at, event| events.push((at, Event::Array(event.clone()))));
        for (ssd, number) in self.drives.iter().map(Drive::ssd).zip(0..) {
            if let Some(ssd) = ssd {
                let drive = DriveId(number);
                ssd.each_event(|at, event| events.push((at, Event::Drive(drive, *event))));
            }
        }
        events.sort_by_key(|(at, _)| *at);
        events
    }

    /// Takes the new events of the array, before another machine emits events that follow from
    /// them.
    #[inline]
    fn note_array(&mut self) {
        if !<O::Log<Event> as EventLog<Event>>::IS_TAKEN {
            return;
        }
        let events = &mut self.events;
        self.array.drain_events(|at, event| events.emit(at, || Event::Array(event)));
    }

    /// Takes the new events of a drive.
    #[inline]
    fn note_drive(&mut self, drive: DriveId) {
        if !<O::Log<Event> as EventLog<Event>>::IS_TAKEN {
            return;
        }
        let events = &mut self.events;
        if let Some(ssd) = self.drives[drive.index()].ssd_mut() {
            ssd.drain_events(|at, event| events.emit(at, || Event::Drive(drive, event)));
        }
    }

    /// Sets the clock offset of a drive from now on.
    pub fn set_clock_offset(&mut self, drive: DriveId, offset: ClockOffset) {
        self.clocks[drive.index()] = offset;
    }

    /// Makes every `every`-th read of the host from the drive end with a media error; 0 ends that.
    pub fn set_read_errors(&mut self, drive: DriveId, every: u64) {
        self.read_errors.set(drive, every);
    }

    /// Makes all work of an emulated drive take `factor` times as long; 1 ends that. The drive does
    /// not report it.
    pub fn set_slowness(&mut self, now: Instant, drive: DriveId, factor: u32) {
        self.drives[drive.index()].catch_up(now);
        if let Some(ssd) = self.drives[drive.index()].ssd_mut() {
            ssd.set_slowness(factor);
        }
        self.sources.set(drive.index(), self.drives[drive.index()].next_deadline());
    }

    /// Makes an emulated drive repeat `share` of its sensings, in addition to its configured
    /// retries, as on worn flash; 0 ends that. The drive does not report it.
    pub fn set_added_retries(&mut self, now: Instant, drive: DriveId, share: Ratio) {
        self.drives[drive.index()].catch_up(now);
        if let Some(ssd) = self.drives[drive.index()].ssd_mut() {
            ssd.set_added_retries(share);
        }
    }

    /// Makes an emulated drive ignore its windows, or keep to them again. A drive that ignores them
    /// collects and programs at any time, and fails no read fast.
    pub fn set_ignores_windows(&mut self, now: Instant, drive: DriveId, ignores: bool) {
        if let Some(ssd) = self.drives[drive.index()].ssd_mut() {
            match ignores {
                true => self.liars.begin(now, drive, ssd),
                false => {
                    let scope = self.policy.about().windows.scope();
                    self.liars.end(now, drive, scope, ssd);
                }
            }
        }
        self.note_drive(drive);
        self.touched.insert(drive);
    }

    /// Gives a drive up; see [`Array::fail_drive`].
    pub fn fail_drive(&mut self, now: Instant, drive: DriveId) {
        self.array.fail_drive(now, drive);
    }

    /// Puts an empty drive in the place of one that failed and begins to rebuild it.
    ///
    /// # Errors
    ///
    /// As [`Array::replace_drive`]; the new drive is dropped then.
    pub fn replace_drive(
        &mut self,
        now: Instant,
        drive: DriveId,
        new: Drive<O>,
    ) -> Result<(), CannotReplace> {
        self.array.replace_drive(now, drive)?;
        self.put_in(drive, new);
        self.plane.drive_replaced(drive);
        Ok(())
    }

    /// Uses `new` as the model of a drive from now on.
    fn put_in(&mut self, drive: DriveId, mut new: Drive<O>) {
        new.suit(self.policy);
        new.set_deferred_copies(Self::may_defer_copies(self.reports.len()));
        self.liars.forget(drive);
        self.drives[drive.index()] = new;
        self.touched.insert(drive);
    }

    /// Takes a failed drive back that lacks only these stripes and those being written; see
    /// [`Array::take_drive_back`]. `new` is its model from now on.
    ///
    /// # Errors
    ///
    /// As [`Array::take_drive_back`].
    pub fn take_drive_back(
        &mut self,
        now: Instant,
        drive: DriveId,
        stripes: impl IntoIterator<Item = core::ops::Range<u64>>,
        new: Drive<O>,
    ) -> Result<(), CannotReplace> {
        self.array.take_drive_back(now, drive, stripes)?;
        self.put_in(drive, new);
        self.plane.drive_returned(drive);
        Ok(())
    }

    /// Resumes the rebuild of a drive that lacks these stripes; see [`Array::resume_rebuild`].
    ///
    /// # Errors
    ///
    /// As [`Array::resume_rebuild`].
    pub fn resume_rebuild(
        &mut self,
        now: Instant,
        drive: DriveId,
        stripes: impl IntoIterator<Item = core::ops::Range<u64>>,
    ) -> Result<(), CannotReplace> {
        self.array.resume_rebuild(now, drive, stripes)?;
        self.touched.insert(drive);
        Ok(())
    }

    /// Changes the busy windows; see [`Array::set_window`].
    pub fn set_window(&mut self, now: Instant, change: impl Into<WindowChange>) -> bool {
        self.array.set_window(now, change)
    }

    /// Computes the parity of these stripes again; see [`Array::resync`].
    pub fn resync(
        &mut self,
        now: Instant,
        stripes: impl IntoIterator<Item = core::ops::Range<u64>>,
    ) {
        self.array.resync(now, stripes);
    }

    /// Compares parity with data everywhere; see [`Array::scrub`].
    pub fn scrub(&mut self, now: Instant, rewrites: bool) {
        self.array.scrub(now, rewrites);
    }

    /// Prepares for another policy or for the shutdown; see [`Array::prepare_to_switch`].
    pub fn prepare_to_switch(&mut self, now: Instant) {
        self.array.prepare_to_switch(now);
    }

    /// Cancels [`Engine::prepare_to_switch`].
    pub fn stay_with_policy(&mut self, now: Instant) {
        self.array.stay_with_policy(now);
    }

    /// Continues under another policy.
    ///
    /// # Errors
    ///
    /// As [`Array::set_policy`]; nothing has changed then.
    pub fn set_policy(
        &mut self,
        now: Instant,
        policy: PolicyKind,
        settings: &PolicySettings,
        coordination: Coordination,
    ) -> Result<(), CannotSwitch> {
        self.array.set_policy(now, policy, settings, coordination)?;
        self.policy = policy;
        let watched = if self.array.watches_drives() { self.drives.len() } else { 0 };
        self.reports = vec![CollectionReport::default(); watched];
        for (position, drive) in self.drives.iter_mut().enumerate() {
            drive.catch_up(now);
            drive.suit(policy);
            drive.set_deferred_copies(Self::may_defer_copies(watched));
            self.sources.set(position, drive.next_deadline());
            let id = DriveId(position as u8);
            if let (Some(_), Some(ssd)) = (self.liars.told(id), drive.ssd_mut()) {
                ssd.set_window_scope(WindowScope::Collections);
            }
            self.touched.insert(id);
        }
        Ok(())
    }

    /// Checks the invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold: a bug.
    pub fn check_invariants(&self) {
        let listed: usize = self.touched.contains.iter().filter(|&&contains| contains).count();
        assert_eq!(listed, self.touched.drives.len(), "a touched drive is listed once");
        for (position, drive) in self.drives.iter().enumerate() {
            let id = DriveId(position as u8);
            let settled = !self.touched.contains[position] && self.current != Some(id);
            if settled {
                assert_eq!(
                    self.sources.get(position),
                    drive.next_deadline(),
                    "the engine knows when drive {position} is due"
                );
            }
            if let Some(ssd) = drive.ssd() {
                ssd.check_invariants();
            }
        }
        self.array.check_invariants();
        let watched = if self.array.watches_drives() { self.drives.len() } else { 0 };
        assert_eq!(self.reports.len(), watched, "reports are kept for a policy that listens");
    }
}
