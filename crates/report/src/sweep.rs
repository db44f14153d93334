//! The document of a sweep: one or two parameters over a range, under several policies and seeds.
//!
//! The schema is versioned ([`Document`]) and described in `docs/sweep.md`. As in the document of a
//! comparison every number is finite. Metrics have the names that `--assert` knows them by; times
//! among them are in microseconds.

mod evidence;

use crate::format;
use crate::schema::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// Version of the records that a [`Sweep`] is made of. It grows with every change that a reader of
/// an earlier version would misunderstand.
pub const SCHEMA: u32 = 1;

impl Document for Sweep {
    const SCHEMA: &'static str = "ioda.sweep/1";
}

/// Runs that are named where a sentence is about many.
const NAMED: usize = 4;

/// Parameters over ranges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// What was varied, in one line.
    pub title: String,
    /// Version of the program.
    pub ioda_version: String,
    /// The command as it was typed.
    pub command_line: String,
    /// What all points have in common, as names and values in words.
    pub facts: Vec<(String, String)>,
    /// The whole configuration, without what is varied.
    pub configuration_toml: String,
    /// The seeds; strings, because JavaScript loses integer bits above 2^53.
    pub seeds: Vec<String>,
    /// What is varied: one parameter or two.
    pub parameters: Vec<Parameter>,
    /// The policies in the order in which they are shown.
    pub policies: Vec<SweepPolicy>,
    /// The metrics that are shown; runs have all standard ones.
    pub metrics: Vec<SweepMetric>,
    /// All combinations of values; that of the last parameter changes fastest.
    pub points: Vec<SweepPoint>,
    /// One entry per point, policy and seed.
    pub runs: Vec<SweepRun>,
    /// What the runs do not prove, such as cells in which nothing was collected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// The name people type.
    pub name: String,
    /// Its path in the configuration.
    pub key: String,
    /// Its values in the order in which they are shown.
    pub values: Vec<Value>,
    /// How they are spread on an axis.
    pub scale: Scale,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// As it is typed.
    pub text: String,
    /// Where it is on an axis: the number, or 0, 1, 2 … if the values are names.
    pub position: f64,
}

/// How values are spread on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their numbers.
    Linear,
    /// By the logarithms of these.
    Logarithmic,
    /// Evenly, because they are names.
    Names,
}

/// A policy of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPolicy {
    /// The name people type.
    pub name: String,
    /// The name in figures.
    pub label: String,
}

/// A metric that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepMetric {
    /// The name people type.
    pub name: String,
    /// What its numbers are.
    pub unit: Unit,
}

/// What the numbers of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Times in microseconds.
    Microseconds,
    /// Shares in per cent.
    Percent,
    /// Plain numbers.
    Number,
}

impl Unit {
    /// `value` for people.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Microseconds => format::latency(value),
            Self::Percent => format::percent(value),
            Self::Number if value.fract() == 0.0 && (0.0..1e15).contains(&value) => {
                format::count(value as u64)
            }
            Self::Number => format::three_digits(value),
        }
    }
}

/// A combination of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// The text of the value of each parameter.
    pub values: Vec<String>,
    /// What a reader should know about it, such as the rate of its workload.
    pub notes: Vec<String>,
}

/// One policy at one point with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRun {
    /// Index of the point.
    pub point: usize,
    /// Name of the policy.
    pub policy: String,
    /// The seed.
    pub seed: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended, and this was measured.
    Measured(Measured),
    /// It cannot be built, and this sentence says why.
    Refused(String),
    /// The array did not keep up with the requests, so the run was ended; this sentence says when.
    Overloaded(String),
    /// It failed, and this sentence says why.
    Failed(String),
}

/// Why a run has no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It cannot be built.
    NotRun,
    /// The array did not keep up.
    Overloaded,
    /// It failed.
    Failed,
}

impl Missing {
    /// What stands in the place of a number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotRun => "not run",
            Self::Overloaded => "overloaded",
            Self::Failed => "failed",
        }
    }
}

impl Outcome {
    /// Why there are no numbers, and the sentence about it; none if there are.
    fn missing(&self) -> Option<(Missing, &String)> {
        match self {
            Self::Measured(_) => None,
            Self::Refused(why) => Some((Missing::NotRun, why)),
            Self::Overloaded(why) => Some((Missing::Overloaded, why)),
            Self::Failed(why) => Some((Missing::Failed, why)),
        }
    }
}

