//! One drive under the load of a curve: percentiles of reads and writes beside random writes at a
//! given rate.
//!
//! The protocol is that of the published measurements of SSD-iq (Haas et al., VLDB 2025). Writers
//! with Poisson arrivals load the drive, each with a bound on its writes in flight. A probe of half
//! reads and half writes runs beside them, and its latencies are measured. All blocks of the drive
//! are used.

use crate::latency::LatencySummary;
use nvme::{Command, CommandId, Opcode, PlFlag};
use ssd::Ssd;
use units::{Duration, Instant, Lba, Rng, Slab};

/// A measurement of one load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurveLoad {
    /// Writes of 4 KiB per second of all writers together.
    pub writes_per_second: f64,
    /// Requests of 4 KiB per second of the probe, half of them reads.
    pub probe_per_second: f64,
    /// Writers, each with Poisson arrivals.
    pub writers: u32,
    /// Most writes in flight of a writer.
    pub writer_depth: u32,
    /// Writes that come before the measurement.
    pub warm_up_writes: u64,
    /// Length of the measurement.
    pub measured: Duration,
    /// Seed of arrivals and addresses.
    pub seed: u64,
}

impl CurveLoad {
    /// The published protocol at `writes_per_second`: six writers of depth 64 beside 10 thousand
    /// requests per second, without a warm-up.
    #[must_use]
    pub fn new(writes_per_second: f64, measured: Duration, seed: u64) -> Self {
        Self {
            writes_per_second,
            probe_per_second: 10_000.0,
            writers: 6,
            writer_depth: 64,
            warm_up_writes: 0,
            measured,
            seed,
        }
    }
}

/// The measurement of one load.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    /// Latencies of the reads of the probe.
    pub reads: LatencySummary,
    /// Latencies of the writes of the probe.
    pub writes: LatencySummary,
    /// Writes that ended per second, of writers and probe.
    pub writes_per_second: f64,
    /// Pages programmed per page written.
    pub write_amplification: f64,
}

/// Where a command came from.
#[derive(Clone, Copy, Debug)]
enum Sender {
    Writer(u32),
    Probe,
}

/// The load on its way.
struct Hosts<'drive> {
    drive: &'drive mut Ssd,
    load: CurveLoad,
    rng: Rng,
    /// Commands in flight, by their number: sender, operation, submission.
    sent: Slab<(Sender, Opcode, Instant)>,
    /// Writes in flight of each writer, and those that are due but exceed its depth.
    in_flight: Vec<u32>,
    due: Vec<u64>,
    blocks_per_command: u32,
}

impl Hosts<'_> {
    fn send(&mut self, now: Instant, sender: Sender, opcode: Opcode) {
        let blocks = self.blocks_per_command;
        let first = self.rng.below(self.drive.logical_blocks() / u64::from(blocks));
        let slot = self.sent.insert((sender, opcode, now));
        let (id, lba, pl) = (CommandId(slot), Lba(first * u64::from(blocks)), PlFlag::Off);
        let submitter = match sender {
            Sender::Writer(writer) => writer,
            Sender::Probe => self.load.writers,
        };
        let command = Command { id, opcode, lba, blocks, pl };
        self.drive.handle_command_from(now, submitter, &command);
    }

    fn arrive(&mut self, now: Instant, writer: u32) {
        let index = writer as usize;
        if self.in_flight[index] == self.load.writer_depth {
            self.due[index] += 1;
            return;
        }
        self.in_flight[index] += 1;
        self.send(now, Sender::Writer(writer), Opcode::Write);
    }

    fn complete(&mut self, now: Instant, slot: u32) -> (Sender, Opcode, Duration) {
        let (sender, opcode, sent) = *self.sent.get(slot);
        self.sent.release(slot);
        if let Sender::Writer(writer) = sender {
            let index = writer as usize;
            self.in_flight[index] -= 1;
            if self.due[index] > 0 {
                self.due[index] -= 1;
                self.arrive(now, writer);
            }
        }
        (sender, opcode, now.since(sent))
    }

    /// Time to the next of arrivals that come `per_second`.
    fn pause(&mut self, per_second: f64) -> Duration {
        let seconds = -(1.0 - self.rng.unit_f64()).ln() / per_second;
        Duration::from_nanos((seconds * 1e9) as u64)
    }
}

/// Measures a drive that has been aged.
///
/// # Panics
///
/// If the load has no writers, or a rate is not above 0.
pub fn measure_load(drive: &mut Ssd, load: CurveLoad) -> CurvePoint {
    assert!(load.writers > 0 && load.writes_per_second > 0.0 && load.probe_per_second > 0.0);
    let page_bytes = drive.config().geometry.page_bytes;
    let mut hosts = Hosts {
        rng: Rng::stream(load.seed, "load curve"),
        sent: Slab::new(),
        in_flight: vec![0; load.writers as usize],
        due: vec![0; load.writers as usize],
        blocks_per_command: (4096 / page_bytes).max(1),
        drive,
        load,
    };
    let mut point = CurvePoint {
        reads: LatencySummary::new(),
        writes: LatencySummary::new(),
        writes_per_second: 0.0,
        write_amplification: 0.0,
    };
    let mut next_write = Instant::ZERO + hosts.pause(load.writes_per_second);
    let mut next_probe = Instant::ZERO + hosts.pause(load.probe_per_second);
    let mut began = (load.warm_up_writes == 0).then_some(Instant::ZERO);
    let (mut warm_up, mut written) = (load.warm_up_writes, 0u64);
    loop {
        let now = hosts.drive.next_deadline().min(next_write).min(next_probe);
        if began.is_some_and(|began| now.since(began) >= load.measured) {
            break;
        }
        if now == next_write {
            let writer = hosts.rng.below(u64::from(load.writers)) as u32;
            hosts.arrive(now, writer);
            next_write = now + hosts.pause(load.writes_per_second);
        } else if now == next_probe {
            let opcode = if hosts.rng.below(2) == 0 { Opcode::Read } else { Opcode::Write };
            hosts.send(now, Sender::Probe, opcode);
            next_probe = now + hosts.pause(load.probe_per_second);
        } else {
            hosts.drive.handle_deadline(now);
        }
        while let Some(completed) = hosts.drive.poll_completion() {
            let (sender, opcode, latency) = hosts.complete(completed.at, completed.completion.id.0);
            let is_write = opcode == Opcode::Write;
            if began.is_none() {
                warm_up -= u64::from(is_write);
                if warm_up == 0 {
                    began = Some(now);
                    hosts.drive.reset_counters();
                }
                continue;
            }
            written += u64::from(is_write);
            match (sender, opcode) {
                (Sender::Probe, Opcode::Read) => point.reads.record(latency),
                (Sender::Probe, _) => point.writes.record(latency),
                (Sender::Writer(_), _) => {}
            }
        }
    }
    point.writes_per_second = written as f64 / load.measured.as_secs_f64();
    point.write_amplification = hosts.drive.counters().write_amplification();
    point
}
