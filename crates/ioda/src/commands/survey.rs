//! `ioda survey`: every policy under every workload.

use super::merge::{self, MergeArgs};
use crate::arguments::ArrayArgs;
use crate::exit::Code;
use crate::flags;
use crate::output;
use crate::talk::Talk;
use array::policy::PolicyKind;
use clap::{Args, Subcommand};
use sim::Measured;
use std::path::PathBuf;
use study::Failure;
use study::jobs::{self, Journal, Shard};
use study::settings::{RunSettings, Settings, WorkloadSettings};
use study::survey::{self, Matrix, Question};
use study::values::names::Unknown;
use workload::Preset;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda survey
      every policy under the nine workloads of IODA's Table 3, two seeds: some minutes on two cores;
      writes ioda-survey/survey.html, ioda-survey/survey.json and ioda-survey/runs.jsonl
  ioda survey
      the same again after an interrupt: only what is missing is run
  ioda survey --policy base,iod1,ioda,ideal --workload tpcc,azure --seeds 5
      four policies, two workloads, five seeds
  ioda survey --requests 20000 --output quick
      a look in a minute; percentiles far out mean little then
  ioda survey --costs
      what each policy costs, and nothing else on the terminal
  ioda survey --drives 6 --raid 6 --drive femu --output six
      on another array of other drives
  ioda survey --config lab.toml --output lab
      on your own array and drives; flags override the file
  ioda survey --shard 3/64 --output survey-3
      the third of 64 parts, for one of 64 machines; `ioda survey merge` puts them together

Every policy gets the same requests at the same times. A run is kept when it ends, so Ctrl-C loses the
runs that are under way and no more; runs are known by a hash of everything that determines them, and
may be shared by surveys in one folder. What is measured and how to read it: docs/survey.md.

Exit code 4 if a run failed; the others are shown all the same.";

pub(crate) const MERGE_EXAMPLES: &str = "\
Examples:
  ioda survey merge survey-* --output survey
      the runs of every shard in one folder; then the same `ioda survey` with --output survey and
      without --shard finds them all, and writes the document and the page
  ioda survey merge elsewhere/ioda-survey --output ioda-survey
      what was made elsewhere need not be made here

Processor time is measured by the command without --shard, on one machine.
A folder that is still being written is refused, and so are two different records of one run: then
nothing is written. What an interrupt left of a last line is not taken.";

/// Presets of a survey unless workloads are named: those of the article's table.
const WORKLOADS: [&str; 9] =
    ["azure", "bingidx", "bingsel", "cosmos", "dtrs", "exch", "lmbe", "msnfs", "tpcc"];

/// Options of `ioda survey`.
#[derive(Args, Debug)]
#[command(mut_arg("policy", all_policies), args_conflicts_with_subcommands = true)]
pub(crate) struct SurveyArgs {
    /// What is done with runs that are kept; without it they are made.
    #[command(subcommand)]
    command: Option<SurveyCommand>,
    /// Workloads, a list or repeated (see `ioda presets workloads`) [default: the nine of IODA's
    /// Table 3]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<String>,
    /// So many seeds, counted from --seed, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 2)]
    seeds: u32,
    /// Requests of each run, 1 or more [default: as many as the table has, or as move 7 GiB if that
    /// is fewer]
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Show how sure latencies are: with one seed each has an interval of 95 %, and JSON has those
    /// of all seeds
    #[arg(long)]
    intervals: bool,
    /// Where results go and are kept
    #[arg(long, value_name = "FOLDER", default_value = "ioda-survey")]
    output: PathBuf,
    /// TOML file with the sections array, windows, stage, policies, drive and run; flags override
    /// it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Forget the runs that are kept in the folder
    #[arg(long)]
    fresh: bool,
    /// Make the K-th of N parts of the runs only, such as 3/64; N is 1 to 10000. Parts are blocks
    /// of runs that follow each other, so that those on the same drives stay together, and differ
    /// by one run at most. `ioda survey merge` puts them together
    #[arg(long, value_name = "K/N", conflicts_with = "costs")]
    shard: Option<Shard>,
    /// Print the table of costs only
    #[arg(long)]
    costs: bool,
    /// The array and its drives.
    #[command(flatten)]
    array: ArrayArgs,
    /// The run.
    #[command(flatten)]
    run: RunSettings,
}

