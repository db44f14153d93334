//! `ioda sweep`: one parameter or two over a range.

use super::merge::{self, MergeArgs};
use crate::arguments::ArrayArgs;
use crate::exit::Code;
use crate::flags::{self, JsonArgs};
use crate::output;
use crate::talk::Talk;
use array::policy::PolicyKind;
use clap::{Args, Subcommand};
use sim::Measured;
use std::path::PathBuf;
use study::Failure;
use study::jobs::{self, Journal, Shard};
use study::settings::{RunSettings, Settings, WorkloadSettings};
use study::setup;
use study::sweep::{self, Matrix, Parameter, Question, Wanted};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda sweep tpcc --vary load=0.01,0.02,0.05,0.1 --policy base,ioda,ideal
      how latency grows with load; writes ioda-sweep/sweep.html, sweep.json and runs.jsonl
  ioda sweep tpcc --vary load=0.01,0.02,0.05,0.1 --policy base,ioda,ideal --metric read.p99
      another metric of the same runs: nothing is run again
  ioda sweep --vary width=4..16:4 --vary window=50ms,100ms,200ms --seeds 3 --output my-sweep
      two parameters: a heat map for each policy
  ioda sweep --vary over-provisioning=10%..40%:10% --vary buffer=none,1m..64m:x4
  ioda sweep synthetic --rw randrw --number_ios 100000 --vary iodepth=1..64:x2 --policy ioda
  ioda sweep tpcc --vary load=0.01,0.02,0.05,0.1 --seeds 20 --shard 3/64 --output sweep-3
      the third of 64 parts, for one of 64 machines; `ioda sweep merge` puts them together

KEY is a path of the configuration such as drive.over_provisioning, its last word if that is the only
such (iodepth), or one of load (workload.rerate), width (array.drives), window (array.tw),
over-provisioning and buffer (drive.write_buffer). VALUES is a list a,b,c whose members are values or
ranges FIRST..LAST:STEP or FIRST..LAST:xFACTOR, with units where the key has them.

A run is kept when it ends, so Ctrl-C loses the runs that are under way and no more; runs are known by a
hash of everything that determines them, and may be shared by sweeps in one folder. Every run is that of
`ioda run` with the same settings. docs/sweep.md is the tutorial.

Exit code 4 if a run failed; the others are shown all the same.";

pub(crate) const MERGE_EXAMPLES: &str = "\
Examples:
  ioda sweep merge sweep-* --output sweep
      the runs of every shard in one folder; then the same `ioda sweep` with --output sweep and
      without --shard finds them all, and writes the document and the page
  ioda sweep merge elsewhere/ioda-sweep --output ioda-sweep
      what was made elsewhere need not be made here

A folder that is still being written is refused, and so are two different records of one run: then
nothing is written. What an interrupt left of a last line is not taken.";

/// What is shown unless metrics are named.
const METRICS: [&str; 3] = ["read.p99.9", "write.p99.9", "waf"];

/// Options of `ioda sweep`.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SweepArgs {
    /// What is done with runs that are kept; without it they are made.
    #[command(subcommand)]
    command: Option<SweepCommand>,
    /// What is varied and its values, such as load=0.01,0.1 or width=4..16:4; once or twice
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    vary: Vec<String>,
    /// What is shown, in the words of --assert; repeatable [default: read.p99.9, write.p99.9, waf]
    #[arg(long, value_name = "METRIC")]
    metric: Vec<Wanted>,
    /// So many seeds, counted from --seed, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u32,
    /// Show how sure latencies are: with one seed each has an interval of 95 %, and JSON has those
    /// of all seeds
    #[arg(long)]
    intervals: bool,
    /// Where results go and are kept
    #[arg(long, value_name = "FOLDER", default_value = "ioda-sweep")]
    output: PathBuf,
    /// Forget the runs that are kept in the folder
    #[arg(long)]
    fresh: bool,
    /// Make the K-th of N parts of the runs only, such as 3/64; N is 1 to 10000. Parts are blocks
    /// of runs that follow each other, so that those on the same drives stay together, and differ
    /// by one run at most. `ioda sweep merge` puts them together
    #[arg(long, value_name = "K/N", conflicts_with = "json")]
    shard: Option<Shard>,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
    /// TOML file with the sections array, windows, stage, policies, drive, workload and run; flags
    /// override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The workload.
    #[command(flatten)]
    workload: WorkloadSettings,
    /// The array and its drives.
    #[command(flatten)]
    array: ArrayArgs,
    /// The run.
    #[command(flatten)]
    run: RunSettings,
}

/// What is done with runs that are kept.
#[derive(Subcommand, Clone, Debug)]
enum SweepCommand {
    /// Put the runs of several folders into one: those of shards
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
}

/// Runs what is missing and shows everything.
pub(crate) fn run(args: &SweepArgs, talk: Talk) -> Result<Code, Failure> {
    live::allocator::give_back_large_blocks();
    if let Some(SweepCommand::Merge(args)) = &args.command {
        return merge::run::<sweep::Record>(args, talk);
    }
    let question = question(args)?;
    let threads = setup::threads(&question.settings.run)?;
    let matrix = Matrix::new(&question, &talk)?;
    let mut journal = Journal::open(&args.output, args.fresh)?;
    let part = jobs::part(&matrix.jobs, args.shard);
    jobs::say_found(part, &journal, &args.output, &talk);
    jobs::run(part, &mut journal, threads, &talk)?;
    journal.finish()?;
    if let Some(shard) = args.shard {
        jobs::end_shard(shard, &matrix.jobs, &journal, &args.output, &talk)?;
        return Ok(Code::Ok);
    }
    let sweep = sweep::document(&question, &matrix, &journal, &metrics(args)?)?;
    jobs::write(&args.output, "sweep", &sweep, report::html::render_sweep(&sweep), &talk)?;
    output::show(args.json.path(), || sweep.clone(), || report::table::render_sweep(&sweep))?;
    jobs::end(sweep.failures(), sweep.runs.len())?;
    Ok(Code::Ok)
}

fn question(args: &SweepArgs) -> Result<Question, Failure> {
    let file = match &args.config {
        Some(path) => study::settings::load(path)?,
        None => Settings::default(),
    };
    let others =
        Settings { workload: args.workload.clone(), run: args.run.clone(), ..Settings::default() };
    let settings = args.array.overlay(&file, others)?;
    let parameters = args.vary.iter().map(|text| Parameter::parse(text, &settings));
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    Parameter::check_all(&parameters)?;
    let mut policies: Vec<PolicyKind> = Vec::new();
    for policy in settings.run.policy.iter().map(|text| text.value.0) {
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    if policies.is_empty() {
        policies = setup::possible(&PolicyKind::IODA_PARTS, &settings.array);
    }
    let seeds = flags::seeds(args.seeds, settings.run.seed.as_ref())?;
    let measured = Measured { intervals: args.intervals, ..Measured::default() };
    Ok(Question { settings, parameters, policies, seeds, measured })
}

/// The metrics that are shown, each once.
fn metrics(args: &SweepArgs) -> Result<Vec<Wanted>, Failure> {
    let usual = METRICS.iter().map(|name| name.parse().map_err(Failure::internal));
    let wanted = match args.metric.is_empty() {
        true => usual.collect::<Result<Vec<Wanted>, _>>()?,
        false => args.metric.clone(),
    };
    let mut metrics: Vec<Wanted> = Vec::new();
    for metric in wanted {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}
