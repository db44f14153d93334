//! The engine on remote drives that this module plays: they fail, and hold eight bytes a page. A
//! reference knows for every byte what it may hold.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod plane;

use engine::{Drive, Engine, Output};
use ioda_array::{
    Config, Ended, Happening, JobKind, Outcome, Request, RequestId, RequestKind, Role, gf,
};
use nvme::{Cause, Command, Completion, Delays, DriveStatus, Opcode, PlFlag, Status};
use plane::Pages;
use std::collections::{BTreeMap, BTreeSet};
use units::{DriveId, Duration, Instant, Rng};

pub(crate) const PAGE: u64 = 8;
type Page = [u8; PAGE as usize];

/// Possible values of a byte.
#[derive(Clone, Default)]
struct Byte {
    committed: (u64, u8),
    /// Values of writes in flight and of writes that failed, by number.
    may_be: Vec<(u64, u8)>,
}

struct InFlight {
    request: Request,
    /// For a read, the possible values of every byte.
    allowed: Vec<Vec<u8>>,
}

struct Out {
    drive: DriveId,
    command: Command,
    sent: Instant,
}

/// Rates of faults, in percent of the commands.
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    /// Drives on which faults may occur, as bits.
    pub(crate) drives: u64,
    pub(crate) unreadable: u64,
    pub(crate) unwritable: u64,
    pub(crate) busy: u64,
}

pub(crate) struct Host {
    pub(crate) engine: Engine<Pages>,
    pub(crate) now: Instant,
    pub(crate) faults: Faults,
    pub(crate) rng: Rng,
    pub(crate) drives: Vec<Vec<Page>>,
    /// Pages that cannot be read until they are written, by drive and block.
    pub(crate) damaged: BTreeSet<(u8, u64)>,
    out: Vec<Out>,
    requests: BTreeMap<u64, InFlight>,
    bytes: Vec<Byte>,
    next_request: u64,
    /// Whether more drives may fail than there are parities.
    pub(crate) may_fail: bool,
    pub(crate) failed: u64,
    pub(crate) done: u64,
    pub(crate) restored: Vec<Option<DriveId>>,
    pub(crate) not_restored: u64,
    pub(crate) scrubbed: u64,
    pub(crate) skipped: u64,
    /// Pages that were repaired after media errors, and pages that could not be.
    pub(crate) repaired: u64,
    pub(crate) lost: u64,
    /// Stripes whose parity a scrub found wrong.
    pub(crate) mismatched: u64,
    /// Drives that the array has declared failed, as bits.
    pub(crate) gone: u64,
}

fn engine(config: Config) -> Engine<Pages> {
    let width = config.layout.width() as usize;
    Engine::new(config, (0..width).map(|_| Drive::Remote).collect(), Pages::new(width))
}

impl Host {
    pub(crate) fn new(config: Config, drive_pages: u64, rng: Rng) -> Self {
        let engine = engine(config);
        let width = engine.drives().len();
        let bytes = vec![Byte::default(); engine.array().capacity_bytes() as usize];
        Self {
            engine,
            now: Instant::ZERO,
            faults: Faults { drives: 0, unreadable: 0, unwritable: 0, busy: 30 },
            rng,
            drives: vec![vec![[0; 8]; drive_pages as usize]; width],
            damaged: BTreeSet::new(),
            out: Vec::new(),
            requests: BTreeMap::new(),
            bytes,
            next_request: 0,
            may_fail: false,
            failed: 0,
            done: 0,
            restored: Vec::new(),
            not_restored: 0,
            scrubbed: 0,
            skipped: 0,
            repaired: 0,
            lost: 0,
            mismatched: 0,
            gone: 0,
        }
    }

    /// Replaces the array by another one on the same drives.
    pub(crate) fn start_again(&mut self, config: Config) {
        self.engine = engine(config);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.requests.is_empty()
            && self.out.is_empty()
            && self.engine.array().operations_in_flight() == 0
    }

