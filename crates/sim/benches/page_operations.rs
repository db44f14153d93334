//! Page operations simulated per second and core. `cargo bench -p ioda-sim`, `-- --quick` for a
//! smoke test.
//!
//! The same measurements as `ioda bench`, as ratios within one run: speed by drive size and by
//! array width, each against the first row of its table.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use array::{Level, policy::PolicyKind};
use ioda_sim::{Copies, Plan, bench_array, bench_drive, with_every_feature};
use units::Bytes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let host_pages = if quick { 100_000 } else { 6_000_000 };
    let artifact = ssd::presets::preset("femu-artifact").ok_or("preset femu-artifact is gone")?;

    against_one_drive(&artifact, host_pages, if quick { 1 } else { 3 })?;

    println!("\nsingle drive, 70 % reads and 30 % writes of one page, steady state, collection on");
    println!(
        "{:>23} {:>14} {:>12} {:>9} {:>7}",
        "capacity", "Mpage-op/s", "ns/page-op", "relative", "WAF"
    );
    let mut drives = Vec::new();
    for doublings in [0, 2, 4, 7] {
        if quick && doublings > 2 {
            break;
        }
        let mut config = artifact.clone();
        // 16 GiB with 4 KiB pages, and up to 2 TiB with 16 KiB pages.
        if doublings >= 2 {
            config.geometry.page_bytes *= 4;
            config.geometry.blocks_per_plane <<= doublings - 2;
        }
        drives.push((Bytes(config.geometry.raw_bytes()).to_string(), config));
    }
    let every = format!("{}, every feature", Bytes(artifact.geometry.raw_bytes()));
    drives.insert(1, (every, with_every_feature(&artifact)));
    let mut first = None;
    for (capacity, config) in drives {
        // A drive with RAIN takes much longer for a page.
        let host_pages = if config.rain.is_some() { host_pages / 10 } else { host_pages };
        let result = bench_drive(&config, Copies::OneByOne, host_pages, 1)?;
        let nanos = result.nanos_per_page_operation();
        println!(
            "{capacity:>23} {:>14.2} {:>12.1} {:>9.2} {:>7.2}",
            result.page_operations_per_second() / 1e6,
            nanos,
            nanos / *first.get_or_insert(nanos),
            result.write_amplification,
        );
    }

    println!("\narray of 64 GiB over more and more drives, RAID-5, Base, 256 requests in flight");
    println!("{:>10} {:>14} {:>12} {:>9}", "drives", "Mpage-op/s", "ns/page-op", "relative");
    let mut drive = artifact;
    drive.geometry.pages_per_block = 64;
    let mut first = None;
    for width in [4, 8, 16, 32, 64] {
        if quick && width > 8 {
            break;
        }
        // The array keeps its size, and so do its maps: the rest is the cost of the width.
        drive.geometry.blocks_per_plane = 1024 * 4 / width;
        let (result, _) = bench_array(&raid5(&drive, width), host_pages / 4, 256)?;
        let nanos = result.nanos_per_page_operation();
        println!(
            "{width:>10} {:>14.2} {nanos:>12.1} {:>9.2}",
            result.page_operations_per_second() / 1e6,
            nanos / *first.get_or_insert(nanos),
        );
    }
    Ok(())
}

/// Prints the speed of four drives in RAID-5 as a share of one drive's, once without and once with
/// deferred copies. The three are measured in turns; the best turn of each counts.
fn against_one_drive(
    drive: &ssd::Config,
    host_pages: u64,
    rounds: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut one, mut deferring, mut four) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..rounds {
        let plain = bench_drive(drive, Copies::OneByOne, host_pages, 1)?;
        one = one.max(plain.page_operations_per_second());
        let result = bench_drive(drive, Copies::Deferred, host_pages, 1)?;
        deferring = deferring.max(result.page_operations_per_second());
        let (result, _) = bench_array(&raid5(drive, 4), host_pages / 4, 256)?;
        four = four.max(result.page_operations_per_second());
    }
    println!(
        "million page operations per second on one core: one drive {:.2}, with deferred copies {:.2}, \
         four drives in RAID-5 {:.2}: {:.2} and {:.2} of it",
        one / 1e6,
        deferring / 1e6,
        four / 1e6,
        four / one,
        four / deferring
    );
    Ok(())
}

/// An array of such drives under Base.
fn raid5(drive: &ssd::Config, width: u32) -> Plan {
    Plan::new(drive.clone(), Level::Raid5, width, PolicyKind::BASE)
}
