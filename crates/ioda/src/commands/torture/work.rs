//! Many histories side by side, and their sum.

use super::trial::{self, Failed, Subject, Wrong};
use sim::torture::{Case, Counts, Coverage, Demands, Script};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A script that panics wherever the power goes is left after so many.
const PANICS: u64 = 100;

/// What came of many histories. Adding is the same in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) histories: u64,
    pub(super) counts: Counts,
    pub(super) coverage: Coverage,
    /// In the order of their places.
    pub(super) failed: Vec<Failed>,
}

impl Sum {
    /// What came of one history.
    pub(super) fn of(subject: &Subject, demands: Demands) -> Self {
        let mut sum = Self::default();
        sum.add(0, subject, demands);
        sum
    }

    /// Adds one history.
    pub(super) fn add(&mut self, index: u64, subject: &Subject, demands: Demands) {
        let (_, wrong) = self.live(subject, demands);
        if let Some(wrong) = wrong {
            self.failed.push(Failed { index, subject: subject.clone(), wrong, more: 0 });
        }
    }

    /// Lives through a history; gives its power cuts, and what went wrong.
    fn live(&mut self, subject: &Subject, demands: Demands) -> (u64, Option<Wrong>) {
        let (verdict, wrong) = trial::live(&subject.history(), demands, false);
        self.histories += 1;
        self.counts.add(&verdict.counts);
        self.coverage.add(&verdict.coverage);
        (verdict.counts.cuts, wrong)
    }

    fn join(&mut self, other: Self) {
        self.histories += other.histories;
        self.counts.add(&other.counts);
        self.coverage.add(&other.coverage);
        self.failed.extend(other.failed);
    }
}

/// How long it goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// So many.
    Number(u64),
    /// What has begun by then.
    Time(Instant),
}

/// Does `work` for the numbers from zero, on so many threads.
pub(super) fn side_by_side(
    threads: usize,
    until: Until,
    work: impl Fn(u64, &mut Sum) + Sync,
) -> Sum {
    let next = AtomicU64::new(0);
    let all = Mutex::new(Sum::default());
    let worker = || {
        let mut sum = Sum::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let goes_on = match until {
                Until::Number(number) => index < number,
                Until::Time(end) => Instant::now() < end,
            };
            if !goes_on {
                break;
            }
            work(index, &mut sum);
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).join(sum);
    };
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| {
            scope.spawn(worker);
        });
    });
    let mut sum = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A script stands in its place with each of its failures, in their order.
    sum.failed.sort_by_key(|failed| failed.index);
    sum
}

/// Lives through a script, and then with the power cut at each command of the disks, in each way.
pub(super) fn every_cut(index: u64, script: &Script, demands: Demands, sum: &mut Sum) {
    let case = |cut| Subject::Case(Case { script: script.clone(), cut });
    sum.add(index, &case(None), demands);
    for cutting in script.cuttings() {
        each_command(index, |after| case(Some((cutting, after))), demands, sum);
    }
}

/// Cuts the power ever later until it is not cut any more. The first failure stands for all.
fn each_command(index: u64, case: impl Fn(u32) -> Subject, demands: Demands, sum: &mut Sum) {
    let mut first: Option<Failed> = None;
    let mut panics = 0;
    for after in 0.. {
        let subject = case(after);
        let (cuts, wrong) = sum.live(&subject, demands);
        panics += u64::from(matches!(wrong, Some(Wrong::Panic(_))));
        match (wrong, &mut first) {
            (None, _) if cuts == 0 => break,
            (None, _) => {}
            (Some(_), Some(first)) => first.more += 1,
            (Some(wrong), first) => *first = Some(Failed { index, subject, wrong, more: 0 }),
        }
        if panics == PANICS {
            break;
        }
    }
    sum.failed.extend(first);
}