/// What is done with runs that are kept.
#[derive(Subcommand, Debug)]
enum SurveyCommand {
    /// Put the runs of several folders into one: those of shards
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
}

/// Which policies these are.
fn all_policies(policy: clap::Arg) -> clap::Arg {
    policy.help(
        "Policies by name, a list or repeated; `ioda presets policies` says what each does \
         [default: all]",
    )
}

/// Runs what is missing and shows everything.
pub(crate) fn run(args: &SurveyArgs, talk: Talk) -> Result<Code, Failure> {
    live::allocator::give_back_large_blocks();
    if let Some(SurveyCommand::Merge(args)) = &args.command {
        return merge::run::<survey::Record>(args, talk);
    }
    let question = question(args)?;
    let matrix = Matrix::new(&question, &talk)?;
    let mut journal = Journal::open(&args.output, args.fresh)?;
    let part = jobs::part(&matrix.jobs, args.shard);
    jobs::say_found(part, &journal, &args.output, &talk);
    survey::run(&matrix, args.shard, &mut journal, matrix.standard.threads, &talk)?;
    journal.finish()?;
    if let Some(shard) = args.shard {
        jobs::end_shard(shard, &matrix.jobs, &journal, &args.output, &talk)?;
        return Ok(Code::Ok);
    }
    let survey = survey::document(&question, &matrix, &journal)?;
    jobs::write(&args.output, "survey", &survey, report::html::render_survey(&survey), &talk)?;
    let text = match args.costs {
        true => report::table::render_costs(&survey),
        false => report::table::render_survey(&survey),
    };
    output::print(&text)?;
    jobs::end(survey.failures().count(), matrix.jobs.len())?;
    Ok(Code::Ok)
}

fn question(args: &SurveyArgs) -> Result<Question, Failure> {
    let file = match &args.config {
        Some(path) => study::settings::load(path)?,
        None => Settings::default(),
    };
    check_workload(&file.workload)?;
    let others = Settings { run: args.run.clone(), ..Settings::default() };
    let settings = args.array.overlay(&file, others)?;
    let named: Vec<PolicyKind> = settings.run.policy.iter().map(|text| text.value.0).collect();
    let is_wanted = |policy: &PolicyKind| named.is_empty() || named.contains(policy);
    Ok(Question {
        policies: PolicyKind::ALL.iter().copied().filter(is_wanted).collect(),
        workloads: workloads(&args.workload)?,
        seeds: flags::seeds(args.seeds, settings.run.seed.as_ref())?,
        requests: args.requests.or(settings.workload.requests),
        measured: Measured { intervals: args.intervals, ..Measured::default() },
        settings,
    })
}

/// Refuses a configuration that chooses a workload; how fast requests come it may say.
fn check_workload(words: &WorkloadSettings) -> Result<(), Failure> {
    let known = WorkloadSettings {
        rerate: words.rerate.clone(),
        requests: words.requests,
        ..WorkloadSettings::default()
    };
    if *words == known {
        return Ok(());
    }
    Err(Failure::usage(
        "the configuration has a [workload] with more than rerate and requests, but a survey runs \
         presets; leave the rest out and choose with --workload",
    ))
}

/// The presets that are named, in the order of the table; those of the article if none is.
fn workloads(named: &[String]) -> Result<Vec<&'static Preset>, Failure> {
    for name in named {
        if workload::preset(name).is_none() {
            let names = workload::presets().iter().map(|preset| preset.name);
            return Err(Failure::usage(Unknown::new("workload", name, names)));
        }
    }
    let is_wanted = |preset: &&Preset| match named.is_empty() {
        true => WORKLOADS.contains(&preset.name),
        false => named.iter().any(|name| name == preset.name),
    };
    Ok(workload::presets().iter().filter(is_wanted).collect())
}
