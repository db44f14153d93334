//! How sure the numbers of a claim are.

use super::{Case, Number, Over};
use crate::describe::convert;
use crate::metric::{self, three_digits};
use report::{ClaimNumber, seeds};
use sim::{Interval, NoInterval, Resampled};

/// From so many seeds on intervals are of them; with fewer they would be too wide to say anything.
const FEWEST_SEEDS: usize = 3;

/// A number of a claim, and where it lies.
pub(super) struct Estimate {
    /// What is compared, such as `base/ioda`; empty where it is one number.
    what: String,
    figure: f64,
    interval: Result<Interval, NoInterval>,
    /// The limits that it is compared with.
    limits: Vec<f64>,
}

impl Estimate {
    /// Whether a limit lies in its interval.
    pub(super) fn is_noisy(&self) -> bool {
        let Ok(Interval { low, high }) = self.interval else { return false };
        self.limits.iter().any(|&limit| low < limit && limit < high)
    }

    /// The interval behind the number, if there is one.
    pub(super) fn text(&self) -> String {
        self.interval.map_or_else(
            |_| String::new(),
            |Interval { low, high }| format!(" [{}, {}]", three_digits(low), three_digits(high)),
        )
    }

    /// The number of the case at `place`; none if it is not a finite one, which documents cannot
    /// have.
    pub(super) fn number(&self, place: &str) -> Option<ClaimNumber> {
        let of = format!("{place} {}", self.what);
        let (interval, why_not) = convert::interval(self.interval);
        let (of, value) = (of.trim_end().to_owned(), self.figure);
        value.is_finite().then_some(ClaimNumber { of, value, interval, why_not })
    }
}

/// Why some numbers have no interval, in a sentence; none if all have one.
pub(super) fn lacking(estimates: &[(String, &Estimate)]) -> Option<String> {
    let lacks = |(place, estimate): &(String, &Estimate)| {
        estimate.interval.err().map(|why| (why, place.clone()))
    };
    let lacking: Vec<(NoInterval, String)> = estimates.iter().filter_map(lacks).collect();
    let (why, place) = lacking.first()?;
    let others = match lacking.len() {
        1 => String::new(),
        several => format!(" (the first of {several})"),
    };
    Some(format!("no interval for {place}: {why}{others}."))
}

impl Case<'_> {
    /// How sure the quotient of two series is; none if it is not of latencies.
    pub(super) fn estimate_quotient(
        &self,
        of: &str,
        to: &str,
        figure: f64,
        limits: &[f64],
    ) -> Option<Estimate> {
        let Number::Run(metric) = self.metric else { return None };
        let what = format!("{of}/{to}");
        if self.results.seeds() >= FEWEST_SEEDS {
            return self.over_seeds(what, figure, limits, |seed| self.quotient_under(seed, of, to));
        }
        let runs = || self.results(of).zip(self.results(to)).zip(&self.indexes);
        let resampled = match self.over {
            Over::Each | Over::Most | Over::AlmostAll | Over::Median | Over::Mean => collect(
                runs().map(|((of, to), index)| metric::quotient(metric, of, to, &stream(*index))),
            )?
            .map(|all| Resampled::mean(&all)),
            Over::Total => {
                let sum = |name, other: &str| {
                    let runs = self.results(name).zip(&self.indexes);
                    collect(
                        runs.map(|(run, index)| metric.resampled(run, &(stream(*index) + other))),
                    )
                };
                let are_paired = runs().all(|((of, to), _)| {
                    let blocks = of.blocks.as_ref().zip(to.blocks.as_ref());
                    blocks.is_some_and(|(of, to)| of.are_paired_with(to))
                });
                let (of, to) = (sum(of, "")?, sum(to, if are_paired { "" } else { ", to" })?);
                of.and_then(|of| {
                    let sums = Resampled::sum(&of).zip(Resampled::sum(&to?));
                    Ok(sums.map(|(of, to)| of.over(&to)))
                })
            }
        };
        Some(estimate(what, resampled, figure, limits))
    }

    /// The interval of a number as the seeds vary, and as wide as it must be to hold that of all of
    /// them together. None if some are not above zero.
    fn over_seeds(
        &self,
        what: String,
        figure: f64,
        limits: &[f64],
        number: impl Fn(Option<usize>) -> f64,
    ) -> Option<Estimate> {
        let values: Vec<f64> = (0..self.results.seeds()).map(|seed| number(Some(seed))).collect();
        let (_, low, high) = seeds::interval(&values)?;
        let interval = Ok(Interval { low: low.min(figure), high: high.max(figure) });
        Some(Estimate { what, figure, interval, limits: limits.to_vec() })
    }

    /// How sure the number of a series is; none if it is not of latencies.
    pub(super) fn estimate(&self, of: &str, figure: f64, limits: &[f64]) -> Option<Estimate> {
        let Number::Run(metric) = self.metric else { return None };
        if self.results.seeds() >= FEWEST_SEEDS {
            let number = |seed| self.value_under(seed, of);
            return self.over_seeds(String::new(), figure, limits, number);
        }
        let runs = self.results(of).zip(&self.indexes);
        let all = collect(runs.map(|(run, index)| metric.resampled(run, &stream(*index))))?;
        let resampled = all.map(|all| match self.over {
            Over::Each | Over::Most | Over::AlmostAll | Over::Median | Over::Mean => {
                Resampled::mean(&all)
            }
            Over::Total => Resampled::sum(&all),
        });
        Some(estimate(String::new(), resampled, figure, limits))
    }
}

