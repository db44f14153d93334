//! Many runs in parallel.

use crate::driver::{run_recorded, run_with_faults};
use crate::error::SimError;
use crate::faults::Fault;
use crate::plan::{Plan, Preparation};
use crate::prepare::prepare_unless;
use crate::progress::Progress;
use crate::requests::RequestColumns;
use crate::result::RunResult;
use ssd::Ssd;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use units::Instant;
use workload::{Arrival, Request};

/// Drives with so many pages together are many: eight of 16 GiB with pages of 4 KiB, whose maps
/// take 270 MB.
const MANY_PAGES: u64 = 32 << 20;

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
    /// the others a copy: which run is the last is decided here, together with what it gets,
    /// because a run that was overtaken between the two would find no drives.
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

/// Whether runs one after the other prepare their drives anew: many large ones take hundreds of
/// megabytes, and would be there twice while a run has a copy. Preparing gives the same each time.
fn is_prepared_again(plan: &Plan) -> bool {
    let pages = u64::from(plan.width) * plan.drive.geometry.pages();
    let is_cheap = matches!(plan.preparation, Preparation::Aged | Preparation::Fresh);
    pages >= MANY_PAGES && is_cheap
}

/// About the memory that the drives of these runs take over `threads` threads, when most of them
/// are there.
#[must_use]
pub fn memory_bytes(plans: &[Plan], threads: usize) -> u64 {
    let Some(plan) = plans.first() else { return 0 };
    let copies = match plans.len() {
        2.. if threads == 1 && is_prepared_again(plan) => 1,
        runs => runs.min(threads + 1),
    };
    copies as u64 * u64::from(plan.width) * plan.drive.memory_bytes()
}

/// The drives of `plan`, unless its runs are told to end meanwhile.
fn prepare<E>(plan: &Plan, threads: usize, progress: &Progress) -> Result<Vec<Ssd>, SimError<E>> {
    prepare_unless(plan, threads, || progress.is_interrupted())?.ok_or(SimError::Interrupted)
}

/// Takes requests of the run with this number, in the order of their completion: up to
/// [`crate::REQUESTS_AT_ONCE`] at a time. Called by the threads that make the runs, which wait for
/// it. If it breaks off, all runs are interrupted.
pub type RequestSink<'a> = &'a (dyn Fn(usize, RequestColumns) -> ControlFlow<()> + Sync);

/// Runs all `plans`, which differ in their policies only, over `threads` threads, on which their
/// drives are prepared, too. `workload` is asked once per run for the same requests.
///
/// Results are in the order of the plans and do not depend on the number of threads.
///
/// # Errors
///
/// The first error of the first plan that had one, [`SimError::Interrupted`] among them.
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
    run_all_with(plans, threads, workload, faults, progress, None)
}

/// The same, and hands the requests of every run to `sink`. A run that ends with an error has
/// handed over a part of them.
///
/// # Errors
///
/// As [`run_all`].
pub fn run_all_recorded<E: Send, I>(
    plans: &[Plan],
    threads: usize,
    workload: impl Fn() -> Result<(Arrival, I), E> + Sync,
    faults: &[(Instant, Fault)],
    progress: &Progress,
    sink: RequestSink<'_>,
) -> Result<Vec<RunResult>, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
{
    run_all_with(plans, threads, workload, faults, progress, Some(sink))
}

fn run_all_with<E: Send, I>(
    plans: &[Plan],
    threads: usize,
    workload: impl Fn() -> Result<(Arrival, I), E> + Sync,
    faults: &[(Instant, Fault)],
    progress: &Progress,
    sink: Option<RequestSink<'_>>,
) -> Result<Vec<RunResult>, SimError<E>>
where
    I: Iterator<Item = Result<Request, E>>,
{
    let Some(first) = plans.first() else { return Ok(Vec::new()) };
    for plan in plans {
        plan.layout()?;
    }
    let run = |index: usize, drives| {
        let (arrival, requests) = workload().map_err(SimError::Workload)?;
        let (plan, run, faults) = (&plans[index], &progress.runs[index], faults.to_vec());
        match sink {
            None => run_with_faults(plan, drives, arrival, requests, faults, run),
            Some(sink) => {
                let sink = |columns| {
                    if sink(index, columns).is_break() {
                        progress.interrupt();
                    }
                };
                run_recorded(plan, drives, (arrival, requests), faults, run, sink)
            }
        }
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
    let results: Vec<Slot<E>> = plans.iter().map(|_| Mutex::new(None)).collect();
    let turns = Mutex::new(Turns { next: 0, prepared: drives });
    let worker = || {
        loop {
            let turn =
                turns.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(plans.len());
            let Some((index, drives)) = turn else { return };
            let result = run(index, drives);
            *results[index].lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Some(result);
        }
    };
    match threads.clamp(1, plans.len()) {
        // What a thread frees is kept for this thread, so one that comes and goes would leave its
        // drives' memory.
        1 => worker(),
        several => std::thread::scope(|scope| {
            for _ in 0..several {
                scope.spawn(worker);
            }
        }),
    }
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        .collect()
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
    fn every_run_gets_its_drives_and_none_is_begun_twice() {
        let mut turns = Turns { next: 0, prepared: vec!["a drive"] };
        let taken: Vec<(usize, Vec<&str>)> = std::iter::from_fn(|| turns.take(3)).collect();
        assert_eq!(taken, [0, 1, 2].map(|index| (index, vec!["a drive"])));
        assert!(turns.take(3).is_none());
    }
}
