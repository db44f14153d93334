//! `ioda presets metrics`.

use schemars::JsonSchema;
use serde::Serialize;
use study::metric::{FORMS, Plain, Unit};
use study::table;

/// A metric of one word.
#[derive(Serialize, JsonSchema)]
pub(super) struct MetricEntry {
    /// The word in `--assert`, `--metric` and experiments, such as `waf`.
    name: &'static str,
    /// `ns`, `%`, or `1` for a plain number.
    unit: &'static str,
    /// Whether the sum over several workloads is the number of all of them together.
    adds_up: bool,
    /// The number in a few words.
    description: &'static str,
}

impl From<Plain> for MetricEntry {
    fn from(metric: Plain) -> Self {
        let unit = match metric.unit() {
            Unit::Time => "ns",
            Unit::Percent => "%",
            Unit::Number => "1",
        };
        let (name, description) = (metric.word(), metric.is());
        Self { name, unit, adds_up: metric.adds_up(), description }
    }
}

/// The metrics of one word, in the order of the table.
pub(super) fn entries() -> Vec<MetricEntry> {
    Plain::all().map(MetricEntry::from).collect()
}

/// The metrics for people.
pub(super) fn list() -> String {
    let line = |entry: MetricEntry| {
        let MetricEntry { name, unit, description, .. } = entry;
        format!("  {name:<22}{unit:<4}{description}\n")
    };
    let lines: String = entries().into_iter().map(line).collect();
    format!("metrics of one word, with their units\n{lines}{}", table::paragraph(FORMS, 2))
}
