//! Numbers about runs of the laboratory.

use crate::metric::three_digits;
use report::lab::{LabMeasured, PERCENTILES, Second};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use units::Duration;

/// Whose latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Operations of the application.
    Own,
    /// Reads of the array.
    Array,
}

/// A number about a run of the laboratory. Latencies are in nanoseconds, as those of simulated runs
/// are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LabNumber {
    /// How long the application ran, in seconds.
    Seconds,
    /// Operations per second.
    Rate,
    /// The mean latency.
    Mean(Whose),
    /// One of `PERCENTILES` of the latency.
    Percentile(Whose, usize),
    /// Reads that the array was sent.
    Reads,
    /// Writes that the array was sent.
    Writes,
    /// Reads of stripes that met a collection.
    Met,
    /// The same in per cent of all reads of stripes.
    MetPercent,
    /// Processor time of the application, in seconds.
    Processor,
    /// The largest p99 of any second.
    WorstSecond,
    /// The largest p99 of any second in which nothing was done to the array.
    SettledSecond,
    /// The longest latency of all seconds.
    Longest,
}

impl LabNumber {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Seconds, Self::Rate];
        for whose in [Whose::Own, Whose::Array] {
            all.push(Self::Mean(whose));
            all.extend((0..PERCENTILES.len()).map(|index| Self::Percentile(whose, index)));
        }
        all.extend([Self::Reads, Self::Writes, Self::Met, Self::MetPercent, Self::Processor]);
        all.extend([Self::WorstSecond, Self::SettledSecond, Self::Longest]);
        all
    }

    /// The number of a run; none if it was not measured.
    pub fn of(self, run: &LabMeasured) -> Option<f64> {
        let percentile = |all: &Option<BTreeMap<String, f64>>, index: usize| {
            all.as_ref()?.get(*PERCENTILES.get(index)?).copied()
        };
        let nanoseconds = |us: f64| us * 1e3;
        let worst = |of: fn(&Second) -> Option<f64>| {
            run.seconds_of_it().iter().filter_map(of).max_by(f64::total_cmp).map(nanoseconds)
        };
        match self {
            Self::Seconds => Some(run.seconds),
            Self::Rate => run.operations_per_second,
            Self::Mean(Whose::Own) => run.mean_us.map(nanoseconds),
            Self::Mean(Whose::Array) => run.array.mean_us.map(nanoseconds),
            Self::Percentile(Whose::Own, index) => {
                percentile(&run.percentiles_us, index).map(nanoseconds)
            }
            Self::Percentile(Whose::Array, index) => {
                percentile(&run.array.percentiles_us, index).map(nanoseconds)
            }
            Self::Reads => Some(run.array.reads as f64),
            Self::Writes => Some(run.array.writes as f64),
            Self::Met => Some(run.array.met as f64),
            Self::MetPercent => {
                let reads = run.array.stripe_reads;
                (reads > 0).then(|| run.array.met as f64 * 100.0 / reads as f64)
            }
            Self::Processor => run.processor.as_ref().map(|processor| processor.seconds),
            Self::WorstSecond => worst(|second| second.p99_us),
            Self::SettledSecond => worst(|second| second.p99_us.filter(|_| second.event.is_none())),
            Self::Longest => worst(|second| second.max_us),
        }
    }

    /// How many samples lie beyond it, if it is a percentile. Of an application it is the most that
    /// it can be: some time only a part of their operations.
    pub fn samples_beyond(self, run: &LabMeasured) -> Option<u64> {
        let Self::Percentile(whose, index) = self else { return None };
        self.of(run)?;
        let percent: f64 = PERCENTILES.get(index)?.parse().ok()?;
        let count = match whose {
            Whose::Own => run.operations,
            Whose::Array => run.array.reads,
        };
        // Rounded down, so that a tenth of a sample is none; the rest of a division is no part of a
        // sample.
        Some((count as f64 * (100.0 - percent) / 100.0 + 1e-6) as u64)
    }

    /// Whether it is a latency, in nanoseconds.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Self::Mean(_)
                | Self::Percentile(..)
                | Self::WorstSecond
                | Self::SettledSecond
                | Self::Longest
        )
    }

    /// Whether its sum over several applications is the number of all of them together.
    pub fn adds_up(self) -> bool {
        matches!(self, Self::Seconds | Self::Reads | Self::Writes | Self::Met | Self::Processor)
    }

    /// `value` for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Seconds | Self::Processor => {
                Duration::from_nanos((value * 1e9) as u64).to_string()
            }
            _ if self.is_latency() => Duration::from_nanos(value as u64).to_string(),
            _ if value.fract() == 0.0 => format!("{value:.0}"),
            _ => three_digits(value),
        }
    }
}

