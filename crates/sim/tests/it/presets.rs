//! Drive presets of each kind, scaled down in blocks, work in an array under every policy.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{
    Level,
    policy::{PolicyKind, WindowUse},
};
use ioda_sim::{Plan, RunProgress, prepare_drives, run};
use std::convert::Infallible;
use units::{Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

#[test]
fn drives_of_each_kind_work_under_every_policy() {
    for (position, name) in common::presets_of_each_kind().enumerate() {
        let mut drive = ssd::presets::preset(name).unwrap();
        drive.geometry.planes_per_chip = 1;
        drive.geometry.blocks_per_plane = 64;
        drive.geometry.pages_per_block = 16;
        if let Some(cells) = &mut drive.cells {
            if let Some(slc) = &mut cells.slc {
                (slc.most_blocks, slc.fixed_blocks, slc.low_blocks) = (8, 2, 1);
            }
            // Watermarks of such drives are a few of many superblocks.
            drive.geometry.pages_per_block = 4 * cells.unit_pages();
            drive.geometry.chips_per_channel = 1;
            drive.collection.hard = units::Ratio::from_percent(5);
            drive.collection.soft = units::Ratio::from_percent(8);
            drive.collection.restore = units::Ratio::from_percent(14);
            drive.over_provisioning = units::Ratio::from_percent(45);
        }
        if let Some(buffer) = &mut drive.write_buffer {
            buffer.pages = 256;
        }
        for (index, &policy) in PolicyKind::ALL.iter().enumerate() {
            // IODA and its parts run on every drive, other policies on every fourth.
            let is_its_turn = index % 4 == position % 4 || PolicyKind::IODA_PARTS.contains(&policy);
            if !policy.is_possible(Level::Raid5) || !is_its_turn {
                continue;
            }
            let plan = Plan {
                windows: ioda_sim::WindowPlan::fixed(Duration::from_millis(100)),
                seed: 3,
                verify: true,
                ..common::plan(drive.clone(), Level::Raid5, 4, policy)
            };
            let pages = plan.capacity_bytes().unwrap() / plan.chunk_bytes;
            // Half of the load that windows sustain, in single pages: two drive writes for each.
            let windowed = Plan { policy: PolicyKind::IODA, ..plan.clone() };
            let per_second =
                windowed.restored_bytes_per_second() * 4.0 / (2.0 * plan.chunk_bytes as f64);
            let gap = Duration::from_nanos((1e9 / per_second) as u64);
            let mut rng = Rng::new(1);
            let count = 2 * pages.min(30_000);
            let mut at = Instant::ZERO;
            let requests = (0..count).map(|_| {
                at += gap;
                let op = if rng.below(2) == 0 { Op::Write } else { Op::Read };
                let offset_bytes = rng.below(pages) * plan.chunk_bytes;
                let size_bytes = plan.chunk_bytes;
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
            let drives = prepare_drives(&plan).unwrap();
            let result =
                run(&plan, drives, Arrival::Open, requests, &RunProgress::default()).unwrap();
            let totals = result.drive_totals();
            println!(
                "{name:14} {:6} collections {:6} violations {:3} p99.9 {}",
                policy.label(),
                totals.collections,
                totals.contract_violations,
                result.read.percentile(99.9),
            );
            assert!(totals.collections > 0, "{name} {policy:?}");
            if matches!(policy.about().windows, WindowUse::Blind | WindowUse::Seen) {
                assert_eq!(totals.contract_violations, 0, "{name} {policy:?}");
                // A buffer that is flushed whenever it is full may make any drive busy at any time.
                if plan.drive.cells.is_none() {
                    let two_busy = result.array.busy_sub_ios[2..].iter().sum::<u64>();
                    assert_eq!(two_busy, 0, "{name} {policy:?}");
                }
            }
        }
    }
}