    pub(crate) fn request(&mut self) {
        let capacity = self.engine.array().capacity_bytes();
        let kind = match self.rng.below(16) {
            0 => RequestKind::Deallocate,
            1..8 => RequestKind::Write,
            _ => RequestKind::Read,
        };
        let most = if kind == RequestKind::Deallocate { capacity } else { 12 * PAGE };
        let span = if self.rng.below(2) == 0 { capacity } else { capacity.div_ceil(8) };
        let size_bytes = (1 + self.rng.below(most)).min(span);
        let mut offset_bytes = self.rng.below(span - size_bytes + 1);
        if self.rng.below(2) == 0 {
            offset_bytes = offset_bytes / PAGE * PAGE;
        }
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let host = self.rng.below(3) as u8;
        let request = Request { id, host, kind, offset_bytes, size_bytes };
        let data: Vec<u8> = (0..size_bytes).map(|_| self.rng.next_u64() as u8).collect();
        let mut in_flight = InFlight { request, allowed: Vec::new() };
        let range = offset_bytes..offset_bytes + size_bytes;
        match kind {
            RequestKind::Read => {
                let bytes = &self.bytes[range.start as usize..range.end as usize];
                in_flight.allowed = bytes
                    .iter()
                    .map(|byte| {
                        let others = byte.may_be.iter().map(|&(_, value)| value);
                        others.chain([byte.committed.1]).collect()
                    })
                    .collect();
            }
            RequestKind::Write => {
                for (at, value) in range.zip(data.iter().copied()) {
                    self.begins(id.0, at, value);
                }
            }
            RequestKind::Deallocate => {
                for at in self.deallocated(&request) {
                    self.begins(id.0, at, 0);
                }
            }
        }
        self.requests.insert(id.0, in_flight);
        self.engine.plane_mut().begin_request(request, data);
        self.engine.handle_request(self.now, &request);
        self.act();
    }

    /// The bytes that a deallocation clears: rows that it covers completely.
    fn deallocated(&self, request: &Request) -> Vec<u64> {
        let layout = *self.engine.array().layout();
        let end = request.offset_bytes + request.size_bytes;
        let covered = |page: u64| request.offset_bytes <= page * PAGE && (page + 1) * PAGE <= end;
        let mut bytes = Vec::new();
        for page in request.offset_bytes / PAGE..end.div_ceil(PAGE) {
            let segment = layout.segments(page, 1).next().unwrap();
            let (stripe, row) = (segment.stripe, segment.first_row);
            if (0..layout.data_chunks()).all(|chunk| covered(layout.page(stripe, chunk, row))) {
                bytes.extend(page * PAGE..(page + 1) * PAGE);
            }
        }
        bytes
    }

    fn begins(&mut self, id: u64, at: u64, value: u8) {
        self.bytes[at as usize].may_be.push((id, value));
        for read in self.requests.values_mut() {
            let first = read.request.offset_bytes;
            if read.request.kind == RequestKind::Read
                && (first..first + read.request.size_bytes).contains(&at)
            {
                read.allowed[(at - first) as usize].push(value);
            }
        }
    }

    fn ends(&mut self, id: u64, at: u64, ended: Ended) {
        let byte = &mut self.bytes[at as usize];
        if ended == Ended::Failed {
            // It may have been written or not, from now on.
            return;
        }
        let position = byte.may_be.iter().position(|&(other, _)| other == id);
        // If it is not there, a later write has ended already.
        let Some(position) = position else { return };
        byte.committed = byte.may_be[position];
        byte.may_be.retain(|&(other, _)| other > id);
    }

    fn complete(&mut self, outcome: &Outcome) {
        let Outcome { request, ended, kind, .. } = *outcome;
        let in_flight = self.requests.remove(&request.0).expect("in flight");
        let data = self.engine.plane_mut().end_request(request);
        match ended {
            Ended::Done => self.done += 1,
            Ended::Failed => self.failed += 1,
        }
        assert!(self.may_fail || ended == Ended::Done, "{:?} failed", in_flight.request);
        let first = in_flight.request.offset_bytes;
        match kind {
            RequestKind::Read => {
                let latency = outcome.completed.since(outcome.arrived);
                assert_eq!(outcome.delays.total(), latency);
                if ended == Ended::Done {
                    for (index, value) in data.iter().enumerate() {
                        let allowed = &in_flight.allowed[index];
                        assert!(
                            allowed.contains(value),
                            "{:?}: byte {} of page {} is {value:#x}, and may be {allowed:x?}",
                            in_flight.request,
                            first + index as u64,
                            (first + index as u64) / PAGE,
                        );
                    }
                }
            }
            RequestKind::Write => {
                for at in first..first + in_flight.request.size_bytes {
                    self.ends(request.0, at, ended);
                }
            }
            RequestKind::Deallocate => {
                // The hint is ignored where too many members are missing.
                let ended = if self.may_fail { Ended::Failed } else { ended };
                for at in self.deallocated(&in_flight.request) {
                    self.ends(request.0, at, ended);
                }
            }
        }
    }

