//! Numbers that assertions and claims are about.

mod resampled;
mod samples;
mod sub_reads;
mod words;

pub(crate) use resampled::quotient;
pub(crate) use samples::{FEWEST_SAMPLES, Samples};
pub(crate) use sub_reads::OfDrives;

use array::WriteCacheCounters;
use array::policy::QosClass;
use sim::{BlockedReads, LatencySummary, RunResult};
use std::fmt;
use std::str::FromStr;
use units::{Duration, GIB, MIB};

/// Reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// Reads of the host.
    Read,
    /// Writes of the host.
    Write,
}

/// What is taken of a latency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Statistic {
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
pub(crate) enum Metric {
    /// A latency, in nanoseconds.
    Latency(Direction, Statistic),
    /// The same of the host of one class.
    OfClass(QosClass, Direction, Statistic),
    /// Of the steps from class to class, high to medium and medium to low, how many do not make it
    /// faster: 2 if classes are served by rank.
    RankedClasses(Direction, Statistic),
    /// Requests that the policy held back.
    HeldBack,
    /// Requests per second.
    Iops(Direction),
    /// Mebibytes per second.
    Bandwidth(Direction),
    /// Requests.
    Count(Direction),
    /// Gibibytes that the host can use.
    Capacity,
    /// Reads that waited because of collections, in per cent.
    Blocked,
    /// Reads that waited for a collection itself, in per cent.
    CollectionBlocked,
    /// Other reads that waited for I/O which a collection had held up, in per cent.
    QueueBlocked,
    /// Collections in predictable windows.
    Violations,
    /// Pages programmed per page that the array wrote to its drives.
    Waf,
    /// Collections of a block or a line, on all drives.
    Collections,
    /// Blocks erased on all drives.
    Erases,
    /// Programs and erases that were interrupted for reads.
    Suspensions,
    /// Pages programmed on flash for the host.
    HostPrograms,
    /// Parity pages programmed within the drives.
    ParityPrograms,
    /// Pages that collections programmed.
    CollectionPrograms,
    /// Pages of the host that drives computed from the rest of their stripe.
    RebuiltPages,
    /// Pages that drives read for that beyond what the host asked for.
    RebuildReads,
    /// Collections that began although another die of their plane group collected.
    Breaches,
    /// Stripes that were moved to even out wear.
    MovedStripes,
    /// Copies past error correction that drives checked in idle time.
    Scrubbed,
    /// Pages of the host that drives programmed into a cache of SLC blocks.
    SlcPages,
    /// Pages that drives moved out of it.
    Folded,
    /// Free blocks at the end on the drive that has fewest, in per cent.
    Free,
    /// The fewest free blocks that any drive had at any time, in per cent.
    LeastFree,
    /// Pages of host writes that had to wait for space on their drive.
    Stalled,
    /// Stripe operations that used reconstructed pages.
    Rebuilds,
    /// Reads made for rebuilding, in per cent of the reads that were needed anyway.
    ExtraReads,
    /// Reads that drives failed fast, in per cent of all reads sent to drives.
    FailFasts,
    /// Pages that coordinated flushes programmed outside of busy windows.
    ForcedFlushes,
    /// The busy window at the end, in nanoseconds; 0 without one.
    Window,
    /// How often the busy window changed.
    WindowChanges,
    /// Leases granted, extended or taken back.
    Permits,
    /// Pages read from drives.
    DeviceReads,
    /// Late reads that were reconstructed as well.
    Hedges,
    /// What all reads and writes took, added up, in nanoseconds.
    TotalLatency,
    /// The mean time of a collection, in nanoseconds.
    CollectionTime,
    /// What the policy took that to be, in nanoseconds; 0 if it did not reckon with any.
    ExpectedCollection,
    /// That expectation, in per cent of the mean time of a collection.
    CollectionEstimate,
    /// Coefficient of variation of the collections over the drives.
    CollectionsSpread,
    /// Commands that a drive was sent, on average.
    DriveCommands,
    /// Their coefficient of variation over the drives.
    CommandsSpread,
    /// Blocks that were queued at a drive when it was sent a command, on average over the drives.
    Queued,
    /// Their coefficient of variation over the drives.
    QueuedSpread,
    /// Sub-I/Os that were reconstructed without being sent.
    DegradedReads,
    /// Pages that writes took to another drive.
    DegradedUpdates,
    /// Bytes of the map to pages that were moved, when it was largest.
    MapBytes,
    /// How often the policy evaluated its model.
    Evaluations,
    /// Times that a stripe showed more busy members than it has parities.
    Overloads,
    /// Most that the write cache held, in mebibytes.
    WriteCachePeak,
    /// Most that the write buffer of a drive held or kept waiting, in mebibytes.
    BufferPeak,
    /// Writes that waited for room there.
    WriteCacheWaits,
    /// Pages of reads that were answered from there.
    WriteCacheReads,
    /// Pages drained from there to drives.
    DrainedPages,
    /// Pages of writes that went there instead of straight to their drive, in per cent.
    Staged,
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
    /// Stripe reads with exactly (`false`) or at least (`true`) so many busy members, in per cent.
    Busy(usize, bool),
}

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// Nanoseconds, shown as a duration.
    Time,
    /// A share in per cent.
    Percent,
    /// A plain number.
    Number,
}

