//! `ioda bench timer`: how late answers on the real clock must be on this machine, whoever answers.

use crate::output;
use crate::progress;
use crate::talk::Talk;
use live::clock::{Spin, TimerFloor, WaitMethod};
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use study::Failure;
use study::Watch;
use study::table;
use units::Duration;

/// What is compared: the way of `ioda serve`, what its margin was chosen from, and both extremes.
const WAYS: [WaitMethod; 7] = [
    WaitMethod::Sleep,
    WaitMethod::Hybrid(Spin::Fixed(Duration::from_micros(20))),
    WaitMethod::Hybrid(Spin::Fixed(Duration::from_micros(40))),
    WaitMethod::Hybrid(Spin::Fixed(Duration::from_micros(60))),
    WaitMethod::Hybrid(Spin::Adaptive),
    WaitMethod::Hybrid(Spin::Never),
    WaitMethod::Spin,
];

/// Percentiles that are shown, and their names.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "p50"), (99.0, "p99"), (99.9, "p99.9")];

/// Measures every way for `seconds` and prints the table or the JSON document.
pub(super) fn run(seconds: u32, json: Option<&Path>, talk: Talk) -> Result<(), Failure> {
    talk.remark(&format!("measuring {} ways to wait, {seconds} s each", WAYS.len()));
    let each = Duration::from_secs(u64::from(seconds));
    let (done, total) = (AtomicU64::new(0), u64::from(seconds) * 1_000 * WAYS.len() as u64);
    // A bar that moves would disturb what is measured.
    let lines = talk.progress.still();
    let measure = || live::clock::measure(&WAYS, each, &done);
    let floors = progress::counting_all(lines, "measured:", "ms", Some(total), &done, measure)
        .map_err(|error| Failure::internal(format!("cannot wait on this machine: {error}")))?;
    output::show(json, || document(&floors), || show(&floors))
}

fn show(floors: &[TimerFloor]) -> String {
    let mut header = table::header(&["way to wait, us late", "moments"]);
    header.extend(PERCENTILES.map(|(_, name)| name.to_owned()));
    header.extend(table::header(&["max", "% of a core"]));
    let micros = |nanoseconds: u64| format!("{:.1}", nanoseconds as f64 / 1e3);
    let rows: Vec<Vec<String>> = floors
        .iter()
        .map(|floor| {
            let late = &floor.late_nanoseconds;
            let mut row = vec![words(floor), late.len().to_string()];
            row.extend(PERCENTILES.map(|(percent, _)| micros(late.value_at_percentile(percent))));
            row.extend([
                micros(floor.late_max_nanoseconds),
                format!("{:.0}", floor.processor_share * 100.0),
            ]);
            row
        })
        .collect();
    table::numbers(&header, &rows)
}

fn words(floor: &TimerFloor) -> String {
    let margin = floor.margin.as_micros_f64();
    match floor.method {
        WaitMethod::Sleep => "sleep".to_owned(),
        WaitMethod::Hybrid(Spin::Fixed(_)) => format!("sleep, spin for the last {margin:.0} us"),
        WaitMethod::Hybrid(Spin::Never) => String::from("block on a timer"),
        WaitMethod::Hybrid(Spin::Adaptive) => format!("sleep, spin as needed (now {margin:.0} us)"),
        WaitMethod::Spin => "spin".to_owned(),
    }
}

fn document(floors: &[TimerFloor]) -> Timers {
    let timer = |floor: &TimerFloor| {
        let late = &floor.late_nanoseconds;
        let percentile = |(percent, name): (f64, &str)| {
            (name.to_owned(), late.value_at_percentile(percent).min(floor.late_max_nanoseconds))
        };
        Timer {
            way: match floor.method {
                WaitMethod::Sleep => "sleep",
                WaitMethod::Hybrid(Spin::Fixed(_)) => "hybrid",
                WaitMethod::Hybrid(Spin::Adaptive) => "adaptive",
                WaitMethod::Hybrid(Spin::Never) => "block",
                WaitMethod::Spin => "spin",
            },
            margin_nanoseconds: match floor.method {
                WaitMethod::Hybrid(_) => Some(floor.margin.as_nanos()),
                WaitMethod::Sleep | WaitMethod::Spin => None,
            },
            moments: late.len(),
            late_nanoseconds: PERCENTILES.into_iter().map(percentile).collect(),
            late_max_nanoseconds: floor.late_max_nanoseconds,
            processor_share: floor.processor_share,
            measured_seconds: floor.measured.as_secs_f64(),
        }
    };
    Timers { timers: floors.iter().map(timer).collect() }
}

/// How late ways to wait are on this machine, as `ioda bench timer --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Timers {
    /// One entry for each way to wait.
    timers: Vec<Timer>,
}

impl Document for Timers {
    const SCHEMA: &'static str = "ioda.bench-timer/1";
}

/// How late a way to wait is.
#[derive(Serialize, JsonSchema)]
struct Timer {
    /// `sleep`, `spin`, `hybrid` (sleeps, then spins for a fixed time) or `adaptive` (for as long
    /// as is needed).
    way: &'static str,
    /// The time that it spins before a moment, in nanoseconds; null where it does not do both.
    margin_nanoseconds: Option<u64>,
    /// Moments that were waited for.
    moments: u64,
    /// How late it was, in nanoseconds: `p50`, `p99` and `p99.9`.
    late_nanoseconds: BTreeMap<String, u64>,
    /// How late it was at most, in nanoseconds.
    late_max_nanoseconds: u64,
    /// Share of a processor core that it took, from 0 to 1.
    processor_share: f64,
    /// For how long it was measured, in seconds.
    measured_seconds: f64,
}
