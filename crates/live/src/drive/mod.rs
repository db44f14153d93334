//! One drive that hosts attach to over NVMe/TCP: the thread that owns its model, its bytes and all
//! its sockets.
//!
//! Knows: which part of the drive a command is for, and when it is over. Does not know: the
//! protocol ([`crate::nvme_tcp`], [`nvme::target`]), how the model works (`ssd`), where bytes are
//! ([`crate::storage`]).
//!
//! One loop, and nothing in it blocks or takes a lock. Each turn of the loop begins, receives and
//! sends a bounded number of bytes, and connections take turns, so that no host holds up another. A
//! command completes when the model and the storage both have carried it out. The model acts at the
//! times that it has computed, even if the thread gets to it later, so one late wake-up does not
//! make the next answer late.

mod device;
mod handle;
mod head;
mod report;
mod reservations;
mod windows;

pub use handle::{DriveHandle, channel};
pub use head::{DriveHead, OpenError, OpenedDrive, open};
pub use reservations::KeptReservations;

use crate::certainty::Certainty;
use crate::clock::{Clock, Event, Interest, Spin, Waiter};
use crate::nvme_tcp::{Target, TargetEvent, TargetSetup};
use crate::storage::Storage;
use device::{Device, Done};
use handle::Inbox;
use nvme::target::Action;
use ssd::Ssd;
use std::collections::VecDeque;
use std::io;
use thiserror::Error;
use units::{Duration, Instant};
use windows::Windows;

/// What the thread of a drive is given.
#[derive(Debug)]
pub struct Setup {
    /// The subsystem and where it is. Its namespace has blocks of
    /// [`BLOCK_SHIFT`](crate::nvme_tcp::BLOCK_SHIFT).
    pub target: TargetSetup,
    /// The model; none if commands take as long as the storage takes.
    pub model: Option<Box<Ssd>>,
    /// Where the bytes are: drive 0 of it.
    pub storage: Storage,
    /// Reservations as its head has them.
    pub reservations: KeptReservations,
    /// How to wait.
    pub spin: Spin,
}

/// What is left of a drive.
#[derive(Debug)]
pub struct Ended {
    /// The model, which nothing is in flight in.
    pub model: Option<Box<Ssd>>,
    /// How many commands the storage could not carry out.
    pub storage_errors: u64,
}

/// Why a drive ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The system refused something that the thread cannot do without.
    #[error("the drive's thread cannot go on: {0}")]
    System(#[from] io::Error),
    /// What was written is perhaps not on stable storage.
    #[error("what was written could not be brought to stable storage at the end: {0}")]
    Sync(String),
}

// Tokens of the waiter.
const BELL: u64 = 0;
const STORAGE: u64 = 1;
const FIRST_OF_TARGET: u64 = 16;

/// Bytes that are received and sent in one turn of the loop.
const RECEIVED_BYTES: u64 = 2 << 20;
const SENT_BYTES: u64 = 2 << 20;

/// For how long hosts may take to read their last answers when the drive ends.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How far the end of the drive is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    No,
    /// Commands in flight go on until then.
    Finishing {
        until: Instant,
    },
    /// Everything is being brought to stable storage.
    Syncing,
}

/// One drive on the real clock.
#[derive(Debug)]
pub struct DriveServer {
    clock: Clock,
    waiter: Waiter,
    inbox: Inbox,
    target: Target,
    device: Device,
    windows: Windows,
    /// What is ready and was not handled.
    ready: VecDeque<Event>,
    reservations: KeptReservations,
    end: End,
}

impl DriveServer {
    /// A drive that hosts can attach to when [`DriveServer::run`] is called.
    ///
    /// # Errors
    ///
    /// If the system has no descriptors left.
    pub fn new(setup: Setup, inbox: Inbox) -> Result<Self, DriveError> {
        let Setup { mut target, model, storage, reservations, spin } = setup;
        target.reservations = reservations.state.clone();
        let mut waiter = Waiter::new(spin)?;
        waiter.add(inbox.fd(), BELL, Interest::READ)?;
        if let Some(descriptor) = storage.fd() {
            waiter.add(descriptor, STORAGE, Interest::READ)?;
        }
        let namespace = target.config.namespace;
        let target = Target::new(target, FIRST_OF_TARGET, &mut waiter)?;
        let device = Device::new(namespace, model, storage);
        let windows = Windows::default();
        let clock = Clock::new();
        let ready = VecDeque::new();
        let end = End::No;
        Ok(Self { clock, waiter, inbox, target, device, windows, ready, reservations, end })
    }

