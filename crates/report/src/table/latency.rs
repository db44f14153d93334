//! Latency by percentile.

use super::by_policy;
use crate::{Comparison, Latency, Percentile, Run, format, hosts};

/// Read latency at every percentile, each beside its ratios to Ideal and to Floor.
pub(super) fn reads(comparison: &Comparison, runs: &[Run]) -> String {
    let yardsticks: Vec<&Run> = comparison.yardsticks().collect();
    let mut rows: Vec<(String, Vec<String>)> = percentiles(runs, |run| &run.read)
        .into_iter()
        .map(|p| row(p, runs, &yardsticks, |run| &run.read))
        .collect();
    let extreme = |value: fn(&Latency) -> f64| {
        let of: Vec<Option<f64>> = yardsticks.iter().map(|run| Some(value(&run.read))).collect();
        runs.iter().map(|run| beside_ratios(value(&run.read), false, &of)).collect()
    };
    rows.push(("mean".to_owned(), extreme(|latency| latency.mean_us)));
    rows.push(("max".to_owned(), extreme(|latency| latency.max_us)));
    rows.extend(slowest(runs, &yardsticks, |run| &run.read));
    if runs.iter().all(|run| run.read.count == 0) {
        return String::new();
    }
    by_policy(&title("Read latency", &yardsticks), runs, rows)
}

/// Write latency at the percentiles that are usually quoted, each beside its ratio to Floor.
pub(super) fn writes(comparison: &Comparison, runs: &[Run]) -> String {
    if runs.iter().all(|run| run.write.count == 0) {
        return String::new();
    }
    let yardsticks: Vec<&Run> = comparison.floor().into_iter().collect();
    let mut rows = [50.0, 99.0, 99.9].map(|p| row(p, runs, &yardsticks, |run| &run.write)).to_vec();
    rows.extend(slowest(runs, &yardsticks, |run| &run.write));
    by_policy(&title("Write latency", &yardsticks), runs, rows)
}

/// What a table of latencies shows, and what its ratios are to.
fn title(what: &str, yardsticks: &[&Run]) -> String {
    match Comparison::ratios_to(yardsticks) {
        None => what.to_owned(),
        Some(ratios) => format!("{what}, and its {ratios}"),
    }
}

/// A percentile of all runs that have it.
fn row(
    percentile: f64,
    runs: &[Run],
    yardsticks: &[&Run],
    latency: fn(&Run) -> &Latency,
) -> (String, Vec<String>) {
    let entry = |run| latency(run).at(percentile);
    (format::percentile(percentile), cells(runs, yardsticks, entry))
}

/// What requests take that need several arrays, if that was asked for.
fn slowest(
    runs: &[Run],
    yardsticks: &[&Run],
    latency: fn(&Run) -> &Latency,
) -> Vec<(String, Vec<String>)> {
    let Some(asked) = runs.iter().find_map(|run| latency(run).slowest.as_ref()) else {
        return Vec::new();
    };
    let row = |(place, asked_for): (usize, &Percentile)| {
        let entry = |run| latency(run).slowest.as_ref()?.percentiles.get(place);
        let percentile = format::percentile(asked_for.percentile);
        let name = format!("slowest of {}, {percentile}", asked.arrays);
        (name, cells(runs, yardsticks, entry))
    };
    asked.percentiles.iter().enumerate().map(row).collect()
}

/// What `entry` finds in each run, beside its ratios to the yardsticks.
fn cells<'a>(
    runs: &'a [Run],
    yardsticks: &[&'a Run],
    entry: impl Fn(&'a Run) -> Option<&'a Percentile>,
) -> Vec<String> {
    let of: Vec<Option<f64>> =
        yardsticks.iter().map(|&run| entry(run).map(|entry| entry.value_us)).collect();
    let cell = |run| {
        entry(run).map_or_else(
            || "-".to_owned(),
            |entry| beside_ratios(entry.value_us, entry.has_few_samples(), &of),
        )
    };
    runs.iter().map(cell).collect()
}

/// Latency host by host, if there were several.
pub(super) fn of_hosts(runs: &[Run]) -> String {
    match hosts::rows(runs) {
        rows if rows.is_empty() => String::new(),
        rows => by_policy("Latency by host", runs, rows),
    }
}

/// Every percentile that any of the runs has, ascending.
fn percentiles(runs: &[Run], latency: fn(&Run) -> &Latency) -> Vec<f64> {
    let mut all: Vec<f64> =
        runs.iter().flat_map(|run| &latency(run).percentiles).map(|p| p.percentile).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The latency, its mark, and its ratio to each yardstick in a column of its own.
fn beside_ratios(us: f64, few_samples: bool, yardsticks_us: &[Option<f64>]) -> String {
    let mark = if few_samples { '~' } else { ' ' };
    let mut text = format!("{}{mark}", format::latency(us));
    for of in yardsticks_us.iter().filter_map(|of| of.filter(|&of| of > 0.0)) {
        text.push_str(&format!("{:>6}", format::ratio(us / of)));
    }
    text
}
