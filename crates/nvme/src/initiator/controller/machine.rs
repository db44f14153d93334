//! The machine of one controller.

use super::config::{ControllerConfig, QueuePlan};
use super::error::ControllerError;
use super::facts::DriveFacts;
use super::keep_alive::{Due, KeepAlive};
use super::questions::{
    CONFIGURATION, Outgoing, Purpose, Question, Submission, admin, configure, connect, set,
    window_config, window_events, window_log,
};
use crate::initiator::clock::ClockReading;
use crate::initiator::transport::ENTRIES_MAX;
use crate::wire::ioda::ArraySettings;
use crate::wire::pdu::ADMIN_CAPSULE_DATA_BYTES;
use crate::wire::{
    AdminCommand, AsyncEvent, Capabilities, CompletionEntry, Configuration, ConnectRefusal,
    Connected, ControllerKind, ControllerStatus, Feature, IDENTIFY_BYTES, IdentifyController,
    IdentifyNamespace, NamespaceList, QueueCounts, ShutdownNotice, StatusField, WindowLog, notice,
};
use alloc::collections::VecDeque;
use units::{Duration, Instant};

/// Entries of the admin queue, as Linux has them.
const ADMIN_ENTRIES: u16 = 32;

/// Interval between status requests to a controller that is not ready.
const READY_EVERY: Duration = Duration::from_millis(10);

/// Unit of [`Capabilities::timeout_500ms`].
const TIMEOUT_UNIT: Duration = Duration::from_millis(500);

/// Most data of an admin command.
const ADMIN_TRANSFER_BYTES: u32 = IDENTIFY_BYTES as u32;

/// Answer of a drive about its windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowAnswer {
    /// Log page 0Ah, and the clock of the drive if the page has it.
    Log(WindowLog, Option<ClockReading>),
    /// Feature 13h was set, or this error.
    Set(StatusField),
    /// The drive has no such log page.
    NoLog(StatusField),
}

/// Action that a controller requests of its driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControllerAction {
    /// Open a connection for this queue, then call [`Controller::handle_open`].
    Open(QueuePlan),
    /// Send this command, and call [`Controller::handle_completion`] when it is over.
    Submit(Submission),
    /// The drive can be used; see [`Controller::facts`].
    Ready,
    /// The drive reported an event.
    Event(AsyncEvent),
    /// The drive answered about its windows.
    Windows(WindowAnswer),
    /// The controller is over: close all connections. No other action follows.
    Over(ControllerError),
    /// The controller has shut down as requested. No other action follows.
    ShutDown,
}

/// Progress of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The admin queue is to be connected.
    Opening,
    /// A question of the set-up is in flight.
    Asking(Question),
    /// The status is requested again at this time.
    NotReady(Instant),
    /// I/O queues are being connected; this many are.
    Queues(u16),
    Ready,
    ShuttingDown,
    Over,
}

/// A controller from its host's side.
///
/// The machine connects the controller, enables and identifies it, and connects its queues. Then it
/// keeps the controller alive, requests events and, with IODA, sets and reads windows. It checks
/// every answer; a wrong one ends the controller ([`ControllerAction::Over`]).
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    state: State,
    actions: VecDeque<ControllerAction>,
    /// Time at which the present step has taken too long.
    deadline: Instant,
    /// Time by which an enabled controller has to be ready.
    ready_by: Instant,
    keep_alive: KeepAlive,
    capabilities: Capabilities,
    id: u16,
    identity: Option<IdentifyController>,
    facts: Option<DriveFacts>,
    /// I/O queues that the controller grants.
    granted: u16,
    /// Time at which log page 0Ah was requested.
    log_asked: Option<Instant>,
    /// Settings of windows are in flight.
    is_setting: bool,
}

impl Controller {
    /// A controller before its set-up. The first action opens the admin queue.
    #[must_use]
    pub fn new(now: Instant, config: ControllerConfig) -> Self {
        let plan = QueuePlan {
            queue: 0,
            commands: ADMIN_ENTRIES - 1,
            capsule_bytes: ADMIN_CAPSULE_DATA_BYTES,
            transfer_max_bytes: ADMIN_TRANSFER_BYTES,
        };
        Self {
            state: State::Opening,
            actions: VecDeque::from([ControllerAction::Open(plan)]),
            deadline: now + config.timeout,
            ready_by: Instant::NEVER,
            keep_alive: KeepAlive::new(now, Duration::ZERO),
            capabilities: Capabilities::default(),
            id: 0,
            identity: None,
            facts: None,
            granted: 0,
            log_asked: None,
            is_setting: false,
            config,
        }
    }

