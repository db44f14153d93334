//! Latencies of a run by blocks of arrival time.

use super::MOST_BLOCKS;
use super::latencies::{BlockLatencies, Cell};
use array::{Outcome, RequestKind};
use units::{Duration, Instant};

/// Length of the first blocks, as a power of two of nanoseconds: about a microsecond.
const FIRST_WIDTH_LOG2: u32 = 10;

/// Reads and writes of a run, or of one of its hosts, by blocks of arrival time.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HostBlocks {
    /// Its reads.
    pub read: BlockLatencies,
    /// Its writes.
    pub write: BlockLatencies,
}

impl HostBlocks {
    fn together(all: &[&Self]) -> Self {
        let of = |direction: fn(&Self) -> &BlockLatencies| {
            BlockLatencies::together(&all.iter().map(|one| direction(one)).collect::<Vec<_>>())
        };
        Self { read: of(|one| &one.read), write: of(|one| &one.write) }
    }
}

/// Latencies of a run by blocks of arrival time, all equally long.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Blocks {
    /// Seed of the run, used for the draws.
    pub seed: u64,
    /// Length of a block.
    pub length: Duration,
    /// Latencies of all hosts.
    pub all: HostBlocks,
    /// Latencies by host; empty if there was only one.
    pub hosts: Vec<HostBlocks>,
}

impl Blocks {
    /// Blocks of several runs, one run after the other; `None` without runs, or if their lengths
    /// differ.
    pub(crate) fn together(all: &[&Self]) -> Option<Self> {
        let first = all.first()?;
        if all.iter().any(|one| one.length != first.length) {
            return None;
        }
        let hosts = all.iter().map(|one| one.hosts.len()).min()?;
        let host = |host: usize| {
            HostBlocks::together(&all.iter().map(|one| &one.hosts[host]).collect::<Vec<_>>())
        };
        Some(Self {
            seed: first.seed,
            length: first.length,
            all: HostBlocks::together(&all.iter().map(|one| &one.all).collect::<Vec<_>>()),
            hosts: (0..hosts).map(host).collect(),
        })
    }

    /// Returns true if both runs very likely had the same requests: then influences on both cancel
    /// in their quotient.
    #[must_use]
    pub fn are_paired_with(&self, other: &Self) -> bool {
        let same = |a: &HostBlocks, b: &HostBlocks| {
            a.read.has_the_counts_of(&b.read) && a.write.has_the_counts_of(&b.write)
        };
        self.seed == other.seed && self.length == other.length && same(&self.all, &other.all)
    }
}

/// Reads and writes during the recording.
#[derive(Clone, Debug, Default)]
struct Cells {
    read: Vec<Cell>,
    write: Vec<Cell>,
}

impl Cells {
    #[inline]
    fn record(&mut self, block: usize, kind: RequestKind, latency: Duration) {
        let cells = match kind {
            RequestKind::Read => &mut self.read,
            RequestKind::Write => &mut self.write,
            RequestKind::Deallocate => return,
        };
        if block >= cells.len() {
            cells.resize_with(block + 1, Cell::default);
        }
        cells[block].record(latency);
    }

    /// Merges every two blocks into one.
    fn halve(&mut self) {
        for cells in [&mut self.read, &mut self.write] {
            let pairs = cells.chunks(2).map(|pair| {
                let mut one = pair[0].clone();
                pair.iter().skip(1).for_each(|other| one.add(other));
                one
            });
            *cells = pairs.collect();
        }
    }

    fn finish(mut self, blocks: usize) -> HostBlocks {
        self.read.resize_with(blocks, Cell::default);
        self.write.resize_with(blocks, Cell::default);
        HostBlocks {
            read: BlockLatencies::new(&self.read),
            write: BlockLatencies::new(&self.write),
        }
    }
}

/// Recorder of latencies by blocks. The length of a run is known only at its end, so blocks begin
/// short, and neighbours are merged whenever there are too many. So runs with the same arrivals
/// have the same blocks.
#[derive(Debug)]
pub(crate) struct BlockRecorder {
    seed: u64,
    width_log2: u32,
    all: Cells,
    hosts: Vec<Cells>,
}

