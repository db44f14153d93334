//! Latencies in buckets of a constant ratio: exact enough for percentiles of any interval, small
//! enough to be sent every second.
//!
//! The array's thread counts in narrow buckets, so that percentiles since the start are exact to a
//! hundredth. What is sent is merged into wider ones, because there are many histograms in a status
//! and people look at intervals of a second, for which they are fine enough.
//!
//! Both are HDR histograms of the nanosecond before a latency. Their buckets end before a power of
//! two, and upper bounds belong to their buckets, as Prometheus wants it.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Percentiles that are reported of what was recorded since the start.
pub const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// Buckets for recording: with two digits HDR divides each doubling into 128 parts, so a percentile
/// since the start is off by less than 0.8 %.
fn narrow() -> Histogram<u64> {
    with_bounds(1, 2)
}

/// Buckets for sending, of eight nanoseconds at least: with one digit HDR divides each doubling
/// into sixteen parts, so a percentile of an interval is off by less than 7 %.
fn wide() -> Histogram<u64> {
    with_bounds(8, 1)
}

/// Buckets for every number of nanoseconds that there is.
fn with_bounds(least: u64, digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(least, u64::MAX, digits)
        .unwrap_or_else(|error| unreachable!("constant bounds are valid: {error}"))
}

/// The largest latency in the bucket of `before`, which is a nanosecond before a latency.
fn bound(histogram: &Histogram<u64>, before: u64) -> u64 {
    histogram.highest_equivalent(before).saturating_add(1)
}

/// [`PERCENTILES`] of a histogram; none of nothing.
fn percentiles(histogram: &Histogram<u64>, max_nanoseconds: u64) -> Vec<(f64, u64)> {
    if histogram.is_empty() {
        return Vec::new();
    }
    let before = histogram.value_at_percentiles(PERCENTILES);
    let latencies = before.map(|before| bound(histogram, before).min(max_nanoseconds));
    PERCENTILES.into_iter().zip(latencies).collect()
}

/// Counts latencies; recording takes a few nanoseconds and nothing is ever allocated again.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    /// Sum and largest, exact: the histogram knows the bounds of their buckets only.
    sum_nanoseconds: u64,
    max_nanoseconds: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { histogram: narrow(), sum_nanoseconds: 0, max_nanoseconds: 0 }
    }
}

impl Recorder {
    /// Counts one.
    pub fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds.saturating_sub(1));
        self.sum_nanoseconds = self.sum_nanoseconds.saturating_add(nanoseconds);
        self.max_nanoseconds = self.max_nanoseconds.max(nanoseconds);
    }

    /// What was counted so far.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let mut sent = wide();
        let added = sent.add(&self.histogram);
        debug_assert!(added.is_ok(), "both have buckets for every number");
        Latency {
            count: self.histogram.len(),
            sum_nanoseconds: self.sum_nanoseconds,
            max_nanoseconds: self.max_nanoseconds,
            percentiles: percentiles(&self.histogram, self.max_nanoseconds),
            buckets: buckets(&sent),
        }
    }
}

/// The buckets with anything in them, as (largest latency, how many).
fn buckets(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let recorded = histogram.iter_recorded();
    recorded
        .map(|step| (bound(histogram, step.value_iterated_to()), step.count_at_value()))
        .collect()
}

/// Latencies since the start, or of an interval, as a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_nanoseconds: u64,
    /// Largest; of an interval at most the largest, and less than 7 % below it.
    pub max_nanoseconds: u64,
    /// Percentiles, as (percent, nanoseconds); none of nothing. Those since the start are exact to
    /// 0.8 %, those of an interval to 7 %.
    pub percentiles: Vec<(f64, u64)>,
    /// The buckets with anything in them in ascending order, as (largest number of nanoseconds that
    /// belongs to it, how many). Bounds are the same in every histogram, and every power of two is
    /// one.
    pub buckets: Vec<(u64, u64)>,
}

