//! What came of it, as JSON.

use super::show::{Shown, pairs};
use super::work::Sum;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// What arrays lived through, as `ioda torture --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tortured {
    /// What was done, in a line.
    what: String,
    /// What happened, counted.
    #[serde(flatten)]
    counts: Counts,
    /// Time it took, in seconds.
    seconds: f64,
    /// Histories for each second.
    histories_per_second: f64,
    /// How often each event met each state of the array.
    coverage: Vec<Met>,
    /// What is possible at the levels that were asked for, but was never met.
    never_met: Vec<Pair>,
    /// Histories that failed, each later command of a sweep at which one fails included.
    failed: u64,
    /// The histories that failed.
    failures: Vec<Failure>,
    /// The shortest history that fails as the first failure does; null if none failed or it was not looked for.
    shortest: Option<Shortest>,
    /// The one history that was to be told, a line for each event; null if none was.
    story: Option<Vec<String>>,
}

impl Document for Tortured {
    const SCHEMA: &'static str = "ioda.torture/1";
}

/// What happened in all histories.
#[derive(Serialize, JsonSchema)]
struct Counts {
    /// Histories.
    histories: u64,
    /// Requests of clients.
    requests: u64,
    /// Power cuts.
    power_cuts: u64,
    /// Faults of drives.
    faults: u64,
    /// Admin commands.
    orders: u64,
    /// Sectors that were compared with what they may hold.
    sectors_compared: u64,
    /// Records of the journal that were replayed at a start.
    journal_records_replayed: u64,
    /// Power cuts while an array was created.
    cut_creations: u64,
    /// Power cuts while a drive was formatted.
    cut_formats: u64,
    /// Rebuilds that went on after a start.
    rebuilds_resumed: u64,
    /// Drives that came back and were given what they had missed.
    drives_returned: u64,
    /// Power cuts that did not come: copies of the disks lost their power, and an array was started on them.
    power_cuts_imagined: u64,
}

/// How often an event met a state of the array.
#[derive(Serialize, JsonSchema)]
struct Met {
    /// The event.
    event: &'static str,
    /// The state.
    state: &'static str,
    /// How often.
    met: u64,
}

/// An event and a state of the array.
#[derive(Serialize, JsonSchema)]
struct Pair {
    /// The event.
    event: &'static str,
    /// The state.
    state: &'static str,
}

/// A history that failed.
#[derive(Serialize, JsonSchema)]
struct Failure {
    /// Which history: its seed, or its script.
    history: String,
    /// Its array, in words.
    array: String,
    /// What was wrong.
    failure: String,
    /// Later commands of the same script at which a cut fails as well.
    later_commands: u64,
    /// The command that repeats it.
    repeat: String,
}

/// The shortest history that fails.
#[derive(Serialize, JsonSchema)]
struct Shortest {
    /// The history that it was made from.
    history: String,
    /// Its steps.
    steps: usize,
    /// What happens in it, a line for each event.
    story: Vec<String>,
}

/// The document of what is shown.
pub(super) fn of(shown: &Shown) -> Tortured {
    let Sum { histories, counts, coverage, failed } = &shown.sum;
    let met = pairs().map(|(event, state)| Met {
        event: event.name(),
        state: state.name(),
        met: coverage.met(event, state),
    });
    let never = shown.never_met().into_iter();
    let failures = failed.iter().map(|failed| Failure {
        history: failed.subject.to_string(),
        array: failed.subject.history().shape.to_string(),
        failure: failed.wrong.to_string(),
        later_commands: failed.more,
        repeat: failed.subject.repeat(shown.demands),
    });
    Tortured {
        what: shown.title.clone(),
        counts: Counts {
            histories: *histories,
            requests: counts.requests,
            power_cuts: counts.cuts,
            faults: counts.faults,
            orders: counts.orders,
            sectors_compared: counts.sectors,
            journal_records_replayed: counts.replayed,
            cut_creations: counts.cut_creations,
            cut_formats: counts.cut_formats,
            rebuilds_resumed: counts.resumed,
            drives_returned: counts.returned,
            power_cuts_imagined: counts.looks,
        },
        seconds: shown.seconds,
        histories_per_second: *histories as f64 / shown.seconds,
        coverage: met.collect(),
        never_met: never
            .map(|(event, state)| Pair { event: event.name(), state: state.name() })
            .collect(),
        failed: shown.failures_count(),
        failures: failures.collect(),
        shortest: shown.shortest.as_ref().map(|shortest| Shortest {
            history: shortest.subject.to_string(),
            steps: shortest.steps,
            story: shortest.story.clone(),
        }),
        story: shown.story.clone(),
    }
}
