//! Latencies in buckets of a constant ratio: exact enough for percentiles of any interval, small
//! enough to be sent every second.

use serde::{Deserialize, Serialize};

/// Each doubling is divided into so many buckets of one width, so no bucket is wider than a
/// sixteenth of its lower bound and a percentile is off by less than 7 %.
const PARTS: u64 = 1 << PARTS_LOG2;
const PARTS_LOG2: u32 = 4;
/// Buckets for every number of nanoseconds there is.
const BUCKETS: usize = ((64 - PARTS_LOG2 + 1) as usize) << PARTS_LOG2;

/// Percentiles that are told of what was recorded since the start.
pub const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// Counts latencies; recording takes a few nanoseconds and nothing is ever allocated again.
#[derive(Clone, Debug)]
pub struct Recorder {
    counts: Vec<u64>,
    count: u64,
    sum_nanoseconds: u64,
    max_nanoseconds: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum_nanoseconds: 0, max_nanoseconds: 0 }
    }
}

impl Recorder {
    /// Counts one.
    pub fn record(&mut self, nanoseconds: u64) {
        self.counts[bucket(nanoseconds)] += 1;
        self.count += 1;
        self.sum_nanoseconds = self.sum_nanoseconds.saturating_add(nanoseconds);
        self.max_nanoseconds = self.max_nanoseconds.max(nanoseconds);
    }

    /// What was counted so far.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets = used.map(|(index, &count)| (upper_bound(index), count)).collect();
        let mut latency = Latency {
            count: self.count,
            sum_nanoseconds: self.sum_nanoseconds,
            max_nanoseconds: self.max_nanoseconds,
            percentiles: Vec::new(),
            buckets,
        };
        let told = PERCENTILES.iter().filter_map(|&percent| {
            latency.percentile(percent).map(|nanoseconds| (percent, nanoseconds))
        });
        latency.percentiles = told.collect();
        latency
    }
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

/// Latencies since the start, or of an interval, as a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_nanoseconds: u64,
    /// Largest; of an interval, no less than the largest.
    pub max_nanoseconds: u64,
    /// Percentiles, as (percent, nanoseconds); none of nothing.
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
        let rank = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut passed = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            passed += count;
            passed >= rank
        });
        found.map(|(bound, _)| (*bound).min(self.max_nanoseconds))
    }

    /// How many were at most so long; exact where `nanoseconds` is the bound of a bucket.
    #[must_use]
    pub fn at_most(&self, nanoseconds: u64) -> u64 {
        let within = self.buckets.iter().take_while(|(bound, _)| *bound <= nanoseconds);
        within.map(|(_, count)| count).sum()
    }

    /// What came after `earlier`, which is an older state of this histogram. If it is none, the
    /// array was started anew in between, and everything came after.
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
        let highest = buckets.last().map_or(0, |(bound, _)| *bound);
        let mut latency = Self {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum_nanoseconds: self.sum_nanoseconds.saturating_sub(earlier.sum_nanoseconds),
            max_nanoseconds: highest.min(self.max_nanoseconds),
            percentiles: Vec::new(),
            buckets,
        };
        let told = PERCENTILES.iter().filter_map(|&percent| {
            latency.percentile(percent).map(|nanoseconds| (percent, nanoseconds))
        });
        latency.percentiles = told.collect();
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
        #[test]
        fn percentiles_are_those_of_the_sorted_list(values in latencies(), percent in 0.1f64..100.0) {
            let latency = recorded(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert_eq!(latency.count as usize, values.len());
            match latency.percentile(percent) {
                None => prop_assert!(values.is_empty()),
                Some(told) => {
                    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
                    let exact = sorted[rank.max(1) - 1];
                    prop_assert!(told >= exact && told as f64 <= exact as f64 * 1.07 + 1.0, "{} {}", told, exact);
                }
            }
            for bound in (0..64).map(|exponent| 1u64 << exponent) {
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
            prop_assert!(difference.max_nanoseconds >= later.max_nanoseconds);
            // After a new start everything is new.
            if !first.is_empty() {
                prop_assert_eq!(later.since(&recorded(&all)), later);
            }
        }
    }
}
