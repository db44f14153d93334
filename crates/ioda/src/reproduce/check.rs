//! How a claim is checked: a closed set of three ways.

use super::Results;
use super::experiment::{Expectation, Experiment};
use super::series::Series;
use crate::metric::{Metric, three_digits};
use crate::quantity::Text;
use report::Claim;
use serde::Deserialize;
use sim::RunResult;

/// Fewer requests than this beyond a percentile make it doubtful.
const FEWEST_SAMPLES: u64 = 100;
/// Where claims that do not hold are explained.
const EXPLANATIONS: &str = "docs/claims.md";

/// How a claim is checked, for each workload and each metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Check {
    /// Each series has more than the next.
    Order(Order),
    /// One series has so many times as much as another.
    Ratio(Ratio),
    /// One series has a number within limits.
    Within(Within),
}

/// Each series has more than the next.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    metrics: Vec<Text<Metric>>,
    #[serde(alias = "policies")]
    series: Vec<String>,
    /// Whether the same is enough.
    #[serde(default)]
    or_equal: bool,
    /// By which share a step may go the wrong way, 0 to 1.
    #[serde(default)]
    tolerance: f64,
}

/// `of` has between `low` and `high` times as much as `to`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ratio {
    metrics: Vec<Text<Metric>>,
    of: String,
    to: String,
    low: Option<f64>,
    high: Option<f64>,
}

/// `of` has between `low` and `high`; latencies in microseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Within {
    metrics: Vec<Text<Metric>>,
    of: String,
    low: Option<f64>,
    high: Option<f64>,
}

/// One metric of one workload.
struct Case<'a> {
    workload: &'a str,
    index: usize,
    metric: Metric,
    series: &'a [Series],
    results: &'a Results<'a>,
}

/// What one case found.
struct Found {
    /// In words, such as `44.6ms > 1.07ms`.
    text: String,
    /// To sort cases by; the largest and the smallest are shown.
    value: f64,
    holds: bool,
}

impl Case<'_> {
    fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.is_called(name))
    }

    fn result(&self, name: &str) -> Option<&RunResult> {
        self.results.run(self.index, self.find(name)?)
    }

    fn value(&self, name: &str) -> f64 {
        self.result(name).map_or(f64::NAN, |result| self.metric.of(result))
    }

    fn label<'a>(&'a self, name: &'a str) -> &'a str {
        self.find(name).map_or(name, |series| &series.label)
    }
}

fn lies_within(value: f64, low: Option<f64>, high: Option<f64>) -> bool {
    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
}

impl Order {
    /// Whether `next` may follow `first`.
    fn allows(&self, first: f64, next: f64) -> bool {
        first > next
            || (self.or_equal && first == next)
            || (self.tolerance > 0.0 && first >= next * (1.0 - self.tolerance))
    }
}

impl Check {
    fn metrics(&self) -> &[Text<Metric>] {
        match self {
            Self::Order(Order { metrics, .. })
            | Self::Ratio(Ratio { metrics, .. })
            | Self::Within(Within { metrics, .. }) => metrics,
        }
    }

    /// The series that it is about.
    pub(crate) fn series(&self) -> Vec<&str> {
        match self {
            Self::Order(order) => order.series.iter().map(String::as_str).collect(),
            Self::Ratio(ratio) => vec![&ratio.of, &ratio.to],
            Self::Within(within) => vec![&within.of],
        }
    }

    /// Refuses a check that says nothing.
    pub(crate) fn validate(&self) -> Result<(), String> {
        match self {
            Self::Order(order) if order.series.len() < 2 => {
                Err(format!("an order of {} series says nothing; name two", order.series.len()))
            }
            Self::Order(order) if !(0.0..=1.0).contains(&order.tolerance) => {
                Err(format!("tolerance is {}, but must be 0 to 1", order.tolerance))
            }
            _ => Ok(()),
        }
    }

    fn find(&self, case: &Case<'_>) -> Found {
        match self {
            Self::Order(order) => {
                let values: Vec<f64> = order.series.iter().map(|one| case.value(one)).collect();
                let shown = |(name, value): (&String, &f64)| {
                    format!("{} {}", case.label(name), case.metric.unit().show(*value))
                };
                let shown: Vec<String> = order.series.iter().zip(&values).map(shown).collect();
                let ratios = values.windows(2).map(|pair| pair[0] / pair[1]);
                Found {
                    text: shown.join(", "),
                    value: ratios.fold(f64::INFINITY, f64::min),
                    holds: values.windows(2).all(|pair| order.allows(pair[0], pair[1])),
                }
            }
            Self::Ratio(ratio) => {
                let (of, to) = (case.value(&ratio.of), case.value(&ratio.to));
                // Nothing is as much as nothing.
                let value = if of == to { 1.0 } else { of / to };
                Found {
                    text: format!("{} ×", three_digits(value)),
                    value,
                    holds: lies_within(value, ratio.low, ratio.high),
                }
            }
            Self::Within(within) => {
                let value = case.value(&within.of);
                let scaled = match case.metric {
                    Metric::Latency(..) => value / 1e3,
                    _ => value,
                };
                Found {
                    text: case.metric.unit().show(value),
                    value,
                    holds: lies_within(scaled, within.low, within.high),
                }
            }
        }
    }
}

