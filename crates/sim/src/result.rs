//! The result of a run.

use crate::causes::CauseBuckets;
use crate::degraded::Degraded;
use crate::driver::PROGRESS_STEP;
use crate::free_space::FreeSpaceTrend;
use crate::intervals::Blocks;
use crate::latency::LatencySummary;
use crate::sub_reads::SubReads;
use crate::timeline::Timeline;
use array::Queue;
use array::policy::{PolicyKind, Tally};
use units::{DriveId, Duration, Instant};

/// One drive after a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DriveResult {
    /// Totals of the drive.
    pub counters: ssd::Counters,
    /// The first collections that broke the window contract, in order of time.
    pub violations: Vec<ssd::Violation>,
    /// Share of its blocks that were free at the end.
    pub free_share: f64,
    /// Most bytes that were in its write buffer, or waited for room there, at once; 0 without a
    /// buffer.
    pub buffer_peak_bytes: u64,
    /// Capacity of its write buffer, in bytes; 0 without a buffer.
    pub buffer_bytes: u64,
}

/// Reads of the host that waited because of collections (TTFLASH §6.1 and Figure 7). Each read is
/// counted once, by the worst of its parts. A read that was reconstructed in time is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockedReads {
    /// Reads that waited for a collection itself.
    pub by_collection: u64,
    /// Other reads, which waited for I/O of the host that a collection had delayed.
    pub by_queue: u64,
}

/// Latency of one of several hosts.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HostLatency {
    /// Its reads, from the intended arrival.
    pub read: LatencySummary,
    /// Its writes, from the intended arrival.
    pub write: LatencySummary,
}

/// Result of one run.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunResult {
    /// The policy.
    pub policy: PolicyKind,
    /// Hash, equal for the same plan, workload and seed, on every machine and number of threads.
    pub hash: u64,
    /// Requests taken from the workload; all of them were completed.
    pub requests: u64,
    /// Simulated time from the start to the last completion.
    pub simulated: Duration,
    /// Times at which each further 4096 requests were done.
    pub pace: Vec<Instant>,
    /// Processor time of the run, on a real clock.
    pub wall: std::time::Duration,
    /// Read latency, from the intended arrival.
    pub read: LatencySummary,
    /// Write latency, from the intended arrival.
    pub write: LatencySummary,
    /// Latencies by blocks of time, if the plan asks for intervals.
    pub blocks: Option<Blocks>,
    /// The reads of the drives, if the plan asks for them.
    pub sub_reads: Option<SubReads>,
    /// Latencies by host; empty if there was only one.
    pub hosts: Vec<HostLatency>,
    /// Capacity of the array for the host, in bytes.
    pub capacity_bytes: u64,
    /// Bytes read by the host.
    pub read_bytes: u64,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Causes of the reads' delays.
    pub causes: CauseBuckets,
    /// Reads that waited because of collections.
    pub blocked_reads: BlockedReads,
    /// Stripe reads by the number of members that were busy at the read's arrival
    /// ([`ssd::Ssd::busy_with`]): index 0 to the array's width. It covers all stripe reads up to a
    /// width of 8, and a sample beyond that.
    pub busy_members: Vec<u64>,
    /// Stripe reads by the number of members that were busy with a collection.
    pub collecting_members: Vec<u64>,
    /// For each drive: commands sent to it, and queue lengths at their arrival.
    pub queues: Vec<Queue>,
    /// Mean duration of a collection as the policy assumed it; `None` if it assumed none.
    pub expected_collection: Option<Duration>,
    /// Peak size of the map of relocated chunks, in bytes.
    pub map_bytes: u64,
    /// Drives that the array did not read because they answered later than they announced, with the
    /// duration.
    pub distrusted: Vec<(DriveId, Duration)>,
    /// Stalls of each drive that the policy has learnt, in order; empty if it learns none.
    pub stalls: Vec<array::Stalls>,
    /// The array's totals.
    pub array: array::Counters,
    /// The totals of the write cache, if the policy has one.
    pub write_cache: Option<array::WriteCacheCounters>,
    /// Counters of the policy itself.
    pub tallies: Vec<Tally>,
    /// The drives, in order.
    pub drives: Vec<DriveResult>,
    /// Busy time windows of the drives, each with the time when it was programmed; empty without
    /// windows.
    pub windows: Vec<(Instant, Duration)>,
    /// Leases that the host granted, extended or revoked, plus one message to each drive at the
    /// start that it has none.
    pub permits: u64,
    /// State of the array if drives failed; `None` if none did.
    pub degraded: Option<Degraded>,
    /// Free space in the first and the last tenth; `None` for a run that is too short.
    pub free_space: Option<FreeSpaceTrend>,
    /// The recorded timeline.
    pub timeline: Timeline,
    /// Pages checked against the reference model; 0 unless the run was verified.
    pub verified_pages: u64,
}

impl RunResult {
    /// Busy time window at the end of the run; `None` without windows.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        self.windows.last().map(|&(_, window)| window)
    }

    /// Most bytes that were in a drive's write buffer, or waited for room there, at once.
    #[must_use]
    pub fn buffer_peak_bytes(&self) -> u64 {
        self.drives.iter().map(|drive| drive.buffer_peak_bytes).max().unwrap_or(0)
    }

    /// Share of free blocks at the end, on the drive with the smallest.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        self.drives.iter().map(|drive| drive.free_share).fold(1.0, f64::min)
    }

    /// Smallest share of free blocks of any drive at any sample.
    #[must_use]
    pub fn least_free_share(&self) -> f64 {
        let seen = self.timeline.free.iter().flat_map(|(_, shares)| shares);
        seen.copied().fold(self.free_share(), f64::min)
    }

    /// Requests per second of simulated time in the second half of the requests: the work that
    /// drives could postpone at the start is excluded. `None` below three times 4096 requests.
    #[must_use]
    pub fn second_half_iops(&self) -> Option<f64> {
        let (first, last) = (self.pace.len().checked_sub(1)? / 2, self.pace.len() - 1);
        let seconds = self.pace[last].since(self.pace[first]).as_secs_f64();
        let requests = (last - first) as u64 * PROGRESS_STEP;
        (seconds > 0.0).then(|| requests as f64 / seconds)
    }

    /// Sum of the latencies of all reads and writes.
    #[must_use]
    pub fn total_latency(&self) -> Duration {
        self.read.total() + self.write.total()
    }

    /// Mean duration of a collection, from when it had its dies; zero without collections.
    #[must_use]
    pub fn mean_collection(&self) -> Duration {
        let totals = self.drive_totals();
        Duration::from_nanos(totals.collecting_nanos / totals.collections.max(1))
    }

    /// Totals of all drives.
    #[must_use]
    pub fn drive_totals(&self) -> ssd::Counters {
        let mut total = ssd::Counters::default();
        for drive in &self.drives {
            total.add(&drive.counters);
        }
        total
    }
}
