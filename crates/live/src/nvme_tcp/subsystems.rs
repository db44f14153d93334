//! The two subsystems at an address: the drive's or array's own, and the discovery subsystem.

use super::admission::Stage;
use super::names::reached;
use nvme::target::{
    Action, AdminAnswer, AdminRequest, CommandData, Discovery, DriveReport, Queue, Request,
    Subsystem,
};
use nvme::wire::{CONNECT_BYTES, Connect, ConnectData, ConnectRefusal, Nqn};
use nvme::wire::{StatusField, SubmissionEntry};
use std::net::IpAddr;
use units::{Duration, Instant};

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Which {
    Own,
    Discovery,
}

/// What a connection has become with its Connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Joined {
    pub(super) which: Which,
    pub(super) queue: Queue,
}

/// Both of them.
#[derive(Debug)]
pub(super) struct Subsystems {
    pub(super) own: Subsystem,
    pub(super) discovery: Discovery,
    /// When a keep alive timer may expire at the earliest; `None` if that is to be looked up again.
    /// A moment that is too early does no harm, so ends of controllers do not have it looked up.
    due: Option<Instant>,
}

impl Subsystems {
    pub(super) const fn new(own: Subsystem, discovery: Discovery) -> Self {
        Self { own, discovery, due: None }
    }

    /// What a command asks.
    pub(super) fn decode(
        &self,
        joined: Option<&Joined>,
        entry: &SubmissionEntry,
        data: CommandData,
    ) -> Result<Request, StatusField> {
        match joined {
            Some(Joined { which: Which::Discovery, queue }) => {
                self.discovery.decode(Some(queue), entry, data)
            }
            Some(Joined { which: Which::Own, queue }) => self.own.decode(Some(queue), entry, data),
            None => self.own.decode(None, entry, data),
        }
    }

    /// What a connection may do once it has the queue that it asks for.
    pub(super) fn stage_of(&self, data: &[u8; CONNECT_BYTES]) -> Stage {
        let named = ConnectData::decode(data).map(|data| data.subsystem);
        match named {
            Ok(named) if named.as_str() == Nqn::DISCOVERY => Stage::Discovering,
            _ if self.own.demands_authentication() => Stage::Authenticating,
            _ => Stage::Serving,
        }
    }

    /// Gives a host a queue of the subsystem that it names, unless its own one `is_full`.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        connect: &Connect,
        data: &[u8; CONNECT_BYTES],
        is_full: bool,
    ) -> Result<Joined, ConnectRefusal> {
        if connect.keep_alive_ms > 0 {
            let first = now + Duration::from_millis(connect.keep_alive_ms.into());
            self.due = self.due.map(|due| due.min(first));
        }
        let named = ConnectData::decode(data)?.subsystem;
        match named.as_str() == Nqn::DISCOVERY {
            true => {
                let queue = self.discovery.connect(now, connect, data)?;
                Ok(Joined { which: Which::Discovery, queue })
            }
            false if is_full => Err(ConnectRefusal::Busy),
            false => {
                let queue = self.own.connect(now, connect, data)?;
                Ok(Joined { which: Which::Own, queue })
            }
        }
    }

    /// Answers a command of an admin queue, whose connection came to the address `local`.
    pub(super) fn handle_admin(
        &mut self,
        now: Instant,
        joined: &Joined,
        request: AdminRequest<'_>,
        drive: &DriveReport,
        local: Option<IpAddr>,
    ) -> AdminAnswer {
        self.due = None;
        match joined.which {
            Which::Own => self.own.handle_admin(now, &joined.queue, request, drive),
            Which::Discovery => {
                let reached = local.map(reached);
                self.discovery.handle_admin(now, &joined.queue, request, reached.as_ref())
            }
        }
    }

    /// A connection that had a queue is closed.
    pub(super) fn handle_closed(&mut self, joined: &Joined) {
        match joined.which {
            Which::Own => self.own.handle_closed(&joined.queue),
            Which::Discovery => self.discovery.handle_closed(&joined.queue),
        }
    }

    /// When [`Self::handle_deadline`] wants to be called.
    pub(super) fn next_deadline(&mut self) -> Instant {
        if let Some(due) = self.due {
            return due;
        }
        let all = [self.own.next_deadline(), self.discovery.next_deadline()];
        let due = all.into_iter().flatten().min().unwrap_or(Instant::NEVER);
        self.due = Some(due);
        due
    }

    /// Time has come for controllers whose hosts are silent.
    pub(super) fn handle_deadline(&mut self, now: Instant) {
        if self.next_deadline() <= now {
            self.own.handle_deadline(now);
            self.discovery.handle_deadline(now);
            self.due = None;
        }
    }

    /// The next thing to do.
    pub(super) fn poll_action(&mut self) -> Option<(Which, Action)> {
        let discovery = self.discovery.poll_action().map(|action| (Which::Discovery, action));
        discovery.or_else(|| self.own.poll_action().map(|action| (Which::Own, action)))
    }
}
