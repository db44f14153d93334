//! Causes of delay, by latency.

use nvme::{Cause, Delays};
use units::Duration;

/// Steps per doubling of latency: reads within 3 % of each other are averaged.
const STEPS_PER_DOUBLING_LOG2: u32 = 5;
const STEPS: usize = 1 << STEPS_PER_DOUBLING_LOG2;
const BUCKETS: usize = 64 * STEPS;

/// Mean causes of delay of the reads at one percentile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CauseSplit {
    /// Mean latency of the reads that were averaged; the sum of the parts.
    pub latency: Duration,
    /// Number of reads that were averaged.
    pub reads: u64,
    /// Mean time by cause, in the order of [`Cause::ALL`].
    pub parts: [Duration; Cause::COUNT],
}

/// Delays of all reads, summed by latency.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CauseBuckets {
    counts: Vec<u64>,
    sums_nanos: Vec<[u64; Cause::COUNT]>,
}

impl CauseBuckets {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], sums_nanos: vec![[0; Cause::COUNT]; BUCKETS] }
    }

    fn bucket(nanos: u64) -> usize {
        let nanos = nanos.max(STEPS as u64);
        let doubling = 63 - nanos.leading_zeros();
        let step = (nanos >> (doubling - STEPS_PER_DOUBLING_LOG2)) as usize - STEPS;
        doubling as usize * STEPS + step
    }

    #[inline]
    pub(crate) fn record(&mut self, delays: &Delays, latency: Duration) {
        let bucket = Self::bucket(latency.as_nanos());
        self.counts[bucket] += 1;
        for (sum, part) in self.sums_nanos[bucket].iter_mut().zip(delays.parts()) {
            *sum += part.as_nanos();
        }
    }

    /// Adds the reads of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        for (sums, parts) in self.sums_nanos.iter_mut().zip(&other.sums_nanos) {
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += part;
            }
        }
    }

    /// Mean causes of delay of reads with about this latency; `None` if there are no reads.
    #[must_use]
    pub fn at(&self, latency: Duration) -> Option<CauseSplit> {
        let wanted = Self::bucket(latency.as_nanos());
        // A percentile of a histogram may fall between buckets: take the nearest bucket with reads.
        let bucket = (0..BUCKETS)
            .filter(|&bucket| self.counts[bucket] > 0)
            .min_by_key(|&bucket| bucket.abs_diff(wanted))?;
        let reads = self.counts[bucket];
        let parts = self.sums_nanos[bucket].map(|sum| Duration::from_nanos(sum / reads));
        Some(CauseSplit { latency: parts.iter().copied().sum(), reads, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_with_latency() {
        let mut last = 0;
        for nanos in (0..5_000_000).step_by(97) {
            let bucket = CauseBuckets::bucket(nanos);
            assert!(bucket >= last && bucket < BUCKETS);
            last = bucket;
        }
        assert!(CauseBuckets::bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn parts_sum_to_the_latency() {
        let mut buckets = CauseBuckets::new();
        let mut delays = Delays::ZERO;
        delays.add(Cause::NandRead, Duration::from_micros(40));
        delays.add(Cause::Rebuild, Duration::from_micros(3));
        buckets.record(&delays, delays.total());
        let split = buckets.at(Duration::from_micros(43)).unwrap();
        assert_eq!((split.latency, split.reads), (Duration::from_micros(43), 1));
    }
}
