//! The command line.

use crate::address::Address;
use crate::assertion::Assertion;
use crate::commands::{
    bench, completions, ctl, drive, explain, load, man, plan, presets, reproduce, schema, serve,
    survey, sweep, torture, trace,
};
use crate::driving::DriveArgs;
use crate::exit;
use crate::faults::FaultArgs;
use crate::flags::{HtmlArgs, JsonArgs};
use crate::log::LogArgs;
use crate::quantity::{PolicyName, Span, Text};
use crate::settings::DriveSettings;
use crate::settings::{
    ArraySettings, DriveFlags, HostSettings, NetworkSettings, PolicyOptions, RunSettings,
    ServeSettings, Settings, WindowSettings, WorkloadSettings, WriteCacheSettings,
};
use crate::words::{Precondition, Wait};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

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
  ioda reproduce                   the figures of the article, claim by claim
  ioda survey                      all policies, nine workloads, and what each policy costs
  ioda sweep --vary load=0.01,0.1  one parameter or two over a range, curves and heat maps
  ioda torture                     power cuts and failing drives under a seed; what is flushed stays
  ioda serve                       the array as a block device, for fio, QEMU, a file system
  ioda drive                       one emulated drive over NVMe/TCP, for `nvme connect`
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
    /// Compute whether an array can keep the window contract, and with which window, without a simulation
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::PlanArgs),
    /// Look into trace files and convert them
    #[command(subcommand, after_help = trace::EXAMPLES)]
    Trace(trace::TraceCommand),
    /// List drives, workloads and policies
    #[command(after_help = presets::EXAMPLES)]
    Presets(presets::PresetsArgs),
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
    /// Serve the array as a block device for NBD clients and NVMe/TCP hosts; without arguments, in memory over NBD
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Emulate one drive that Linux hosts attach to over NVMe/TCP; without arguments, in memory
    #[command(after_help = drive::EXAMPLES)]
    Drive(Box<DriveArgs>),
    /// Load a block device over NBD: open loop, each request sent when it is due
    #[command(after_help = load::EXAMPLES)]
    Load(Box<LoadArgs>),
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

/// What an array and its drives are, simulated or served.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArrayArgs {
    /// The array.
    #[command(flatten)]
    pub(crate) array: ArraySettings,
    /// When drives may collect.
    #[command(flatten)]
    pub(crate) windows: WindowSettings,
    /// The fast memory in front of the drives.
    #[command(flatten)]
    pub(crate) stage: WriteCacheSettings,
    /// Options of single policies.
    #[command(flatten)]
    pub(crate) policies: PolicyOptions,
    /// The drives.
    #[command(flatten)]
    pub(crate) drive: DriveFlags,
}

impl ArrayArgs {
    /// Lays these flags over `file`, with the rest of the flags in `others`.
    pub(crate) fn overlay(
        &self,
        file: &Settings,
        others: Settings,
    ) -> Result<Settings, exit::Failure> {
        let drive = crate::setup::drive_settings(&self.drive, &file.drive)?;
        let flags = Settings {
            array: self.array.clone(),
            windows: self.windows.clone(),
            stage: self.stage.clone(),
            policies: self.policies.clone(),
            ..others
        };
        Ok(Settings { drive, ..file.overlaid(&flags)? })
    }
}

/// Options of `ioda compare` and `ioda run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct SimulationArgs {
    /// The workload.
    #[command(flatten)]
    pub(crate) workload: WorkloadSettings,
    /// The array and its drives.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// The run.
    #[command(flatten)]
    pub(crate) run: RunSettings,
    /// What goes wrong.
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
    /// The results.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Keep only the latencies of requests that come from this time of the run on, such as 3s [default: 0s]
    #[arg(long, value_name = "TIME", help_heading = "Configuration and results")]
    pub(crate) measure_from: Option<Span>,
    /// Keep only the latencies of requests that come before this time of the run, such as 4s [default: its end]
    #[arg(long, value_name = "TIME", help_heading = "Configuration and results")]
    pub(crate) measure_until: Option<Span>,
    /// Show how sure ratios are: read latency as a multiple of that under Ideal and under Base, or else under the first policy,
    /// with 95 % intervals from drawing blocks of the run
    #[arg(long, help_heading = "Configuration and results")]
    pub(crate) intervals: bool,
    /// Show what requests take that need one part of each of so many arrays at once, which are alike and know nothing of
    /// each other: the slowest of so many requests, 2 to 1000000
    #[arg(long, value_name = "ARRAYS", help_heading = "Configuration and results")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) fan_out: Option<u32>,
    /// Write every request of the runs to a Parquet file as they complete: times, place, cause of every delay, busy drives
    /// [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Configuration and results")]
    pub(crate) requests_out: Option<PathBuf>,
    /// Exit with 1 unless this holds: METRIC OPERATOR LIMIT, with POLICY: in front for one policy;
    /// repeatable
    ///
    /// Metrics: read. or write. with p50 to p99.999, p50of64 (of the slowest of 64) and the like, mean, max, iops or count; violations,
    /// waf (pages that the drives programmed per page that the array wrote to them), collections, stalled (pages of writes that waited for space), rebuilds, extra_reads,
    /// fail_fasts (both in per cent), forced_flushes (pages flushed outside of busy windows),
    /// window (the busy window at the end, 0s if there is none), window_changes, permits (leases
    /// granted, extended or taken back), overloads (stripes with more busy members than
    /// parities), busy2plus (per cent of stripe reads with two or more busy members), total_latency,
    /// collections_cv, drive_commands_cv and queued_blocks_cv (how unevenly these fall on drives),
    /// degraded_reads and degraded_updates. Operators: < <= > >= ==. Limits: 500us, 3.5, 1.1*ideal.
    /// Without a policy it is for every policy of the run. A percentile needs a hundred samples beyond it and a mean a
    /// hundred in all: with fewer the verdict is `not enough`, and the exit code 5 unless another fails. A maximum
    /// needs one; counts and shares need none.
    #[arg(long = "assert", value_name = "CONDITION", help_heading = "Configuration and results")]
    pub(crate) asserts: Vec<Assertion>,
    /// Judge assertions on percentiles with fewer than a hundred samples beyond them and on means of fewer, which
    /// otherwise end with `not enough` and exit code 5
    #[arg(long, requires = "asserts", help_heading = "Configuration and results")]
    pub(crate) allow_few: bool,
}

