//! Many runs in parallel.

use crate::driver::{run_recorded, run_with_faults};
use crate::error::SimError;
use crate::faults::Fault;
use crate::plan::{Plan, Preparation};
use crate::pool::side_by_side;
use crate::prepare::prepare_unless;
use crate::progress::Progress;
use crate::requests::RequestColumns;
use crate::result::RunResult;
use ssd::Ssd;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use units::Instant;
use workload::{Arrival, Request};

/// Number of pages above which drives are many: eight drives of 16 GiB with pages of 4 KiB, whose
/// maps take 270 MB.
const MANY_PAGES: u64 = 32 << 20;

/// Prepared drives, and the number of runs that still need them.
struct Shared {
    drives: Vec<Ssd>,
    left: usize,
}

impl Shared {
    /// Returns the drives of the next run: the prepared ones for the last run, a copy for the
    /// others.
    fn take(&mut self) -> Vec<Ssd> {
        self.left -= 1;
        match self.left {
            0 => std::mem::take(&mut self.drives),
            _ => self.drives.clone(),
        }
    }
}

/// Returns true if each of several successive runs prepares its drives again. Many large drives
/// take hundreds of megabytes, and a copy would double that. Every preparation gives the same
/// drives.
fn is_prepared_again(plan: &Plan) -> bool {
    let pages = u64::from(plan.width) * plan.drive.geometry.pages();
    let is_cheap = matches!(plan.preparation, Preparation::Aged | Preparation::Fresh);
    pages >= MANY_PAGES && is_cheap
}

/// Estimated memory of the drives of these runs on `threads` threads, at its peak, in bytes.
#[must_use]
pub fn memory_bytes(plans: &[Plan], threads: usize) -> u64 {
    let Some(plan) = plans.first() else { return 0 };
    let copies = match plans.len() {
        2.. if threads == 1 && is_prepared_again(plan) => 1,
        runs => runs.min(threads + 1),
    };
    copies as u64 * u64::from(plan.width) * plan.drive.memory_bytes()
}

/// Prepares the drives of `plan`, unless its runs are interrupted.
fn prepare<E>(plan: &Plan, threads: usize, progress: &Progress) -> Result<Vec<Ssd>, SimError<E>> {
    prepare_unless(plan, threads, || progress.is_interrupted())?.ok_or(SimError::Interrupted)
}

/// Takes requests of the run with this number, in the order of their completion, up to
/// [`crate::REQUESTS_AT_ONCE`] at a time. The threads of the runs call it and wait for it. If it
/// returns `Break`, all runs are interrupted.
pub type RequestSink<'a> = &'a (dyn Fn(usize, RequestColumns) -> ControlFlow<()> + Sync);

/// Takes the result of the run with this number as soon as it has ended.
pub type ResultSink<'a> = &'a (dyn Fn(usize, &RunResult) + Sync);

/// Listeners to runs under way. The threads of the runs call them and wait for them.
#[derive(Clone, Copy, Default)]
pub struct Listeners<'a> {
    /// Takes the requests.
    pub requests: Option<RequestSink<'a>>,
    /// Takes the results.
    pub results: Option<ResultSink<'a>>,
}

/// Runs all `plans`, which differ in their policies only, on `threads` threads. Their drives are
/// prepared on these threads too. `workload` is called once per run, and returns the same requests
/// each time.
///
/// Results are in the order of the plans and do not depend on the number of threads.
///
/// # Errors
///
/// The first error of the first plan that had one, including [`SimError::Interrupted`].
///
/// # Panics
///
/// If `progress` was not made for as many runs as there are plans; see [`Progress::new`].
pub fn run_all<E: Send, I>(
    plans: &[Plan],
    threads: usize,
    workload: impl Fn() -> Result<(Arrival, I), E> + Sync,
    faults: &[(Instant, Fault)],
    progress: &Progress,
) -> Result<Vec<RunResult>, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
{
    run_all_watched(plans, threads, workload, faults, progress, Listeners::default())
}

