//! `ioda bench`: how fast the simulator is, what policies take of a processor, and how punctual
//! this machine can be.

pub(crate) mod loading;
pub(crate) mod timer;

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output;
use crate::talk::Talk;
use array::Level;
use array::policy::PolicyKind;
use clap::{Args, ValueEnum};
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use sim::{BenchResult, Plan, PolicyTime};
use ssd::Config;
use study::Failure;
use study::Watch;
use study::table;
use units::Bytes;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda bench             about a minute; the largest drive needs 1.5 GB of memory
  ioda bench --quick     a few seconds, to see that it works
  ioda bench policies    what each policy takes of a processor for a request, without any drive
  ioda bench loading     many requests that wait, 64 drives prepared, a trace file: half a minute
  ioda bench timer       how late the best way to wait is here: nothing that is served is earlier

A page operation is a page read or programmed, for the host or for a collection. Each run is on one
core: page-sized requests at random addresses, 70 % reads, drives in steady state and collecting.
Every feature: read priority, collections that give way, suspension, copyback, scrubbing, a write
buffer of 8 MiB, and RAIN that collects block by block.

Policies are measured in turns, the best of several rounds each: array and policy alone, with drives
that answer every command after 100 us. Compare the ratios to Base, not the times.

Ways to wait are measured in turns, with one moment to meet every 100 to 200 us.";

/// Blocks in each plane, summed over the drives of an array: 64 GiB in all.
const ARRAY_BLOCKS: u32 = 4096;
/// A drive with RAIN takes much longer for a page, and gets so many times fewer.
const RAIN_SHARE: u64 = 10;
/// Requests in flight on every array, however wide.
const IODEPTH: u32 = 256;

/// Requests and rounds of the measurement of policies, and those of a smoke.
const POLICY_REQUESTS: u64 = 200_000;
const POLICY_ROUNDS: u32 = 7;
const QUICK_POLICY_REQUESTS: u64 = 5_000;
const QUICK_POLICY_ROUNDS: u32 = 2;

/// What to measure.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// How fast drives and arrays are simulated
    Simulator,
    /// Processor time of each policy
    Policies,
    /// Requests that wait, drives that are prepared, a trace file
    Loading,
    /// How late a moment is met by sleeping, spinning, and what `ioda serve` does
    Timer,
}

/// Options of `ioda bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(default_value = "simulator")]
    what: What,
    /// A smoke of a few seconds on small drives
    #[arg(long)]
    quick: bool,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
    /// Seed of the addresses, any whole number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// `ioda bench timer`: seconds for each way to wait, 1 to 3600
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
}

/// One line of the table.
struct Line {
    series: &'static str,
    what: String,
    result: BenchResult,
}

/// Measures and prints.
pub(crate) fn run(args: &BenchArgs, talk: Talk) -> Result<Code, Failure> {
    match args.what {
        What::Simulator => simulator(args, talk),
        What::Policies => policies(args),
        What::Loading => {
            loading::run(&plan(4, args.seed)?, args.quick, args.json.path())?;
            Ok(Code::Ok)
        }
        What::Timer => {
            timer::run(args.seconds, args.json.path(), talk)?;
            Ok(Code::Ok)
        }
    }
}

/// Measures every policy, those that need mirrors on mirrors.
fn policies(args: &BenchArgs) -> Result<Code, Failure> {
    let standard = plan(4, args.seed)?;
    let plans: Vec<Plan> = PolicyKind::ALL.iter().map(|&policy| standard.under(policy)).collect();
    let (requests, rounds) = match args.quick {
        true => (QUICK_POLICY_REQUESTS, QUICK_POLICY_ROUNDS),
        false => (POLICY_REQUESTS, POLICY_ROUNDS),
    };
    let times = sim::bench_policies(&plans, requests, rounds)?;
    output::show(args.json.path(), || policy_document(&times), || policy_table(&times))?;
    Ok(Code::Ok)
}

fn policy_table(times: &[PolicyTime]) -> String {
    let header = table::header(&["policy", "ns per request", "relative to Base"]);
    let rows: Vec<Vec<String>> = times
        .iter()
        .map(|time| {
            let of_base = time.of_base.map_or("-".into(), |of_base| format!("{of_base:.2}"));
            vec![time.policy.label().to_owned(), format!("{:.0}", time.nanos_per_io), of_base]
        })
        .collect();
    table::numbers(&header, &rows)
}

fn policy_document(times: &[PolicyTime]) -> PolicyTimes {
    let time = |time: &PolicyTime| PolicyCost {
        policy: time.policy.name(),
        label: time.policy.label(),
        nanos_per_io: time.nanos_per_io,
        of_base: time.of_base,
    };
    PolicyTimes { policies: times.iter().map(time).collect() }
}

/// Processor time of policies, as `ioda bench policies --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PolicyTimes {
    /// One entry for each policy.
    policies: Vec<PolicyCost>,
}

impl Document for PolicyTimes {
    const SCHEMA: &'static str = "ioda.bench-policies/1";
}

/// Processor time that a policy takes, the array included and drives not.
#[derive(Serialize, JsonSchema)]
struct PolicyCost {
    /// Name of the policy as people type it, such as `ioda`.
    policy: &'static str,
    /// Name of the policy in figures, such as `IODA`.
    label: &'static str,
    /// Nanoseconds of one core for a request.
    nanos_per_io: f64,
    /// As a multiple of that of Base; null without Base.
    of_base: Option<f64>,
}

