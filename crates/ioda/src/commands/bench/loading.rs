//! `ioda bench loading`: what a request costs while others wait, and what a run loads before it
//! begins.

use crate::output;
use array::Level;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use sim::{Plan, TraceTime};
use std::path::Path;
use std::time::Duration as WallTime;
use study::Failure;
use study::table;

/// Stripes that all requests go to where they are to wait for each other.
const SAME_STRIPES: u64 = 8;
/// A cost beyond this, in nanoseconds, has exploded: it is not measured again.
const EXPLODED: f64 = 20_000.0;
/// The chunk of a single drive.
const CHUNK_OF_ONE: u64 = 1 << 20;

/// What is measured, in the size that was asked for.
struct Size {
    waiting: &'static [u64],
    requests: u64,
    rounds: u32,
    drives: u32,
    trace_requests: u64,
}

const FULL: Size = Size {
    waiting: &[10, 100, 1_000, 10_000, 100_000],
    requests: 200_000,
    rounds: 3,
    drives: 64,
    trace_requests: 700_000,
};
const QUICK: Size = Size {
    waiting: &[10, 100, 1_000],
    requests: 20_000,
    rounds: 3,
    drives: 8,
    trace_requests: 20_000,
};

/// A number of waiting writes and what one costs, in nanoseconds, on the same stripes and on all.
type Waiting = (u64, f64, f64);

/// Measures with drives like those of `standard`.
pub(super) fn run(standard: &Plan, quick: bool, json: Option<&Path>) -> Result<(), Failure> {
    let size = if quick { QUICK } else { FULL };
    let mut waiting = Vec::new();
    for &number in size.waiting {
        let same = cost(standard, number, Some(SAME_STRIPES), &size)?;
        waiting.push((number, same, cost(standard, number, None, &size)?));
    }
    let many = Plan { width: size.drives, ..standard.clone() };
    let preparation = sim::bench_preparation(&many)?;
    let (level, width, chunk_bytes) = (Level::Raid0, 1, CHUNK_OF_ONE);
    let alone = Plan { level, width, chunk_bytes, ..standard.clone() };
    let path = std::env::temp_dir().join(format!("ioda-bench-{}.csv", std::process::id()));
    let trace = sim::bench_trace(&alone, size.trace_requests, &path);
    std::fs::remove_file(&path).ok();
    let trace = trace?;
    output::show(
        json,
        || document(&size, &waiting, preparation, &trace),
        || show(&size, &waiting, preparation, &trace),
    )
}

/// The best of all rounds.
fn cost(plan: &Plan, waiting: u64, stripes: Option<u64>, size: &Size) -> Result<f64, Failure> {
    let mut best = f64::INFINITY;
    for _ in 0..size.rounds {
        let nanos = sim::bench_waiting(plan, waiting, stripes, size.requests)?;
        best = best.min(nanos);
        if nanos > EXPLODED {
            break;
        }
    }
    Ok(best)
}

/// Nanoseconds for each request of the trace.
fn each(time: WallTime, size: &Size) -> f64 {
    time.as_secs_f64() * 1e9 / size.trace_requests as f64
}

fn show(size: &Size, waiting: &[Waiting], preparation: WallTime, trace: &TraceTime) -> String {
    let header = table::header(&[
        "writes under way",
        "ns each, same stripes",
        "relative",
        "ns each, spread",
        "relative",
    ]);
    let first = waiting.first().copied().unwrap_or((0, 1.0, 1.0));
    let rows: Vec<Vec<String>> = waiting
        .iter()
        .map(|&(number, same, spread)| {
            vec![
                number.to_string(),
                format!("{same:.0}"),
                format!("{:.2}", same / first.1),
                format!("{spread:.0}"),
                format!("{:.2}", spread / first.2),
            ]
        })
        .collect();
    format!(
        "{}\n{} drives aged in {:.2} s, {:.1} ms each\n\ntrace file of {} requests on one drive: {:.0} ns \
         per request to parse, {:.0} to prepare the drive, {:.0} to replay\n",
        table::numbers_between(&header, &rows, 0, 0),
        size.drives,
        preparation.as_secs_f64(),
        preparation.as_secs_f64() * 1e3 / f64::from(size.drives),
        size.trace_requests,
        each(trace.parse, size),
        each(trace.prepare, size),
        each(trace.replay, size),
    )
}

fn document(size: &Size, waiting: &[Waiting], preparation: WallTime, trace: &TraceTime) -> Loading {
    let waiting = waiting.iter().map(|&(waiting, nanos_same_stripes, nanos_spread)| WaitingCost {
        waiting,
        nanos_same_stripes,
        nanos_spread,
    });
    Loading {
        waiting: waiting.collect(),
        preparation: PreparationCost { drives: size.drives, seconds: preparation.as_secs_f64() },
        trace: TraceCost {
            requests: size.trace_requests,
            parse_nanos_per_request: each(trace.parse, size),
            prepare_nanos_per_request: each(trace.prepare, size),
            replay_nanos_per_request: each(trace.replay, size),
            page_operations: trace.page_operations,
        },
    }
}

/// What requests cost that wait, and what is done before a run, as `ioda bench loading --json`
/// writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Loading {
    /// Writes while so many are under way.
    waiting: Vec<WaitingCost>,
    /// Drives that are brought into steady state.
    preparation: PreparationCost,
    /// A trace file.
    trace: TraceCost,
}

impl Document for Loading {
    const SCHEMA: &'static str = "ioda.bench-loading/1";
}

/// What a write costs while others wait.
#[derive(Serialize, JsonSchema)]
struct WaitingCost {
    /// Writes under way.
    waiting: u64,
    /// Nanoseconds for each write if all go to the same few stripes.
    nanos_same_stripes: f64,
    /// Nanoseconds for each write if they go to all stripes.
    nanos_spread: f64,
}

/// What it costs to prepare drives.
#[derive(Serialize, JsonSchema)]
struct PreparationCost {
    /// Number of drives.
    drives: u32,
    /// Time for all of them, in seconds.
    seconds: f64,
}

/// What a trace file costs on one drive.
#[derive(Serialize, JsonSchema)]
struct TraceCost {
    /// Requests in the file.
    requests: u64,
    /// Nanoseconds to read it, for each request.
    parse_nanos_per_request: f64,
    /// Nanoseconds to prepare the drive, for each request.
    prepare_nanos_per_request: f64,
    /// Nanoseconds to replay it, for each request.
    replay_nanos_per_request: f64,
    /// Pages read and programmed, collections included.
    page_operations: u64,
}