/// Runs as [`run_all`] does, with `listeners`. A run that ends with an error has delivered only a
/// part of its requests.
///
/// # Errors
///
/// As [`run_all`].
///
/// # Panics
///
/// As [`run_all`].
pub fn run_all_watched<E: Send, I>(
    plans: &[Plan],
    threads: usize,
    workload: impl Fn() -> Result<(Arrival, I), E> + Sync,
    faults: &[(Instant, Fault)],
    progress: &Progress,
    listeners: Listeners<'_>,
) -> Result<Vec<RunResult>, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
{
    let Some(first) = plans.first() else { return Ok(Vec::new()) };
    assert_eq!(progress.runs.len(), plans.len(), "progress of as many runs as there are plans");
    for plan in plans {
        plan.layout()?;
    }
    let run = |index: usize, drives| {
        let (arrival, requests) = workload().map_err(SimError::Workload)?;
        let (plan, run, faults) = (&plans[index], &progress.runs[index], faults.to_vec());
        let result = match listeners.requests {
            None => run_with_faults(plan, drives, arrival, requests, faults, run),
            Some(sink) => {
                let sink = |columns| {
                    if sink(index, columns).is_break() {
                        progress.interrupt();
                    }
                };
                run_recorded(plan, drives, (arrival, requests), faults, run, sink)
            }
        }?;
        if let Some(sink) = listeners.results {
            sink(index, &result);
        }
        Ok(result)
    };
    if threads == 1 && plans.len() > 1 && is_prepared_again(first) {
        return (0..plans.len())
            .map(|index| {
                let drives = prepare(first, threads, progress)?;
                progress.prepared.store(1, Ordering::Relaxed);
                run(index, drives)
            })
            .collect();
    }
    let drives = prepare(first, threads, progress)?;
    progress.prepared.store(1, Ordering::Relaxed);
    let shared = Mutex::new(Shared { drives, left: plans.len() });
    let take = || shared.lock().unwrap_or_else(PoisonError::into_inner).take();
    side_by_side(threads, plans.len(), |index| run(index, take())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::small;
    use array::policy::PolicyKind;
    use std::convert::Infallible;
    use units::Instant;
    use workload::Op;

    #[test]
    fn drives_that_are_prepared_again_are_the_same() {
        let plan = |policy, width| Plan { width, ..small(policy, Preparation::Aged) };
        let drive = plan(PolicyKind::BASE, 4).drive;
        let pages = u64::from(drive.geometry.blocks_per_die() * drive.geometry.pages_per_block);
        let pages = pages * u64::from(drive.geometry.dies());
        let many = u32::try_from(MANY_PAGES.div_ceil(pages)).unwrap();
        assert!(is_prepared_again(&plan(PolicyKind::BASE, many)), "{many} drives");
        assert!(!is_prepared_again(&plan(PolicyKind::BASE, many - 1)));
        let plans = [PolicyKind::BASE, PolicyKind::IDEAL].map(|policy| plan(policy, many));
        let requests = || {
            let write = |page: u64| {
                let (at, offset_bytes) = (Instant::from_nanos(page * 1_000), page * 4096);
                Ok::<_, Infallible>(Request {
                    at,
                    op: if page.is_multiple_of(2) { Op::Write } else { Op::Read },
                    offset_bytes,
                    size_bytes: 4096,
                    device: 0,
                    durable: false,
                    after_flush: false,
                })
            };
            Ok((Arrival::Open, (0..2_000).map(write)))
        };
        let hashes = |threads| -> Vec<u64> {
            let results = run_all(&plans, threads, requests, &[], &Progress::new(2)).unwrap();
            results.iter().map(|result| result.hash).collect()
        };
        assert_eq!(hashes(1), hashes(2));
    }

    #[test]
    fn the_last_run_gets_the_prepared_drives_themselves() {
        let plan = small(PolicyKind::BASE, Preparation::Aged);
        let mut shared = Shared { drives: crate::prepare_drives(&plan).unwrap(), left: 3 };
        let width = shared.drives.len();
        for left in [width, width, 0] {
            assert_eq!(shared.take().len(), width);
            assert_eq!(shared.drives.len(), left);
        }
    }
}
