//! The life of one request: lanes for host, drives and dies, and what happened in sentences.

mod text;

use crate::schema;
use schemars::JsonSchema;
use serde::Serialize;

pub use text::render;

/// The life of one request. Times are in microseconds from its arrival.
#[derive(Serialize, Clone, PartialEq, Debug, Default, JsonSchema)]
pub struct Story {
    /// What it was, in a line.
    pub title: String,
    /// Name of the policy as people type it, such as `ioda`.
    pub policy: String,
    /// Name of the policy in figures, such as `IODA`.
    pub label: String,
    /// Names and values of what one needs to know: array, workload, command.
    pub facts: Vec<(String, String)>,
    /// How long it took, in microseconds.
    pub latency_us: f64,
    /// What it waited for, one after the other; the parts sum to the latency.
    pub chain: Vec<Part>,
    /// The latency by cause, as the run reports it; empty of writes.
    pub causes: Vec<Part>,
    /// Host, drives and dies.
    pub lanes: Vec<Lane>,
    /// Dies that have no lane because there are too many.
    pub dies_left_out: usize,
    /// What happened, in order.
    pub sentences: Vec<Sentence>,
}

/// A part of the latency.
#[derive(Serialize, Clone, PartialEq, Debug, JsonSchema)]
pub struct Part {
    /// What it went to.
    pub name: String,
    /// How long it is, in microseconds.
    pub us: f64,
}

/// One row of the picture.
#[derive(Serialize, Clone, PartialEq, Debug, JsonSchema)]
pub struct Lane {
    /// Where.
    pub name: String,
    /// Whether it belongs to the lane above it.
    pub nested: bool,
    /// What happened there.
    pub spans: Vec<Span>,
}

/// A stretch of time.
#[derive(Serialize, Clone, PartialEq, Debug, JsonSchema)]
pub struct Span {
    /// Its start in microseconds from the arrival; negative if the request had not come.
    pub from_us: f64,
    /// Its end in microseconds from the arrival.
    pub until_us: f64,
    /// What it went to.
    pub activity: Activity,
    /// What it was.
    pub label: String,
}

/// Something that happened.
#[derive(Serialize, Clone, PartialEq, Debug, JsonSchema)]
pub struct Sentence {
    /// When, in microseconds from the arrival.
    pub at_us: f64,
    /// What.
    pub text: String,
}

/// What a stretch of time went to.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each says in a table below what it is")]
pub enum Activity {
    Window,
    InDrive,
    Other,
    OtherRead,
    OtherProgram,
    Job,
    Flush,
    Check,
    CollectionCopy,
    CollectionErase,
    Suspension,
    HeldBack,
    AtHost,
    LockWait,
    LateAnswer,
    Stalled,
    Channel,
    WriteCache,
    OwnRead,
    OwnReconstructRead,
    OwnProgram,
    FailFast,
    Compute,
}

impl Activity {
    /// All, in the order of legends; in a picture the later ones go over the earlier ones.
    pub(crate) const ALL: [Self; 23] = [
        Self::Window,
        Self::InDrive,
        Self::Other,
        Self::OtherRead,
        Self::OtherProgram,
        Self::Job,
        Self::Flush,
        Self::Check,
        Self::CollectionCopy,
        Self::CollectionErase,
        Self::Suspension,
        Self::HeldBack,
        Self::AtHost,
        Self::LockWait,
        Self::LateAnswer,
        Self::Stalled,
        Self::Channel,
        Self::WriteCache,
        Self::OwnRead,
        Self::OwnReconstructRead,
        Self::OwnProgram,
        Self::FailFast,
        Self::Compute,
    ];

