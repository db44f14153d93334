//! Windows in two dimensions (IODA §7.4): drives × ranges of logical blocks.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, RunProgress, RunResult, TimelineConfig, WindowPlan, prepare_drives, run};
use ssd::{Blocking, RangeConfig, RangePlacement};
use units::{Duration, Instant, Rng};
use workload::{Arrival, Op};

const SECONDS: u64 = 8;

fn simulate(ranges: RangeConfig, blocking: Blocking, policy: PolicyKind) -> RunResult {
    let mut drive = ssd::presets::preset("femu").unwrap();
    drive.geometry.pages_per_block = 32;
    drive.collection.blocking = blocking;
    drive.ranges = ranges;
    let windows = WindowPlan::fixed(Duration::from_millis(100));
    let slice = TimelineConfig { start: Instant::ZERO, length: Duration::from_secs(SECONDS) };
    let plan =
        Plan { windows, timeline: Some(slice), ..common::plan(drive, Level::Raid5, 4, policy) };
    let pages = plan.capacity_bytes().unwrap() / 4096;
    let mut rng = Rng::stream(3, "ranges");
    let requests = (0..SECONDS * 9_000).map(|number| {
        let at = Instant::ZERO + Duration::from_micros(number * 1_000_000 / 9_000);
        let op = if number % 5 == 0 { Op::Write } else { Op::Read };
        let offset_bytes = rng.below(pages) * 4096;
        common::page(at, op, offset_bytes)
    });
    let drives = prepare_drives(&plan).unwrap();
    run(&plan, drives, Arrival::Open, requests, &RunProgress::default()).unwrap()
}

fn ranges(count: u32, placement: RangePlacement) -> RangeConfig {
    RangeConfig { count, placement }
}

fn busy_twice(result: &RunResult) -> u64 {
    result.busy_members.iter().skip(2).sum()
}

/// Milliseconds of the run in which collections run on two or more drives.
fn concurrent_millis(result: &RunResult) -> usize {
    let bands = &result.timeline.collections;
    (0..SECONDS * 1000)
        .filter(|&millis| {
            let at = Instant::ZERO + Duration::from_millis(millis);
            let mut drives: Vec<usize> = bands
                .iter()
                .filter(|band| band.start <= at && at < band.end)
                .map(|band| band.drive)
                .collect();
            drives.sort_unstable();
            drives.dedup();
            drives.len() > 1
        })
        .count()
}

#[test]
fn drives_collect_at_once_and_no_stripe_meets_two_if_ranges_have_their_own_channels() {
    let one = simulate(RangeConfig::ONE, Blocking::Channel, PolicyKind::IODA);
    let two = simulate(ranges(4, RangePlacement::Channels), Blocking::Channel, PolicyKind::IODA);
    for result in [&one, &two] {
        assert_eq!(result.drive_totals().contract_violations, 0);
        assert_eq!(busy_twice(result), 0, "{:?}", result.busy_members);
        assert!(result.drive_totals().collections > 500);
    }
    assert_eq!(concurrent_millis(&one), 0);
    assert!(concurrent_millis(&two) > 1000, "{}", concurrent_millis(&two));
}

#[test]
fn shared_channels_break_windows_in_two_dimensions() {
    let ideal = simulate(ranges(4, RangePlacement::Chips), Blocking::Die, PolicyKind::IDEAL);
    let own = simulate(ranges(4, RangePlacement::Channels), Blocking::Channel, PolicyKind::IODA);
    let p99 = |result: &RunResult| result.read.percentile(99.0);
    let p999 = |result: &RunResult| result.read.percentile(99.9);
    // A collection that holds its channel keeps the host from the chips of other ranges.
    let held = simulate(ranges(4, RangePlacement::Chips), Blocking::Channel, PolicyKind::IODA);
    assert!(busy_twice(&held) > 100, "{:?}", held.busy_members);
    // A collection that only uses the channel delays reads of other ranges by its copies, outside
    // of any window.
    let shared = simulate(ranges(4, RangePlacement::Chips), Blocking::Die, PolicyKind::IODA);
    println!(
        "p99 and p99.9: ideal {} {}, own channels {} {}, held channels {} {}, shared {} {}",
        p99(&ideal),
        p999(&ideal),
        p99(&own),
        p999(&own),
        p99(&held),
        p999(&held),
        p99(&shared),
        p999(&shared)
    );
    assert!(p999(&held) > p999(&own) * 10, "two collections in a stripe are waited for");
    assert_eq!(busy_twice(&shared), 0, "{:?}", shared.busy_members);
    assert!(p99(&shared) > p99(&own), "copies on the channel are in the way");
}

#[test]
fn ranges_that_no_drive_can_have_are_refused() {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.ranges = ranges(4, RangePlacement::Channels);
    let error = drive.validate().unwrap_err().to_string();
    assert!(error.starts_with("lba_ranges cannot be combined with lines"), "{error}");
    drive.ranges = ranges(3, RangePlacement::Channels);
    let error = drive.validate().unwrap_err().to_string();
    assert_eq!(
        error,
        "lba_ranges is 3; it must divide channels, which is 8, so that every range has as many dies"
    );
}
