//! Speed of the simulator, for `cargo bench` and `ioda bench`.

use crate::driver::run;
use crate::plan::{Plan, PlanError, Preparation};
use crate::prepare::prepare_drives;
use crate::progress::RunProgress;
use crate::result::RunResult;
use nvme::{Command, CommandId, Opcode, PlFlag};
use ssd::{
    Blocking, CollectionUnit, Config, Counters, PreemptionScope, PulseConfig, RainConfig,
    SchedulingConfig, ScrubConfig, Ssd, Suspendable, SuspensionConfig, WriteBufferConfig,
};
use std::convert::Infallible;
use std::time::{Duration as WallTime, Instant as WallClock};
use units::{Duration, Instant, Lba, Rng};
use workload::{Arrival, Op, Request};

/// Commands that the benchmark of a drive keeps in flight.
const DRIVE_DEPTH: u32 = 256;

/// Write buffer of the drive with every feature.
const BUFFER_BYTES: u32 = 8 << 20;
/// Idle time after which its dies scrub.
const SCRUB_AFTER: Duration = Duration::from_millis(1);
/// Suspension of its programs and erases by reads.
const SUSPENSION: SuspensionConfig = SuspensionConfig {
    what: Suspendable::Everything,
    program: Duration::from_micros(10),
    erase: Duration::from_micros(100),
    most: 3,
    pulses: PulseConfig::NONE,
};

/// The drive with every internal feature on: reads first, preemptible collections, suspension,
/// copyback, scrubbing, a write buffer, and RAIN with stripes as wide as the drive, which collects
/// block by block.
#[must_use]
pub fn with_every_feature(config: &Config) -> Config {
    let mut config = config.clone();
    config.collection.blocking = Blocking::Die;
    config.collection.unit = CollectionUnit::Block;
    config.collection.copyback = true;
    config.scheduling = SchedulingConfig {
        read_priority: true,
        preemptive_collection: true,
        paced_writes: false,
        turns: None,
        in_order_when_full: false,
        preemption_scope: PreemptionScope::Die,
        suspension: Some(SUSPENSION),
    };
    config.scrub = Some(ScrubConfig { after: SCRUB_AFTER });
    config.write_buffer = Some(WriteBufferConfig::new(BUFFER_BYTES / config.geometry.page_bytes));
    config.rain = Some(RainConfig::new(config.geometry.channels));
    config
}

/// Result of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct BenchResult {
    /// Page reads and programs of host, parity, collection and scrubbing.
    pub page_operations: u64,
    /// Pages read and written by the host.
    pub host_pages: u64,
    /// Write amplification during the measurement.
    pub write_amplification: f64,
    /// Totals of all drives.
    pub counters: Counters,
    /// Time on a real clock.
    pub wall: WallTime,
    /// Time that was simulated.
    pub simulated: Duration,
}

impl BenchResult {
    fn new(counters: Counters, wall: WallTime, simulated: Duration) -> Self {
        Self {
            page_operations: counters.page_operations(),
            host_pages: counters.host_reads_pages + counters.host_programs_pages,
            write_amplification: counters.write_amplification(),
            counters,
            wall,
            simulated,
        }
    }

    /// Page operations per second of real time, on one core.
    #[must_use]
    pub fn page_operations_per_second(&self) -> f64 {
        self.page_operations as f64 / self.wall.as_secs_f64()
    }

    /// Nanoseconds of real time per page operation.
    #[must_use]
    pub fn nanos_per_page_operation(&self) -> f64 {
        self.wall.as_secs_f64() * 1e9 / self.page_operations as f64
    }
}

/// Handling of collection copies on a single drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// Each copy is an event, as by default.
    OneByOne,
    /// Deferred, as under an array ([`Ssd::set_deferred_copies`]).
    Deferred,
}

/// One drive in steady state under `host_pages` single-page commands, 70 % reads and 30 % writes at
/// random addresses, with collection running.
///
/// # Errors
///
/// If the drive is impossible.
pub fn bench_drive(
    config: &Config,
    copies: Copies,
    host_pages: u64,
    seed: u64,
) -> Result<BenchResult, PlanError> {
    let name = config.name.clone();
    let mut drive = Ssd::new(config.clone()).map_err(|error| PlanError::Drive { name, error })?;
    drive.age(seed);
    drive.set_deferred_copies(copies == Copies::Deferred);
    let blocks = drive.logical_blocks();
    let mut rng = Rng::stream(seed, "bench");
    let mut command = |id| {
        let opcode = if rng.below(10) < 7 { Opcode::Read } else { Opcode::Write };
        let lba = Lba(rng.below(blocks));
        Command { id, opcode, lba, blocks: 1, pl: PlFlag::Off }
    };
    let mut now = Instant::ZERO;
    for id in 0..DRIVE_DEPTH {
        drive.handle_command(now, &command(CommandId(id)));
    }
    let mut left = host_pages;
    let started = WallClock::now();
    while left > 0 {
        now = drive.next_deadline();
        drive.handle_deadline(now);
        while let Some(completed) = drive.poll_completion() {
            left = left.saturating_sub(1);
            drive.handle_command(now, &command(completed.completion.id));
        }
    }
    let wall = started.elapsed();
    drive.catch_up(now);
    Ok(BenchResult::new(*drive.counters(), wall, now.since(Instant::ZERO)))
}

/// An array under single-page requests, 70 % reads and 30 % writes at random addresses, with
/// `iodepth` requests in flight.
///
/// # Errors
///
/// If the plan is impossible.
pub fn bench_array(
    plan: &Plan,
    requests: u64,
    iodepth: u32,
) -> Result<(BenchResult, RunResult), PlanError> {
    let plan = Plan { preparation: Preparation::Aged, ..plan.clone() };
    let drives = prepare_drives(&plan)?;
    let page_bytes = u64::from(plan.drive.geometry.page_bytes);
    let pages = plan.capacity_bytes()? / page_bytes;
    let mut rng = Rng::stream(plan.seed, "bench");
    let workload = (0..requests).map(|_| {
        let op = if rng.below(10) < 7 { Op::Read } else { Op::Write };
        let offset_bytes = rng.below(pages) * page_bytes;
        let request = Request {
            at: Instant::ZERO,
            op,
            offset_bytes,
            size_bytes: page_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        };
        Ok::<_, Infallible>(request)
    });
    let arrival = Arrival::Closed { iodepth: iodepth.into(), runtime: None };
    let started = WallClock::now();
    let result = match run(&plan, drives, arrival, workload, &RunProgress::default()) {
        Ok(result) => result,
        Err(crate::SimError::Plan(error)) => return Err(error),
        Err(error) => unreachable!("a generated workload fits its array: {error}"),
    };
    let bench = BenchResult::new(result.drive_totals(), started.elapsed(), result.simulated);
    Ok((bench, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_at_work() {
        let mut config = ssd::presets::preset("femu-artifact").unwrap();
        config.geometry.blocks_per_plane = 64;
        let plain = bench_drive(&config, Copies::OneByOne, 200_000, 1).unwrap().counters;
        assert!(plain.collections > 0 && plain.suspensions + plain.buffered_writes_pages == 0);
        let every = with_every_feature(&config);
        let every = bench_drive(&every, Copies::OneByOne, 50_000, 1).unwrap().counters;
        let counts = [
            every.collections,
            every.suspensions,
            every.buffered_writes_pages,
            every.parity_programs_pages,
            every.rebuilt_pages,
            every.scrubbed_pages,
        ];
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    }
}
