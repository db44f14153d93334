//! Whether claims hold: cases of each, what the runs give, and how sure that is.

mod estimates;
mod excess;

use super::Results;
use super::check::Part;
use super::claim::{Expectation, Over};
use super::number::Number;
use super::series::{Series, Subject};
use crate::metric::three_digits;
use estimates::Estimate;
use report::{Claim, ClaimKind, ClaimNumber, Side};
use sim::RunResult;
use std::collections::BTreeSet;

/// Fewer requests than this beyond a percentile make it doubtful.
const FEWEST_SAMPLES: u64 = 100;
/// Explanations of claims that do not hold: those of papers, ours, and all of the laboratory.
const OF_PAPERS: &str = "docs/claims.md";
const OF_OURS: &str = "docs/figures.md";
const OF_LABORATORY: &str = "docs/laboratory.md";

/// One metric of one workload, of several on average, or of the plans, and one part of the check.
struct Case<'a> {
    /// The name of the workload, or of what is averaged.
    workload: &'a str,
    /// The workloads, by index.
    indexes: Vec<usize>,
    /// What is made of several of them.
    over: Over,
    metric: Number,
    part: Part<'a>,
    /// What tells it from the other cases.
    place: String,
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
    /// The side of the limits on which the number misses them.
    misses: Option<Side>,
    /// What is known of how sure the numbers are.
    estimates: Vec<Estimate>,
}

impl Case<'_> {
    fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.is_called(name))
    }

    fn results(&self, name: &str) -> impl Iterator<Item = &RunResult> {
        let series = self.find(name);
        let run = move |&index| self.results.run(index, series?);
        self.indexes.iter().filter_map(run)
    }

    /// The number of a series under each workload, under one seed or of all of them together.
    fn values(&self, seed: Option<usize>, name: &str) -> impl Iterator<Item = f64> {
        let series = self.find(name);
        let value = move |index| self.results.value_under(seed, index, series?, self.metric);
        self.indexes.iter().map(move |&index| value(index).unwrap_or(f64::NAN))
    }

    /// The number of a series, or its mean or sum over the workloads.
    fn value(&self, name: &str) -> f64 {
        self.value_under(None, name)
    }

    /// The same under one seed.
    fn value_under(&self, seed: Option<usize>, name: &str) -> f64 {
        let sum = self.values(seed, name).sum::<f64>();
        if self.over == Over::Total { sum } else { sum / self.indexes.len() as f64 }
    }

    /// How many times as much one series has as another, or the mean of that over the workloads; of
    /// sums, if it is about all of them together.
    fn quotient(&self, of: &str, to: &str) -> f64 {
        self.quotient_under(None, of, to)
    }

    /// The same under one seed.
    fn quotient_under(&self, seed: Option<usize>, of: &str, to: &str) -> f64 {
        // Nothing is as much as nothing.
        let quotient = |(of, to)| if of == to { 1.0 } else { of / to };
        if self.over == Over::Total {
            return quotient((self.value_under(seed, of), self.value_under(seed, to)));
        }
        let sum: f64 = self.values(seed, of).zip(self.values(seed, to)).map(quotient).sum();
        sum / self.indexes.len() as f64
    }

    /// Where it is, with the workload even if there is only one.
    fn full_place(&self) -> String {
        match self.metric.is_of_plans() || self.place.starts_with(self.workload) {
            true => self.place.clone(),
            false => format!("{} {}", self.workload, self.place),
        }
    }

    fn label<'a>(&'a self, name: &'a str) -> &'a str {
        self.find(name).map_or(name, |series| &series.label)
    }
}

/// Whether a value lies within limits, and if not, on which side of them.
fn within(value: f64, low: Option<f64>, high: Option<f64>) -> (bool, Option<Side>) {
    if high.is_some_and(|high| value > high) {
        (false, Some(Side::Higher))
    } else if low.is_some_and(|low| value < low) {
        (false, Some(Side::Lower))
    } else {
        (!value.is_nan(), None)
    }
}

