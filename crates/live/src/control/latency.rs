//! Latencies in buckets of a constant ratio: exact enough for percentiles of any interval, small
//! enough to be sent every second.
//!
//! The array's thread counts in narrow buckets, so that percentiles since the start are exact to a
//! hundredth. What is sent is merged into wider ones, because there are many histograms in a status
//! and people look at intervals of a second, for which they are fine enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each doubling is divided into so many buckets of one width, so no bucket is wider than a
/// 128th of its lower bound and a percentile since the start is off by less than 0.8 %.
const PARTS: u64 = 1 << PARTS_LOG2;
const PARTS_LOG2: u32 = 7;
/// Buckets for every number of nanoseconds there is.
const BUCKETS: usize = ((64 - PARTS_LOG2 + 1) as usize) << PARTS_LOG2;

/// Binary logarithm of how many parts of a doubling are merged into one bucket for sending: sixteen
/// buckets are left, and a percentile of an interval is off by less than 7 %.
const COARSE_LOG2: u32 = 3;

/// Percentiles that are reported of what was recorded since the start.
pub const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// Counts latencies; recording takes a few nanoseconds and nothing is ever allocated again.
#[derive(Clone, Debug)]
pub struct Recorder {
    counts: Vec<u64>,
    /// The first bucket with anything in it, and the one after the last. The array's thread goes
    /// through the buckets for every status, and most are never used.
    used: std::ops::Range<usize>,
    count: u64,
    sum_nanoseconds: u64,
    max_nanoseconds: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            used: 0..0,
            count: 0,
            sum_nanoseconds: 0,
            max_nanoseconds: 0,
        }
    }
}

impl Recorder {
    /// Counts one.
    pub fn record(&mut self, nanoseconds: u64) {
        let bucket = bucket(nanoseconds);
        self.counts[bucket] += 1;
        self.used = match self.used.is_empty() {
            true => bucket..bucket + 1,
            false => self.used.start.min(bucket)..self.used.end.max(bucket + 1),
        };
        self.count += 1;
        self.sum_nanoseconds = self.sum_nanoseconds.saturating_add(nanoseconds);
        self.max_nanoseconds = self.max_nanoseconds.max(nanoseconds);
    }

    /// What was counted so far.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let used = || self.used.clone().map(|index| (index, self.counts[index]));
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for (index, count) in used().filter(|(_, count)| *count > 0) {
            let bound = coarse_bound(index);
            match buckets.last_mut() {
                Some((last, reported)) if *last == bound => *reported += count,
                _ => buckets.push((bound, count)),
            }
        }
        let bounds = || used().map(|(index, count)| (upper_bound(index), count));
        let reported = PERCENTILES.iter().filter_map(|&percent| {
            let bound = bound_at(bounds(), self.count, percent)?;
            Some((percent, bound.min(self.max_nanoseconds)))
        });
        Latency {
            count: self.count,
            sum_nanoseconds: self.sum_nanoseconds,
            max_nanoseconds: self.max_nanoseconds,
            percentiles: reported.collect(),
            buckets,
        }
    }
}

/// The bound that `percent` per cent of `total` do not exceed, among buckets in ascending order of
/// their bounds; none if they hold nothing.
fn bound_at(
    mut buckets: impl Iterator<Item = (u64, u64)>,
    total: u64,
    percent: f64,
) -> Option<u64> {
    let rank = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total.max(1));
    let mut passed = 0;
    let found = buckets.find(|(_, count)| {
        passed += count;
        passed >= rank
    });
    found.map(|(bound, _)| bound)
}

/// The bucket of a latency: those of one doubling `(2^e, 2^(e+1)]` lie side by side.
fn bucket(nanoseconds: u64) -> usize {
    // Upper bounds belong to their buckets, as Prometheus wants it.
    let value = nanoseconds.saturating_sub(1);
    if value < PARTS {
        return value as usize;
    }
    let exponent = value.ilog2();
    let part = (value >> (exponent - PARTS_LOG2)) & (PARTS - 1);
    (((exponent - PARTS_LOG2 + 1) as usize) << PARTS_LOG2) + part as usize
}

/// The largest number of nanoseconds in a bucket.
fn upper_bound(bucket: usize) -> u64 {
    let (doubling, part) = (bucket >> PARTS_LOG2, bucket as u64 & (PARTS - 1));
    if doubling == 0 {
        return part + 1;
    }
    let shift = doubling as u32 - 1;
    let bound = u128::from(PARTS + part + 1) << shift;
    u64::try_from(bound).unwrap_or(u64::MAX)
}

/// The largest number of nanoseconds in the wider bucket that `bucket` is merged into. Powers of
/// two are bounds of these, too.
fn coarse_bound(bucket: usize) -> u64 {
    upper_bound(bucket | ((1 << COARSE_LOG2) - 1))
}

/// The least number of nanoseconds in the wider bucket with this upper bound.
fn coarse_least(bound: u64) -> u64 {
    let first = bucket(bound) & !((1 << COARSE_LOG2) - 1);
    // The first bucket begins at 0.
    first.checked_sub(1).map_or(0, |before| upper_bound(before) + 1)
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
    /// The latency that `percent` per cent did not exceed: the upper bound of its bucket, at most
    /// the largest; none if nothing was recorded.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().map(|(_, count)| count).sum();
        let bound = bound_at(self.buckets.iter().copied(), total, percent);
        bound.map(|bound| bound.min(self.max_nanoseconds))
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
        if earlier.count > self.count {
            return self.clone();
        }
        let mut older = earlier.buckets.iter().peekable();
        let mut buckets = Vec::new();
        for &(bound, count) in &self.buckets {
            while older.next_if(|(before, _)| *before < bound).is_some() {}
            let before = older.next_if(|(before, _)| *before == bound).map_or(0, |(_, n)| *n);
            match count.checked_sub(before) {
                Some(0) => {}
                Some(count) => buckets.push((bound, count)),
                None => return self.clone(),
            }
        }
        // The largest of all is of the interval if it is larger than any before. Else only its
        // bucket is known.
        let max_nanoseconds = match self.max_nanoseconds > earlier.max_nanoseconds {
            true => self.max_nanoseconds,
            false => buckets.last().map_or(0, |(bound, _)| coarse_least(*bound)),
        };
        let mut latency = Self {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum_nanoseconds: self.sum_nanoseconds.saturating_sub(earlier.sum_nanoseconds),
            max_nanoseconds,
            percentiles: Vec::new(),
            buckets,
        };
        let reported = PERCENTILES.iter().filter_map(|&percent| {
            latency.percentile(percent).map(|nanoseconds| (percent, nanoseconds))
        });
        latency.percentiles = reported.collect();
        latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_cover_everything_and_meet() {
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
        assert_eq!(upper_bound(BUCKETS - 1), u64::MAX);
        for index in 0..BUCKETS - 1 {
            let bound = upper_bound(index);
            assert_eq!((bucket(bound), bucket(bound + 1)), (index, index + 1), "{bound}");
        }
        for exponent in 0..64 {
            assert_eq!(upper_bound(bucket(1 << exponent)), 1 << exponent);
        }
        // Below that the bounds are eight nanoseconds apart.
        for exponent in COARSE_LOG2..64 {
            assert_eq!(coarse_bound(bucket(1 << exponent)), 1 << exponent);
            assert!(coarse_bound(bucket((1 << exponent) + 1)) > 1 << exponent);
        }
        assert_eq!(coarse_bound(BUCKETS - 1), u64::MAX);
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
