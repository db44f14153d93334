//! Progress of runs, and their interruption.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of one run, and its interruption. Shared with other threads.
#[derive(Debug, Default)]
pub struct RunProgress {
    /// Requests completed, counted in steps of 4096.
    pub completed: AtomicU64,
    interrupted: AtomicBool,
}

impl RunProgress {
    /// Interrupts the run: it ends within 4096 requests, with [`crate::SimError::Interrupted`]. A
    /// run that has ended is not affected.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// Returns true if the run was interrupted.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Progress of several runs; readable from other threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Each run, in the order of the plans.
    pub runs: Vec<RunProgress>,
    /// Number of drives prepared so far.
    pub prepared: AtomicU64,
    interrupted: AtomicBool,
}

impl Progress {
    /// Progress of `runs` runs that have not begun.
    #[must_use]
    pub fn new(runs: usize) -> Self {
        Self { runs: (0..runs).map(|_| RunProgress::default()).collect(), ..Self::default() }
    }

    /// Interrupts all runs, including those that have not begun. Each ends within 4096 requests, or
    /// after the drive that is being prepared. Their callers get [`crate::SimError::Interrupted`].
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.runs.iter().for_each(RunProgress::interrupt);
    }

    /// Returns true if all runs were interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::small;
    use crate::{Fault, Plan, Preparation, SimError, run_all};
    use array::policy::PolicyKind;
    use std::convert::Infallible;
    use units::{DriveId, Instant};
    use workload::{Arrival, Op, Request};

    fn plan(policy: PolicyKind, verify: bool) -> Plan {
        Plan { verify, ..small(policy, Preparation::Aged) }
    }

    fn request(number: u64) -> Result<Request, Infallible> {
        let op = if number.is_multiple_of(4) { Op::Write } else { Op::Read };
        let (at, offset_bytes) = (Instant::from_nanos(number * 50_000), number % 1_000 * 4096);
        Ok(Request {
            at,
            op,
            offset_bytes,
            size_bytes: 4096,
            device: 0,
            durable: false,
            after_flush: false,
        })
    }

    #[test]
    fn runs_that_are_told_to_end_do() {
        for threads in [1, 2] {
            let plans = [PolicyKind::BASE, PolicyKind::IDEAL].map(|policy| plan(policy, false));
            let (progress, taken) = (Progress::new(2), AtomicU64::new(0));
            let requests = || {
                let requests = (0..u64::MAX).map(|number| {
                    if taken.fetch_add(1, Ordering::Relaxed) == 20_000 {
                        progress.interrupt();
                    }
                    request(number)
                });
                Ok((Arrival::Open, requests))
            };
            let ended = run_all(&plans, threads, requests, &[], &progress);
            assert!(matches!(ended, Err(SimError::Interrupted)), "{ended:?}");
            assert!(taken.into_inner() < 20_000 + 2 * 4097);
        }
    }

    #[test]
    fn drives_are_not_prepared_for_runs_that_are_told_to_end() {
        let progress = Progress::new(1);
        progress.interrupt();
        let requests = || -> Result<(Arrival, std::iter::Empty<_>), Infallible> {
            unreachable!("nobody asks for requests")
        };
        let requests = || requests().map(|(arrival, none)| (arrival, none.map(request)));
        let ended = run_all(&[plan(PolicyKind::BASE, false)], 2, requests, &[], &progress);
        assert!(matches!(ended, Err(SimError::Interrupted)), "{ended:?}");
        assert_eq!(progress.prepared.into_inner(), 0);
    }

    #[test]
    fn a_run_ends_while_it_waits_for_a_rebuild() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let drive = DriveId(1);
        let faults = [(at(1), Fault::Fail(drive)), (at(2), Fault::Replace(drive))];
        let run = |is_ended: bool| {
            let progress = Progress::new(1);
            let requests = || {
                let requests = (0..100).map(|number| {
                    // Interrupts with the last request, long before 4096 are done.
                    if is_ended && number == 99 {
                        progress.interrupt();
                    }
                    request(number)
                });
                Ok((Arrival::Open, requests))
            };
            run_all(&[plan(PolicyKind::BASE, true)], 1, requests, &faults, &progress)
        };
        let ended = run(true);
        assert!(matches!(ended, Err(SimError::Interrupted)), "{ended:?}");
        let whole = run(false).unwrap();
        assert!(whole[0].degraded.is_some(), "there is a rebuild to wait for");
    }

    /// Reading the progress changes nothing, nor does an interruption after the end.
    #[test]
    fn a_run_that_is_not_interrupted_is_as_ever() {
        let hash = |progress: &Progress| {
            let requests = || Ok((Arrival::Open, (0..5_000).map(request)));
            run_all(&[plan(PolicyKind::IODA, false)], 1, requests, &[], progress).unwrap()[0].hash
        };
        let (first, second) = (Progress::new(1), Progress::new(1));
        let hashes = [hash(&first), hash(&second)];
        first.interrupt();
        assert_eq!(hashes[0], hashes[1]);
        assert_eq!(first.runs[0].completed.load(Ordering::Relaxed), 5_000);
    }
}
