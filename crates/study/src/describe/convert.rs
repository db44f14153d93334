//! From the results of the simulator to the document of a report.

use crate::describe;
use crate::describe::evidence;
use crate::failure::Failure;
use crate::metric::{Direction, Metric, Statistic};
use crate::setup::Setup;
use crate::setup::firmware;
use crate::simulate::Outcome;
use array::policy::QosClass;
use array::{Contract, StallTrigger};
use nvme::Cause;
use report::{
    Band, BlockedReads, BufferCounters, CauseSplit, Comparison, Degraded, DegradedContract,
    DriveSummary, HedgeCounters, HostLatency, Latency, LearntMedian, LearntStalls, LearntTrigger,
    Manifest, Percentile, ProgrammedWindow, RainCounters, Rebuild, Run, Slowest, Tally, Timeline,
    TimelinePoint, WriteCacheCounters,
};
use sim::{Interval, LatencySummary, NoInterval, PERCENTILES, RunResult};
use units::{Duration, Instant, MIB};

/// An interval as documents have it: its ends, or why there is none.
pub fn interval(interval: Result<Interval, NoInterval>) -> (Option<(f64, f64)>, String) {
    match interval {
        Ok(Interval { low, high }) => (Some((low, high)), String::new()),
        Err(why) => (None, why.to_string()),
    }
}

/// Percentiles whose latency is split by cause.
const SPLIT_PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// Percentiles of the slowest of several requests.
const SLOWEST_PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// The document of a comparison.
pub fn comparison(setup: &Setup, outcome: &Outcome, title: String) -> Result<Comparison, Failure> {
    let drive = &setup.plan().drive;
    let marked = |result: &RunResult| {
        let run = run(result);
        Run { label: firmware::marked(&run.label, result.policy, [drive]), ..run }
    };
    let runs = outcome.results.iter().map(marked).collect();
    Ok(Comparison { title, manifest: manifest(setup, outcome)?, runs, ..Comparison::default() })
}

/// What is needed to run `setup` again.
pub fn manifest(setup: &Setup, outcome: &Outcome) -> Result<Manifest, Failure> {
    let plan = setup.plan();
    let mut notes = setup.notes.clone();
    let verified: u64 = outcome.results.iter().map(|result| result.verified_pages).sum();
    if verified > 0 {
        notes.push(format!("verified: {verified} pages read, all as they were written"));
    }
    for result in outcome.results.iter().filter(|result| !result.tallies.is_empty()) {
        let tallies = result.tallies.iter();
        let tallies = tallies.map(|tally| format!("{} {}", tally.count, tally.name));
        let tallies: Vec<String> = tallies.collect();
        notes.push(format!("{} counted: {}", result.policy.label(), tallies.join(", ")));
    }
    for result in &outcome.results {
        for &(drive, time) in &result.distrusted {
            notes.push(format!(
                "under {} drive {} was not read for {time}: it answered too late",
                result.policy.label(),
                drive.0
            ));
        }
    }
    notes.extend(outcome.results.iter().filter_map(stalls_note));
    notes.extend(firmware::note(setup.plans.iter().map(|plan| (plan.policy, &plan.drive))));
    notes.extend(outcome.wrapped.clone());
    notes.extend(evidence::notes(&outcome.results));
    Ok(Manifest {
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        seed: plan.seed.to_string(),
        workload: outcome.workload.clone(),
        workload_hash: outcome.workload_hash.clone(),
        replayed: outcome.replayed.clone(),
        drive: describe::drive(plan),
        array: describe::array(&setup.plans)?,
        configuration_toml: setup.settings.to_toml(),
        notes,
    })
}

/// What a policy has learnt of its drives' stalls, in one sentence.
fn stalls_note(result: &RunResult) -> Option<String> {
    let of_drive = |(drive, stalls): (usize, &array::Stalls)| {
        let (length, period) = (stalls.length_nanos?, stalls.period_nanos?);
        let time = |estimate: array::Estimate| {
            let [low, median, high] =
                [estimate.low, estimate.median, estimate.high].map(Duration::from_nanos);
            format!("{median} ({low} to {high})")
        };
        let trigger = match stalls.trigger {
            StallTrigger::Unknown => "",
            StallTrigger::Time => ", by time",
            StallTrigger::Written => ", by what was written",
        };
        Some(format!("drive {drive} for {} every {}{trigger}", time(length), time(period)))
    };
    let drives = result.stalls.iter().enumerate().filter_map(of_drive).collect::<Vec<_>>();
    let label = result.policy.label();
    (!drives.is_empty()).then(|| format!("{label} learnt stalls: {}", drives.join("; ")))
}

