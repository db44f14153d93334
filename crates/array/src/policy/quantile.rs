//! A running quantile of latencies.

use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Ratio};

/// Parts of an octave that are told apart: quantiles are exact to a sixteenth.
const PARTS: u64 = 16;
/// Octaves of nanoseconds.
const OCTAVES: u64 = 64;
/// Latencies after which those before count half.
const MEMORY: u32 = 4096;
/// Latencies from one look at the quantile to the next, and before the first.
const STEP: u32 = 256;

/// A quantile of the last few thousand latencies, by a histogram that forgets: every so many
/// latencies all counts are halved.
#[derive(Clone, Debug)]
pub(super) struct RunningQuantile {
    quantile: Ratio,
    counts: Vec<u32>,
    total: u32,
    until_look: u32,
    until_halved: u32,
    value: Option<Duration>,
}

impl RunningQuantile {
    pub(super) fn new(quantile: Ratio) -> Self {
        Self {
            quantile,
            counts: vec![0; (OCTAVES * PARTS) as usize],
            total: 0,
            until_look: STEP,
            until_halved: MEMORY,
            value: None,
        }
    }

    /// The quantile as of the last look; none before the first.
    pub(super) const fn value(&self) -> Option<Duration> {
        self.value
    }

    pub(super) fn add(&mut self, latency: Duration) {
        self.counts[bucket(latency.as_nanos())] += 1;
        self.total += 1;
        self.until_halved -= 1;
        if self.until_halved == 0 {
            self.until_halved = MEMORY;
            self.total = 0;
            for count in &mut self.counts {
                *count /= 2;
                self.total += *count;
            }
        }
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = STEP;
            self.look();
        }
    }

    fn look(&mut self) {
        let mut below = self.quantile.of(u64::from(self.total));
        for (index, &count) in self.counts.iter().enumerate() {
            if u64::from(count) > below {
                self.value = Some(Duration::from_nanos(upper_end(index)));
                return;
            }
            below -= u64::from(count);
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
        let mut p99 = RunningQuantile::new(Ratio::from_percent(99));
        assert_eq!(p99.value(), None);
        for step in 0..20_000u64 {
            p99.add(Duration::from_nanos(1_000 + step * 7919 % 1_000));
        }
        let value = p99.value().unwrap().as_nanos();
        assert!((1_980..=2_130).contains(&value), "{value}");
        for _ in 0..40_000 {
            p99.add(Duration::from_micros(50));
        }
        let value = p99.value().unwrap().as_nanos();
        assert!((50_000..=53_200).contains(&value), "{value}");
    }
}
