//! Verified runs with drives that fail, are replaced, and cannot read: every level, random
//! policies, drives with collections, buffers and windows.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::random::random_plan;
use array::Level;
use array::policy::PolicyKind;
use ioda_sim::{Fault, Plan, RunProgress, RunResult, prepare_drives, run_with_faults};
use std::convert::Infallible;
use units::{DriveId, Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

/// Number of requests of a run, and mean time between two.
const REQUESTS: u64 = 800;
const GAP_NANOSECONDS: u64 = 150_000;

fn policy_of(seed: u64, level: Level) -> PolicyKind {
    let possible: Vec<PolicyKind> =
        PolicyKind::ALL.iter().copied().filter(|policy| policy.is_possible(level)).collect();
    possible[(seed % possible.len() as u64) as usize]
}

pub(crate) fn run_one(
    plan: &Plan,
    faults: Vec<(Instant, Fault)>,
    only_whole_pages: bool,
) -> RunResult {
    let capacity = plan.capacity_bytes().unwrap();
    let page = u64::from(plan.drive.geometry.page_bytes);
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut at = Instant::ZERO;
    let requests = (0..REQUESTS).map(|_| {
        at += Duration::from_nanos(rng.below(2 * GAP_NANOSECONDS));
        let op = if rng.below(2) == 0 { Op::Write } else { Op::Read };
        let span = if rng.below(2) == 0 { capacity } else { capacity / 8 / page * page };
        let mut size_bytes = (1 + rng.below(12 * page)).min(span);
        let mut offset_bytes = rng.below(span - size_bytes + 1);
        if only_whole_pages || rng.below(2) == 0 {
            size_bytes = size_bytes.div_ceil(page) * page;
            offset_bytes = (offset_bytes / page * page).min(span - size_bytes);
        }
        Ok::<_, Infallible>(Request {
            at,
            op,
            offset_bytes,
            size_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        })
    });
    let drives = prepare_drives(plan).unwrap();
    match run_with_faults(plan, drives, Arrival::Open, requests, faults, &RunProgress::default()) {
        Ok(result) => result,
        Err(error) => panic!("{error}\n{:?} {:?}", plan.level, plan.policy),
    }
}

fn moment(rng: &mut Rng, from: u64, to: u64) -> Instant {
    let all = REQUESTS * GAP_NANOSECONDS / 100;
    Instant::from_nanos(all * from + rng.below(all * (to - from)))
}

fn some_drives(rng: &mut Rng, width: u32, count: u32) -> Vec<DriveId> {
    let mut chosen: Vec<DriveId> = Vec::new();
    while chosen.len() < count.min(width) as usize {
        let drive = DriveId(rng.below(u64::from(width)) as u8);
        if !chosen.contains(&drive) {
            chosen.push(drive);
        }
    }
    chosen
}

#[test]
fn as_many_drives_as_there_are_parities_may_fail_and_return() {
    let (mut restored, mut lost, mut rebuilds, mut verified) = (0, 0, 0, 0);
    for seed in testing::seeds(0..24) {
        for level in [Level::Raid1, Level::Raid10, Level::Raid4, Level::Raid5, Level::Raid6] {
            let plan = random_plan(seed, level, policy_of(seed, level));
            let mut rng = Rng::stream(seed, "faults");
            let mut faults = Vec::new();
            for drive in some_drives(&mut rng, plan.width, plan.parities()) {
                let every = 2 + rng.below(20);
                faults.push((moment(&mut rng, 0, 20), Fault::Unreadable { drive, every }));
                faults.push((moment(&mut rng, 20, 40), Fault::Fail(drive)));
                faults.push((moment(&mut rng, 40, 60), Fault::Unreadable { drive, every: 0 }));
                faults.push((moment(&mut rng, 60, 90), Fault::Replace(drive)));
            }
            let result = run_one(&plan, faults, false);
            assert_eq!(result.array.failed_requests, 0, "seed {seed} {level:?}");
            assert!(result.verified_pages > 0, "seed {seed} {level:?}: not whole in the end");
            restored += result.array.repaired_stripes;
            lost += result.array.unrecovered_reads;
            rebuilds += result.array.reconstructions;
            verified += result.verified_pages;
        }
    }
    if !testing::is_repeat() {
        assert!(restored > 1_000 && lost > 1_000, "{restored} stripes restored, {lost} reads lost");
        assert!(rebuilds > 1_000 && verified > 50_000, "{rebuilds} rebuilds, {verified} verified");
    }
}

/// Under Quiet buffers are flushed in windows, which change when drives fail and return.
#[test]
fn drives_fail_and_return_under_quiet() {
    let quiet = PolicyKind::from_name("quiet").unwrap();
    let (mut verified, mut rebuilt) = (0, 0);
    for seed in testing::seeds(0..16) {
        for level in [Level::Raid10, Level::Raid5, Level::Raid6] {
            let plan = random_plan(seed, level, quiet);
            let mut rng = Rng::stream(seed, "faults");
            let mut faults = Vec::new();
            for drive in some_drives(&mut rng, plan.width, plan.parities()) {
                faults.push((moment(&mut rng, 0, 30), Fault::Fail(drive)));
                faults.push((moment(&mut rng, 30, 60), Fault::Replace(drive)));
            }
            let result = run_one(&plan, faults, false);
            assert_eq!(result.array.failed_requests, 0, "seed {seed} {level:?}");
            assert!(result.verified_pages > 0, "seed {seed} {level:?}: not whole in the end");
            verified += result.verified_pages;
            let rebuilds = result.degraded.map_or(Vec::new(), |degraded| degraded.rebuilds);
            rebuilt += rebuilds.iter().filter(|rebuild| rebuild.ended.is_some()).count();
        }
    }
    assert!(testing::is_repeat() || (verified > 10_000 && rebuilt >= 48), "{verified}, {rebuilt}");
}

#[test]
fn what_cannot_be_had_is_reported_and_never_wrong() {
    let mut failed = 0;
    for seed in testing::seeds(0..24) {
        for level in Level::ALL {
            let plan = random_plan(seed, level, policy_of(seed, level));
            let mut rng = Rng::stream(seed, "faults");
            let mut faults = Vec::new();
            for drive in some_drives(&mut rng, plan.width, plan.parities() + 1) {
                let every = rng.below(20);
                faults.push((moment(&mut rng, 0, 20), Fault::Unreadable { drive, every }));
                faults.push((moment(&mut rng, 20, 90), Fault::Fail(drive)));
                if rng.below(2) == 0 {
                    faults.push((moment(&mut rng, 30, 95), Fault::Replace(drive)));
                }
            }
            failed += run_one(&plan, faults, true).array.failed_requests;
        }
    }
    assert!(failed > 100 || testing::is_repeat(), "{failed} requests failed");
}
