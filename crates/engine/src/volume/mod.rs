//! An array as one block device: requests of its clients and orders of its administrators.
//!
//! Knows: the parts of requests and their order, the turns of clients, and which answers wait for
//! stable storage. Also knows: the steps of a policy change and of a shutdown. Does not know: who
//! the clients are; the driver names each request with a [`Token`], and tells clients apart by an
//! [`Origin`].
//!
//! After every `handle_*` and every order, call [`Volume::poll_output`] and [`Volume::poll_work`]
//! with the same time until both return `None`. Then call [`Volume::handle_deadline`] at
//! [`Volume::next_deadline`], which may be at once: a reconstruction takes `reconstruct_compute`
//! and ends by deadline even if that is 0.
//!
//! **Turns.** A request goes through the array in parts. A driver with other work gives each of its
//! turns a budget ([`Volume::begin_turn`]) and begins parts within it
//! ([`Volume::continue_requests`]), as long as [`Volume::has_parts`]. Clients take turns by bytes,
//! requests up to 128 KiB come before parts of longer ones, and at most 16 MiB plus one part of
//! each kind are under way.

mod administration;
mod opening;
mod requests;

pub use administration::{ShutdownEnd, SwitchRefusal};
pub use opening::{Rebuild, Repairs};
pub use requests::TurnBudget;

use crate::bytes::{ByteRequest, Bytes, EndedSlice, Notice, Progress, StorageWork};
use crate::durability::{End, IoResult, StopReason};
use crate::engine::{self, Engine};
use crate::planted::Bug;
use crate::token::Token;
use crate::{Drive, Memory, Origin};
use administration::{Administration, Step, Switching};
use alloc::collections::VecDeque;
use array::policy::{PolicyKind, PolicySettings};
use array::{CannotReplace, Coordination, DriveState, Happening, Outcome};
use core::ops::Range;
use requests::{Asked, Requests};
use units::{DriveId, Duration, Instant, Observe, Unobserved};

/// Answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The request is done, and stable if that was asked for.
    Done,
    /// The read is done; [`Volume::brought`] returns its data, until [`Volume::end_read`] or
    /// [`Volume::take_read`].
    Data,
    /// The request cannot be done: more drives are missing than the array can do without.
    Failed,
    /// The request was not begun, or will never end: the array takes no requests any more.
    Refused,
}

/// The outputs of a volume, for its driver.
#[derive(Debug)]
pub enum Output {
    /// A client gets its answer.
    Reply {
        /// The client's request.
        token: Token,
        /// The answer.
        reply: Reply,
    },
    /// A part of a request is done; the outcome says where its time went.
    Part(Outcome),
    /// Something has happened.
    Happened(Happening),
    /// The ordered failure of a drive is on stable storage: the drive stays failed after a crash.
    FailureRecorded {
        /// The drive.
        drive: DriveId,
    },
    /// The place of a failed drive is free: [`Volume::replace_drive`] may be called when an empty
    /// drive with a formatted head is in it.
    ReadyToReplace {
        /// The drive.
        drive: DriveId,
    },
    /// A change of policy has ended.
    Switched(Result<PolicyKind, SwitchRefusal>),
    /// The array takes no requests any more.
    Stopped(StopReason),
    /// All requests have ended before a shutdown: the driver can save state that belongs to it,
    /// then call [`Volume::record_shutdown`].
    Drained,
    /// The shutdown is over.
    ShutDown(ShutdownEnd),
    /// A command, or a message, for a remote drive.
    Remote(engine::Output),
}

/// An array as one block device, under any clock.
pub struct Volume<M: Memory, O: Observe = Unobserved> {
    engine: Engine<Bytes<M>, O>,
    requests: Requests,
    administration: Administration<M::Buffer>,
    outputs: VecDeque<Output>,
}