    pub(crate) fn act(&mut self) {
        while let Some(output) = self.engine.poll_output(self.now) {
            match output {
                Output::Command { drive, command, .. } => {
                    assert_eq!(self.gone >> drive.0 & 1, 0, "{command:?} for the failed {drive:?}");
                    self.out.push(Out { drive, command, sent: self.now });
                }
                Output::Permitted { .. } => {}
                Output::AskStatus { drive } => {
                    assert_eq!(self.gone >> drive.0 & 1, 0, "the failed {drive:?} is asked");
                    let due = self.rng.below(2) == 0;
                    let headroom_pages = self.rng.below(100);
                    let status = DriveStatus {
                        headroom_pages,
                        due,
                        must_collect: false,
                        collecting: due && self.rng.below(2) == 0,
                    };
                    self.engine.handle_status(self.now, drive, &status);
                }
                Output::Complete(outcome) => self.complete(&outcome),
                Output::Happened(Happening::DriveFailed { drive, .. }) => {
                    assert_eq!(self.gone >> drive.0 & 1, 0, "{drive:?} failed twice");
                    self.gone |= 1 << drive.0;
                    let garbage = self.rng.next_u64().to_le_bytes();
                    self.drives[drive.index()].fill(garbage);
                    assert_eq!(self.engine.array().absent(), self.gone);
                }
                Output::Happened(Happening::PageRepaired(repair)) => {
                    self.repaired += u64::from(repair.repaired);
                    self.lost += u64::from(!repair.repaired);
                }
                Output::Happened(Happening::ParityMismatch { .. }) => self.mismatched += 1,
                Output::Happened(Happening::ChecksumMismatch { .. }) => {
                    unreachable!("no checksums")
                }
                Output::Happened(Happening::JobEnded { job, skipped }) => match (job, skipped) {
                    (JobKind::Scrub | JobKind::ScrubRepair, _) => {
                        self.scrubbed += 1;
                        self.skipped += skipped;
                    }
                    (JobKind::Rebuild(drive), 0) => self.restored.push(Some(drive)),
                    (JobKind::Resync, 0) => self.restored.push(None),
                    _ => self.not_restored += skipped,
                },
            }
        }
        self.engine.check_invariants();
    }

    /// Puts an empty drive in the place of a failed one. Returns whether the array allows it.
    pub(crate) fn replace(&mut self, drive: DriveId) -> bool {
        assert_eq!(self.gone >> drive.0 & 1, 1);
        let waits = self
            .out
            .iter()
            .any(|out| out.drive == drive && out.command.opcode != Opcode::Deallocate);
        let replaced = self.engine.replace_drive(self.now, drive, Drive::Remote);
        assert_eq!(replaced.is_err(), waits, "{replaced:?}");
        if replaced.is_ok() {
            // Nothing of the drive before it counts any more.
            self.gone &= !(1 << drive.0);
            let garbage = self.rng.next_u64().to_le_bytes();
            self.drives[drive.index()].fill(garbage);
        }
        self.act();
        replaced.is_ok()
    }

