//! Processor time of array and policy per request, without any drive model; `cargo bench -p
//! ioda-sim --bench policies`, `-- --quick` for a smoke test. The same measurement as `ioda bench
//! policies`.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use array::{Level, policy::PolicyKind};
use ioda_sim::{Plan, Preparation, bench_policies};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let drive = ssd::presets::preset("femu-artifact").ok_or("preset femu-artifact is gone")?;
    let preparation = Preparation::Fresh;
    let standard = Plan { preparation, ..Plan::new(drive, Level::Raid5, 4, PolicyKind::BASE) };
    let plans: Vec<Plan> = PolicyKind::ALL.iter().map(|&policy| standard.under(policy)).collect();
    let (requests, rounds) = if quick { (5_000, 2) } else { (200_000, 7) };
    println!("{:>18} {:>14} {:>9}", "policy", "ns per request", "relative");
    for time in bench_policies(&plans, requests, rounds)? {
        let of_base = time.of_base.unwrap_or(f64::NAN);
        println!("{:>18} {:>14.0} {of_base:>9.2}", time.policy.label(), time.nanos_per_io);
    }
    Ok(())
}
