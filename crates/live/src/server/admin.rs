//! Admin commands: fail, replace, switch, scrub, shut down.

use super::trace::Wanted;
use super::{Server, ServerError, SwitchTable, status, trace};
use crate::control::{AdminCommand, Answer, Joined};
use array::RequestId;
use array::policy::PolicyKind;
use engine::durability::DriveSet;
use engine::volume::{ShutdownEnd, SwitchRefusal};
use ssd::SLOWEST;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use units::{DriveId, Duration, Instant};

/// Longest that a shutdown waits for requests that are under way.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(30);

/// Admin commands that are in progress, and what they have changed.
#[derive(Debug)]
pub(super) struct Admin {
    table: SwitchTable,
    /// Who waits for a change of policy, and the policy before.
    switching: Option<(Sender<Answer>, PolicyKind)>,
    /// Who waits for the failure of a drive to be written down, and which one.
    failing: Vec<(DriveId, Sender<Answer>)>,
    /// Who waits for a drive to be replaced, which one, and by what.
    replacing: Vec<(DriveId, Option<PathBuf>, Sender<Answer>)>,
    /// When the policy came into force.
    policy_since: Instant,
    /// How the array has ended, once it has.
    ended: Option<Result<(), String>>,
    /// Those who wait for the shutdown.
    waiting: Vec<Sender<Answer>>,
}

impl Admin {
    pub(super) fn new(table: SwitchTable) -> Self {
        Self {
            table,
            switching: None,
            failing: Vec::new(),
            replacing: Vec::new(),
            policy_since: Instant::ZERO,
            ended: None,
            waiting: Vec::new(),
        }
    }

    pub(super) fn policy_since(&self) -> Instant {
        self.policy_since
    }

    /// Whether people have ordered that a drive fails.
    pub(super) fn has_ordered_failure(&self, drive: DriveId) -> bool {
        self.failing.iter().any(|(other, _)| *other == drive)
    }

    /// The array has stopped: what was ordered does not end any more.
    pub(super) fn refuse_all(&mut self, reason: &str) {
        let failing = self.failing.drain(..).map(|(_, sender)| sender);
        let replacing = self.replacing.drain(..).map(|(.., sender)| sender);
        let switching = self.switching.take().map(|(sender, _)| sender);
        for sender in failing.chain(replacing).chain(switching) {
            let _ = sender.send(refused(format!("the array has stopped: {reason}")));
        }
    }

