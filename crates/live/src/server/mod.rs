//! The thread that owns an array: its drives, their storage, and all clients past the handshake.
//!
//! One loop, and nothing in it blocks or takes a lock. It waits until something is due or a
//! descriptor is ready ([`crate::clock::Waiter`]), lets the model of every drive and the array come up to
//! the present, moment by moment in the order of their deadlines as the simulator does, hears its
//! clients, and sends what they are to be told.
//!
//! # Two times
//!
//! What emulated drives and the array do happens at the moments that they have computed, even if the
//! thread comes to it a little later: the array is told the due time of every answer, so being late
//! once does not make the next answer late. How late the thread was is recorded as lateness. Requests
//! of clients and answers of real storage happen when they come.

mod act;
mod bytes;
mod clients;
mod commands;
mod data;
mod drives;
mod flush;
mod keeping;
mod linger;
mod measure;
mod model;
mod orders;
mod request;
mod status;

pub use keeping::Durable;
pub use model::Model;

use crate::buffer::Buffer;
use crate::clock::{Clock, Event, Interest, Spin, Waiter};
use crate::control::{Inbox, Message};
use crate::nbd::Request;
use crate::storage::{Finished, Storage};
use array::policy::{PolicyKind, PolicySettings};
use array::{Array, Coordination};
use bytes::{Staged, Transfer};
use clients::{Clients, FIRST_CLIENT};
use commands::{Commands, Outstanding};
use data::Operations;
use flush::Flush;
use keeping::Keeping;
use linger::Linger;
use measure::Measures;
use nvme::{CollectionReport, CommandId, Completion};
use orders::{Closing, Switching};
use request::{ClientId, Pending};
use std::collections::{HashMap, VecDeque};
use std::io;
use thiserror::Error;
use units::{Deadlines, DriveId, Duration, Instant, Slab};

/// What the array's thread is given.
#[derive(Debug)]
pub struct Setup {
    /// The array; its data actions must be on.
    pub array: array::Config,
    /// How each drive behaves in time, in the order of their positions.
    pub models: Vec<Model>,
    /// Where each drive keeps its bytes.
    pub storage: Storage,
    /// What the array writes down about itself; nothing if it lives in memory.
    pub durable: Option<Durable>,
    /// Bytes of each drive.
    pub drive_bytes: u64,
    /// Drives, among those that the array takes for absent, that are there to be rebuilt, as bits.
    pub rebuilding: u64,
    /// Stripes whose parity may not fit their data.
    pub resync: Vec<std::ops::Range<u64>>,
    /// How to wait.
    pub spin: Spin,
    /// What each policy gets when it is switched to.
    pub switch: SwitchTable,
}

