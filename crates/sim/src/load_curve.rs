//! Load curve of one drive: percentiles of reads and writes during random writes at a given rate.
//!
//! The protocol is that of the published measurements of SSD-iq (Haas et al., VLDB 2025). Writers
//! with Poisson arrivals load the drive, each with a bound on its writes in flight. A probe of half
//! reads and half writes runs beside them, and its latencies are measured. All blocks of the drive
//! are used.

use crate::latency::LatencySummary;
use nvme::{Command, CommandId, Opcode, PlFlag};
use ssd::Ssd;
use units::{Duration, Instant, Lba, Rng, Slab};

/// Parameters of the hosts of a drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurveLoad {
    /// Writes of 4 KiB per second of all writers together.
    pub writes_per_second: f64,
    /// Requests of 4 KiB per second of the probe, half of them reads.
    pub probe_per_second: f64,
    /// Number of writers, each with Poisson arrivals.
    pub writers: u32,
    /// Most writes in flight per writer.
    pub writer_depth: u32,
    /// Seed of arrivals and addresses.
    pub seed: u64,
}

impl CurveLoad {
    /// The published protocol at `writes_per_second`: six writers of depth 64 beside 10 thousand
    /// requests per second.
    #[must_use]
    pub fn new(writes_per_second: f64, seed: u64) -> Self {
        let (probe_per_second, writers, writer_depth) = (10_000.0, 6, 64);
        Self { writes_per_second, probe_per_second, writers, writer_depth, seed }
    }
}

/// The measurement of one load.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    /// Latencies of the reads of the probe.
    pub reads: LatencySummary,
    /// Latencies of the writes of the probe.
    pub writes: LatencySummary,
    /// Completed writes per second, of writers and probe.
    pub writes_per_second: f64,
    /// Pages programmed per page written.
    pub write_amplification: f64,
}

/// A command's origin.
#[derive(Clone, Copy, Debug)]
enum Sender {
    Writer(u32),
    Probe,
}

/// A command in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sender: Sender,
    opcode: Opcode,
    at: Instant,
}

/// A drive and its hosts. A clone continues on its own, so that one warm-up serves many loads.
#[derive(Clone, Debug)]
pub struct LoadedDrive {
    drive: Ssd,
    load: CurveLoad,
    now: Instant,
    next_write: Instant,
    next_probe: Instant,
    rng: Rng,
    /// Commands in flight, by their number.
    sent: Slab<Sent>,
    /// Writes in flight of each writer; `due` has the writes beyond its depth.
    in_flight: Vec<u32>,
    due: Vec<u64>,
    blocks_per_command: u32,
}

impl LoadedDrive {
    /// Takes an aged drive, whose hosts begin at once.
    ///
    /// # Panics
    ///
    /// If the load has no writers, or a rate is not above 0.
    #[must_use]
    pub fn new(drive: Ssd, load: CurveLoad) -> Self {
        assert!(load.writers > 0 && load.probe_per_second > 0.0);
        let page_bytes = drive.config().geometry.page_bytes;
        let mut loaded = Self {
            now: Instant::ZERO,
            next_write: Instant::ZERO,
            next_probe: Instant::ZERO,
            rng: Rng::stream(load.seed, "load curve"),
            sent: Slab::new(),
            in_flight: vec![0; load.writers as usize],
            due: vec![0; load.writers as usize],
            blocks_per_command: (4096 / page_bytes).max(1),
            drive,
            load,
        };
        loaded.next_probe = loaded.now + loaded.pause(load.probe_per_second);
        loaded.set_rate(load.writes_per_second);
        loaded
    }

    /// Changes the writes per second of all writers together, and drops the writes that were due.
    ///
    /// # Panics
    ///
    /// If the rate is not above 0.
    pub fn set_rate(&mut self, writes_per_second: f64) {
        assert!(writes_per_second > 0.0);
        self.load.writes_per_second = writes_per_second;
        self.due.fill(0);
        self.next_write = self.now + self.pause(writes_per_second);
    }

