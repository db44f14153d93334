//! What came of it, as JSON.

use super::show::{Shown, pairs};
use super::work::Part;
use report::schema::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::torture::{ArrayState, Coverage, Event, Transition};

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
    /// Steps of all histories.
    steps: u64,
    /// Time that processors worked, in seconds.
    processor_seconds: f64,
    /// The same for each level.
    levels: Vec<OfLevel>,
    /// How often each transition within an array was made.
    transitions: Vec<Made>,
    /// Transitions that are possible at the levels that were asked for, but were never made.
    never_made: Vec<&'static str>,
    /// The file in which counts are added up; null without --state.
    state: Option<Added>,
    /// How often each event met each state of the array.
    coverage: Vec<Met>,
    /// What is possible at the levels that were asked for, but was never met.
    never_met: Vec<Pair>,
    /// Histories that failed, each later command of a sweep at which one fails included.
    failed: u64,
    /// The histories that failed.
    failures: Vec<Failure>,
    /// The shortest history that fails as the first failure does; null if none failed or it was not
    /// looked for.
    shortest: Option<Shortest>,
    /// The one history that was to be told, a line for each event; null if none was.
    story: Option<Vec<String>>,
}

impl Document for Tortured {
    const SCHEMA: &'static str = "ioda.torture/1";
}

/// What came of the histories of a level.
#[derive(Serialize, JsonSchema)]
struct OfLevel {
    /// The level.
    level: &'static str,
    /// Histories.
    histories: u64,
    /// Steps of these histories.
    steps: u64,
    /// Time that processors worked on them, in seconds.
    processor_seconds: f64,
}

/// A file in which counts are added up.
#[derive(Serialize, JsonSchema)]
pub(super) struct Added {
    /// Its name.
    pub(super) file: String,
    /// Runs that have added to it.
    pub(super) runs: u64,
    /// The next seed that no run has begun.
    pub(super) next_seed: u64,
}

/// What happened in all histories.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Counts {
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
    /// Power cuts that did not come: copies of the disks lost their power, and an array was started
    /// on them.
    power_cuts_imagined: u64,
}

impl Counts {
    pub(super) fn of(part: &Part) -> Self {
        let counts = &part.counts;
        Self {
            histories: part.histories,
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
        }
    }

    pub(super) fn counts(&self) -> sim::torture::Counts {
        sim::torture::Counts {
            requests: self.requests,
            cuts: self.power_cuts,
            faults: self.faults,
            orders: self.orders,
            sectors: self.sectors_compared,
            replayed: self.journal_records_replayed,
            cut_creations: self.cut_creations,
            cut_formats: self.cut_formats,
            resumed: self.rebuilds_resumed,
            returned: self.drives_returned,
            looks: self.power_cuts_imagined,
        }
    }
}

/// How often an event met a state of the array.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Met {
    /// The event.
    pub(super) event: String,
    /// The state.
    pub(super) state: String,
    /// How often.
    pub(super) met: u64,
}

impl Met {
    pub(super) fn of(coverage: &Coverage, event: Event, state: ArrayState) -> Self {
        let met = coverage.met(event, state);
        Self { event: event.name().to_owned(), state: state.name().to_owned(), met }
    }
}

/// How often a transition within an array was made.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct Made {
    /// The transition.
    pub(super) transition: String,
    /// How often, in starts on copies of the disks too.
    pub(super) times: u64,
    /// Histories in which it was.
    pub(super) histories: u64,
}

impl Made {
    pub(super) fn of(coverage: &Coverage, transition: Transition) -> Self {
        let made = coverage.made(transition);
        Self {
            transition: transition.name().to_owned(),
            times: made.times,
            histories: made.histories,
        }
    }
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
    let total = shown.sum.total();
    let coverage = &total.coverage;
    let met = pairs().map(|(event, state)| Met::of(coverage, event, state));
    let never = shown.never_met().into_iter();
    let failures = shown.sum.failed.iter().map(|failed| Failure {
        history: failed.subject.to_string(),
        array: failed.subject.history().shape.to_string(),
        failure: failed.wrong.to_string(),
        later_commands: failed.more,
        repeat: failed.subject.repeat(shown.demands),
    });
    let before = shown.failures_before.iter().cloned().map(|kept| Failure {
        history: kept.history,
        array: kept.array,
        failure: kept.failure,
        later_commands: 0,
        repeat: kept.repeat,
    });
    let levels = shown.levels_met().map(|(level, part)| OfLevel {
        level: level.name(),
        histories: part.histories,
        steps: part.steps,
        processor_seconds: part.processor.as_secs_f64(),
    });
    Tortured {
        what: shown.title.clone(),
        counts: Counts::of(&total),
        seconds: shown.seconds,
        histories_per_second: shown.histories as f64 / shown.seconds,
        steps: total.steps,
        processor_seconds: total.processor.as_secs_f64(),
        levels: levels.collect(),
        transitions: Transition::ALL.map(|made| Made::of(coverage, made)).to_vec(),
        never_made: shown.never_made().into_iter().map(Transition::name).collect(),
        state: shown.added(),
        coverage: met.collect(),
        never_met: never
            .map(|(event, state)| Pair { event: event.name(), state: state.name() })
            .collect(),
        failed: shown.failures_count(),
        failures: before.chain(failures).collect(),
        shortest: shown.shortest.as_ref().map(|shortest| Shortest {
            history: shortest.subject.to_string(),
            steps: shortest.steps,
            story: shortest.story.clone(),
        }),
        story: shown.story.clone(),
    }
}
