//! Options that several commands share, and the settings that they make.

use crate::flags::{HtmlArgs, JsonArgs};
use array::policy::PolicyKind;
use clap::Args;
use std::path::PathBuf;
use study::Failure;
use study::assertion::Assertion;
use study::compare::Question;
use study::settings::{
    ArraySettings, DriveFlags, PolicyOptions, RunSettings, Settings, WindowSettings,
    WorkloadSettings, WriteCacheSettings,
};
use study::setup::faults::FaultArgs;
use study::values::quantity::Span;

/// The drive that is served unless another is named.
pub(crate) const SERVED_DRIVE: &str = "live";

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
    pub(crate) fn overlay(&self, file: &Settings, others: Settings) -> Result<Settings, Failure> {
        let drive = study::setup::drive_settings(&self.drive, &file.drive)?;
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
    /// Keep only the latencies of requests that come from this time of the run on, such as 3s
    /// [default: 0s]
    #[arg(long, value_name = "TIME", help_heading = "Configuration and results")]
    pub(crate) measure_from: Option<Span>,
    /// Keep only the latencies of requests that come before this time of the run, such as 4s
    /// [default: its end]
    #[arg(long, value_name = "TIME", help_heading = "Configuration and results")]
    pub(crate) measure_until: Option<Span>,
    /// Show how sure ratios are: read latency as a multiple of that under Ideal and under Base, or
    /// else under the first policy, with 95 % intervals from drawing blocks of the run
    #[arg(long, help_heading = "Configuration and results")]
    pub(crate) intervals: bool,
    /// Show what requests take that need one part of each of so many arrays at once, which are
    /// alike and know nothing of each other: the slowest of so many requests, 2 to 1000000
    #[arg(long, value_name = "ARRAYS", help_heading = "Configuration and results")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub(crate) fan_out: Option<u32>,
    /// Write every request of the runs to a Parquet file as they complete: times, place, cause of
    /// every delay, busy drives [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Configuration and results")]
    pub(crate) requests_out: Option<PathBuf>,
    /// Exit with 1 unless this holds: METRIC OPERATOR LIMIT, with POLICY: in front for one policy;
    /// repeatable
    ///
    /// Metrics: read. or write. with p50 to p99.999, p50of64 (of the slowest of 64) and the like,
    /// mean, max, iops or count; violations, waf (pages that the drives programmed per page that
    /// the array wrote to them), collections, stalled (pages of writes that waited for space),
    /// rebuilds, extra_reads, fail_fasts (both in per cent), forced_flushes (pages flushed outside
    /// of busy windows), window (the busy window at the end, 0s if there is none), window_changes,
    /// permits (leases granted, extended or taken back), overloads (stripes with more busy members
    /// than parities), busy2plus (per cent of stripe reads with two or more busy members),
    /// total_latency, collections_cv, drive_commands_cv and queued_blocks_cv (how unevenly these
    /// fall on drives), degraded_reads and degraded_updates. Operators: < <= > >= ==. Limits:
    /// 500us, 3.5, 1.1*ideal. Without a policy it is for every policy of the run. A percentile
    /// needs a hundred samples beyond it and a mean a hundred in all: with fewer the verdict is
    /// `not enough`, and the exit code 5 unless another fails. A maximum needs one; counts and
    /// shares need none.
    #[arg(long = "assert", value_name = "CONDITION", help_heading = "Configuration and results")]
    pub(crate) asserts: Vec<Assertion>,
    /// Judge assertions on percentiles with fewer than a hundred samples beyond them and on means
    /// of fewer, which otherwise end with `not enough` and exit code 5
    #[arg(long, requires = "asserts", help_heading = "Configuration and results")]
    pub(crate) allow_few: bool,
}

impl SimulationArgs {
    /// The settings: the file, if any, with the flags laid over it.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let file = match &self.output.config {
            Some(path) => study::settings::load(path)?,
            None => Settings::default(),
        };
        self.settings_over(&file)
    }

    /// What is asked with `settings` under `policies`.
    pub(crate) fn question(&self, settings: Settings, policies: Vec<PolicyKind>) -> Question {
        Question {
            settings,
            policies,
            faults: self.faults.clone(),
            measure_from: self.measure_from,
            measure_until: self.measure_until,
            intervals: self.intervals,
            fan_out: self.fan_out,
            requests_out: self.requests_out.clone(),
            asserts: self.asserts.clone(),
            allow_few: self.allow_few,
        }
    }

    /// The flags laid over `file`.
    pub(crate) fn settings_over(&self, file: &Settings) -> Result<Settings, Failure> {
        let others = Settings {
            workload: self.workload.clone(),
            run: self.run.clone(),
            ..Settings::default()
        };
        self.array.overlay(file, others)
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
    /// Write what fio writes as json+, one job per policy, with bins and percentiles for fio's
    /// tools; `-` for standard output
    #[arg(long, alias = "fio_json", value_name = "FILE")]
    pub(crate) fio_json: Option<PathBuf>,
}
