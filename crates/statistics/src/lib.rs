//! Intervals of 95 % for results of simulations.
//!
//! Knows: percentile intervals of a bootstrap, intervals of a geometric mean, and how much wider
//! both are for few samples. Does not know: the measured quantity, the drawing of blocks, seeds.
//! The same numbers give the same interval on every machine of one kind.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The share of intervals that should hold the true value.
const CONFIDENCE: f64 = 0.95;
/// The share of a distribution below the upper end of its interval.
const UPPER: f64 = 1.0 - (1.0 - CONFIDENCE) / 2.0;

/// Interval that holds a number with a confidence of 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the interval.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The interval of a result that is `figure` for the run itself, from its values in `draws` of the
/// run's `blocks`. The interval holds `figure`. `None` without draws, or if a value is not finite.
#[must_use]
pub fn of_draws(draws: &[f64], blocks: usize, figure: f64) -> Option<Interval> {
    if draws.is_empty() || !figure.is_finite() || draws.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut values = draws.to_vec();
    values.sort_by(f64::total_cmp);
    let beyond = (values.len() as f64 * (1.0 - CONFIDENCE) / 2.0) as usize;
    let (low, high) = (values[beyond], values[values.len() - 1 - beyond]);
    let (low, high) = (low.min(figure), high.max(figure));
    // The spread of few blocks is smaller than that of their population.
    let wider = wider(blocks);
    let stretched = |end: f64| match figure > 0.0 && end > 0.0 {
        true => figure * (end / figure).powf(wider),
        false => figure + (end - figure) * wider,
    };
    Some(Interval { low: stretched(low), high: stretched(high) })
}

/// The geometric mean of `values` and its interval; `None` for fewer than two values, or if a value
/// is not a finite number above zero.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<(f64, Interval)> {
    if values.len() < 2 || values.iter().any(|&value| !(value > 0.0 && value.is_finite())) {
        return None;
    }
    let count = values.len() as f64;
    let logarithms = || values.iter().map(|value| value.ln());
    let mean = logarithms().sum::<f64>() / count;
    let squares: f64 = logarithms().map(|one| (one - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0) / count).sqrt();
    let reach = student(count - 1.0) * deviation;
    Some((mean.exp(), Interval { low: (mean - reach).exp(), high: (mean + reach).exp() }))
}

/// Factor by which the ends lie farther away than the draws say. Student's distribution is wider
/// than the normal one, and the deviation of `n` blocks is smaller than that of their population.
fn wider(blocks: usize) -> f64 {
    let free = blocks.saturating_sub(1).max(1) as f64;
    student(free) / Normal::standard().inverse_cdf(UPPER) * (blocks as f64 / free).sqrt()
}

/// The quantile of Student's distribution at [`UPPER`], with at least one degree of freedom.
fn student(degrees_of_freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom)
        .unwrap_or_else(|error| unreachable!("one degree of freedom or more: {error}"))
        .inverse_cdf(UPPER)
}

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    /// Table of the quantile of 97.5 %, as in textbooks.
    #[test]
    fn quantiles_are_those_of_the_table() {
        let table = [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (4.0, 2.776),
            (10.0, 2.228),
            (11.0, 2.201),
            (19.0, 2.093),
            (30.0, 2.042),
            (1e6, 1.960),
        ];
        for (free, quantile) in table {
            assert!((student(free) - quantile).abs() < 6e-4, "{free}: {}", student(free));
        }
    }

    #[test]
    fn two_values_reach_far() {
        // Logarithms ln 4 ± ln 2: a deviation of the mean of ln 2, and a quantile of 12.7.
        let (mean, interval) = geometric_mean(&[2.0, 8.0]).unwrap();
        assert!((mean - 4.0).abs() < 1e-9, "{mean}");
        assert!(((interval.high / 4.0).log2() - 12.706).abs() < 1e-3, "{interval:?}");
        assert!((interval.low * interval.high - 16.0).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn more_values_are_surer() {
        let width = |count: usize| {
            let values: Vec<f64> = (0..count).map(|n| 1.0 + 0.1 * (n % 2) as f64).collect();
            let (_, interval) = geometric_mean(&values).unwrap();
            interval.high - interval.low
        };
        assert!(width(2) > width(4) && width(4) > width(20));
        for none in [&[][..], &[1.0], &[1.0, 0.0], &[1.0, f64::NAN]] {
            assert_eq!(geometric_mean(none), None);
        }
    }

    #[test]
    fn draws_reach_farther_if_they_are_of_few_blocks() {
        let draws: Vec<f64> = (1..=1000).map(|n| 1.0 + f64::from(n) / 1000.0).collect();
        let high = |blocks: usize| of_draws(&draws, blocks, 1.5).unwrap().high;
        assert!(high(20) > high(48) && high(48) > high(1_000_000));
        assert!((high(1_000_000) - 1.975).abs() < 2e-3, "{}", high(1_000_000));
        assert_eq!(of_draws(&[1.0; 9], 20, 1.0), Some(Interval { low: 1.0, high: 1.0 }));
        for (draws, figure) in [(&[][..], 1.0), (&[1.0], f64::NAN), (&[f64::INFINITY], 1.0)] {
            assert_eq!(of_draws(draws, 20, figure), None);
        }
    }
}
