//! What a run does not prove: drives that collected nothing, or whose free space has not settled.

use sim::{FreeSpaceTrend, RunResult};

/// A sentence for each thing that these runs of one workload do not prove.
pub(super) fn notes(results: &[RunResult]) -> Vec<String> {
    let runs = results.iter().filter(|result| !result.drives.is_empty());
    let seen: Vec<Seen<'_>> = runs.map(Seen::of).collect();
    collections(&seen).into_iter().chain(free_space(&seen)).collect()
}

/// What matters of a run.
struct Seen<'a> {
    policy: &'a str,
    collections: u64,
    written_bytes: u64,
    free_space: Option<FreeSpaceTrend>,
}

impl<'a> Seen<'a> {
    fn of(result: &'a RunResult) -> Self {
        Self {
            policy: result.policy.label(),
            collections: result.drive_totals().collections,
            written_bytes: result.written_bytes,
            free_space: result.free_space,
        }
    }
}

/// That drives collected nothing.
fn collections(runs: &[Seen<'_>]) -> Option<String> {
    let idle: Vec<&Seen<'_>> = runs.iter().filter(|run| run.collections == 0).collect();
    if idle.is_empty() {
        return None;
    }
    let names: Vec<&str> = idle.iter().map(|run| run.policy).collect();
    let names = names.join(", ");
    if idle.len() < runs.len() {
        return Some(format!(
            "no collection took place under {names}, unlike under the others: its latencies are those of idle \
             drives"
        ));
    }
    let why = match idle.iter().all(|run| run.written_bytes == 0) {
        true => "the workload writes nothing",
        false => "more requests, a higher rate or `--precondition aged` bring some about",
    };
    Some(match runs.len() {
        1 => format!(
            "no collection took place, so the run says nothing about reads that meet one: {why}"
        ),
        _ => format!(
            "no collection took place under any policy, so the runs say nothing about how policies deal with them: \
             {why}"
        ),
    })
}

/// That free space has not settled.
fn free_space(runs: &[Seen<'_>]) -> Option<String> {
    let moving: Vec<String> = runs
        .iter()
        .filter_map(|run| Some((run, run.free_space.filter(FreeSpaceTrend::moves)?)))
        .map(|(run, trend)| {
            let [first, last] = [trend.first, trend.last].map(|share| 100.0 * share);
            format!("{first:.2} to {last:.2} % of the blocks under {}", run.policy)
        })
        .collect();
    (!moving.is_empty()).then(|| {
        format!(
            "free space still moves, from the first tenth of the run to the last: {}; a longer run may have other \
             latencies, and `--precondition load` begins where this load leads to",
            moving.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(policy: &str, collections: u64) -> Seen<'_> {
        Seen { policy, collections, written_bytes: 1, free_space: None }
    }

    fn trend(last: f64) -> Option<FreeSpaceTrend> {
        Some(FreeSpaceTrend { first: 0.1, last, noise: 0.002 })
    }

    #[test]
    fn idle_drives_are_named() {
        assert_eq!(collections(&[run("Base", 3), run("IODA", 1)]), None);
        assert_eq!(collections(&[]), None);
        let one = collections(&[run("Base", 3), run("IODA", 0)]).unwrap();
        assert!(one.starts_with("no collection took place under IODA, unlike"), "{one}");
        let all = collections(&[run("Base", 0), run("IODA", 0)]).unwrap();
        assert!(all.contains("under any policy") && all.contains("--precondition aged"), "{all}");
        let reads = Seen { written_bytes: 0, ..run("Base", 0) };
        let reads = collections(&[reads]).unwrap();
        assert!(reads.ends_with("meet one: the workload writes nothing"), "{reads}");
    }

    #[test]
    fn free_space_that_moves_is_said_of_each_policy() {
        let settled = Seen { free_space: trend(0.099), ..run("Base", 1) };
        assert_eq!(free_space(&[settled, run("Ideal", 1)]), None);
        let falls = Seen { free_space: trend(0.055), ..run("IODA", 1) };
        let settled = Seen { free_space: trend(0.101), ..run("Base", 1) };
        let note = free_space(&[settled, falls]).unwrap();
        assert!(note.contains("10.00 to 5.50 % of the blocks under IODA;"), "{note}");
        assert!(!note.contains("Base"), "{note}");
    }
}
