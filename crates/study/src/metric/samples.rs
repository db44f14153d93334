//! Samples that a number rests on, and whether they are enough to judge it.

use super::{Basis, Direction, Metric, Statistic, of_class, summary};
use array::policy::QosClass;
use sim::{RunResult, percentile_of_each};

/// Fewer samples than this make a percentile or a mean doubtful.
pub const FEWEST_SAMPLES: u64 = 100;

/// Digits of a number of requests that is worked out from a share.
const SIGNIFICANT: u32 = 2;

/// How a statistic uses its samples.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    /// A percentile rests on the samples beyond it: this share of all.
    Beyond(f64),
    /// A mean rests on all of them.
    All,
    /// A maximum is one sample by nature.
    Longest,
}

impl From<Statistic> for Use {
    fn from(statistic: Statistic) -> Self {
        let beyond = |percentile: f64| match 1.0 - percentile / 100.0 {
            share if share > 0.0 => Self::Beyond(share),
            _ => Self::Longest,
        };
        match statistic {
            Statistic::Percentile(percentile) => beyond(percentile),
            Statistic::OfSlowest(parts, percentile) => {
                beyond(percentile_of_each(parts, percentile))
            }
            Statistic::Mean => Self::All,
            Statistic::Max => Self::Longest,
        }
    }
}

/// Samples of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Samples {
    /// What they are, in the plural.
    of: &'static str,
    all: u64,
    used: Use,
}

impl Samples {
    /// Samples that the number rests on.
    pub fn counted(self) -> u64 {
        match self.used {
            // 500 000 × 0.0001 must be 50, not 49.999….
            Use::Beyond(share) => (self.all as f64 * share + 1e-6) as u64,
            Use::All | Use::Longest => self.all,
        }
    }

    /// The fewest of them that are enough.
    pub fn fewest(self) -> u64 {
        match self.used {
            Use::Beyond(_) | Use::All => FEWEST_SAMPLES,
            Use::Longest => 1,
        }
    }

    /// Whether they are enough.
    pub fn are_enough(self) -> bool {
        self.counted() >= self.fewest()
    }

    /// Requests of a run like this one that would be enough; `None` for a run without such samples.
    pub fn requests_needed(self, requests: u64) -> Option<u64> {
        if self.all == 0 {
            return None;
        }
        let samples = match self.used {
            Use::Beyond(share) => self.fewest() as f64 / share,
            Use::All | Use::Longest => self.fewest() as f64,
        };
        Some(rounded_up(samples * requests as f64 / self.all as f64))
    }

    /// That they are few, such as `only 12 of 12900 reads beyond it`.
    pub fn lack_in_words(self) -> String {
        let Self { of, all, used } = self;
        match used {
            _ if all == 0 => format!("the run has no {of}"),
            Use::Beyond(_) => format!("only {} of {all} {of} beyond it", self.counted()),
            Use::All | Use::Longest => format!("only {all} {of} in it"),
        }
    }

    /// The samples that are the smaller share of the number needed.
    fn scarcer(self, other: Self) -> Self {
        let (mine, theirs) = (self.counted() * other.fewest(), other.counted() * self.fewest());
        if theirs < mine { other } else { self }
    }
}

/// `number` with its last digits raised, so that few are left.
fn rounded_up(number: f64) -> u64 {
    // A quotient such as 100 / (1 - 0.9999) is a little above the whole number.
    let whole = (number - 1e-3).ceil().max(1.0) as u64;
    let unit = 10u64.pow((whole.ilog10() + 1).saturating_sub(SIGNIFICANT));
    whole.div_ceil(unit) * unit
}

