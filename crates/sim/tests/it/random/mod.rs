//! Random plans on tiny drives that collect all the time.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use array::WindowChange;
use array::policy::{
    AllocationConfig, AttentiveSettings, BaseRule, HedgeSettings, PlmLightSettings, PolicyKind,
    PolicySettings, SitOutSettings, TrainedOn, WriteCacheSettings,
};
use ioda_sim::{Coordinate, Plan, Preparation, WindowPlan};
use ssd::{
    Allocation, Arbitration, Blocking, CellConfig, CollectionTrigger, CollectionUnit, FlushRule,
    PageTime, PreemptionScope, PulseConfig, QueueConfig, RainConfig, RangeConfig, RangePlacement,
    RetryConfig, Rotation, SchedulingConfig, ScrubConfig, SlcCacheConfig, SlcOverflow, Suspendable,
    SuspensionConfig, WriteBufferConfig, presets,
};
use units::{DriveId, Duration, Ratio, Rng};

/// A drive of a few hundred pages: small enough that every run overwrites it several times.
fn tiny_drive(rng: &mut Rng) -> ssd::Config {
    let mut drive = presets::preset("femu").unwrap();
    drive.name = String::from("tiny");
    drive.geometry.channels = 1 + rng.below(3) as u32;
    drive.geometry.chips_per_channel = 1 + rng.below(2) as u32;
    drive.geometry.blocks_per_plane = 16;
    drive.geometry.pages_per_block = 8;
    drive.over_provisioning = Ratio::from_percent(45);
    drive.collection.soft = Ratio::from_percent(25);
    drive.collection.restore = Ratio::from_percent(25 + 7 * rng.below(2) as u32);
    drive.collection.hard = Ratio::from_percent(13);
    drive.collection.unit =
        if rng.below(2) == 0 { CollectionUnit::Block } else { CollectionUnit::Line };
    drive.collection.blocking = match rng.below(3) {
        0 => Blocking::Die,
        1 => Blocking::Channel,
        _ => Blocking::Controller,
    };
    if rng.below(2) == 0 {
        drive.timing.transfer = Duration::ZERO;
        drive.timing.pcie_bytes_per_second = None;
    }
    drive.write_buffer = match rng.below(4) {
        0 => Some(FlushRule::WhenFull),
        1 => Some(FlushRule::InWindow),
        _ => None,
    }
    .map(|flush| WriteBufferConfig { flush, ..WriteBufferConfig::new(1 + rng.below(64) as u32) });
    drive.collection.copyback = rng.below(2) == 0;
    if drive.collection.copyback && rng.below(2) == 0 {
        let after = Duration::from_micros(1 + rng.below(2_000));
        drive.scrub = Some(ScrubConfig { after });
    }
    if drive.collection.blocking == Blocking::Die {
        let most = rng.below(4) as u32;
        let (program, erase) = (Duration::from_micros(10), Duration::from_micros(100));
        let read_priority = rng.below(2) == 0;
        drive.scheduling = SchedulingConfig {
            paced_writes: false,
            turns: None,
            in_order_when_full: false,
            read_priority,
            preemptive_collection: rng.below(2) == 0,
            preemption_scope: PreemptionScope::Die,
            suspension: (read_priority && most > 0).then_some(SuspensionConfig {
                what: Suspendable::Everything,
                program,
                erase,
                most,
                pulses: PulseConfig::NONE,
            }),
        };
    }
    let ranges = RangeConfig { count: 2, placement: RangePlacement::Channels };
    let may_have_ranges =
        drive.write_buffer.is_none() && drive.collection.unit == CollectionUnit::Block;
    if may_have_ranges && drive.geometry.channels.is_multiple_of(2) {
        drive.ranges = ranges;
    }
    drive
}

/// Some drives get a queue of limited depth, collect after host commands only, or block their
/// channel for copies but not for erases.
fn add_ssdsim(drive: &mut ssd::Config, rng: &mut Rng) {
    if rng.below(4) == 0 {
        drive.collection.trigger = CollectionTrigger::HostCommand;
    }
    if rng.below(4) == 0 {
        let depth = 1 + rng.below(40) as u32;
        let arbitration = Arbitration::RoundRobin;
        drive.queue = Some(QueueConfig { depth, arbitration });
    }
    if drive.collection.blocking == Blocking::Channel && rng.below(2) == 0 {
        drive.collection.blocking = Blocking::ChannelForCopies;
    }
    if rng.below(3) == 0 {
        drive.scheduling.preemption_scope = PreemptionScope::Channel;
    }
    if let Some(suspension) = &mut drive.scheduling.suspension
        && rng.below(2) == 0
    {
        suspension.what = Suspendable::Collection;
        drive.scheduling.read_priority = rng.below(2) == 0;
    }
    if drive.write_buffer.is_some() && rng.below(3) == 0 {
        drive.allocation = Allocation::Static;
    }
}