/// Measures drives and arrays.
fn simulator(args: &BenchArgs, talk: Talk) -> Result<Code, Failure> {
    let mut lines = Vec::new();
    let pages: u64 = if args.quick { 200_000 } else { 4_000_000 };
    for (series, what, config) in drives(args.quick)? {
        say(talk, &what);
        let pages = if config.rain.is_some() { pages / RAIN_SHARE } else { pages };
        let result = sim::bench_drive(&config, sim::Copies::OneByOne, pages, args.seed)?;
        lines.push(Line { series, what, result });
    }
    let widths: &[u32] = if args.quick { &[4, 8] } else { &[4, 8, 16, 32, 64] };
    for &width in widths {
        let what = format!("{width} drives, raid5, Base");
        say(talk, &what);
        let requests = if args.quick { 50_000 } else { 1_500_000 };
        let (result, _) = sim::bench_array(&plan(width, args.seed)?, requests, IODEPTH)?;
        lines.push(Line { series: "array by width", what, result });
    }
    output::show(args.json.path(), || document(&lines), || show(&lines))?;
    Ok(Code::Ok)
}

fn say(talk: Talk, what: &str) {
    talk.remark(&format!("measuring {what}"));
}

fn femu() -> Result<Config, Failure> {
    ssd::presets::preset("femu-artifact")
        .ok_or_else(|| Failure::internal("the preset femu-artifact is gone"))
}

/// The drives to measure: the article's, and one of 16 KiB pages in growing sizes.
fn drives(quick: bool) -> Result<Vec<(&'static str, String, Config)>, Failure> {
    let mut article = femu()?;
    let blocks: &[u32] = if quick {
        article.geometry.blocks_per_plane = 64;
        &[64]
    } else {
        &[64, 256, 1024, 4096, 8192]
    };
    let size = Bytes(article.geometry.raw_bytes());
    let every = sim::with_every_feature(&article);
    let mut drives = vec![
        ("the article's drive", format!("{size}, pages of 4 KiB"), article),
        ("the article's drive", format!("{size}, pages of 4 KiB, every feature"), every),
    ];
    for &blocks_per_plane in blocks {
        let mut config = femu()?;
        config.geometry.page_bytes = 16 << 10;
        config.geometry.blocks_per_plane = blocks_per_plane;
        let size = Bytes(config.geometry.raw_bytes());
        drives.push(("drive by capacity", format!("{size}, pages of 16 KiB"), config));
    }
    Ok(drives)
}

fn plan(width: u32, seed: u64) -> Result<Plan, Failure> {
    let mut drive = femu()?;
    drive.geometry.pages_per_block = 64;
    // The array stays as large, and so do its maps: what is left is the cost of the width.
    drive.geometry.blocks_per_plane = ARRAY_BLOCKS / width;
    let chunk_bytes = u64::from(drive.geometry.page_bytes);
    Ok(Plan { chunk_bytes, seed, ..Plan::new(drive, Level::Raid5, width, PolicyKind::BASE) })
}

fn show(lines: &[Line]) -> String {
    let header = table::header(&[
        "",
        "size",
        "page operations",
        "million per second and core",
        "ns each",
        "relative",
        "WAF",
        "seconds",
    ]);
    let relative = |line: &Line| {
        let first = lines.iter().find(|first| first.series == line.series).unwrap_or(line);
        line.result.nanos_per_page_operation() / first.result.nanos_per_page_operation()
    };
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let Line { series, what, result } = line;
            vec![
                (*series).to_owned(),
                what.clone(),
                result.page_operations.to_string(),
                format!("{:.2}", result.page_operations_per_second() / 1e6),
                format!("{:.0}", result.nanos_per_page_operation()),
                format!("{:.2}", relative(line)),
                format!("{:.2}", result.write_amplification),
                format!("{:.2}", result.wall.as_secs_f64()),
            ]
        })
        .collect();
    format!(
        "{}  WAF: write amplification, pages of flash programmed per page written to the drives\n",
        table::numbers_between(&header, &rows, 2, 0)
    )
}

fn document(lines: &[Line]) -> Benchmarks {
    let benchmark = |Line { series, what, result }: &Line| Benchmark {
        series,
        size: what.clone(),
        page_operations: result.page_operations,
        host_pages: result.host_pages,
        page_operations_per_second: result.page_operations_per_second(),
        nanos_per_page_operation: result.nanos_per_page_operation(),
        write_amplification: result.write_amplification,
        wall_seconds: result.wall.as_secs_f64(),
        simulated_seconds: result.simulated.as_secs_f64(),
    };
    Benchmarks { benchmarks: lines.iter().map(benchmark).collect() }
}

/// How fast drives and arrays are simulated, as `ioda bench --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Benchmarks {
    /// One entry for each drive or array.
    benchmarks: Vec<Benchmark>,
}

impl Document for Benchmarks {
    const SCHEMA: &'static str = "ioda.bench/1";
}

/// A drive or an array, simulated on one core.
#[derive(Serialize, JsonSchema)]
struct Benchmark {
    /// What it is compared with: the entries of the same series.
    series: &'static str,
    /// What was simulated, in words.
    size: String,
    /// Pages read and programmed, collections included.
    page_operations: u64,
    /// Pages read and written by the host.
    host_pages: u64,
    /// Page operations for each second that passed.
    page_operations_per_second: f64,
    /// Nanoseconds for each page operation.
    nanos_per_page_operation: f64,
    /// Write amplification of the drives: pages of flash programmed per page that was written to
    /// them.
    write_amplification: f64,
    /// Time it took, in seconds.
    wall_seconds: f64,
    /// Time that passed in the simulation, in seconds.
    simulated_seconds: f64,
}
