//! The thread that owns an array: its engine, its storage, and all clients past the handshake.
//!
//! One loop, and nothing in it blocks or takes a lock. It waits until something is due or a
//! descriptor is ready ([`crate::clock::Waiter`]), lets the engine come up to the present, receives
//! from its clients, and sends their answers. No client can make a turn of the loop long: each has
//! a budget (`turn`), and large memory is given back by another thread.

mod admin;
mod array_io;
mod busy_poll;
mod claims;
mod client_memory;
mod clients;
mod counts;
mod extents;
mod hosts;
mod integrity;
mod jobs;
mod measures;
mod members;
mod memory;
mod requests;
mod returning;
mod serve;
mod status;
mod trace;
mod turn;

pub use client_memory::{
    CLIENT_MEMORY_BYTES_MIN, default_client_memory_bytes, split_client_memory,
};
pub use members::Durable;
pub use trace::Watched;

use crate::clock::{Event, Interest, Spin, Waiter};
use crate::control::{Inbox, Message};
use crate::learnt;
use crate::nvme_tcp::TargetSetup;
use crate::release::Releaser;
use crate::storage::Storage;
use admin::Admin;
use array::policy::{PolicyKind, PolicySettings};
use array::{Coordination, Happening, RequestKind};
use array_io::{ArrayIo, StorageErrors};
use busy_poll::BusyPoll;
use claims::Claims;
use client_memory::ClientMemory;
use clients::{Clients, FIRST_CLIENT};
use engine::durability::Records;
use engine::volume::{Output, Repairs};
use engine::{Bytes, Drive, Engine};
use hosts::Hosts;
use integrity::Integrity;
use jobs::Jobs;
use measures::Measures;
use members::Members;
use memory::PageMemory;
use requests::Requests;
use std::io;
use thiserror::Error;
use turn::Turn;
use units::{Instant, Traced};

/// What the array's thread is given.
#[derive(Debug)]
pub struct Setup {
    /// The array.
    pub array: array::Config,
    /// The model of each drive, by position.
    pub drives: Vec<Drive>,
    /// Where each drive keeps its bytes.
    pub storage: Storage,
    /// What the array writes down about itself; nothing if it lives in memory.
    pub durable: Option<Durable>,
    /// Bytes of each drive.
    pub drive_bytes: u64,
    /// Whether data in memory have checksums; what is durable says so itself.
    pub checksums_in_memory: bool,
    /// What its last end has left to repair.
    pub repairs: Repairs,
    /// How to wait.
    pub spin: Spin,
    /// Bound on what all clients together have the server hold: data of requests in flight, and
    /// replies that are not sent.
    pub client_memory_bytes: u64,
    /// How hosts attach to it over NVMe/TCP; none if they cannot. Its namespace has blocks of
    /// [`BLOCK_SHIFT`](crate::nvme_tcp::BLOCK_SHIFT).
    pub hosts: Option<TargetSetup>,
    /// What each policy gets when it is switched to.
    pub switch: SwitchTable,
    /// What policies have learnt before.
    pub memory: array::Memory,
    /// How it is watched.
    pub watched: Watched,
}

/// Why an array's thread ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The system refused something that the thread cannot do without.
    #[error("the array's thread cannot go on: {0}")]
    System(#[from] io::Error),
    /// Another server has the drives.
    #[error(
        "the array has stopped: drive {} at {place} is not this server's any more, {why}; nothing more was written or answered", .drive.0
    )]
    Lost {
        /// The drive.
        drive: units::DriveId,
        /// Where it is.
        place: String,
        /// Why.
        why: String,
    },
    /// What must be written down cannot be.
    #[error("the array has stopped, because it could not write down its state: {0}")]
    Record(String),
}

/// What an array needs to go on under a policy: its settings and how drives are coordinated, or a
/// sentence that says why it cannot.
pub type Parts = Result<(PolicyKind, PolicySettings, Coordination), String>;

/// Finds what a policy needs, by its name.
pub struct SwitchTable(pub Box<dyn Fn(&str) -> Parts + Send>);

impl std::fmt::Debug for SwitchTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SwitchTable")
    }
}

/// Tokens of the waiter that are not clients.
const BELL: u64 = 0;
const STORAGE: u64 = 1;
/// Turns in which last answers are sent.
const LAST_TURNS_MAX: u32 = 64;