impl BlockRecorder {
    pub(crate) fn new(seed: u64) -> Self {
        let (all, hosts) = (Cells::default(), Vec::new());
        Self { seed, width_log2: FIRST_WIDTH_LOG2, all, hosts }
    }

    /// Records a completed request.
    pub(crate) fn record(&mut self, outcome: &Outcome) {
        let latency = outcome.completed.since(outcome.arrived);
        let block = loop {
            let block =
                (outcome.arrived.since(Instant::ZERO).as_nanos() >> self.width_log2) as usize;
            if block < MOST_BLOCKS {
                break block;
            }
            self.width_log2 += 1;
            self.all.halve();
            self.hosts.iter_mut().for_each(Cells::halve);
        };
        let host = usize::from(outcome.host);
        if host > 0 || !self.hosts.is_empty() {
            if self.hosts.is_empty() {
                // All requests so far belong to the first host.
                self.hosts.push(self.all.clone());
            }
            if host >= self.hosts.len() {
                self.hosts.resize_with(host + 1, Cells::default);
            }
            self.hosts[host].record(block, outcome.kind, latency);
        }
        self.all.record(block, outcome.kind, latency);
    }

    pub(crate) fn finish(self) -> Blocks {
        // Requests need not end in the order of their arrival: all kinds get as many blocks as the
        // longest.
        let blocks = self.all.read.len().max(self.all.write.len());
        Blocks {
            seed: self.seed,
            length: Duration::from_nanos(1 << self.width_log2),
            all: self.all.finish(blocks),
            hosts: self.hosts.into_iter().map(|host| host.finish(blocks)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::{Ended, RequestId};
    use nvme::{Blocked, Delays};

    fn outcome(arrived_us: u64, latency_us: u64, host: u8, kind: RequestKind) -> Outcome {
        let arrived = Instant::ZERO + Duration::from_micros(arrived_us);
        let completed = arrived + Duration::from_micros(latency_us);
        Outcome {
            request: RequestId(0),
            host,
            kind,
            arrived,
            admitted: arrived,
            completed,
            delays: Delays::default(),
            reconstructions: 0,
            blocked: Blocked::No,
            ended: Ended::Done,
        }
    }

    #[test]
    fn blocks_are_the_same_in_whatever_order_requests_end() {
        let requests = || (0..10_000).map(|n| outcome(n * 7, 100 + n % 13, 0, RequestKind::Read));
        let record = |outcomes: &mut dyn Iterator<Item = Outcome>| {
            let mut recorder = BlockRecorder::new(1);
            outcomes.for_each(|outcome| recorder.record(&outcome));
            recorder.finish()
        };
        let (forth, back) = (record(&mut requests()), record(&mut requests().rev()));
        let blocks = forth.all.read.blocks();
        assert!(blocks > MOST_BLOCKS / 2 && blocks <= MOST_BLOCKS, "{blocks} blocks");
        assert_eq!(forth.length, back.length);
        assert!(forth.all.read.has_the_counts_of(&back.all.read));
        assert_eq!(forth.all.read.weighed_count(&vec![1; blocks]), 10_000);
        assert_eq!(forth.all.write.weighed_count(&vec![1; blocks]), 0);
        assert!(forth.hosts.is_empty());
    }

    #[test]
    fn hosts_are_told_apart_as_soon_as_there_are_several() {
        let mut recorder = BlockRecorder::new(1);
        for n in 0..1_000 {
            recorder.record(&outcome(n, 100, 0, RequestKind::Read));
        }
        recorder.record(&outcome(1_000, 100, 2, RequestKind::Write));
        let blocks = recorder.finish();
        let once = vec![1; blocks.all.read.blocks()];
        assert_eq!(blocks.hosts.len(), 3);
        assert_eq!(blocks.hosts[0].read.weighed_count(&once), 1_000);
        assert_eq!(blocks.hosts[2].write.weighed_count(&once), 1);
        assert_eq!(blocks.all.write.weighed_count(&once), 1);
    }
}
