//! Latency by percentile.

use super::by_policy;
use crate::{Comparison, Latency, Run, format, hosts};

/// Read latency at every percentile, each beside its ratio to Ideal.
pub(super) fn reads(comparison: &Comparison, runs: &[Run]) -> String {
    let ideal = comparison.ideal();
    let mut rows: Vec<(String, Vec<String>)> = percentiles(runs, |run| &run.read)
        .into_iter()
        .map(|p| {
            let ideal_us = ideal.and_then(|run| run.read.at(p)).map(|entry| entry.value_us);
            let cells = runs.iter().map(|run| cell(&run.read, p, ideal_us)).collect();
            (format::percentile(p), cells)
        })
        .collect();
    let extreme = |value: fn(&Latency) -> f64| {
        let ideal_us = ideal.map(|run| value(&run.read));
        runs.iter().map(|run| beside_ratio(value(&run.read), false, ideal_us)).collect()
    };
    rows.push(("mean".to_owned(), extreme(|latency| latency.mean_us)));
    rows.push(("max".to_owned(), extreme(|latency| latency.max_us)));
    let title =
        if ideal.is_some() { "Read latency, and its ratio to Ideal" } else { "Read latency" };
    if runs.iter().all(|run| run.read.count == 0) {
        return String::new();
    }
    by_policy(title, runs, rows)
}

/// Write latency at the percentiles that are usually quoted.
pub(super) fn writes(runs: &[Run]) -> String {
    if runs.iter().all(|run| run.write.count == 0) {
        return String::new();
    }
    let rows = [50.0, 99.0, 99.9]
        .map(|p| {
            let cells = runs.iter().map(|run| cell(&run.write, p, None)).collect();
            (format::percentile(p), cells)
        })
        .to_vec();
    by_policy("Write latency", runs, rows)
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

fn cell(latency: &Latency, percentile: f64, ideal_us: Option<f64>) -> String {
    latency.at(percentile).map_or_else(
        || "-".to_owned(),
        |entry| beside_ratio(entry.value_us, entry.has_few_samples(), ideal_us),
    )
}

/// The latency, its mark, and its ratio in a column of its own.
fn beside_ratio(us: f64, few_samples: bool, ideal_us: Option<f64>) -> String {
    let mark = if few_samples { '~' } else { ' ' };
    let latency = format::latency(us);
    match ideal_us.filter(|&ideal| ideal > 0.0) {
        Some(ideal) => format!("{latency}{mark}{:>6}", format::ratio(us / ideal)),
        None => format!("{latency}{mark}"),
    }
}