/// One array on the real clock.
pub struct Server {
    waiter: Waiter,
    inbox: Inbox,
    io: ArrayIo,
    clients: Clients,
    hosts: Option<Box<Hosts>>,
    requests: Requests,
    members: Members,
    admin: Admin,
    measures: Measures,
    integrity: Integrity,
    jobs: Jobs,
    busy_poll: BusyPoll,
    turn: Turn,
    claims: Claims,
    watched: Watched,
}

impl Server {
    /// An array that begins to serve when [`Server::run`] is called.
    ///
    /// # Errors
    ///
    /// If the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// If there are not as many drives as the array has.
    pub fn new(setup: Setup, inbox: Inbox) -> Result<Self, ServerError> {
        let Setup { array: config, drives, mut storage, durable, drive_bytes, .. } = setup;
        let Setup { repairs, spin, client_memory_bytes, hosts, .. } = setup;
        let Setup { switch, checksums_in_memory, memory, watched, .. } = setup;
        let mut waiter = Waiter::new(spin)?;
        waiter.add(inbox.wake_fd(), BELL, Interest::READ)?;
        if let Some(descriptor) = storage.fd() {
            waiter.add(descriptor, STORAGE, Interest::READ)?;
        }
        let hosts = hosts.map(|setup| Hosts::new(setup, &mut waiter).map(Box::new)).transpose()?;
        let configs = drives.iter().map(|drive| drive.ssd().map(|ssd| ssd.config().clone()));
        let configs = configs.collect();
        let (places, records) = durable.map_or((None, None), |durable| {
            let Durable { records, places } = durable;
            (Some(places), Some(records))
        });
        let members = Members::new(places, configs, drive_bytes);
        let releaser = Releaser::start()?;
        let mut plane = bytes_plane(&config, records, releaser.clone());
        if checksums_in_memory {
            plane.set_checksums_in_memory(drives.len());
        }
        storage.set_releaser(releaser.clone());
        let claims = Claims::new(&config.layout);
        let mut engine = Engine::observed(config, observed(drives), plane);
        engine.remember(memory);
        let mut server = Self {
            waiter,
            inbox,
            io: ArrayIo::new(engine, storage),
            clients: Clients::new(ClientMemory::new(client_memory_bytes), releaser),
            hosts,
            requests: Requests::default(),
            members,
            admin: Admin::new(switch),
            measures: Measures::new(),
            integrity: Integrity::default(),
            jobs: Jobs::default(),
            busy_poll: BusyPoll::new(),
            turn: Turn::new(),
            claims,
            watched,
        };
        server.settle(Instant::ZERO);
        let mut new = Vec::new();
        for rebuild in repairs.rebuild.iter().filter(|rebuild| rebuild.cursor_bytes == 0) {
            new.push(server.members.new_drive(rebuild.drive).map_err(ServerError::Record)?);
        }
        let mut new = new.into_iter();
        let begun = server.io.volume.begin_repairs(Instant::ZERO, &repairs, |_| {
            new.next().map_or(Drive::Plain, Drive::observed)
        });
        begun.map_err(|error| ServerError::Record(error.to_string()))?;
        server.settle(Instant::ZERO);
        Ok(server)
    }

    /// Serves until it is shut down.
    ///
    /// # Errors
    ///
    /// If the system fails, or the array had to stop.
    pub fn run(mut self) -> Result<(), ServerError> {
        let ended = self.serve();
        if ended.is_err() {
            self.save_trace();
        }
        if let Some(path) = &self.watched.learnt_path
            && let Err(error) = learnt::save(path, self.io.engine().array().memory())
        {
            let path = path.display();
            tracing::warn!("what the policy has learnt was not written to {path}: {error}");
        }
        ended
    }

    fn save_trace(&mut self) {
        if let Some(path) = self.watched.trace_path.take() {
            trace::save(&self.io, &path);
        }
    }