/// A metric that is not known.
#[derive(Debug)]
pub(crate) struct UnknownMetric(String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no metric \"{}\"; known are read. or write. followed by p50 … p99.999, \
             the same of the slowest of so many (p50of64), mean, max, iops, mib_per_second or count, the latencies of one host with high., \
             medium. or low. in front, how many classes are no faster than the one above with \
             ranked. in front, and held_back, capacity_gib, blocked, \
             collection_blocked, queue_blocked, violations, waf, collections, erases, suspensions, \
             host_programs, parity_programs, collection_programs, rebuilt_pages, rebuild_reads, \
             rotation_breaches, moved_stripes, scrubbed_pages, slc_pages, folded_pages, \
             free_blocks, least_free_blocks, stalled, rebuilds, extra_reads, fail_fasts, forced_flushes, window, window_changes, \
             permits, overloads, total_latency, collection_time, expected_collection, \
             collection_estimate, collections_cv, drive_commands, drive_commands_cv, \
             queued_blocks, queued_blocks_cv, degraded_reads, degraded_updates, map_bytes, \
             model_evaluations, host_buffer_peak_mib, drive_buffer_peak_mib, stage_waits, stage_reads, drained_pages, staged, \
             busy1, busy2 and so on, busy2plus and so on, slowdown1. or slowdown2. followed by p50 … p99.999 \
             (how many times as late as its median member the last of a stripe read comes, or the last but one), \
             slowed with 1 or 2 (stripe reads in per cent where that is more than 2) or with _together (the second \
             in per cent of the first), and worst_drive., \
             other_drives., drives_cv. or queue_correlation. followed by p50 … p99.999 or mean",
            self.0
        )
    }
}

