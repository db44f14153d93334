//! One life of a controller: its connections, and what it is told and tells.

use super::claim::DriveClaim;
use super::jobs::Jobs;
use super::link::{Link, Over};
use super::options::RemoteOptions;
use super::windows::Windows;
use crate::clock::Clock;
use nvme::initiator::{
    Controller, ControllerAction, ControllerConfig, Coordinating, DriveFacts, ENTRIES_MAX, Heard,
    Purpose, QueuePlan, Terms,
};
use nvme::wire::{AsyncEvent, Nqn, StatusCode};
use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::{Duration, Instant};

/// What the timer is called; links are called by their queue.
const TIMER: u64 = u64::MAX;
/// What is asked for at once.
const EVENTS: usize = 8;

/// What a drive's thread is woken by: its sockets and a timer, in one descriptor.
#[derive(Debug)]
pub(super) struct Wakers {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer goes off.
    armed: Instant,
}

impl Wakers {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
        Ok(Self { epoll, timer, armed: Instant::NEVER })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Has the timer go off at `due` at the latest. One that goes off too early does no harm, so it
    /// is not set later than it is.
    pub(super) fn arm(&mut self, now: Instant, due: Instant) -> io::Result<()> {
        if due >= self.armed {
            return Ok(());
        }
        self.armed = due;
        let nanos = due.since(now).as_nanos().max(1);
        let value = Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: none, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }

    /// Waits for something, at most so long, and says what it was: for each link whether it can be
    /// read and written.
    pub(super) fn wait(&mut self, patience: Duration) -> io::Result<Vec<(u64, bool, bool)>> {
        let nanos = patience.as_nanos();
        let timeout = Timespec {
            tv_sec: (nanos / 1_000_000_000).min(3600) as i64,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let events = match epoll::wait(&self.epoll, &mut room, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut ready = Vec::new();
        for event in events {
            let (token, flags) = (event.data.u64(), event.flags);
            if token == TIMER {
                let mut count = [0; 8];
                // What it counts is of no interest, and that it has been read already does no harm.
                let _ = rustix::io::read(&self.timer, &mut count);
                self.armed = Instant::NEVER;
                continue;
            }
            let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            let readable = flags.contains(epoll::EventFlags::IN) || broken;
            ready.push((token, readable, flags.contains(epoll::EventFlags::OUT) || broken));
        }
        Ok(ready)
    }

    fn watch(&self, link: &Link, token: u64, is_new: bool) -> io::Result<()> {
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, link.wants_to_write());
        let data = epoll::EventData::new_u64(token);
        match is_new {
            true => epoll::add(&self.epoll, link.socket(), data, flags)?,
            false => epoll::modify(&self.epoll, link.socket(), data, flags)?,
        }
        Ok(())
    }
}

/// What a session works for: it outlives each of them.
#[derive(Debug)]
pub(super) struct SessionWork {
    /// Commands of the storage.
    pub(super) jobs: Jobs,
    /// When the drive may collect.
    pub(super) windows: Windows,
    /// Whose the drive is.
    pub(super) claim: DriveClaim,
    /// Conversation with a policy that wants a coordinator; `None` with a drive.
    pub(super) coordinating: Option<Coordinating>,
}

/// What a session tells.
#[derive(Debug)]
pub(super) enum Told {
    /// The drive can be used.
    Ready(DriveFacts),
    /// It is over, and why.
    Over {
        why: String,
        /// Whether another try may help.
        may_pass: bool,
    },
    /// An array said something to its coordinator.
    Heard(Heard),
}

/// One life of a controller.
#[derive(Debug)]
pub(super) struct Session {
    controller: Controller,
    address: SocketAddr,
    options: RemoteOptions,
    /// By queue, and whether the socket is watched for room to write.
    links: Vec<(Link, bool)>,
    /// Why a connection was lost, for those who ask why the controller was.
    lost: Option<String>,
    over: Vec<Over>,
    /// Nothing more is sent.
    is_over: bool,
}

impl Session {
    pub(super) fn new(
        now: Instant,
        address: SocketAddr,
        subsystem: Nqn,
        namespace: Option<u32>,
        options: &RemoteOptions,
    ) -> Self {
        let config = ControllerConfig {
            host: options.host,
            host_id: options.host_id,
            subsystem,
            namespace,
            io_queues: 1,
            entries: options.commands.clamp(1, ENTRIES_MAX - 1) + 1,
            keep_alive: options.keep_alive,
            timeout: options.connect_timeout,
        };
        Self {
            controller: Controller::new(now, config),
            address,
            options: options.clone(),
            links: Vec::new(),
            lost: None,
            over: Vec::new(),
            is_over: false,
        }
    }

