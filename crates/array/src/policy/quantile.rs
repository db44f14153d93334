//! Running quantiles of latencies.

use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Ratio};

/// Buckets per octave: quantiles are exact to a sixteenth.
const PARTS: u64 = 16;
/// Number of octaves of nanoseconds.
const OCTAVES: u64 = 64;
/// Number of latencies after which earlier ones count half.
const MEMORY: u32 = 4096;
/// Maximum count that a bucket takes over from an earlier run: more would not be forgotten.
const MOST_REMEMBERED: u32 = 1 << 14;
/// Number of latencies between two computations of the quantiles, and before the first.
const STEP: u32 = 256;

/// Counts of latencies by bucket.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; (OCTAVES * PARTS) as usize], total: 0 }
    }

    /// Number of latencies that count.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn add(&mut self, latency: Duration) {
        self.counts[bucket(latency.as_nanos())] += 1;
        self.total += 1;
    }

    /// Halves the weight of all latencies so far.
    pub(super) fn halve(&mut self) {
        self.total = 0;
        for count in &mut self.counts {
            *count /= 2;
            self.total += u64::from(*count);
        }
    }

    /// Upper end of the bucket in which a quantile lies; [`Duration::MAX`] without latencies.
    pub(super) fn quantile(&self, quantile: Ratio) -> Duration {
        let below = quantile.of(self.total());
        let found = self.rising().find(|&(_, count)| count > below);
        found.map_or(Duration::MAX, |(end, _)| end)
    }

    /// Buckets that are not empty, with their counts.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let buckets = (0..).zip(self.counts.iter().copied());
        buckets.filter(|&(_, count)| count > 0)
    }

    /// Adds latencies of an earlier run; buckets that do not exist are ignored.
    pub(super) fn remember(&mut self, counts: &[(u32, u32)]) {
        for &(bucket, count) in counts {
            if let Some(slot) = self.counts.get_mut(bucket as usize) {
                let count = count.min(MOST_REMEMBERED);
                *slot += count;
                self.total += u64::from(count);
            }
        }
    }

    /// The upper ends of the buckets that are not empty, in rising order, each with the number of
    /// latencies below it.
    pub(super) fn rising(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.scan(0, |below, (index, &count)| {
            *below += u64::from(count);
            Some((Duration::from_nanos(upper_end(index)), *below))
        })
    }
}

/// `N` quantiles, in rising order, of the last few thousand latencies. The histogram forgets: all
/// counts are halved after every `MEMORY` latencies.
#[derive(Clone, Debug)]
pub(super) struct RunningQuantiles<const N: usize> {
    quantiles: [Ratio; N],
    latencies: Histogram,
    until_look: u32,
    until_halved: u32,
    values: Option<[Duration; N]>,
}

impl<const N: usize> RunningQuantiles<N> {
    pub(super) fn new(quantiles: [Ratio; N]) -> Self {
        Self {
            quantiles,
            latencies: Histogram::new(),
            until_look: STEP,
            until_halved: MEMORY,
            values: None,
        }
    }

    /// The quantiles as last computed; `None` before the first time.
    pub(super) const fn values(&self) -> Option<[Duration; N]> {
        self.values
    }

    pub(super) fn add(&mut self, latency: Duration) {
        self.latencies.add(latency);
        self.until_halved -= 1;
        if self.until_halved == 0 {
            self.until_halved = MEMORY;
            self.latencies.halve();
        }
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = STEP;
            self.values = Some(self.quantiles.map(|quantile| self.latencies.quantile(quantile)));
        }
    }
}

/// The bucket of a latency: its octave and the sixteenth of it.
fn bucket(nanos: u64) -> usize {
    if nanos < PARTS {
        return nanos as usize;
    }
    let octave = u64::from(nanos.ilog2());
    let part = nanos >> (octave - 4) & (PARTS - 1);
    ((octave - 3) * PARTS + part) as usize
}

/// The first latency beyond a bucket.
fn upper_end(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next < PARTS * 2 {
        return next;
    }
    let (octave, part) = (next / PARTS + 3, next % PARTS);
    (PARTS + part) << (octave - 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_latencies() {
        for nanos in (0..5_000).chain([1 << 20, (1 << 40) + 12_345, u64::MAX >> 1]) {
            let end = upper_end(bucket(nanos));
            assert!(end > nanos && end <= nanos + nanos / 16 + 1, "{nanos} ends at {end}");
        }
    }

    #[test]
    fn it_follows_what_comes() {
        let mut latencies = RunningQuantiles::new([50, 99].map(Ratio::from_percent));
        assert_eq!(latencies.values(), None);
        for step in 0..20_000u64 {
            latencies.add(Duration::from_nanos(1_000 + step * 7919 % 1_000));
        }
        let [p50, p99] = latencies.values().unwrap().map(Duration::as_nanos);
        assert!((1_470..=1_600).contains(&p50), "{p50}");
        assert!((1_980..=2_130).contains(&p99), "{p99}");
        for _ in 0..40_000 {
            latencies.add(Duration::from_micros(50));
        }
        let [p50, p99] = latencies.values().unwrap().map(Duration::as_nanos);
        assert!((50_000..=53_200).contains(&p50), "{p50}");
        assert_eq!(p50, p99);
    }
}
