//! Orders that take several steps: a failure, a replacement, a change of policy, and the shutdown.

use super::requests::Asked;
use crate::bytes::ByteRequest;
use crate::durability::{DriveSet, End, StopReason};
use crate::token::Token;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use array::policy::{PolicyKind, PolicySettings};
use array::{CannotSwitch, Coordination};
use core::fmt;
use units::{DriveId, Instant};

/// Result of a shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShutdownEnd {
    /// The next start has nothing to repair.
    Clean,
    /// Parity is not yet resynced everywhere: the next start resumes the resync.
    ParityNotResynced,
    /// Some changes could not be released any more: the next start resyncs parity.
    ChangesHeld,
    /// Requests did not end in time: the next start resyncs parity.
    RequestsUnderWay,
    /// The array had stopped before.
    Stopped(StopReason),
}

/// Reason for which the policy was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchRefusal {
    /// Another change is under way.
    Switching,
    /// The array is being shut down.
    ShuttingDown,
    /// The array refuses the change.
    Array(CannotSwitch),
}

impl fmt::Display for SwitchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switching => f.write_str("the policy is being switched already"),
            Self::ShuttingDown => f.write_str("the array is shutting down"),
            Self::Array(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SwitchRefusal {}

/// A policy that takes over as soon as nothing is under way.
#[derive(Debug)]
pub(super) struct Switching {
    pub(super) policy: PolicyKind,
    pub(super) settings: PolicySettings,
    pub(super) coordination: Coordination,
}

/// Progress of a shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shutdown {
    /// No shutdown was ordered.
    No,
    /// Requests under way end first, but not later than this.
    Draining(Instant),
    /// The records are being closed.
    Recording,
    /// The shutdown is over.
    Ended,
}

/// Next step of an order.
pub(super) enum Step {
    /// Nothing can be done yet.
    Wait,
    /// The policy is to be changed.
    Switch(Box<Switching>),
    /// All requests have ended: the shutdown can be recorded.
    Drained,
    /// The shutdown ends without a record.
    GiveUp(ShutdownEnd),
}

/// Orders under way.
#[derive(Debug)]
pub(super) struct Administration<B> {
    switching: Option<Box<Switching>>,
    /// Requests that arrived during a change of policy.
    aside: VecDeque<(Token, Asked, ByteRequest<B>)>,
    /// Drives that were ordered to fail, until the superblocks of the others record it.
    failing: DriveSet,
    /// Drives to be replaced as soon as their data is no longer needed.
    replacing: DriveSet,
    shutdown: Shutdown,
    /// Reason for which the array takes no requests any more.
    stopped: Option<StopReason>,
}

impl<B> Default for Administration<B> {
    fn default() -> Self {
        Self {
            switching: None,
            aside: VecDeque::new(),
            failing: DriveSet::EMPTY,
            replacing: DriveSet::EMPTY,
            shutdown: Shutdown::No,
            stopped: None,
        }
    }
}

impl<B> Administration<B> {
    pub(super) fn refuses_requests(&self) -> bool {
        self.stopped.is_some() || self.shutdown != Shutdown::No
    }

    /// Returns true if the policy is being changed.
    pub(super) fn is_switching(&self) -> bool {
        self.switching.is_some()
    }

    /// Returns true if an order is under way.
    pub(super) fn is_active(&self) -> bool {
        self.switching.is_some()
            || !self.failing.is_empty()
            || !self.replacing.is_empty()
            || matches!(self.shutdown, Shutdown::Draining(_))
    }

    /// Keeps a request for later while the policy is being changed; gives it back otherwise.
    pub(super) fn set_aside(
        &mut self,
        token: Token,
        asked: Asked,
        request: ByteRequest<B>,
    ) -> Option<ByteRequest<B>> {
        if self.switching.is_none() {
            return Some(request);
        }
        self.aside.push_back((token, asked, request));
        None
    }

    pub(super) fn pop_aside(&mut self) -> Option<(Token, Asked, ByteRequest<B>)> {
        self.aside.pop_front()
    }

    pub(super) fn fail(&mut self, drive: DriveId) {
        self.failing.insert(drive);
    }

    /// Takes a drive whose ordered failure `is_recorded`.
    pub(super) fn take_failed(&mut self, is_recorded: impl Fn(DriveId) -> bool) -> Option<DriveId> {
        let drive = self.failing.iter().find(|drive| is_recorded(*drive))?;
        self.failing.remove(drive);
        Some(drive)
    }

    pub(super) fn ask_to_replace(&mut self, drive: DriveId) {
        self.replacing.insert(drive);
    }

    /// Takes a drive that can be replaced now, by `is_free`.
    pub(super) fn take_replacement(
        &mut self,
        is_free: impl Fn(DriveId) -> bool,
    ) -> Option<DriveId> {
        let drive = self.replacing.iter().find(|drive| is_free(*drive))?;
        self.replacing.remove(drive);
        Some(drive)
    }

    pub(super) fn begin_switch(
        &mut self,
        policy: PolicyKind,
        settings: PolicySettings,
        coordination: Coordination,
    ) -> Result<(), SwitchRefusal> {
        if self.switching.is_some() {
            return Err(SwitchRefusal::Switching);
        }
        if self.shutdown != Shutdown::No {
            return Err(SwitchRefusal::ShuttingDown);
        }
        self.switching = Some(Box::new(Switching { policy, settings, coordination }));
        Ok(())
    }

    pub(super) fn begin_shutdown(&mut self, until: Instant) {
        if self.shutdown == Shutdown::No {
            self.shutdown = Shutdown::Draining(until);
        }
    }

    /// The array takes no requests any more. Returns the result of a shutdown that was being
    /// recorded.
    pub(super) fn stop(&mut self, reason: StopReason) -> Option<ShutdownEnd> {
        self.stopped.get_or_insert(reason);
        let recording = self.shutdown == Shutdown::Recording;
        recording.then(|| {
            self.shutdown = Shutdown::Ended;
            ShutdownEnd::Stopped(reason)
        })
    }

    /// Ends the shutdown: the records are closed.
    pub(super) fn ended(&mut self, end: End) -> ShutdownEnd {
        self.shutdown = Shutdown::Ended;
        end.into()
    }

    pub(super) fn next_deadline(&self) -> Instant {
        match self.shutdown {
            Shutdown::Draining(until) => until,
            Shutdown::No | Shutdown::Recording | Shutdown::Ended => Instant::NEVER,
        }
    }

    /// Returns the next step of an order. `idle`: no request, operation or command is under way.
    /// `drained`: in addition, no request waits for another part and no record has to be written.
    pub(super) fn next_step(&mut self, now: Instant, idle: bool, drained: bool) -> Step {
        if idle && let Some(switching) = self.switching.take() {
            return Step::Switch(switching);
        }
        match self.shutdown {
            Shutdown::Draining(_) if drained && self.stopped.is_none() => {
                self.shutdown = Shutdown::Recording;
                Step::Drained
            }
            Shutdown::Draining(until) => match self.stopped {
                None if now < until => Step::Wait,
                stopped => {
                    self.shutdown = Shutdown::Ended;
                    let end = stopped.map(ShutdownEnd::Stopped);
                    Step::GiveUp(end.unwrap_or(ShutdownEnd::RequestsUnderWay))
                }
            },
            Shutdown::No | Shutdown::Recording | Shutdown::Ended => Step::Wait,
        }
    }

    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }
}