    pub(super) fn next_deadline(&self) -> Instant {
        self.controller.next_deadline()
    }

    /// Whether the controller can be used.
    pub(super) fn is_ready(&self) -> bool {
        self.controller.is_ready()
    }

    /// Does all that can be done without waiting.
    pub(super) fn turn(
        &mut self,
        clock: &Clock,
        ready: &[(u64, bool, bool)],
        wakers: &Wakers,
        work: &mut SessionWork,
        told: &mut Vec<Told>,
    ) {
        for &(token, readable, writable) in ready {
            let Some((link, _)) = self.links.get_mut(token as usize) else { continue };
            let mut result = if writable { link.on_writable() } else { Ok(()) };
            if readable && result.is_ok() {
                result = link.receive(&mut work.jobs, &mut self.over);
            }
            // What the drive said of its clock was said before this moment.
            self.take_over(clock.now(), work, told);
            if let Err(error) = result {
                self.lose(&error);
            }
        }
        let now = clock.now();
        if self.controller.next_deadline() <= now {
            self.controller.handle_deadline(now);
        }
        self.act(now, wakers, work, told);
    }

    /// Takes commands that are over.
    fn take_over(&mut self, now: Instant, work: &mut SessionWork, told: &mut Vec<Told>) {
        for over in self.over.drain(..) {
            match over {
                Over::Controller(Purpose::Reservation | Purpose::Driver, completion, data) => {
                    work.claim.handle_completion(now, &completion, &data);
                }
                Over::Controller(
                    purpose @ (Purpose::Traffic | Purpose::WindowCounts),
                    completion,
                    data,
                ) => {
                    let coordinating = work.coordinating.as_mut();
                    let heard = coordinating
                        .and_then(|own| own.handle_completion(purpose, &completion, &data));
                    told.extend(heard.map(Told::Heard));
                }
                Over::Controller(purpose, completion, data) => {
                    self.controller.handle_completion(now, purpose, &completion, &data);
                }
                // Its job does not end: whoever waits for it learns that the drive is lost.
                Over::Piece(_, completion)
                    if completion.status.code() == Some(StatusCode::ReservationConflict)
                        && work.claim.is_claimed() =>
                {
                    work.claim.handle_conflict();
                }
                Over::Piece(piece, completion) => {
                    if let Some(facts) = self.controller.facts() {
                        work.jobs.end_piece(now, piece, &completion, facts);
                    } else {
                        work.jobs.lose_piece(piece);
                    }
                }
            }
        }
    }

    fn lose(&mut self, error: &io::Error) {
        if self.lost.is_none() {
            self.lost = Some(match error.kind() {
                io::ErrorKind::UnexpectedEof => String::from("the drive closed the connection"),
                _ => error.to_string(),
            });
        }
        self.controller.handle_closed();
    }

