//! Cost of loading the inputs of a run: prepared drives and a trace file.

use crate::driver::run;
use crate::plan::{Plan, PlanError, Preparation};
use crate::prepare::prepare_drives;
use crate::progress::RunProgress;
use crate::result::RunResult;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration as WallTime, Instant as WallClock};
use workload::{
    ReadOptions, Source, Synthetic, Trace, TraceError, TraceSource, TraceWriter, Transform,
    WorkloadError, WriteFormat,
};

/// Requests per second of the trace: one drive serves them without a queue that grows.
const TRACE_RATE: &str = "10000";

/// Measures the time to prepare the drives of `plan`, aged, on all cores. They are dropped
/// afterwards.
///
/// # Errors
///
/// If the drive is impossible.
pub fn bench_preparation(plan: &Plan) -> Result<WallTime, PlanError> {
    let plan = Plan { preparation: Preparation::Aged, ..plan.clone() };
    let started = WallClock::now();
    let drives = prepare_drives(&plan)?;
    let elapsed = started.elapsed();
    drop(drives);
    Ok(elapsed)
}

/// Time of each step of replaying a trace file.
#[derive(Clone, Copy, Debug)]
pub struct TraceTime {
    /// Time to read and describe the file.
    pub parse: WallTime,
    /// Time to prepare the drives.
    pub prepare: WallTime,
    /// Time to replay the trace.
    pub replay: WallTime,
    /// Page operations of the replay.
    pub page_operations: u64,
}

/// Writes a trace of `requests` single-page requests to `path` as CSV, 70 % of them reads. Then
/// replays it on the drives of `plan`.
///
/// # Errors
///
/// If the plan is impossible, or the file cannot be written or read.
pub fn bench_trace(plan: &Plan, requests: u64, path: &Path) -> Result<TraceTime, WorkloadError> {
    let broken = |error: PlanError| WorkloadError::Write {
        name: path.display().to_string(),
        source: std::io::Error::other(error.to_string()),
    };
    let capacity = plan.capacity_bytes().map_err(broken)?;
    write_trace(capacity, plan.seed, requests, path)?;
    let started = WallClock::now();
    let trace = Trace::open(path, &ReadOptions::default())?;
    let parse = started.elapsed();
    let started = WallClock::now();
    let drives = prepare_drives(plan).map_err(broken)?;
    let prepare = started.elapsed();
    let started = WallClock::now();
    let source = TraceSource { trace, transform: Transform::default() };
    let workload = Source::from(source).open(capacity)?;
    let result: RunResult =
        match run(plan, drives, workload.arrival(), workload, &RunProgress::default()) {
            Ok(result) => result,
            Err(crate::SimError::Plan(error)) => return Err(broken(error)),
            Err(error) => unreachable!("a generated trace fits its array: {error}"),
        };
    let replay = started.elapsed();
    let page_operations = result.drive_totals().page_operations();
    Ok(TraceTime { parse, prepare, replay, page_operations })
}

fn write_trace(capacity: u64, seed: u64, requests: u64, path: &Path) -> Result<(), WorkloadError> {
    let mut synthetic = Synthetic { size: capacity / 2, randseed: seed, ..Synthetic::default() };
    let number = requests.to_string();
    for (option, value) in [
        ("rw", "randrw"),
        ("rwmixread", "70"),
        ("rate_iops", TRACE_RATE),
        ("number_ios", number.as_str()),
    ] {
        synthetic.set(option, value)?;
    }
    let failed = |source| TraceError::Read { name: path.display().to_string(), source };
    let file = std::fs::File::create(path).map_err(failed)?;
    let mut writer = TraceWriter::new(BufWriter::new(file), WriteFormat::Csv).map_err(failed)?;
    for request in synthetic.generator(capacity)? {
        writer.write(&request).map_err(failed)?;
    }
    writer.finish().and_then(|mut out| out.flush()).map_err(failed)?;
    Ok(())
}
