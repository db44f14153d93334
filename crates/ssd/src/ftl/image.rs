//! Layout of all pages of a block at once: a drive gets its state without writing it.

use alloc::vec;
use alloc::vec::Vec;
use units::Rng;

/// Valid pages of a block, with their logical pages. The memory is used again for the next block.
pub(crate) struct BlockImage {
    /// Offsets of the valid pages in the block; only the first `valid` entries are used.
    offsets: Vec<u32>,
    /// The logical pages that they hold, in the same order.
    logical: Vec<u32>,
    /// Number of valid pages.
    valid: usize,
}

impl BlockImage {
    /// Image for blocks of `pages_per_block` pages.
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
            // Every offset is written, and kept if valid: a random branch would be mispredicted.
            offsets[valid] = offset;
            valid += usize::from(rng.next_u64() >> 11 < below);
        }
        self.valid = valid;
    }

    /// Logical pages of the valid pages, to be filled in.
    pub(crate) fn logical_mut(&mut self) -> &mut [u32] {
        &mut self.logical[..self.valid]
    }

    /// Clears the image: no page is valid.
    pub(crate) fn clear(&mut self) {
        self.valid = 0;
    }

    /// Adds a valid page at `offset`, behind all others, that holds `logical`.
    pub(crate) fn push(&mut self, offset: u32, logical: u32) {
        (self.offsets[self.valid], self.logical[self.valid]) = (offset, logical);
        self.valid += 1;
    }

    /// Number of valid pages.
    pub(super) fn valid(&self) -> u32 {
        self.valid as u32
    }

    /// Offset of each valid page, and the logical page that it holds.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let logical = &self.logical[..self.valid];
        self.offsets.iter().copied().zip(logical.iter().copied())
    }
}

/// Bits of a logical page number that choose its place within a bucket. A bucket covers 256 KiB of
/// the map, which fits into any cache close to a core.
const BUCKET_BITS: u32 = 16;

/// Places of logical pages, in buckets of neighbouring pages. Pages come in random order, and the
/// map is larger than the caches: written one by one, each entry would wait for memory.
pub(crate) struct Placements {
    /// Logical page and flash page.
    buckets: Vec<Vec<(u32, u32)>>,
}

impl Placements {
    /// Placements of a drive with `pages` logical pages.
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

    /// Places of all pages, bucket by bucket.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.buckets.iter().flatten().copied()
    }
}
