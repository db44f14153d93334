//! Numbers that assertions and claims are about.

mod plain;
mod resampled;
mod samples;
mod sub_reads;
mod words;

use plain::Basis;
pub use plain::Plain;
pub use resampled::quotient;
pub use samples::{FEWEST_SAMPLES, Samples};
pub use sub_reads::{OfDrives, OfHedges};

use crate::values::names;
use array::WriteCacheCounters;
use array::policy::QosClass;
use sim::{LatencySummary, RunResult};
use std::fmt;
use std::str::FromStr;
use units::{Duration, MIB};

/// Reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Reads of the host.
    Read,
    /// Writes of the host.
    Write,
}

/// What is taken of a latency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// A percentile, in per cent.
    Percentile(f64),
    /// A percentile, in per cent, of the slowest of so many requests.
    OfSlowest(u32, f64),
    /// The mean.
    Mean,
    /// The longest.
    Max,
}

impl Statistic {
    /// The number, in nanoseconds.
    fn of(self, summary: &LatencySummary) -> f64 {
        let latency = match self {
            Self::Percentile(percentile) => summary.percentile(percentile),
            Self::OfSlowest(parts, percentile) => summary.slowest_of(parts, percentile),
            Self::Mean => summary.mean(),
            Self::Max => summary.max(),
        };
        latency.as_nanos() as f64
    }
}

/// A number about a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Metric {
    /// A latency, in nanoseconds.
    Latency(Direction, Statistic),
    /// The same of the host of one class.
    OfClass(QosClass, Direction, Statistic),
    /// The latency of the host of one class, as a multiple of that of the host of class high.
    ToHigh(QosClass, Direction, Statistic),
    /// Of the steps from class to class, high to medium and medium to low, how many do not make it
    /// faster: 2 if classes are served by rank.
    RankedClasses(Direction, Statistic),
    /// Requests per second.
    Iops(Direction),
    /// Mebibytes per second.
    Bandwidth(Direction),
    /// Requests.
    Count(Direction),
    /// How many times as late as the median member of a stripe read its last one came (1), or the
    /// one before (2).
    Slowdown(usize, f64),
    /// Stripe reads of which that is more than 2, in per cent.
    Slowed(usize),
    /// Of the stripe reads of which that is so for the last member, those of which it is so for the
    /// one before, too, in per cent.
    SlowedTogether,
    /// Reads of drives, the drives one by one.
    OfDrives(OfDrives, Statistic),
    /// Reads that stall, and how well hedges meet them, in per cent.
    OfHedges(OfHedges),
    /// Stripe reads with exactly (`false`) or at least (`true`) so many busy members, in per cent.
    Busy(usize, bool),
    /// The same with members that were returned busy: failed fast, or sent to a die that collected.
    Returned(usize, bool),
    /// A metric that is one word.
    Plain(Plain),
}

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds, shown as a duration.
    Time,
    /// A share in per cent.
    Percent,
    /// A plain number.
    Number,
}

/// The metrics that are more than a word.
pub const FORMS: &str = "\
Known are read. or write. followed by p50 … p99.999, by the same of the slowest of N (p50of64), or by \
mean, max, iops, mib_per_second or count; high., medium. or low. in front of a latency for the host \
of that class, medium_to_high. or low_to_high. for the quotient of that by the latency of the host of \
class high, and ranked. for the number of classes that are no faster than the class above; busy1, \
busy2plus and so on; returned1, returned2plus and so on (stripe reads in per cent of which that many \
members were failed fast or sent to a die that collected); slowdown1. or slowdown2. followed by p50 … p99.999 (how many times as late as its \
median member the last of a stripe read comes, or the last but one); slowed1 and slowed2 (stripe \
reads in per cent where that is more than 2), slowed_together (the second in per cent of the first); \
stalled_reads (reads in per cent whose die began with them late, by four times a page read or more), \
hedge_precision and hedge_recall (stalled reads in per cent of those that were hedged, and the \
reverse); and worst_drive., other_drives., drives_cv. or queue_correlation. followed by p50 … p99.999 or mean.";

/// The end of the name of a class in the name of a quotient.
const TO_HIGH: &str = "_to_high";

