//! Runs under several seeds, combined as if they were one longer run.

use crate::intervals::Blocks;
use crate::result::RunResult;

impl RunResult {
    /// Combines `runs` of the same plan under several seeds. Requests and counters are added, so
    /// that percentiles cover all requests. Values with a time (pace, timeline, windows) are those
    /// of the first run. `None` if there are no runs.
    #[must_use]
    pub fn together(runs: &[&Self]) -> Option<Self> {
        let (first, others) = runs.split_first()?;
        let mut all = (*first).clone();
        for other in others {
            all.add(other);
        }
        let blocks: Option<Vec<&Blocks>> = runs.iter().map(|run| run.blocks.as_ref()).collect();
        all.blocks = blocks.and_then(|blocks| Blocks::together(&blocks));
        Some(all)
    }

    fn add(&mut self, other: &Self) {
        self.hash = self.hash.rotate_left(1) ^ other.hash;
        self.requests += other.requests;
        self.simulated += other.simulated;
        self.wall += other.wall;
        self.read.add(&other.read);
        self.write.add(&other.write);
        self.hosts.truncate(other.hosts.len());
        for (sum, host) in self.hosts.iter_mut().zip(&other.hosts) {
            sum.read.add(&host.read);
            sum.write.add(&host.write);
        }
        if let (Some(sum), Some(reads)) = (&mut self.sub_reads, &other.sub_reads) {
            sum.add(reads);
        }
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.add_counts(other);
    }

    /// Adds the counters of the array and its drives.
    fn add_counts(&mut self, other: &Self) {
        self.causes.add(&other.causes);
        self.blocked_reads.by_collection += other.blocked_reads.by_collection;
        self.blocked_reads.by_queue += other.blocked_reads.by_queue;
        for (sums, counts) in [
            (&mut self.busy_members, &other.busy_members),
            (&mut self.collecting_members, &other.collecting_members),
        ] {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (sum, queue) in self.queues.iter_mut().zip(&other.queues) {
            sum.commands += queue.commands;
            sum.blocks_ahead += queue.blocks_ahead;
        }
        // Largest and smallest values are those over all runs.
        self.expected_collection = self.expected_collection.max(other.expected_collection);
        self.map_bytes = self.map_bytes.max(other.map_bytes);
        self.array.add(&other.array);
        if let (Some(sum), Some(cache)) = (&mut self.write_cache, &other.write_cache) {
            sum.add(cache);
        }
        for (sum, tally) in self.tallies.iter_mut().zip(&other.tallies) {
            sum.count += tally.count;
        }
        for (sum, drive) in self.drives.iter_mut().zip(&other.drives) {
            sum.counters.add(&drive.counters);
            sum.free_share = sum.free_share.min(drive.free_share);
            sum.buffer_peak_bytes = sum.buffer_peak_bytes.max(drive.buffer_peak_bytes);
        }
        self.permits += other.permits;
        for (at, (time, shares)) in other.timeline.free.iter().enumerate() {
            match self.timeline.free.get_mut(at) {
                Some((_, sums)) => {
                    sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum = sum.min(*share));
                }
                None => self.timeline.free.push((*time, shares.clone())),
            }
        }
        self.verified_pages += other.verified_pages;
    }
}
