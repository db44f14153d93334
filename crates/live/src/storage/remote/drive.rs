//! A drive on the network.

use super::address::RemoteAddress;
use super::jobs::{Ended, Jobs};
use super::options::RemoteOptions;
use super::session::{Session, Told, Wakers};
use crate::buffer::{Buffer, PAGE_BYTES};
use crate::clock::Clock;
use crate::storage::allocated::Allocated;
use crate::storage::command::Work;
use crate::storage::disk::DATA_OFFSET_BYTES;
use nvme::initiator::DriveFacts;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use thiserror::Error;
use units::{Duration, Instant};

/// Why a drive on the network cannot be used.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// Its host has no address.
    #[error("the host of {address} cannot be found: {error}")]
    Host {
        /// The drive.
        address: Box<RemoteAddress>,
        /// What the system says.
        error: io::Error,
    },
    /// It cannot be connected, or not be used.
    #[error("{address} cannot be used: {why}")]
    Refused {
        /// The drive.
        address: Box<RemoteAddress>,
        /// Why, in one sentence.
        why: String,
        /// Whether it may be there later: it did not say no.
        may_pass: bool,
    },
    /// It has not enough bytes.
    #[error("{address} has {has_bytes} bytes, and the drive needs {needs_bytes}")]
    TooSmall {
        /// The drive.
        address: Box<RemoteAddress>,
        /// Its size.
        has_bytes: u64,
        /// The smallest that would do.
        needs_bytes: u64,
    },
    /// The system refuses.
    #[error("{address}: {error}")]
    Io {
        /// The drive.
        address: Box<RemoteAddress>,
        /// Its error.
        error: io::Error,
    },
}

impl RemoteError {
    /// Whether the drive may be there later: it did not say no, it said nothing.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Host { .. } => true,
            Self::Refused { may_pass, .. } => *may_pass,
            Self::TooSmall { .. } | Self::Io { .. } => false,
        }
    }
}

/// A drive on the network, connected.
///
/// It never waits, but in the calls whose names end in `now`: commands are taken, sent by [`Self::kick`], and
/// collected by [`Self::poll`], for which [`Self::fd`] becomes readable.
#[derive(Debug)]
pub struct RemoteDrive {
    address: RemoteAddress,
    options: RemoteOptions,
    clock: Clock,
    wakers: Wakers,
    session: Option<Session>,
    jobs: Jobs,
    facts: DriveFacts,
    /// Size of the drive, without its head.
    bytes: u64,
    allocated: Allocated,
    /// Why it is gone, once it is.
    gone: Option<String>,
}

impl RemoteDrive {
    /// Connects a drive and waits until it can be used. Its head can be read; the drive has no bytes yet.
    ///
    /// # Errors
    ///
    /// For any reason of [`RemoteError`].
    pub fn open(address: &RemoteAddress, options: &RemoteOptions) -> Result<Self, RemoteError> {
        let io = |error| RemoteError::Io { address: Box::new(address.clone()), error };
        let found = (address.host.as_str(), address.port).to_socket_addrs();
        let found = found
            .map_err(|error| RemoteError::Host { address: Box::new(address.clone()), error })?;
        let mut refusal = (String::from("its host has no address"), true);
        for socket in found {
            match Self::open_at(socket, address, options) {
                Ok(Ok(drive)) => return Ok(drive),
                Ok(Err(reason)) => refusal = reason,
                Err(error) => return Err(io(error)),
            }
        }
        let (why, may_pass) = refusal;
        Err(RemoteError::Refused { address: Box::new(address.clone()), why, may_pass })
    }

    fn open_at(
        socket: SocketAddr,
        address: &RemoteAddress,
        options: &RemoteOptions,
    ) -> io::Result<Result<Self, (String, bool)>> {
        let clock = Clock::new();
        let mut wakers = Wakers::new()?;
        let mut jobs = Jobs::new();
        let (subsystem, namespace) = (address.subsystem, address.namespace);
        let mut session = Session::new(clock.now(), socket, subsystem, namespace, options);
        let mut told = Vec::new();
        let mut ready = Vec::new();
        let facts = loop {
            session.turn(clock.now(), &ready, &wakers, &mut jobs, &mut told);
            match told.pop() {
                Some(Told::Ready(facts)) => break facts,
                Some(Told::Over { why, may_pass }) => return Ok(Err((why, may_pass))),
                None => {}
            }
            ready = wakers.wait(session.next_deadline().since(clock.now()))?;
        };
        if usize::from(facts.block_shift) > PAGE_BYTES.ilog2() as usize {
            let why = format!("its blocks are larger than {PAGE_BYTES} bytes");
            return Ok(Err((why, false)));
        }
        Ok(Ok(Self {
            address: address.clone(),
            options: options.clone(),
            clock,
            wakers,
            session: Some(session),
            jobs,
            facts,
            bytes: 0,
            allocated: Allocated::nothing(0),
            gone: None,
        }))
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> &RemoteAddress {
        &self.address
    }

    /// What it says it is.
    #[must_use]
    pub const fn facts(&self) -> &DriveFacts {
        &self.facts
    }

    /// Size of the drive, without its head.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets the size of the drive, all of whose pages may hold data.
    ///
    /// # Errors
    ///
    /// If there is less room.
    pub fn set_bytes(&mut self, bytes: u64) -> Result<(), RemoteError> {
        let (has_bytes, needs_bytes) = (self.facts.bytes(), DATA_OFFSET_BYTES + bytes);
        if has_bytes < needs_bytes {
            let address = Box::new(self.address.clone());
            return Err(RemoteError::TooSmall { address, has_bytes, needs_bytes });
        }
        self.allocated = Allocated::everything(bytes);
        self.bytes = bytes;
        Ok(())
    }

    /// Which of its pages may hold data.
    #[must_use]
    pub const fn allocated(&self) -> &Allocated {
        &self.allocated
    }

    /// Takes a command, which is for whole pages of the drive.
    pub(in crate::storage) fn submit(&mut self, tag: u64, work: Work) {
        let deadline = self.clock.now() + self.options.command_timeout;
        match work {
            // Without a volatile cache everything that was answered is stable.
            Work::Sync if !self.facts.write_cache => self.jobs.end_now(tag),
            _ => self.jobs.submit(tag, deadline, work),
        }
        if let Some(why) = &self.gone {
            self.jobs.fail_all(io::ErrorKind::NotConnected, why);
        }
    }

    /// Sends what was submitted.
    ///
    /// # Errors
    ///
    /// If the system refuses what a drive cannot do without.
    pub(in crate::storage) fn kick(&mut self) -> io::Result<()> {
        self.turn(&[])
    }

    /// The next command that is done; none does not look for more. [`Self::collect`] does.
    pub(in crate::storage) fn poll(&mut self) -> Option<Ended> {
        self.jobs.poll()
    }

    /// Takes what has come, if [`Self::fd`] is readable.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(in crate::storage) fn collect(&mut self) -> io::Result<()> {
        let ready = self.wakers.wait(Duration::ZERO)?;
        self.turn(&ready)
    }

