//! A host that plays the drives: commands of the array are logged, and answered as a test decides.
#![allow(clippy::unwrap_used, reason = "tests stop")]
#![allow(dead_code, reason = "each test uses what it needs")]

use ioda_array::policy::{PolicyKind, PolicySettings};
use ioda_array::{
    Action, Array, Config, Coordination, DataAction, Ended, Happening, JobKind, Layout, Level,
    Outcome, Request, RequestId, RequestKind, WindowConfig,
};
use nvme::{Cause, CollectionRight, Command, Completion, Delays, Opcode, PlFlag, Status};
use std::fmt::Write as _;
use units::{DriveId, Duration, Instant};

pub(crate) const PAGE: u64 = 4096;

pub(crate) fn named(name: &str) -> PolicyKind {
    PolicyKind::from_name(name).unwrap()
}

pub(crate) struct Script {
    pub(crate) array: Array,
    pub(crate) now: Instant,
    /// Commands in flight, and when they were sent.
    pub(crate) out: Vec<(DriveId, Command, Instant)>,
    pub(crate) log: String,
    /// Outcomes of requests, in order.
    pub(crate) outcomes: Vec<Outcome>,
    /// Permits that drives were sent.
    pub(crate) permits: Vec<(DriveId, CollectionRight)>,
    /// Drives that were asked for their status.
    pub(crate) asked: Vec<DriveId>,
    /// Stripes that jobs have skipped.
    pub(crate) skipped: u64,
    /// Whether copies that are compared differ.
    pub(crate) differ: bool,
}

/// A configuration without special settings.
pub(crate) fn config(layout: Layout, policy: PolicyKind) -> Config {
    Config {
        reconstruct_compute: Duration::from_micros(3),
        read_repair: false,
        ..Config::new(layout, PAGE as u32, policy)
    }
}

/// Windows of 100 ms in turn from the start.
pub(crate) fn windows() -> WindowConfig {
    WindowConfig {
        busy_time_window: Duration::from_millis(100),
        busy_drives: 1,
        reduced_window: Duration::from_millis(100),
        gives_way: false,
        guard: Duration::ZERO,
        start: Instant::ZERO,
        ranges: 1,
        range_blocks: 1000,
    }
}

/// Declares the drive failed.
pub(crate) fn fail(s: &mut Script, drive: u8) {
    s.array.fail_drive(s.now, DriveId(drive));
    s.collect();
}

/// Answers the first command of the drive in flight with an unrecovered error.
pub(crate) fn lost(s: &mut Script, drive: u8) {
    s.answer(drive, Status::Unrecovered, 0, Duration::ZERO);
}

/// The log since the last call.
pub(crate) fn told(s: &mut Script) -> String {
    std::mem::take(&mut s.log).trim_end().to_owned()
}

impl Script {
    pub(crate) fn new(level: Level, width: u32, policy: PolicyKind) -> Self {
        Self::set(level, width, policy, PolicySettings::default())
    }

    pub(crate) fn set(
        level: Level,
        width: u32,
        policy: PolicyKind,
        settings: PolicySettings,
    ) -> Self {
        let layout = Layout::new(level, width, 1, 1000).unwrap();
        let coordination = Coordination::Windows(windows());
        let array = Array::new(Config {
            policy_settings: settings,
            coordination,
            ..config(layout, policy)
        });
        Self::of(array)
    }

    pub(crate) fn of(array: Array) -> Self {
        let (outcomes, permits, asked) = (Vec::new(), Vec::new(), Vec::new());
        let (now, out, log) = (Instant::ZERO, Vec::new(), String::new());
        Self { array, now, out, log, outcomes, permits, asked, skipped: 0, differ: false }
    }

    pub(crate) fn request(&mut self, kind: RequestKind, first_page: u64, pages: u64) {
        self.request_of(0, kind, first_page, pages);
    }

    pub(crate) fn request_of(&mut self, host: u8, kind: RequestKind, first_page: u64, pages: u64) {
        let request = Request {
            id: RequestId(7),
            host,
            kind,
            offset_bytes: first_page * PAGE,
            size_bytes: pages * PAGE,
        };
        self.array.handle_request(self.now, &request);
        self.collect();
    }

