//! Runs a setup and keeps what is known about its workload.

use crate::describe;
use crate::failure::Failure;
use crate::setup::{Setup, memory};
use crate::watch::Watch;
use serde::{Deserialize, Serialize};
use sim::{Progress, RequestSink, RunResult};
use std::sync::Mutex;
use units::Duration;
use workload::{Arrival, Replayed, Request, Workload, WorkloadError};

/// What came of a setup.
#[derive(Clone)]
pub struct Outcome {
    /// One result per plan.
    pub results: Vec<RunResult>,
    /// What the workload is, in one line.
    pub workload: String,
    /// The hash of the trace, if it is one.
    pub workload_hash: Option<String>,
    /// "N of M requests replayed".
    pub replayed: String,
    /// That requests wrapped, if some did.
    pub wrapped: Option<String>,
}

/// A workload that leaves its count of replayed requests behind when it ends.
struct Counted<'a> {
    workload: Workload,
    count: &'a Mutex<Option<Replayed>>,
}

impl Iterator for Counted<'_> {
    type Item = Result<Request, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.workload.next()
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Ok(mut count) = self.count.lock() {
            *count = Some(self.workload.replayed().clone());
        }
    }
}

/// What is known about the workload of a run that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    /// What it is, in one line.
    workload: String,
    /// The hash of the trace, if it is one.
    hash: Option<String>,
    /// "N of M requests replayed".
    replayed: String,
    /// How long it is, if time ends it and not a number of requests.
    runtime: Option<Duration>,
    /// That requests wrapped, if some did.
    wrapped: Option<String>,
}

impl Told {
    /// The outcome of the runs of one workload.
    pub fn outcome(self, results: Vec<RunResult>) -> Outcome {
        let replayed = match self.runtime {
            Some(runtime) => in_time(&results, runtime),
            None => self.replayed,
        };
        let Self { workload, hash: workload_hash, wrapped, .. } = self;
        Outcome { results, workload, workload_hash, replayed, wrapped }
    }
}

/// Takes the result of the run with this number as soon as it has ended.
type EndedSink<'a> = &'a (dyn Fn(usize, &RunResult, Told) + Sync);

/// Listeners to runs that are under way.
#[derive(Clone, Copy, Default)]
pub struct Listeners<'a> {
    /// Takes the requests of each run, by the number of its plan.
    pub requests: Option<RequestSink<'a>>,
    /// Takes the result of each run as soon as it has ended, by the number of its plan.
    pub ended: Option<EndedSink<'a>>,
}

/// Runs all plans of `setup` and shows how far they have come.
pub fn run(
    setup: &Setup,
    title: &str,
    watch: &dyn Watch,
    listeners: Listeners<'_>,
) -> Result<Outcome, Failure> {
    let progress = Progress::new(setup.plans.len());
    let mut outcome = None;
    let mut work = || outcome = Some(counted(setup, &progress, watch, listeners));
    watch.during(title, &setup.plans, setup.requests, &progress, &mut work);
    outcome.unwrap_or_else(|| Err(Failure::internal("the runs were not made")))
}

/// Runs all plans of `setup` and counts in `progress` how far they have come.
pub fn counted(
    setup: &Setup,
    progress: &Progress,
    watch: &dyn Watch,
    listeners: Listeners<'_>,
) -> Result<Outcome, Failure> {
    memory::check(setup, watch)?;
    let capacity = setup.plan().capacity_bytes()?;
    let opened = setup.source.open(capacity)?;
    if let (Some(detected), Some(counts)) = (opened.detected(), opened.counts()) {
        watch.remark(&format!("{detected}\n  - {counts}"));
    }
    let count = Mutex::new(None);
    let open = || -> Result<(Arrival, Counted<'_>), WorkloadError> {
        let workload = setup.source.open(capacity)?;
        Ok((workload.arrival(), Counted { workload, count: &count }))
    };
    let (description, hash) = (opened.description().to_owned(), opened.identity());
    let hash = hash.map(|identity| identity.sha256.clone());
    let runtime = match opened.arrival() {
        Arrival::Closed { runtime, .. } => runtime,
        _ => None,
    };
    drop(opened);
    // All runs replay the same requests, so the count of whichever ended last is that of each.
    let told = || {
        let count = count.lock().ok().and_then(|count| count.clone()).unwrap_or_default();
        Told {
            workload: description.clone(),
            hash: hash.clone(),
            replayed: count.to_string(),
            runtime,
            wrapped: describe::wrapped(&count),
        }
    };
    let ended = listeners.ended.map(|ended| {
        let told = &told;
        move |run: usize, result: &RunResult| ended(run, result, told())
    });
    let listeners = sim::Listeners {
        requests: listeners.requests,
        results: ended.as_ref().map(|ended| ended as sim::ResultSink<'_>),
    };
    let (plans, threads, faults) = (&setup.plans, setup.threads, &setup.faults);
    let results = sim::run_all_watched(plans, threads, open, faults, progress, listeners)?;
    Ok(told().outcome(results))
}

/// How many requests were replayed in a given time.
fn in_time(results: &[RunResult], runtime: Duration) -> String {
    let requests = || results.iter().map(|result| result.requests);
    let (fewest, most) = (requests().min().unwrap_or(0), requests().max().unwrap_or(0));
    if fewest == most {
        return format!("{most} requests replayed in {runtime}");
    }
    format!("{fewest} to {most} requests replayed in {runtime}, by policy")
}