    /// Readable when there is something to collect.
    pub(in crate::storage) fn fd(&self) -> BorrowedFd<'_> {
        self.wakers.fd()
    }

    /// Commands that are not given back.
    pub(in crate::storage) fn in_flight(&self) -> usize {
        self.jobs.len()
    }

    fn turn(&mut self, ready: &[(u64, bool, bool)]) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let now = self.clock.now();
        let mut told = Vec::new();
        session.turn(now, ready, &self.wakers, &mut self.jobs, &mut told);
        if self.jobs.is_late(now) {
            let after = self.options.command_timeout;
            told.push(Told::Over {
                why: format!("it did not answer a command for {after}"),
                may_pass: true,
            });
        }
        for told in told {
            if let Told::Over { why, .. } = told {
                self.end(&why);
            }
        }
        let Some(session) = &self.session else { return Ok(()) };
        let due = session.next_deadline().min(self.jobs.next_deadline());
        self.wakers.arm(now, due)
    }

    /// It is gone: nothing of what was asked will be done.
    fn end(&mut self, why: &str) {
        if let Some(session) = self.session.take() {
            session.close(&mut self.jobs);
            tracing::error!(drive = %self.address, "a drive on the network is gone: {why}");
        }
        self.jobs.fail_all(io::ErrorKind::NotConnected, why);
        self.gone = Some(why.to_owned());
    }

    /// Gives all commands up, which come from [`Self::poll`] with an error.
    pub(in crate::storage) fn give_up(&mut self) {
        self.end("it was taken out of the array");
    }

    /// Waits until everything is done that was begun, and says how the last of it ended.
    fn finish_now(&mut self) -> io::Result<Option<Buffer>> {
        loop {
            self.turn(&[])?;
            if let Some(ended) = self.jobs.poll() {
                return ended.result.map(|()| ended.buffer);
            }
            let now = self.clock.now();
            let due = self.session.as_ref().map_or(now, Session::next_deadline);
            let due = due.min(self.jobs.next_deadline());
            let ready = self.wakers.wait(due.since(now))?;
            self.turn(&ready)?;
        }
    }

    /// Reads whole pages (counted from the start of the namespace, with the head) and waits. If the namespace ends
    /// within the last page, the rest of that is zeros.
    ///
    /// # Errors
    ///
    /// If the drive cannot.
    pub fn read_now(&mut self, offset_bytes: u64, length_bytes: usize) -> io::Result<Buffer> {
        let buffer = Buffer::zeroed(length_bytes);
        let there = self.facts.bytes().saturating_sub(offset_bytes).min(buffer.len() as u64);
        if there + PAGE_BYTES as u64 <= buffer.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.check_alive()?;
        self.jobs.read_at(self.deadline(), offset_bytes, there, buffer);
        self.finish_now()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Writes whole blocks (counted from the start of the namespace, with the head) and waits; they are on stable
    /// storage after [`Self::sync_now`].
    ///
    /// # Errors
    ///
    /// If the drive cannot.
    pub fn write_now(&mut self, offset_bytes: u64, buffer: &Buffer) -> io::Result<()> {
        if offset_bytes + buffer.len() as u64 > self.facts.bytes() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.check_alive()?;
        self.jobs.write_at(self.deadline(), offset_bytes, buffer.share());
        self.finish_now().map(drop)
    }

    /// Waits until everything written is on stable storage.
    ///
    /// # Errors
    ///
    /// If the drive cannot.
    pub fn sync_now(&mut self) -> io::Result<()> {
        self.check_alive()?;
        if self.facts.write_cache {
            self.jobs.submit(0, self.deadline(), Work::Sync);
            self.finish_now()?;
        }
        Ok(())
    }

    fn check_alive(&self) -> io::Result<()> {
        match &self.gone {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::NotConnected, why.clone())),
        }
    }

    fn deadline(&self) -> Instant {
        self.clock.now() + self.options.command_timeout
    }
}