impl std::error::Error for UnknownMetric {}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric(text.to_owned());
        if let Some(&(_, metric)) = words::PLAIN.iter().find(|(word, _)| *word == text) {
            return Ok(metric);
        }
        if let Some(members) = text.strip_prefix("busy") {
            let (number, or_more) =
                members.strip_suffix("plus").map_or((members, false), |number| (number, true));
            return number.parse().map(|n| Self::Busy(n, or_more)).map_err(|_| unknown());
        }
        if let Some(metric) = sub_reads::parse(text) {
            return Ok(metric);
        }
        let (first, rest) = text.split_once('.').ok_or_else(unknown)?;
        let class = QosClass::ALL.into_iter().find(|class| class.name() == first);
        if class.is_some() || first == "ranked" {
            let Ok(Self::Latency(direction, statistic)) = rest.parse() else {
                return Err(unknown());
            };
            return Ok(match class {
                Some(class) => Self::OfClass(class, direction, statistic),
                None => Self::RankedClasses(direction, statistic),
            });
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
            Self::Busy(members, false) => write!(f, "busy{members}"),
            Self::Busy(members, true) => write!(f, "busy{members}plus"),
            plain => f.write_str(plain.word()),
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
    pub(crate) fn of(self, result: &RunResult) -> f64 {
        let array = &result.array;
        match self {
            Self::Latency(direction, statistic) => statistic.of(summary(result, direction)),
            Self::OfClass(class, direction, statistic) => {
                of_class(result, class, direction).map_or(0.0, |summary| statistic.of(summary))
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
            Self::Capacity => result.capacity_bytes as f64 / GIB as f64,
            Self::Blocked => {
                let BlockedReads { by_collection, by_queue } = result.blocked_reads;
                percent(by_collection + by_queue, result.read.count())
            }
            Self::CollectionBlocked => {
                percent(result.blocked_reads.by_collection, result.read.count())
            }
            Self::QueueBlocked => percent(result.blocked_reads.by_queue, result.read.count()),
            Self::Erases => result.drive_totals().erases as f64,
            Self::Suspensions => result.drive_totals().suspensions as f64,
            Self::HostPrograms => result.drive_totals().host_programs_pages as f64,
            Self::ParityPrograms => result.drive_totals().parity_programs_pages as f64,
            Self::CollectionPrograms => result.drive_totals().collection_programs_pages as f64,
            Self::RebuiltPages => result.drive_totals().rebuilt_pages as f64,
            Self::RebuildReads => result.drive_totals().rebuild_reads_pages as f64,
            Self::Breaches => result.drive_totals().rotation_breaches as f64,
            Self::MovedStripes => result.drive_totals().moved_stripes as f64,
            Self::Scrubbed => result.drive_totals().scrubbed_pages as f64,
            Self::SlcPages => result.drive_totals().slc_programs_pages as f64,
            Self::Folded => result.drive_totals().folded_pages as f64,
            Self::Free => 100.0 * result.free_share(),
            Self::LeastFree => 100.0 * result.least_free_share(),
            Self::Violations => result.drive_totals().contract_violations as f64,
            Self::Waf => result.drive_totals().write_amplification(),
            Self::Collections => result.drive_totals().collections as f64,
            Self::Stalled => result.drive_totals().stalled_writes_pages as f64,
            Self::Rebuilds => array.reconstructions as f64,
            Self::ExtraReads => {
                let needed = array.drive_read_pages.saturating_sub(array.reconstruct_read_pages);
                percent(array.reconstruct_read_pages, needed)
            }
            Self::FailFasts => percent(array.fail_fasts, array.drive_read_pages),
            Self::ForcedFlushes => result.drive_totals().forced_flushes_pages as f64,
            Self::Window => result.window().map_or(0.0, |window| window.as_nanos() as f64),
            Self::WindowChanges => result.windows.len().saturating_sub(1) as f64,
            Self::Permits => result.permits as f64,
            Self::DeviceReads => array.drive_read_pages as f64,
            Self::Hedges => array.hedges as f64,
            Self::TotalLatency => result.total_latency().as_nanos() as f64,
            Self::CollectionTime => result.mean_collection().as_nanos() as f64,
            Self::ExpectedCollection => {
                result.expected_collection.map_or(0.0, |time| time.as_nanos() as f64)
            }
            Self::CollectionEstimate => {
                let expected = result.expected_collection.map_or(0, Duration::as_nanos);
                percent(expected, result.mean_collection().as_nanos())
            }
            Self::CollectionsSpread => {
                spread(result.drives.iter().map(|drive| drive.counters.collections as f64))
            }
            Self::DriveCommands => mean(commands(result)),
            Self::CommandsSpread => spread(commands(result)),
            Self::Queued => mean(queued(result)),
            Self::QueuedSpread => spread(queued(result)),
            Self::DegradedReads => array.avoided as f64,
            Self::DegradedUpdates => array.relocated_chunks as f64,
            Self::MapBytes => result.map_bytes as f64,
            Self::Evaluations => tally(result, "evaluations of the model"),
            Self::Overloads => array.resubmitted as f64,
            Self::WriteCachePeak => write_cache(result).peak_bytes as f64 / MIB as f64,
            Self::BufferPeak => result.buffer_peak_bytes() as f64 / MIB as f64,
            Self::RankedClasses(direction, statistic) => {
                let of = |class| Self::OfClass(class, direction, statistic).of(result);
                let steps = QosClass::ALL.windows(2);
                steps.filter(|step| of(step[1]) >= of(step[0])).count() as f64
            }
            Self::HeldBack => array.held_back as f64,
            Self::WriteCacheWaits => write_cache(result).waits as f64,
            Self::WriteCacheReads => write_cache(result).read_pages as f64,
            Self::DrainedPages => write_cache(result).drained_pages as f64,
            Self::Staged => {
                let WriteCacheCounters { cached_pages, bypassed_pages, .. } = write_cache(result);
                percent(cached_pages, cached_pages + bypassed_pages)
            }
            Self::Slowdown(..) | Self::Slowed(_) | Self::SlowedTogether | Self::OfDrives(..) => {
                sub_reads::of(self, result).unwrap_or(0.0)
            }
            Self::Busy(members, or_more) => {
                let counts = &result.busy_members;
                let matching = match or_more {
                    true => counts.iter().skip(members).sum(),
                    false => counts.get(members).copied().unwrap_or(0),
                };
                percent(matching, counts.iter().sum())
            }
        }
    }

    /// Whether its sum over several workloads is the number of all of them together.
    pub(crate) fn adds_up(self) -> bool {
        match self {
            Self::TotalLatency => true,
            Self::Capacity
            | Self::Waf
            | Self::CollectionsSpread
            | Self::DriveCommands
            | Self::CommandsSpread
            | Self::Queued
            | Self::QueuedSpread
            | Self::WriteCachePeak
            | Self::BufferPeak
            | Self::MapBytes
            | Self::RankedClasses(..)
            | Self::Iops(_)
            | Self::Slowdown(..)
            | Self::OfDrives(..)
            | Self::Bandwidth(_) => false,
            counted => counted.unit() == Unit::Number,
        }
    }

    /// How the number is written.
    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Latency(..)
            | Self::OfClass(..)
            | Self::OfDrives(OfDrives::Worst | OfDrives::Others, _)
            | Self::Window
            | Self::TotalLatency
            | Self::CollectionTime
            | Self::ExpectedCollection => Unit::Time,
            Self::ExtraReads
            | Self::FailFasts
            | Self::Blocked
            | Self::CollectionBlocked
            | Self::QueueBlocked
            | Self::Free
            | Self::LeastFree
            | Self::CollectionEstimate
            | Self::Slowed(_)
            | Self::SlowedTogether
            | Self::Staged
            | Self::Busy(..) => Unit::Percent,
            Self::Iops(_)
            | Self::Bandwidth(_)
            | Self::Slowdown(..)
            | Self::OfDrives(..)
            | Self::Capacity
            | Self::Erases
            | Self::Suspensions
            | Self::HostPrograms
            | Self::ParityPrograms
            | Self::CollectionPrograms
            | Self::RebuiltPages
            | Self::RebuildReads
            | Self::Breaches
            | Self::MovedStripes
            | Self::Scrubbed
            | Self::SlcPages
            | Self::Folded
            | Self::Count(_)
            | Self::Violations
            | Self::Waf
            | Self::Collections
            | Self::Stalled
            | Self::Rebuilds
            | Self::ForcedFlushes
            | Self::WindowChanges
            | Self::Permits
            | Self::DeviceReads
            | Self::Hedges
            | Self::CollectionsSpread
            | Self::DriveCommands
            | Self::CommandsSpread
            | Self::Queued
            | Self::QueuedSpread
            | Self::DegradedReads
            | Self::DegradedUpdates
            | Self::MapBytes
            | Self::Evaluations
            | Self::Overloads
            | Self::WriteCachePeak
            | Self::BufferPeak
            | Self::RankedClasses(..)
            | Self::HeldBack
            | Self::WriteCacheWaits
            | Self::WriteCacheReads
            | Self::DrainedPages => Unit::Number,
        }
    }
}