impl Case<'_> {
    fn found(&self) -> Found {
        match self.part {
            Part::Order(order, series) => {
                let values: Vec<f64> = series.iter().map(|one| self.value(one)).collect();
                let shown = |(name, value): (&String, &f64)| {
                    format!("{} {}", self.label(name), self.metric.show(*value))
                };
                let shown: Vec<String> = series.iter().zip(&values).map(shown).collect();
                let ratios: Vec<f64> =
                    series.windows(2).map(|pair| self.quotient(&pair[0], &pair[1])).collect();
                let holds = match (self.indexes.as_slice(), self.over) {
                    ([_], _) | (_, Over::Total) => {
                        values.windows(2).all(|pair| order.allows(pair[0], pair[1]))
                    }
                    _ => ratios.iter().all(|&ratio| order.allows(ratio, 1.0)),
                };
                let estimates = series
                    .windows(2)
                    .zip(&ratios)
                    .filter_map(|(pair, &ratio)| {
                        self.estimate_quotient(&pair[0], &pair[1], ratio, &[1.0 - order.tolerance])
                    })
                    .collect();
                Found {
                    estimates,
                    text: shown.join(", "),
                    value: ratios.into_iter().fold(f64::INFINITY, f64::min),
                    holds,
                    misses: None,
                }
            }
            Part::Ratio(ratio) => {
                let value = self.quotient(&ratio.of, &ratio.to);
                let limits: Vec<f64> = [ratio.low, ratio.high].into_iter().flatten().collect();
                let estimate = self.estimate_quotient(&ratio.of, &ratio.to, value, &limits);
                let interval = estimate.as_ref().map_or_else(String::new, Estimate::text);
                let (holds, misses) = within(value, ratio.low, ratio.high);
                Found {
                    text: format!("{} ×{interval}", three_digits(value)),
                    estimates: estimate.into_iter().collect(),
                    value,
                    holds,
                    misses,
                }
            }
            Part::Excess(excess) => self.excess(excess),
            Part::Within(within, of) => {
                let value = self.value(of);
                let unit = if self.metric.is_latency() { 1e3 } else { 1.0 };
                let (holds, misses) = self::within(value / unit, within.low, within.high);
                let limits = [within.low, within.high].into_iter().flatten();
                let limits: Vec<f64> = limits.map(|limit| limit * unit).collect();
                Found {
                    estimates: self.estimate(of, value, &limits).into_iter().collect(),
                    text: self.metric.show(value),
                    value,
                    holds,
                    misses,
                }
            }
            Part::Equals(of, wanted) => {
                let value = self.value(of);
                let (shown, holds) = (self.metric.show(value), value == wanted);
                let text = match holds {
                    true => shown,
                    false => format!("{shown} instead of {}", self.metric.show(wanted)),
                };
                Found { text, value, holds, misses: None, estimates: Vec::new() }
            }
        }
    }
}

/// Checks `claims` about `subject` on its `results`.
pub fn judge(subject: &Subject<'_>, claims: &[Expectation], results: &Results<'_>) -> Vec<Claim> {
    claims.iter().map(|claim| judge_one(subject, claim, results)).collect()
}

