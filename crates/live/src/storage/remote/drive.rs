//! A drive on the network.

use super::address::RemoteAddress;
use super::claim::{DriveClaim, Finding};
use super::claims::Claims;
use super::jobs::{Ended, Jobs};
use super::options::RemoteOptions;
use super::session::{Session, SessionWork, Told, Wakers};
use super::windows::{ArrayPlace, DriveWindows, Windows};
use crate::buffer::{Buffer, PAGE_BYTES};
use crate::certainty::Certainty;
use crate::clock::Clock;
use crate::storage::allocated::Allocated;
use crate::storage::command::Work;
use crate::storage::disk::DATA_OFFSET_BYTES;
use engine::durability::owner::{Guard, OwnerBlock};
use nvme::initiator::DriveFacts;
use nvme::{CollectionRight, WindowSchedule};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use thiserror::Error;
use units::{Duration, Instant};

/// Why a drive on the network cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
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

/// When a drive that is gone is tried again first; each time later than the time before.
const FIRST_RETRY: Duration = Duration::from_millis(20);
/// How long that becomes at most.
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// For how long a drive that is given up may take to hear of it.
const GIVE_UP_PATIENCE: Duration = Duration::from_secs(5);
/// How often a drive is looked after while it is not certain whose it is.
const DOUBT_PAUSE: Duration = Duration::from_millis(10);

/// A drive that is gone and may come back.
#[derive(Clone, Copy, Debug)]
struct Down {
    since: Instant,
    next_try: Instant,
    /// Until the try after that.
    pause: Duration,
}

/// A drive on the network, connected.
///
/// It never waits, but in the calls whose names end in `now`: commands are taken, sent by `kick`,
/// and collected by `poll`, for which `fd` becomes readable.
///
/// A drive whose connection is lost is connected again for some time, if it cannot have lost
/// anything by what took the connection: everything that it has done is on stable storage, or it
/// has no volatile cache. A write without answer ends it, though: the drive may carry it out at any
/// later time, over what is written there then.
#[derive(Debug)]
pub struct RemoteDrive {
    address: RemoteAddress,
    socket: SocketAddr,
    options: RemoteOptions,
    clock: Clock,
    wakers: Wakers,
    session: Option<Session>,
    work: SessionWork,
    facts: DriveFacts,
    /// Size of the drive, without its head.
    bytes: u64,
    allocated: Allocated,
    down: Option<Down>,
    /// Something that was sent may still be carried out.
    has_loose_ends: bool,
    /// Why it is gone for good, once it is.
    gone: Option<String>,
}

/// Opens what is at `address`: tries each address of its host, until `open_at` can use one. That
/// says why it cannot, and whether another try may help.
pub(super) fn open_any<T>(
    address: &RemoteAddress,
    mut open_at: impl FnMut(SocketAddr) -> io::Result<Result<T, (String, bool)>>,
) -> Result<T, RemoteError> {
    let boxed = || Box::new(address.clone());
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let found = found.map_err(|error| RemoteError::Host { address: boxed(), error })?;
    let mut refusal = (String::from("its host has no address"), true);
    for socket in found {
        match open_at(socket) {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(reason)) => refusal = reason,
            Err(error) => return Err(RemoteError::Io { address: boxed(), error }),
        }
    }
    let (why, may_pass) = refusal;
    Err(RemoteError::Refused { address: boxed(), why, may_pass })
}

impl RemoteDrive {
    /// Connects a drive and waits until it can be used. Its head can be read; the drive has no
    /// bytes yet.
    ///
    /// # Errors
    ///
    /// For any reason of [`RemoteError`].
    pub fn open(address: &RemoteAddress, options: &RemoteOptions) -> Result<Self, RemoteError> {
        open_any(address, |socket| Self::open_at(socket, address, options))
    }