    /// Properties of the drive; `None` before [`ControllerAction::Ready`].
    #[must_use]
    pub fn facts(&self) -> Option<&DriveFacts> {
        self.facts.as_ref().filter(|_| self.is_ready())
    }

    /// Whether the drive can be used.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// I/O queues that are connected when the controller is ready.
    #[must_use]
    pub const fn io_queues(&self) -> u16 {
        self.granted
    }

    /// Time at which to call [`Self::handle_deadline`] if nothing else happens; [`Instant::NEVER`]
    /// if nothing is awaited.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        match self.state {
            State::Over => Instant::NEVER,
            State::NotReady(again) => again.min(self.keep_alive.deadline()),
            _ => self.deadline.min(self.keep_alive.deadline()),
        }
    }

    /// The next action.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<ControllerAction> {
        self.actions.pop_front()
    }

    /// Handles a deadline that has passed.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.state == State::Over {
            return;
        }
        match self.keep_alive.due(now) {
            Some(Due::GiveUp) => return self.fail(ControllerError::Timeout),
            Some(Due::Send) => {
                let command = AdminCommand::KeepAlive;
                self.submit(admin(Purpose::KeepAlive, 0, command, Outgoing::None));
            }
            None => {}
        }
        match self.state {
            State::NotReady(again) if again <= now => self.ask(now, Question::Status),
            State::NotReady(_) => {}
            _ if self.deadline <= now => self.fail(ControllerError::Timeout),
            _ => {}
        }
    }

    /// Handles a connection that has been opened as requested.
    pub fn handle_open(&mut self, now: Instant, queue: u16) {
        match self.state {
            State::Opening if queue == 0 => self.ask(now, Question::Connect),
            State::Queues(connected) if queue == connected + 1 => {
                let submission = connect(&self.config, queue, self.entries(), self.id);
                self.submit(submission);
            }
            _ => {}
        }
    }

    /// Handles the end of a queue's connection: it is closed, could not be opened, or broke the
    /// protocol.
    pub fn handle_closed(&mut self) {
        self.fail(ControllerError::Closed);
    }

    /// Handles the completion of a command, with the data that came.
    pub fn handle_completion(
        &mut self,
        now: Instant,
        purpose: Purpose,
        completion: &CompletionEntry,
        data: &[u8],
    ) {
        let status = completion.status;
        let failed = |what| ControllerError::Failed { what, status };
        match (purpose, self.state) {
            (_, State::Over) => {}
            (Purpose::SetUp, State::Asking(question)) => {
                if let Err(error) = self.answered(now, question, completion, data) {
                    self.fail(error);
                }
            }
            (Purpose::ConnectIo { queue }, State::Queues(connected)) if queue == connected + 1 => {
                match status.is_success() {
                    true => self.connected(now, queue),
                    false => self.fail(refusal(completion)),
                }
            }
            (Purpose::KeepAlive, _) if status.is_success() => self.keep_alive.answered(),
            (Purpose::KeepAlive, _) => self.fail(failed("Keep Alive")),
            // A controller without events to report, or that takes no requests, is used without
            // them.
            (Purpose::AsyncEvent, State::Ready) if status.is_success() => {
                let event = AsyncEvent::decode(completion.dw0());
                self.actions.push_back(ControllerAction::Event(event));
                if event == AsyncEvent::WindowAggregate {
                    self.submit(window_events());
                }
                self.ask_event();
            }
            (Purpose::WindowLog, State::Ready) => self.log_answered(now, completion, data),
            (Purpose::WindowConfig, State::Ready) => {
                self.is_setting = false;
                self.await_windows(now);
                let answer = WindowAnswer::Set(status);
                self.actions.push_back(ControllerAction::Windows(answer));
            }
            (Purpose::ShutDown, State::ShuttingDown) => {
                self.state = State::Over;
                self.actions.push_back(ControllerAction::ShutDown);
            }
            _ => {}
        }
    }

    /// Requests log page 0Ah, unless the request is in flight already. The answer is a
    /// [`ControllerAction::Windows`].
    pub fn ask_windows(&mut self, now: Instant) {
        let Some(facts) = self.facts().copied() else { return };
        if self.log_asked.is_none() {
            self.log_asked = Some(now);
            self.await_windows(now);
            self.submit(window_log(facts.nvm_set));
        }
    }

    /// Sets windows, with IODA's magic word. Returns false if other settings are in flight. The
    /// answer is a [`ControllerAction::Windows`].
    pub fn set_windows(&mut self, now: Instant, enable: bool, settings: ArraySettings) -> bool {
        let Some(facts) = self.facts().copied() else { return false };
        if self.is_setting {
            return false;
        }
        self.is_setting = true;
        self.await_windows(now);
        self.submit(window_config(facts.nvm_set, enable, settings));
        true
    }

    /// Shuts the controller down in order. [`ControllerAction::ShutDown`] or
    /// [`ControllerAction::Over`] follows.
    pub fn shut_down(&mut self, now: Instant) {
        match self.state {
            State::Ready => {
                self.state = State::ShuttingDown;
                self.deadline = now + self.config.timeout;
                let shutdown = ShutdownNotice::Normal;
                let configuration = Configuration { enable: true, shutdown, ..CONFIGURATION };
                let command = configure(configuration);
                self.submit(admin(Purpose::ShutDown, 0, command, Outgoing::None));
            }
            State::ShuttingDown | State::Over => {}
            _ => self.fail(ControllerError::Closed),
        }
    }

    /// Checks invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub fn check_invariants(&self) {
        // Every action answers one input, except events, of which one request is in flight.
        assert!(self.actions.len() <= 16, "actions are taken as they come");
        assert_eq!(self.facts().is_some(), self.is_ready());
        if self.state == State::Ready {
            assert!(self.granted > 0 && self.identity.is_some());
        }
    }

    /// Entries of an I/O queue.
    fn entries(&self) -> u16 {
        let most = self.capabilities.queue_entries_max.saturating_add(1);
        let wanted = self.config.entries.clamp(2, ENTRIES_MAX);
        wanted.min(most)
    }

    fn submit(&mut self, submission: Submission) {
        self.actions.push_back(ControllerAction::Submit(submission));
    }

    fn ask(&mut self, now: Instant, question: Question) {
        self.state = State::Asking(question);
        self.deadline = now + self.config.timeout;
        self.submit(question.submission(&self.config, ADMIN_ENTRIES));
    }

    fn fail(&mut self, error: ControllerError) {
        if self.state == State::ShuttingDown && error == ControllerError::Closed {
            self.state = State::Over;
            return self.actions.push_back(ControllerAction::ShutDown);
        }
        if self.state != State::Over {
            self.state = State::Over;
            self.actions.push_back(ControllerAction::Over(error));
        }
    }

    /// Continues the set-up with the answer to a question.
    fn answered(
        &mut self,
        now: Instant,
        question: Question,
        completion: &CompletionEntry,
        data: &[u8],
    ) -> Result<(), ControllerError> {
        let status = completion.status;
        if !status.is_success() {
            return Err(match question {
                Question::Connect => refusal(completion),
                _ => ControllerError::Failed { what: question.label(), status },
            });
        }
        let page = || data.first_chunk::<IDENTIFY_BYTES>().ok_or(ControllerError::Closed);
        match question {
            Question::Connect => {
                let connected = Connected::decode(completion.dw0());
                if connected.authenticate || connected.secure_channel {
                    return Err(ControllerError::Authentication);
                }
                self.id = connected.controller;
                self.keep_alive = KeepAlive::new(now, self.config.keep_alive);
                self.ask(now, Question::Capabilities);
            }
            Question::Capabilities => {
                self.capabilities = Capabilities::decode(completion.result);
                if self.capabilities.queue_entries_max == 0 {
                    return Err(ControllerError::Namespace("its queues have one entry"));
                }
                let units = u64::from(self.capabilities.timeout_500ms).max(1);
                self.ready_by = now + TIMEOUT_UNIT * units;
                self.ask(now, Question::Enable);
            }
            Question::Enable => self.ask(now, Question::Status),
            Question::Status => {
                let status = ControllerStatus::decode(completion.dw0());
                if status.ready && !status.fatal {
                    self.ask(now, Question::Controller);
                } else if status.fatal || now >= self.ready_by {
                    return Err(ControllerError::NotReady);
                } else {
                    self.state = State::NotReady(now + READY_EVERY);
                }
            }
            Question::Controller => {
                let identity = IdentifyController::decode(page()?);
                if identity.identity.id != self.id {
                    return Err(ControllerError::Identity);
                }
                if identity.identity.kind == ControllerKind::Discovery {
                    return Err(ControllerError::Discovery);
                }
                self.identity = Some(identity);
                self.ask(
                    now,
                    match self.config.namespace {
                        Some(nsid) => Question::Namespace { nsid },
                        None => Question::Namespaces { after: 0 },
                    },
                );
            }
            Question::Namespaces { .. } => {
                let list = NamespaceList::decode(page()?);
                let nsid = *list.ids().first().ok_or(ControllerError::NoNamespace)?;
                self.ask(now, Question::Namespace { nsid });
            }
            Question::Namespace { nsid } => {
                let namespace = IdentifyNamespace::decode(page()?);
                let identity = self.identity.as_ref().ok_or(ControllerError::Closed)?;
                let facts = DriveFacts::of(&self.capabilities, identity, nsid, &namespace)?;
                self.facts = Some(facts);
                let count = self.config.io_queues.max(1);
                self.ask(now, Question::Queues { count });
            }
            Question::Queues { count } => {
                let counts = QueueCounts::decode(completion.dw0());
                let granted = counts.submission.min(counts.completion).saturating_add(1);
                self.granted = granted.min(count);
                self.open_queue(now, 0);
            }
        }
        Ok(())
    }

    /// Opens the I/O queue after the first `connected` ones.
    fn open_queue(&mut self, now: Instant, connected: u16) {
        let identity = self.identity.as_ref();
        let capsule_bytes = identity.map_or(0, |identity| match identity.fabrics.data_offset_16b {
            0 => identity.fabrics.capsule_data_bytes(),
            // With TCP, data begin at the end of the entry; a controller with another offset gets
            // no data in capsules.
            _ => 0,
        });
        self.state = State::Queues(connected);
        self.deadline = now + self.config.timeout;
        let transfer_max_bytes = self.facts.as_ref().map_or(0, |facts| facts.transfer_max_bytes);
        self.actions.push_back(ControllerAction::Open(QueuePlan {
            queue: connected + 1,
            commands: self.entries() - 1,
            capsule_bytes,
            transfer_max_bytes,
        }));
    }

    fn connected(&mut self, now: Instant, queue: u16) {
        if queue < self.granted {
            return self.open_queue(now, queue);
        }
        self.state = State::Ready;
        self.deadline = Instant::NEVER;
        self.actions.push_back(ControllerAction::Ready);
        let offered = self.identity.as_ref().map_or(0, |identity| identity.support.async_events);
        let wanted = offered & (notice::NAMESPACE_ATTRIBUTES | notice::WINDOW_AGGREGATE);
        if wanted != 0 {
            let command = set(Feature::AsyncEvents(wanted));
            self.submit(admin(Purpose::WantedEvents, 0, command, Outgoing::None));
            self.ask_event();
        }
    }

    fn ask_event(&mut self) {
        let command = AdminCommand::AsyncEventRequest;
        self.submit(admin(Purpose::AsyncEvent, 0, command, Outgoing::None));
    }

    fn log_answered(&mut self, now: Instant, completion: &CompletionEntry, data: &[u8]) {
        let asked = self.log_asked.take();
        self.await_windows(now);
        let answer = match data.first_chunk().filter(|_| completion.status.is_success()) {
            Some(page) => {
                let log = WindowLog::decode(page);
                let reading = log.ioda.zip(asked).map(|(report, asked)| ClockReading {
                    asked,
                    answered: now,
                    told: report.now,
                });
                WindowAnswer::Log(log, reading)
            }
            None => WindowAnswer::NoLog(completion.status),
        };
        self.actions.push_back(ControllerAction::Windows(answer));
    }

    /// Sets the deadline for outstanding questions about windows.
    fn await_windows(&mut self, now: Instant) {
        let waits = self.is_setting || self.log_asked.is_some();
        self.deadline = if waits { now + self.config.timeout } else { Instant::NEVER };
    }
}

/// Reason why a Connect failed.
fn refusal(completion: &CompletionEntry) -> ControllerError {
    let status = completion.status;
    match ConnectRefusal::decode(status, completion.dw0()) {
        Some(refusal) => ControllerError::Refused(refusal),
        None => ControllerError::Failed { what: "Connect", status },
    }
}