impl fmt::Display for LabNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |whose: &Whose| match whose {
            Whose::Own => "own",
            Whose::Array => "array",
        };
        match self {
            Self::Seconds => f.write_str("seconds"),
            Self::Rate => f.write_str("operations_per_second"),
            Self::Mean(whose) => write!(f, "{}.mean", name(whose)),
            Self::Percentile(whose, index) => {
                write!(f, "{}.p{}", name(whose), PERCENTILES.get(*index).unwrap_or(&""))
            }
            Self::Reads => f.write_str("array.reads"),
            Self::Writes => f.write_str("array.writes"),
            Self::Met => f.write_str("array.met"),
            Self::MetPercent => f.write_str("array.met_percent"),
            Self::Processor => f.write_str("processor.seconds"),
            Self::WorstSecond => f.write_str("worst_second.p99"),
            Self::SettledSecond => f.write_str("settled_second.p99"),
            Self::Longest => f.write_str("worst_second.max"),
        }
    }
}

impl FromStr for LabNumber {
    /// Whoever reads it knows other numbers as well, and says what there is.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::all().into_iter().find(|number| number.to_string() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::lab::ArrayMeasured;

    fn percentiles(us: [f64; 5]) -> Option<BTreeMap<String, f64>> {
        Some(PERCENTILES.iter().map(|name| (*name).to_owned()).zip(us).collect())
    }

    fn run() -> LabMeasured {
        let second = |second, operations, p99_us| Second {
            second,
            operations,
            p99_us,
            max_us: p99_us.map(|us: f64| us * 2.0),
            ..Second::default()
        };
        LabMeasured {
            seconds: 12.5,
            operations: 250_000,
            operations_per_second: Some(20_000.0),
            mean_us: Some(80.0),
            percentiles_us: percentiles([50.0, 95.0, 99.0, 999.0, 9999.0]),
            array: ArrayMeasured {
                reads: 900,
                writes: 7,
                stripe_reads: 1000,
                met: 100,
                ..ArrayMeasured::default()
            },
            timeline: Some(vec![
                second(0, 5, Some(10.0)),
                second(1, 0, None),
                second(2, 9, Some(70.0)),
                second(3, 5, Some(30.0)),
            ]),
            ..LabMeasured::default()
        }
    }

    fn of(name: &str, run: &LabMeasured) -> Option<f64> {
        name.parse::<LabNumber>().unwrap().of(run)
    }

    #[test]
    fn numbers_are_found_by_their_names() {
        let run = run();
        assert_eq!(of("seconds", &run), Some(12.5));
        assert_eq!(of("operations_per_second", &run), Some(20_000.0));
        assert_eq!((of("own.mean", &run), of("own.p99.9", &run)), (Some(80e3), Some(999e3)));
        assert_eq!((of("array.reads", &run), of("array.writes", &run)), (Some(900.0), Some(7.0)));
        assert_eq!((of("array.mean", &run), of("array.p50", &run)), (None, None));
        assert_eq!(
            (of("array.met", &run), of("array.met_percent", &run)),
            (Some(100.0), Some(10.0))
        );
        assert_eq!(of("processor.seconds", &run), None);
        assert_eq!(
            (of("worst_second.p99", &run), of("worst_second.max", &run)),
            (Some(70e3), Some(140e3))
        );
        let mut eventful = run.clone();
        for second in eventful.timeline.iter_mut().flatten().filter(|second| second.second == 2) {
            second.event = Some("a drive is slow".to_owned());
        }
        assert_eq!(
            (of("settled_second.p99", &run), of("settled_second.p99", &eventful)),
            (Some(70e3), Some(30e3))
        );
        let short = LabMeasured::default();
        assert_eq!((of("worst_second.p99", &short), of("worst_second.max", &short)), (None, None));
        for number in LabNumber::all() {
            assert_eq!(number.to_string().parse(), Ok(number));
        }
        assert_eq!("own.p98".parse::<LabNumber>(), Err(()));
    }

    #[test]
    fn few_samples_beyond_a_percentile_are_counted() {
        let beyond = |name: &str| name.parse::<LabNumber>().unwrap().samples_beyond(&run());
        assert_eq!((beyond("own.p99.99"), beyond("own.p50")), (Some(25), Some(125_000)));
        assert_eq!((beyond("own.p99.9"), beyond("own.mean")), (Some(250), None));
        assert_eq!(beyond("array.p99"), None, "it was not measured");
    }

    #[test]
    fn numbers_are_shown_with_their_units() {
        let show = |name: &str, value| name.parse::<LabNumber>().unwrap().show(value);
        assert_eq!(show("seconds", 12.5), "12.5s");
        assert_eq!(show("own.p99", 1_234_000.0), "1.23ms");
        assert_eq!(
            (show("array.reads", 7.0), show("operations_per_second", 7.25)),
            ("7".into(), "7.25".into())
        );
    }
}