/// What was measured in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Hash over every result; equal hashes mean equal runs.
    pub result_hash: String,
    /// Every standard metric that the run has.
    pub metrics: BTreeMap<String, f64>,
    /// Those percentiles beyond which fewer than 100 samples lie.
    pub few_samples: BTreeSet<String>,
    /// Where metrics of latency lie with a confidence of 95 %, as the run's own blocks of time
    /// vary: those of which it can be said, if it was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, (f64, f64)>,
}

/// One metric over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The median; of an even number of seeds the mean of the two in the middle.
    pub median: f64,
    /// The lowest; of one seed the lower end of its interval, if that is known.
    pub low: f64,
    /// The highest; of one seed the upper end.
    pub high: f64,
    /// Whether these are the ends of an interval.
    pub is_interval: bool,
    /// Whether fewer than 100 samples lie beyond it with some seed.
    pub few: bool,
}

impl SweepMetric {
    /// What its numbers are of, where its name does not say.
    #[must_use]
    pub fn meaning(&self) -> Option<&'static str> {
        (self.name == "waf").then_some(
            "write amplification of the drives: pages of flash programmed per page that the array wrote to \
             them",
        )
    }
}

/// A sweep with its runs by point and policy, so that a cell of a table looks at its own runs only.
#[derive(Debug)]
pub struct Cells<'a> {
    sweep: &'a Sweep,
    /// By policy, then by point.
    runs: BTreeMap<&'a str, BTreeMap<usize, Vec<&'a SweepRun>>>,
}

impl Deref for Cells<'_> {
    type Target = Sweep;

    fn deref(&self) -> &Sweep {
        self.sweep
    }
}

impl Cells<'_> {
    /// The runs of `policy` at `point`, one for each seed.
    fn at(&self, point: usize, policy: &str) -> &[&SweepRun] {
        let of_policy = self.runs.get(policy);
        of_policy.and_then(|points| points.get(&point)).map_or(&[], Vec::as_slice)
    }

    /// `metric` of `policy` at `point` over the seeds that ended; none if no run has it, and none
    /// if the array did not keep up with some seed, for the others would make that look better than
    /// it is.
    #[must_use]
    pub fn spread(&self, point: usize, policy: &str, metric: &str) -> Option<Spread> {
        let runs = self.at(point, policy);
        if runs.iter().any(|run| matches!(run.outcome, Outcome::Overloaded(_))) {
            return None;
        }
        let ended: Vec<&Measured> = runs
            .iter()
            .filter_map(|run| match &run.outcome {
                Outcome::Measured(measured) => Some(measured),
                _ => None,
            })
            .collect();
        let mut values: Vec<f64> =
            ended.iter().filter_map(|run| run.metrics.get(metric).copied()).collect();
        values.sort_by(f64::total_cmp);
        let upper = *values.get(values.len() / 2)?;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[values.len() / 2 - 1], upper),
            _ => upper,
        };
        let few = ended.iter().any(|run| run.few_samples.contains(metric));
        let interval = match ended.as_slice() {
            [one] => one.intervals.get(metric).copied(),
            _ => None,
        };
        let (low, high) = interval.unwrap_or((*values.first()?, *values.last()?));
        Some(Spread { median, low, high, is_interval: interval.is_some(), few })
    }

    /// Whether fewer than 100 samples lie beyond some number of `metric`.
    #[must_use]
    pub fn has_few_samples(&self, metric: &str) -> bool {
        self.policies.iter().any(|policy| {
            let spread = |point| self.spread(point, &policy.name, metric);
            (0..self.points.len()).filter_map(spread).any(|spread| spread.few)
        })
    }

    /// Whether some cell has a number of `metric`.
    #[must_use]
    pub fn has_metric(&self, metric: &str) -> bool {
        self.policies.iter().any(|policy| {
            (0..self.points.len()).any(|point| self.spread(point, &policy.name, metric).is_some())
        })
    }

    /// Whether some number of `metric` has an interval.
    #[must_use]
    pub fn has_intervals(&self, metric: &str) -> bool {
        self.policies.iter().any(|policy| {
            let spread = |point| self.spread(point, &policy.name, metric);
            (0..self.points.len()).filter_map(spread).any(|spread| spread.is_interval)
        })
    }

    /// What stands in the place of a number that is not there: whether the runs of `policy` at
    /// `point` were not built, failed or have no such number.
    #[must_use]
    pub fn absent(&self, point: usize, policy: &str) -> &'static str {
        let runs = self.at(point, policy);
        let all: Option<Vec<Missing>> =
            runs.iter().map(|run| run.outcome.missing().map(|(missing, _)| missing)).collect();
        let has =
            |missing| runs.iter().any(|run| run.outcome.missing().is_some_and(|m| m.0 == missing));
        match all.as_deref() {
            _ if has(Missing::Overloaded) => Missing::Overloaded.name(),
            Some([first, ..]) => first.name(),
            _ => "–",
        }
    }
}

