//! Planted bugs are found by histories that a correct array survives.
//!
//! A few bugs that are found soon represent all. `ioda torture --planted` measures all of them.

use engine::planted::{Bug, Planted, Site};
use ioda_sim::torture::{Demands, History, torture};
use std::panic::{AssertUnwindSafe, catch_unwind};

const PROMISED: Demands = Demands { write_hole: false };
const STEPS: usize = 200;
/// Seeds of the histories: each of the bugs below needs only a few of them.
const SEEDS: std::ops::Range<u64> = 1..41;

/// One bug of each kind, and bugs that the torture once missed, if they are found soon.
const BUGS: [Bug; 10] = [
    Bug::HalfRefilledEarly,
    Bug::HalfRetiredUnsynced,
    Bug::DirtySumsEvicted,
    Bug::FlushBeforeBatch,
    Bug::GapFromOldPages,
    Bug::ReplayReversed,
    Bug::RecordNamesItselfOnly,
    Bug::DroppedBatchReplayed,
    Bug::DoubtsDropped,
    Bug::BothHalvesRetired,
];

fn history(seed: u64, planted: Planted) -> History {
    let mut history = History::draw(seed, None, STEPS);
    history.shape.setup.planted = planted;
    history
}

/// Returns true if an array with a bug fails its history, by its behaviour or by an invariant.
fn fails(history: &History) -> bool {
    let lived = catch_unwind(AssertUnwindSafe(|| torture(history, PROMISED, false)));
    lived.map_or(true, |verdict| verdict.failure.is_some())
}

#[test]
fn planted_bugs_are_found_by_histories_that_an_array_without_them_survives() {
    let mut last = 0;
    for bug in BUGS {
        let site: &'static Site = Box::leak(Box::new(Site::new(bug)));
        let name = bug.about().name;
        let mut seeds = SEEDS;
        let found = seeds.find(|&seed| fails(&history(seed, Planted::at(site))));
        let Some(found) = found else {
            panic!("{name} was reached {} times and is not found", site.reached())
        };
        assert!(
            site.reached() > 0,
            "{name} is found by seed {found} though no array has reached it"
        );
        last = last.max(found);
    }
    for seed in SEEDS.start..=last {
        let verdict = torture(&history(seed, Planted::NONE), PROMISED, false);
        assert_eq!(verdict.failure, None, "seed {seed}");
    }
}
