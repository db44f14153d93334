//! How a claim is checked: a closed set of three ways.

use super::Group;
use super::experiment::{Expectation, Experiment};
use crate::metric::{Metric, three_digits};
use crate::quantity::{PolicyName, Text};
use array::policy::PolicyKind;
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
    /// Each policy has more than the next.
    Order(Order),
    /// One policy has so many times as much as another.
    Ratio(Ratio),
    /// One policy has a number within limits.
    Within(Within),
}

/// Each policy has more than the next.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    metrics: Vec<Text<Metric>>,
    policies: Vec<Text<PolicyName>>,
    /// Whether the same is enough.
    #[serde(default)]
    or_equal: bool,
}

/// `of` has between `low` and `high` times as much as `to`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ratio {
    metrics: Vec<Text<Metric>>,
    of: Text<PolicyName>,
    to: Text<PolicyName>,
    low: Option<f64>,
    high: Option<f64>,
}

/// `of` has between `low` and `high`; latencies in microseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Within {
    metrics: Vec<Text<Metric>>,
    of: Text<PolicyName>,
    low: Option<f64>,
    high: Option<f64>,
}

/// One metric of one workload.
struct Case<'a> {
    workload: &'a str,
    metric: Metric,
    results: &'a [RunResult],
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
    fn result(&self, policy: PolicyKind) -> Option<&RunResult> {
        self.results.iter().find(|result| result.policy == policy)
    }

    fn value(&self, policy: PolicyKind) -> f64 {
        self.result(policy).map_or(f64::NAN, |result| self.metric.of(result))
    }
}

fn lies_within(value: f64, low: Option<f64>, high: Option<f64>) -> bool {
    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
}

impl Check {
    fn metrics(&self) -> &[Text<Metric>] {
        match self {
            Self::Order(Order { metrics, .. })
            | Self::Ratio(Ratio { metrics, .. })
            | Self::Within(Within { metrics, .. }) => metrics,
        }
    }

    /// The policies that it is about.
    pub(crate) fn policies(&self) -> impl Iterator<Item = PolicyKind> {
        let policies: Vec<PolicyKind> = match self {
            Self::Order(order) => order.policies.iter().map(|text| text.value.0).collect(),
            Self::Ratio(ratio) => vec![ratio.of.value.0, ratio.to.value.0],
            Self::Within(within) => vec![within.of.value.0],
        };
        policies.into_iter()
    }

    fn find(&self, case: &Case<'_>) -> Found {
        match self {
            Self::Order(order) => {
                let values: Vec<f64> = self.policies().map(|policy| case.value(policy)).collect();
                let in_order =
                    |pair: &[f64]| pair[0] > pair[1] || (order.or_equal && pair[0] == pair[1]);
                let shown = |(policy, value): (PolicyKind, &f64)| {
                    format!("{} {}", policy.label(), case.metric.unit().show(*value))
                };
                let shown: Vec<String> = self.policies().zip(&values).map(shown).collect();
                let ratios = values.windows(2).map(|pair| pair[0] / pair[1]);
                Found {
                    text: shown.join(", "),
                    value: ratios.fold(f64::INFINITY, f64::min),
                    holds: values.windows(2).all(in_order),
                }
            }
            Self::Ratio(ratio) => {
                let (of, to) = (case.value(ratio.of.value.0), case.value(ratio.to.value.0));
                // Nothing is as much as nothing.
                let value = if of == to { 1.0 } else { of / to };
                Found {
                    text: format!("{} ×", three_digits(value)),
                    value,
                    holds: lies_within(value, ratio.low, ratio.high),
                }
            }
            Self::Within(within) => {
                let value = case.value(within.of.value.0);
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

/// Checks every claim of `experiment`; `groups` are the runs of its workloads, in order.
pub(crate) fn judge(experiment: &Experiment, groups: &[&Group]) -> Vec<Claim> {
    experiment.claims.iter().map(|claim| judge_one(experiment, claim, groups)).collect()
}

fn judge_one(experiment: &Experiment, claim: &Expectation, groups: &[&Group]) -> Claim {
    let cases: Vec<Case<'_>> = experiment
        .workload_names()
        .zip(groups)
        .flat_map(|(workload, group)| {
            claim.check.metrics().iter().map(move |metric| Case {
                workload,
                metric: metric.value,
                results: &group.outcome.results,
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
            claim.check.policies().filter_map(|policy| {
                case.metric.samples_beyond(case.result(policy)?).map(|beyond| (beyond, *case))
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
