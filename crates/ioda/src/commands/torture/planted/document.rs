//! What was found, as JSON.

use super::show::Shown;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// How many histories each planted bug takes to be found, as `ioda torture --planted --json` writes
/// it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlantedBugs {
    /// What was done, in a line.
    what: String,
    /// Most histories from each seed.
    histories_most: u64,
    /// Steps of each history.
    steps: u32,
    /// Bugs that were found from most seeds.
    found: usize,
    /// Seeds of histories that fail without a bug as well: they say nothing of any.
    fail_anyway: Vec<u64>,
    /// Time it took, in seconds.
    seconds: f64,
    /// The bugs.
    bugs: Vec<Planted>,
}

impl Document for PlantedBugs {
    const SCHEMA: &'static str = "ioda.planted/1";
}

/// A bug.
#[derive(Serialize, JsonSchema)]
struct Planted {
    /// Its name.
    name: &'static str,
    /// What the mistake is about.
    kind: &'static str,
    /// The mistake in a sentence.
    sentence: &'static str,
    /// Histories up to the one that found it, in the median of the seeds; null if most found
    /// nothing.
    median: Option<u64>,
    /// Times that arrays came to where the bug makes a difference; 0 if no history reached it.
    reached: u64,
    /// Processor time, in seconds.
    processor_seconds: f64,
    /// What came of the histories from each seed on.
    runs: Vec<Run>,
}

/// What came of the histories from one seed on.
#[derive(Serialize, JsonSchema)]
struct Run {
    /// The first seed.
    seed: u64,
    /// Histories up to the one that failed; null if none did.
    histories: Option<u64>,
    /// What was wrong in that; null if none failed.
    failure: Option<String>,
    /// Times that arrays came to where the bug makes a difference.
    reached: u64,
}

/// The document of what is shown.
pub(super) fn of(shown: &Shown) -> PlantedBugs {
    let bugs = shown.found.iter().map(|found| {
        let about = found.bug.about();
        let runs = found.runs.iter().enumerate().map(|(number, run)| Run {
            seed: shown.hunt.seed(number),
            histories: run.needed,
            failure: run.wrong.clone(),
            reached: run.reached,
        });
        Planted {
            name: about.name,
            kind: about.kind.name(),
            sentence: about.sentence,
            median: found.median(),
            reached: found.reached(),
            processor_seconds: found.processor_seconds(),
            runs: runs.collect(),
        }
    });
    let bugs: Vec<Planted> = bugs.collect();
    PlantedBugs {
        what: shown.title(),
        histories_most: shown.hunt.most,
        steps: shown.hunt.steps,
        found: bugs.iter().filter(|bug| bug.median.is_some()).count(),
        fail_anyway: shown.fail_anyway().into_iter().collect(),
        seconds: shown.seconds,
        bugs,
    }
}