    pub(crate) fn collect(&mut self) {
        self.array.check_invariants();
        while let Some(action) = self.array.poll_action() {
            match action {
                Action::Submit { drive, command, .. } => {
                    let what = match (command.opcode, command.pl) {
                        (Opcode::Write, _) => "W",
                        (Opcode::Deallocate, _) => "d",
                        (Opcode::Read, PlFlag::Off) => "r",
                        (Opcode::Read, PlFlag::Patient) => "P",
                        (Opcode::Read, _) => "R",
                    };
                    write!(self.log, "{what}{} ", drive.0).unwrap();
                    self.out.push((drive, command, self.now));
                }
                // Drained from the write cache.
                Action::SubmitCached { drive, command } => {
                    write!(self.log, "D{} ", drive.0).unwrap();
                    self.out.push((drive, command, self.now));
                }
                Action::Permit { drive, right } => self.permits.push((drive, right)),
                Action::AskStatus { drive } => self.asked.push(drive),
                Action::RebuiltBefore { .. } => {}
                Action::Complete(outcome) => {
                    self.outcomes.push(outcome);
                    let sum = outcome.delays.total();
                    if outcome.kind == RequestKind::Read {
                        assert_eq!(sum, outcome.completed.since(outcome.arrived));
                    }
                    let ended = match outcome.ended {
                        Ended::Done => "done ",
                        Ended::Failed => "failed ",
                    };
                    self.log.push_str(ended);
                }
                Action::Happened(Happening::DriveFailed { drive, .. }) => {
                    write!(self.log, "gone{} ", drive.0).unwrap();
                }
                Action::Happened(Happening::JobEnded { job, skipped }) => {
                    self.skipped += skipped;
                    self.log.push_str(match (job, skipped) {
                        (JobKind::Scrub | JobKind::ScrubRepair, _) => "scrubbed ",
                        (_, 0) => "restored ",
                        (_, _) => "not-restored ",
                    });
                }
                Action::Happened(Happening::PageRepaired(repair)) => {
                    let end = if repair.repaired { "repaired" } else { "lost" };
                    write!(self.log, "{end}{} ", repair.drive.0).unwrap();
                }
                Action::Data(DataAction::Force { .. }) => self.log.push_str("force "),
                Action::Data(_) => {}
                Action::Compare { op, member, with } => {
                    write!(self.log, "{with}={member} ").unwrap();
                    self.array.handle_checked(self.now, op, member, !self.differ);
                }
                Action::Check { .. }
                | Action::Happened(
                    Happening::ParityMismatch { .. } | Happening::ChecksumMismatch { .. },
                ) => {
                    unreachable!("nothing is scrubbed with data actions on")
                }
            }
        }
    }

    pub(crate) fn answer(&mut self, drive: u8, status: Status, busy_micros: u64, after: Duration) {
        let at = self.out.iter().position(|(d, ..)| d.0 == drive).expect("a command is out");
        let (_, command, sent) = self.out.remove(at);
        self.now += after;
        let mut delays = Delays::ZERO;
        let cause = if status == Status::Success { Cause::NandRead } else { Cause::FailFast };
        delays.add(cause, self.now.since(sent));
        let completion = Completion {
            id: command.id,
            status,
            busy_remaining: Duration::from_micros(busy_micros),
            met_collection: status == Status::FailedFast,
            held_up: false,
            delays,
        };
        self.array.handle_completion(self.now, &completion);
        self.collect();
    }

    /// Answers successfully after `micros` more.
    pub(crate) fn ok_after(&mut self, drive: u8, micros: u64) {
        self.answer(drive, Status::Success, 0, Duration::from_micros(micros));
    }

    pub(crate) fn ok(&mut self, drive: u8) {
        self.answer(drive, Status::Success, 0, Duration::ZERO);
    }

    /// Answers a read that has waited for a collection.
    pub(crate) fn ok_behind_collection(&mut self, drive: u8) {
        let at = self.out.iter().position(|(d, ..)| d.0 == drive).expect("a command is out");
        let (_, command, sent) = self.out.remove(at);
        let mut delays = Delays::ZERO;
        self.now += Duration::from_micros(100);
        delays.add(Cause::BehindCollectionErase, self.now.since(sent));
        let completion = Completion {
            id: command.id,
            status: Status::Success,
            busy_remaining: Duration::ZERO,
            met_collection: true,
            held_up: true,
            delays,
        };
        self.array.handle_completion(self.now, &completion);
        self.collect();
    }

    pub(crate) fn busy(&mut self, drive: u8, micros: u64) {
        self.answer(drive, Status::FailedFast, micros, Duration::ZERO);
    }

    /// Advances the time to the next deadline of the array.
    pub(crate) fn compute(&mut self) {
        self.now = self.array.next_deadline();
        assert_ne!(self.now, Instant::NEVER, "nothing is being computed");
        self.array.handle_deadline(self.now);
        self.collect();
    }
}
