//! What a policy costs, in the order in which tables and pages show it.

use crate::degraded;
use crate::document::{BufferCounters, HedgeCounters, RainCounters, Run, WriteCacheCounters};
use crate::format;

/// Writes one number of a run.
pub(crate) type Cell = fn(&Run) -> String;

/// Whether a run has any of something.
type Occurs = fn(&Run) -> bool;

/// Throughput and extra work: what it is called, and its number.
const COSTS: [(&str, Cell); 12] = [
    ("reads/s", |run| format::count(run.iops_read.round() as u64)),
    ("writes/s", |run| format::count(run.iops_write.round() as u64)),
    ("MiB/s read", |run| format::three_digits(run.mib_per_second_read)),
    ("MiB/s written", |run| format::three_digits(run.mib_per_second_write)),
    ("blocked reads", |run| format::percent(run.blocked_percent())),
    ("extra reads", |run| format::percent(run.extra_reads_percent())),
    ("rebuilds", |run| format::count(run.rebuilds)),
    ("fail-fasts", |run| format::count(run.fail_fasts)),
    ("sent again to wait", |run| format::count(run.resubmitted)),
    ("WAF, drives", |run| of_drives(run, run.write_amplification_device)),
    ("WAF, array", |run| of_drives(run, run.write_amplification_array)),
    ("write stalls", |run| format::count(run.host_write_stalls)),
];

/// A number that is known where the drives are.
fn of_drives(run: &Run, number: f64) -> String {
    if run.drives.is_empty() { "–".to_owned() } else { format::three_digits(number) }
}

/// Of what few runs have anything: what it is called, whether a run has any, and its number.
const OCCASIONAL: [(&str, Occurs, Cell); 26] = [
    ("hedges", |run| run.hedges.is_some(), |run| format::count(hedges(run).hedged)),
    ("hedges that won", |run| run.hedges.is_some(), |run| format::count(hedges(run).won)),
    ("hedges denied", |run| hedges(run).denied > 0, |run| format::count(hedges(run).denied)),
    ("window at the end", |run| !run.windows.is_empty(), window_at_the_end),
    ("window changes", |run| run.window_changes() > 0, |run| format::count(run.window_changes())),
    ("suspensions", |run| run.suspensions > 0, |run| format::count(run.suspensions)),
    ("scrubbed pages", |run| run.scrubbed_pages > 0, |run| format::count(run.scrubbed_pages)),
    ("pages into SLC cache", |run| run.slc_pages > 0, |run| format::count(run.slc_pages)),
    ("folded pages", |run| run.folded_pages > 0, |run| format::count(run.folded_pages)),
    ("lease messages", |run| run.permits > 0, |run| format::count(run.permits)),
    ("held back", |run| run.held_back > 0, |run| format::count(run.held_back)),
    (
        "host buffer, MiB",
        |run| run.stage.is_some(),
        |run| format::three_digits(stage(run).host_buffer_peak_bytes as f64 / f64::from(1 << 20)),
    ),
    ("waits for host buffer", |run| stage(run).waits > 0, |run| format::count(stage(run).waits)),
    (
        "pages read there",
        |run| stage(run).read_pages > 0,
        |run| format::count(stage(run).read_pages),
    ),
    (
        "pages past it",
        |run| stage(run).bypassed_pages > 0,
        |run| format::count(stage(run).bypassed_pages),
    ),
    (
        "buffer of a drive, MiB",
        |run| buffer(run).peak_bytes > 0,
        |run| format::three_digits(buffer(run).peak_bytes as f64 / f64::from(1 << 20)),
    ),
    (
        "coalesced writes",
        |run| buffer(run).coalesced_writes_pages > 0,
        |run| format::count(buffer(run).coalesced_writes_pages),
    ),
    (
        "forced flushes",
        |run| buffer(run).forced_flushes_pages > 0,
        |run| format::count(buffer(run).forced_flushes_pages),
    ),
    (
        "parity programs",
        |run| run.rain.is_some(),
        |run| format::count(rain(run).parity_programs_pages),
    ),
    ("pages computed", |run| run.rain.is_some(), |run| format::count(rain(run).rebuilt_pages)),
    (
        "reads to compute",
        |run| run.rain.is_some(),
        |run| format::count(rain(run).rebuild_reads_pages + rain(run).parity_reads_pages),
    ),
    (
        "rotation breaches",
        |run| rain(run).rotation_breaches > 0,
        |run| format::count(rain(run).rotation_breaches),
    ),
    (
        "moved stripes",
        |run| rain(run).moved_stripes > 0,
        |run| format::count(rain(run).moved_stripes),
    ),
    ("contract while degraded", |run| run.degraded.is_some(), degraded::contract),
    ("rebuild, MiB/s", degraded::has_rebuild, degraded::rebuild_speed),
    ("rebuilt", degraded::has_rebuild, degraded::rebuilt),
];

/// The rows that `runs` need: what every run has, and what at least one of them has.
pub(crate) fn rows(runs: &[Run]) -> Vec<(&'static str, Cell)> {
    let occasional = OCCASIONAL
        .into_iter()
        .filter(|(_, occurs, _)| runs.iter().any(occurs))
        .map(|(name, _, cell)| (name, cell));
    COSTS.into_iter().chain(occasional).collect()
}

fn hedges(run: &Run) -> HedgeCounters {
    run.hedges.unwrap_or_default()
}

fn buffer(run: &Run) -> BufferCounters {
    run.buffer.unwrap_or_default()
}

fn stage(run: &Run) -> WriteCacheCounters {
    run.stage.unwrap_or_default()
}

fn rain(run: &Run) -> RainCounters {
    run.rain.unwrap_or_default()
}

fn window_at_the_end(run: &Run) -> String {
    let last = run.windows.last();
    last.map_or_else(|| "-".to_owned(), |window| format::latency(window.length_ms * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProgrammedWindow;

    fn names(run: Run) -> Vec<&'static str> {
        rows(&[Run::default(), run]).into_iter().skip(COSTS.len()).map(|(name, _)| name).collect()
    }

    #[test]
    fn what_no_run_has_takes_no_row() {
        assert!(names(Run::default()).is_empty());
        assert!(
            names(Run { buffer: Some(BufferCounters::default()), ..Run::default() }).is_empty()
        );
        let window = |length_ms| ProgrammedWindow { at_s: 0.0, length_ms };
        let fixed = Run { windows: vec![window(100.0)], ..Run::default() };
        assert_eq!(names(fixed), ["window at the end"]);
        let changed = Run { windows: vec![window(100.0), window(50.0)], ..Run::default() };
        assert_eq!(window_at_the_end(&changed), "50.0 ms");
        assert_eq!(names(changed), ["window at the end", "window changes"]);
        assert_eq!(names(Run { permits: 1, ..Run::default() }), ["lease messages"]);
        let forced = BufferCounters { forced_flushes_pages: 1, ..BufferCounters::default() };
        assert_eq!(names(Run { buffer: Some(forced), ..Run::default() }), ["forced flushes"]);
    }
}
