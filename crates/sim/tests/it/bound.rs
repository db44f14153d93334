//! The window formula is right and tight: no violation at the bound, violations beyond it.
//!
//! The usable share of the over-provisioned space lies between the watermarks. Models of 512 GiB
//! and more have a sixteenth of their blocks per chip. This shortens every window to a sixteenth
//! and changes nothing else.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use ioda_sim::{AtRest, Burst, breaks_contract, burst, longest_simulated_window};
use nvme::ArrayDescription;
use units::Duration;

const MODELS: [&str; 6] = ["sim", "ocssd", "femu", "970", "p4600", "sn260"];

fn model(name: &str) -> ssd::Config {
    let mut drive = ssd::presets::preset(name).unwrap();
    if drive.geometry.blocks_per_plane > 1000 {
        drive.geometry.blocks_per_plane /= 16;
    }
    drive.contract.usable_share = drive.watermark_share();
    drive
}

fn scaled(window: Duration, by: f64) -> Duration {
    Duration::from_nanos((window.as_nanos() as f64 * by) as u64)
}

/// A burst of one cycle in windows of the bound.
fn at_the_bound(drive: &ssd::Config, array: ArrayDescription, load: f64) -> Burst {
    let guard = Duration::ZERO;
    Burst {
        drive: drive.clone(),
        array,
        busy_time_window: drive.window_parameters().safe_window(array, load, guard),
        guard,
        bytes_per_second: load,
        cycles: 1,
        seed: 1,
    }
}

#[test]
fn the_bound_holds_and_half_as_much_again_does_not() {
    let judge = |name: &str| {
        let drive = model(name);
        let at_rest = AtRest::new(&drive, 1).unwrap();
        let check = |load: f64, widths: &[u32], parities: u32| {
            for &width in widths {
                let plan = at_the_bound(&drive, ArrayDescription { width, parities }, load);
                let bound = plan.busy_time_window;
                let result = burst(&at_rest, &plan);
                assert!(result.counters.host_programs_pages > 1000, "{name}: hardly a burst");
                assert!(result.holds(), "{name}, {width} drives, {load} B/s, {bound}: {result:?}");
                let longer = Burst { busy_time_window: scaled(bound, 1.5), ..plan };
                let breaks = breaks_contract(&at_rest, &longer);
                assert!(breaks, "{name}, {width} drives, {load} B/s: 1.5 × {bound} holds");
            }
        };
        let every: Vec<u32> = (4..=24).collect();
        check(drive.contract.burst_bytes_per_second, &every, 1);
        check(drive.normal_bytes_per_second(), &[4, 8, 16, 24], 1);
        // With two parities two windows overlap, and windows are about twice as long.
        check(drive.contract.burst_bytes_per_second, &[5, 6, 12], 2);
    };
    std::thread::scope(|scope| {
        for half in MODELS.chunks(3) {
            scope.spawn(|| half.iter().for_each(|name| judge(name)));
        }
    });
}

#[test]
fn the_articles_bound_is_too_long_where_collection_outruns_the_load() {
    // FEMU at its rated 40 drive writes per day: B_gc is 44 MB/s, the load 18 MB/s.
    let drive = model("femu");
    let array = ArrayDescription { width: 4, parities: 1 };
    let load = drive.normal_bytes_per_second();
    let plan = at_the_bound(&drive, array, load);
    let article = drive.window_parameters().longest_window(array, load).unwrap();
    assert!(article > plan.busy_time_window);
    let at_rest = AtRest::new(&drive, 1).unwrap();
    assert!(breaks_contract(&at_rest, &Burst { busy_time_window: article, ..plan.clone() }));
    assert!(!breaks_contract(&at_rest, &plan));
}

#[test]
fn the_bound_is_within_an_eighth_of_what_the_simulation_finds() {
    for name in ["femu", "970"] {
        let drive = model(name);
        let at_rest = AtRest::new(&drive, 1).unwrap();
        let array = ArrayDescription { width: 8, parities: 1 };
        let plan = at_the_bound(&drive, array, drive.normal_bytes_per_second());
        let simulated = longest_simulated_window(&at_rest, &plan);
        let ratio = simulated.as_secs_f64() / plan.busy_time_window.as_secs_f64();
        println!("{name}: formula {}, simulated {simulated}", plan.busy_time_window);
        assert!((1.0..1.125).contains(&ratio), "{name}: {ratio}");
    }
}
