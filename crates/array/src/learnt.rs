//! Knowledge of a policy about its drives, for people and for the next start.

use alloc::vec::Vec;

/// Minimum number of samples whose extremes bound the median with 95 %: `1 - 2 / 2^6`.
const FEWEST: usize = 6;
/// Minimum number of stalls by which a trigger is judged.
const FEWEST_TO_JUDGE: usize = 16;

/// An estimated median, and the bounds between which it lies with a probability of 95 %.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate {
    /// Lower bound.
    pub low: u64,
    /// Median of the samples.
    pub median: u64,
    /// Upper bound.
    pub high: u64,
}

impl Estimate {
    /// Estimates a median from independent samples, by order statistics. Sorts them. `None` if
    /// there are fewer than six.
    #[must_use]
    pub fn of(samples: &mut [u64]) -> Option<Self> {
        let count = samples.len();
        if count < FEWEST {
            return None;
        }
        samples.sort_unstable();
        // 0.98 is half of 1.96, the normal quantile of 97.5 %.
        let hundredths = (count as u64 * 10_000).isqrt() * 98 / 100;
        let middle = count as u64 * 50;
        let low = (middle.saturating_sub(hundredths) / 100) as usize;
        let high = ((middle + hundredths).div_ceil(100) as usize).min(count - 1);
        Some(Self { low: samples[low], median: samples[count / 2], high: samples[high] })
    }
}

/// Trigger of the stalls of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StallTrigger {
    /// Neither quantity is regular, or too few stalls were seen.
    #[default]
    Unknown,
    /// Time since the stall before.
    Time,
    /// Blocks written since the stall before.
    Written,
}

impl StallTrigger {
    /// Name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Time => "time",
            Self::Written => "written",
        }
    }
}

/// A stall: reads of a drive that were late together, and what preceded them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stall {
    /// Duration as far as known, in nanoseconds.
    pub length_nanos: u64,
    /// Time from the beginning of the stall before, in nanoseconds.
    pub period_nanos: u64,
    /// Blocks written to the drive in that time.
    pub written_blocks: u64,
}

/// Stalls of a drive, as learnt from its reads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stalls {
    /// Stalls since the start.
    pub count: u64,
    /// Duration of a stall, in nanoseconds; `None` if too few are known.
    pub length_nanos: Option<Estimate>,
    /// Time from the beginning of one stall to that of the next, in nanoseconds.
    pub period_nanos: Option<Estimate>,
    /// Blocks written to the drive in that time.
    pub written_blocks: Option<Estimate>,
    /// Trigger of the stalls.
    pub trigger: StallTrigger,
}

impl Stalls {
    /// Sums up the latest stalls of a drive; `count` is the number of all its stalls.
    #[must_use]
    pub fn of(count: u64, latest: &[Stall]) -> Self {
        let mut lengths: Vec<u64> = latest.iter().map(|stall| stall.length_nanos).collect();
        let mut periods: Vec<u64> = latest.iter().map(|stall| stall.period_nanos).collect();
        let mut written: Vec<u64> = latest.iter().map(|stall| stall.written_blocks).collect();
        let mut stalls = Self {
            count,
            length_nanos: Estimate::of(&mut lengths),
            period_nanos: Estimate::of(&mut periods),
            written_blocks: Estimate::of(&mut written),
            trigger: StallTrigger::Unknown,
        };
        if latest.len() >= FEWEST_TO_JUDGE {
            let (by_time, by_writes) = (spread_percent(&periods), spread_percent(&written));
            stalls.trigger = match by_time.min(by_writes) {
                // Regular means: the interquartile range is at most half of the median.
                51.. => StallTrigger::Unknown,
                _ if by_writes <= by_time => StallTrigger::Written,
                _ => StallTrigger::Time,
            };
        }
        stalls
    }
}

/// Range between the quartiles of sorted samples, in percent of their median.
fn spread_percent(sorted: &[u64]) -> u64 {
    let quarter = sorted.len() / 4;
    let range = sorted[sorted.len() - 1 - quarter] - sorted[quarter];
    let median = u128::from(sorted[sorted.len() / 2]);
    let percent = u128::from(range) * 100 / median.max(1);
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// Operations of one kind that a policy has seen, and the cost of a hedge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OperationClass {
    /// Number of operations; old ones count less.
    pub operations: u32,
    /// Number of reads that a hedge takes.
    pub reads: u32,
}

/// Knowledge of a policy that survives a restart or a change of policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Memory {
    /// Histogram of read latencies as (bucket, count), with 16 buckets per octave of nanoseconds;
    /// counts of 0 are left out.
    pub latencies: Vec<(u32, u32)>,
    /// Operations of the host by the number of answers that they wait for, from 1.
    pub host: Vec<OperationClass>,
    /// Operations for parity, likewise.
    pub parity: Vec<OperationClass>,
    /// The latest stalls of each drive, the oldest first.
    pub drives: Vec<Vec<Stall>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use units::Rng;

    #[test]
    fn five_samples_are_too_few_and_six_are_bounded_by_their_extremes() {
        assert_eq!(Estimate::of(&mut [1, 2, 3, 4, 5]), None);
        let estimate = Estimate::of(&mut [6, 5, 4, 3, 2, 1]);
        assert_eq!(estimate, Some(Estimate { low: 1, median: 4, high: 6 }));
    }

    #[test]
    fn nineteen_of_twenty_bounds_hold_the_median() {
        let mut rng = Rng::stream(1, "estimates");
        for count in [6, 7, 16, 33, 64] {
            let held = (0..2_000).filter(|_| {
                let mut samples: Vec<u64> = (0..count).map(|_| rng.below(1_000_001)).collect();
                let found = Estimate::of(&mut samples);
                found.is_some_and(|found| found.low <= 500_000 && 500_000 <= found.high)
            });
            let held = held.count();
            assert!(held >= 1_880, "{held} of 2000 with {count} samples");
        }
    }

    fn stalls(time: impl Fn(u64) -> u64, written: impl Fn(u64) -> u64) -> Stalls {
        let latest: Vec<Stall> = (0..40)
            .map(|number| Stall {
                length_nanos: 1_000_000,
                period_nanos: time(number),
                written_blocks: written(number),
            })
            .collect();
        Stalls::of(100, &latest)
    }

    #[test]
    fn the_trigger_is_what_is_regular() {
        let regular = |number: u64| 100 + number % 5;
        let irregular = |number: u64| 10 + number * number % 97 * 10;
        assert_eq!(stalls(regular, irregular).trigger, StallTrigger::Time);
        assert_eq!(stalls(irregular, regular).trigger, StallTrigger::Written);
        assert_eq!(stalls(irregular, irregular).trigger, StallTrigger::Unknown);
        let few = vec![Stall { length_nanos: 1, period_nanos: 9, written_blocks: 9 }; 15];
        assert_eq!(Stalls::of(15, &few).trigger, StallTrigger::Unknown);
    }
}
