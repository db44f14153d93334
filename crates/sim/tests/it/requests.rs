//! Requests one by one: the watch delivers what the run did, and does not change the run.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::random::random_plan;
use array::policy::PolicyKind;
use array::{Level, RequestKind};
use ioda_sim::{
    Fault, Listeners, Plan, Progress, REQUESTS_AT_ONCE, RequestColumns, RequestSink, RunResult,
    SimError, run_all, run_all_watched,
};
use nvme::{Blocked, Cause};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Mutex;
use units::{DriveId, Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

fn requests_to(sink: RequestSink<'_>) -> Listeners<'_> {
    Listeners { requests: Some(sink), ..Listeners::default() }
}

/// Requests of a workload: short and long, at all offsets.
fn requests(plan: &Plan, count: u64, gap_nanos: u64) -> Vec<Request> {
    let capacity = plan.capacity_bytes().unwrap();
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut at = Instant::ZERO;
    let request = |_| {
        at += Duration::from_nanos(rng.below(2 * gap_nanos));
        let op = if rng.below(2) == 0 { Op::Write } else { Op::Read };
        let size_bytes = (1 + rng.below(12 * 4096)).min(capacity);
        let offset_bytes = rng.below(capacity - size_bytes + 1);
        Request {
            at,
            op,
            offset_bytes,
            size_bytes,
            device: (rng.below(3)) as u32,
            durable: false,
            after_flush: false,
        }
    };
    (0..count).map(request).collect()
}

/// Runs each plan with and without records; the results must agree.
fn recorded(
    plans: &[Plan],
    arrival: Arrival,
    requests: &[Request],
    faults: &[(Instant, Fault)],
) -> Vec<(RunResult, RequestColumns)> {
    let workload = || Ok((arrival, requests.iter().map(|request| Ok::<_, Infallible>(*request))));
    let progress = || Progress::new(plans.len());
    let plain = run_all(plans, 2, workload, faults, &progress()).unwrap();
    let kept: Vec<_> = plans.iter().map(|_| Mutex::new(RequestColumns::default())).collect();
    let sink = |index: usize, mut columns: RequestColumns| {
        assert!((1..=REQUESTS_AT_ONCE).contains(&columns.len()));
        kept[index].lock().unwrap().append(&mut columns);
        ControlFlow::Continue(())
    };
    let watched =
        run_all_watched(plans, 2, workload, faults, &progress(), requests_to(&sink)).unwrap();
    for (plain, watched) in plain.iter().zip(&watched) {
        assert_eq!(plain.hash, watched.hash, "{:?}", plain.policy);
        assert_eq!(plain.busy_members, watched.busy_members);
        assert_eq!(plain.sub_reads.is_some(), watched.sub_reads.is_some());
    }
    watched.into_iter().zip(kept.into_iter().map(|kept| kept.into_inner().unwrap())).collect()
}

/// Sum of a column.
fn sum(column: &[u64]) -> u64 {
    column.iter().sum()
}

/// Checks all properties of the records of a run.
fn check(result: &RunResult, columns: &RequestColumns, requests: &[Request], width: u32) {
    assert_eq!(columns.len() as u64, result.requests);
    let mut numbers = columns.number.clone();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=result.requests), "each request once");
    assert!(columns.completed_ns.is_sorted());
    for row in 0..columns.len() {
        let request = requests[columns.number[row] as usize - 1];
        assert_eq!(columns.offset_bytes[row], request.offset_bytes);
        assert_eq!(columns.size_bytes[row], request.size_bytes);
        assert_eq!(u32::from(columns.host[row]), request.device);
        assert_eq!(columns.kind[row] == RequestKind::Read, request.op == Op::Read);
        let parts = columns.delays_ns.iter().map(|cause| cause[row]).sum::<u64>();
        let latency = columns.completed_ns[row] - columns.arrived_ns[row];
        assert_eq!(parts + columns.write_ns[row], latency, "request {}", columns.number[row]);
        assert_eq!(columns.busy_members[row] >> width, 0);
        if request.op == Op::Read {
            assert_eq!(columns.write_ns[row], 0);
        }
    }
    let latencies = sum(&columns.completed_ns) - sum(&columns.arrived_ns);
    assert_eq!(Duration::from_nanos(latencies), result.total_latency());
    let reconstructions: u64 = columns.reconstructions.iter().copied().map(u64::from).sum();
    assert_eq!(reconstructions, result.array.reconstructions);
    assert_eq!(
        columns.failed.iter().filter(|failed| **failed).count() as u64,
        result.array.failed_requests
    );
    let blocked = |wanted| {
        let reads = columns.kind.iter().zip(&columns.blocked);
        reads.filter(|&(&kind, &by)| kind == RequestKind::Read && by == wanted).count() as u64
    };
    assert_eq!(blocked(Blocked::Queue), result.blocked_reads.by_queue);
    assert_eq!(blocked(Blocked::Collection), result.blocked_reads.by_collection);
}

