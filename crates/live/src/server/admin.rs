//! Admin commands: fail, replace, switch, scrub, shut down.

use super::clients::ClientId;
use super::{Parts, Server, ServerError, SwitchTable, status};
use crate::control::{AdminCommand, Answer};
use crate::nbd::Request;
use array::Coordination;
use array::policy::{PolicyKind, PolicySettings};
use engine::durability::End;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use units::{DriveId, Duration, Instant};

/// Longest that a shutdown waits for requests that are under way.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(30);

/// A policy that takes over as soon as nothing is under way.
#[derive(Debug)]
struct Switching {
    parts: (PolicyKind, PolicySettings, Coordination),
    answer: Sender<Answer>,
}

/// How far a shutdown is.
#[derive(Debug)]
enum Shutdown {
    /// None was asked for.
    No,
    /// Requests that are under way end first, but not later than this.
    Draining(Instant),
    /// The records are being closed.
    Recording,
    /// It is over.
    Ended(Result<(), String>),
}

/// Admin commands that are in progress, and the state that they have changed.
#[derive(Debug)]
pub(super) struct Admin {
    table: SwitchTable,
    switching: Option<Switching>,
    /// Requests that came while the policy is being switched.
    aside: VecDeque<(ClientId, Request)>,
    /// When the policy came into force.
    policy_since: Instant,
    shutdown: Shutdown,
    /// Those who wait for the shutdown.
    waiting: Vec<Sender<Answer>>,
    /// Why the array takes no requests any more.
    stopped: Option<String>,
}

impl Admin {
    pub(super) fn new(table: SwitchTable) -> Self {
        Self {
            table,
            switching: None,
            aside: VecDeque::new(),
            policy_since: Instant::ZERO,
            shutdown: Shutdown::No,
            waiting: Vec::new(),
            stopped: None,
        }
    }

    pub(super) fn policy_since(&self) -> Instant {
        self.policy_since
    }

    pub(super) fn stopped(&self) -> Option<String> {
        self.stopped.clone()
    }

    fn is_shutting_down(&self) -> bool {
        !matches!(self.shutdown, Shutdown::No)
    }

    /// Whether requests are answered with an error.
    pub(super) fn refuses_requests(&self) -> bool {
        self.is_shutting_down() || self.stopped.is_some()
    }

    /// Keeps a request for later if none may begin now; gives it back otherwise.
    pub(super) fn put_aside(&mut self, client: ClientId, request: Request) -> Option<Request> {
        if self.switching.is_none() {
            return Some(request);
        }
        self.aside.push_back((client, request));
        None
    }

    /// The array takes no requests any more.
    pub(super) fn stop(&mut self, reason: String) {
        tracing::error!("the array has stopped: {reason}");
        if matches!(self.shutdown, Shutdown::Recording) {
            self.shutdown = Shutdown::Ended(Err(reason.clone()));
        }
        self.stopped.get_or_insert(reason);
    }

    /// The records are closed.
    pub(super) fn ended(&mut self, end: End) {
        if end == End::ParityNotResynced {
            tracing::warn!("parity was not yet right everywhere: the next start goes on with it");
        }
        self.shutdown = Shutdown::Ended(Ok(()));
    }
}

fn done(text: impl Into<String>) -> Answer {
    Answer::Done { text: text.into() }
}

fn refused(reason: impl Into<String>) -> Answer {
    Answer::Refused { reason: reason.into() }
}

impl Server {
    pub(super) fn run_admin_command(&mut self, command: AdminCommand, answer: Sender<Answer>) {
        let now = self.catch_up();
        let result = match command {
            AdminCommand::Status => Answer::Status(Box::new(status::status(self, now))),
            AdminCommand::Fail { drive } => self.fail(now, drive),
            AdminCommand::Replace { drive, path } => self.replace(now, drive, path),
            AdminCommand::Policy { name } => match self.find_policy(&name) {
                Err(reason) => refused(reason),
                Ok(parts) => {
                    self.io.engine.prepare_to_switch(now);
                    self.settle(now);
                    self.admin.switching = Some(Switching { parts, answer });
                    return;
                }
            },
            AdminCommand::Window { nanoseconds } => self.set_window(now, nanoseconds),
            AdminCommand::Scrub => {
                self.io.engine.plane_mut().reset_mismatches();
                self.io.engine.scrub(now);
                done("the parity of every stripe is being checked")
            }
            AdminCommand::Shutdown => {
                // What is being rebuilt goes on from the start when the array serves again.
                self.io.engine.prepare_to_switch(now);
                self.settle(now);
                if !self.admin.is_shutting_down() {
                    self.admin.shutdown = Shutdown::Draining(now + SHUTDOWN_PATIENCE);
                }
                self.admin.waiting.push(answer);
                return;
            }
        };
        self.settle(now);
        // The client of the command may have disconnected.
        let _ = answer.send(result);
    }