impl Unit {
    /// `value` for people.
    pub(crate) fn show(self, value: f64) -> String {
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
pub(crate) fn three_digits(value: f64) -> String {
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
            "capacity_gib",
            "blocked",
            "collection_blocked",
            "queue_blocked",
            "erases",
            "suspensions",
            "host_programs",
            "parity_programs",
            "collection_programs",
            "rebuilt_pages",
            "rebuild_reads",
            "rotation_breaches",
            "moved_stripes",
            "scrubbed_pages",
            "slc_pages",
            "folded_pages",
            "free_blocks",
            "least_free_blocks",
            "violations",
            "waf",
            "collections",
            "stalled",
            "rebuilds",
            "extra_reads",
            "fail_fasts",
            "forced_flushes",
            "window",
            "window_changes",
            "permits",
            "device_reads",
            "hedges",
            "total_latency",
            "collection_time",
            "expected_collection",
            "collection_estimate",
            "collections_cv",
            "drive_commands",
            "drive_commands_cv",
            "queued_blocks",
            "queued_blocks_cv",
            "degraded_reads",
            "degraded_updates",
            "map_bytes",
            "model_evaluations",
            "overloads",
            "host_buffer_peak_mib",
            "held_back",
            "high.read.p99.9",
            "ranked.read.p99",
            "low.write.mean",
            "stage_waits",
            "stage_reads",
            "drained_pages",
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