/// The document of one run.
pub fn run(result: &RunResult) -> Run {
    let totals = result.drive_totals();
    let seconds = result.simulated.as_secs_f64();
    let per_second = |value: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
    let array = &result.array;
    Run {
        policy: result.policy.name().to_owned(),
        label: result.policy.label().to_owned(),
        result_hash: result_hash(result),
        layout: String::new(),
        capacity_bytes: result.capacity_bytes,
        simulated_seconds: seconds,
        wall_seconds: result.wall.as_secs_f64(),
        page_operations: totals.page_operations(),
        read: latency(&result.read),
        write: latency(&result.write),
        ratios: Vec::new(),
        hosts: (0..).zip(&result.hosts).map(|(index, host)| host_latency(index, host)).collect(),
        held_back: array.held_back,
        iops_read: per_second(result.read.count() as f64),
        iops_write: per_second(result.write.count() as f64),
        mib_per_second_read: per_second(result.read_bytes as f64 / MIB as f64),
        mib_per_second_write: per_second(result.written_bytes as f64 / MIB as f64),
        causes: SPLIT_PERCENTILES.into_iter().filter_map(|p| cause_split(result, p)).collect(),
        busy_sub_ios_per_stripe_read: result.busy_members.clone(),
        collecting_sub_ios_per_stripe_read: result.collecting_members.clone(),
        met_sub_ios_per_stripe_read: array.busy_sub_ios.clone(),
        blocked_reads: BlockedReads {
            by_collection: result.blocked_reads.by_collection,
            by_queue: result.blocked_reads.by_queue,
        },
        stripe_reads: array.stripe_reads,
        extra_reads: array.reconstruct_read_pages,
        device_reads: array.drive_read_pages,
        device_writes: array.drive_written_pages,
        suspensions: totals.suspensions,
        scrubbed_pages: totals.scrubbed_pages,
        slc_pages: totals.slc_programs_pages,
        folded_pages: totals.folded_pages,
        rebuilds: array.reconstructions,
        fail_fasts: array.fail_fasts,
        resubmitted: array.resubmitted,
        hedges: hedges(array),
        tallies: result.tallies.iter().map(tally).collect(),
        contract_violations: totals.contract_violations,
        collections: totals.collections,
        host_write_stalls: totals.stalled_writes_pages,
        write_amplification_device: totals.write_amplification(),
        write_amplification_array: array.write_amplification() * totals.write_amplification(),
        erases: totals.erases,
        host_programs_pages: totals.host_programs_pages,
        collection_programs_pages: totals.collection_programs_pages,
        timeline: timeline(result),
        drives: (0..)
            .zip(&result.drives)
            .map(|(drive, of_drive)| DriveSummary {
                stalls: result.stalls.get(drive as usize).map(learnt),
                ..drive_summary(drive, of_drive)
            })
            .collect(),
        windows: result.windows.iter().map(programmed_window).collect(),
        p99_over_time: result.timeline.p99.iter().map(p99_interval).collect(),
        free_over_time: result.timeline.free.iter().map(free_blocks).collect(),
        permits: result.permits,
        degraded: result.degraded.as_ref().map(degraded),
        buffer: buffer(result, &totals),
        stage: result.write_cache.as_ref().map(write_cache),
        rain: rain(&totals),
    }
}

/// The same, with where percentiles lie if the run kept blocks.
pub fn run_with_intervals(result: &RunResult) -> Run {
    let mut run = run(result);
    for (direction, latency) in
        [(Direction::Read, &mut run.read), (Direction::Write, &mut run.write)]
    {
        for entry in &mut latency.percentiles {
            let metric = Metric::Latency(direction, Statistic::Percentile(entry.percentile));
            let interval = metric.interval(result);
            entry.interval_us = interval.map(|(low, high)| (low / 1e3, high / 1e3));
        }
    }
    run
}

fn programmed_window(&(at, length): &(Instant, Duration)) -> ProgrammedWindow {
    let at_s = at.since(Instant::ZERO).as_secs_f64();
    ProgrammedWindow { at_s, length_ms: length.as_millis_f64() }
}

/// An interval by its start in seconds, and the p99 of its reads in microseconds.
fn p99_interval(&(end, p99): &(Instant, Duration)) -> (f64, f64) {
    let start = end.since(Instant::ZERO + sim::P99_INTERVAL);
    (start.as_secs_f64(), p99.as_micros_f64())
}