/// A metric that is not known.
#[derive(Debug)]
pub struct UnknownMetric(String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(f, "there is no metric \"{text}\"")?;
        match names::nearest(text, Plain::all().map(Plain::word)) {
            Some(word) => write!(f, "; did you mean {word}? ")?,
            None => f.write_str(". ")?,
        }
        write!(f, "{FORMS} Words: ")?;
        let words: Vec<&str> = Plain::all().map(Plain::word).collect();
        write!(f, "{}. `ioda presets metrics` says what each is.", words.join(", "))
    }
}

impl std::error::Error for UnknownMetric {}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(text.to_owned());
        if let Some(metric) = Plain::find(text) {
            return Ok(Self::Plain(metric));
        }
        if let Some(members) = text.strip_prefix("busy") {
            let (number, or_more) = at_least(members);
            return number.parse().map(|n| Self::Busy(n, or_more)).map_err(|_| unknown());
        }
        if let Some(metric) = sub_reads::parse(text) {
            return Ok(metric);
        }
        let (first, rest) = text.split_once('.').ok_or_else(unknown)?;
        let to_high = first.strip_suffix(TO_HIGH);
        let name = to_high.unwrap_or(first);
        let class = QosClass::ALL.into_iter().find(|class| class.name() == name);
        if class.is_some() || first == "ranked" {
            let Ok(Self::Latency(direction, statistic)) = rest.parse() else {
                return Err(unknown());
            };
            return match (class, to_high) {
                (None, _) => Ok(Self::RankedClasses(direction, statistic)),
                (Some(class), None) => Ok(Self::OfClass(class, direction, statistic)),
                (Some(QosClass::High), Some(_)) => Err(unknown()),
                (Some(class), Some(_)) => Ok(Self::ToHigh(class, direction, statistic)),
            };
        }
        let (direction, statistic) = (first, rest);
        let direction = match direction {
            "read" => Direction::Read,
            "write" => Direction::Write,
            _ => return Err(unknown()),
        };
        match statistic {
            "mean" => Ok(Self::Latency(direction, Statistic::Mean)),
            "max" => Ok(Self::Latency(direction, Statistic::Max)),
            "iops" => Ok(Self::Iops(direction)),
            "mib_per_second" => Ok(Self::Bandwidth(direction)),
            "count" => Ok(Self::Count(direction)),
            percentile => percentile
                .strip_prefix('p')
                .and_then(percentile_word)
                .map(|statistic| Self::Latency(direction, statistic))
                .ok_or_else(unknown),
        }
    }
}

/// The share of stripe reads with exactly `members` members in per cent, or with `or_more` of those
/// with at least `members`. `counts` has the stripe reads with 0, 1, … members.
fn with_members(counts: &[u64], members: usize, or_more: bool) -> f64 {
    let matching = match or_more {
        true => counts.iter().skip(members).sum(),
        false => counts.get(members).copied().unwrap_or(0),
    };
    percent(matching, counts.iter().sum())
}

/// The number of `2` or `2plus`, and whether more count too.
fn at_least(text: &str) -> (&str, bool) {
    text.strip_suffix("plus").map_or((text, false), |number| (number, true))
}

