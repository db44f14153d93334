//! Runs what is missing, several runs side by side on drives that are prepared once.

use super::journal::{Journal, Record};
use super::matrix::{CLIENTS, Job, Matrix, Subject};
use crate::convert;
use crate::exit::Failure;
use crate::progress::{Show, Tally};
use report::survey::{Outcome, ProcessorTime, SaturationRun, SurveyRun};
use sim::{Plan, PlanError, RunResult};
use ssd::Ssd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests and rounds of the measurement of processor time.
const PROCESSOR_REQUESTS: u64 = 100_000;
const PROCESSOR_ROUNDS: u32 = 5;

/// Makes those runs of `matrix` that `journal` does not have, and keeps them there. What a run does
/// wrong is kept as well; only what concerns all runs ends the survey.
pub(crate) fn run(
    matrix: &Matrix,
    journal: &mut Journal,
    threads: usize,
    show: Show,
) -> Result<(), Failure> {
    let missing: Vec<&Job> = matrix.jobs.iter().filter(|job| !journal.has(&job.key)).collect();
    let tally = Tally::new(show, "survey", missing.len());
    let shelf = Shelf::default();
    let next = AtomicUsize::new(0);
    let kept = Mutex::new((&mut *journal, Ok(())));
    let worker = || {
        while let Some(job) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            tally.begin(&job.title());
            let record = record(job, &shelf);
            tally.end();
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (journal, result) = &mut *kept;
            if let Err(failure) = journal.keep(&job.key, record) {
                *result = Err(failure);
            }
            if result.is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        (0..threads.clamp(1, missing.len().max(1))).for_each(|_| {
            scope.spawn(worker);
        });
    });
    let (_, result) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    result?;
    drop(tally);
    if !journal.has(&matrix.processor_key) {
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

/// The drives that were prepared last. Jobs that need the same follow each other, so there are
/// never more than two kinds in memory.
#[derive(Default)]
struct Shelf {
    prepared: Mutex<Option<(String, Arc<Vec<Ssd>>)>>,
}

impl Shelf {
    /// A copy of the drives of `plan`.
    fn take(&self, plan: &Plan) -> Result<Vec<Ssd>, PlanError> {
        let kind =
            format!("{:?}, {}, {:?}, {}", plan.drive, plan.width, plan.preparation, plan.seed);
        let shared = {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            match &*prepared {
                Some((known, drives)) if *known == kind => Arc::clone(drives),
                _ => {
                    let drives = Arc::new(sim::prepare_drives(plan)?);
                    *prepared = Some((kind, Arc::clone(&drives)));
                    drives
                }
            }
        };
        Ok(shared.to_vec())
    }
}

/// Makes one run.
fn record(job: &Job, shelf: &Shelf) -> Record {
    let (outcome, iops) = match measure(job, shelf) {
        Ok(result) => {
            let iops = result.second_half_iops();
            (Outcome::Measured(Box::new(convert::run(&result))), iops)
        }
        Err(failure) => (Outcome::Failed(failure.to_string()), None),
    };
    let policy = job.plan.policy.name().to_owned();
    match job.subject {
        Subject::Workload { workload, seed } => {
            let (workload, seed) = (workload.to_owned(), seed.to_string());
            Record::Run(SurveyRun { policy, workload, seed, outcome })
        }
        Subject::Saturation { read_percent } => {
            let clients = CLIENTS;
            Record::Saturation(SaturationRun { policy, read_percent, clients, iops, outcome })
        }
    }
}

fn measure(job: &Job, shelf: &Shelf) -> Result<RunResult, Failure> {
    let Job { plan, source, .. } = job;
    let workload = source.open(plan.capacity_bytes()?)?;
    let arrival = workload.arrival();
    let drives = shelf.take(plan)?;
    Ok(sim::run(plan, drives, arrival, workload, &AtomicU64::new(0))?)
}
