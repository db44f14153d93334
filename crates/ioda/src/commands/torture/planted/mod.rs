//! `ioda torture --planted`: how many histories each planted bug takes to be found.

pub(crate) mod document;
mod hunt;
mod show;

use super::{TortureArgs, trial};
use crate::exit::Code;
use crate::output;
use crate::talk::Talk;
use array::Level;
use engine::planted::{self, Bug};
use hunt::{Hunt, RUNS, Run};
use sim::torture::Demands;
use std::time::Instant;
use study::Failure;

/// Most histories of a run unless their number is given.
const HISTORIES: u64 = 2000;

/// Lives through histories with each bug, and says how many passed before it was found.
pub(super) fn run(
    args: &TortureArgs,
    names: &[String],
    levels: Vec<Level>,
    threads: usize,
    talk: Talk,
) -> Result<Code, Failure> {
    if !planted::CAN_BE {
        return Err(Failure::usage(
            "--planted needs a program that is built with the feature `planted`: cargo run --release --features planted --bin ioda -- torture --planted",
        ));
    }
    let hunt = Hunt {
        bugs: bugs(names)?,
        levels,
        first: args.seed.unwrap_or(1),
        most: args.seeds.unwrap_or(HISTORIES),
        steps: args.steps.unwrap_or(super::STEPS),
        demands: Demands { write_hole: false },
    };
    trial::catch_panics();
    let started = Instant::now();
    let runs = hunt.go(threads, talk.progress);
    let found: Vec<Found> =
        hunt.bugs.iter().zip(runs).map(|(&bug, runs)| Found { bug, runs }).collect();
    let shown = show::Shown { hunt, found, seconds: started.elapsed().as_secs_f64() };
    output::show(args.json.path(), || document::of(&shown), || shown.text())?;
    let lost = shown.found.iter().filter(|found| found.median().is_none()).count();
    let anyway = shown.fail_anyway().len();
    match lost {
        0 if anyway == 0 => Ok(Code::Ok),
        0 => Err(Failure::internal(format!("{anyway} histories fail without a bug as well"))),
        lost => Err(Failure::internal(format!(
            "{lost} of {} planted bugs were not found",
            shown.found.len()
        ))),
    }
}

/// The bugs of these names; all, without any.
fn bugs(names: &[String]) -> Result<Vec<Bug>, Failure> {
    if names.is_empty() {
        return Ok(Bug::all().collect());
    }
    let bug = |name: &String| {
        Bug::named(name).ok_or_else(|| {
            let all: Vec<&str> = Bug::all().map(|bug| bug.about().name).collect();
            Failure::usage(format!("--planted names {name:?}; the bugs are {}", all.join(", ")))
        })
    };
    names.iter().map(bug).collect()
}

/// What came of a bug.
struct Found {
    bug: Bug,
    runs: [Run; RUNS],
}

impl Found {
    /// Histories in the median of the runs; `None` if most runs did not find it.
    fn median(&self) -> Option<u64> {
        let mut needed = self.runs.each_ref().map(|run| run.needed.unwrap_or(u64::MAX));
        needed.sort_unstable();
        Some(needed[RUNS / 2]).filter(|median| *median != u64::MAX)
    }

    /// How often arrays came to where the bug makes a difference.
    fn reached(&self) -> u64 {
        self.runs.iter().map(|run| run.reached).sum()
    }

    fn processor_seconds(&self) -> f64 {
        self.runs.iter().map(|run| run.processor.as_secs_f64()).sum()
    }
}
