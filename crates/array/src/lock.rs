//! Stripe locks: who works on which rows.

use alloc::vec;
use alloc::vec::Vec;

/// Buckets of the table; stripes that are worked on at the same time rarely share one.
const BUCKETS: usize = 1 << 12;

/// Writes, and reads that rebuild, by stripe and in the order of their coming.
#[derive(Clone, Debug)]
pub(crate) struct LockTable {
    buckets: Vec<Vec<u32>>,
    /// Beginnings and ends of commits in each bucket.
    commits: Vec<u64>,
}

impl LockTable {
    pub(crate) fn new() -> Self {
        Self { buckets: vec![Vec::new(); BUCKETS], commits: vec![0; BUCKETS] }
    }

    fn index(stripe: u64) -> usize {
        // Fibonacci hashing: neighbouring stripes spread over the table.
        (stripe.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize & (BUCKETS - 1)
    }

    /// Operations on this stripe, among others, in the order of their coming.
    #[inline]
    pub(crate) fn on(&self, stripe: u64) -> &[u32] {
        &self.buckets[Self::index(stripe)]
    }

    /// How often a write of this stripe (or of one that shares its bucket) has begun or ended its
    /// commit: as long as this stands still, the stripe does too.
    #[inline]
    pub(crate) fn commits(&self, stripe: u64) -> u64 {
        self.commits[Self::index(stripe)]
    }

    /// A write of this stripe begins or ends its commit.
    #[inline]
    pub(crate) fn note_commit(&mut self, stripe: u64) {
        self.commits[Self::index(stripe)] += 1;
    }

    #[inline]
    pub(crate) fn enter(&mut self, stripe: u64, op: u32) {
        self.buckets[Self::index(stripe)].push(op);
    }

    #[inline]
    pub(crate) fn leave(&mut self, stripe: u64, op: u32) {
        let bucket = &mut self.buckets[Self::index(stripe)];
        if let Some(position) = bucket.iter().position(|&other| other == op) {
            bucket.remove(position);
        }
    }
}
