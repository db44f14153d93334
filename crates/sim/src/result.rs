//! What came of a run.

use crate::causes::CauseBuckets;
use crate::latency::LatencySummary;
use crate::timeline::Timeline;
use array::policy::PolicyKind;
use units::{Duration, Instant};

/// One drive after a run.
#[derive(Clone, Copy, Debug)]
pub struct DriveResult {
    /// What it did.
    pub counters: ssd::Counters,
    /// Share of its blocks that were free at the end.
    pub free_share: f64,
}

/// What came of one run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The policy.
    pub policy: PolicyKind,
    /// Same for the same plan, workload and seed, wherever and however it was run.
    pub hash: u64,
    /// Requests taken from the workload; all of them were completed.
    pub requests: u64,
    /// Simulated time from the start to the last completion.
    pub simulated: Duration,
    /// Processor time that it took, on a real clock.
    pub wall: std::time::Duration,
    /// Read latency, from the intended arrival.
    pub read: LatencySummary,
    /// Write latency, from the intended arrival.
    pub write: LatencySummary,
    /// Bytes read by the host.
    pub read_bytes: u64,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Where the time of reads went.
    pub causes: CauseBuckets,
    /// Stripe reads by the number of members that would have met a collection when the read came:
    /// index 0 to the array's width. All stripe reads up to a width of 8, a sample beyond.
    pub busy_members: Vec<u64>,
    /// The array's totals.
    pub array: array::Counters,
    /// The drives, in order.
    pub drives: Vec<DriveResult>,
    /// Busy time windows of the drives, each with the time when it was programmed; empty if there
    /// were none.
    pub windows: Vec<(Instant, Duration)>,
    /// Leases that the host granted, extended or took back, and one message to each drive at the
    /// start that it has none.
    pub permits: u64,
    /// What happened when.
    pub timeline: Timeline,
    /// Pages checked against the reference model; 0 unless the run was verified.
    pub verified_pages: u64,
}

impl RunResult {
    /// The busy time window at the end of the run, if there is one.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        self.windows.last().map(|&(_, window)| window)
    }

    /// Totals of all drives.
    #[must_use]
    pub fn drive_totals(&self) -> ssd::Counters {
        let mut total = ssd::Counters::default();
        for DriveResult { counters: c, .. } in &self.drives {
            total.host_reads_pages += c.host_reads_pages;
            total.host_programs_pages += c.host_programs_pages;
            total.collection_reads_pages += c.collection_reads_pages;
            total.collection_programs_pages += c.collection_programs_pages;
            total.erases += c.erases;
            total.collections += c.collections;
            total.contract_violations += c.contract_violations;
            total.stalled_writes_pages += c.stalled_writes_pages;
            total.suspensions += c.suspensions;
            total.scrubbed_pages += c.scrubbed_pages;
            total.fail_fasts += c.fail_fasts;
            total.buffered_writes_pages += c.buffered_writes_pages;
            total.coalesced_writes_pages += c.coalesced_writes_pages;
            total.buffer_reads_pages += c.buffer_reads_pages;
            total.forced_flushes_pages += c.forced_flushes_pages;
        }
        total
    }
}
