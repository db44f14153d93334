//! Runs a setup and keeps what is known about its workload.

use crate::describe;
use crate::exit::Failure;
use crate::memory;
use crate::output::remark;
use crate::progress::{self, Show};
use crate::setup::Setup;
use sim::{Progress, RequestSink, RunResult};
use std::sync::Mutex;
use units::Duration;
use workload::{Arrival, Replayed, Request, Workload, WorkloadError};

/// What came of a setup.
pub(crate) struct Outcome {
    /// One result per plan.
    pub(crate) results: Vec<RunResult>,
    /// What the workload is, in one line.
    pub(crate) workload: String,
    /// The hash of the trace, if it is one.
    pub(crate) workload_hash: Option<String>,
    /// "N of M requests replayed".
    pub(crate) replayed: String,
    /// That requests wrapped, if some did.
    pub(crate) wrapped: Option<String>,
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

/// Runs all plans of `setup` and shows how far they have come.
pub(crate) fn run(setup: &Setup, show: Show, title: &str, quiet: bool) -> Result<Outcome, Failure> {
    run_recorded(setup, show, title, quiet, None)
}

/// The same, and hands the requests of every plan to `sink`, if there is one.
pub(crate) fn run_recorded(
    setup: &Setup,
    show: Show,
    title: &str,
    quiet: bool,
    sink: Option<RequestSink<'_>>,
) -> Result<Outcome, Failure> {
    let progress = Progress::new(setup.plans.len());
    let work = || counted(setup, &progress, quiet, sink);
    progress::during(show, title, &setup.plans, setup.requests, &progress, work)
}

/// Runs all plans of `setup`, counts in `progress` how far they have come, and hands their requests
/// to `sink`, if there is one.
pub(crate) fn counted(
    setup: &Setup,
    progress: &Progress,
    quiet: bool,
    sink: Option<RequestSink<'_>>,
) -> Result<Outcome, Failure> {
    memory::check(setup, quiet)?;
    let capacity = setup.plan().capacity_bytes()?;
    let opened = setup.source.open(capacity)?;
    if let (Some(detected), Some(counts), false) = (opened.detected(), opened.counts(), quiet) {
        remark(&format!("{detected}\n  - {counts}"));
    }
    let count = Mutex::new(None);
    let open = || -> Result<(Arrival, Counted<'_>), WorkloadError> {
        let workload = setup.source.open(capacity)?;
        Ok((workload.arrival(), Counted { workload, count: &count }))
    };
    let (plans, threads, faults) = (&setup.plans, setup.threads, &setup.faults);
    let results = match sink {
        None => sim::run_all(plans, threads, open, faults, progress),
        Some(sink) => sim::run_all_recorded(plans, threads, open, faults, progress, sink),
    }?;
    let count = count.lock().ok().and_then(|mut count| count.take()).unwrap_or_default();
    let replayed = match opened.arrival() {
        // Each policy gets as far as it gets.
        Arrival::Closed { runtime: Some(runtime), .. } => in_time(&results, runtime),
        _ => count.to_string(),
    };
    Ok(Outcome {
        results,
        workload: opened.description().to_owned(),
        workload_hash: opened.identity().map(|identity| identity.sha256.clone()),
        replayed,
        wrapped: describe::wrapped(&count),
    })
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
