//! Latency: a histogram and its statistics.

use hdrhistogram::Histogram;
use units::Duration;

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 10] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999];

/// Percentile of one part that equals `percentile` of the slowest of `parts` independent parts. The
/// probability that all are faster than a latency is the product of the parts' probabilities (Dean
/// and Barroso, "The Tail at Scale", CACM 2013).
#[must_use]
pub fn percentile_of_each(parts: u32, percentile: f64) -> f64 {
    match parts {
        0 | 1 => percentile,
        _ => 100.0 * (percentile / 100.0).powf(1.0 / f64::from(parts)),
    }
}

/// Longest latency in the histogram: an hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;

/// Latencies of one kind of request.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LatencySummary {
    /// Nanoseconds, to three significant digits.
    #[cfg_attr(feature = "serde", serde(with = "crate::stored::histogram"))]
    histogram: Histogram<u64>,
    sum_nanos: u128,
    /// Shortest and longest latency, exact: the histogram has only the bounds of their steps.
    shortest_nanos: u64,
    longest_nanos: u64,
}

impl Default for LatencySummary {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencySummary {
    /// Creates an empty summary.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, 3)
            .unwrap_or_else(|error| unreachable!("constant bounds are valid: {error}"));
        Self { histogram, sum_nanos: 0, shortest_nanos: u64::MAX, longest_nanos: 0 }
    }

