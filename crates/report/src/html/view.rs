//! What the plots need of the document, packed in columns.

use serde::Serialize;

use super::numbers::{
    four_digits, joined_bands, microseconds, thin_cdf, thin_points, thin_steps, worst_steps,
};
use crate::document::percent;
use crate::{Comparison, Run, Timeline, causes};

/// Reads drawn per policy on the timeline.
const MOST_POINTS: usize = 3_000;
/// Stretches of time into which windows over a whole run are divided; a plot has fewer pixels.
const STRETCHES: usize = 1_200;
/// The same for p99 and free blocks, which go up and down more than can be told apart.
const P99_STRETCHES: usize = 300;
/// Bands that lie closer than this share of the timeline cannot be told apart in a plot.
const BAND_GAP: f64 = 1.0 / 4_000.0;

/// All of it.
#[derive(Serialize)]
pub(super) struct View {
    runs: Vec<RunView>,
    /// Index of the run of Ideal.
    ideal: Option<usize>,
    /// Every cause that occurs, in the order of the document.
    causes: Vec<String>,
    /// The same in words that go after "mostly".
    phrases: Vec<String>,
}

#[derive(Serialize)]
struct RunView {
    name: String,
    policy: String,
    count: u64,
    cdf: Columns,
    percentiles: Vec<PercentileView>,
    causes: Vec<SplitView>,
    /// Stripe reads in percent by the number of busy members.
    busy: Vec<f64>,
    /// Stripe reads in percent by the number of members that failed fast.
    failed: Vec<f64>,
    waf_drives: f64,
    waf_array: f64,
    extra_reads_percent: f64,
    timeline: Option<TimelineView>,
    /// Only if the busy window changed or free blocks were recorded.
    history: Option<HistoryView>,
}

/// Lines over the whole run, in seconds of simulated time.
#[derive(Serialize)]
struct HistoryView {
    end: f64,
    /// The busy window in milliseconds; empty if it never changed.
    window: Columns,
    /// The p99 of reads in microseconds.
    p99: Columns,
    /// Free blocks in per cent, of the drive that has fewest.
    free: Columns,
}

/// Two columns of the same length.
#[derive(Serialize)]
struct Columns {
    x: Vec<f64>,
    y: Vec<f64>,
}

#[derive(Serialize)]
struct PercentileView {
    p: f64,
    us: f64,
    few: bool,
}

#[derive(Serialize)]
struct SplitView {
    p: f64,
    us: f64,
    /// Shares of the latency in the order of [`View::causes`].
    shares: Vec<f64>,
}

#[derive(Serialize)]
struct TimelineView {
    start: f64,
    end: f64,
    /// Number of points in the document, of which some may have been left out.
    recorded: usize,
    t: Vec<f64>,
    us: Vec<f64>,
    /// Index into [`View::causes`].
    cause: Vec<usize>,
    windows: Vec<(u32, f64, f64)>,
    collections: Vec<(u32, f64, f64)>,
    p99: Columns,
}

/// The view of a document.
pub(super) fn of(comparison: &Comparison) -> View {
    let causes = names(comparison);
    View {
        runs: comparison.runs.iter().map(|run| run_view(run, &causes)).collect(),
        ideal: comparison.runs.iter().position(|run| run.policy.eq_ignore_ascii_case("ideal")),
        phrases: causes.iter().map(|cause| causes::phrase(cause).to_owned()).collect(),
        causes,
    }
}

/// Every cause that occurs.
fn names(comparison: &Comparison) -> Vec<String> {
    let splits = comparison.runs.iter().flat_map(|run| &run.causes);
    let in_splits = splits.flat_map(|split| split.parts_us.iter().map(|(cause, _)| cause));
    let timelines = comparison.runs.iter().filter_map(|run| run.timeline.as_ref());
    let in_points = timelines.flat_map(|timeline| &timeline.points).map(|p| &p.dominant_cause);
    let mut causes: Vec<String> = Vec::new();
    for cause in in_splits.chain(in_points) {
        if !causes.contains(cause) {
            causes.push(cause.clone());
        }
    }
    causes
}