    /// Sends commands and data, and does what the controller wants done.
    fn act(&mut self, now: Instant, wakers: &Wakers, work: &mut SessionWork, told: &mut Vec<Told>) {
        loop {
            work.windows.turn(now, &mut self.controller);
            while let Some(action) = self.controller.poll_action() {
                match action {
                    ControllerAction::Open(plan) => {
                        if let Err(error) = self.open(&plan, wakers) {
                            self.lose(&error);
                        } else {
                            self.controller.handle_open(now, plan.queue);
                        }
                    }
                    ControllerAction::Submit(submission) => {
                        let queue = usize::from(submission.queue);
                        let is_taken = self
                            .links
                            .get_mut(queue)
                            .is_some_and(|(link, _)| link.submit(submission));
                        if !is_taken {
                            self.lose(&io::Error::other("a queue is full of admin commands"));
                        }
                    }
                    ControllerAction::Ready => {
                        if let Some(facts) = self.controller.facts() {
                            work.claim.handle_ready(now, *facts);
                        }
                        told.extend(self.controller.facts().copied().map(Told::Ready));
                    }
                    ControllerAction::Over(error) => {
                        let why = match (&error, self.lost.take()) {
                            (nvme::initiator::ControllerError::Closed, Some(lost)) => lost,
                            _ => error.to_string(),
                        };
                        let may_pass = error.may_pass();
                        self.is_over = true;
                        told.push(Told::Over { why, may_pass });
                    }
                    ControllerAction::ShutDown => {
                        let why = String::from("it was shut down");
                        self.is_over = true;
                        told.push(Told::Over { why, may_pass: false });
                    }
                    ControllerAction::Windows(answer) => {
                        work.windows.answered(now, &answer);
                        work.windows.turn(now, &mut self.controller);
                    }
                    ControllerAction::Event(AsyncEvent::WindowAggregate) => {
                        work.windows.happened(now);
                        work.windows.turn(now, &mut self.controller);
                    }
                    ControllerAction::Event(AsyncEvent::TrafficLog) => {
                        work.coordinating.iter_mut().for_each(Coordinating::handle_event);
                    }
                    ControllerAction::Event(_) => {}
                }
            }
            // A connection that is lost fails to send whenever it is asked to.
            if self.is_over {
                return;
            }
            self.claim(now, &mut work.claim);
            self.coordinate(now, work.coordinating.as_mut());
            if work.claim.permits(now) {
                self.begin_pieces(now, &mut work.jobs);
            }
            if !self.flush(wakers, &work.jobs) {
                return;
            }
        }
    }

    /// Sends what a claim wants, before all else.
    fn claim(&mut self, now: Instant, claim: &mut DriveClaim) {
        let Some((link, _)) = self.links.get_mut(1) else { return };
        while link.has_room()
            && let Some(submission) = claim.poll(now)
        {
            // There is room: it is taken.
            link.submit(submission);
        }
    }

    /// Sends what is to be said as the coordinator of an array.
    fn coordinate(&mut self, now: Instant, coordinating: Option<&mut Coordinating>) {
        let (Some(own), Some((link, _))) = (coordinating, self.links.get_mut(0)) else { return };
        while self.controller.is_ready()
            && link.has_room()
            && let Some(submission) = own.poll(now)
        {
            // There is room: it is taken.
            link.submit(submission);
        }
    }

    fn begin_pieces(&mut self, now: Instant, jobs: &mut Jobs) {
        let (Some(facts), Some((link, _))) = (self.controller.facts(), self.links.get_mut(1))
        else {
            return;
        };
        while link.has_room()
            && let Some((piece, entry, data)) = jobs.next_piece(now, facts)
        {
            if !link.submit_piece(piece, entry, data) {
                jobs.lose_piece(piece);
                return;
            }
        }
    }

    /// Sends what sockets take. Returns whether the controller has something to say about it.
    fn flush(&mut self, wakers: &Wakers, jobs: &Jobs) -> bool {
        let mut lost = None;
        for (number, (link, is_watched)) in self.links.iter_mut().enumerate() {
            let sent = link.send(jobs);
            let wants = link.wants_to_write();
            let watched = match wants == *is_watched {
                true => Ok(()),
                false => wakers.watch(link, number as u64, false),
            };
            *is_watched = wants;
            if let Err(error) = sent.and(watched) {
                lost = Some(error);
            }
        }
        if let Some(error) = &lost {
            self.lose(error);
        }
        lost.is_some()
    }

    fn open(&mut self, plan: &QueuePlan, wakers: &Wakers) -> io::Result<()> {
        let terms = Terms {
            digests: self.options.digests,
            commands: plan.commands,
            capsule_bytes: plan.capsule_bytes,
            transfer_max_bytes: plan.transfer_max_bytes,
            checksum: crc32c::crc32c_append,
        };
        let link = Link::open(self.address, terms)?;
        wakers.watch(&link, self.links.len() as u64, true)?;
        self.links.push((link, true));
        Ok(())
    }

    /// Whether something that changes the drive has no answer yet.
    pub(super) fn has_change(&self, jobs: &Jobs) -> bool {
        self.links.iter().any(|(link, _)| link.has_change(jobs))
    }

    /// Closes all connections. What was sent and has no answer is to be sent again. Returns whether
    /// some of that changes what is on the drive.
    pub(super) fn close(self, jobs: &mut Jobs) -> bool {
        let mut has_change = false;
        for (link, _) in self.links {
            for piece in link.close(jobs) {
                has_change |= jobs.is_change(&piece);
                jobs.lose_piece(piece);
            }
        }
        has_change
    }
}
