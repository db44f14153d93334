//! Measurements during a run.

use crate::causes::CauseBuckets;
use crate::driver::PROGRESS_STEP;
use crate::intervals::BlockRecorder;
use crate::latency::LatencySummary;
use crate::plan::Measured;
use crate::result::{BlockedReads, HostLatency};
use array::{Outcome, RequestKind};
use nvme::Blocked;
use units::{Duration, Instant};

/// Latencies and totals of one run.
#[derive(Debug)]
pub(crate) struct Measures {
    /// Choice of the requests whose latencies are kept.
    measured: Measured,
    pub(crate) read: LatencySummary,
    pub(crate) write: LatencySummary,
    /// Latencies by blocks of time; `None` unless the plan asks for intervals.
    pub(crate) blocks: Option<Box<BlockRecorder>>,
    pub(crate) hosts: Vec<HostLatency>,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) causes: CauseBuckets,
    pub(crate) blocked_reads: BlockedReads,
    /// Hash of the completed requests and their times.
    pub(crate) hash: u64,
    pub(crate) completed: u64,
    pub(crate) last_completion: Instant,
    /// Times at which each further [`PROGRESS_STEP`] requests were done.
    pub(crate) pace: Vec<Instant>,
}

impl Measures {
    pub(crate) fn new(measured: Measured, blocks: Option<Box<BlockRecorder>>) -> Self {
        Self {
            measured,
            read: LatencySummary::new(),
            write: LatencySummary::new(),
            blocks,
            hosts: Vec::new(),
            read_bytes: 0,
            written_bytes: 0,
            causes: CauseBuckets::new(),
            blocked_reads: BlockedReads::default(),
            hash: 0x1d0a,
            completed: 0,
            last_completion: Instant::ZERO,
            pace: Vec::new(),
        }
    }

    /// Records a completed request. Returns true if it completes another [`PROGRESS_STEP`]
    /// requests.
    #[inline]
    pub(crate) fn record(&mut self, now: Instant, outcome: &Outcome) -> bool {
        let latency = outcome.completed.since(outcome.arrived);
        self.last_completion = now;
        self.completed += 1;
        for word in [outcome.request.0, now.as_nanos()] {
            self.hash = (self.hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
        }
        if self.measured.covers(outcome.arrived) {
            self.record_latency(outcome, latency);
        }
        let step = self.completed.is_multiple_of(PROGRESS_STEP);
        if step {
            self.pace.push(now);
        }
        step
    }

    #[inline]
    fn record_latency(&mut self, outcome: &Outcome, latency: Duration) {
        self.record_host(outcome, latency);
        if let Some(blocks) = &mut self.blocks {
            blocks.record(outcome);
        }
        match outcome.kind {
            RequestKind::Read => {
                debug_assert_eq!(outcome.delays.total(), latency, "delays must sum to the latency");
                self.read.record(latency);
                self.causes.record(&outcome.delays, latency);
                match outcome.blocked {
                    Blocked::No => {}
                    Blocked::Queue => self.blocked_reads.by_queue += 1,
                    Blocked::Collection => self.blocked_reads.by_collection += 1,
                }
            }
            RequestKind::Write => self.write.record(latency),
            RequestKind::Deallocate => {}
        }
    }

    /// Records latencies by host once there are several: all that was recorded before belongs to
    /// the first.
    fn record_host(&mut self, outcome: &Outcome, latency: Duration) {
        let host = usize::from(outcome.host);
        if host == 0 && self.hosts.is_empty() {
            return;
        }
        if self.hosts.is_empty() {
            let first = HostLatency { read: self.read.clone(), write: self.write.clone() };
            self.hosts.push(first);
        }
        while self.hosts.len() <= host {
            self.hosts
                .push(HostLatency { read: LatencySummary::new(), write: LatencySummary::new() });
        }
        match outcome.kind {
            RequestKind::Read => self.hosts[host].read.record(latency),
            RequestKind::Write => self.hosts[host].write.record(latency),
            RequestKind::Deallocate => {}
        }
    }
}