/// `99.9`, or `99.9of64`.
fn percentile_word(word: &str) -> Option<Statistic> {
    let (percentile, parts) = match word.split_once("of") {
        Some((percentile, parts)) => (percentile, Some(parts.parse::<u32>().ok()?)),
        None => (word, None),
    };
    let percentile = percentile.parse().ok().filter(|of| (0.0..=100.0).contains(of))?;
    match parts {
        None => Some(Statistic::Percentile(percentile)),
        Some(parts) => (parts > 0).then_some(Statistic::OfSlowest(parts, percentile)),
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankedClasses(direction, statistic) => {
                write!(f, "ranked.{}", Self::Latency(*direction, *statistic))
            }
            Self::OfClass(class, direction, statistic) => {
                write!(f, "{}.{}", class.name(), Self::Latency(*direction, *statistic))
            }
            Self::ToHigh(class, direction, statistic) => {
                write!(f, "{}{TO_HIGH}.{}", class.name(), Self::Latency(*direction, *statistic))
            }
            Self::Latency(direction, Statistic::Percentile(p)) => write!(f, "{direction}.p{p}"),
            Self::Latency(direction, Statistic::OfSlowest(parts, p)) => {
                write!(f, "{direction}.p{p}of{parts}")
            }
            Self::Latency(direction, Statistic::Mean) => write!(f, "{direction}.mean"),
            Self::Latency(direction, Statistic::Max) => write!(f, "{direction}.max"),
            Self::Iops(direction) => write!(f, "{direction}.iops"),
            Self::Bandwidth(direction) => write!(f, "{direction}.mib_per_second"),
            Self::Count(direction) => write!(f, "{direction}.count"),
            Self::Slowdown(rank, percentile) => write!(f, "slowdown{rank}.p{percentile}"),
            Self::Slowed(rank) => write!(f, "slowed{rank}"),
            Self::SlowedTogether => f.write_str(sub_reads::TOGETHER),
            Self::OfDrives(which, statistic) => {
                let latency = Self::Latency(Direction::Read, *statistic).to_string();
                write!(f, "{}.{}", which.word(), latency.trim_start_matches("read."))
            }
            Self::OfHedges(which) => f.write_str(which.word()),
            Self::Busy(members, false) => write!(f, "busy{members}"),
            Self::Busy(members, true) => write!(f, "busy{members}plus"),
            Self::Returned(members, false) => write!(f, "{}{members}", sub_reads::RETURNED),
            Self::Returned(members, true) => write!(f, "{}{members}plus", sub_reads::RETURNED),
            Self::Plain(metric) => f.write_str(metric.word()),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl Metric {
    /// The number for one run.
    pub fn of(self, result: &RunResult) -> f64 {
        match self {
            Self::Plain(metric) => metric.of(result),
            Self::Latency(direction, statistic) => statistic.of(summary(result, direction)),
            Self::OfClass(class, direction, statistic) => {
                of_class(result, class, direction).map_or(0.0, |summary| statistic.of(summary))
            }
            Self::ToHigh(class, direction, statistic) => {
                let of = |class| Self::OfClass(class, direction, statistic).of(result);
                let high = of(QosClass::High);
                if high > 0.0 { of(class) / high } else { 0.0 }
            }
            Self::Iops(direction) => per_second(result, summary(result, direction).count() as f64),
            Self::Bandwidth(direction) => {
                let bytes = match direction {
                    Direction::Read => result.read_bytes,
                    Direction::Write => result.written_bytes,
                };
                per_second(result, bytes as f64 / MIB as f64)
            }
            Self::Count(direction) => summary(result, direction).count() as f64,
            Self::RankedClasses(direction, statistic) => {
                let of = |class| Self::OfClass(class, direction, statistic).of(result);
                let steps = QosClass::ALL.windows(2);
                steps.filter(|step| of(step[1]) >= of(step[0])).count() as f64
            }
            Self::Slowdown(..)
            | Self::Slowed(_)
            | Self::SlowedTogether
            | Self::OfDrives(..)
            | Self::OfHedges(_)
            | Self::Returned(..) => sub_reads::of(self, result).unwrap_or(0.0),
            Self::Busy(members, or_more) => with_members(&result.busy_members, members, or_more),
        }
    }

    /// Whether its sum over several workloads is the number of all of them together.
    pub fn adds_up(self) -> bool {
        match self {
            Self::Plain(metric) => metric.adds_up(),
            Self::Count(_) => true,
            _ => false,
        }
    }

    /// How the number is written.
    pub fn unit(self) -> Unit {
        match self {
            Self::Plain(metric) => metric.unit(),
            Self::Latency(..)
            | Self::OfClass(..)
            | Self::OfDrives(OfDrives::Worst | OfDrives::Others, _) => Unit::Time,
            Self::Slowed(_)
            | Self::SlowedTogether
            | Self::OfHedges(_)
            | Self::Busy(..)
            | Self::Returned(..) => Unit::Percent,
            Self::Iops(_)
            | Self::Bandwidth(_)
            | Self::Slowdown(..)
            | Self::OfDrives(..)
            | Self::ToHigh(..)
            | Self::RankedClasses(..)
            | Self::Count(_) => Unit::Number,
        }
    }
}

impl Unit {
    /// `value` for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Time => Duration::from_nanos(value as u64).to_string(),
            Self::Percent if value == 0.0 => "0 %".to_owned(),
            Self::Percent if value < 0.01 => format!("{value:.1e} %"),
            Self::Percent => format!("{} %", three_digits(value)),
            Self::Number if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Number => three_digits(value),
        }
    }
}

