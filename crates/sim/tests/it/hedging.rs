//! Hedging on overloaded arrays: a policy is worse than Base by at most its budget.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, RequestColumns, RunProgress, RunResult, prepare_drives, run, run_recorded};
use std::convert::Infallible;
use units::{Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

fn plan(level: Level, width: u32, seed: u64) -> Plan {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.geometry.pages_per_block = 16;
    Plan { seed, ..common::plan(drive, level, width, PolicyKind::BASE) }
}

/// Random single pages, whose reads and writes alone keep the dies busy for `utilization` of the
/// time. A write is two reads and two programs.
fn simulate(plan: &Plan, policy: &str, utilization: f64, write_percent: u64) -> RunResult {
    let plan = Plan { policy: PolicyKind::from_name(policy).unwrap(), ..plan.clone() };
    let timing = plan.drive.timing;
    let writes = write_percent as f64 / 100.0;
    let read_seconds = timing.read.as_secs_f64();
    let work = (1.0 - writes) * read_seconds
        + writes * 2.0 * (read_seconds + timing.program.as_secs_f64());
    let dies = f64::from(plan.drive.geometry.dies() * plan.width);
    let mean_gap_nanos = 1e9 * work / (dies * utilization);
    let capacity_pages = plan.capacity_bytes().unwrap() / 4096;
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut at_nanos = 0.0;
    let requests = (0..300_000).map(|_| {
        at_nanos -= mean_gap_nanos * (1.0 - rng.unit_f64()).ln();
        let op = if rng.below(100) < write_percent { Op::Write } else { Op::Read };
        let (at, offset_bytes) =
            (Instant::from_nanos(at_nanos as u64), rng.below(capacity_pages) * 4096);
        common::page(at, op, offset_bytes)
    });
    let drives = prepare_drives(&plan).unwrap();
    run(&plan, drives, Arrival::Open, requests, &RunProgress::default()).unwrap()
}

/// Ratio of `theirs` to `base`.
fn ratio(theirs: Duration, base: Duration) -> f64 {
    theirs.as_nanos() as f64 / base.as_nanos() as f64
}

fn reads(result: &RunResult) -> f64 {
    result.array.drive_read_pages as f64
}

/// Checks that a hedging policy is worse than Base by at most its budget, in all user-visible
/// measures.
fn check(level: Level, width: u32, utilization: f64, write_percent: u64, seed: u64) {
    let plan = plan(level, width, seed);
    let budget = 1.0 + plan.policy_settings.hedge.budget.as_f64();
    let base = simulate(&plan, "base", utilization, write_percent);
    for policy in ["hedged", "hedged-quantile"] {
        let hedged = simulate(&plan, policy, utilization, write_percent);
        let what = format!("{policy}, {level:?}, {utilization} busy, {write_percent} % writes");
        let costs = [
            ("reads", reads(&hedged) / reads(&base)),
            ("mean", ratio(hedged.read.mean(), base.read.mean())),
            ("p50", ratio(hedged.read.percentile(50.0), base.read.percentile(50.0))),
            ("p99", ratio(hedged.read.percentile(99.0), base.read.percentile(99.0))),
            ("p99.9", ratio(hedged.read.percentile(99.9), base.read.percentile(99.9))),
            ("mean write", ratio(hedged.write.mean(), base.write.mean())),
        ];
        println!("{what}: {costs:?}, {} hedges", hedged.array.hedges);
        for (cost, ratio) in costs {
            // Without writes the mean is NaN.
            assert!(ratio.is_nan() || ratio <= budget, "{what}: {cost} is {ratio} of Base's");
        }
    }
}

#[test]
fn an_array_that_is_busy_for_95_percent_is_no_worse_than_the_budget() {
    for seed in testing::seeds(1..3) {
        check(Level::Raid5, 4, 0.95, 0, seed);
    }
    check(Level::Raid6, 6, 0.95, 0, 3);
    check(Level::Raid5, 4, 0.95, 20, 4);
}

#[test]
fn nor_is_one_that_is_busy_for_more_or_less() {
    for utilization in [0.65, 0.8, 1.1] {
        check(Level::Raid5, 4, utilization, 0, 5);
    }
}

/// Reason for the budget: reading whole stripes overloads such an array.
#[test]
fn reads_without_a_budget_overload_it() {
    let plan = plan(Level::Raid5, 4, 1);
    let base = simulate(&plan, "base", 0.95, 0);
    let proactive = simulate(&plan, "proactive", 0.95, 0);
    assert!(ratio(proactive.read.mean(), base.read.mean()) > 10.0);
}

/// On an array with spare time hedging helps: collections make some reads late.
#[test]
fn hedging_helps_where_there_is_time() {
    let plan = plan(Level::Raid5, 4, 1);
    let base = simulate(&plan, "base", 0.02, 30);
    let hedged = simulate(&plan, "hedged", 0.02, 30);
    assert!(hedged.array.hedges_won > 300, "{} hedges came first", hedged.array.hedges_won);
    assert!(ratio(hedged.read.mean(), base.read.mean()) < 0.95);
}

/// Completed requests in order of completion: number, end in nanoseconds, reconstructions.
fn ended(plan: &Plan, requests: &[Request]) -> Vec<(u64, u64, u32)> {
    let mut rows = RequestColumns::default();
    let requests = requests.iter().map(|request| Ok::<_, Infallible>(*request));
    let (drives, progress) = (prepare_drives(plan).unwrap(), RunProgress::default());
    let sink = |mut more: RequestColumns| rows.append(&mut more);
    run_recorded(plan, drives, (Arrival::Open, requests), Vec::new(), &progress, sink).unwrap();
    let times = rows.number.iter().zip(&rows.completed_ns).zip(&rows.reconstructions);
    times.map(|((&number, &end), &reconstructions)| (number, end, reconstructions)).collect()
}

/// A policy that predicts must use only past observations: on the first part of a workload it
/// decides as on the whole.
#[test]
fn decisions_do_not_depend_on_what_comes_later() {
    let drive = common::quarter(ssd::presets::preset("7450-960").unwrap());
    for policy in ["attentive", "linnos", "heimdall", "hedged-quantile", "mittos", "sit-out"] {
        let policy = PolicyKind::from_name(policy).unwrap();
        let plan = common::plan(drive.clone(), Level::Raid5, 4, policy);
        let capacity_pages = plan.capacity_bytes().unwrap() / 4096;
        let mut rng = Rng::stream(plan.seed, "requests");
        let mut at_nanos = 0;
        let requests: Vec<Request> = (0..20_000)
            .map(|number| {
                // Writes come in bursts, reads all the time.
                let is_burst = number % 500 < 200;
                at_nanos += rng.below(if is_burst { 2_000 } else { 60_000 });
                let op = if is_burst { Op::Write } else { Op::Read };
                let page = rng.below(capacity_pages);
                common::page(Instant::from_nanos(at_nanos), op, page * 4096).unwrap()
            })
            .collect();
        let whole = ended(&plan, &requests);
        for first in [5_003, 12_345] {
            let unknown = requests[first].at.since(Instant::ZERO).as_nanos();
            let until = |rows: &[(u64, u64, u32)]| -> Vec<_> {
                rows.iter().copied().take_while(|&(_, end, _)| end < unknown).collect()
            };
            let part = until(&ended(&plan, &requests[..first]));
            assert!(part.len() > first / 2, "{policy:?}: {} of {first}", part.len());
            assert_eq!(part, until(&whole), "{policy:?}, {first}");
        }
    }
}