impl Sweep {
    /// The runs by point and policy.
    #[must_use]
    pub fn cells(&self) -> Cells<'_> {
        let mut runs: BTreeMap<&str, BTreeMap<usize, Vec<&SweepRun>>> = BTreeMap::new();
        for run in &self.runs {
            runs.entry(&run.policy).or_default().entry(run.point).or_default().push(run);
        }
        Cells { sweep: self, runs }
    }

    /// The point at these indices into the values of the parameters.
    #[must_use]
    pub fn point(&self, indices: &[usize]) -> usize {
        let places = self.parameters.iter().zip(indices);
        places.fold(0, |point, (parameter, index)| point * parameter.values.len() + index)
    }

    /// Runs without numbers, the same sentence once: why they have none, the sentence and the runs
    /// in words.
    #[must_use]
    pub fn remarks(&self) -> Vec<(Missing, String, String)> {
        let mut remarks: Vec<(Missing, &String, Vec<String>)> = Vec::new();
        for run in &self.runs {
            let Some((missing, why)) = run.outcome.missing() else { continue };
            let words = self.words(run, missing == Missing::Failed);
            match remarks.iter_mut().find(|known| (known.0, known.1) == (missing, why)) {
                // What cannot be built cannot be built with any seed, and one that is overloaded is
                // enough.
                Some((_, _, runs)) if runs.contains(&words) => {}
                Some((_, _, runs)) => runs.push(words),
                None => remarks.push((missing, why, vec![words])),
            }
        }
        let joined = |(missing, why, runs): (Missing, &String, Vec<String>)| {
            let named = runs[..runs.len().min(NAMED)].join("; ");
            let runs = match runs.len().saturating_sub(NAMED) {
                0 => named,
                more => format!("{named} and {more} more"),
            };
            (missing, why.clone(), runs)
        };
        remarks.into_iter().map(joined).collect()
    }

    /// `run` in words, with its seed if that matters.
    fn words(&self, run: &SweepRun, with_seed: bool) -> String {
        let label = self.policies.iter().find(|policy| policy.name == run.policy);
        let label = label.map_or(&run.policy, |policy| &policy.label);
        let seed = if with_seed { format!(", seed {}", run.seed) } else { String::new() };
        format!("{} under {label}{seed}", self.point_in_words(run.point))
    }

    /// The values at `point`, as in `width 4, load 0.1`.
    #[must_use]
    pub fn point_in_words(&self, point: usize) -> String {
        let values = self.points.get(point).map_or(&[][..], |point| &point.values);
        let named = self.parameters.iter().zip(values);
        named
            .map(|(parameter, value)| format!("{} {value}", parameter.name))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// How many runs failed.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.runs.iter().filter(|run| matches!(run.outcome, Outcome::Failed(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_medians_and_extremes_over_the_seeds_that_ended() {
        let mut sweep = crate::sample::sweep(1);
        let of_seed = |seed: usize| {
            let run = sweep.runs.iter().filter(|run| run.point == 2 && run.policy == "ioda");
            match &run.collect::<Vec<_>>()[seed].outcome {
                Outcome::Measured(measured) => measured.metrics["read.p99.9"],
                other => panic!("{other:?}"),
            }
        };
        let (first, second) = (of_seed(0), of_seed(1));
        let spread = sweep.cells().spread(2, "ioda", "read.p99.9").unwrap();
        assert_eq!((spread.low, spread.high), (first.min(second), first.max(second)));
        assert_eq!(spread.median, f64::midpoint(first, second));
        assert!(
            sweep.cells().has_few_samples("read.p99.9") && !sweep.cells().has_few_samples("waf")
        );
        assert_eq!(sweep.cells().spread(2, "ioda", "read.p97"), None);
        assert_eq!(sweep.cells().spread(2, "nobody", "read.p99.9"), None);
        sweep.runs.retain(|run| run.seed == "1");
        let alone = sweep.cells().spread(2, "ioda", "read.p99.9").unwrap();
        assert_eq!((alone.median, alone.low, alone.high), (first, first, first));
    }

    #[test]
    fn what_is_missing_is_told_once() {
        let remarks = crate::sample::sweep(1).remarks();
        let expected = [
            (Missing::NotRun, "no such width", "width 8 under Base; width 8 under IODA"),
            (Missing::Failed, "nothing moved", "width 16 under Base, seed 2"),
        ];
        let told: Vec<(Missing, &str, &str)> =
            remarks.iter().map(|(missing, why, runs)| (*missing, &why[..], &runs[..])).collect();
        assert_eq!(told, expected);
        let mut sweep = crate::sample::sweep(1);
        assert_eq!((sweep.failures(), sweep.cells().absent(1, "ioda")), (1, "not run"));
        assert_eq!(sweep.cells().absent(2, "base"), "–", "the other seed ended");
        sweep.runs.retain(|run| run.seed == "2");
        assert_eq!(sweep.cells().absent(2, "base"), "failed");
        // With one seed of two the array kept up, which is no number for both.
        let mut sweep = crate::sample::sweep(1);
        let overloaded =
            |run: &&mut SweepRun| run.point == 2 && run.policy == "ioda" && run.seed == "2";
        let run = sweep.runs.iter_mut().find(overloaded).unwrap();
        run.outcome = Outcome::Overloaded("it waits".to_owned());
        assert_eq!(sweep.cells().spread(2, "ioda", "waf"), None);
        assert_eq!((sweep.cells().absent(2, "ioda"), sweep.failures()), ("overloaded", 1));
        let told = sweep.remarks();
        assert!(told.iter().any(|told| (told.0, &told.1[..]) == (Missing::Overloaded, "it waits")));
        let many = crate::sample::sweep(2).remarks();
        assert!(many[0].2.ends_with("width 8, load 0.02 under IODA and 6 more"), "{}", many[0].2);
    }

    #[test]
    fn one_seed_has_the_interval_of_its_run() {
        let mut sweep = crate::sample::sweep(1);
        for run in &mut sweep.runs {
            if let Outcome::Measured(measured) = &mut run.outcome {
                let value = measured.metrics["read.p99"];
                measured.intervals.insert("read.p99".to_owned(), (value * 0.9, value * 1.2));
            }
        }
        let spread = |sweep: &Sweep| sweep.cells().spread(2, "ioda", "read.p99").unwrap();
        assert!(!spread(&sweep).is_interval, "two seeds say how far apart they are");
        sweep.runs.retain(|run| run.seed == "1");
        sweep.seeds = vec!["1".to_owned()];
        let one = spread(&sweep);
        assert!(one.is_interval && one.low < one.median && one.median < one.high, "{one:?}");
        assert_eq!(sweep.cells().spread(2, "ioda", "waf").map(|waf| waf.is_interval), Some(false));
        sweep.metrics = vec![SweepMetric { name: "read.p99".to_owned(), unit: Unit::Number }];
        let text = crate::table::render_sweep(&sweep);
        let wanted = format!("[{}, {}]", Unit::Number.show(one.low), Unit::Number.show(one.high));
        assert!(text.contains(&wanted) && text.contains("In brackets"), "{wanted}: {text}");
        let page = crate::html::render_sweep(&sweep);
        assert!(page.contains(&wanted) && page.contains("In brackets"));
    }

    #[test]
    fn points_are_numbered_by_the_values() {
        let sweep = crate::sample::sweep(2);
        for (index, point) in sweep.points.iter().enumerate() {
            let place = |(parameter, text): (&Parameter, &String)| {
                parameter.values.iter().position(|value| value.text == *text).unwrap()
            };
            let places: Vec<usize> =
                sweep.parameters.iter().zip(&point.values).map(place).collect();
            assert_eq!(sweep.point(&places), index);
        }
        assert_eq!(sweep.point_in_words(4), "width 4, load 0.08");
    }

    #[test]
    fn the_document_survives_a_round_trip() {
        let sweep = crate::sample::sweep(2);
        let text = serde_json::to_string(&sweep).unwrap();
        assert!(serde_json::from_str::<Sweep>(&text).unwrap() == sweep);
    }

    #[test]
    fn numbers_are_shown_with_their_unit() {
        assert_eq!(Unit::Microseconds.show(1234.0), "1.23 ms");
        assert_eq!(Unit::Percent.show(7.0), "7.00 %");
        assert_eq!(
            (Unit::Number.show(1234.0), Unit::Number.show(1.5)),
            ("1,234".into(), "1.50".into())
        );
    }
}
