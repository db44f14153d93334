//! Guarantees for unlimited time. Free space of drives that have served their load stays constant.
//! The planner predicts of each load what the simulation shows.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, Preparation, RunProgress, RunResult, WindowPlan, prepare_drives, run};
use units::Duration;
use workload::{BlockSizes, RandomDistribution, Rw, Source, Synthetic};

/// Blocks of a die (or lines): enough for watermarks in per cent.
const BLOCKS: u32 = 128;
const DRIVES: u32 = 4;
/// Blocks of a die by which free space changes in a cycle of windows.
const CYCLE_BLOCKS: f64 = 1.5;

/// A preset with fewer dies, blocks and pages, but times and shares as they are. A fitted buffer is
/// made for all dies of the drive, so the drive is the one of the data sheet.
fn small(name: &str) -> ssd::Config {
    let unfitted = ssd::presets::unfitted(name);
    let mut drive = unfitted.or_else(|| ssd::presets::preset(name)).unwrap();
    let geometry = &mut drive.geometry;
    geometry.planes_per_chip = 1;
    if let Some(cells) = &drive.cells {
        // Watermarks of such drives are a few of many lines.
        (geometry.channels, geometry.chips_per_channel) = (2, 1);
        // The last unit of a collected block may be filler, and a cache reserves blocks.
        let units = if cells.slc.is_some() { 24 } else { 8 };
        geometry.pages_per_block = units * cells.unit_pages();
    } else {
        geometry.blocks_per_plane = BLOCKS;
        geometry.pages_per_block = 64;
        // Parity within the drive spans all channels.
        if drive.rain.is_none() {
            geometry.channels = geometry.channels.min(4);
        }
        geometry.chips_per_channel = geometry.chips_per_channel.min(2);
    }
    drive
}

/// Random writes of a page: `drive_bytes_per_second` to each drive, parity included.
fn writes(
    plan: &Plan,
    drive_bytes_per_second: f64,
    drive_writes: f64,
    skew: RandomDistribution,
) -> Source {
    let page = u64::from(plan.drive.geometry.page_bytes);
    // Each write programs two pages.
    let requests = drive_writes * plan.drive.logical_pages() as f64 * f64::from(DRIVES) / 2.0;
    let rate = drive_bytes_per_second * f64::from(DRIVES) / (2.0 * page as f64);
    Source::from(Synthetic {
        rw: Rw::RandWrite,
        bs: BlockSizes { read: page, write: page },
        rate_iops: Some(rate),
        size: plan.capacity_bytes().unwrap() / page * page,
        number_ios: Some(requests as u64),
        random_distribution: skew,
        randseed: plan.seed,
        ..Synthetic::default()
    })
}

fn simulate(plan: &Plan, source: &Source) -> RunResult {
    let plan = Plan { preparation: Preparation::Load(Box::new(source.clone())), ..plan.clone() };
    let drives = prepare_drives(&plan).unwrap();
    let requests = source.open(plan.capacity_bytes().unwrap()).unwrap();
    let arrival = requests.arrival();
    run(&plan, drives, arrival, requests, &RunProgress::default()).unwrap()
}

fn plan(drive: ssd::Config, policy: PolicyKind, window: Option<Duration>) -> Plan {
    let windows = WindowPlan { busy_time_window: window, ..WindowPlan::default() };
    Plan { windows, ..common::plan(drive, Level::Raid5, DRIVES, policy) }
}

fn violations(result: &RunResult) -> u64 {
    result.drive_totals().contract_violations
}

#[test]
fn free_space_stays_where_it_is_on_drives_of_each_kind() {
    let mut moved = String::new();
    for name in common::presets_of_each_kind() {
        let drive = small(name);
        drive.validate().unwrap();
        let window = drive.shortest_window(Duration::ZERO) * 2;
        let zipf = RandomDistribution::Zipf { theta: 0.9 };
        let skews = match drive.cells {
            None => vec![RandomDistribution::Random, zipf],
            // Drives of this kind are large.
            Some(_) => vec![zipf],
        };
        for skew in skews {
            for policy in [PolicyKind::BASE, PolicyKind::IODA] {
                let plan = plan(drive.clone(), policy, Some(window));
                let windowed = Plan { policy: PolicyKind::IODA, ..plan.clone() };
                let load = windowed.sustainable_bytes_per_second() / 8.0;
                let result = simulate(&plan, &writes(&plan, load, 1.0, skew));
                let trend = result.free_space.unwrap();
                let violations = violations(&result);
                let line = format!(
                    "{name:14} {:5} {skew:?}: {:.2} to {:.2} %, noise {:.2} %, violations {violations}\n",
                    policy.label(),
                    trend.first * 100.0,
                    trend.last * 100.0,
                    trend.noise * 100.0,
                );
                print!("{line}");
                // A run begins right after a collection.
                let blocks =
                    (trend.last - trend.first).abs() * f64::from(drive.geometry.blocks_per_die());
                if trend.moves() && blocks > CYCLE_BLOCKS || violations > 0 {
                    moved.push_str(&line);
                }
            }
        }
    }
    assert!(moved.is_empty(), "free space moves:\n{moved}");
}

#[test]
fn the_planner_and_the_simulation_agree_about_for_ever() {
    let mut wrong = String::new();
    let quiet = PolicyKind::from_name("quiet").unwrap();
    for name in ["femu-artifact", "live", "femu", "970", "7450-960"] {
        let drive = small(name);
        let window = drive.shortest_window(Duration::ZERO) * 4;
        for policy in [PolicyKind::IODA, quiet] {
            let mut plan = plan(drive.clone(), policy, Some(window));
            let array = plan.array_description();
            let promise = |load_bytes_per_second| ssd::Promise {
                array,
                guard: Duration::ZERO,
                load_bytes_per_second,
                window: Some(window),
            };
            let outlook = drive.outlook(promise(1e6));
            let sustainable = match policy == quiet {
                true => outlook.quiet.sustainable_bytes_per_second,
                false => outlook.sustainable_bytes_per_second,
            };
            for share in [0.5, 0.8, 1.25, 2.0] {
                let load = sustainable * share;
                if policy == quiet {
                    let bytes = drive.outlook(promise(load)).quiet.buffer_bytes * 1.5;
                    let pages = (bytes / f64::from(drive.geometry.page_bytes)) as u32;
                    plan.drive.write_buffer = Some(ssd::WriteBufferConfig {
                        flush: ssd::FlushRule::InWindow,
                        ..ssd::WriteBufferConfig::new(pages.max(256))
                    });
                }
                // An overload shows soon, a sustainable load only in the long run.
                let drive_writes = if share < 1.0 { 3.0 } else { 1.5 };
                let source = writes(&plan, load, drive_writes, RandomDistribution::Random);
                let result = simulate(&plan, &source);
                let violations = violations(&result);
                let line = format!(
                    "{name:14} {:5} {share:4.2} × {:.2} MB/s: violations {violations}\n",
                    policy.label(),
                    sustainable / 1e6
                );
                print!("{line}");
                if (violations == 0) != (share < 1.0) {
                    wrong.push_str(&line);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "the planner says otherwise:\n{wrong}");
}