/// A number with about three significant digits.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn summary(result: &RunResult, direction: Direction) -> &LatencySummary {
    match direction {
        Direction::Read => &result.read,
        Direction::Write => &result.write,
    }
}

/// The latency of the first host of a class; none if no host is of it.
fn of_class(result: &RunResult, class: QosClass, direction: Direction) -> Option<&LatencySummary> {
    let mut hosts = (0..).zip(&result.hosts);
    let (_, host) = hosts.find(|&(host, _)| QosClass::of_host(host) == class)?;
    Some(match direction {
        Direction::Read => &host.read,
        Direction::Write => &host.write,
    })
}

fn write_cache(result: &RunResult) -> WriteCacheCounters {
    result.write_cache.unwrap_or_default()
}

fn commands(result: &RunResult) -> impl Iterator<Item = f64> + Clone {
    result.queues.iter().map(|queue| queue.commands as f64)
}

/// Blocks queued at each drive when it was sent a command, on average over its commands.
fn queued(result: &RunResult) -> impl Iterator<Item = f64> + Clone {
    result.queues.iter().map(|queue| queue.blocks_ahead as f64 / queue.commands.max(1) as f64)
}

fn tally(result: &RunResult, name: &str) -> f64 {
    let tally = result.tallies.iter().find(|tally| tally.name == name);
    tally.map_or(0.0, |tally| tally.count as f64)
}

/// The mean of some numbers; 0 of none.
fn mean(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = numbers.clone().count();
    if count == 0 { 0.0 } else { numbers.sum::<f64>() / count as f64 }
}

/// The coefficient of variation: the standard deviation as a share of the mean; 0 if that is 0.
fn spread(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let mean_of_all = mean(numbers.clone());
    let variance = mean(numbers.map(|number| (number - mean_of_all).powi(2)));
    if mean_of_all == 0.0 { 0.0 } else { variance.sqrt() / mean_of_all }
}

fn per_second(result: &RunResult, amount: f64) -> f64 {
    let seconds = result.simulated.as_secs_f64();
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_read_back() {
        for text in [
            "read.p99.9",
            "write.p50",
            "read.mean",
            "write.max",
            "read.iops",
            "write.count",
            "read.mib_per_second",
            "high.read.p99.9",
            "ranked.read.p99",
            "medium_to_high.read.p99",
            "low_to_high.write.mean",
            "low.write.mean",
            "busy1",
            "busy2plus",
            "slowdown1.p97",
            "slowdown2.p99.9",
            "slowed2",
            "worst_drive.p99",
            "other_drives.mean",
            "drives_cv.p99.9",
            "queue_correlation.p99",
        ] {
            assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
        }
        for metric in Plain::all() {
            assert_eq!(metric.word().parse::<Metric>().unwrap(), Metric::Plain(metric));
        }
        for text in [
            "",
            "p99",
            "read.",
            "read.p101",
            "read.p",
            "busy",
            "busyplus",
            "trim.p99",
            "slowed3",
            "slowdown0.p9",
        ] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_spread_is_the_deviation_as_a_share_of_the_mean() {
        assert_eq!(mean([1.0, 2.0, 6.0].into_iter()), 3.0);
        assert_eq!(spread([2.0, 4.0].into_iter()), 1.0 / 3.0);
        assert_eq!((spread([0.0; 3].into_iter()), spread([7.0; 3].into_iter())), (0.0, 0.0));
        assert_eq!(mean([].into_iter()), 0.0);
    }

    #[test]
    fn numbers_are_shown_for_people() {
        assert_eq!(Unit::Time.show(1_234_567.0), "1.23ms");
        assert_eq!(Unit::Percent.show(0.0), "0 %");
        assert_eq!(Unit::Percent.show(0.0012), "1.2e-3 %");
        assert_eq!(Unit::Percent.show(7.123), "7.12 %");
        assert_eq!(Unit::Number.show(3.0), "3");
        assert_eq!(Unit::Number.show(3.149), "3.15");
    }
}