impl Latency {
    /// The buckets again as a histogram.
    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = wide();
        for &(bound, count) in &self.buckets {
            histogram.saturating_record_n(bound.saturating_sub(1), count);
        }
        histogram
    }

    /// The latency that `percent` per cent did not exceed: the upper bound of its bucket, at most
    /// the largest; none if nothing was recorded.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let histogram = self.histogram();
        let latency = bound(&histogram, histogram.value_at_percentile(percent));
        (!histogram.is_empty()).then(|| latency.min(self.max_nanoseconds))
    }

    /// How many were at most so long; exact where `nanoseconds` is the bound of a bucket.
    #[must_use]
    pub fn at_most(&self, nanoseconds: u64) -> u64 {
        let within = self.buckets.iter().take_while(|(bound, _)| *bound <= nanoseconds);
        within.map(|(_, count)| count).sum()
    }

    /// What was recorded after `earlier`, an older state of this histogram. If it is not an older
    /// state, the array was restarted in between, and everything was recorded after it.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.histogram();
        if later.subtract(earlier.histogram()).is_err() {
            return self.clone();
        }
        // The largest of all is of the interval if it is larger than any before. Else only its
        // bucket is known.
        let max_nanoseconds = match self.max_nanoseconds > earlier.max_nanoseconds {
            true => self.max_nanoseconds,
            false => match later.lowest_equivalent(later.max()) {
                0 => 0,
                before => before + 1,
            },
        };
        Self {
            count: later.len(),
            sum_nanoseconds: self.sum_nanoseconds.saturating_sub(earlier.sum_nanoseconds),
            max_nanoseconds,
            percentiles: percentiles(&later, max_nanoseconds),
            buckets: buckets(&later),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn powers_of_two_are_bounds_of_both_and_the_last_bucket_has_no_end() {
        for exponent in 0..64 {
            assert_eq!(bound(&narrow(), (1 << exponent) - 1), 1 << exponent);
        }
        for exponent in 3..64 {
            assert_eq!(bound(&wide(), (1 << exponent) - 1), 1 << exponent);
            assert!(bound(&wide(), 1 << exponent) > 1 << exponent);
        }
        assert_eq!([narrow(), wide()].map(|one| bound(&one, u64::MAX - 1)), [u64::MAX; 2]);
    }

    /// The buckets that an array sent before it counted with HDR histograms.
    #[test]
    fn what_is_sent_has_the_bounds_of_earlier_versions() {
        let latency = recorded(&[0, 1, 8, 9, 128, 129, 250, 257, 100_000, 1 << 40, u64::MAX]);
        let sent = [
            (8, 3),
            (16, 1),
            (128, 1),
            (136, 1),
            (256, 1),
            (272, 1),
            (102_400, 1),
            (1 << 40, 1),
            (u64::MAX, 1),
        ];
        assert_eq!(latency.buckets, sent);
    }

    fn recorded(values: &[u64]) -> Latency {
        let mut recorder = Recorder::default();
        values.iter().for_each(|&value| recorder.record(value));
        recorder.latency()
    }

    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        // All orders of magnitude alike.
        let value = (0u32..40, any::<u64>()).prop_map(|(bits, value)| value >> (63 - bits));
        proptest::collection::vec(value, 0..300)
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn percentiles_are_those_of_the_sorted_list(values in latencies(), percent in 0.1f64..100.0) {
            let latency = recorded(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert_eq!(latency.count as usize, values.len());
            let exact = |percent: f64| {
                let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
                sorted[rank.max(1) - 1]
            };
            match latency.percentile(percent) {
                None => prop_assert!(values.is_empty()),
                Some(reported) => {
                    let exact = exact(percent);
                    let most = (exact as f64 * 1.07).max(exact as f64 + 8.0);
                    prop_assert!(reported >= exact && reported as f64 <= most, "{} {}", reported, exact);
                }
            }
            // Since the start they are finer.
            let percents: Vec<f64> = latency.percentiles.iter().map(|(percent, _)| *percent).collect();
            prop_assert_eq!(&percents[..], if values.is_empty() { &[][..] } else { &PERCENTILES[..] });
            for &(percent, reported) in &latency.percentiles {
                let exact = exact(percent);
                let most = exact as f64 * 1.008 + 1.0;
                prop_assert!(reported >= exact && reported as f64 <= most, "{} {} {}", percent, reported, exact);
            }
            // What is sent stays small: sixteen buckets for each doubling.
            prop_assert!(latency.buckets.len() <= 41 * 16);
            for bound in (3..64).map(|exponent| 1u64 << exponent) {
                let exact = values.iter().filter(|value| **value <= bound).count();
                prop_assert_eq!(latency.at_most(bound) as usize, exact);
            }
        }

        #[test]
        fn a_difference_is_the_histogram_of_what_came_later(first in latencies(), second in latencies()) {
            let before = recorded(&first);
            let all: Vec<u64> = first.iter().chain(&second).copied().collect();
            let difference = recorded(&all).since(&before);
            let later = recorded(&second);
            prop_assert_eq!(&difference.buckets, &later.buckets);
            prop_assert_eq!((difference.count, difference.sum_nanoseconds), (later.count, later.sum_nanoseconds));
            let (said, largest) = (difference.max_nanoseconds, later.max_nanoseconds);
            prop_assert!(said <= largest && said as f64 >= (largest as f64 / 1.07).min(largest as f64 - 8.0));
            for (_, nanoseconds) in &difference.percentiles {
                prop_assert!(*nanoseconds <= largest);
            }
            // After a new start everything is new.
            if !first.is_empty() {
                prop_assert_eq!(later.since(&recorded(&all)), later);
            }
        }
    }
}
