//! Many runs in parallel.

use crate::driver::run;
use crate::error::SimError;
use crate::plan::Plan;
use crate::prepare::prepare_drives;
use crate::result::RunResult;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use workload::{Arrival, Request};

/// How far each of several runs has come; read it from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests completed by each run.
    pub completed: Vec<AtomicU64>,
    /// Whether drives are still being prepared.
    pub prepared: AtomicU64,
}

impl Progress {
    /// Progress of `runs` runs that have not begun.
    #[must_use]
    pub fn new(runs: usize) -> Self {
        Self {
            completed: (0..runs).map(|_| AtomicU64::new(0)).collect(),
            prepared: AtomicU64::new(0),
        }
    }
}

/// Where a worker leaves its result.
type Slot<E> = Mutex<Option<Result<RunResult, SimError<E>>>>;

/// Runs all `plans`, which differ in their policies only, over `threads` threads. `workload` is
/// asked once per run for the same requests.
///
/// Results are in the order of the plans and do not depend on the number of threads.
///
/// # Errors
///
/// The first error of the first plan that had one.
pub fn run_all<E: Send, I>(
    plans: &[Plan],
    threads: usize,
    workload: impl Fn() -> Result<(Arrival, I), E> + Sync,
    progress: &Progress,
) -> Result<Vec<RunResult>, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
{
    let Some(first) = plans.first() else { return Ok(Vec::new()) };
    for plan in plans {
        plan.layout()?;
    }
    let drives = prepare_drives(first)?;
    progress.prepared.store(1, Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let results: Vec<Slot<E>> = plans.iter().map(|_| Mutex::new(None)).collect();
    // The last run to start takes the prepared drives themselves instead of a copy.
    let prepared = Mutex::new(Some(drives));
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(index) else { return };
            let drives = {
                let mut prepared =
                    prepared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if index + 1 == plans.len() { prepared.take() } else { prepared.clone() }
            };
            let result = workload().map_err(SimError::Workload).and_then(|(arrival, requests)| {
                let drives = drives.unwrap_or_default();
                run(plan, drives, arrival, requests, &progress.completed[index])
            });
            *results[index].lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, plans.len()) {
            scope.spawn(worker);
        }
    });
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        .collect()
}