/// A time in seconds, and the share of its blocks that each drive had free then.
fn free_blocks((at, shares): &(Instant, Vec<f64>)) -> (f64, Vec<f64>) {
    (at.since(Instant::ZERO).as_secs_f64(), shares.clone())
}

/// Hedged reads; none if nothing was ever late.
fn hedges(array: &array::Counters) -> Option<HedgeCounters> {
    (array.hedges + array.hedges_denied > 0).then_some(HedgeCounters {
        hedged: array.hedges,
        won: array.hedges_won,
        denied: array.hedges_denied,
    })
}

fn tally(tally: &array::policy::Tally) -> Tally {
    Tally { name: tally.name.clone().into_owned(), count: tally.count }
}

/// What became of an array whose drives failed.
fn degraded(degraded: &sim::Degraded) -> Degraded {
    let (contract, busy_drives) = match degraded.contract {
        Contract::None => (DegradedContract::NoWindows, 0),
        Contract::Whole { busy_drives } => (DegradedContract::Whole, busy_drives),
        Contract::Reduced { busy_drives } => (DegradedContract::Reduced, busy_drives),
        Contract::Suspended { busy_drives } => (DegradedContract::Suspended, busy_drives),
    };
    let rebuilds = degraded.rebuilds.iter().map(|rebuild| Rebuild {
        drive: rebuild.drive.0.into(),
        began_s: rebuild.began.since(Instant::ZERO).as_secs_f64(),
        ended_s: rebuild.ended.map(|ended| ended.since(Instant::ZERO).as_secs_f64()),
        done_share: rebuild.done_share(),
        mib_per_second: rebuild.bytes_per_second() / MIB as f64,
    });
    Degraded { contract, busy_drives, rebuilds: rebuilds.collect() }
}

/// The counters of write buffers; none if nothing went through one.
fn buffer(result: &RunResult, totals: &ssd::Counters) -> Option<BufferCounters> {
    (totals.buffered_writes_pages > 0).then_some(BufferCounters {
        buffered_writes_pages: totals.buffered_writes_pages,
        coalesced_writes_pages: totals.coalesced_writes_pages,
        buffer_reads_pages: totals.buffer_reads_pages,
        forced_flushes_pages: totals.forced_flushes_pages,
        peak_bytes: result.buffer_peak_bytes(),
        capacity_bytes: result.drives.first().map_or(0, |drive| drive.buffer_bytes),
    })
}

/// The latency of one host, named after the class that it has under PLM-light.
fn host_latency(index: u8, host: &sim::HostLatency) -> HostLatency {
    let class = QosClass::of_host(index).name();
    HostLatency {
        host: format!("host {} ({class})", u32::from(index) + 1),
        read: latency(&host.read),
        write: latency(&host.write),
    }
}

/// The counters of the host's fast memory.
fn write_cache(counters: &array::WriteCacheCounters) -> WriteCacheCounters {
    WriteCacheCounters {
        host_buffer_peak_bytes: counters.peak_bytes,
        staged_pages: counters.cached_pages,
        replaced_pages: counters.replaced_pages,
        drained_pages: counters.drained_pages,
        read_pages: counters.read_pages,
        bypassed_pages: counters.bypassed_pages,
        waits: counters.waits,
    }
}

/// The counters of parity within drives; none if none was programmed.
fn rain(totals: &ssd::Counters) -> Option<RainCounters> {
    (totals.parity_programs_pages > 0).then_some(RainCounters {
        parity_programs_pages: totals.parity_programs_pages,
        parity_reads_pages: totals.parity_reads_pages,
        rebuilt_pages: totals.rebuilt_pages,
        rebuild_reads_pages: totals.rebuild_reads_pages,
        rotation_breaches: totals.rotation_breaches,
        moved_stripes: totals.moved_stripes,
    })
}

/// The hash of a run as documents have it.
pub fn result_hash(result: &RunResult) -> String {
    format!("{:016x}", result.hash)
}

/// A latency as documents have it.
pub fn latency(summary: &LatencySummary) -> Latency {
    Latency {
        count: summary.count(),
        mean_us: summary.mean().as_micros_f64(),
        min_us: summary.min().as_micros_f64(),
        max_us: summary.max().as_micros_f64(),
        percentiles: match summary.count() {
            0 => Vec::new(),
            _ => PERCENTILES.into_iter().map(|p| percentile(summary, p)).collect(),
        },
        slowest: None,
        cdf: summary.cdf().into_iter().map(|(share, us)| (share, us.as_micros_f64())).collect(),
    }
}

fn percentile(summary: &LatencySummary, percentile: f64) -> Percentile {
    percentile_of_slowest(summary, 1, percentile)
}