impl<M: Memory, O: Observe> Volume<M, O> {
    /// Creates a volume that begins to serve. [`Volume::begin_repairs`] comes next if the array was
    /// not shut down.
    pub fn new(engine: Engine<Bytes<M>, O>) -> Self {
        Self {
            engine,
            requests: Requests::default(),
            administration: Administration::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The engine.
    #[must_use]
    #[inline]
    pub fn engine(&self) -> &Engine<Bytes<M>, O> {
        &self.engine
    }

    /// The engine, to change what neither requests nor orders change.
    #[inline]
    pub fn engine_mut(&mut self) -> &mut Engine<Bytes<M>, O> {
        &mut self.engine
    }

    /// Source of buffers.
    #[inline]
    pub fn memory(&mut self) -> &mut M {
        self.engine.plane_mut().memory()
    }

    /// Takes a request to read or change data, where all requests are of one client; see
    /// [`Volume::handle_request_of`]. With `forced` the answer waits for stable storage.
    #[inline]
    pub fn handle_request(
        &mut self,
        now: Instant,
        token: Token,
        request: ByteRequest<M::Buffer>,
        forced: bool,
    ) {
        self.handle_request_of(now, Origin::default(), token, request, forced);
    }

    /// Takes a request of client `origin` to read or change data. With `forced` the answer waits
    /// for stable storage.
    #[inline]
    pub fn handle_request_of(
        &mut self,
        now: Instant,
        origin: Origin,
        token: Token,
        request: ByteRequest<M::Buffer>,
        forced: bool,
    ) {
        if self.administration.refuses_requests() {
            self.outputs.push_back(Output::Reply { token, reply: Reply::Refused });
            return;
        }
        let asked =
            Asked { origin, kind: request.kind, length_bytes: request.length_bytes, forced };
        if let Some(request) = self.administration.set_aside(token, asked, request) {
            self.begin(now, token, asked, request);
        }
    }

    /// Takes a request to make all that was answered before stable.
    pub fn handle_flush(&mut self, now: Instant, token: Token) {
        if self.administration.refuses_requests() {
            self.outputs.push_back(Output::Reply { token, reply: Reply::Refused });
        } else {
            self.engine.plane_mut().flush(now, token);
        }
    }

    fn begin(&mut self, now: Instant, token: Token, asked: Asked, request: ByteRequest<M::Buffer>) {
        self.engine.plane_mut().begin_request(token, request);
        self.requests.insert(token, asked);
        // Long requests wait their turn at least until all requests that came with them are known.
        while let Some(token) = self.requests.pop_short() {
            self.begin_part(now, token);
        }
    }

    fn begin_part(&mut self, now: Instant, token: Token) {
        let plane = self.engine.plane_mut();
        let Some(request) = plane.next_slice(token) else { return };
        let has_more = plane.can_begin(token);
        self.requests.begun(token, request.size_bytes);
        if has_more {
            self.requests.wait(token);
        }
        self.engine.handle_request(now, &request);
    }

    /// Begins a turn of the driver, and limits the parts begun in it. Before the first turn there
    /// is no limit.
    pub fn begin_turn(&mut self, budget: TurnBudget) {
        self.requests.begin_turn(budget);
    }

    /// Begins parts of requests whose turn it is, within the budget. The call ends when the budget
    /// is used up, even if parts end at once.
    pub fn continue_requests(&mut self, now: Instant) {
        // The array drains before a change of policy.
        while !self.administration.is_switching()
            && let Some(token) = self.requests.pop()
        {
            self.begin_part(now, token);
        }
    }

    /// Returns true if [`Volume::continue_requests`] could begin a part in a new turn.
    #[must_use]
    #[inline]
    pub fn has_parts(&self) -> bool {
        self.requests.can_begin() && !self.administration.is_switching()
    }

    /// Parts of requests that were begun since the start.
    #[must_use]
    pub fn parts_begun(&self) -> u64 {
        self.requests.parts_begun()
    }

    /// Requests under way in the array.
    #[must_use]
    pub fn requests_in_flight(&self) -> u64 {
        self.requests.in_flight()
    }

    /// Data of the read `token`, from its [`Reply::Data`] to [`Volume::end_read`].
    ///
    /// # Panics
    ///
    /// At any other time, and for tokens of other requests.
    #[must_use]
    pub fn brought(&self, token: Token) -> &[u8] {
        self.engine.plane().brought(token)
    }

    /// Returns the buffer of a read, and the range of the requested bytes in it.
    ///
    /// # Panics
    ///
    /// As [`Volume::brought`].
    pub fn take_read(&mut self, token: Token) -> (M::Buffer, Range<usize>) {
        self.engine.plane_mut().take_brought(token)
    }

    /// Ends a read whose data is no longer needed.
    pub fn end_read(&mut self, token: Token) {
        self.engine.plane_mut().end_request(token);
    }

    /// Handles the end of storage work, which returns its buffer.
    #[inline]
    pub fn handle_storage(
        &mut self,
        now: Instant,
        tag: u32,
        result: IoResult,
        buffer: Option<M::Buffer>,
    ) {
        self.engine.plane_mut().handle_storage(now, tag, result, buffer);
    }

    /// Handles a read that the storage failed fast; see [`Bytes::handle_failed_fast`].
    pub fn handle_failed_fast(
        &mut self,
        now: Instant,
        tag: u32,
        busy_remaining: Duration,
        buffer: Option<M::Buffer>,
    ) {
        self.engine.plane_mut().handle_failed_fast(now, tag, busy_remaining, buffer);
    }

    /// Returns the next work for the storage.
    #[inline]
    pub fn poll_work(&mut self) -> Option<StorageWork<M::Buffer>> {
        self.engine.plane_mut().poll_work()
    }

    /// Earliest deadline of the array, the drives, the records and the orders.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let records = self.engine.plane().next_deadline();
        self.engine.next_deadline().min(records).min(self.administration.next_deadline())
    }

    /// Handles the deadline.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.engine.next_deadline() <= now {
            self.engine.handle_deadline(now);
        }
        if self.engine.plane().next_deadline() <= now {
            self.engine.plane_mut().handle_deadline(now);
        }
    }

    /// Returns the next output for the driver.
    #[inline]
    pub fn poll_output(&mut self, now: Instant) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if let Some(output) = self.engine.poll_output(now) {
                return Some(self.engine_output(now, output));
            }
            if let Some(notice) = self.engine.plane_mut().poll_notice() {
                return Some(self.notice(notice));
            }
            if !self.administration.is_active() || !self.advance_orders(now) {
                return None;
            }
        }
    }

    #[inline]
    fn engine_output(&mut self, now: Instant, output: engine::Output) -> Output {
        match output {
            engine::Output::Complete(outcome) => {
                self.end_part(now, &outcome);
                Output::Part(outcome)
            }
            engine::Output::Happened(happening) => Output::Happened(happening),
            remote @ (engine::Output::Command { .. }
            | engine::Output::AskStatus { .. }
            | engine::Output::Permitted { .. }) => Output::Remote(remote),
        }
    }

    fn notice(&mut self, notice: Notice) -> Output {
        match notice {
            Notice::Answer(token) => Output::Reply { token, reply: Reply::Done },
            Notice::Refuse(token) => Output::Reply { token, reply: Reply::Refused },
            Notice::Happened(happening) => Output::Happened(happening),
            Notice::Stop(reason) => {
                let end = self.administration.stop(reason);
                for token in self.requests.take_all() {
                    self.outputs.push_back(Output::Reply { token, reply: Reply::Refused });
                }
                self.outputs.extend(end.map(Output::ShutDown));
                Output::Stopped(reason)
            }
            Notice::Ended(end) => Output::ShutDown(self.administration.ended(end)),
        }
    }

    fn end_part(&mut self, now: Instant, outcome: &Outcome) {
        let plane = self.engine.plane_mut();
        let EndedSlice { token, bytes, progress } = plane.end_slice(outcome);
        self.requests.ended(token, bytes);
        match progress {
            Progress::More => return self.requests.wait(token),
            Progress::UnderWay => return,
            Progress::Done | Progress::Failed => {}
        }
        let Some(asked) = self.requests.remove(token) else { return };
        let forced = asked.forced;
        let reply = match progress {
            Progress::Failed => Reply::Failed,
            _ if asked.is_read() => Reply::Data,
            _ => Reply::Done,
        };
        if !matches!(reply, Reply::Data) {
            plane.end_request(token);
        }
        match reply {
            Reply::Done if forced && !plane.planted().has(Bug::ForcedWriteUnforced) => {
                plane.flush(now, token);
            }
            Reply::Done if !plane.answers_at_once() => plane.answer(token),
            _ => self.outputs.push_back(Output::Reply { token, reply }),
        }
    }

    /// Fails a drive. [`Output::FailureRecorded`] follows when the failure is recorded.
    pub fn fail_drive(&mut self, now: Instant, drive: DriveId) {
        self.administration.fail(drive);
        self.engine.fail_drive(now, drive);
    }

    /// Asks for the place of a failed drive. The drive must not be touched before
    /// [`Output::ReadyToReplace`]: a start may need its content until the superblocks of the others
    /// record the failure.
    ///
    /// # Errors
    ///
    /// If the drive has not failed.
    pub fn ask_to_replace(&mut self, drive: DriveId) -> Result<(), CannotReplace> {
        match self.engine.array().can_replace(drive) {
            Ok(()) | Err(CannotReplace::StillBusy { .. }) => {
                self.administration.ask_to_replace(drive);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Puts an empty drive in the place of one that failed and begins its rebuild.
    ///
    /// # Errors
    ///
    /// As [`Volume::ask_to_replace`]; the new drive is dropped then.
    pub fn replace_drive(
        &mut self,
        now: Instant,
        drive: DriveId,
        new: Drive<O>,
    ) -> Result<(), CannotReplace> {
        self.engine.replace_drive(now, drive, new)
    }

    /// Takes a failed drive back with its old content
    /// ([`check_return`](crate::durability::check_return)), and begins to rebuild the stripes that
    /// it missed.
    ///
    /// # Errors
    ///
    /// As [`Volume::ask_to_replace`].
    pub fn take_drive_back(
        &mut self,
        now: Instant,
        drive: DriveId,
        new: Drive<O>,
    ) -> Result<(), CannotReplace> {
        let missed = opening::stripes_missed(self, drive);
        self.engine.take_drive_back(now, drive, missed, new)
    }

    /// Compares parity with data everywhere. With `rewrites`, wrong parity is written again.
    pub fn scrub(&mut self, now: Instant, rewrites: bool) {
        self.engine.plane_mut().reset_mismatches();
        self.engine.scrub(now, rewrites);
    }

    /// Changes the policy as soon as nothing is under way; requests that come before that wait.
    /// [`Output::Switched`] follows.
    ///
    /// # Errors
    ///
    /// If another change of policy or a shutdown is under way.
    pub fn switch_policy(
        &mut self,
        now: Instant,
        policy: PolicyKind,
        settings: PolicySettings,
        coordination: Coordination,
    ) -> Result<(), SwitchRefusal> {
        self.administration.begin_switch(policy, settings, coordination)?;
        self.engine.prepare_to_switch(now);
        Ok(())
    }

    /// Refuses further requests, and ends the array when those under way have ended. If some have
    /// not ended at `until`, it ends as in a crash, which loses nothing that was flushed. A rebuild
    /// resumes when the array serves again. [`Output::Drained`] and [`Output::ShutDown`] follow.
    pub fn shut_down(&mut self, now: Instant, until: Instant) {
        self.engine.prepare_to_switch(now);
        self.administration.begin_shutdown(until);
    }

    /// Continues the shutdown after [`Output::Drained`]: the superblocks record that the array has
    /// ended.
    pub fn record_shutdown(&mut self, now: Instant) {
        self.engine.plane_mut().end(now);
    }

    /// Returns true if no request, operation or command is under way, and no record has to be
    /// written.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.is_idle() && !self.requests.is_waiting() && self.engine.plane().is_idle()
    }

    /// Returns true if no request, operation or command is under way, and the write cache is empty.
    fn is_idle(&self) -> bool {
        let array = self.engine.array();
        array.operations_in_flight() == 0
            && array.requests_in_flight() == 0
            && self.engine.plane().commands_in_flight() == 0
            && array.cached_pages() == 0
    }

    /// Advances orders whose time has come. Returns true if one advanced.
    fn advance_orders(&mut self, now: Instant) -> bool {
        let (array, plane) = (self.engine.array(), self.engine.plane());
        let recorded = self.administration.take_failed(|drive| {
            array.drive_state(drive) == DriveState::Failed && plane.is_failure_recorded(drive)
        });
        if let Some(drive) = recorded {
            self.outputs.push_back(Output::FailureRecorded { drive });
            return true;
        }
        let is_free =
            |drive: DriveId| array.can_replace(drive).is_ok() && plane.is_failure_recorded(drive);
        if let Some(drive) = self.administration.take_replacement(is_free) {
            self.outputs.push_back(Output::ReadyToReplace { drive });
            return true;
        }
        let idle = self.is_idle();
        // Waiting parts belong to requests that continue after a change of policy, but not after a
        // shutdown.
        let drained = idle && !self.requests.is_waiting() && self.engine.plane().is_idle();
        match self.administration.next_step(now, idle, drained) {
            Step::Wait => return false,
            Step::Switch(switching) => {
                let Switching { policy, settings, coordination } = *switching;
                let switched = self.engine.set_policy(now, policy, &settings, coordination);
                if switched.is_err() {
                    self.engine.stay_with_policy(now);
                }
                let result = switched.map(|()| policy).map_err(SwitchRefusal::Array);
                self.outputs.push_back(Output::Switched(result));
                while let Some((token, asked, request)) = self.administration.pop_aside() {
                    self.begin(now, token, asked, request);
                }
            }
            Step::Drained => self.outputs.push_back(Output::Drained),
            Step::GiveUp(end) => self.outputs.push_back(Output::ShutDown(end)),
        }
        true
    }

    /// Reason for which the array takes no requests any more.
    #[must_use]
    pub fn stopped(&self) -> Option<StopReason> {
        self.administration.stopped()
    }

    /// Returns true if requests are refused: the array has stopped or is being shut down.
    #[must_use]
    pub fn refuses_requests(&self) -> bool {
        self.administration.refuses_requests()
    }

    /// Checks the invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold: a bug.
    pub fn check_invariants(&self) {
        self.engine.check_invariants();
        self.engine.plane().check_invariants();
    }
}

impl<M: Memory, O: Observe> core::fmt::Debug for Volume<M, O> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Volume").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// Converts the end that the durability machine reports.
impl From<End> for ShutdownEnd {
    fn from(end: End) -> Self {
        match end {
            End::Clean => Self::Clean,
            End::ParityNotResynced => Self::ParityNotResynced,
            End::ChangesHeld => Self::ChangesHeld,
        }
    }
}
