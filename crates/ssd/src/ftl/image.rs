//! Laying out the pages of a block all at once: how a drive gets its state without writing it.

use alloc::vec;
use alloc::vec::Vec;
use units::Rng;

/// Which pages of a block are valid, and the logical page of each of those; kept from block to
/// block.
pub(crate) struct BlockImage {
    /// Pages of the block that are valid, counted from its first; the front of it is used.
    offsets: Vec<u32>,
    /// The logical pages that they hold, in the same order.
    logical: Vec<u32>,
    /// How many there are.
    valid: usize,
}

impl BlockImage {
    /// For blocks of so many pages.
    pub(crate) fn new(pages_per_block: u32) -> Self {
        let pages = pages_per_block as usize;
        Self { offsets: vec![0; pages], logical: vec![0; pages], valid: 0 }
    }

    /// Draws for each of `pages` pages whether it is valid, with the chance `share`, just as
    /// `unit_f64() < share` does.
    pub(crate) fn draw(&mut self, pages: u32, share: f64, rng: &mut Rng) {
        // The draw has 53 bits, and a power of two changes no digit of the share.
        let below = libm::ceil(share * (1u64 << 53) as f64) as u64;
        let offsets = self.offsets.as_mut_slice();
        let mut valid = 0;
        for offset in 0..pages {
            // Written in any case and kept if valid: a branch that chance decides is mispredicted.
            offsets[valid] = offset;
            valid += usize::from(rng.next_u64() >> 11 < below);
        }
        self.valid = valid;
    }

    /// The logical pages of those that are valid, to be chosen.
    pub(crate) fn logical_mut(&mut self) -> &mut [u32] {
        &mut self.logical[..self.valid]
    }

    /// The block begins anew, with no page that is valid.
    pub(crate) fn clear(&mut self) {
        self.valid = 0;
    }

    /// The page at `offset`, behind all that are known to be valid, holds a logical page.
    pub(crate) fn push(&mut self, offset: u32, logical: u32) {
        (self.offsets[self.valid], self.logical[self.valid]) = (offset, logical);
        self.valid += 1;
    }

    /// Valid pages.
    pub(super) fn valid(&self) -> u32 {
        self.valid as u32
    }

    /// The pages that are valid, each with the logical page that it holds.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let logical = &self.logical[..self.valid];
        self.offsets.iter().copied().zip(logical.iter().copied())
    }
}

/// Bits of the number of a logical page that choose its place within a bucket: 256 KiB of the map,
/// which any cache close to a core has room for.
const BUCKET_BITS: u32 = 16;

/// Where logical pages were placed, in buckets of neighbouring ones. They come in random order, and
/// the map is larger than the caches: written one by one, each would wait for memory.
pub(crate) struct Placements {
    /// Logical page and flash page.
    buckets: Vec<Vec<(u32, u32)>>,
}

impl Placements {
    /// Of a drive with so many logical pages.
    pub(crate) fn new(pages: u32) -> Self {
        let capacity = pages.min(1 << BUCKET_BITS) as usize;
        let buckets = 0..pages.div_ceil(1 << BUCKET_BITS);
        Self { buckets: buckets.map(|_| Vec::with_capacity(capacity)).collect() }
    }

    /// The logical page was placed in `page`.
    #[inline]
    pub(super) fn add(&mut self, logical: u32, page: u32) {
        self.buckets[(logical >> BUCKET_BITS) as usize].push((logical, page));
    }

    /// Where every page was placed, bucket by bucket.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.buckets.iter().flatten().copied()
    }
}
