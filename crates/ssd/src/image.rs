//! Laying out the pages of a block all at once: how a drive gets its state without writing it.

use crate::ftl::Ftl;
use crate::page::PackedPage;
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
}

impl Ftl {
    /// Places the next `pages` pages of `die`, which is at the start of a block or has that many
    /// left in its open one, as `image` says. None of its logical pages may have a place yet;
    /// [`Ftl::map`] enters them into the map.
    pub(crate) fn place_block(
        &mut self,
        die: u32,
        pages: u32,
        image: &BlockImage,
        placements: &mut Placements,
    ) {
        if pages == 0 {
            return;
        }
        // Opens the block if need be, and counts the page.
        let first = self.allocate_for_collection(die);
        let frontier = &mut self.frontiers[die as usize];
        frontier.next = first + pages;
        debug_assert!(frontier.next <= frontier.end, "more pages than the block has left");
        let unit = self.shape.unit_of(first);
        self.valid[unit] = self.valid[unit] + image.valid as u32 - 1;
        let block = &mut self.flash_to_logical[first as usize..(first + pages) as usize];
        let buckets = placements.buckets.as_mut_slice();
        for (&offset, &logical) in image.offsets.iter().zip(&image.logical[..image.valid]) {
            buckets[(logical >> BUCKET_BITS) as usize].push((logical, first + offset));
            block[offset as usize] = PackedPage::new(logical);
        }
    }

    /// Enters into the map where pages were placed.
    pub(crate) fn map(&mut self, placements: &Placements) {
        for &(logical, page) in placements.buckets.iter().flatten() {
            self.logical_to_flash[logical as usize] = PackedPage::new(page);
        }
    }
}