    /// Counts a request.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let nanos = latency.as_nanos();
        self.histogram.saturating_record(nanos);
        self.sum_nanos += u128::from(nanos);
        self.shortest_nanos = self.shortest_nanos.min(nanos);
        self.longest_nanos = self.longest_nanos.max(nanos);
    }

    /// Adds the requests of another summary.
    pub fn add(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "all have the same bounds");
        self.sum_nanos += other.sum_nanos;
        self.shortest_nanos = self.shortest_nanos.min(other.shortest_nanos);
        self.longest_nanos = self.longest_nanos.max(other.longest_nanos);
    }

    /// Number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Sum of the latencies, exact.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum_nanos).unwrap_or(u64::MAX))
    }

    /// Mean latency, exact.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match self.count() {
            0 => Duration::ZERO,
            count => Duration::from_nanos((self.sum_nanos / u128::from(count)) as u64),
        }
    }

    /// Shortest latency, exact.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_nanos(if self.count() == 0 { 0 } else { self.shortest_nanos })
    }

    /// Longest latency, exact.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.longest_nanos)
    }

    /// Latency that `percentile` per cent of the requests do not exceed: the upper bound of its
    /// step, at most the longest latency.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Duration {
        self.at_most_longest(self.histogram.value_at_percentile(percentile))
    }

    /// Returns the upper bound of the step of a recorded latency, at most the longest latency.
    fn at_most_longest(&self, nanos: u64) -> Duration {
        Duration::from_nanos(nanos.min(self.longest_nanos))
    }

    /// Latency, at `percentile`, of a request that needs one request from each of `parts`
    /// identical, independent arrays.
    #[must_use]
    pub fn slowest_of(&self, parts: u32, percentile: f64) -> Duration {
        self.percentile(percentile_of_each(parts, percentile))
    }

    /// Number of requests slower than the percentile; below 100 of them the percentile is
    /// unreliable.
    #[must_use]
    pub fn samples_beyond(&self, percentile: f64) -> u64 {
        let beyond = self.count() as f64 * (1.0 - percentile / 100.0);
        // 500 000 × 0.0001 must be 50, not 49.999….
        (beyond + 1e-6) as u64
    }

    /// Recorded latencies in ascending order, each with its number of requests. A latency is the
    /// upper bound of its step, as in [`Self::percentile`].
    pub fn recorded(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.histogram.iter_recorded().map(|value| {
            let longest = self.histogram.highest_equivalent(value.value_iterated_to());
            (self.at_most_longest(longest), value.count_at_value())
        })
    }

    /// Points of the cumulative distribution: share of requests, and the latency that they do not
    /// exceed; denser towards the tail.
    #[must_use]
    pub fn cdf(&self) -> Vec<(f64, Duration)> {
        let mut points: Vec<(f64, Duration)> = Vec::new();
        if self.count() == 0 {
            return points;
        }
        for value in self.histogram.iter_quantiles(16) {
            let share = value.quantile();
            let latency = Duration::from_nanos(value.value_iterated_to());
            if points.last().is_none_or(|&(_, last)| last < latency) {
                points.push((share, latency.min(self.max())));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_found_among_what_was_recorded() {
        let mut rng = units::Rng::new(3);
        let mut latencies = LatencySummary::new();
        for _ in 0..5_000 {
            latencies.record(Duration::from_nanos(1 + (rng.below(1 << 40) >> rng.below(40))));
        }
        let recorded: Vec<(Duration, u64)> = latencies.recorded().collect();
        assert_eq!(recorded.iter().map(|(_, count)| count).sum::<u64>(), 5_000);
        assert!(recorded.is_sorted_by(|a, b| a.0 < b.0));
        for percentile in PERCENTILES {
            let rank = (percentile / 100.0 * 5_000.0).ceil() as u64;
            let mut below = 0;
            let found = recorded.iter().find(|(_, count)| {
                below += count;
                below >= rank
            });
            assert_eq!(found.map(|found| found.0), Some(latencies.percentile(percentile)));
        }
    }

    /// The step of a latency is a thousandth of it wide.
    #[test]
    fn nothing_is_told_to_be_slower_than_the_slowest_or_faster_than_the_fastest() {
        for seed in testing::seeds(0..50) {
            let mut rng = units::Rng::new(seed);
            let mut parts = [LatencySummary::new(), LatencySummary::new()];
            let drawn: Vec<u64> =
                (0..1 + rng.below(40)).map(|_| 1_000_001 + rng.below(1 << 34)).collect();
            for (number, &nanos) in drawn.iter().enumerate() {
                parts[number % 2].record(Duration::from_nanos(nanos));
            }
            let [mut all, other] = parts;
            all.add(&other);
            let (least, most) = (drawn.iter().min().copied(), drawn.iter().max().copied());
            assert_eq!(Some(all.min().as_nanos()), least);
            assert_eq!(Some(all.max().as_nanos()), most);
            assert_eq!(all.percentile(100.0), all.max());
            assert!(PERCENTILES.iter().all(|&percentile| all.percentile(percentile) <= all.max()));
            assert!(all.recorded().all(|(latency, _)| latency <= all.max()));
            assert!(all.cdf().iter().all(|(_, latency)| *latency <= all.max()));
        }
        let none = LatencySummary::new();
        assert_eq!([none.min(), none.max(), none.percentile(50.0)], [Duration::ZERO; 3]);
    }

    /// One request in a hundred is slow: of 64 at once, about half include no slow request.
    #[test]
    fn the_slowest_of_many_is_slow_more_often() {
        let mut latencies = LatencySummary::new();
        for request in 0..100_000 {
            latencies.record(Duration::from_micros(if request % 100 == 0 { 1_000 } else { 100 }));
        }
        assert_eq!(latencies.slowest_of(1, 50.0), latencies.percentile(50.0));
        // 0.99^64 = 0.526: with this probability none of the 64 is slow.
        let micros = |percentile| latencies.slowest_of(64, percentile).as_nanos() / 1_000;
        assert_eq!((micros(52.0), micros(53.0)), (100, 1_000));
    }

    #[test]
    fn a_percentile_of_the_slowest_is_that_of_drawn_groups() {
        let mut rng = units::Rng::new(7);
        let (mut latencies, mut slowest) = (LatencySummary::new(), LatencySummary::new());
        for _ in 0..20_000 {
            let group = [(); 16].map(|()| Duration::from_micros(100 + rng.below(1_000)));
            group.iter().for_each(|&latency| latencies.record(latency));
            slowest.record(group.into_iter().max().unwrap_or_default());
        }
        for percentile in [10.0, 50.0, 90.0, 99.0] {
            let reckoned = latencies.slowest_of(16, percentile).as_micros_f64();
            let drawn = slowest.percentile(percentile).as_micros_f64();
            assert!((reckoned / drawn - 1.0).abs() < 0.01, "p{percentile}: {reckoned} and {drawn}");
        }
    }
}
