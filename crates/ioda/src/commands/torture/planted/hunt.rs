//! Histories with a bug each, until it is found.

use super::super::trial::{self, Subject};
use super::super::work::processor_time;
use crate::progress::{self, Show};
use array::Level;
use engine::planted::{Bug, Planted, Site};
use sim::torture::Demands;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Runs for each bug: an odd number has a median.
pub(super) const RUNS: usize = 3;
/// From the first seed of a run to that of the next.
const SEEDS_APART: u64 = 1_000_000;

/// What is to be found, and in which histories.
pub(super) struct Hunt {
    pub(super) bugs: Vec<Bug>,
    /// Levels of the arrays; all, if none is named.
    pub(super) levels: Vec<Level>,
    /// First seed of the first run.
    pub(super) first: u64,
    /// Most histories of a run.
    pub(super) most: u64,
    pub(super) steps: u32,
    pub(super) demands: Demands,
}

/// What came of the histories from one seed on.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Histories up to the first that failed; `None` if none did.
    pub(super) needed: Option<u64>,
    /// What was wrong in that.
    pub(super) wrong: Option<String>,
    /// Seeds of histories that fail without the bug as well, and so say nothing of it.
    pub(super) fail_anyway: Vec<u64>,
    /// How often arrays came to where the bug makes a difference.
    pub(super) reached: u64,
    /// Processor time.
    pub(super) processor: Duration,
}

impl Hunt {
    /// The first seed of a run.
    pub(super) fn seed(&self, run: usize) -> u64 {
        self.first.wrapping_add(run as u64 * SEEDS_APART)
    }

    /// Hunts each bug, on `threads` threads. Results do not depend on their number.
    pub(super) fn go(&self, threads: usize, show: Show) -> Vec<[Run; RUNS]> {
        let done = AtomicU64::new(0);
        let runs = self.bugs.len() * RUNS;
        let work = |number: usize| {
            let run = self.run(self.bugs[number / RUNS], self.seed(number % RUNS));
            done.fetch_add(1, Ordering::Relaxed);
            run
        };
        let all = progress::counting_all(show, "planted", "runs", Some(runs as u64), &done, || {
            sim::side_by_side(threads, runs, work)
        });
        let mut all = all.into_iter();
        let of_bug = |_: &Bug| std::array::from_fn(|_| all.next().unwrap_or_default());
        self.bugs.iter().map(of_bug).collect()
    }

    /// Lives through histories with a bug until one fails.
    fn run(&self, bug: Bug, first: u64) -> Run {
        let begun = processor_time();
        // A handle is copied into every machine of an array, so what it points to stays.
        let site: &'static Site = Box::leak(Box::new(Site::new(bug)));
        let mut run = Run::default();
        for number in 0..self.most {
            let seed = first.wrapping_add(number);
            let level = self.levels.get((seed % self.levels.len().max(1) as u64) as usize).copied();
            let mut history = Subject::Seed { seed, level, steps: self.steps }.history();
            let sound = history.clone();
            history.shape.setup.planted = Planted::at(site);
            let (_, Some(wrong)) = trial::live(&history, self.demands, false) else { continue };
            if trial::live(&sound, self.demands, false).1.is_some() {
                run.fail_anyway.push(seed);
                continue;
            }
            run.needed = Some(number + 1);
            run.wrong = Some(wrong.to_string());
            break;
        }
        Run { reached: site.reached(), processor: processor_time().saturating_sub(begun), ..run }
    }
}
