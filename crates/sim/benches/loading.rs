//! Benchmarks beside the drive model: waiting requests, prepared drives, a trace file. `cargo bench
//! -p ioda-sim --bench loading`, `-- --quick` for a smoke test.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, bench_preparation, bench_trace, bench_waiting};
use units::Bytes;

/// Number of stripes to which all requests of the first table go.
const SAME_STRIPES: u64 = 8;
/// Number of requests of the trace.
const TRACE_REQUESTS: u64 = 700_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let drive = ssd::presets::preset("femu-artifact").ok_or("preset femu-artifact is gone")?;
    let standard = Plan::new(drive, Level::Raid5, 4, PolicyKind::BASE);
    waiting(&standard, quick)?;
    preparation(&standard, quick)?;
    trace(&standard, quick)
}

/// The cost of a request must not grow with the number of those that wait.
fn waiting(plan: &Plan, quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    println!("writes of one page under way at once, RAID-5 of 4 drives, Base, no drive model");
    println!(
        "{:>10} {:>22} {:>9} {:>22} {:>9}",
        "waiting", "same stripes, ns each", "relative", "spread, ns each", "relative"
    );
    let (mut first_same, mut first_spread) = (None, None);
    for waiting in [10, 100, 1_000, 10_000, 100_000] {
        if quick && waiting > 1_000 {
            break;
        }
        let requests = if quick { 20_000 } else { 200_000 };
        let rounds = 3;
        let best = |stripes| -> Result<f64, ioda_sim::PlanError> {
            let mut best = f64::INFINITY;
            for _ in 0..rounds {
                let nanos = bench_waiting(plan, waiting, stripes, requests)?;
                best = best.min(nanos);
                // One round is enough to see that a cost has exploded.
                if nanos > 20_000.0 {
                    break;
                }
            }
            Ok(best)
        };
        let (same, spread) = (best(Some(SAME_STRIPES))?, best(None)?);
        println!(
            "{waiting:>10} {same:>22.0} {:>9.2} {spread:>22.0} {:>9.2}",
            same / *first_same.get_or_insert(same),
            spread / *first_spread.get_or_insert(spread),
        );
    }
    Ok(())
}

fn preparation(plan: &Plan, quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut plan = Plan { width: if quick { 8 } else { 64 }, ..plan.clone() };
    if quick {
        plan.drive.geometry.blocks_per_plane /= 4;
    }
    let size = Bytes(plan.drive.geometry.raw_bytes());
    let time = bench_preparation(&plan)?.as_secs_f64();
    let each = time * 1e3 / f64::from(plan.width);
    println!("\n{} drives of {size} aged in {time:.2} s, {each:.1} ms each", plan.width);
    Ok(())
}

fn trace(plan: &Plan, quick: bool) -> Result<(), Box<dyn std::error::Error>> {
    let requests = if quick { 20_000 } else { TRACE_REQUESTS };
    let (level, width, chunk_bytes) = (Level::Raid0, 1, 1 << 20);
    let plan = Plan { level, width, chunk_bytes, ..plan.clone() };
    let path = std::env::temp_dir().join(format!("ioda-bench-{}.csv", std::process::id()));
    let time = bench_trace(&plan, requests, &path);
    std::fs::remove_file(&path).ok();
    let time = time?;
    let nanos = |wall: std::time::Duration| wall.as_secs_f64() * 1e9 / requests as f64;
    println!(
        "\ntrace file of {requests} requests on one drive, ns per request: {:.0} to parse, {:.0} to \
         prepare the drive, {:.0} to replay ({} page operations)",
        nanos(time.parse),
        nanos(time.prepare),
        nanos(time.replay),
        time.page_operations,
    );
    Ok(())
}