    /// Serves hosts until it is told to stop.
    ///
    /// # Errors
    ///
    /// If the system fails.
    pub fn run(mut self) -> Result<Ended, DriveError> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let now = self.turn()?;
            if let Some(ended) = self.poll_end(now)? {
                return ended;
            }
            // What was not handled comes before what is ready now.
            if self.ready.is_empty() {
                let due = self.next_deadline();
                // Somebody waits for the moment only while commands are under way.
                let exact = self.device.has_commands();
                self.waiter.wait(&self.clock, due, exact, &mut events)?;
                self.ready.extend(events.drain(..));
            }
            self.take_events();
        }
    }

    /// Handles what is ready, up to the bytes of a turn.
    fn take_events(&mut self) {
        let now = self.clock.now();
        let mut received = 0;
        while received < RECEIVED_BYTES
            && let Some(event) = self.ready.pop_front()
        {
            match event.token {
                BELL => self.stop(now),
                // Looked at in every turn.
                STORAGE => {}
                _ => received += self.target.handle_ready(now, &event),
            }
        }
    }

    /// Does what is to be done now, as far as the budget of a turn goes. Returns the present.
    fn turn(&mut self) -> Result<Instant, DriveError> {
        let mut now = self.device.catch_up(self.clock.now());
        self.target.handle_deadline(now);
        self.device.begin_turn();
        let mut sent = 0;
        while sent < SENT_BYTES {
            let happened = self.windows.watch(now, &mut self.device);
            if happened != 0 {
                self.target.handle_window_events(happened);
            }
            let worked = self.pass_commands(now);
            sent += self.target.settle(now, Certainty::ALWAYS, &mut self.waiter)?;
            if !worked && !self.target.has_events() {
                break;
            }
            now = self.device.catch_up(self.clock.now());
        }
        self.device.kick()?;
        Ok(now)
    }

    /// Passes commands to the drive and what is done to their hosts. Returns whether there was
    /// anything.
    fn pass_commands(&mut self, now: Instant) -> bool {
        let mut worked = false;
        while let Some(event) = self.target.poll_event() {
            worked = true;
            match event {
                TargetEvent::Admin(name) => {
                    let report = report::drive_report(now, &self.device, &self.windows);
                    self.target.handle_admin(now, name, &report);
                }
                TargetEvent::Io { name, request, buffer } => {
                    self.windows.count(&request);
                    self.device.take(now, name, request, buffer);
                }
                TargetEvent::Action(action) => self.act(now, action),
            }
        }
        worked |= self.device.work(now);
        while let Some(done) = self.device.poll_done() {
            worked = true;
            match done {
                Done::Command { name, outcome, buffer } => {
                    self.target.complete(name, outcome, buffer);
                }
                Done::Buffer { name, buffer } => self.target.take_back(name, buffer),
                Done::Flushed { controller } => self.target.handle_shut_down(controller),
                Done::ReservationsKept(is_kept) => self.target.handle_reservations_kept(is_kept),
            }
        }
        worked
    }

    fn act(&mut self, now: Instant, action: Action) {
        match action {
            Action::ShutDown { controller, .. } => self.device.flush_for(controller),
            Action::SetWindows(order) => self.windows.set(now, order, &mut self.device),
            Action::SelectWindow(window) => self.windows.select(now, window, &mut self.device),
            Action::KeepReservations => {
                let state = self.target.subsystem().reservations();
                let (place, block) = self.reservations.next(state);
                self.device.keep_reservations(place, block);
            }
            // No policy of a drive wants a coordinator.
            Action::SetCounts(_) => unreachable!("a drive asks for no counts"),
            Action::Answer { .. }
            | Action::CloseIoQueues { .. }
            | Action::CloseController { .. } => {
                unreachable!("the target does it itself: {action:?}")
            }
        }
    }

    fn next_deadline(&mut self) -> Instant {
        let end = match self.end {
            End::Finishing { until } => until,
            End::No | End::Syncing => Instant::NEVER,
        };
        if self.target.has_events() || self.target.has_more_to_send() {
            return Instant::ZERO;
        }
        let due = self.device.next_deadline().min(self.windows.next_deadline());
        due.min(self.target.next_deadline()).min(end)
    }

    /// The drive is to end.
    fn stop(&mut self, now: Instant) {
        self.inbox.acknowledge();
        if self.end == End::No {
            self.target.stop_listening();
            self.end = End::Finishing { until: now + LAST_ANSWERS };
        }
    }

    /// Goes on with the end. Returns what is left when it is over.
    #[allow(clippy::type_complexity, reason = "an error of the system, of the end, or none")]
    fn poll_end(&mut self, now: Instant) -> Result<Option<Result<Ended, DriveError>>, DriveError> {
        match self.end {
            End::No => Ok(None),
            End::Finishing { until } => {
                if now < until && (self.device.has_commands() || self.target.has_unsent()) {
                    return Ok(None);
                }
                self.target.close_all();
                self.target.settle(now, Certainty::ALWAYS, &mut self.waiter)?;
                while self.target.has_more_to_send() {
                    self.target.settle(now, Certainty::ALWAYS, &mut self.waiter)?;
                }
                self.device.begin_end();
                self.device.kick()?;
                self.end = End::Syncing;
                // What is in memory is over at once.
                self.turn()?;
                self.poll_end(now)
            }
            End::Syncing => Ok(self.device.poll_end()),
        }
    }
}