/// Why an array's thread ended early.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The system refused something that the thread cannot do without.
    #[error("the array's thread cannot go on: {0}")]
    System(#[from] io::Error),
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

/// One array on the real clock.
pub struct Engine {
    clock: Clock,
    waiter: Waiter,
    inbox: Inbox,
    clients: Clients,
    array: Array,
    models: Vec<Model>,
    configs: Vec<Option<ssd::Config>>,
    storage: Storage,
    keeping: Keeping,
    /// One source per drive, then the array.
    sources: Deadlines,
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    /// What each drive announced last of its collections, if the policy listens.
    reports: Vec<CollectionReport>,
    /// The array's present: it never goes back.
    now: Instant,
    commands: Commands,
    ready: VecDeque<Completion>,
    /// The command that the array is being told of.
    answered_command: Option<Outstanding>,
    /// Kept to spare an allocation per call.
    answered: Vec<ssd::Completed>,
    transfers: Slab<Transfer>,
    /// What the storage has ended while a failure was written down.
    finished_early: VecDeque<Finished>,
    staged: Staged,
    from_stage: HashMap<CommandId, Vec<(u32, Buffer)>>,
    /// Staged pages on their way to where they belong.
    stage_writes: u64,
    operations: Operations,
    requests: Slab<Pending>,
    /// Requests of which a slice is done and more are to come.
    continued: Vec<u32>,
    /// Requests that came while the policy is being switched.
    aside: VecDeque<(ClientId, Request)>,
    flush: Flush,
    next_flush: Vec<(ClientId, u64)>,
    measures: Measures,
    linger: Linger,
    /// Clients were told something in this turn.
    answered_some: bool,
    errors: Vec<u64>,
    scrub_mismatches: u64,
    switch: SwitchTable,
    policy: PolicyKind,
    /// When it came into force.
    policy_since: Instant,
    switching: Option<Switching>,
    closing: Option<Closing>,
    stopped: Option<String>,
    uuid: String,
    page_bytes: u64,
    stripe_bytes: u64,
    /// Bytes of each drive.
    drive_bytes: u64,
    /// Drives that have failed and were not replaced, as bits.
    failed: u64,
}

impl Engine {
    /// An array that begins to serve when [`Engine::run`] is called.
    ///
    /// # Errors
    ///
    /// If the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// If there are not as many models as the array has drives.
    pub fn new(setup: Setup, inbox: Inbox) -> Result<Self, EngineError> {
        let Setup { array: config, mut models, storage, durable, drive_bytes, .. } = setup;
        let Setup { rebuilding, resync, spin, switch, .. } = setup;
        let width = config.layout.width() as usize;
        assert_eq!(models.len(), width, "one model per drive");
        let page_bytes = u64::from(config.page_bytes);
        let stripe_bytes = u64::from(config.layout.data_chunks())
            * u64::from(config.layout.chunk_pages())
            * page_bytes;
        let (policy, absent) = (config.policy, config.absent);
        let mut waiter = Waiter::new(spin)?;
        waiter.add(inbox.bell(), BELL, Interest::READ)?;
        if let Some(descriptor) = storage.fd() {
            waiter.add(descriptor, STORAGE, Interest::READ)?;
        }
        let config_of = |model: &Model| match model {
            Model::Emulated(ssd) => Some(ssd.config().clone()),
            Model::Plain => None,
        };
        let configs = models.iter().map(config_of).collect();
        for model in &mut models {
            if let Model::Emulated(ssd) = model {
                ssd.set_instant_collection(policy.about().collects_instantly);
            }
        }
        let operations = Operations::new(page_bytes as usize, width);
        let array = Array::new(config);
        let reports = if array.watches_drives() { width } else { 0 };
        let keeping = Keeping::new(durable);
        let uuid = keeping.uuid();
        let mut engine = Self {
            clock: Clock::new(),
            waiter,
            inbox,
            clients: Clients::default(),
            array,
            configs,
            models,
            storage,
            keeping,
            sources: Deadlines::new(width + 1),
            touched: (0..width).collect(),
            is_touched: vec![true; width],
            reports: vec![CollectionReport::default(); reports],
            now: Instant::ZERO,
            commands: Commands::default(),
            ready: VecDeque::new(),
            answered_command: None,
            answered: Vec::new(),
            transfers: Slab::new(),
            finished_early: VecDeque::new(),
            staged: HashMap::new(),
            from_stage: HashMap::new(),
            stage_writes: 0,
            operations,
            requests: Slab::new(),
            continued: Vec::new(),
            aside: VecDeque::new(),
            flush: Flush::default(),
            next_flush: Vec::new(),
            measures: Measures::new(),
            linger: Linger::new(),
            answered_some: false,
            errors: vec![0; width],
            scrub_mismatches: 0,
            switch,
            policy,
            policy_since: Instant::ZERO,
            switching: None,
            closing: None,
            stopped: None,
            uuid,
            page_bytes,
            stripe_bytes,
            drive_bytes,
            failed: absent,
        };
        engine.settle(Instant::ZERO);
        for drive in engine.drives().filter(|drive| rebuilding >> drive.0 & 1 == 1) {
            engine.failed &= !(1 << drive.0);
            if let Err(error) = engine.array.replace_drive(Instant::ZERO, drive) {
                return Err(EngineError::Record(error.to_string()));
            }
            engine.settle(Instant::ZERO);
        }
        if !resync.is_empty() {
            engine.array.resync(Instant::ZERO, resync);
            engine.settle(Instant::ZERO);
        }
        Ok(engine)
    }

    /// Serves until it is told to shut down.
    ///
    /// # Errors
    ///
    /// If the system fails, or the array had to stop.
    pub fn run(mut self) -> Result<(), EngineError> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let now = self.catch_up();
            self.collect_transfers(now);
            self.continue_requests();
            self.go_on_with_orders();
            self.storage.kick()?;
            self.send_answers();
            if self.has_closed() {
                return self.close();
            }
            if !self.continued.is_empty() {
                continue;
            }
            let due = self.sources.earliest().min(self.keeping.next_deadline());
            // Somebody waits for the moment only while requests are under way.
            let exact = !self.requests.is_empty();
            let awake = self.linger.begin(self.clock.now(), self.answered_some);
            self.answered_some = false;
            match awake {
                Some(until) if until < due => {
                    self.waiter.look_until(&self.clock, until, &mut events)?;
                    self.linger.end(!events.is_empty());
                }
                _ => {
                    self.waiter.wait(&self.clock, due, exact, &mut events)?;
                }
            }
            for event in &events {
                match event.token {
                    BELL => self.take_messages(),
                    // Looked at in every turn.
                    STORAGE => {}
                    token => {
                        let index = (token - FIRST_CLIENT) as u32;
                        let readable = event.readable || event.hung_up;
                        self.hear(index, readable, event.writable);
                    }
                }
            }
        }
    }

    /// The array's present if the clock says `now`.
    fn step(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// Lets drives and array do all that is due, in order and at the moments when it was due.
    /// Returns the present.
    fn catch_up(&mut self) -> Instant {
        let now = self.clock.now();
        let array = self.models.len();
        while let Some(source) = self.sources.first() {
            let due = self.sources.earliest();
            if due > now {
                break;
            }
            let due = self.step(due);
            if source == array {
                self.array.handle_deadline(due);
            } else if let Model::Emulated(ssd) = &mut self.models[source] {
                ssd.handle_deadline(due);
                self.touch(source);
            }
            self.settle(due);
        }
        self.keep_up(now);
        self.step(now)
    }

    fn take_messages(&mut self) {
        self.inbox.hush();
        while let Some(message) = self.inbox.take() {
            match message {
                Message::Client(connection) => self.admit_client(connection),
                Message::Order(order, answer) => self.take_order(order, answer),
            }
        }
    }

    /// The drives, by position.
    fn drives(&self) -> impl Iterator<Item = DriveId> + use<> {
        (0..self.models.len() as u8).map(DriveId)
    }
}

/// Longest that a shutdown waits for requests that are under way.
const CLOSING_TIME: Duration = Duration::from_secs(30);