    /// The volume has been shut down.
    pub(super) fn shut_down(&mut self, end: ShutdownEnd) {
        match end {
            ShutdownEnd::Clean | ShutdownEnd::ChangesHeld => {}
            ShutdownEnd::ParityNotResynced => {
                tracing::warn!(
                    "parity was not yet right everywhere: the next start goes on with it"
                );
            }
            ShutdownEnd::RequestsUnderWay | ShutdownEnd::Stopped(_) => {
                tracing::warn!("requests did not end in time: the next start will check parity");
            }
        }
        self.ended = Some(match end {
            ShutdownEnd::Stopped(reason) => Err(reason.to_string()),
            _ => Ok(()),
        });
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
            AdminCommand::Fail { drive, force } => match self.begin_to_fail(drive, force) {
                Err(answer) => answer,
                Ok(drive) => {
                    self.admin.failing.push((drive, answer));
                    self.io.volume.fail_drive(now, drive);
                    self.settle(now);
                    return;
                }
            },
            AdminCommand::Replace { drive, path } => {
                match self.begin_to_replace(drive, path.is_some()) {
                    Err(answer) => answer,
                    Ok(drive) => {
                        self.admin.replacing.push((drive, path, answer));
                        self.settle(now);
                        return;
                    }
                }
            }
            AdminCommand::Policy { name } => match self.switch_policy(now, &name) {
                Err(reason) => refused(reason),
                Ok(before) => {
                    self.admin.switching = Some((answer, before));
                    self.settle(now);
                    return;
                }
            },
            AdminCommand::Window { nanoseconds } => self.set_window(now, nanoseconds),
            AdminCommand::Slow { drive, factor } => {
                self.slow_down(now, drive, factor).unwrap_or_else(|answer| answer)
            }
            AdminCommand::Scrub { repair } => {
                self.io.volume.scrub(now, repair);
                self.jobs.observe(&self.io);
                done(match repair {
                    false => "the parity of every stripe is being checked",
                    true => "the parity of every stripe is being checked, and repaired",
                })
            }
            AdminCommand::Trace { request, drive, last } => {
                let wanted = Wanted {
                    request: request.map(RequestId),
                    drive: drive.map(DriveId),
                    last: last as usize,
                };
                Answer::Trace(trace::trace(&self.io, &wanted))
            }
            AdminCommand::Shutdown => {
                self.hosts.iter_mut().for_each(|hosts| hosts.stop_listening());
                self.io.volume.shut_down(now, now + SHUTDOWN_PATIENCE);
                self.admin.waiting.push(answer);
                self.settle(now);
                return;
            }
        };
        self.settle(now);
        // The client of the command may have disconnected.
        let _ = answer.send(result);
    }

    /// Begins to go on under another policy. Returns the one before.
    fn switch_policy(&mut self, now: Instant, name: &str) -> Result<PolicyKind, String> {
        let (policy, settings, coordination) = (self.admin.table.0)(name)?;
        let before = self.io.engine().policy();
        let begun = self.io.volume.switch_policy(now, policy, settings, coordination);
        begun.map(|()| before).map_err(|reason| reason.to_string())
    }

    fn drive(&self, drive: u8) -> Result<DriveId, Answer> {
        let width = self.io.engine().drives().len();
        if usize::from(drive) < width {
            return Ok(DriveId(drive));
        }
        Err(refused(format!("there is no drive {drive}: drives are 0 to {}", width - 1)))
    }

    fn has_failed(&self, drive: DriveId) -> bool {
        self.io.engine().array().absent() >> drive.0 & 1 == 1
    }

    fn begin_to_fail(&mut self, drive: u8, force: bool) -> Result<DriveId, Answer> {
        let id = self.drive(drive)?;
        if self.has_failed(id) {
            return Err(refused(format!("drive {drive} has failed already")));
        }
        let array = self.io.engine().array();
        let missing = status::missing(self);
        if force || array.layout().can_miss(missing | 1 << drive) {
            return Ok(id);
        }
        let others: Vec<String> =
            DriveSet::from_bits(missing).iter().map(|drive| format!("drive {}", drive.0)).collect();
        let level = array.layout().level().name();
        Err(refused(match others.is_empty() {
            true => format!(
                "{level} cannot miss a drive, so data on drive {drive} would be gone; to fail it all the \
                 same, use --force"
            ),
            false => format!(
                "data would be gone: {} {} missing or being rebuilt, and {level} cannot miss drive {drive} \
                 as well; to fail it all the same, use --force",
                others.join(" and "),
                if others.len() == 1 { "is" } else { "are" },
            ),
        }))
    }

    /// The failure of a drive is written down.
    pub(super) fn end_failing(&mut self, drive: DriveId) {
        let layout = self.io.engine().array().layout();
        let rest: String = match layout.drives_to_spare(status::missing(self)) {
            None => "too many are missing now: requests for what cannot be read are answered with errors".into(),
            Some(0) => "no other drive may fail until it is replaced".into(),
            Some(1) => "one more drive may fail".into(),
            Some(spare) => format!("{spare} more drives may fail"),
        };
        let failing = &mut self.admin.failing;
        while let Some(position) = failing.iter().position(|(other, _)| *other == drive) {
            let (_, sender) = failing.swap_remove(position);
            let _ = sender.send(done(format!("drive {} has failed; {rest}", drive.0)));
        }
    }

    fn begin_to_replace(&mut self, drive: u8, elsewhere: bool) -> Result<DriveId, Answer> {
        let id = self.drive(drive)?;
        if elsewhere && !self.members.have_places() {
            return Err(refused("the array is in memory, and so is every drive of it"));
        }
        if !self.has_failed(id) {
            return Err(refused(format!("drive {drive} has not failed; fail it first")));
        }
        if self.admin.replacing.iter().any(|(other, ..)| *other == id) {
            return Err(refused(format!("drive {drive} is being replaced already")));
        }
        self.members.returning.cancel(id);
        let asked = self.io.volume.ask_to_replace(id);
        asked.map(|()| id).map_err(|error| refused(error.to_string()))
    }

    /// Nobody needs any more what a failed drive holds: an empty one is made for its place.
    pub(super) fn replace(&mut self, drive: DriveId) {
        let mut replacing = self.admin.replacing.iter_mut();
        let Some((_, path, _)) = replacing.find(|(other, ..)| *other == drive) else {
            let handle = self.inbox.handle();
            return self.members.begin_to_return(&mut self.io, handle, drive);
        };
        let path = path.take();
        match self.members.replace_memory(&mut self.io, drive) {
            Ok(true) => self.end_replacement(drive, Ok(())),
            Ok(false) => {
                let handle = self.inbox.handle();
                let begun = self.members.begin_to_join(&mut self.io, drive, path, handle);
                if begun.is_err() {
                    self.end_replacement(drive, begun);
                }
            }
            Err(reason) => self.end_replacement(drive, Err(reason)),
        }
    }

    /// A thread has formatted a drive, or could not.
    pub(super) fn take_joined(&mut self, joined: Joined) {
        let drive = joined.drive;
        let taken = self.members.joined(&mut self.io, joined);
        self.end_replacement(drive, taken);
    }

    /// Begins to rebuild the empty drive that is in its place, if one is.
    fn end_replacement(&mut self, drive: DriveId, storage: Result<(), String>) {
        let position = self.admin.replacing.iter().position(|(other, ..)| *other == drive);
        let Some(position) = position else { return };
        let (.., sender) = self.admin.replacing.swap_remove(position);
        let now = self.io.present();
        let replaced = storage.and_then(|()| self.members.new_drive(drive)).and_then(|new| {
            self.io
                .volume
                .replace_drive(now, drive, new.observed())
                .map_err(|error| error.to_string())
        });
        let answer = match replaced {
            Err(reason) => refused(reason),
            Ok(()) => {
                let place = self.members.place_of(drive);
                tracing::info!(
                    drive = drive.0,
                    place,
                    "drive {} is replaced by an empty one",
                    drive.0
                );
                done(format!("drive {} is new and is being rebuilt", drive.0))
            }
        };
        self.settle(now);
        let _ = sender.send(answer);
    }

    fn set_window(&mut self, now: Instant, nanoseconds: u64) -> Answer {
        if nanoseconds == 0 {
            return refused("a busy window has a length");
        }
        let window = Duration::from_nanos(nanoseconds);
        if !self.io.volume.engine_mut().set_window(now, window) {
            return refused(format!(
                "policy {} has no windows of a length that can be set",
                self.io.engine().policy().name()
            ));
        }
        self.settle(now);
        done(format!("busy windows are {window} long, from the end of those that are open"))
    }

    /// What is in the queues of the drive keeps its times; what comes later is slower.
    fn slow_down(&mut self, now: Instant, drive: u8, factor: u32) -> Result<Answer, Answer> {
        let id = self.drive(drive)?;
        if !(1..=SLOWEST).contains(&factor) {
            return Err(refused(format!("the factor is {factor}; it must be 1 to {SLOWEST}")));
        }
        if !self.io.engine().drives()[id.index()].is_emulated() {
            return Err(refused(format!(
                "drive {drive} is a real one; only emulated drives can be slow"
            )));
        }
        if self.has_failed(id) {
            return Err(refused(format!("drive {drive} has failed")));
        }
        self.io.volume.engine_mut().set_slowness(now, id, factor);
        tracing::info!(drive, factor, "a drive was made slower");
        Ok(done(match factor {
            1 => format!("drive {drive} is as fast as it was made"),
            _ => format!("drive {drive} takes {factor} times as long for everything"),
        }))
    }

    /// A change of policy is over.
    pub(super) fn end_switch(&mut self, result: Result<PolicyKind, SwitchRefusal>) {
        let Some((sender, before)) = self.admin.switching.take() else { return };
        let answer = match result {
            Err(error) => refused(error.to_string()),
            Ok(policy) => {
                self.admin.policy_since = self.io.present();
                self.hosts.iter_mut().for_each(|hosts| hosts.begin_policy());
                tracing::info!(from = before.name(), to = policy.name(), "policy switched");
                done(format!("policy {} instead of {}", policy.name(), before.name()))
            }
        };
        let _ = sender.send(answer);
    }

    /// Nothing is under way any more: the clean shutdown is recorded.
    pub(super) fn record_shutdown(&mut self) {
        self.members.save_maps(&mut self.io);
        let now = self.io.present();
        self.io.volume.record_shutdown(now);
        self.settle(now);
    }

    /// How the array's thread ended, once it has; answers those who wait for that.
    pub(super) fn poll_end(&mut self) -> Option<Result<(), ServerError>> {
        let result = self.admin.ended.clone()?;
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
