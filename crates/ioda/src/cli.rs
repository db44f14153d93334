//! The command line.

use crate::arguments::SimulationArgs;
use crate::commands::{
    bench, completions, ctl, drive, explain, fit, load, man, plan, plmlc, presets, reproduce,
    schema, serve, survey, sweep, torture, trace,
};
use crate::driving::DriveArgs;
use crate::log::LogArgs;
use clap::{Parser, Subcommand};

/// A flash array that does not wait for garbage collection.
///
/// Simulates arrays of flash drives under realistic workloads and shows how the policies of IODA
/// differ: how slow the slowest reads are, why, and what it costs.
#[derive(Parser, Debug)]
#[command(name = "ioda", version, max_term_width = 100, after_help = GENERAL_EXAMPLES,
    disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results and errors only: no progress, no remarks, and of the log only errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Report progress even where there is no terminal
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub(crate) progress: bool,
    /// The log.
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

const GENERAL_EXAMPLES: &str = "\
Start here:
  ioda compare --html              six policies on tpcc; the page is ioda-report.html
  ioda compare azure --seed 7      another workload
  ioda run my.csv.zst              your own trace under IODA
  ioda explain --worst 5           the slowest reads, and why; --request N tells one life
  ioda plan                        which busy windows keep the contract, on paper
  ioda fit pm9a3-960               a drive of your own, from a measurement with fio
  ioda reproduce                   the figures of the article, claim by claim
  ioda survey                      all policies, nine workloads, and what each policy costs
  ioda sweep --vary load=0.01,0.1  one parameter or two over a range, curves and heat maps
  ioda torture                     power cuts and failing drives under a seed; what is flushed stays
  ioda serve                       the array as a block device, for fio, QEMU, a file system
  ioda drive                       one emulated drive over NVMe/TCP, for `nvme connect`
  ioda plmlc ARRAY                 the coordinator of an array under PLM-light
  ioda load                        load it: open loop, each request sent when it is due

Exit codes:
  0  everything went well
  1  an assertion failed, a claim does not hold and --strict was given, or an array refused an order
  2  flags or configuration that cannot be used
  3  input data that cannot be used, such as a damaged trace
  4  the run failed: a verified page was wrong, an output could not be written, an array could
     not be reached, or a bug
  5  no assertion failed, but one is on a percentile or a mean with fewer than 100 samples: not enough";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compare policies under one workload; without arguments, the demonstration
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<SimulationArgs>),
    /// Run one workload under one policy
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<SimulationArgs>),
    /// Tell the life of one request: what it did, and what it waited for
    #[command(after_help = explain::EXAMPLES)]
    Explain(Box<explain::ExplainArgs>),
    /// Compute whether an array can keep the window contract, and with which window, without a
    /// simulation
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::PlanArgs),
    /// Look into trace files and convert them
    #[command(subcommand, after_help = trace::EXAMPLES)]
    Trace(trace::TraceCommand),
    /// List drives, workloads and policies
    #[command(after_help = presets::EXAMPLES)]
    Presets(presets::PresetsArgs),
    /// Find the drive whose modelled latencies are nearest to measured ones
    #[command(after_help = fit::EXAMPLES)]
    Fit(Box<fit::FitArgs>),
    /// Measure how fast the simulator is here, and how punctual this machine is
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::BenchArgs),
    /// Regenerate the figures of the article and check its claims
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(reproduce::ReproduceArgs),
    /// Run every policy under every workload and say what each costs; can be interrupted
    #[command(after_help = survey::EXAMPLES)]
    Survey(Box<survey::SurveyArgs>),
    /// Run one parameter or two over a range, under several policies and seeds; can be interrupted
    #[command(after_help = sweep::EXAMPLES)]
    Sweep(Box<sweep::SweepArgs>),
    /// Torture arrays under a seed: power cuts, failing drives and orders, every sector compared
    #[command(after_help = torture::EXAMPLES)]
    Torture(torture::TortureArgs),
    /// Serve the array as a block device for NBD clients and NVMe/TCP hosts; without arguments, in
    /// memory over NBD
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<serve::ServeArgs>),
    /// Emulate one drive that Linux hosts attach to over NVMe/TCP; without arguments, in memory
    #[command(after_help = drive::EXAMPLES)]
    Drive(Box<DriveArgs>),
    /// Coordinate an array under PLM-light from another host, over NVMe/TCP
    #[command(after_help = plmlc::EXAMPLES)]
    Plmlc(plmlc::PlmlcArgs),
    /// Load a block device over NBD: open loop, each request sent when it is due
    #[command(after_help = load::EXAMPLES)]
    Load(Box<load::LoadArgs>),
    /// Show the status of a running array and administer it
    #[command(after_help = ctl::EXAMPLES)]
    Ctl(ctl::CtlArgs),
    /// List the JSON Schemas of all documents and files, print one, or write the reference
    #[command(after_help = schema::EXAMPLES)]
    Schema(schema::SchemaArgs),
    /// Write pages of the manual, one for each command
    #[command(after_help = man::EXAMPLES)]
    Man(man::ManArgs),
    /// Print completions for a shell
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArgs),
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  ioda compare
      tpcc on four drives in RAID-5 under six policies
  ioda compare msnfs --policy base,ioda,ideal --drives 6 --raid 6
      another preset, two parities
  ioda compare trace.csv.gz --rerate 8 --fit compact --requests 500000
      a trace from a file, eight times as fast
  ioda compare synthetic --rw randrw --rwmixread 70 --bs 4k --iodepth 32 --number_ios 200000
      fio's words
  ioda compare --assert 'ioda:read.p99.9<=1.1*ideal' --assert 'ioda:violations==0'
      exit code 1 if one fails, 5 if there are too few reads to say
  ioda compare --config lab.toml --seed 3
      a configuration file; flags override it";

const RUN_EXAMPLES: &str = "\
Examples:
  ioda run
      tpcc under IODA
  ioda run azure --policy base --tw 200ms
  ioda run trace.csv --assert 'read.p99.9<500us'
      will p99.9 hold with my trace? exit code 1 if not, 5 if it has too few reads to say";

#[cfg(test)]
#[path = "cli/tests.rs"]
mod tests;