/// Turns a drive in three into one with parity of its own.
fn add_rain(drive: &mut ssd::Config, rng: &mut Rng) {
    if rng.below(3) > 0 {
        return;
    }
    let width = 3 + rng.below(3) as u32;
    drive.geometry.channels = width * (1 + rng.below(2) as u32);
    drive.geometry.chips_per_channel = 1 + rng.below(2) as u32;
    drive.collection.unit = CollectionUnit::Block;
    drive.ranges = RangeConfig::ONE;
    let pages = 2 * width + rng.below(60) as u32;
    drive.write_buffer = Some(WriteBufferConfig::new(pages));
    let rotation = [Rotation::Off, Rotation::On, Rotation::Forced][rng.below(3) as usize];
    if drive.collection.blocking == Blocking::ChannelForCopies {
        drive.collection.blocking = Blocking::Channel;
    }
    let rotates = drive.collection.blocking == Blocking::Die;
    drive.rain = Some(RainConfig {
        tolerant_reads: rng.below(4) > 0,
        rotation: if rotates { rotation } else { Rotation::Off },
        wear_leveling: (rng.below(2) == 0).then_some(1 + rng.below(4) as u32),
        ..RainConfig::new(width)
    });
}

/// Turns a drive in four into one that programs many pages at a time.
fn add_cells(drive: &mut ssd::Config, rng: &mut Rng) {
    if rng.below(4) > 0 {
        return;
    }
    let bits = 1 + rng.below(4) as u32;
    let planes = 1 + rng.below(3) as u32;
    let page = |at: u64| PageTime {
        read: Duration::from_micros(20 + 10 * at),
        program: Duration::from_micros(100 + 50 * at),
    };
    let cells = CellConfig {
        page_types: [page(0), page(1), page(2), page(3)],
        bits,
        blocks_per_page: 1 + rng.below(3) as u32,
        planes,
        one_shot: rng.below(2) == 0,
        read_groups: if rng.below(2) == 0 { planes } else { 1 },
        slc: None,
    };
    let unit = cells.unit_pages();
    drive.geometry.pages_per_block = unit * (5 + rng.below(4) as u32);
    drive.over_provisioning = Ratio::from_percent(65);
    (drive.rain, drive.scrub, drive.ranges) = (None, None, RangeConfig::ONE);
    drive.collection.copyback = false;
    drive.scheduling.paced_writes = drive.scheduling.preemptive_collection && rng.below(2) == 0;
    let flush = [FlushRule::WhenFull, FlushRule::InWindow][rng.below(2) as usize];
    let pages = unit * (2 + rng.below(4) as u32);
    drive.write_buffer = Some(WriteBufferConfig { flush, ..WriteBufferConfig::new(pages) });
    drive.cells = Some(cells);
    // Such drives program many pages at a time, on whichever die is next.
    drive.allocation = Allocation::NextDie;
    drive.retry = (rng.below(2) == 0).then_some(RetryConfig {
        share: Ratio::from_percent(5),
        wear_share: Ratio::from_percent(20),
        rated_erases: 100,
        worn_erases: 50,
        age_share: Ratio::from_percent(1),
        age_months: 3,
        disturb_share: Ratio::from_percent(10 * rng.below(2) as u32),
        rated_reads: 40,
        most: 4,
    });
}

/// Turns half of the drives with several bits in a cell into ones with a cache of SLC blocks.
fn add_cache(drive: &mut ssd::Config, rng: &mut Rng) {
    let Some(cells) = drive.cells.as_mut().filter(|cells| cells.bits > 1) else { return };
    if rng.below(2) == 0 {
        return;
    }
    let waits = rng.below(3) == 0;
    let most_blocks = 1 + rng.below(4) as u32;
    let fixed_blocks = u32::from(waits || rng.below(2) == 0);
    cells.slc = Some(SlcCacheConfig {
        page: PageTime { read: Duration::from_micros(15), program: Duration::from_micros(60) },
        most_blocks,
        fixed_blocks,
        fold_after: Duration::from_micros(1 + rng.below(3_000)),
        low_blocks: if waits { 1 } else { rng.below(2) as u32 },
        overflow: if waits { SlcOverflow::Wait } else { SlcOverflow::Bypass },
    });
    drive.geometry.pages_per_block = cells.row_pages() * cells.bits * (2 + rng.below(3) as u32);
    drive.over_provisioning = Ratio::from_percent(75);
}

/// Windows of every kind, with clock skew and guards that may not suffice: the contract may break,
/// but data must stay right.
fn random_windows(rng: &mut Rng, ranges: u32, drives: u32) -> WindowPlan {
    let window = |rng: &mut Rng| Duration::from_micros(2_000 + rng.below(60_000));
    let mut windows = WindowPlan::fixed(window(rng));
    windows.clock_skew = Duration::from_micros(rng.below(2) * rng.below(900));
    windows.guard = (rng.below(2) == 0).then_some(Duration::ZERO);
    let period = Duration::from_millis(1 + rng.below(50));
    match rng.below(4) {
        0 => {
            let increment = Duration::from_millis(1 + rng.below(10));
            windows.coordinate = Coordinate::Adaptive { period, increment };
        }
        1 if ranges == 1 => windows.coordinate = Coordinate::Token { lease: None, period },
        2 => {
            let times = [20, 90, 400].map(Duration::from_millis);
            let mut change = || WindowChange {
                busy_time_window: window(rng),
                array_width: (rng.below(2) == 0).then(|| drives + rng.below(4) as u32),
            };
            windows.changes = times.map(|time| (time, change())).to_vec();
        }
        _ => {}
    }
    windows
}