    fn find_policy(&self, name: &str) -> Parts {
        if self.admin.switching.is_some() {
            return Err("the policy is being switched already".into());
        }
        if self.admin.is_shutting_down() {
            return Err("the array is shutting down".into());
        }
        (self.admin.table.0)(name)
    }

    fn drive(&self, drive: u8) -> Result<DriveId, Answer> {
        let width = self.io.engine.drives().len();
        if usize::from(drive) < width {
            return Ok(DriveId(drive));
        }
        Err(refused(format!("there is no drive {drive}: drives are 0 to {}", width - 1)))
    }

    fn has_failed(&self, drive: DriveId) -> bool {
        self.io.engine.array().absent() >> drive.0 & 1 == 1
    }

    fn fail(&mut self, now: Instant, drive: u8) -> Answer {
        let id = match self.drive(drive) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        if self.has_failed(id) {
            return refused(format!("drive {drive} has failed already"));
        }
        self.io.engine.fail_drive(now, id);
        self.settle(now);
        done(format!("drive {drive} is taken for failed"))
    }

    fn replace(&mut self, now: Instant, drive: u8, path: Option<PathBuf>) -> Answer {
        let id = match self.drive(drive) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        if !self.has_failed(id) {
            return refused(format!("drive {drive} has not failed; fail it first"));
        }
        let replaced = self.members.new_drive(id).and_then(|new| {
            self.members.replace_storage(&mut self.io, id, path)?;
            self.io.engine.replace_drive(now, id, new).map_err(|error| error.to_string())
        });
        if let Err(reason) = replaced {
            return refused(reason);
        }
        self.settle(now);
        done(format!("drive {drive} is new and is being rebuilt"))
    }

    fn set_window(&mut self, now: Instant, nanoseconds: u64) -> Answer {
        if nanoseconds == 0 {
            return refused("a busy window has a length");
        }
        let window = Duration::from_nanos(nanoseconds);
        if !self.io.engine.set_window(now, window) {
            return refused(format!(
                "policy {} has no windows of a length that can be set",
                self.io.engine.policy().name()
            ));
        }
        self.settle(now);
        done(format!("busy windows are {window} long, from the end of those that are open"))
    }

    /// Does what admin commands wait for, if its time has come.
    pub(super) fn go_on_with_admin(&mut self) {
        if self.io.is_idle()
            && self.io.engine.array().cached_pages() == 0
            && let Some(switching) = self.admin.switching.take()
        {
            self.switch_policy(switching);
        }
        if let Shutdown::Draining(until) = self.admin.shutdown {
            self.close_records(until);
        }
    }

    fn switch_policy(&mut self, Switching { parts, answer }: Switching) {
        let (policy, settings, coordination) = parts;
        let now = self.catch_up();
        let before = self.io.engine.policy();
        let switched = self.io.engine.set_policy(now, policy, &settings, coordination);
        let result = match switched {
            Err(error) => {
                self.io.engine.stay_with_policy(now);
                refused(error.to_string())
            }
            Ok(()) => {
                self.admin.policy_since = now;
                tracing::info!(from = before.name(), to = policy.name(), "policy switched");
                done(format!("policy {} instead of {}", policy.name(), before.name()))
            }
        };
        self.settle(now);
        let _ = answer.send(result);
        while let Some((client, request)) = self.admin.aside.pop_front() {
            self.begin_request(client, request);
        }
    }

    /// Begins to record the clean shutdown once nothing is under way. If something still is when
    /// patience ends, the array ends as if it had crashed, which loses nothing that was flushed.
    fn close_records(&mut self, until: Instant) {
        if self.admin.stopped.is_some() || !self.io.is_quiet() {
            if self.io.clock.now() >= until || self.admin.stopped.is_some() {
                tracing::warn!("requests did not end in time: the next start will check parity");
                self.admin.shutdown = Shutdown::Ended(Ok(()));
            }
            return;
        }
        self.members.save_maps(&mut self.io);
        self.admin.shutdown = Shutdown::Recording;
        let now = self.io.present();
        self.io.engine.plane_mut().end(now);
        self.settle(now);
    }

    /// How the array's thread ended, once it has; answers those who wait for that.
    pub(super) fn poll_end(&mut self) -> Option<Result<(), ServerError>> {
        let Shutdown::Ended(result) = &self.admin.shutdown else { return None };
        let result = result.clone();
        let answer = match &result {
            Ok(()) => done("shut down"),
            Err(reason) => refused(reason.clone()),
        };
        for sender in self.admin.waiting.drain(..) {
            let _ = sender.send(answer.clone());
        }
        Some(result.map_err(ServerError::Record))
    }
}