impl Metric {
    /// The samples that it rests on; none of a count, a share or a sum, which need no hundred.
    pub fn samples(self, result: &RunResult) -> Option<Samples> {
        let of = |direction: Direction, all: u64, statistic: Statistic| {
            let of = match direction {
                Direction::Read => "reads",
                Direction::Write => "writes",
            };
            Samples { of, all, used: statistic.into() }
        };
        let class = |class, direction, statistic| {
            let all = of_class(result, class, direction).map_or(0, sim::LatencySummary::count);
            of(direction, all, statistic)
        };
        match self {
            Self::Latency(direction, statistic) => {
                Some(of(direction, summary(result, direction).count(), statistic))
            }
            Self::OfClass(name, direction, statistic) => Some(class(name, direction, statistic)),
            Self::ToHigh(name, direction, statistic) => {
                let both = [name, QosClass::High].map(|name| class(name, direction, statistic));
                both.into_iter().reduce(Samples::scarcer)
            }
            Self::RankedClasses(direction, statistic) => {
                let each = QosClass::ALL.map(|name| class(name, direction, statistic));
                each.into_iter().reduce(Samples::scarcer)
            }
            Self::Slowdown(_, percentile) => {
                let all = result.sub_reads.as_ref()?.count();
                let used = Statistic::Percentile(percentile).into();
                Some(Samples { of: "reads of stripes", all, used })
            }
            Self::OfDrives(_, statistic) => {
                let drives = result.sub_reads.as_ref()?.drives.iter();
                let all = drives.map(sim::LatencySummary::count).min()?;
                Some(Samples { of: "reads of a drive", all, used: statistic.into() })
            }
            Self::Plain(metric) if metric.basis() == Basis::Collections => {
                let all = result.drive_totals().collections;
                Some(Samples { of: "collections", all, used: Use::All })
            }
            _ => None,
        }
    }

    /// Requests beyond the percentile, if this is one: few of them make it doubtful.
    pub fn samples_beyond(self, result: &RunResult) -> Option<u64> {
        let samples = match self {
            Self::Latency(..) | Self::OfClass(..) => self.samples(result)?,
            _ => return None,
        };
        matches!(samples.used, Use::Beyond(_)).then(|| samples.counted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(all: u64, statistic: Statistic) -> Samples {
        Samples { of: "reads", all, used: statistic.into() }
    }

    #[test]
    fn a_percentile_needs_a_hundred_samples_beyond_it() {
        let p999 = |all| samples(all, Statistic::Percentile(99.9));
        assert_eq!((p999(99_999).counted(), p999(99_999).are_enough()), (99, false));
        assert_eq!((p999(100_000).counted(), p999(100_000).are_enough()), (100, true));
        assert_eq!(p999(12_900).requests_needed(20_000), Some(160_000));
        assert_eq!(p999(100_000).requests_needed(100_000), Some(100_000));
        assert_eq!(samples(9, Statistic::Percentile(99.99)).requests_needed(9), Some(1_000_000));
        assert_eq!(samples(150, Statistic::Percentile(50.0)).requests_needed(150), Some(200));
        // Of 64 parts the slowest is beyond its median where one is beyond p98.9.
        let fan_out = |all| samples(all, Statistic::OfSlowest(64, 50.0));
        assert!(!fan_out(9_000).are_enough() && fan_out(10_000).are_enough());
    }

    #[test]
    fn a_mean_needs_a_hundred_and_a_maximum_one() {
        assert!(!samples(99, Statistic::Mean).are_enough());
        assert!(samples(100, Statistic::Mean).are_enough());
        assert_eq!(samples(50, Statistic::Mean).requests_needed(500), Some(1_000));
        for longest in [Statistic::Max, Statistic::Percentile(100.0)] {
            assert!(samples(1, longest).are_enough() && !samples(0, longest).are_enough());
        }
        assert_eq!(samples(0, Statistic::Max).requests_needed(500), None);
        assert_eq!(samples(0, Statistic::Mean).lack_in_words(), "the run has no reads");
    }

    #[test]
    fn numbers_of_requests_have_few_digits() {
        for (number, rounded) in [(0.2, 1), (99.0, 99), (101.0, 110), (155_039.0, 160_000)] {
            assert_eq!(rounded_up(number), rounded);
        }
    }
}