/// Delays and objectives that are too short to be met; write caches that are often full, let some
/// writes pass, and drain little at a time.
fn random_settings(rng: &mut Rng, page: u64) -> PolicySettings {
    let micros = |rng: &mut Rng, most| Duration::from_micros(rng.below(most));
    let some = |rng: &mut Rng, most: u64| (rng.below(3) > 0).then(|| 1 + rng.below(most));
    PolicySettings {
        hedge: HedgeSettings {
            delay: micros(rng, 2_000),
            quantile: Ratio::from_percent(50 + rng.below(50) as u32),
            budget: Ratio::from_percent(rng.below(101) as u32),
        },
        spare_reads: 1 + rng.below(2) as u32,
        sit_out: SitOutSettings {
            interval: Duration::from_micros(1) + micros(rng, 3_000),
            looks: 1,
            period: micros(rng, 20_000),
        },
        objective: micros(rng, 2_000),
        write_cache: WriteCacheSettings {
            capacity_bytes: some(rng, 120).map(|pages| page * pages),
            read_latency: some(rng, 20).map(Duration::from_micros),
            write_latency: some(rng, 20).map(Duration::from_micros),
            largest_write_bytes: some(rng, 4).map(|pages| page * pages),
            drain_depth: some(rng, 6).map(|depth| depth as u32),
        },
        plm_light: PlmLightSettings {
            deterministic_window: Duration::from_micros(1) + micros(rng, 2_000),
            shortest_drain: micros(rng, 200),
            longest_drain: micros(rng, 20_000),
            allocation: AllocationConfig {
                deterministic: Ratio::from_percent(rng.below(120) as u32),
                base: Ratio::from_percent(rng.below(101) as u32),
                rule: if rng.below(2) == 0 { BaseRule::Equal } else { BaseRule::Prioritized },
                smoothing: Ratio::from_percent(rng.below(101) as u32),
            },
            message: micros(rng, 1_500),
            ..PlmLightSettings::default()
        },
        predictor: TrainedOn::ALL[rng.below(TrainedOn::ALL.len() as u64) as usize],
        attentive: AttentiveSettings {
            extra_reads: Ratio::from_percent(rng.below(101) as u32),
            most_in_flight: 1 + rng.below(64) as u32,
            oracle: rng.below(2) == 0,
        },
        ..PolicySettings::default()
    }
}

/// A random plan. One in three has a drive of another model, twice as slow. Policies with windows
/// have identical drives.
pub(crate) fn random_mixed_plan(seed: u64, level: Level, policy: PolicyKind) -> Plan {
    let plan = random_plan(seed, level, policy);
    if policy.uses_windows() || Rng::stream(seed, "other").below(3) > 0 {
        return plan;
    }
    let mut other = plan.drive.clone();
    other.timing.read = other.timing.read * 2;
    other.timing.program = other.timing.program * 2;
    Plan { other_drives: vec![(DriveId(0), other)], ..plan }
}

pub(crate) fn random_plan(seed: u64, level: Level, policy: PolicyKind) -> Plan {
    let mut rng = Rng::stream(seed, "plan");
    let mut drive = tiny_drive(&mut rng);
    add_ssdsim(&mut drive, &mut Rng::stream(seed, "ssdsim"));
    add_rain(&mut drive, &mut Rng::stream(seed, "rain"));
    add_cells(&mut drive, &mut Rng::stream(seed, "cells"));
    add_cache(&mut drive, &mut Rng::stream(seed, "cache"));
    let page = u64::from(drive.geometry.page_bytes);
    let more = rng.below(4) as u32;
    let width = level.least_width() + if level == Level::Raid10 { 2 * more } else { more };
    let windows = random_windows(&mut rng, drive.ranges.count, width);
    let mut stripes = Rng::stream(seed, "stripes");
    let narrow = level != Level::Raid10 && stripes.below(2) == 0;
    let stripe_width =
        narrow.then(|| level.least_width() + stripes.below(u64::from(more) + 1) as u32);
    let chunk_pages = 1 + rng.below(4);
    Plan {
        other_drives: Vec::new(),
        width,
        stripe_width,
        spare: Ratio::ZERO,
        // A single drive is not cut into chunks.
        chunk_bytes: if width == 1 { drive.logical_bytes() } else { page * chunk_pages },
        drive,
        level,
        policy,
        policy_settings: random_settings(&mut Rng::stream(seed, "policy"), page),
        windows,
        reconstruct_compute: Duration::from_micros(3),
        preparation: match rng.below(3) {
            0 => Preparation::Steady,
            1 => Preparation::Aged,
            _ => Preparation::Fresh,
        },
        ages: None,
        seed,
        verify: true,
        timeline: None,
        measured: ioda_sim::Measured::default(),
    }
}
