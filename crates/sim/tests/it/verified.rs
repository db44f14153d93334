//! Verified runs: random operations on tiny drives that collect all the time, under every policy
//! and every level. One wrong tag fails the run.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::random::{random_mixed_plan, random_plan};
use array::policy::{
    About, Attempt, Awaited, DriveChanges, Needs, Policy, PolicyKind, View, WindowUse,
};
use array::{Level, WriteCacheCounters};
use ioda_sim::{Plan, RunProgress, RunResult, prepare_drives, run};
use nvme::{PlFlag, Untimed};
use std::convert::Infallible;
use units::{DriveId, Duration, Instant, Lba, Ratio, Rng};
use workload::{Arrival, Op, Request};

fn random_run(plan: &Plan, requests: u64) -> RunResult {
    let capacity = plan.capacity_bytes().unwrap();
    let mut rng = Rng::stream(plan.seed, "requests");
    let open = rng.below(2) == 0;
    let mean_gap_nanos = 20_000 + rng.below(400_000);
    let write_percent = 20 + rng.below(70);
    let mut at = Instant::ZERO;
    let workload = (0..requests).map(|_| {
        at += Duration::from_nanos(rng.below(2 * mean_gap_nanos));
        let op = if rng.below(100) < write_percent { Op::Write } else { Op::Read };
        // Sometimes a small hot spot, so that requests conflict on the same stripes.
        let span = if rng.below(2) == 0 { capacity } else { capacity / 8 };
        let size_bytes = 1 + rng.below(12 * 4096);
        let size_bytes =
            if rng.below(2) == 0 { size_bytes } else { size_bytes.div_ceil(4096) * 4096 };
        let size_bytes = size_bytes.min(span);
        let mut offset_bytes = rng.below(span - size_bytes + 1);
        if rng.below(2) == 0 {
            offset_bytes = offset_bytes / 4096 * 4096;
        }
        let device = (at.as_nanos() % 4) as u32;
        Ok::<_, Infallible>(Request {
            at,
            op,
            offset_bytes,
            size_bytes,
            device,
            durable: false,
            after_flush: false,
        })
    });
    let arrival =
        if open { Arrival::Open } else { Arrival::Closed { iodepth: 16.into(), runtime: None } };
    let drives = prepare_drives(plan).unwrap();
    match run(plan, drives, arrival, workload, &RunProgress::default()) {
        Ok(result) => result,
        Err(error) => panic!("{error}\n{:?} {:?}\n{plan:#?}", plan.level, plan.policy),
    }
}

/// A policy that reads the copies of a mirror in turn, lets busy drives fail reads, and hedges
/// within 150 µs.
const IN_TURN: PolicyKind = PolicyKind::new(&About {
    name: "in-turn",
    label: "In turn",
    summary: "asks copies in turn, and hedges at once",
    source: "this test",
    drive_changes: DriveChanges::Firmware("the PL flag"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(InTurn { reads: 0 }),
});

struct InTurn {
    reads: u32,
}

impl Policy for InTurn {
    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }

    fn choose_copy(
        &mut self,
        _: Instant,
        _: DriveId,
        copies: u64,
        _: Lba,
        _: &View<'_>,
    ) -> DriveId {
        self.reads += 1;
        let copy = (0..64).filter(|drive| copies >> drive & 1 == 1);
        DriveId(copy.cycle().nth(self.reads as usize % 8).unwrap())
    }

    fn hedge_after(&mut self, _: Instant, _: &Awaited) -> Option<Duration> {
        self.reads += 1;
        Some(Duration::from_micros(u64::from(self.reads % 4 * 50)))
    }
}

/// Each policy runs with one in this number of seeds.
const SEEDS_OF_A_POLICY: u64 = 9;

