//! Many histories side by side, and their sum.

use super::trial::{self, Failed, Subject, Wrong};
use array::Level;
use sim::torture::{Case, Counts, Coverage, Demands, Script};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A script that panics wherever the power goes is left after so many.
const PANICS: u64 = 100;

/// What came of many histories of one level. Adding is the same in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) histories: u64,
    pub(super) steps: u64,
    /// Time that processors worked on them.
    pub(super) processor: Duration,
    pub(super) counts: Counts,
    pub(super) coverage: Coverage,
}

impl Part {
    pub(super) fn add(&mut self, other: &Self) {
        self.histories += other.histories;
        self.steps += other.steps;
        self.processor += other.processor;
        self.counts.add(&other.counts);
        self.coverage.add(&other.coverage);
    }
}

/// What came of many histories.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// By the place of the level in [`Level::ALL`].
    parts: [Part; Level::ALL.len()],
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
        let begun = processor_time();
        let history = subject.history();
        let (verdict, wrong) = trial::live(&history, demands, false);
        let part = Part {
            histories: 1,
            steps: history.steps.len() as u64,
            processor: processor_time().saturating_sub(begun),
            counts: verdict.counts,
            coverage: verdict.coverage,
        };
        self.part_mut(history.shape.level).add(&part);
        (verdict.counts.cuts, wrong)
    }

    /// What came of the histories of a level.
    pub(super) fn part(&self, level: Level) -> &Part {
        &self.parts[place(level)]
    }

    pub(super) fn part_mut(&mut self, level: Level) -> &mut Part {
        &mut self.parts[place(level)]
    }

    /// What came of all histories.
    pub(super) fn total(&self) -> Part {
        let mut total = Part::default();
        self.parts.iter().for_each(|part| total.add(part));
        total
    }

    pub(super) fn join(&mut self, other: Self) {
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.add(other);
        }
        self.failed.extend(other.failed);
    }
}

fn place(level: Level) -> usize {
    Level::ALL.iter().position(|known| *known == level).unwrap_or_default()
}

/// Time that a processor worked for this thread.
pub(super) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How long it goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// So many.
    Number(u64),
    /// What has begun by then.
    Time(Instant),
    /// What has begun before processors have worked for so long.
    Processor(Duration),
}

/// Histories that are lived through: which are under way, and whether more are to begin.
#[derive(Debug)]
pub(super) struct Queue {
    until: Until,
    /// Time that processors worked on those that have ended.
    processor_nanos: AtomicU64,
    /// Nothing more is to begin.
    stop: AtomicBool,
}

impl Queue {
    pub(super) fn new(until: Until) -> Self {
        Self { until, processor_nanos: AtomicU64::new(0), stop: AtomicBool::new(false) }
    }

    /// Lets nothing more begin.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// How many are to be lived through at most.
    fn most(&self) -> usize {
        match self.until {
            Until::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
            Until::Time(_) | Until::Processor(_) => usize::MAX / 2,
        }
    }

    /// Whether another one is to begin.
    fn goes_on(&self) -> bool {
        let worked = Duration::from_nanos(self.processor_nanos.load(Ordering::Relaxed));
        let in_time = match self.until {
            Until::Number(_) => true,
            Until::Time(end) => Instant::now() < end,
            Until::Processor(time) => worked < time,
        };
        in_time && !self.stop.load(Ordering::Acquire)
    }
}

/// Does `work` for the numbers from zero on up to `threads` threads. `ended` gets each result as
/// soon as it is there.
pub(super) fn side_by_side(
    threads: usize,
    queue: &Queue,
    work: impl Fn(u64, &mut Sum) + Sync,
    mut ended: impl FnMut(Sum),
) {
    let one = |index: usize| {
        queue.goes_on().then(|| {
            let begun = processor_time();
            let mut sum = Sum::default();
            work(index as u64, &mut sum);
            let worked = processor_time().saturating_sub(begun).as_nanos() as u64;
            queue.processor_nanos.fetch_add(worked, Ordering::Relaxed);
            sum
        })
    };
    let take = |_, sum: Option<Sum>| match sum {
        Some(sum) => {
            ended(sum);
            Ok(())
        }
        None => Err(()),
    };
    // An error says no more than that the queue has ended.
    let _ = sim::each_side_by_side(threads, queue.most(), one, take);
}

/// The sum of all results, in any order of ending.
pub(super) fn summed(threads: usize, queue: &Queue, work: impl Fn(u64, &mut Sum) + Sync) -> Sum {
    let mut all = Sum::default();
    side_by_side(threads, queue, work, |sum| all.join(sum));
    // A script stands in its place with each of its failures, in their order.
    all.failed.sort_by_key(|failed| failed.index);
    all
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
