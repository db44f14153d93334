//! The metrics that are kept of every run.

use super::{Direction, Metric, Plain, Statistic, of_class, summary};
use array::policy::QosClass;
use sim::{PERCENTILES, RunResult};

/// Most members of a stripe of which it is kept how often so many were busy.
const BUSY: usize = 4;

impl Metric {
    /// The metrics that are worth keeping of any run: all that have a word, and latencies at the
    /// usual percentiles.
    pub fn standard() -> Vec<Self> {
        let percentiles = PERCENTILES.map(Statistic::Percentile);
        let statistics = || percentiles.into_iter().chain([Statistic::Mean, Statistic::Max]);
        let mut all = Vec::new();
        for direction in [Direction::Read, Direction::Write] {
            all.extend(statistics().map(|statistic| Self::Latency(direction, statistic)));
            all.extend([Self::Iops(direction), Self::Bandwidth(direction), Self::Count(direction)]);
            for class in QosClass::ALL {
                let of_class = |statistic| Self::OfClass(class, direction, statistic);
                all.extend(statistics().map(of_class));
                let to_high = |statistic| Self::ToHigh(class, direction, statistic);
                if class != QosClass::High {
                    all.extend(statistics().map(to_high));
                }
            }
            all.extend(statistics().map(|statistic| Self::RankedClasses(direction, statistic)));
        }
        all.extend(Plain::all().map(Self::Plain));
        for members in 1..=BUSY {
            all.extend([Self::Busy(members, false), Self::Busy(members, true)]);
        }
        all
    }

    /// Whether it is a latency of requests that `result` has none of.
    pub fn is_of_nothing(self, result: &RunResult) -> bool {
        let has = |class, direction| {
            of_class(result, class, direction).is_some_and(|summary| summary.count() > 0)
        };
        match self {
            Self::Latency(direction, _) => summary(result, direction).count() == 0,
            Self::OfClass(class, direction, _) => !has(class, direction),
            Self::ToHigh(class, direction, _) => {
                !has(class, direction) || !has(QosClass::High, direction)
            }
            Self::RankedClasses(direction, _) => {
                !QosClass::ALL.into_iter().all(|class| has(class, direction))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::UnknownMetric;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_that_the_refusal_lists_is_standard() {
        let standard: BTreeSet<String> =
            Metric::standard().iter().map(ToString::to_string).collect();
        assert_eq!(standard.len(), Metric::standard().len(), "each has a name of its own");
        let refusal = UnknownMetric(String::new()).to_string();
        let (_, words) = refusal.split_once("Words: ").unwrap();
        let words = words.split([' ', ',', '.']).filter(|word| word.parse::<Metric>().is_ok());
        let mut count = 0;
        for word in words {
            assert!(standard.contains(word), "{word}");
            count += 1;
        }
        assert!(count > 40, "{count} words in {refusal}");
        for name in &standard {
            assert_eq!(
                name.parse::<Metric>().map(|metric| metric.to_string()).ok().as_ref(),
                Some(name)
            );
        }
    }
}
