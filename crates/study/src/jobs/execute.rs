//! Makes what is missing, several runs side by side.

use super::job::{Ended, Job, Subject};
use super::journal::Journal;
use super::shelf::Shelf;
use crate::failure::Failure;
use crate::watch::Watch;
use sim::{RunProgress, RunResult, SimError};
use workload::WorkloadError;

/// Makes those of `jobs` that `journal` does not have, and keeps them there. What a run does wrong
/// is kept as well; only what concerns all runs ends this early.
pub fn run<S: Subject>(
    jobs: &[Job<S>],
    journal: &mut Journal<S::Record>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let missing: Vec<&Job<S>> = jobs.iter().filter(|job| !journal.has(&job.key)).collect();
    let count = watch.count(S::COMMAND, missing.len());
    let shelf = Shelf::default();
    let work = |index: usize| {
        let job = missing[index];
        count.begin(&job.subject.title(&job.plan));
        let record = make(job, &shelf);
        count.end();
        record
    };
    let keep = |index: usize, record| journal.keep(&missing[index].key, record);
    sim::each_side_by_side(threads, missing.len(), work, keep)
}

/// Makes one run, and gives what is kept of it.
pub fn make<S: Subject>(job: &Job<S>, shelf: &Shelf) -> S::Record {
    job.subject.record(job, &measure(job, shelf))
}

fn measure<S: Subject>(job: &Job<S>, shelf: &Shelf) -> Ended {
    let run = || -> Result<RunResult, SimError<WorkloadError>> {
        let Job { plan, source, .. } = job;
        let workload = source.open(plan.capacity_bytes()?).map_err(SimError::Workload)?;
        let arrival = workload.arrival();
        let drives = shelf.take(plan)?;
        let progress = RunProgress::default();
        sim::run_bounded(plan, drives, arrival, workload, S::MOST_WAITING, &progress)
    };
    match run() {
        Ok(result) => Ended::Measured(Box::new(result)),
        Err(overloaded @ SimError::Overloaded { .. }) => Ended::Overloaded(overloaded.to_string()),
        Err(error) => Ended::Failed(error.into()),
    }
}
