//! Orders from people: fail, replace, switch, scrub, shut down.

use super::{CLOSING_TIME, Engine, EngineError, Model};
use crate::control::{Answer, Order};
use array::Coordination;
use array::policy::{PolicyKind, PolicySettings};
use ssd::Ssd;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use units::{DriveId, Duration, Instant};

/// A policy that takes over as soon as nothing is under way.
#[derive(Debug)]
pub(super) struct Switching {
    parts: (PolicyKind, PolicySettings, Coordination),
    answer: Sender<Answer>,
}

/// The end, as soon as nothing is under way.
#[derive(Debug)]
pub(super) struct Closing {
    until: Instant,
    answers: Vec<Sender<Answer>>,
}

fn done(text: impl Into<String>) -> Answer {
    Answer::Done { text: text.into() }
}

fn refused(reason: impl Into<String>) -> Answer {
    Answer::Refused { reason: reason.into() }
}

impl Engine {
    pub(super) fn take_order(&mut self, order: Order, answer: Sender<Answer>) {
        let now = self.catch_up();
        let result = match order {
            Order::Status => Answer::Status(Box::new(self.status(now))),
            Order::Fail { drive } => self.fail(now, drive),
            Order::Replace { drive, path } => self.replace(now, drive, path),
            Order::Policy { name } => match (self.switch.0)(&name) {
                _ if self.switching.is_some() => refused("the policy is being switched already"),
                _ if self.closing.is_some() => refused("the array is shutting down"),
                Err(reason) => refused(reason),
                Ok(parts) => {
                    self.array.prepare_to_switch(now);
                    self.settle(now);
                    self.switching = Some(Switching { parts, answer });
                    return;
                }
            },
            Order::Window { nanoseconds } => self.set_window(now, nanoseconds),
            Order::Scrub => {
                self.scrub_mismatches = 0;
                self.array.scrub(now);
                done("the parity of every stripe is being checked")
            }
            Order::Shutdown => {
                // What is being restored goes on from the start when the array serves again.
                self.array.prepare_to_switch(now);
                self.settle(now);
                let until = Instant::from_nanos(now.as_nanos() + CLOSING_TIME.as_nanos());
                let closing = self.closing.get_or_insert(Closing { until, answers: Vec::new() });
                closing.answers.push(answer);
                return;
            }
        };
        self.settle(now);
        // Whoever gave the order may have gone.
        let _ = answer.send(result);
    }

    fn drive(&self, drive: u8) -> Result<DriveId, Answer> {
        let width = self.models.len();
        if usize::from(drive) < width {
            return Ok(DriveId(drive));
        }
        Err(refused(format!("there is no drive {drive}: drives are 0 to {}", width - 1)))
    }

    fn fail(&mut self, now: Instant, drive: u8) -> Answer {
        let id = match self.drive(drive) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        if self.array.absent() >> drive & 1 == 1 {
            return refused(format!("drive {drive} has failed already"));
        }
        self.array.fail_drive(now, id);
        self.settle(now);
        done(format!("drive {drive} is taken for failed"))
    }

    fn replace(&mut self, now: Instant, drive: u8, path: Option<PathBuf>) -> Answer {
        let id = match self.drive(drive) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        if self.array.absent() >> drive & 1 == 0 {
            return refused(format!("drive {drive} has not failed; fail it first"));
        }
        if let Err(reason) = self.put_new_drive(id, path) {
            return refused(reason);
        }
        if let Some(config) = &self.configs[id.index()] {
            match Ssd::new(config.clone()) {
                Ok(mut ssd) => {
                    ssd.set_instant_collection(self.policy.about().collects_instantly);
                    self.models[id.index()] = Model::Emulated(Box::new(ssd));
                }
                Err(error) => return refused(format!("the drive cannot work: {error}")),
            }
        }
        if let Err(error) = self.array.replace_drive(now, id) {
            return refused(error.to_string());
        }
        self.touch(id.index());
        self.settle(now);
        done(format!("drive {drive} is new and is being rebuilt"))
    }

    fn set_window(&mut self, now: Instant, nanoseconds: u64) -> Answer {
        if nanoseconds == 0 {
            return refused("a busy window has a length");
        }
        let window = Duration::from_nanos(nanoseconds);
        if !self.array.set_window(now, window) {
            return refused(format!(
                "policy {} has no windows of a length that can be set",
                self.policy.name()
            ));
        }
        self.settle(now);
        done(format!("busy windows are {window} long, from the end of those that are open"))
    }

    /// Does what orders wait for, if its time has come.
    pub(super) fn go_on_with_orders(&mut self) {
        if self.switching.is_some() && self.is_idle() && self.array.staged_pages() == 0 {
            self.switch_policy();
        }
    }

    /// Whether nothing is under way, in the array or behind it.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_idle()
            && self.transfers.is_empty()
            && self.array.staged_pages() == 0
            && self.keeping.is_idle()
    }

    fn is_idle(&self) -> bool {
        self.array.operations_in_flight() == 0
            && self.array.requests_in_flight() == 0
            && self.commands.len() == 0
    }

    fn switch_policy(&mut self) {
        let Some(Switching { parts, answer }) = self.switching.take() else { return };
        let (policy, settings, coordination) = parts;
        let now = self.catch_up();
        let result = match self.array.set_policy(now, policy, &settings, coordination) {
            Err(error) => {
                self.array.stay_with_policy(now);
                refused(error.to_string())
            }
            Ok(()) => {
                let before = std::mem::replace(&mut self.policy, policy);
                self.policy_since = now;
                for model in &mut self.models {
                    if let Model::Emulated(ssd) = model {
                        ssd.set_instant_collection(policy.about().collects_instantly);
                    }
                }
                let watched = if self.array.watches_drives() { self.models.len() } else { 0 };
                self.reports = vec![nvme::CollectionReport::default(); watched];
                tracing::info!(from = before.name(), to = policy.name(), "policy switched");
                done(format!("policy {} instead of {}", policy.name(), before.name()))
            }
        };
        for drive in 0..self.models.len() {
            self.touch(drive);
        }
        self.settle(now);
        let _ = answer.send(result);
        while let Some((client, request)) = self.aside.pop_front() {
            self.begin_request(client, request);
        }
    }

    /// Whether a shutdown was ordered and nothing is under way any more, or too long.
    pub(super) fn has_closed(&mut self) -> bool {
        let Some(closing) = &self.closing else { return false };
        self.is_quiet() || self.clock.now() >= closing.until
    }

    /// Writes down what must survive, and answers those who ordered the end.
    pub(super) fn close(mut self) -> Result<(), EngineError> {
        let result = self.write_last_words();
        let answer = match &result {
            Ok(()) => done("shut down"),
            Err(error) => refused(error.to_string()),
        };
        for sender in self.closing.take().into_iter().flat_map(|closing| closing.answers) {
            let _ = sender.send(answer.clone());
        }
        result
    }
}
