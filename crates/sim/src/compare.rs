//! Many runs in parallel.

use crate::driver::run;
use crate::error::SimError;
use crate::plan::Plan;
use crate::prepare::prepare_drives;
use crate::result::RunResult;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// The runs that nobody has begun, and the prepared drives they start from.
struct Turns<Drives> {
    /// The next run.
    next: usize,
    /// Drives as every run finds them, until the last run has taken them.
    prepared: Drives,
}

impl<Drives: Clone + Default> Turns<Drives> {
    /// The next of `runs` runs and its drives. The last run gets the prepared drives themselves,
    /// the others a copy: which run is the last is decided here, together with what it gets, because
    /// a run that was overtaken between the two would find no drives.
    fn take(&mut self, runs: usize) -> Option<(usize, Drives)> {
        let index = self.next;
        self.next += 1;
        match index + 1 {
            after if after < runs => Some((index, self.prepared.clone())),
            after if after == runs => Some((index, std::mem::take(&mut self.prepared))),
            _ => None,
        }
    }
}

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
    let results: Vec<Slot<E>> = plans.iter().map(|_| Mutex::new(None)).collect();
    let turns = Mutex::new(Turns { next: 0, prepared: drives });
    let worker = || {
        loop {
            let turn =
                turns.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(plans.len());
            let Some((index, drives)) = turn else { return };
            let result = workload().map_err(SimError::Workload).and_then(|(arrival, requests)| {
                run(&plans[index], drives, arrival, requests, &progress.completed[index])
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

#[cfg(test)]
mod tests {
    use super::Turns;

    #[test]
    fn every_run_gets_its_drives_and_none_is_begun_twice() {
        let mut turns = Turns { next: 0, prepared: vec!["a drive"] };
        let taken: Vec<(usize, Vec<&str>)> = std::iter::from_fn(|| turns.take(3)).collect();
        assert_eq!(taken, [0, 1, 2].map(|index| (index, vec!["a drive"])));
        assert!(turns.take(3).is_none());
    }
}
