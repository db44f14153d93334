//! Effect of coordinated buffer flushes (IODA ToS §7.1): reads meet at most one busy drive of their
//! stripe, whether it collects or flushes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common;
use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, RunProgress, RunResult, prepare_drives, run};
use ssd::{FlushRule, WriteBufferConfig};
use std::convert::Infallible;
use units::{Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

const REQUESTS: u64 = 200_000;

/// The artifact's drive with a quarter of its pages per block, for a short run, and with this
/// buffer.
fn plan(policy: PolicyKind, buffer: Option<(u64, FlushRule)>) -> Plan {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.geometry.pages_per_block = 64;
    drive.write_buffer = buffer.map(|(mib, flush)| {
        let pages = (mib << 20) / u64::from(drive.geometry.page_bytes);
        WriteBufferConfig { flush, ..WriteBufferConfig::new(pages as u32) }
    });
    common::plan(drive, Level::Raid5, 4, policy)
}

/// Random single pages, six of ten written, at `share` of the load that windows sustain.
fn result(plan: &Plan, share: f64) -> RunResult {
    const WRITE_PERCENT: u64 = 60;
    let windowed = Plan { policy: PolicyKind::IODA, ..plan.clone() };
    // Each write goes to two of the four drives: data and parity.
    let writes_per_second =
        share * windowed.restored_bytes_per_second() * 4.0 / (2.0 * plan.chunk_bytes as f64);
    let mean_gap = 1e9 / writes_per_second * WRITE_PERCENT as f64 / 100.0;
    let pages = plan.capacity_bytes().unwrap() / plan.chunk_bytes;
    let mut rng = Rng::stream(plan.seed, "requests");
    let mut at = Instant::ZERO;
    let requests = (0..REQUESTS).map(|_| {
        at += Duration::from_nanos(rng.below(2 * mean_gap as u64));
        let op = if rng.below(100) < WRITE_PERCENT { Op::Write } else { Op::Read };
        let offset_bytes = rng.below(pages) * plan.chunk_bytes;
        Ok::<_, Infallible>(Request {
            at,
            op,
            offset_bytes,
            size_bytes: plan.chunk_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        })
    });
    let drives = prepare_drives(plan).unwrap();
    run(plan, drives, Arrival::Open, requests, &RunProgress::default()).unwrap()
}

/// Share of stripe reads that find two or more members busy.
fn two_busy(result: &RunResult) -> f64 {
    let all: u64 = result.busy_members.iter().sum();
    result.busy_members[2..].iter().sum::<u64>() as f64 / all as f64
}

fn show(name: &str, result: &RunResult) {
    let totals = result.drive_totals();
    println!(
        "{name:24} read p50 {} p99 {} p99.9 {} max {}; write p50 {} p99.9 {}; two busy {:.3} %; \
         forced {} of {} flushed; violations {}; collections {}; simulated {}",
        result.read.percentile(50.0),
        result.read.percentile(99.0),
        result.read.percentile(99.9),
        result.read.max(),
        result.write.percentile(50.0),
        result.write.percentile(99.9),
        100.0 * two_busy(result),
        totals.forced_flushes_pages,
        totals.host_programs_pages,
        totals.contract_violations,
        totals.collections,
        result.simulated,
    );
}

/// The load is nine tenths of what windows sustain. Between two of its windows (24 ms in 98 ms)
/// each drive receives 2.5 MiB, which fit a buffer of 4 MiB but not one of 2 MiB.
#[test]
fn coordinated_flushes_keep_reads_at_one_busy_drive() {
    let ioda = |buffer| result(&plan(PolicyKind::IODA, buffer), 0.9);
    let through = ioda(None);
    let free = ioda(Some((4, FlushRule::WhenFull)));
    let coordinated = ioda(Some((4, FlushRule::InWindow)));
    let small = ioda(Some((2, FlushRule::InWindow)));
    show("no buffer", &through);
    show("4 MiB, when full", &free);
    show("4 MiB, in window", &coordinated);
    show("2 MiB, in window", &small);

    let tail = |result: &RunResult| result.read.percentile(99.9).as_nanos();
    assert!(tail(&free) > 2 * tail(&coordinated), "free-running flushes cost the tail");
    assert!(tail(&coordinated) < tail(&through), "reads do not wait for programs either");
    assert!(two_busy(&free) > 0.01);
    assert_eq!(two_busy(&coordinated), 0.0, "one busy drive at a time");
    for result in [&coordinated, &free, &small] {
        assert_eq!(result.drive_totals().contract_violations, 0);
        let collecting = &result.collecting_members;
        assert_eq!(collecting[2..].iter().sum::<u64>(), 0, "{collecting:?}");
        assert!(result.drive_totals().collections > 100, "collections share the windows");
    }
    assert_eq!(coordinated.drive_totals().forced_flushes_pages, 0);
    assert!(small.drive_totals().forced_flushes_pages > 1_000, "and it says so");
    assert!(two_busy(&small) > 0.0);
}

#[test]
fn without_windows_there_is_nothing_to_coordinate() {
    let base = |flush| result(&plan(PolicyKind::BASE, Some((4, flush))), 0.5);
    let (free, coordinated) = (base(FlushRule::WhenFull), base(FlushRule::InWindow));
    assert_eq!(free.hash, coordinated.hash);
    assert_eq!(coordinated.drive_totals().forced_flushes_pages, 0);
}