/// Runs of different workloads are drawn on their own.
fn stream(workload: usize) -> String {
    format!("workload {workload}")
}

/// All of them, or why there is none; nothing if one of them cannot have an interval, or if there
/// are none.
fn collect(
    all: impl Iterator<Item = Option<Result<Resampled, NoInterval>>>,
) -> Option<Result<Vec<Resampled>, NoInterval>> {
    let all: Vec<Result<Resampled, NoInterval>> = all.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.into_iter().collect())
}

fn estimate(
    what: String,
    resampled: Result<Option<Resampled>, NoInterval>,
    figure: f64,
    limits: &[f64],
) -> Estimate {
    let interval = resampled.and_then(|resampled| {
        resampled.map_or(Err(NoInterval::Undefined), |all| all.interval(figure))
    });
    Estimate { what, figure, interval, limits: limits.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(interval: Result<Interval, NoInterval>, limits: &[f64]) -> Estimate {
        Estimate { what: "base/ioda".to_owned(), figure: 1.1, interval, limits: limits.to_vec() }
    }

    #[test]
    fn a_limit_inside_of_the_interval_is_noise() {
        let wide = Ok(Interval { low: 0.99, high: 1.21 });
        assert!(estimate(wide, &[1.0]).is_noisy() && estimate(wide, &[3.0, 1.2]).is_noisy());
        assert!(!estimate(wide, &[0.98, 1.3]).is_noisy() && !estimate(wide, &[]).is_noisy());
        // Equal runs are equal with certainty.
        assert!(!estimate(Ok(Interval { low: 1.0, high: 1.0 }), &[1.0]).is_noisy());
        assert!(!estimate(Err(NoInterval::FewBlocks), &[1.0]).is_noisy());
        assert_eq!(estimate(wide, &[]).text(), " [0.99, 1.21]");
        let number = estimate(wide, &[]).number("tpcc p99").unwrap();
        assert_eq!((number.of.as_str(), number.value), ("tpcc p99 base/ioda", 1.1));
        assert_eq!((number.interval, number.why_not.as_str()), (Some((0.99, 1.21)), ""));
    }

    #[test]
    fn what_lacks_an_interval_says_why() {
        let few = estimate(Err(NoInterval::FewAbove { percentile: 99.99 }), &[]);
        let fine = estimate(Ok(Interval { low: 1.0, high: 2.0 }), &[]);
        let place = || "tpcc p99.99".to_owned();
        assert_eq!(lacking(&[(place(), &fine)]), None);
        assert_eq!(
            lacking(&[(place(), &fine), (place(), &few), (place(), &few)]).unwrap(),
            "no interval for tpcc p99.99: fewer than 100 requests lie above p99.99 (the first of 2)."
        );
    }
}