/// Options of `ioda serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    /// TOML file with the sections serve, hosts, network, array, windows, stage, policies, drive and run; flags
    /// override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How it is served.
    #[command(flatten)]
    pub(crate) serve: ServeSettings,
    /// Who may attach over NVMe/TCP.
    #[command(flatten)]
    pub(crate) hosts: HostSettings,
    /// Its drives, where they are on the network.
    #[command(flatten)]
    pub(crate) network: NetworkSettings,
    /// The array and its drives.
    #[command(flatten)]
    pub(crate) array: ArrayArgs,
    /// The policy at the start [default: ioda]
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(crate) policy: Option<Text<PolicyName>>,
    /// State of emulated drives at the start: aged, steady or fresh [default: aged]
    #[arg(long, value_name = "STATE", help_heading = "Run")]
    pub(crate) precondition: Option<Text<Precondition>>,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) seed: Option<Text<u64>>,
}

impl ServeArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, exit::Failure> {
        let mut file = match &self.config {
            Some(path) => crate::settings::load(path)?,
            None => Settings::default(),
        };
        if file.drive == DriveSettings::default() && self.array.drive.drive.is_none() {
            file.drive = DriveSettings::preset(SERVED_DRIVE);
        }
        let run = RunSettings {
            policy: self.policy.iter().cloned().collect(),
            precondition: self.precondition.clone(),
            seed: self.seed.clone(),
            ..RunSettings::default()
        };
        let (serve, network) = (self.serve.clone(), self.network.clone());
        let hosts = self.hosts.clone();
        let others = Settings { serve, network, hosts, run, ..Settings::default() };
        let mut settings = self.array.overlay(&file, others)?;
        // These are for one start and never stand in a file.
        settings.serve.create = self.serve.create;
        settings.serve.force_assembly = self.serve.force_assembly;
        settings.serve.take_over = self.serve.take_over;
        settings.serve.yes = self.serve.yes;
        Ok(settings)
    }
}

/// The drive that is served unless another is named.
const SERVED_DRIVE: &str = "live";

/// Options of `ioda load`.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// Where the device is served, as in `ioda serve --address`: the path of a Unix socket, a host with a
    /// port, or a URI such as nbd://localhost:10809/NAME or nbd+unix:///NAME?socket=PATH; without a name
    /// the server's default export [default: ioda.sock in $XDG_RUNTIME_DIR, or else in /tmp]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<Address>,
    /// How the device is called in the results [default: NBD]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The workload.
    #[command(flatten)]
    pub(crate) workload: WorkloadSettings,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, alias = "randseed", value_name = "N")]
    pub(crate) seed: Option<Text<u64>>,
    /// How moments are waited for: `spin` shortly before them, which is punctual, or `block` until the kernel wakes
    /// the generator, which is right where time is virtual [default: spin]
    #[arg(long, value_name = "HOW")]
    pub(crate) wait: Option<Text<Wait>>,
    /// The results.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl LoadArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, exit::Failure> {
        let mut file = match &self.output.config {
            Some(path) => crate::settings::load(path)?,
            None => Settings::default(),
        };
        if file.drive == DriveSettings::default() {
            file.drive = DriveSettings::preset(SERVED_DRIVE);
        }
        let run = RunSettings { seed: self.seed.clone(), ..RunSettings::default() };
        let flags = Settings { workload: self.workload.clone(), run, ..Settings::default() };
        let drive = file.drive.clone();
        Ok(Settings { drive, ..file.overlaid(&flags)? })
    }
}

/// Where results go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Configuration and results")]
pub(crate) struct OutputArgs {
    /// TOML file with the sections array, windows, stage, policies, drive, workload and run; flags
    /// override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The report as a page.
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
    /// Everything as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Write what fio writes as json+, one job per policy, with bins and percentiles for fio's tools; `-`
    /// for standard output
    #[arg(long, alias = "fio_json", value_name = "FILE")]
    pub(crate) fio_json: Option<PathBuf>,
}

impl SimulationArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, exit::Failure> {
        let file = match &self.output.config {
            Some(path) => crate::settings::load(path)?,
            None => Settings::default(),
        };
        self.settings_over(&file)
    }

    /// The flags laid over `file`.
    pub(crate) fn settings_over(&self, file: &Settings) -> Result<Settings, exit::Failure> {
        let others = Settings {
            workload: self.workload.clone(),
            run: self.run.clone(),
            ..Settings::default()
        };
        self.array.overlay(file, others)
    }
}

#[cfg(test)]
#[path = "cli/tests.rs"]
mod tests;
