//! Drives that answer too late, under `quiet` and `attentive`: they are detected, bypassed by
//! reads, and used again when they behave.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common;
use crate::random::random_plan;
use array::{Level, policy::PolicyKind};
use ioda_sim::{Fault, Measured, Plan, RunProgress, RunResult, prepare_drives, run_with_faults};
use std::convert::Infallible;
use units::{DriveId, Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

const SLOW: DriveId = DriveId(1);

fn policy(name: &str) -> PolicyKind {
    PolicyKind::from_name(name).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Requests per second in the measured runs.
const RATE: u64 = 10_000;
/// Times in ms at which the drive begins to misbehave, and after which it must not show any more.
const BEGINS: u64 = 500;
const OVER: u64 = BEGINS + 1_000;
const ENDS: u64 = OVER + 1_000;

/// A current drive whose buffer holds a cycle.
fn plan(policy: PolicyKind, level: Level, width: u32) -> Plan {
    plan_of(ssd::presets::unfitted("7450-960").unwrap(), policy, level, width)
}

/// A drive with measured tails and without a contract.
fn ordinary_plan(policy: PolicyKind, level: Level, width: u32) -> Plan {
    plan_of(ssd::presets::preset("7450-960").unwrap(), policy, level, width)
}

fn plan_of(drive: ssd::Config, policy: PolicyKind, level: Level, width: u32) -> Plan {
    let measured = Measured { from: Some(at(OVER)), ..Measured::default() };
    Plan { measured, ..common::plan(common::quarter(drive), level, width, policy) }
}

/// Random pages until `ends` (in ms), seven of ten read.
fn result(plan: &Plan, faults: &[(Instant, Fault)], ends: u64) -> RunResult {
    let pages = plan.capacity_bytes().unwrap() / plan.chunk_bytes;
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut now = Instant::ZERO;
    let requests = (0..RATE * ends / 1_000).map(|_| {
        now += Duration::from_nanos(rng.below(2_000_000_000 / RATE));
        let op = if rng.below(10) < 3 { Op::Write } else { Op::Read };
        let offset_bytes = rng.below(pages) * plan.chunk_bytes;
        let size_bytes = plan.chunk_bytes;
        Ok::<_, Infallible>(Request {
            at: now,
            op,
            offset_bytes,
            size_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        })
    });
    let drives = prepare_drives(plan).unwrap();
    let progress = RunProgress::default();
    run_with_faults(plan, drives, Arrival::Open, requests, faults.to_vec(), &progress).unwrap()
}

/// Random pages in a closed loop at a depth of 256.
fn saturated(plan: &Plan) -> RunResult {
    let pages = plan.capacity_bytes().unwrap() / plan.chunk_bytes;
    let mut rng = Rng::stream(plan.seed, "requests");
    let requests = (0..300_000).map(|_| {
        let op = if rng.below(10) < 3 { Op::Write } else { Op::Read };
        let (offset_bytes, size_bytes) = (rng.below(pages) * plan.chunk_bytes, plan.chunk_bytes);
        Ok::<_, Infallible>(Request {
            at: Instant::ZERO,
            op,
            offset_bytes,
            size_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        })
    });
    let arrival = Arrival::Closed { iodepth: 256.into(), runtime: None };
    let drives = prepare_drives(plan).unwrap();
    run_with_faults(plan, drives, arrival, requests, Vec::new(), &RunProgress::default()).unwrap()
}

#[test]
fn who_is_busy_is_not_accused() {
    let mut quiet = plan(policy("quiet"), Level::Raid5, 4);
    let found = saturated(&quiet);
    assert!(found.distrusted.is_empty(), "{:?}", found.tallies);
    quiet.policy_settings.finds_late_drives = false;
    assert_eq!(found.hash, saturated(&quiet).hash);
}

fn p999(result: &RunResult) -> f64 {
    result.read.percentile(99.9).as_secs_f64()
}

#[test]
fn a_slow_drive_is_out_of_the_way_of_reads_after_a_second() {
    for (level, width) in [(Level::Raid5, 4), (Level::Raid6, 8)] {
        let floor = p999(&result(&plan(policy("floor"), level, width), &[], ENDS));
        let slow = [(at(BEGINS), Fault::Slow { drive: SLOW, factor: 10 })];
        let quiet = plan(policy("quiet"), level, width);
        let found = result(&quiet, &slow, ENDS);
        let times = p999(&found) / floor;
        assert!(times < 2.0, "{level:?}: {times:.2} times Floor");
        assert_eq!(found.array.failed_requests, 0);
        let [(drive, time)] = found.distrusted[..] else { panic!("{:?}", found.distrusted) };
        assert_eq!(drive, SLOW);
        assert!(time > Duration::from_millis(ENDS - BEGINS - 100), "found too late: {time}");
        let mut blind = quiet;
        blind.policy_settings.finds_late_drives = false;
        let blind = result(&blind, &slow, ENDS);
        let times = p999(&blind) / floor;
        assert!(times > 2.0 && blind.distrusted.is_empty(), "{level:?}: {times:.2} without it");
    }
}

#[test]
fn a_drive_that_ignores_its_windows_does_not_show_after_a_second() {
    let floor = p999(&result(&plan(policy("floor"), Level::Raid5, 4), &[], ENDS));
    let lies = [(at(BEGINS), Fault::IgnoresWindows { drive: SLOW, on: true })];
    let found = result(&plan(policy("quiet"), Level::Raid5, 4), &lies, ENDS);
    let times = p999(&found) / floor;
    assert!(times < 2.0, "{times:.2} times Floor");
}

#[test]
fn a_drive_that_is_itself_again_is_read_again() {
    let slow = [
        (at(200), Fault::Slow { drive: SLOW, factor: 10 }),
        (at(500), Fault::Slow { drive: SLOW, factor: 1 }),
    ];
    let result = result(&plan(policy("quiet"), Level::Raid5, 4), &slow, 2_500);
    let [(_, time)] = result.distrusted[..] else { panic!("{:?}", result.distrusted) };
    let expected = Duration::from_millis(500)..Duration::from_millis(1_500);
    assert!(expected.contains(&time), "{time}");
}

#[test]
fn ordinary_drives_that_are_busy_are_not_accused() {
    for level in [Level::Raid5, Level::Raid6] {
        let plan = ordinary_plan(policy("attentive"), level, 6);
        let found = saturated(&plan);
        assert!(found.distrusted.is_empty(), "{level:?}: {:?}", found.tallies);
    }
}

/// With two parities, reads stay below twice Floor. With one parity, a reconstruction needs all
/// other drives, as if the slow one had failed: Floor is that of an array without it.
#[test]
fn a_slow_ordinary_drive_is_out_of_the_way_of_reads_after_a_second() {
    for (level, width) in [(Level::Raid5, 4), (Level::Raid6, 8)] {
        let gone = [(at(BEGINS), Fault::Fail(SLOW))];
        let without = if level == Level::Raid5 { &gone[..] } else { &[] };
        let floor = p999(&result(&ordinary_plan(policy("floor"), level, width), without, ENDS));
        let attentive = ordinary_plan(policy("attentive"), level, width);
        assert!(result(&attentive, &[], ENDS).distrusted.is_empty(), "{level:?}");
        for factor in [3, 10] {
            let slow = [(at(BEGINS), Fault::Slow { drive: SLOW, factor })];
            let found = result(&attentive, &slow, ENDS);
            let times = p999(&found) / floor;
            assert!(times < 2.0, "{level:?}, {factor} times as slow: {times:.2} times Floor");
            let [(drive, _)] = found.distrusted[..] else { panic!("{:?}", found.distrusted) };
            assert_eq!(drive, SLOW);
        }
    }
}

#[test]
fn an_ordinary_drive_that_is_itself_again_is_read_again() {
    let slow = [
        (at(500), Fault::Slow { drive: SLOW, factor: 10 }),
        (at(1_000), Fault::Slow { drive: SLOW, factor: 1 }),
    ];
    let result = result(&ordinary_plan(policy("attentive"), Level::Raid5, 4), &slow, 3_000);
    let [(_, time)] = result.distrusted[..] else { panic!("{:?}", result.distrusted) };
    let expected = Duration::from_millis(500)..Duration::from_millis(1_900);
    assert!(expected.contains(&time), "{time}");
}

/// Reads return what was written, in every order, however late drives answer.
#[test]
fn nothing_is_lost_with_drives_that_are_late() {
    let (mut distrusted, mut verified) = (0, 0);
    for seed in testing::seeds(0..40) {
        for level in [Level::Raid10, Level::Raid4, Level::Raid5, Level::Raid6] {
            let name = if seed % 2 == 0 { "quiet" } else { "attentive" };
            let plan = random_plan(seed, level, policy(name));
            let mut rng = Rng::stream(seed, "late");
            let mut faults = Vec::new();
            for _ in 0..1 + rng.below(6) {
                let drive = DriveId(rng.below(u64::from(plan.width)) as u8);
                let fault = match rng.below(3) {
                    0 => Fault::IgnoresWindows { drive, on: rng.below(2) == 0 },
                    1 => Fault::Slow { drive, factor: 1 },
                    _ => Fault::Slow { drive, factor: 2 + rng.below(40) as u32 },
                };
                faults.push((at(rng.below(100)), fault));
            }
            if rng.below(2) == 0 {
                let drive = DriveId(rng.below(u64::from(plan.width)) as u8);
                faults.push((at(40), Fault::Fail(drive)));
                faults.push((at(60), Fault::Replace(drive)));
            }
            let result = crate::faults::run_one(&plan, faults, false);
            assert_eq!(result.array.failed_requests, 0, "seed {seed} {level:?}");
            assert!(result.verified_pages > 0, "seed {seed} {level:?}");
            distrusted += result.distrusted.len();
            verified += result.verified_pages;
        }
    }
    if !testing::is_repeat() {
        assert!(
            distrusted > 30 && verified > 10_000,
            "{distrusted} distrusted, {verified} verified"
        );
    }
}