    fn open_at(
        socket: SocketAddr,
        address: &RemoteAddress,
        options: &RemoteOptions,
    ) -> io::Result<Result<Self, (String, bool)>> {
        let claims = options.claims.as_ref();
        let clock = claims.map_or_else(Clock::new, Claims::clock);
        let mut wakers = Wakers::new()?;
        let parked = claims.and_then(|claims| claims.unpark(address));
        let claim = DriveClaim::new(options.claims.clone(), parked, options.keep_alive);
        let (jobs, windows, coordinating) = (Jobs::new(), Windows::new(), None);
        let mut work = SessionWork { jobs, windows, claim, coordinating };
        let (subsystem, namespace) = (address.subsystem, address.namespace);
        let mut session = Session::new(clock.now(), socket, subsystem, namespace, options);
        let mut told = Vec::new();
        let mut ready = Vec::new();
        let facts = loop {
            session.turn(&clock, &ready, &wakers, &mut work, &mut told);
            match told.pop() {
                Some(Told::Ready(facts)) => break facts,
                Some(Told::Heard(_)) => {}
                Some(Told::Over { why, may_pass }) => {
                    park(&mut work.claim, address);
                    return Ok(Err((why, may_pass)));
                }
                None => {}
            }
            ready = wakers.wait(session.next_deadline().since(clock.now()))?;
        };
        if usize::from(facts.block_shift) > PAGE_BYTES.ilog2() as usize {
            let why = format!("its blocks are larger than {PAGE_BYTES} bytes");
            return Ok(Err((why, false)));
        }
        let mut drive = Self {
            address: address.clone(),
            socket,
            options: options.clone(),
            clock,
            wakers,
            session: Some(session),
            work,
            facts,
            bytes: 0,
            allocated: Allocated::nothing(0),
            down: None,
            has_loose_ends: false,
            gone: None,
        };
        Ok(match drive.resume_claim_now()? {
            Ok(()) => Ok(drive),
            Err(why) => Err((why, false)),
        })
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
        let now = self.clock.now();
        let deadline = now + self.options.command_timeout;
        let patience = now + self.options.read_patience;
        match work {
            // Without a volatile cache everything that was answered is stable.
            Work::Sync if !self.facts.write_cache => self.work.jobs.end_now(tag),
            Work::Read { .. } | Work::Sync => {
                self.work.jobs.submit(tag, patience, deadline, work);
            }
            _ if self.work.claim.may_change() => {
                self.work.jobs.submit(tag, patience, deadline, work);
            }
            _ => self.work.jobs.refuse(tag, work.buffer(), not_claimed()),
        }
        if let Some(why) = &self.gone {
            self.work.jobs.fail_all(io::ErrorKind::NotConnected, why);
        }
    }

    /// Sends what was submitted.
    ///
    /// # Errors
    ///
    /// If the system refuses what a drive cannot do without.
    pub(crate) fn kick(&mut self) -> io::Result<()> {
        self.turn(&[])?;
        // Whoever waits has to be woken for what has just ended.
        match self.work.jobs.has_ended() {
            true => self.wakers.arm(self.clock.now(), Instant::ZERO),
            false => Ok(()),
        }
    }

    /// The next command that is done; none does not look for more. [`Self::collect`] does.
    pub(in crate::storage) fn poll(&mut self) -> Option<Ended> {
        self.work.jobs.poll()
    }