/// Checks every claim of `experiment` on its `results`.
pub(crate) fn judge(experiment: &Experiment, results: &Results<'_>) -> Vec<Claim> {
    let series = experiment.series();
    experiment.claims.iter().map(|claim| judge_one(experiment, claim, &series, results)).collect()
}

fn judge_one(
    experiment: &Experiment,
    claim: &Expectation,
    series: &[Series],
    results: &Results<'_>,
) -> Claim {
    let cases: Vec<Case<'_>> = experiment
        .workload_names()
        .enumerate()
        .flat_map(|(index, workload)| {
            claim.check.metrics().iter().map(move |metric| Case {
                workload,
                index,
                metric: metric.value,
                series,
                results,
            })
        })
        .collect();
    let mut found: Vec<(&Case<'_>, Found)> =
        cases.iter().map(|case| (case, claim.check.find(case))).collect();
    found.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let holds = !found.is_empty() && found.iter().all(|(_, found)| found.holds);
    Claim {
        id: claim.id.clone(),
        figure: experiment.figure.clone(),
        statement: claim.statement.clone(),
        article: claim.article.clone(),
        ours: ours(&found, experiment.workloads.len() > 1),
        holds,
        note: note(claim, &found, holds),
    }
}

/// What we found: the number, or the range with the places where its ends are.
fn ours(found: &[(&Case<'_>, Found)], several_workloads: bool) -> String {
    let place = |case: &Case<'_>| match several_workloads {
        true => format!("{} {}", case.workload, short(case.metric)),
        false => short(case.metric),
    };
    match found {
        [] => "nothing to check".to_owned(),
        [(_, only)] => only.text.clone(),
        [(first, low), .., (last, high)] if low.text != high.text => {
            format!("{} ({}) to {} ({})", low.text, place(first), high.text, place(last))
        }
        [(_, all), ..] => format!("{} throughout", all.text),
    }
}

/// The metric without what goes without saying.
fn short(metric: Metric) -> String {
    let text = metric.to_string();
    text.strip_prefix("read.").unwrap_or(&text).to_owned()
}

/// Where it does not hold, and what is doubtful.
fn note(claim: &Expectation, found: &[(&Case<'_>, Found)], holds: bool) -> String {
    let mut sentences = Vec::new();
    if !holds {
        let failed: Vec<String> = found
            .iter()
            .filter(|(_, found)| !found.holds)
            .map(|(case, found)| {
                format!("{} {} ({})", case.workload, short(case.metric), found.text)
            })
            .collect();
        sentences.push(format!(
            "does not hold in {} of {} cases: {}; see {EXPLANATIONS}#{}.",
            failed.len(),
            found.len(),
            failed.join(", "),
            claim.id
        ));
    }
    let fewest = found
        .iter()
        .flat_map(|(case, _)| {
            claim.check.series().into_iter().filter_map(|name| {
                case.metric.samples_beyond(case.result(name)?).map(|beyond| (beyond, *case))
            })
        })
        .min_by_key(|(beyond, _)| *beyond);
    if let Some((beyond, case)) = fewest.filter(|(beyond, _)| *beyond < FEWEST_SAMPLES) {
        sentences.push(format!(
            "only {beyond} reads of {} lie beyond {}.",
            case.workload,
            short(case.metric)
        ));
    }
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_may_forgive_a_small_step() {
        let order = |or_equal, tolerance| Order {
            metrics: Vec::new(),
            series: Vec::new(),
            or_equal,
            tolerance,
        };
        let strict = order(false, 0.0);
        assert!(strict.allows(2.0, 1.0) && !strict.allows(1.0, 1.0));
        let equal = order(true, 0.0);
        assert!(equal.allows(1.0, 1.0) && !equal.allows(0.99, 1.0));
        let tolerant = order(false, 0.02);
        assert!(tolerant.allows(0.99, 1.0) && !tolerant.allows(0.97, 1.0));
        assert!(!tolerant.allows(f64::NAN, 1.0));
    }
}