    /// How it looks.
    pub(crate) const fn look(self) -> Look {
        const fn look(
            letter: char,
            words: &'static str,
            colour: &'static str,
            pattern: Pattern,
        ) -> Look {
            Look { letter, words, colour, pattern }
        }
        match self {
            Self::Window => look('_', "busy window", "band", Pattern::Plain),
            Self::InDrive => look('-', "with the drive", "rule", Pattern::Plain),
            Self::OtherRead => look('r', "read for others", "sky", Pattern::Plain),
            Self::OtherProgram => look('w', "program for others", "blue", Pattern::Plain),
            Self::Job => look('j', "background job", "brown", Pattern::Plain),
            Self::Flush => look('b', "flush of the write buffer", "blue", Pattern::Striped),
            Self::Check => look('k', "check of copied pages", "brown", Pattern::Striped),
            Self::CollectionCopy => look('C', "collection: copies", "vermillion", Pattern::Plain),
            Self::CollectionErase => look('E', "collection: erase", "vermillion", Pattern::Striped),
            Self::Suspension => look('s', "suspended", "grey", Pattern::Striped),
            Self::AtHost => look('q', "waits at the host", "purple", Pattern::Dotted),
            Self::HeldBack => look('h', "held back", "grey", Pattern::Dotted),
            Self::LockWait => look('L', "waits for the stripe", "purple", Pattern::Striped),
            Self::LateAnswer => look('l', "late answer", "sky", Pattern::Striped),
            Self::Stalled => look('f', "waits for free space", "orange", Pattern::Striped),
            Self::Channel => look('c', "waits for a channel", "grey", Pattern::Plain),
            Self::WriteCache => look('n', "write cache", "orange", Pattern::Plain),
            Self::OwnRead => look('R', "its read", "green", Pattern::Plain),
            Self::OwnReconstructRead => {
                look('X', "its read to reconstruct from", "green", Pattern::Striped)
            }
            Self::OwnProgram => look('W', "its program", "green", Pattern::Dotted),
            Self::FailFast => look('!', "fails fast", "purple", Pattern::Plain),
            Self::Compute => look('+', "computes", "ink", Pattern::Plain),
            Self::Other => look('?', "other", "ink", Pattern::Striped),
        }
    }
}

/// How an activity looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// Its letter in a terminal.
    pub(crate) letter: char,
    /// Its words in a legend.
    pub(crate) words: &'static str,
    /// Its colour, as the style sheet of a page names it.
    pub(crate) colour: &'static str,
    /// What tells it from others of its colour.
    pub(crate) pattern: Pattern,
}

/// What is drawn over a colour. There are more activities than colours that everybody can tell
/// apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// Nothing.
    Plain,
    /// Slanting stripes.
    Striped,
    /// A row of dots.
    Dotted,
}

impl Story {
    /// What is used in its lanes, in the order of legends.
    pub(crate) fn activities(&self) -> Vec<Activity> {
        let used = |activity: &Activity| {
            let mut spans = self.lanes.iter().flat_map(|lane| &lane.spans);
            spans.any(|span| span.activity == *activity)
        };
        Activity::ALL.into_iter().filter(used).collect()
    }

    /// The stretch of time that is drawn: the life, and a little of what came before it.
    pub(crate) fn drawn(&self) -> (f64, f64) {
        let spans = self.lanes.iter().flat_map(|lane| &lane.spans);
        let first = spans.map(|span| span.from_us).fold(0.0, f64::min);
        let latency = self.latency_us.max(1e-3);
        (first.max(-latency / 8.0), latency)
    }
}

/// A time as it is written everywhere here, as `52.0 µs`.
#[must_use]
pub fn time(us: f64) -> String {
    crate::format::latency(us)
}

/// The document as JSON.
#[must_use]
pub fn to_json(story: &Story) -> String {
    schema::to_string(story)
}

impl schema::Document for Story {
    const SCHEMA: &'static str = "ioda.explain/1";
}

/// Times from `from` to `until` for the marks of an axis with about `wanted` of them.
pub(crate) fn ticks(from: f64, until: f64, wanted: f64) -> Vec<f64> {
    let rough = (until - from) / wanted;
    let scale = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * scale);
    let step = step.into_iter().find(|&step| step >= rough).unwrap_or(rough);
    let first = (from / step).ceil() as i64;
    let last = (until / step).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_activity_is_in_the_legend_and_has_a_letter_of_its_own() {
        let mut letters: Vec<char> = Activity::ALL.iter().map(|one| one.look().letter).collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), Activity::ALL.len());
        for (i, one) in Activity::ALL.iter().enumerate() {
            let fill = |one: &Activity| (one.look().colour, one.look().pattern);
            assert!(Activity::ALL[..i].iter().all(|other| fill(other) != fill(one)), "{one:?}");
        }
        let mut all = Activity::ALL;
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn marks_of_an_axis_are_round() {
        assert_eq!(ticks(-5.0, 55.0, 6.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(0.0, 31_400.0, 6.0).len(), 4);
    }
}
