//! Latency: a histogram and what people want to know of it.

use hdrhistogram::Histogram;
use units::Duration;

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 10] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999];

/// Longest latency that is told apart: an hour.
const LONGEST_NANOS: u64 = 3_600_000_000_000;

/// Latencies of one kind of request.
#[derive(Clone, Debug)]
pub struct LatencySummary {
    /// Nanoseconds, to three significant digits.
    histogram: Histogram<u64>,
    sum_nanos: u128,
}

impl Default for LatencySummary {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencySummary {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, 3)
            .unwrap_or_else(|error| unreachable!("constant bounds are valid: {error}"));
        Self { histogram, sum_nanos: 0 }
    }

    /// Counts a request.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(latency.as_nanos());
        self.sum_nanos += u128::from(latency.as_nanos());
    }

    /// Counts the requests of another summary, too.
    pub(crate) fn add(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "all have the same bounds");
        self.sum_nanos += other.sum_nanos;
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

    /// Shortest latency.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_nanos(if self.count() == 0 { 0 } else { self.histogram.min() })
    }

    /// Longest latency.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.histogram.max())
    }

    /// The latency that `percentile` per cent of the requests do not exceed.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_percentile(percentile))
    }

    /// Requests slower than the percentile: below 100 of them it says little.
    #[must_use]
    pub fn samples_beyond(&self, percentile: f64) -> u64 {
        let beyond = self.count() as f64 * (1.0 - percentile / 100.0);
        // 500 000 × 0.0001 must be 50, not 49.999….
        (beyond + 1e-6) as u64
    }

    /// Points of the cumulative distribution: share of requests and the latency they do not exceed,
    /// denser towards the tail.
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