    /// Runs the hosts until `writes` writes have ended.
    pub fn warm_up(&mut self, writes: u64) {
        let mut ended = 0;
        while ended < writes {
            self.step(|_, opcode, _| ended += u64::from(opcode == Opcode::Write));
        }
    }

    /// Share of the write buffer that holds pages, 0 to 1; 0 without a buffer.
    #[must_use]
    pub fn buffered_share(&self) -> f64 {
        let pages = self.drive.config().write_buffer.map_or(0, |buffer| buffer.pages);
        f64::from(self.drive.buffered_pages()) / f64::from(pages.max(1))
    }

    /// Runs the hosts for `length`, and measures.
    pub fn measure(&mut self, length: Duration) -> CurvePoint {
        let mut point = CurvePoint {
            reads: LatencySummary::new(),
            writes: LatencySummary::new(),
            writes_per_second: 0.0,
            write_amplification: 0.0,
        };
        self.drive.reset_counters();
        let end = self.now + length;
        let mut written = 0u64;
        while self.next_event() < end {
            self.step(|sender, opcode, latency| {
                written += u64::from(opcode == Opcode::Write);
                match (sender, opcode) {
                    (Sender::Probe, Opcode::Read) => point.reads.record(latency),
                    (Sender::Probe, _) => point.writes.record(latency),
                    (Sender::Writer(_), _) => {}
                }
            });
        }
        point.writes_per_second = written as f64 / length.as_secs_f64();
        point.write_amplification = self.drive.counters().write_amplification();
        point
    }

    fn next_event(&self) -> Instant {
        self.drive.next_deadline().min(self.next_write).min(self.next_probe)
    }

    /// Handles the next event, and reports what has ended: sender, operation, latency.
    fn step(&mut self, mut ended: impl FnMut(Sender, Opcode, Duration)) {
        let now = self.next_event();
        self.now = now;
        if now == self.next_write {
            let writer = self.rng.below(u64::from(self.load.writers)) as u32;
            self.arrive(writer);
            self.next_write = now + self.pause(self.load.writes_per_second);
        } else if now == self.next_probe {
            let opcode = if self.rng.below(2) == 0 { Opcode::Read } else { Opcode::Write };
            self.send(Sender::Probe, opcode);
            self.next_probe = now + self.pause(self.load.probe_per_second);
        } else {
            self.drive.handle_deadline(now);
        }
        while let Some(completed) = self.drive.poll_completion() {
            let Sent { sender, opcode, at } = self.complete(completed.completion.id.0);
            ended(sender, opcode, completed.at.since(at));
        }
    }

    fn send(&mut self, sender: Sender, opcode: Opcode) {
        let blocks = self.blocks_per_command;
        let first = self.rng.below(self.drive.logical_blocks() / u64::from(blocks));
        let slot = self.sent.insert(Sent { sender, opcode, at: self.now });
        let (id, lba, pl) = (CommandId(slot), Lba(first * u64::from(blocks)), PlFlag::Off);
        let submitter = match sender {
            Sender::Writer(writer) => writer,
            Sender::Probe => self.load.writers,
        };
        let command = Command { id, opcode, lba, blocks, pl };
        self.drive.handle_command_from(self.now, submitter, &command);
    }

    fn arrive(&mut self, writer: u32) {
        let index = writer as usize;
        if self.in_flight[index] == self.load.writer_depth {
            self.due[index] += 1;
            return;
        }
        self.in_flight[index] += 1;
        self.send(Sender::Writer(writer), Opcode::Write);
    }

    fn complete(&mut self, slot: u32) -> Sent {
        let sent = *self.sent.get(slot);
        self.sent.release(slot);
        if let Sender::Writer(writer) = sent.sender {
            let index = writer as usize;
            self.in_flight[index] -= 1;
            if self.due[index] > 0 {
                self.due[index] -= 1;
                self.arrive(writer);
            }
        }
        sent
    }

    /// Draws the time to the next of `per_second` Poisson arrivals per second.
    fn pause(&mut self, per_second: f64) -> Duration {
        let seconds = -(1.0 - self.rng.unit_f64()).ln() / per_second;
        Duration::from_nanos((seconds * 1e9) as u64)
    }
}
