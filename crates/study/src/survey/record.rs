//! What is kept of the runs of a survey, and how those that are missing are made.

use super::matrix::{CLIENTS, Matrix, Subject};
use crate::describe::convert;
use crate::failure::Failure;
use crate::jobs::{self, Ended, Journal, Kept, Shard};
use crate::watch::Watch;
use report::survey::{Outcome, ProcessorTime, SCHEMA, SaturationRun, SurveyRun};
use serde::{Deserialize, Serialize};
use sim::Plan;

/// Requests and rounds of the measurement of processor time.
const PROCESSOR_REQUESTS: u64 = 100_000;
const PROCESSOR_ROUNDS: u32 = 5;

/// What came of one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A workload.
    Run(SurveyRun),
    /// Throughput at saturation.
    Saturation(SaturationRun),
    /// Processor time of all policies.
    Processor(Vec<ProcessorTime>),
}

impl Kept for Record {
    const SCHEMA: u32 = SCHEMA;
    const OF: &'static str = "survey";

    fn is_final(&self) -> bool {
        let outcome = match self {
            Self::Run(run) => &run.outcome,
            Self::Saturation(run) => &run.outcome,
            Self::Processor(_) => return true,
        };
        matches!(outcome, Outcome::Measured(_))
    }

    fn is_measured(&self) -> bool {
        matches!(self, Self::Processor(_))
    }
}

impl jobs::Subject for Subject {
    type Record = Record;
    const COMMAND: &'static str = "survey";
    // Whatever is asked is measured: its rates are those that drives can bear.
    const MOST_WAITING: usize = usize::MAX;

    fn title(&self, plan: &Plan) -> String {
        let policy = plan.policy.label();
        match self {
            Self::Workload { workload, seed } => format!("{workload} under {policy}, seed {seed}"),
            Self::Saturation { read_percent } => {
                format!("{read_percent} % reads at saturation under {policy}")
            }
        }
    }

    fn record(&self, job: &jobs::Job<Self>, ended: &Ended) -> Record {
        let outcome = match ended {
            Ended::Measured(result) => {
                let run = convert::run_with_intervals(result);
                // How long it took is of the machine, not of the run.
                Outcome::Measured(Box::new(report::Run { wall_seconds: 0.0, ..run }))
            }
            Ended::Overloaded(why) => Outcome::Failed(why.clone()),
            Ended::Failed(failure) => Outcome::Failed(failure.to_string()),
        };
        let policy = job.plan.policy.name().to_owned();
        match *self {
            Self::Workload { workload, seed } => {
                let (workload, seed) = (workload.to_owned(), seed.to_string());
                Record::Run(SurveyRun { policy, workload, seed, outcome })
            }
            Self::Saturation { read_percent } => {
                let iops = match ended {
                    Ended::Measured(result) => result.second_half_iops(),
                    Ended::Overloaded(_) | Ended::Failed(_) => None,
                };
                let clients = CLIENTS;
                Record::Saturation(SaturationRun { policy, read_percent, clients, iops, outcome })
            }
        }
    }
}

/// Makes what of `matrix`, or of its `shard`, is missing in `journal`, and keeps it there. A part
/// leaves the measurement of processor time to the whole: all policies are compared on one machine.
pub fn run(
    matrix: &Matrix,
    shard: Option<Shard>,
    journal: &mut Journal<Record>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    jobs::run(jobs::part(&matrix.jobs, shard), journal, threads, watch)?;
    if shard.is_none_or(Shard::is_whole) && !journal.has(&matrix.processor_key) {
        // Alone on the machine, as far as it is up to us: it is a measurement.
        let times = sim::bench_policies(&matrix.plans(), PROCESSOR_REQUESTS, PROCESSOR_ROUNDS)?;
        let times = times.iter().map(processor_time).collect();
        journal.keep(&matrix.processor_key, Record::Processor(times))?;
    }
    Ok(())
}

fn processor_time(time: &sim::PolicyTime) -> ProcessorTime {
    ProcessorTime {
        policy: time.policy.name().to_owned(),
        nanos_per_io: time.nanos_per_io,
        of_base: time.of_base,
    }
}