/// A percentile of the slowest of so many requests.
fn percentile_of_slowest(summary: &LatencySummary, parts: u32, percentile: f64) -> Percentile {
    Percentile {
        percentile,
        value_us: summary.slowest_of(parts, percentile).as_micros_f64(),
        samples_beyond: summary.samples_beyond(sim::percentile_of_each(parts, percentile)),
        interval_us: None,
    }
}

/// Adds to the runs of `comparison`, which are those of `results`, what requests take that need so
/// many arrays.
pub fn add_slowest(comparison: &mut Comparison, results: &[RunResult], arrays: u32) {
    let slowest = |summary: &LatencySummary| {
        let percentile = |of| percentile_of_slowest(summary, arrays, of);
        let percentiles = SLOWEST_PERCENTILES.map(percentile).to_vec();
        (summary.count() > 0).then_some(Slowest { arrays, percentiles })
    };
    for (run, result) in comparison.runs.iter_mut().zip(results) {
        run.read.slowest = slowest(&result.read);
        run.write.slowest = slowest(&result.write);
    }
}

fn cause_split(result: &RunResult, percentile: f64) -> Option<CauseSplit> {
    let split = result.causes.at(result.read.percentile(percentile))?;
    let parts = Cause::ALL.iter().zip(split.parts);
    Some(CauseSplit {
        percentile,
        latency_us: split.latency.as_micros_f64(),
        parts_us: parts
            .map(|(cause, part)| (cause.label().to_owned(), part.as_micros_f64()))
            .collect(),
    })
}

fn drive_summary(drive: u32, result: &sim::DriveResult) -> DriveSummary {
    let counters = &result.counters;
    DriveSummary {
        drive,
        write_amplification: counters.write_amplification(),
        erases: counters.erases,
        collections: counters.collections,
        contract_violations: counters.contract_violations,
        first_violation: result.violations.first().map(|first| report::violation::Violation {
            seconds: first.at.as_nanos() as f64 / 1e9,
            cause: describe::violation_cause(first.cause),
            free_share: first.free_share(),
        }),
        free_share: result.free_share,
        stalls: None,
    }
}

fn learnt(stalls: &array::Stalls) -> LearntStalls {
    let median = |estimate: Option<array::Estimate>, unit: f64| {
        estimate.map(|array::Estimate { low, median, high }| LearntMedian {
            low: low as f64 / unit,
            median: median as f64 / unit,
            high: high as f64 / unit,
        })
    };
    LearntStalls {
        count: stalls.count,
        length_ms: median(stalls.length_nanos, 1e6),
        period_ms: median(stalls.period_nanos, 1e6),
        written_pages: median(stalls.written_blocks, 1.0),
        trigger: match stalls.trigger {
            StallTrigger::Unknown => LearntTrigger::Unknown,
            StallTrigger::Time => LearntTrigger::Time,
            StallTrigger::Written => LearntTrigger::Written,
        },
    }
}

fn millis(instant: Instant) -> f64 {
    instant.since(Instant::ZERO).as_millis_f64()
}

fn timeline(result: &RunResult) -> Option<Timeline> {
    let timeline = &result.timeline;
    let slice = timeline.slice?;
    let (start, end) = (slice.start, slice.start + slice.length);
    let before = |instant: Instant, length: Duration| {
        Instant::from_nanos(instant.as_nanos().saturating_sub(length.as_nanos()))
    };
    let points = timeline.points.iter().map(|point| TimelinePoint {
        t_ms: millis(before(point.completed, point.latency)),
        latency_us: point.latency.as_micros_f64(),
        dominant_cause: point.dominant_cause.label().to_owned(),
    });
    let band = |band: &sim::Band| Band {
        drive: band.drive as u32,
        start_ms: millis(band.start.max(start)),
        end_ms: millis(band.end.min(end)),
    };
    let bins = timeline.p99.iter().filter_map(|&(bin_end, p99)| {
        let bin_start = before(bin_end, sim::P99_INTERVAL);
        (bin_end > start && bin_start < end).then(|| (millis(bin_start), p99.as_micros_f64()))
    });
    let mut timeline = Timeline {
        start_ms: millis(start),
        end_ms: millis(end),
        points: points.collect(),
        windows: timeline.windows.iter().map(band).collect(),
        collections: timeline.collections.iter().map(band).collect(),
        p99_per_bin: bins.collect(),
    };
    // Points are kept by completion, and plotted by arrival.
    timeline.points.sort_by(|a, b| a.t_ms.total_cmp(&b.t_ms));
    Some(timeline)
}