fn judge_one(subject: &Subject<'_>, claim: &Expectation, results: &Results<'_>) -> Claim {
    let Subject { figure, tables, series } = subject;
    let several_workloads = tables.len() > 1;
    let parts = claim.check.parts();
    let mut cases = Vec::new();
    let is_wanted = |name: &str| {
        claim.workloads.is_empty() || claim.workloads.iter().any(|wanted| wanted == name)
    };
    let wanted: Vec<usize> = (0..tables.len()).filter(|&index| is_wanted(tables[index])).collect();
    let places: Vec<(&str, Vec<usize>)> = match claim.over {
        Over::Each | Over::Most | Over::AlmostAll => {
            wanted.into_iter().map(|index| (tables[index], vec![index])).collect()
        }
        Over::Mean => vec![("on average", wanted)],
        Over::Median => vec![("in the median", wanted)],
        Over::Total => vec![("in total", wanted)],
    };
    let (most_failures, over) = (claim.over.most_failures(places.len()), claim.over);
    for (workload, indexes) in places {
        for metric in claim.check.numbers() {
            for &part in &parts {
                let of = (parts.len() > 1).then(|| part.series()[0]);
                let words = [several_workloads.then_some(workload), of];
                let mut place: Vec<String> =
                    words.into_iter().flatten().map(str::to_owned).collect();
                place.push(short(metric));
                let place = place.join(" ");
                let indexes = indexes.clone();
                cases.push(Case { workload, indexes, over, metric, part, place, series, results });
            }
        }
    }
    let mut found: Vec<(&Case<'_>, Found)> =
        cases.iter().map(|case| (case, case.found())).collect();
    found.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let failed = found.iter().filter(|(_, found)| !found.holds);
    let failed: BTreeSet<&str> = failed.map(|(case, _)| case.workload).collect();
    let holds = !found.is_empty() && failed.len() <= most_failures;
    Claim {
        id: claim.id.clone(),
        kind: claim.kind,
        figure: claim.place(figure).to_owned(),
        statement: claim.statement.clone(),
        article: claim.article.clone(),
        limits: claim.limits(),
        limit: format!("{} ({})", claim.limits(), claim.pedigree()),
        ours: ours(&found),
        holds,
        misses: misses(&found),
        within_noise: is_within_noise(&found, holds),
        numbers: numbers(&found),
        note: note(claim, &found),
    }
}

/// The side on which all numbers lie that miss their limits.
fn misses(found: &[(&Case<'_>, Found)]) -> Option<Side> {
    let mut missed = found.iter().filter(|(_, found)| !found.holds).map(|(_, found)| found.misses);
    let first = missed.next()??;
    missed.all(|side| side == Some(first)).then_some(first)
}

/// What we found: the number, or the range with the places where its ends are.
fn ours(found: &[(&Case<'_>, Found)]) -> String {
    match found {
        [] => "nothing to check".to_owned(),
        [(_, only)] => only.text.clone(),
        [(first, low), .., (last, high)] if low.text != high.text => {
            format!("{} ({}) to {} ({})", low.text, first.place, high.text, last.place)
        }
        [(_, all), ..] => format!("{} throughout", all.text),
    }
}

/// The metric without what goes without saying.
fn short(metric: Number) -> String {
    let text = metric.to_string();
    text.strip_prefix("read.").unwrap_or(&text).to_owned()
}

/// Where it does not hold, and what is doubtful.
fn note(claim: &Expectation, found: &[(&Case<'_>, Found)]) -> String {
    let mut sentences = Vec::new();
    let failed: Vec<String> = found
        .iter()
        .filter(|(_, found)| !found.holds)
        .map(|(case, found)| format!("{} ({})", case.full_place(), found.text))
        .collect();
    if !failed.is_empty() {
        let page = match claim.kind {
            _ if found.iter().any(|(case, _)| case.metric.is_of_laboratory()) => OF_LABORATORY,
            ClaimKind::Article | ClaimKind::Evidence => OF_PAPERS,
            ClaimKind::Ours => OF_OURS,
        };
        sentences.push(format!(
            "does not hold in {} of {} cases: {}; see {page}.",
            failed.len(),
            found.len(),
            failed.join(", "),
        ));
    }
    let fewest = found
        .iter()
        .flat_map(|(case, _)| {
            let samples = move |name| {
                let series = case.find(name);
                let of = move |&index| case.results.samples_beyond(index, series?, case.metric);
                case.indexes.iter().filter_map(of)
            };
            case.part.series().into_iter().flat_map(samples).map(|beyond| (beyond, *case))
        })
        .min_by_key(|(beyond, _)| *beyond);
    if let Some((beyond, case)) = fewest.filter(|(beyond, _)| *beyond < FEWEST_SAMPLES) {
        let (only, what) = match case.metric.is_of_laboratory() {
            true => ("at most", "samples"),
            false => ("only", "reads"),
        };
        sentences.push(format!(
            "{only} {beyond} {what} of {} lie beyond {}.",
            case.workload,
            short(case.metric)
        ));
    }
    sentences.extend(estimates::lacking(&found_estimates(found)));
    sentences.join(" ")
}

fn found_estimates<'a>(found: &'a [(&Case<'_>, Found)]) -> Vec<(String, &'a Estimate)> {
    let of_case = |(case, found): &'a (&Case<'_>, Found)| {
        let place = case.full_place();
        found.estimates.iter().map(move |estimate| (place.clone(), estimate))
    };
    found.iter().flat_map(of_case).collect()
}

/// Whether the verdict may be chance: a limit lies in the interval of a case that holds, or in
/// those of all that do not.
fn is_within_noise(found: &[(&Case<'_>, Found)], holds: bool) -> bool {
    let is_noisy = |found: &Found| found.estimates.iter().any(Estimate::is_noisy);
    match holds {
        true => found.iter().any(|(_, found)| is_noisy(found)),
        false => found.iter().filter(|(_, found)| !found.holds).all(|(_, found)| is_noisy(found)),
    }
}

/// The numbers of all cases.
fn numbers(found: &[(&Case<'_>, Found)]) -> Vec<ClaimNumber> {
    let number = |(place, estimate): (String, &Estimate)| estimate.number(&place);
    found_estimates(found).into_iter().filter_map(number).collect()
}