    /// Takes what has come, if [`Self::fd`] is readable. Whoever calls it polls until there is no
    /// more.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn collect(&mut self) -> io::Result<()> {
        let ready = self.wakers.wait(Duration::ZERO)?;
        self.turn(&ready)
    }

    /// Readable when there is something to collect.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wakers.fd()
    }

    /// Commands that are not given back.
    pub(in crate::storage) fn in_flight(&self) -> usize {
        self.work.jobs.len()
    }

    fn turn(&mut self, ready: &[(u64, bool, bool)]) -> io::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        self.try_again();
        self.run_session(ready);
        let (session, jobs) = (&self.session, &self.work.jobs);
        let has_change = || session.as_ref().is_some_and(|own| own.has_change(jobs));
        if self.work.claim.must_renew(self.clock.now(), has_change) {
            self.lose("it did not answer a change in the time of this server's claim", true);
        }
        self.look_after_claim();
        if self.is_over() {
            return Ok(());
        }
        let now = self.clock.now();
        let is_doubtful = self.work.claim.is_doubtful(now);
        self.work.jobs.answer_late_reads(now);
        if !is_doubtful && self.work.jobs.is_late(now) {
            self.end(&self.silence());
        }
        let session = self.session.as_ref().map_or(Instant::NEVER, Session::next_deadline);
        let again = match &self.session {
            Some(_) => self.work.windows.next_deadline(),
            None => self.down.map_or(Instant::NEVER, |down| down.next_try),
        };
        // Jobs that are late for a reason of this server's wait until it is known whose the drive
        // is.
        let least = if is_doubtful { now + DOUBT_PAUSE } else { now };
        let jobs = self.work.jobs.next_deadline(now).max(least);
        let claim = self.work.claim.next_deadline(self.options.command_timeout).max(least);
        self.wakers.arm(now, session.min(jobs).min(claim).min(again))
    }

    fn is_over(&self) -> bool {
        self.gone.is_some() || self.work.claim.lost().is_some()
    }

    fn silence(&self) -> String {
        format!("it did not answer a command for {}", self.options.command_timeout)
    }

    fn run_session(&mut self, ready: &[(u64, bool, bool)]) {
        let mut told = Vec::new();
        if let Some(session) = &mut self.session {
            session.turn(&self.clock, ready, &self.wakers, &mut self.work, &mut told);
        }
        for told in told {
            match told {
                Told::Ready(facts) => self.come_back(facts),
                Told::Over { why, may_pass } => self.lose(&why, may_pass),
                // A drive has no coordinator.
                Told::Heard(_) => {}
            }
        }
    }

    /// Goes on with what is known of whose the drive is.
    fn look_after_claim(&mut self) {
        let now = self.clock.now();
        if let Some(why) = self.work.claim.lost() {
            tracing::error!(drive = %self.address, "a drive on the network is lost to this server: {why}");
            if let Some(session) = self.session.take() {
                session.close(&mut self.work.jobs);
            }
            return;
        }
        if self.work.claim.is_late(now, self.options.command_timeout) {
            return self.end(&self.silence());
        }
        if let Some(why) = self.work.claim.take_failure() {
            return self.end(&why);
        }
        match self.work.claim.settle(now) {
            Some(Ok(())) => {
                self.work.jobs.postpone(self.deadline());
                self.run_session(&[]);
            }
            Some(Err(why)) => self.end(&why),
            None => {}
        }
    }

    /// Connects a drive that is gone, if it is time.
    fn try_again(&mut self) {
        let now = self.clock.now();
        if self.session.is_none()
            && let Some(down) = self.down
            && down.next_try <= now
        {
            let RemoteAddress { subsystem, namespace, .. } = self.address;
            self.work.windows.forget();
            self.session =
                Some(Session::new(now, self.socket, subsystem, namespace, &self.options));
        }
    }

    /// A drive can be used that was gone.
    fn come_back(&mut self, facts: DriveFacts) {
        if self.down.take().is_none() {
            return;
        }
        let is_same = facts.nguid == self.facts.nguid
            && facts.eui64 == self.facts.eui64
            && facts.blocks == self.facts.blocks
            && facts.block_shift == self.facts.block_shift
            && facts.transfer_max_bytes >= self.facts.transfer_max_bytes
            && facts.write_zeroes == self.facts.write_zeroes;
        let has_name = facts.nguid != [0; 16] || facts.eui64 != [0; 8];
        match is_same && has_name {
            true => tracing::info!(drive = %self.address, "a drive on the network is there again"),
            false => self.end("another drive is in its place"),
        }
    }

    /// Its connection is lost.
    fn lose(&mut self, why: &str, may_pass: bool) {
        let Some(session) = self.session.take() else { return };
        let has_change = session.close(&mut self.work.jobs);
        self.has_loose_ends |= has_change;
        let now = self.clock.now();
        let may_have_lost = self.facts.write_cache && self.work.jobs.has_unstable();
        let is_sound = !has_change && !may_have_lost;
        // A server that was stopped for a while finds out first whether another one has the drive.
        let is_doubtful = self.work.claim.is_doubtful(now);
        self.work.claim.handle_cut();
        let mut reconnect = self.options.reconnect;
        if is_doubtful {
            self.work.claim.doubt(why, !is_sound);
            reconnect = reconnect.max(self.options.connect_timeout);
        }
        let (since, pause) = self.down.map_or((now, FIRST_RETRY), |down| (down.since, down.pause));
        if !may_pass || !(is_sound || is_doubtful) || now.since(since) >= reconnect {
            return self.end(why);
        }
        if self.down.is_none() {
            tracing::warn!(drive = %self.address, "a drive on the network is gone, and tried again: {why}");
        }
        let longer = (pause * 2).min(LONGEST_RETRY);
        self.down = Some(Down { since, next_try: now + pause, pause: longer });
    }

    /// It is gone: nothing of what was asked will be done.
    fn end(&mut self, why: &str) {
        if self.gone.is_some() {
            return;
        }
        if let Some(session) = self.session.take() {
            self.has_loose_ends |= session.close(&mut self.work.jobs);
        }
        tracing::error!(drive = %self.address, "a drive on the network is gone: {why}");
        self.work.jobs.fail_all(io::ErrorKind::NotConnected, why);
        self.gone = Some(why.to_owned());
    }

    /// Waits until a drive that was claimed before is this server's for certain.
    fn resume_claim_now(&mut self) -> io::Result<Result<(), String>> {
        while self.work.claim.is_claimed() && !self.work.claim.is_valid(self.clock.now()) {
            if let Err(why) = self.check_alive() {
                return Ok(Err(why.to_string()));
            }
            let ready = self.wakers.wait(DOUBT_PAUSE)?;
            self.turn(&ready)?;
        }
        Ok(Ok(()))
    }

    /// Begins to find out whose the drive is; with `takes_over` a server that has it is to lose it.
    pub(crate) fn begin_claim(&mut self, takes_over: bool) {
        self.work.claim.begin(takes_over);
    }

    /// Whether this server has claimed it.
    pub(crate) const fn is_claimed(&self) -> bool {
        self.work.claim.is_claimed()
    }

    /// Whether the drive itself keeps out all but the server that has claimed it.
    pub(crate) fn is_fenced(&self) -> bool {
        self.work.claim.guard() == Guard::Fenced
    }

    /// What is known of whose it is.
    pub(crate) fn finding(&self) -> Finding {
        match &self.gone {
            Some(why) => Finding::Failed(why.clone()),
            None => self.work.claim.finding(self.clock.now()),
        }
    }

    /// The server that is watched.
    pub(crate) fn watched(&self) -> Option<OwnerBlock> {
        self.work.claim.watched()
    }

    /// The process of the server that is watched is gone.
    pub(crate) fn handle_owner_gone(&mut self) {
        self.work.claim.handle_owner_gone();
    }

    /// Takes the drive, which nobody has, or a server that does not move.
    pub(crate) fn proceed_with_claim(&mut self) {
        self.work.claim.proceed();
    }

    /// Gives the drive up, if this server has it or wants it.
    pub(in crate::storage) fn give_up_claim(&mut self) {
        self.work.claim.give_up();
    }

    /// Whether nothing is left to give up, or nothing can be.
    pub(in crate::storage) fn has_given_up(&self) -> bool {
        self.work.claim.is_over() || self.is_over()
    }

    /// Gives the drive up and waits until that is done, a few seconds at most.
    pub(crate) fn give_up_claim_now(&mut self) {
        self.give_up_claim();
        let until = self.clock.now() + GIVE_UP_PATIENCE;
        while !self.has_given_up() && self.clock.now() < until {
            let Ok(ready) = self.wakers.wait(DOUBT_PAUSE) else { return };
            if self.turn(&ready).is_err() {
                return;
            }
        }
    }

    /// Whether the drive is claimed, and then until when it is this server's for certain, or why it
    /// is not any more.
    pub(in crate::storage) fn claim_standing(&self) -> Option<Result<Option<Certainty>, &str>> {
        let claim = &self.work.claim;
        match claim.lost() {
            Some(why) => Some(Err(why)),
            None if claim.is_claimed() && self.gone.is_none() => {
                Some(Ok(claim.until().map(|until| Certainty::until(self.clock, until))))
            }
            None => None,
        }
    }

    /// The clock of the machine has stood still for a while.
    pub(in crate::storage) fn lapse_claim(&mut self) {
        self.work.claim.lapse();
    }

    /// When it may collect, by `clock`.
    pub(in crate::storage) fn permit(
        &mut self,
        clock: &Clock,
        right: CollectionRight,
        place: ArrayPlace,
    ) {
        let own = |there| self.clock.at(clock, there);
        let right = match right {
            CollectionRight::Always => right,
            CollectionRight::Windows(schedule) => CollectionRight::Windows(WindowSchedule {
                cycle_start: own(schedule.cycle_start),
                not_before: own(schedule.not_before),
                ..schedule
            }),
            CollectionRight::Lease { until } => CollectionRight::Lease { until: own(until) },
            CollectionRight::Order { until } => CollectionRight::Order { until: own(until) },
        };
        self.work.windows.permit(right, place);
    }

    /// Tells the drive of its array and waits until it has told of its windows; none if it does not
    /// know IODA, or does not tell in time.
    ///
    /// # Errors
    ///
    /// If the drive is gone.
    pub fn ask_windows_now(&mut self, place: ArrayPlace) -> io::Result<Option<DriveWindows>> {
        if self.facts.ioda.is_none() {
            return Ok(None);
        }
        self.work.windows.set_place(place);
        let until = self.deadline();
        loop {
            self.turn(&[])?;
            self.check_alive()?;
            let now = self.clock.now();
            let found = self.work.windows.found(now);
            if found.is_some() || now >= until {
                return Ok(found);
            }
            let ready = self.wakers.wait(Duration::from_millis(100))?;
            self.turn(&ready)?;
        }
    }

    /// Gives all commands up, which come from [`Self::poll`] with an error.
    pub(in crate::storage) fn give_up(&mut self) {
        self.end("it was taken out of the array");
    }

    /// Waits until everything is done that was begun, and says how the last of it ended.
    fn finish_now(&mut self) -> io::Result<Option<Buffer>> {
        loop {
            self.turn(&[])?;
            if let Some(ended) = self.work.jobs.poll() {
                return ended.result.map(|_| ended.buffer);
            }
            self.check_alive()?;
            let now = self.clock.now();
            let ready = self.wakers.wait(self.work.jobs.next_deadline(now).since(now))?;
            self.turn(&ready)?;
        }
    }

    /// Reads whole pages (counted from the start of the namespace, with the head) and waits. If the
    /// namespace ends within the last page, the rest of that is zeros.
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
        self.work.jobs.read_at(self.deadline(), offset_bytes, there, buffer);
        self.finish_now()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Writes whole blocks (counted from the start of the namespace, with the head) and waits; they
    /// are on stable storage after [`Self::sync_now`].
    ///
    /// # Errors
    ///
    /// If the drive cannot.
    pub fn write_now(&mut self, offset_bytes: u64, buffer: &Buffer) -> io::Result<()> {
        if offset_bytes + buffer.len() as u64 > self.facts.bytes() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.check_alive()?;
        if !self.work.claim.may_change() {
            return Err(not_claimed());
        }
        self.work.jobs.write_at(self.deadline(), offset_bytes, buffer.share());
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
            self.work.jobs.submit(0, Instant::NEVER, self.deadline(), Work::Sync);
            self.finish_now()?;
        }
        Ok(())
    }

    fn check_alive(&self) -> io::Result<()> {
        match (self.work.claim.lost(), &self.gone) {
            (Some(why), _) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
            (None, Some(why)) => Err(io::Error::new(io::ErrorKind::NotConnected, why.clone())),
            (None, None) => Ok(()),
        }
    }

    fn deadline(&self) -> Instant {
        self.clock.now() + self.options.command_timeout
    }
}

/// Leaves the claim of a drive for its next connection.
fn park(claim: &mut DriveClaim, address: &RemoteAddress) {
    if let Some((claims, parked)) = claim.take_parked() {
        claims.park(address, parked);
    }
}

impl Drop for RemoteDrive {
    fn drop(&mut self) {
        let has_change = self.session.take().is_some_and(|own| own.close(&mut self.work.jobs));
        // What is carried out later must not meet another server: the claim runs out by itself.
        if !has_change && !self.has_loose_ends {
            park(&mut self.work.claim, &self.address);
        }
    }
}

fn not_claimed() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "this server has not claimed the drive")
}