#[test]
fn records_are_what_the_run_did_and_change_nothing() {
    let (mut busy, mut quiet, mut reconstructed, mut held_back, mut failed) = (0, 0, 0, 0, 0);
    for seed in testing::seeds(0..24) {
        let level = [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6][(seed % 4) as usize];
        let possible: Vec<PolicyKind> =
            PolicyKind::ALL.iter().copied().filter(|policy| policy.is_possible(level)).collect();
        let base = random_plan(seed, level, possible[0]);
        let plan = |policy: usize| {
            let mut plan = Plan { policy: possible[policy % possible.len()], ..base.clone() };
            plan.verify = seed % 3 != 0;
            plan.measured.sub_reads = seed % 5 == 0;
            plan
        };
        // One of the policies holds requests back.
        let holding = possible.iter().position(|policy| policy.name() == "plm-light");
        let plans = [plan(seed as usize), plan(seed as usize + 5), plan(holding.unwrap_or(0))];
        let requests = requests(&base, 800, 150_000);
        let arrival = match seed % 2 {
            0 => Arrival::Open,
            _ => Arrival::Closed { iodepth: 16.into(), runtime: None },
        };
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let drive = DriveId(0);
        let faults = [(at(20), Fault::Fail(drive)), (at(60), Fault::Replace(drive))];
        // Without redundancy the data of a drive is lost, and requests fail.
        let faults = if seed % 4 == 0 || seed % 3 == 1 { &faults[..] } else { &[] };
        for (result, columns) in recorded(&plans, arrival, &requests, faults) {
            check(&result, &columns, &requests, base.width);
            busy += columns.busy_members.iter().filter(|&&busy| busy != 0).count();
            quiet += columns.busy_members.iter().filter(|&&busy| busy == 0).count();
            reconstructed += columns.reconstructions.iter().filter(|&&count| count > 0).count();
            failed += columns.failed.iter().filter(|&&failed| failed).count();
            let waited = &columns.delays_ns[Cause::HeldBack as usize];
            held_back += waited.iter().filter(|&&waited| waited > 0).count();
        }
    }
    // A test that never meets its cases proves nothing.
    let met = format!(
        "{busy} busy, {quiet} quiet, {reconstructed} reconstructed, {held_back} held, {failed} failed"
    );
    assert!(busy > 500 && quiet > 500 && reconstructed > 500, "{met}");
    assert!(testing::is_repeat() || held_back > 50 && failed > 50, "{met}");
}

/// Single-page reads of an array of up to eight drives: the records give the run's counts by the
/// number of busy members.
#[test]
fn busy_members_are_those_that_the_run_counts() {
    let mut met = 0;
    for seed in testing::seeds(0..6) {
        let plan = random_plan(seed, Level::Raid5, PolicyKind::BASE);
        let mut requests = requests(&plan, 1_500, 150_000);
        for request in &mut requests {
            request.offset_bytes = request.offset_bytes / 4096 * 4096;
            request.size_bytes = 1;
        }
        let (result, columns) = recorded(&[plan], Arrival::Open, &requests, &[]).remove(0);
        let mut counts = vec![0; result.busy_members.len()];
        for (kind, busy) in columns.kind.iter().zip(&columns.busy_members) {
            counts[busy.count_ones() as usize] += u64::from(*kind == RequestKind::Read);
        }
        assert_eq!(counts, result.busy_members, "seed {seed}");
        met += counts[1..].iter().sum::<u64>();
    }
    assert!(met > 100, "{met} reads met a busy member");
}

/// A sink that takes no more requests ends the run.
#[test]
fn runs_end_when_their_requests_are_not_taken() {
    let plan = Plan { verify: false, ..random_plan(1, Level::Raid5, PolicyKind::BASE) };
    let read = |number: u64| {
        let at = Instant::from_nanos(number * 1_000_000);
        Ok::<_, Infallible>(Request {
            at,
            op: Op::Read,
            offset_bytes: 0,
            size_bytes: 1,
            device: 0,
            durable: false,
            after_flush: false,
        })
    };
    let workload = || Ok((Arrival::Open, (0..u64::MAX).map(read)));
    let sink = |_: usize, _: RequestColumns| ControlFlow::Break(());
    let ended = run_all_watched(&[plan], 1, workload, &[], &Progress::new(1), requests_to(&sink));
    assert!(matches!(ended, Err(SimError::Interrupted)), "{ended:?}");
}

/// More requests than one delivery holds.
#[test]
fn many_requests_come_in_parts() {
    let plan = random_plan(1, Level::Raid5, PolicyKind::BASE);
    let count = REQUESTS_AT_ONCE as u64 + 1_000;
    let requests: Vec<Request> = (0..count)
        .map(|number| Request {
            at: Instant::from_nanos(number * 1_000_000),
            op: Op::Read,
            offset_bytes: 0,
            size_bytes: 4096,
            device: 0,
            durable: false,
            after_flush: false,
        })
        .collect();
    let plan = Plan { verify: false, ..plan };
    let width = plan.width;
    let (result, columns) = recorded(&[plan], Arrival::Open, &requests, &[]).remove(0);
    check(&result, &columns, &requests, width);
}
