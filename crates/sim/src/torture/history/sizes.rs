//! Sizes of drawn arrays, and the regions that clients use. Both are small, so that halves of the
//! journal wrap, blocks of checksums leave the cache and marks are cleared within a history.

use super::{HistoryStep, Shape};
use engine::durability::Sizes;
use std::fmt;
use units::{Duration, Rng};

/// Bytes of a page and of a block.
const BLOCK_BYTES: u64 = 4096;
/// Pages of a drive whose checksums share a block.
const TABLE_PAGES: u32 = 1014;
/// Fewest blocks of checksums by which a start recognises an overwritten drive.
const TELLING_TABLES: u32 = 4;
/// Pages of a drive in a region of the write-intent record.
const REGION_PAGES: u32 = 256;
/// Sectors of a page.
const PAGE_SECTORS: u64 = 8;

/// Draws the sizes of an array with known level and widths.
pub(super) fn draw(shape: &mut Shape, rng: &mut Rng) {
    let stripe_width = u32::from(shape.stripe_width);
    match rng.below(16) {
        // A few stripes: all of them are used again and again.
        0..9 => set_pages(shape, 24 + rng.below(72) as u32),
        // Two regions of the intent record, as drawn before.
        9..15 => {}
        // Two or three blocks of checksums, or as many as an overwritten drive is recognised by.
        _ => {
            shape.chunk_pages = 8 << rng.below(2);
            let tables = if rng.below(4) == 0 { TELLING_TABLES } else { 1 + rng.below(2) as u32 };
            set_pages(shape, tables * TABLE_PAGES + 16 + rng.below(256) as u32);
        }
    }
    shape.drive_chunks = shape.drive_chunks.max(stripe_width);
    let chunk_blocks = 1 + u64::from(shape.chunk_pages);
    let sizes = &mut shape.setup.sizes;
    if rng.below(16) > 0 {
        let blocks = chunk_blocks * (1 + rng.below(4)) + rng.below(4);
        sizes.journal_half_bytes = (blocks * BLOCK_BYTES) as usize;
        let most = blocks - 1;
        let batch = if rng.below(2) == 0 { most } else { 1 + rng.below(most) };
        sizes.batch_bytes = batch * BLOCK_BYTES;
    }
    if rng.below(3) == 0 {
        sizes.accepted_bytes = (1 + rng.below(8)) * chunk_blocks * BLOCK_BYTES;
    }
    let tables = u64::from((shape.drive_chunks * shape.chunk_pages).div_ceil(TABLE_PAGES));
    if rng.below(8) > 0 {
        // Requests across the end of a block need two blocks at once, and several drives may have
        // such requests.
        let width = u64::from(shape.width);
        sizes.cached_tables = ((tables - 1) * width + 1 + rng.below(width)) as usize;
    }
    if rng.below(2) == 0 {
        sizes.ended_changes = (1 + rng.below(8)) as usize;
    }
    shape.setup.quiet_for = match rng.below(3) {
        0 => Duration::from_millis(50),
        1 => Duration::from_secs(1),
        _ => shape.setup.quiet_for,
    };
}

/// Sets the pages of a drive, in rotation so that all drives are full at the same time.
fn set_pages(shape: &mut Shape, pages: u32) {
    let stripe_width = u32::from(shape.stripe_width);
    shape.drive_chunks = pages / shape.chunk_pages / stripe_width * stripe_width;
}

/// Busy places of the clients: stripes around the ends of regions and of blocks of checksums, and
/// the last stripes.
#[derive(Clone, Debug)]
pub(super) struct Spots {
    /// First sector of each place.
    firsts: Vec<u64>,
    /// Number of sectors of each.
    span: u64,
    rng: Rng,
}

impl Spots {
    /// Draws places of `span` sectors each.
    pub(super) fn draw(shape: &Shape, span: u64, rng: &mut Rng) -> Self {
        let sectors = shape.sectors();
        let mut firsts = vec![0];
        let drive_pages = shape.drive_chunks * shape.chunk_pages;
        let data_drives = sectors / PAGE_SECTORS / u64::from(drive_pages.max(1));
        let ends = [REGION_PAGES, TABLE_PAGES, 2 * TABLE_PAGES, drive_pages];
        for end in ends.into_iter().filter(|end| *end <= drive_pages) {
            if rng.below(2) == 0 {
                let at = u64::from(end) * data_drives * PAGE_SECTORS;
                let at = at.saturating_sub(span / 2) / PAGE_SECTORS * PAGE_SECTORS;
                firsts.push(at.min(sectors - span));
            }
        }
        Self { firsts, span, rng: Rng::new(rng.next_u64()) }
    }

    /// Moves each request of a client to one of the places.
    pub(super) fn spread(mut self, steps: &mut [HistoryStep]) {
        for step in steps {
            if let HistoryStep::Client { sector, .. } = step {
                debug_assert!(*sector < self.span);
                *sector += self.firsts[self.rng.below(self.firsts.len() as u64) as usize];
            }
        }
    }
}

impl Shape {
    /// Formats the sizes that differ from those of an array that serves.
    pub(super) fn sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { journal_half_bytes, batch_bytes, accepted_bytes, cached_tables, .. } =
            self.setup.sizes;
        if self.setup.sizes == Sizes::SERVED {
            return Ok(());
        }
        write!(f, ", drives of {} KiB", self.drive_chunks * self.chunk_pages * 4)?;
        if self.has_parity() && journal_half_bytes != Sizes::SERVED.journal_half_bytes {
            let (half, batch) = (journal_half_bytes / 1024, batch_bytes / 1024);
            write!(f, ", halves of {half} KiB, batches of {batch} KiB")?;
        }
        if self.has_parity() && accepted_bytes != Sizes::SERVED.accepted_bytes {
            write!(f, ", {} KiB accepted", accepted_bytes / 1024)?;
        }
        if self.checksums && cached_tables != Sizes::SERVED.cached_tables {
            write!(f, ", {cached_tables} blocks of checksums in memory")?;
        }
        Ok(())
    }
}
