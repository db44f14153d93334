//! Collection in steady state agrees with theory.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common::Host;
use ioda_ssd::{Blocking, CollectionUnit, Config, Ssd, presets};
use units::{Duration, Ratio};

/// A drive with blocks as large as the analysis assumes and few enough of them to run quickly.
fn drive(over_provisioning_percent: u32, unit: CollectionUnit) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 4;
    config.geometry.chips_per_channel = 2;
    config.geometry.pages_per_block = 128;
    config.over_provisioning = Ratio::from_percent(over_provisioning_percent);
    config.collection.soft = Ratio::from_percent(5);
    config.collection.restore = Ratio::from_percent(5);
    config.collection.hard = Ratio::from_percent(2);
    config.collection.min_invalid = Ratio::ZERO;
    config.collection.unit = unit;
    config.collection.blocking = Blocking::Die;
    config
}

/// `v` with `(1 − v) / (−ln v) = u`, by a method of its own.
fn valid_share(utilization: f64) -> f64 {
    let mut v: f64 = 0.5;
    for _ in 0..10_000 {
        v = (-(1.0 - v) / utilization).exp();
    }
    v
}

/// Write amplification by the analysis of greedy collection with large blocks, from the share of
/// pages that were valid in blocks neither free nor open.
fn analytic(config: &Config, free_share: f64) -> f64 {
    let blocks = f64::from(config.geometry.blocks_per_die());
    let open = 1.0 / blocks;
    let in_use = 1.0 - free_share - open;
    let utilization = config.logical_pages() as f64 / (config.geometry.pages() as f64 * in_use);
    1.0 / (1.0 - valid_share(utilization))
}

#[test]
fn write_amplification_is_within_5_percent_of_the_analysis() {
    for unit in [CollectionUnit::Block, CollectionUnit::Line] {
        for over_provisioning in [12, 18, 25, 35, 50] {
            let config = drive(over_provisioning, unit);
            let mut drive = Ssd::new(config.clone()).unwrap();
            assert!(drive.precondition(1).stable);
            let mut host = Host::new(2, 64, 100);
            let pages = drive.logical_blocks();
            host.run(&mut drive, pages, |_, _| {});
            let simulated = drive.counters().write_amplification();
            let expected = analytic(&config, drive.free_share());
            let error = simulated / expected - 1.0;
            println!(
                "{unit:?} {over_provisioning}%: simulated {simulated:.3}, analytic {expected:.3}, {:+.1}%",
                error * 100.0
            );
            assert!(error.abs() < 0.05, "{unit:?} {over_provisioning}%: {simulated} vs {expected}");
        }
    }
}

#[test]
fn the_artifact_amplifies_and_blocks_as_derived() {
    // Public artifact: write amplification 3.15, a collection blocks a die for about 44 ms.
    let mut drive = Ssd::new(presets::preset("femu-artifact").unwrap()).unwrap();
    assert!(drive.precondition(1).stable);
    drive.record_collections();
    let mut host = Host::new(3, 64, 100);
    let pages = drive.logical_blocks();
    host.run(&mut drive, pages / 2, |_, _| {});
    let simulated = drive.counters().write_amplification();
    let mut spans = Vec::new();
    drive.take_collections(&mut spans);
    let total: Duration = spans.iter().map(|span| span.ended.since(span.began)).sum();
    let mean_millis = total.as_millis_f64() / spans.len() as f64;
    println!(
        "write amplification {simulated:.3}, {} collections of {mean_millis:.1} ms",
        spans.len()
    );
    assert!((simulated / 3.15 - 1.0).abs() < 0.10, "{simulated}");
    assert!((mean_millis / 44.0 - 1.0).abs() < 0.10, "{mean_millis} ms");
}

#[test]
fn the_fast_way_leads_to_the_same_aged_drive() {
    for unit in [CollectionUnit::Block, CollectionUnit::Line] {
        for over_provisioning in [15, 30] {
            let config = drive(over_provisioning, unit);
            let measure = |prepare: fn(&mut Ssd)| {
                let mut drive = Ssd::new(config.clone()).unwrap();
                prepare(&mut drive);
                drive.check_invariants();
                let free = drive.free_share();
                // Measured from the first overwrite on, not after the drive has settled again.
                let pages = drive.logical_blocks();
                Host::new(4, 64, 100).run(&mut drive, pages / 3, |_, _| {});
                (drive.counters().write_amplification(), free)
            };
            let (steady, free_steady) = measure(|drive| {
                drive.precondition(7);
            });
            let (aged, free_aged) = measure(|drive| drive.age(7));
            println!("{unit:?} {over_provisioning}%: steady {steady:.3}, aged {aged:.3}");
            assert!((aged / steady - 1.0).abs() < 0.04, "{steady} and {aged}");
            assert!((free_aged - free_steady).abs() < 0.01, "{free_steady} and {free_aged}");
        }
    }
}