fn run_view(run: &Run, causes: &[String]) -> RunView {
    let (x, y) = thin_cdf(&run.read.cdf, run.read.count).into_iter().unzip();
    RunView {
        name: run.name().to_owned(),
        policy: run.policy.clone(),
        count: run.read.count,
        cdf: Columns { x, y },
        percentiles: run
            .read
            .percentiles
            .iter()
            .map(|p| PercentileView {
                p: p.percentile,
                us: four_digits(p.value_us),
                few: p.has_few_samples(),
            })
            .collect(),
        causes: run.causes.iter().map(|split| split_view(split, causes)).collect(),
        busy: shares(&run.busy_sub_ios_per_stripe_read),
        failed: shares(&run.met_sub_ios_per_stripe_read),
        waf_drives: four_digits(run.write_amplification_device),
        waf_array: four_digits(run.write_amplification_array),
        extra_reads_percent: four_digits(run.extra_reads_percent()),
        timeline: run.timeline.as_ref().map(|timeline| timeline_view(timeline, causes)),
        history: (run.window_changes() > 0 || !run.free_over_time.is_empty())
            .then(|| history_view(run)),
    }
}

fn history_view(run: &Run) -> HistoryView {
    let end = run.simulated_seconds;
    let columns = |steps: Vec<(f64, f64)>| {
        let (x, y) = steps.into_iter().map(|(t, y)| (microseconds(t), four_digits(y))).unzip();
        Columns { x, y }
    };
    let windows: Vec<(f64, f64)> = match run.window_changes() {
        0 => Vec::new(),
        _ => run.windows.iter().map(|window| (window.at_s, window.length_ms)).collect(),
    };
    let fewest = |shares: &[f64]| 100.0 * shares.iter().copied().fold(1.0, f64::min);
    let free: Vec<(f64, f64)> =
        run.free_over_time.iter().map(|(at, shares)| (*at, fewest(shares))).collect();
    HistoryView {
        end: microseconds(end),
        window: columns(thin_steps(&windows, end, STRETCHES)),
        p99: columns(worst_steps(&run.p99_over_time, end, P99_STRETCHES)),
        free: columns(thin_steps(&free, end, P99_STRETCHES)),
    }
}

fn split_view(split: &crate::CauseSplit, causes: &[String]) -> SplitView {
    let mut shares = vec![0.0; causes.len()];
    for (cause, us) in &split.parts_us {
        if let Some(i) = index_of(causes, cause)
            && split.latency_us > 0.0
        {
            shares[i] += us / split.latency_us;
        }
    }
    let shares = shares.into_iter().map(four_digits).collect();
    SplitView { p: split.percentile, us: four_digits(split.latency_us), shares }
}

fn shares(counts: &[u64]) -> Vec<f64> {
    let all = counts.iter().sum();
    counts.iter().map(|&n| four_digits(percent(n, all))).collect()
}

fn timeline_view(timeline: &Timeline, causes: &[String]) -> TimelineView {
    let points = thin_points(&timeline.points, MOST_POINTS);
    let gap_ms = (timeline.end_ms - timeline.start_ms).max(0.0) * BAND_GAP;
    TimelineView {
        start: microseconds(timeline.start_ms),
        end: microseconds(timeline.end_ms),
        recorded: timeline.points.len(),
        t: points.iter().map(|p| microseconds(p.t_ms)).collect(),
        us: points.iter().map(|p| four_digits(p.latency_us)).collect(),
        cause: points.iter().filter_map(|p| index_of(causes, &p.dominant_cause)).collect(),
        // Consecutive windows of one drive are drawn apart: each is a window of its own.
        windows: timeline
            .windows
            .iter()
            .map(|w| (w.drive, microseconds(w.start_ms), microseconds(w.end_ms)))
            .collect(),
        collections: joined_bands(&timeline.collections, gap_ms),
        p99: Columns {
            x: timeline.p99_per_bin.iter().map(|bin| microseconds(bin.0)).collect(),
            y: timeline.p99_per_bin.iter().map(|bin| four_digits(bin.1)).collect(),
        },
    }
}

fn index_of(causes: &[String], cause: &str) -> Option<usize> {
    causes.iter().position(|known| known == cause)
}