    fn serve(&mut self) -> Result<(), ServerError> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let Some(answered) = self.work()? else {
                self.await_claims()?;
                continue;
            };
            if let Some(result) = self.poll_end() {
                self.send_last_answers();
                self.close_hosts()?;
                self.give_up_claims();
                return result;
            }
            if !self.turn.has_work() {
                self.wait(answered, &mut events)?;
                self.turn.ready.extend(events.drain(..));
            }
            self.take_events();
        }
    }

    /// Waits for drives on the network, and for nothing else: clients are neither heard nor
    /// answered.
    fn await_claims(&mut self) -> io::Result<()> {
        self.settle(self.io.present());
        self.io.kick()?;
        claims::wait(&self.io.storage)
    }

    /// Gives the drives up at the end, so that the next server need not wait. A command that is
    /// still on its way to a drive keeps the claims until they run out.
    fn give_up_claims(&mut self) {
        if self.io.storage.in_flight() > 0 || self.io.storage.claims(1).is_none() {
            return;
        }
        self.io.storage.give_up_claims();
        let until = std::time::Instant::now() + claims::GIVE_UP_PATIENCE;
        while !self.io.storage.has_given_up_claims() && std::time::Instant::now() < until {
            let now = self.io.clock.now();
            self.io.collect_storage(now);
            if self.await_claims().is_err() {
                return;
            }
        }
    }

    /// Does what can be done now, as far as the budget of a turn goes. Returns whether a client was
    /// answered; `None` if none may be, because claims of drives have run out.
    fn work(&mut self) -> Result<Option<bool>, ServerError> {
        let now = self.catch_up();
        self.io.collect_storage(now);
        self.take_outputs();
        if !self.claims.permit_answers(&mut self.io.storage)? {
            return Ok(None);
        }
        self.continue_requests();
        // What is sent has a budget of its own.
        self.turn.begin();
        let answered = self.serve_hosts()? | self.send_answers();
        // Flushes and answers may have been asked for by what was received just now.
        self.settle(self.io.present());
        self.io.kick()?;
        if self.watched.checks_invariants {
            self.io.volume.check_invariants();
        }
        Ok(Some(answered))
    }

    /// Whether there is something to do now.
    fn has_work(&self) -> bool {
        let hosts = self.hosts.as_ref().is_some_and(|hosts| hosts.has_work());
        hosts || self.io.volume.has_parts() || self.clients.has_dirty()
    }

    /// Waits until something is ready or due. While there is something to do it only looks what is
    /// ready.
    fn wait(&mut self, answered: bool, events: &mut Vec<Event>) -> io::Result<()> {
        if self.has_work() {
            self.waiter.wait(&self.io.clock, Instant::ZERO, false, events)?;
            return Ok(());
        }
        let due = self.hosts.as_mut().map_or(Instant::NEVER, |hosts| hosts.next_deadline());
        let due = due.min(self.io.volume.next_deadline()).min(self.integrity.deadline());
        // Somebody waits for the moment only while requests are under way.
        let exact = self.io.volume.requests_in_flight() > 0;
        let spins = self.waiter.spins();
        match self.busy_poll.begin(self.io.clock.now(), answered && spins) {
            Some(until) if until < due => {
                self.waiter.busy_poll(&self.io.clock, until, events)?;
                self.busy_poll.end(!events.is_empty());
            }
            _ => {
                self.waiter.wait(&self.io.clock, due, exact, events)?;
            }
        }
        Ok(())
    }

    /// A turn begins with what is ready. Short requests that come with it are begun at once.
    fn take_events(&mut self) {
        self.turn.begin();
        self.io.volume.begin_turn(turn::PARTS);
        if self.turn.has_messages {
            self.take_messages();
        }
        while !self.turn.is_used_up()
            && let Some(event) = self.turn.ready.pop_front()
        {
            match event.token {
                BELL => {
                    self.inbox.acknowledge();
                    self.take_messages();
                }
                // Looked at in every turn.
                STORAGE => {}
                _ if self.hosts.as_ref().is_some_and(|hosts| hosts.owns(&event)) => {
                    let now = self.io.clock.now();
                    if let Some(hosts) = &mut self.hosts {
                        self.turn.charge(hosts.handle_ready(now, &event));
                    }
                }
                token => {
                    let index = (token - FIRST_CLIENT) as u32;
                    let readable = event.readable || event.hung_up;
                    self.on_ready(index, readable, event.writable);
                }
            }
        }
    }

    /// Sends what sockets still take.
    fn send_last_answers(&mut self) {
        for _ in 0..LAST_TURNS_MAX {
            if !self.clients.has_dirty() {
                return;
            }
            self.turn.begin();
            self.send_answers();
        }
    }

    /// Hosts are told that the array is no more.
    fn close_hosts(&mut self) -> io::Result<()> {
        let (now, certainty) = (self.io.present(), self.claims.certainty);
        self.hosts.as_mut().map_or(Ok(()), |hosts| hosts.close(now, certainty, &mut self.waiter))
    }

    /// Lets the volume come up to the present. Returns the present.
    fn catch_up(&mut self) -> Instant {
        let now = self.io.catch_up();
        self.take_outputs();
        now
    }

    /// Does what the volume wants done at `now`.
    fn settle(&mut self, now: Instant) {
        self.io.settle(now);
        self.take_outputs();
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.io.poll_output() {
            self.take_output(output);
        }
        let now = self.io.present();
        while let Some(StorageErrors { drive, count, last }) = self.io.take_errors() {
            self.integrity.note_errors(now, drive, count, last);
        }
        self.integrity.tell(now);
        self.jobs.observe(&self.io);
    }

    fn take_output(&mut self, output: Output) {
        match output {
            Output::Reply { token, reply } => self.reply(token, reply),
            Output::Part(outcome) => {
                if outcome.kind == RequestKind::Read {
                    self.measures.record_causes(&outcome);
                }
            }
            Output::Happened(happening) => self.take_happening(happening),
            Output::FailureRecorded { drive } => self.end_failing(drive),
            Output::ReadyToReplace { drive } => self.replace(drive),
            Output::Switched(result) => self.end_switch(result),
            Output::Stopped(reason) => {
                tracing::error!("the array has stopped: {reason}");
                self.save_trace();
                self.admin.refuse_all(&reason.to_string());
            }
            Output::Drained => self.record_shutdown(),
            Output::ShutDown(end) => {
                self.integrity.tell_now(self.io.present());
                self.admin.shut_down(end);
            }
            Output::Remote(engine::Output::Permitted { drive, right }) => {
                self.io.permit(drive, right);
            }
            Output::Remote(output) => unreachable!("the storage has all drives: {output:?}"),
        }
    }

    fn take_happening(&mut self, happening: Happening) {
        match happening {
            Happening::DriveFailed { drive, .. } if self.admin.has_ordered_failure(drive) => {
                tracing::info!(
                    drive = drive.0,
                    "drive {} has failed, as was ordered: the array goes on without it",
                    drive.0
                );
            }
            Happening::DriveFailed { drive, reason } => {
                tracing::error!(
                    drive = drive.0, %reason,
                    "a drive has failed: the array goes on without it"
                );
                self.members.await_return(&mut self.io, drive);
            }
            Happening::JobEnded { job, skipped } => {
                // What it has met belongs to its result.
                self.integrity.tell_now(self.io.present());
                self.jobs.end(&self.io, job, skipped);
            }
            Happening::ChecksumMismatch { drive, offset_bytes } => {
                self.integrity.note_checksum(self.io.present(), drive, offset_bytes);
            }
            Happening::PageRepaired(repair) => {
                self.integrity.note_repair(self.io.present(), repair, self.io.page_bytes());
            }
            Happening::ParityMismatch { stripe, members } => {
                self.integrity.note_mismatch(self.io.present(), stripe, members);
            }
        }
    }

    fn take_messages(&mut self) {
        self.turn.has_messages = false;
        for _ in 0..turn::MESSAGES {
            let Some(message) = self.inbox.take() else { return };
            self.take_message(message);
        }
        self.turn.has_messages = true;
    }

    fn take_message(&mut self, message: Message) {
        match message {
            Message::Client(connection) => {
                let index = self.clients.insert(connection);
                // The handshake may have brought the first requests along.
                self.on_ready(index, false, false);
            }
            Message::Admin(command, answer) => self.run_admin_command(command, answer),
            Message::Strangers(counts) => self.clients.strangers = counts,
            Message::Joined(joined) => self.take_joined(*joined),
            Message::Back { drive, wait, records } => {
                self.members.give_records(&self.io, drive, wait, &records);
            }
            Message::Returned(returned) => {
                let now = self.io.present();
                self.members.take_returned(&mut self.io, now, *returned);
                self.settle(now);
            }
        }
    }
}

fn observed(drives: Vec<Drive>) -> Vec<Drive<Traced>> {
    drives.into_iter().map(Drive::observed).collect()
}

fn bytes_plane(
    config: &array::Config,
    records: Option<Records>,
    releaser: Releaser,
) -> Bytes<PageMemory> {
    let layout = &config.layout;
    let page_bytes = u64::from(config.page_bytes);
    let chunk_bytes = u64::from(layout.chunk_pages()) * page_bytes;
    let stripe_bytes = u64::from(layout.data_chunks()) * chunk_bytes;
    Bytes::new(
        PageMemory::new(releaser),
        page_bytes,
        stripe_bytes,
        layout.width() as usize,
        records,
    )
}
