//! Counters of an array.

use alloc::vec;
use alloc::vec::Vec;

/// Totals since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counters {
    /// Reads of (part of) a stripe that the host asked for.
    pub stripe_reads: u64,
    /// Stripe reads by the number of their sub-I/Os that met a collection, including sub-I/Os of a
    /// reconstruction: index 0 to the array's width.
    pub busy_sub_ios: Vec<u64>,
    /// Pages that the host read.
    pub host_read_pages: u64,
    /// Pages that the host wrote.
    pub host_written_pages: u64,
    /// Pages read from drives.
    pub drive_read_pages: u64,
    /// Pages read from drives only to reconstruct others.
    pub reconstruct_read_pages: u64,
    /// Pages written to drives.
    pub drive_written_pages: u64,
    /// Sub-I/Os that drives failed fast.
    pub fail_fasts: u64,
    /// Stripe operations that used reconstructed pages.
    pub reconstructions: u64,
    /// Sub-I/Os that failed fast and were sent again to wait.
    pub resubmitted: u64,
    /// Chunks that writes relocated to another drive.
    pub relocated_chunks: u64,
    /// Sub-I/Os that the policy avoided, because it expected their drives to be busy or slow.
    pub avoided: u64,
    /// Requests that the policy held back.
    pub held_back: u64,
    /// Stripe operations that sent additional reads because answers were late.
    pub hedges: u64,
    /// Hedged stripe operations that were reconstructed before the late answer came.
    pub hedges_won: u64,
    /// Late stripe operations that the policy did not let hedge.
    pub hedges_denied: u64,
    /// Reconstructions that took pages from a write in flight.
    pub shared_with_write: u64,
    /// Stripe operations that waited for a stripe lock.
    pub lock_waits: u64,
    /// Stripe writes that covered the whole stripe.
    pub full_stripe_writes: u64,
    /// Stripe writes that read old data and parity.
    pub read_modify_writes: u64,
    /// Stripe writes that read the data they did not touch.
    pub reconstruct_writes: u64,
    /// Reads that a drive failed, or had not answered when it was declared failed.
    pub unrecovered_reads: u64,
    /// Writes that a drive failed, after which it was declared failed.
    pub unrecovered_writes: u64,
    /// Requests that failed.
    pub failed_requests: u64,
    /// Stripes of which a rebuild or a resync wrote members.
    pub repaired_stripes: u64,
}

impl Counters {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            stripe_reads: 0,
            busy_sub_ios: vec![0; width + 1],
            host_read_pages: 0,
            host_written_pages: 0,
            drive_read_pages: 0,
            reconstruct_read_pages: 0,
            drive_written_pages: 0,
            fail_fasts: 0,
            reconstructions: 0,
            resubmitted: 0,
            relocated_chunks: 0,
            avoided: 0,
            held_back: 0,
            hedges: 0,
            hedges_won: 0,
            hedges_denied: 0,
            shared_with_write: 0,
            lock_waits: 0,
            full_stripe_writes: 0,
            read_modify_writes: 0,
            reconstruct_writes: 0,
            unrecovered_reads: 0,
            unrecovered_writes: 0,
            failed_requests: 0,
            repaired_stripes: 0,
        }
    }

    /// Adds the counters of an array of the same width.
    pub fn add(&mut self, other: &Self) {
        // Destructured, so that no field is forgotten.
        let Self {
            busy_sub_ios,
            stripe_reads,
            host_read_pages,
            host_written_pages,
            drive_read_pages,
            reconstruct_read_pages,
            drive_written_pages,
            fail_fasts,
            reconstructions,
            resubmitted,
            relocated_chunks,
            avoided,
            held_back,
            hedges,
            hedges_won,
            hedges_denied,
            shared_with_write,
            lock_waits,
            full_stripe_writes,
            read_modify_writes,
            reconstruct_writes,
            unrecovered_reads,
            unrecovered_writes,
            failed_requests,
            repaired_stripes,
        } = other;
        for (sum, count) in self.busy_sub_ios.iter_mut().zip(busy_sub_ios) {
            *sum += count;
        }
        self.stripe_reads += stripe_reads;
        self.host_read_pages += host_read_pages;
        self.host_written_pages += host_written_pages;
        self.drive_read_pages += drive_read_pages;
        self.reconstruct_read_pages += reconstruct_read_pages;
        self.drive_written_pages += drive_written_pages;
        self.fail_fasts += fail_fasts;
        self.reconstructions += reconstructions;
        self.resubmitted += resubmitted;
        self.relocated_chunks += relocated_chunks;
        self.avoided += avoided;
        self.held_back += held_back;
        self.hedges += hedges;
        self.hedges_won += hedges_won;
        self.hedges_denied += hedges_denied;
        self.shared_with_write += shared_with_write;
        self.lock_waits += lock_waits;
        self.full_stripe_writes += full_stripe_writes;
        self.read_modify_writes += read_modify_writes;
        self.reconstruct_writes += reconstruct_writes;
        self.unrecovered_reads += unrecovered_reads;
        self.unrecovered_writes += unrecovered_writes;
        self.failed_requests += failed_requests;
        self.repaired_stripes += repaired_stripes;
    }

    /// Pages written to drives per page that the host wrote; 1.0 before the first write.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        if self.host_written_pages == 0 {
            return 1.0;
        }
        self.drive_written_pages as f64 / self.host_written_pages as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_amplified_by_what_drives_write_more_than_the_host() {
        let mut counters = Counters::new(4);
        assert_eq!(counters.write_amplification().to_bits(), 1.0f64.to_bits());
        counters.drive_written_pages = 9;
        assert_eq!(
            counters.write_amplification().to_bits(),
            1.0f64.to_bits(),
            "nothing was written"
        );
        counters.host_written_pages = 4;
        assert_eq!(counters.write_amplification().to_bits(), 2.25f64.to_bits());
    }
}
