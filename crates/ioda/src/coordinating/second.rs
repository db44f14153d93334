//! A second of a coordinator, for people and for machines.

use super::{Followed, Tally};
use array::policy::QosClass;
use nvme::WindowCounts;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use sim::LatencySummary;
use std::fmt::Write as _;

/// A second of a coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CoordinatedSecond {
    /// The number of the second, from 1.
    second: u64,
    /// Deterministic windows that have ended.
    windows: u64,
    /// Windows whose traffic was read; the others had left the page of the array before.
    reports: u64,
    /// Counts that the array refused, because its policy had begun anew.
    refused: u64,
    /// The counts that were set last; none before any were.
    counts: Option<ClassCounts>,
    /// Windows whose counts the array has acknowledged.
    answered: u64,
    /// Median time from the end of a window to its counts in microseconds, by the clock of the
    /// array; none without an answer.
    answer_p50_us: Option<f64>,
    /// 99th percentile of the same.
    answer_p99_us: Option<f64>,
    /// Each window whose traffic was read, with `--each`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    each: Vec<CoordinatedWindow>,
}

/// Counts of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ClassCounts {
    /// The window from whose traffic they follow.
    window: u64,
    /// Reads of the class High.
    high: u64,
    /// Reads of the class Medium.
    medium: u64,
    /// Reads of the class Low.
    low: u64,
    /// Writes that go to the drives, of all classes.
    writes: u64,
}

/// A window with the counts that followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CoordinatedWindow {
    /// Requests that came in the window; one that ended early counts as a whole one.
    came: ClassCounts,
    /// The counts that followed.
    counts: ClassCounts,
}

impl Document for CoordinatedSecond {
    const SCHEMA: &'static str = "ioda.plmlc/1";
}

const fn of_class(counts: &[u64; QosClass::COUNT], class: QosClass) -> u64 {
    counts[class as usize]
}

impl ClassCounts {
    fn new(window: u64, reads: &[u64; QosClass::COUNT], writes: u64) -> Self {
        Self {
            window,
            high: of_class(reads, QosClass::High),
            medium: of_class(reads, QosClass::Medium),
            low: of_class(reads, QosClass::Low),
            writes,
        }
    }
}

impl From<&WindowCounts> for ClassCounts {
    fn from(counts: &WindowCounts) -> Self {
        Self::new(counts.window, &counts.reads, counts.writes)
    }
}

impl From<&Followed> for CoordinatedWindow {
    fn from((traffic, counts): &Followed) -> Self {
        let came = ClassCounts::new(traffic.window, &traffic.reads, traffic.writes);
        Self { came, counts: counts.into() }
    }
}

impl CoordinatedSecond {
    /// The second of this number.
    pub(crate) fn new(second: u64, tally: &Tally, counts: Option<&WindowCounts>) -> Self {
        let Tally { windows, reports, refused, answers, each } = tally;
        Self {
            second,
            windows: *windows,
            reports: *reports,
            refused: *refused,
            counts: counts.map(Into::into),
            answered: answers.count(),
            answer_p50_us: micros(answers, 50.0),
            answer_p99_us: micros(answers, 99.0),
            each: each.iter().map(Into::into).collect(),
        }
    }

    /// The same as one line of JSON.
    pub(crate) fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&report::schema::marked(self))
    }

    /// A line for people.
    pub(crate) fn text(&self) -> String {
        let Self { second, windows, reports, refused, .. } = self;
        let mut text = format!("{second:>4} s: {windows} windows, {reports} reports");
        match &self.counts {
            Some(ClassCounts { high, medium, low, writes, .. }) => {
                let _ = write!(
                    text,
                    ", counts high {high}, medium {medium}, low {low}, writes {writes}"
                );
            }
            None => text.push_str(", no counts"),
        }
        if let (Some(half), Some(most)) = (self.answer_p50_us, self.answer_p99_us) {
            let _ = write!(text, ", report to counts {half:.0} us (p50), {most:.0} us (p99)");
        }
        if *refused > 0 {
            let _ = write!(text, ", {refused} refused");
        }
        text
    }
}

/// A percentile in microseconds; none of nothing.
fn micros(answers: &LatencySummary, percentile: f64) -> Option<f64> {
    (answers.count() > 0).then(|| answers.percentile(percentile).as_micros_f64())
}
