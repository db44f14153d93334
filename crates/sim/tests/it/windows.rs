//! Windows on a whole array: several busy drives at once, clock skew, changing lengths, tokens.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{Contract, Level, WindowChange, policy::PolicyKind};
use ioda_sim::{
    Coordinate, Fault, Plan, RunProgress, RunResult, WindowPlan, prepare_drives, run,
    run_with_faults,
};
use std::convert::Infallible;
use units::{DriveId, Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

const PAGE: u64 = 4096;

/// The artifact's drive with a quarter of its pages per block: 11 ms for a collection.
fn plan(level: Level, width: u32, policy: PolicyKind, windows: WindowPlan) -> Plan {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.geometry.pages_per_block = 64;
    Plan { windows, ..common::plan(drive, level, width, policy) }
}

/// Page requests at even intervals for each phase: its length, and the bytes per second written to
/// each drive, parity included. Two reads for every write.
fn requests(plan: &Plan, phases: &[(Duration, f64)]) -> Vec<Request> {
    let pages = plan.capacity_bytes().unwrap() / PAGE;
    let written_per_write = f64::from(1 + plan.parities()) / f64::from(plan.width);
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut requests = Vec::new();
    let mut start = Instant::ZERO;
    for &(length, drive_bytes_per_second) in phases {
        let writes = drive_bytes_per_second / (PAGE as f64 * written_per_write);
        let interval = 1e9 / (3.0 * writes);
        let count = (length.as_nanos() as f64 / interval) as u64;
        for number in 0..count {
            let at = start + Duration::from_nanos((number as f64 * interval) as u64);
            let op = if number % 3 == 0 { Op::Write } else { Op::Read };
            let offset_bytes = rng.below(pages) * PAGE;
            requests.push(Request {
                at,
                op,
                offset_bytes,
                size_bytes: PAGE,
                device: 0,
                durable: false,
                after_flush: false,
            });
        }
        start += length;
    }
    requests
}

/// Simulates phases while drives fail and are replaced.
fn simulate_faults(plan: &Plan, phases: &[(Duration, f64)], faults: &[(u64, Fault)]) -> RunResult {
    let requests = requests(plan, phases).into_iter().map(Ok::<_, Infallible>);
    let drives = prepare_drives(plan).unwrap();
    let at = |&(millis, fault)| (Instant::ZERO + Duration::from_millis(millis), fault);
    let (faults, done) = (faults.iter().map(at).collect(), RunProgress::default());
    run_with_faults(plan, drives, Arrival::Open, requests, faults, &done).unwrap()
}

fn simulate(plan: &Plan, phases: &[(Duration, f64)]) -> RunResult {
    let requests = requests(plan, phases);
    let drives = prepare_drives(plan).unwrap();
    let requests = requests.into_iter().map(Ok::<_, Infallible>);
    run(plan, drives, Arrival::Open, requests, &RunProgress::default()).unwrap()
}

/// A phase at `share` of the load that the first windows sustain.
fn steady(plan: &Plan, seconds: u64, share: f64) -> Vec<(Duration, f64)> {
    vec![(Duration::from_secs(seconds), share * plan.restored_bytes_per_second())]
}

fn busy_at_least(result: &RunResult, members: usize) -> u64 {
    result.busy_members.iter().skip(members).sum()
}

#[test]
fn with_two_parities_two_drives_are_busy_and_never_three() {
    for width in [5, 6] {
        let windows = WindowPlan::fixed(Duration::from_millis(60));
        let plan = plan(Level::Raid6, width, PolicyKind::IODA, windows);
        let result = simulate(&plan, &steady(&plan, 6, 0.8));
        let totals = result.drive_totals();
        assert_eq!(totals.contract_violations, 0, "{width} drives");
        assert_eq!(busy_at_least(&result, 3), 0, "{width} drives: {:?}", result.busy_members);
        assert!(
            busy_at_least(&result, 2) > 100,
            "both windows are used: {:?}",
            result.busy_members
        );
        assert_eq!(result.array.resubmitted, 0, "whatever failed was rebuilt");
        assert!(totals.collections > 50, "{totals:?}");
    }
}

#[test]
fn with_one_parity_one_drive_is_busy_and_never_two() {
    // In RAID-4 the parity drive is written three times as much as any other, so its array sustains
    // less.
    let arrays = [(Level::Raid4, 4, 0.3), (Level::Raid5, 8, 0.8), (Level::Raid5, 16, 0.8)];
    for (level, width, share) in arrays {
        let windows = WindowPlan::fixed(Duration::from_millis(60));
        let plan = plan(level, width, PolicyKind::IODA, windows);
        let result = simulate(&plan, &steady(&plan, 6, share));
        let totals = result.drive_totals();
        let name = level.name();
        assert_eq!(totals.contract_violations, 0, "{name}, {width} drives");
        assert_eq!(busy_at_least(&result, 2), 0, "{name}, {width}: {:?}", result.busy_members);
        assert!(busy_at_least(&result, 1) > 100, "{name}, {width}: {:?}", result.busy_members);
        assert_eq!(result.array.resubmitted, 0, "whatever failed was rebuilt");
        assert!(totals.collections > 20, "{totals:?}");
    }
}

#[test]
fn one_of_two_parities_can_be_kept_in_reserve() {
    let windows =
        WindowPlan { busy_drives: Some(1), ..WindowPlan::fixed(Duration::from_millis(60)) };
    let plan = plan(Level::Raid6, 6, PolicyKind::IODA, windows);
    let result = simulate(&plan, &steady(&plan, 6, 0.8));
    assert_eq!(result.drive_totals().contract_violations, 0);
    assert_eq!(busy_at_least(&result, 2), 0, "{:?}", result.busy_members);
}

#[test]
fn the_contract_survives_the_clock_skew_that_its_guard_is_for() {
    let with_guard = |guard: Option<Duration>, level, width| {
        let windows = WindowPlan {
            clock_skew: Duration::from_millis(8),
            guard,
            ..WindowPlan::fixed(Duration::from_millis(60))
        };
        let plan = plan(level, width, PolicyKind::IODA, windows);
        simulate(&plan, &steady(&plan, 6, 0.8))
    };
    for (level, width, parities) in [(Level::Raid5, 4, 1), (Level::Raid6, 6, 2)] {
        let guarded = with_guard(None, level, width);
        assert_eq!(guarded.drive_totals().contract_violations, 0, "{}", level.name());
        assert_eq!(busy_at_least(&guarded, parities + 1), 0, "{:?}", guarded.busy_members);
        assert!(busy_at_least(&guarded, parities) > 100);
        let bare = with_guard(Some(Duration::ZERO), level, width);
        assert!(
            busy_at_least(&bare, parities + 1) > 0,
            "the skew matters: {:?}",
            bare.busy_members
        );
    }
}

#[test]
fn windows_change_on_a_running_array_without_breaking_the_contract() {
    let lengths = [150, 30, 90, 24, 200, 60];
    for (level, width, parities) in [(Level::Raid5, 4, 1), (Level::Raid6, 5, 2)] {
        let windows = WindowPlan {
            changes: lengths
                .iter()
                .zip(1..)
                .map(|(&millis, number)| {
                    (Duration::from_millis(number * 777), Duration::from_millis(millis).into())
                })
                .collect(),
            ..WindowPlan::fixed(Duration::from_millis(60))
        };
        let plan = plan(level, width, PolicyKind::IODA, windows);
        let result = simulate(&plan, &steady(&plan, 6, 0.5));
        let programmed: Vec<u64> =
            result.windows.iter().map(|(_, window)| window.as_nanos() / 1_000_000).collect();
        assert_eq!(programmed, [60, 150, 30, 90, 24, 200, 60]);
        assert_eq!(result.drive_totals().contract_violations, 0, "{}", level.name());
        assert_eq!(busy_at_least(&result, parities + 1), 0, "{:?}", result.busy_members);
        assert!(busy_at_least(&result, parities) > 100);
    }
}

#[test]
fn a_window_that_is_too_short_can_be_mended_on_the_running_array() {
    // No collection fits into 10 ms; five fit into 60.
    let phases = [(Duration::from_secs(5), 70e6)];
    let violations = |windows| {
        let plan = plan(Level::Raid5, 4, PolicyKind::IODA, windows);
        simulate(&plan, &phases).drive_totals().contract_violations
    };
    let too_short = WindowPlan::fixed(Duration::from_millis(10));
    assert!(violations(too_short.clone()) > 0, "10 ms are too short");
    let second = Duration::from_millis(300);
    let changes = vec![(second, Duration::from_millis(60).into())];
    assert_eq!(violations(WindowPlan { changes, ..too_short }), 0, "60 ms are not");
}

#[test]
fn an_array_of_another_width_has_other_windows_and_never_two_busy_drives() {
    let mut of_four = plan(Level::Raid5, 4, PolicyKind::IODA, WindowPlan::default());
    of_four.drive.contract.burst_bytes_per_second = 30e6;
    let change = |(second, width)| {
        let busy_time_window = of_four.advertised_at(width);
        let change = WindowChange { busy_time_window, array_width: Some(width) };
        (Duration::from_secs(second), change)
    };
    let changes = [(1, 8), (2, 6), (3, 4)].map(change).to_vec();
    // Drives have less time to collect in a wider array, so their windows are shorter (Figure 4a).
    assert!(of_four.advertised_at(8) < of_four.advertised_at(6));
    assert!(of_four.advertised_at(6) < of_four.advertised_at(4));
    let wanted: Vec<Duration> = changes.iter().map(|(_, change)| change.busy_time_window).collect();
    let windows = WindowPlan { changes, ..WindowPlan::default() };
    let plan = Plan { windows, ..of_four };
    let result = simulate(&plan, &[(Duration::from_secs(4), 20e6)]);
    let lengths: Vec<Duration> = result.windows.iter().map(|&(_, window)| window).collect();
    assert!(lengths.ends_with(&wanted), "{lengths:?} end with {wanted:?}");
    assert_eq!(result.drive_totals().contract_violations, 0);
    assert_eq!(busy_at_least(&result, 2), 0, "{:?}", result.busy_members);
    assert!(result.drive_totals().collections > 20);
}

#[test]
fn a_cycle_with_fewer_turns_than_drives_is_refused() {
    let of_three =
        WindowChange { busy_time_window: Duration::from_millis(60), array_width: Some(3) };
    let changes = vec![(Duration::from_secs(1), of_three)];
    let windows = WindowPlan { changes, ..WindowPlan::default() };
    let error = plan(Level::Raid5, 4, PolicyKind::IODA, windows).layout().unwrap_err();
    assert!(
        error.to_string().contains("an array width of 3, but the array has 4 drives"),
        "{error}"
    );
}

#[test]
fn adapted_windows_grow_until_they_break_and_are_halved_then() {
    let (period, increment) = (Duration::from_millis(50), Duration::from_millis(10));
    let windows = WindowPlan {
        coordinate: Coordinate::Adaptive { period, increment },
        ..WindowPlan::fixed(Duration::from_millis(60))
    };
    let plan = plan(Level::Raid5, 4, PolicyKind::IODA, windows);
    let result = simulate(&plan, &[(Duration::from_secs(40), 35e6)]);
    let lengths: Vec<Duration> = result.windows.iter().map(|&(_, window)| window).collect();
    let grew = lengths.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let shrank: Vec<_> = lengths.windows(2).filter(|pair| pair[1] < pair[0]).collect();
    assert!(grew > 5, "{lengths:?}");
    assert!(!shrank.is_empty(), "it never found the limit: {lengths:?}");
    let shortest = plan.drive.likely_unit_time();
    assert!(lengths.iter().all(|&window| window >= shortest));
    let totals = result.drive_totals();
    println!("violations {}, windows {lengths:?}", totals.contract_violations);
}

#[test]
fn tokens_keep_the_contract_and_ask_for_no_clock() {
    for (level, width, parities) in
        [(Level::Raid5, 4, 1), (Level::Raid6, 6, 2), (Level::Raid4, 4, 1)]
    {
        let period = Duration::from_millis(2);
        let windows = WindowPlan {
            coordinate: Coordinate::Token { lease: None, period },
            clock_skew: Duration::from_millis(1),
            ..WindowPlan::default()
        };
        let plan = plan(level, width, PolicyKind::IODA, windows);
        let result = simulate(&plan, &[(Duration::from_secs(6), 20e6)]);
        let totals = result.drive_totals();
        assert_eq!(totals.contract_violations, 0, "{}", level.name());
        assert_eq!(busy_at_least(&result, parities + 1), 0, "{:?}", result.busy_members);
        assert!(totals.collections > 20 && result.permits > 20);
    }
}

/// Seconds after `from` at which a run first had a window for which `is_near` is true.
fn seconds_until(result: &RunResult, from: u64, is_near: impl Fn(Duration) -> bool) -> Option<f64> {
    let start = Instant::ZERO + Duration::from_secs(from);
    let in_force = result.windows.iter().rfind(|&&(at, _)| at <= start);
    let later = result.windows.iter().filter(|&&(at, _)| at > start);
    let mut all = in_force.into_iter().chain(later);
    all.find(|&&(_, window)| is_near(window))
        .map(|&(at, _)| at.max(start).since(start).as_secs_f64())
}

#[test]
fn adapted_windows_follow_a_load_that_steps_from_20_to_80_drive_writes_per_day_and_back() {
    const PHASE: u64 = 150;
    let (period, increment) = (Duration::from_millis(50), Duration::from_millis(10));
    let adaptive = WindowPlan {
        coordinate: Coordinate::Adaptive { period, increment },
        ..WindowPlan::fixed(Duration::from_millis(500))
    };
    let mut base = plan(Level::Raid5, 4, PolicyKind::IODA, adaptive);
    base.drive.contract.usable_share = base.drive.watermark_share();
    let load = |per_day| base.drive.bytes_per_second(per_day);
    let bound = |per_day| {
        let parameters = base.drive.likely_parameters();
        parameters.safe_window(base.array_description(), load(per_day), Duration::ZERO)
    };
    let phases = [20.0, 80.0, 20.0].map(|per_day| (Duration::from_secs(PHASE), load(per_day)));
    let run = |windows: &WindowPlan, phases: &[(Duration, f64)]| {
        let result = simulate(&Plan { windows: windows.clone(), ..base.clone() }, phases);
        (result.drive_totals().contract_violations, result)
    };
    let (calm, _) = run(&base.windows, &phases[..1]);
    let (adapted, result) = run(&base.windows, &phases);
    let (heavy, light) = (bound(80.0), bound(20.0));
    // The host lets windows grow to 20 s at most.
    let wide = light.min(Duration::from_secs(20)) / 2;
    let down = seconds_until(&result, PHASE, |window| window <= heavy);
    let up = seconds_until(&result, 2 * PHASE, |window| window >= wide);
    let (short, _) = run(&WindowPlan::fixed(heavy), &phases);
    let (long, _) = run(&WindowPlan::fixed(light), &phases);
    println!(
        "bounds {light} and {heavy}; adapted: {adapted} violations ({calm} before the step), {down:?} s \
         to come below the bound, {up:?} s to come within half of it again; fixed {heavy}: {short}, \
         fixed {light}: {long}; windows {:?} ms",
        result.windows.iter().map(|(_, w)| w.as_millis_f64()).collect::<Vec<_>>()
    );
    assert!(down.is_some_and(|seconds| seconds < PHASE as f64 / 2.0), "{down:?}");
    assert!(up.is_some_and(|seconds| seconds < PHASE as f64), "{up:?}");
    assert_eq!(calm, 0, "nothing to find while the load is light");
    assert_eq!(short, 0, "the bound for the heavier load holds throughout");
    assert!(long > 2 * adapted, "a window that is too long breaks more: {long} and {adapted}");
}

fn quiet() -> PolicyKind {
    PolicyKind::from_name("quiet").unwrap()
}

#[test]
fn with_one_of_two_parities_gone_one_drive_is_busy_and_no_read_waits_for_it() {
    let plan = plan(Level::Raid6, 8, quiet(), WindowPlan::fixed(Duration::from_millis(60)));
    let gone = [(0, Fault::Fail(DriveId(2)))];
    let result = simulate_faults(&plan, &steady(&plan, 6, 0.3), &gone);
    let degraded = result.degraded.as_ref().unwrap();
    assert_eq!(degraded.contract, Contract::Reduced { busy_drives: 1 });
    let totals = result.drive_totals();
    assert_eq!((totals.contract_violations, result.array.failed_requests), (0, 0));
    assert!(totals.collections > 20, "{totals:?}");
    // Busy drives beside the failed one, which still counts as a drive in the simulation.
    assert_eq!(busy_at_least(&result, 3), 0, "{:?}", result.busy_members);
    assert_eq!(result.array.resubmitted, 0, "no read waits for a drive in its window");
    assert!(result.array.reconstructions > 1_000);
    let slowest = result.read.percentile(99.99);
    assert!(slowest < Duration::from_millis(1), "a collection takes 11 ms: {slowest}");
}

#[test]
fn windows_shrink_when_a_drive_fails_and_grow_again_when_it_is_rebuilt() {
    let mut plan = plan(Level::Raid6, 8, quiet(), WindowPlan::default());
    plan.drive.geometry.blocks_per_plane = 64;
    // A burst for which windows are longer if two may be open at once.
    plan.drive.contract.burst_bytes_per_second /= 4.0;
    let faults = [(700, Fault::Fail(DriveId(5))), (1_500, Fault::Replace(DriveId(5)))];
    let result = simulate_faults(&plan, &steady(&plan, 6, 0.2), &faults);
    let (whole, one) = (plan.window().unwrap(), Plan { level: Level::Raid5, ..plan.clone() });
    let lengths: Vec<Duration> = result.windows.iter().map(|&(_, window)| window).collect();
    assert_eq!(lengths, [whole, one.window().unwrap(), whole]);
    assert_ne!(lengths[0], lengths[1]);
    assert_eq!(result.drive_totals().contract_violations, 0);
    let degraded = result.degraded.as_ref().unwrap();
    assert_eq!(degraded.contract, Contract::Reduced { busy_drives: 1 });
    let [rebuild] = degraded.rebuilds[..] else { panic!("{degraded:?}") };
    assert_eq!(rebuild.drive, DriveId(5));
    assert!(rebuild.ended.is_some_and(|ended| ended == rebuild.began + rebuild.time));
    assert!((rebuild.done_share() - 1.0).abs() < f64::EPSILON, "{rebuild:?}");
    assert_eq!(rebuild.bytes, plan.drive.logical_bytes() / PAGE * PAGE, "all of the drive");
    // At least half as fast as without any requests.
    let nothing = simulate_faults(&plan, &[(Duration::from_secs(6), 5.0)], &faults);
    let alone = nothing.degraded.unwrap().rebuilds[0].bytes_per_second();
    let share = rebuild.bytes_per_second() / alone;
    assert!(share > 0.5, "{share:.2} of {alone:.0} bytes per second");
}

#[test]
fn with_the_only_parity_gone_reads_wait_for_one_drive_and_for_one_collection() {
    let plan = plan(Level::Raid5, 4, quiet(), WindowPlan::fixed(Duration::from_millis(60)));
    let gone = [(0, Fault::Fail(DriveId(1)))];
    let result = simulate_faults(&plan, &steady(&plan, 6, 0.5), &gone);
    let degraded = result.degraded.as_ref().unwrap();
    assert_eq!(degraded.contract, Contract::Suspended { busy_drives: 1 });
    assert_eq!(result.drive_totals().contract_violations, 0);
    assert_eq!(busy_at_least(&result, 3), 0, "{:?}", result.busy_members);
    assert!(result.array.resubmitted > 100, "they wait: {}", result.array.resubmitted);
    // Drives interrupt nothing: a read waits for the programs of a flush and for a collection.
    let slowest = result.read.percentile(100.0);
    let most = plan.drive.worst_unit_time() * 2;
    assert!(slowest < most, "{slowest}, collections take up to {most}");
}

/// Free space bounds no window if the host holds the writes to a drive between two of its windows.
#[test]
fn windows_of_quiet_are_long_where_the_host_holds_its_writes() {
    let quiet = PolicyKind::from_name("quiet").unwrap();
    let plan = |name, windows| {
        let drive = ssd::presets::preset(name).unwrap();
        Plan { windows, ..Plan::new(drive, Level::Raid5, 4, quiet) }
    };
    let held = plan("7450-960", WindowPlan::default());
    let window = held.window().unwrap();
    assert_eq!(window, held.drive.likely_unit_time() * 8);
    assert!(window > held.advertised_window());
    let ioda = Plan { policy: PolicyKind::IODA, ..held };
    assert_eq!(ioda.window().unwrap(), ioda.advertised_window());
    let asked = Duration::from_millis(200);
    assert_eq!(plan("7450-960", WindowPlan::fixed(asked)).window(), Some(asked));
    // The buffer of the first drive holds a cycle; the second has none.
    for name in ["7450-960-unfitted", "femu-artifact"] {
        let plan = plan(name, WindowPlan::default());
        assert_eq!(plan.window().unwrap(), plan.advertised_window(), "{name}");
    }
}