fn check(level: Level) {
    let mut rebuilds = 0;
    let mut collections = 0;
    let mut shared = 0;
    let mut narrow = 0;
    let mut buffered = ssd::Counters::default();
    let mut cached = WriteCacheCounters::default();
    let mut hedges = 0;
    let mut held_back = 0;
    let alone = testing::is_repeat();
    for seed in testing::seeds(0..90) {
        for (index, policy) in (0..).zip(PolicyKind::ALL.iter().copied().chain([IN_TURN])) {
            // Each seed runs some of the policies, each policy some of the seeds.
            let is_its_turn = seed % SEEDS_OF_A_POLICY == index % SEEDS_OF_A_POLICY;
            // Few policies run without redundancy.
            let is_its_turn = is_its_turn || level == Level::Raid0 && seed < 30;
            if !policy.is_possible(level) || !(is_its_turn || alone) {
                continue;
            }
            let plan = random_mixed_plan(seed, level, policy);
            let result = random_run(&plan, 1_500);
            assert_eq!(result.read.count() + result.write.count(), 1_500);
            assert!(result.verified_pages > 0);
            rebuilds += result.array.reconstructions;
            shared += result.array.shared_with_write;
            if let Some(write_cache) = result.write_cache {
                cached.add(&write_cache);
            }
            hedges += result.array.hedges_won;
            held_back += result.array.held_back;
            narrow += u64::from(plan.stripe_width() < plan.width);
            let totals = result.drive_totals();
            collections += totals.collections;
            buffered.add(&totals);
        }
    }
    // A test that never meets its cases proves nothing.
    assert!(alone || held_back > 500, "{held_back} requests held back");
    assert!(collections > 1_000, "{collections} collections");
    if !alone {
        assert!(narrow > 10, "{narrow} runs with stripes narrower than the array");
        assert!(buffered.scrubbed_pages > 1_000, "{buffered:?}");
        assert!(buffered.buffer_reads_pages > 1_000, "{buffered:?}");
        assert!(buffered.coalesced_writes_pages > 1_000, "{buffered:?}");
        assert!(buffered.parity_programs_pages > 10_000, "{buffered:?}");
        assert!(buffered.parity_reads_pages > 10_000, "{buffered:?}");
        assert!(buffered.rebuilt_pages > 1_000, "{buffered:?}");
        assert!(buffered.rotation_breaches > 10, "{buffered:?}");
        assert!(buffered.moved_stripes > 100, "{buffered:?}");
        // RAID-0 has no policies with windows here, so no window is ever missed.
        assert!(level == Level::Raid0 || buffered.forced_flushes_pages > 1_000, "{buffered:?}");
    }
    if level != Level::Raid0 && !alone {
        assert!(rebuilds > 1_000, "{rebuilds} rebuilds");
        assert!(shared > 10, "{shared} rebuilds from a write in flight");
        assert!(cached.replaced_pages > 1_000 && cached.waits > 1_000, "{cached:?}");
        assert!(cached.drained_pages > 1_000 && cached.read_pages > 1_000, "{cached:?}");
        assert!(cached.bypassed_pages > 1_000, "{cached:?}");
        assert!(hedges > 1_000, "{hedges} hedges that came first");
    }
}

#[test]
fn raid0_reads_what_was_written() {
    check(Level::Raid0);
}

#[test]
fn raid1_reads_what_was_written() {
    check(Level::Raid1);
}

#[test]
fn raid10_reads_what_was_written() {
    check(Level::Raid10);
}

#[test]
fn raid4_reads_what_was_written() {
    check(Level::Raid4);
}

#[test]
fn raid5_reads_what_was_written() {
    check(Level::Raid5);
}

#[test]
fn raid6_reads_what_was_written() {
    check(Level::Raid6);
}

/// A policy that relocates every third written page to a random possible drive, and reconstructs
/// every fourth read.
const MOVER: PolicyKind = PolicyKind::new(&About {
    name: "mover",
    label: "Mover",
    summary: "moves pages at random",
    source: "this test",
    drive_changes: DriveChanges::Usual("deallocation"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Mover(Rng::new(3))),
});

struct Mover(Rng);

impl Policy for Mover {
    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        if self.0.below(4) == 0 { Attempt::Avoid } else { Attempt::Send(PlFlag::Off) }
    }

    fn place_update(
        &mut self,
        _: Instant,
        drive: DriveId,
        free: u64,
        view: &View<'_>,
    ) -> Option<DriveId> {
        assert_eq!(free & view.stripe, 0, "a drive would hold two chunks of a stripe");
        assert_eq!(view.stripe >> drive.0 & 1, 1);
        let takers: Vec<u8> = (0..64).filter(|taker| free >> taker & 1 == 1).collect();
        let taker = takers[self.0.below(takers.len() as u64) as usize];
        (self.0.below(3) == 0).then_some(DriveId(taker))
    }

    fn relocates_chunks(&self) -> bool {
        true
    }
}

#[test]
fn chunks_that_move_are_read_where_they_are() {
    let named = |name| PolicyKind::from_name(name).unwrap();
    let (mut moved, mut shared, mut degraded, mut deallocated) = (0, 0, 0, 0);
    for seed in testing::seeds(0..30) {
        for level in [Level::Raid4, Level::Raid5, Level::Raid6] {
            for policy in [MOVER, named("degraded"), named("degraded-host")] {
                let mut plan = random_plan(seed, level, policy);
                let mut rng = Rng::stream(seed, "spare");
                plan.chunk_bytes = u64::from(plan.drive.geometry.page_bytes);
                plan.stripe_width = Some(level.least_width() + rng.below(2) as u32);
                plan.width = plan.stripe_width() + 1 + rng.below(4) as u32;
                plan.spare = Ratio::from_percent(3 + rng.below(20) as u32);
                if policy != MOVER {
                    plan.drive.write_buffer = None;
                    plan.drive.allocation = ssd::Allocation::NextDie;
                    plan.drive.rain = None;
                    plan.drive.cells = None;
                    plan.drive.scheduling.paced_writes = false;
                }
                let result = random_run(&plan, 1_500);
                assert_eq!(result.read.count() + result.write.count(), 1_500);
                moved += result.array.relocated_chunks;
                shared += result.array.shared_with_write;
                degraded += u64::from(policy != MOVER) * result.array.relocated_chunks;
                deallocated += result.drive_totals().deallocated_pages;
                assert!(result.array.relocated_chunks == 0 || result.map_bytes > 0);
            }
        }
    }
    if !testing::is_repeat() {
        assert!(moved > 15_000, "{moved} chunks moved");
        assert!(degraded > 1_500, "{degraded} of them by the model of the article");
        assert!(shared > 500, "{shared} reads took a chunk from the write that moved it");
        assert!(deallocated > 5_000, "{deallocated} pages deallocated");
    }
}