    /// Answers a command in flight, if there is one.
    pub(crate) fn answer(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let at = self.rng.below(self.out.len() as u64) as usize;
        let Out { drive, command, sent } = self.out.swap_remove(at);
        let now = self.now + Duration::from_nanos(self.rng.below(400));
        // Earlier deadlines come first.
        while self.engine.next_deadline() <= now {
            self.pass_time();
        }
        self.now = now;
        let is_faulty = self.faults.drives >> drive.0 & 1 == 1;
        let mut status = Status::Success;
        let is_read = command.opcode == Opcode::Read;
        if self.gone >> drive.0 & 1 == 1 {
            if self.rng.below(2) == 0 {
                status = Status::Unrecovered;
            }
        } else if is_read && command.pl != PlFlag::Off && self.rng.below(100) < self.faults.busy {
            status = Status::FailedFast;
        } else if is_faulty {
            let percent = if is_read { self.faults.unreadable } else { self.faults.unwritable };
            if self.rng.below(100) < percent {
                status = Status::Unrecovered;
            }
        }
        let blocks = command.lba.0..command.lba.0 + u64::from(command.blocks);
        let its = (drive.0, blocks.start)..(drive.0, blocks.end);
        if is_read && status == Status::Success && self.damaged.range(its).next().is_some() {
            status = Status::Unrecovered;
        }
        if !is_read && status == Status::Success {
            self.damaged.retain(|(of, block)| *of != drive.0 || !blocks.contains(block));
        }
        let first = command.lba.0 as usize;
        let pages = &mut self.drives[drive.index()][first..first + command.blocks as usize];
        if self.gone >> drive.0 & 1 == 0 && status == Status::Success {
            match command.opcode {
                Opcode::Read => {}
                Opcode::Write => {
                    let data = self.engine.plane().written_by(command.id);
                    pages.as_flattened_mut().copy_from_slice(data);
                }
                Opcode::Deallocate => pages.fill([0; 8]),
            }
        }
        if is_read {
            let success = status == Status::Success;
            let brought = if success { pages.as_flattened().to_vec() } else { Vec::new() };
            self.engine.plane_mut().bring(command.id, brought);
        }
        let mut delays = Delays::ZERO;
        delays.add(Cause::NandRead, now.since(sent));
        let completion = Completion {
            id: command.id,
            status,
            busy_remaining: Duration::from_nanos(self.rng.below(1000)),
            met_collection: status == Status::FailedFast,
            held_up: false,
            delays,
        };
        self.engine.handle_completion(completion);
        self.act();
    }

    pub(crate) fn pass_time(&mut self) {
        let due = self.engine.next_deadline();
        if due != Instant::NEVER {
            self.now = self.now.max(due);
            self.engine.handle_deadline(self.now);
            self.act();
        }
    }

    /// Steps until nothing is in progress any more.
    pub(crate) fn drain(&mut self) {
        for _ in 0..200_000 {
            if self.is_idle() && self.engine.array().job().is_none() {
                return;
            }
            self.step();
        }
        panic!(
            "stuck: {} requests, {} commands out, {} operations, {:?}",
            self.requests.len(),
            self.out.len(),
            self.engine.array().operations_in_flight(),
            self.engine.array().job()
        );
    }

    pub(crate) fn step(&mut self) {
        if self.out.is_empty() || self.rng.below(8) == 0 {
            self.pass_time();
        }
        self.answer();
    }

    /// Latest content of a page of a member: in the write cache, or on its drive.
    fn stored(&self, stripe: u64, row: u32, member: DriveId) -> Page {
        let (drive, lba) = self.engine.array().locate(stripe, row, member);
        let cached = self.engine.plane().cached(drive, lba);
        cached.unwrap_or(self.drives[drive.index()][lba.0 as usize])
    }

    /// Checks every byte, and the parity of every stripe, of an optimal and idle array.
    pub(crate) fn check_all(&self) {
        let layout = *self.engine.array().layout();
        for stripe in 0..layout.stripes() {
            for row in 0..layout.chunk_pages() {
                let (mut p, mut q) = ([0; 8], [0; 8]);
                let members = (0..64).filter(|member| layout.members(stripe) >> member & 1 == 1);
                for member in members.clone().map(DriveId) {
                    let Role::Data(chunk) = layout.role(stripe, member) else { continue };
                    let page = self.stored(stripe, row, member);
                    let first = layout.page(stripe, chunk, row) * PAGE;
                    for (at, value) in (first..).zip(page) {
                        let byte = &self.bytes[at as usize];
                        let mut allowed = byte.may_be.iter().map(|&(_, value)| value);
                        assert!(
                            value == byte.committed.1 || allowed.any(|other| other == value),
                            "byte {at} is {value:#x} and should be {:#x}",
                            byte.committed.1
                        );
                    }
                    gf::multiply_add(&mut p, &page, 1);
                    gf::multiply_add(&mut q, &page, gf::power(chunk));
                }
                for member in members.map(DriveId) {
                    let expected = match layout.role(stripe, member) {
                        Role::Data(_) => continue,
                        Role::P => p,
                        Role::Q => q,
                    };
                    let found = self.stored(stripe, row, member);
                    assert_eq!(found, expected, "parity {member:?} of stripe {stripe} row {row}");
                }
            }
        }
    }
}
