//! The flash translation layer: page-level mapping, allocation, victims.
//!
//! Two `u32` per flash page (where a logical page is, and which logical page a flash page holds)
//! and a few bytes per block are all that is kept, so a drive of 2 TiB with 16 KiB pages fits in
//! about 1 GiB. A victim is found by scanning the valid counts of one die (or of the lines): the
//! counts are contiguous, a scan is rare (one per collected block), and keeping sorted lists
//! instead would cost several cache misses on *every* overwrite.

use crate::config::{Allocation, CollectionUnit, Config, RangePlacement};
use crate::divisor::Divisor;
use crate::page::PackedPage;
use crate::slc::SlcBlocks;
use crate::slc_config::{SlcCacheConfig, SlcOverflow};
use crate::space::{Mode, Space};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Set in a valid count while its unit is free, open or being collected, which also makes it lose
/// every comparison for the fewest valid pages.
pub(crate) const NOT_A_CANDIDATE: u32 = 1 << 31;

/// Free blocks (or lines) at which the drive acts, and what a victim must give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    pub(crate) soft: u32,
    pub(crate) hard: u32,
    /// Free blocks up to which a busy window collects; at least `soft`.
    pub(crate) restore: u32,
    /// Pages of a victim that must be invalid above the hard watermark.
    pub(crate) min_invalid: u32,
    /// Pages of a victim that must be invalid for its collection to give anything back: one, or
    /// more where the last pages that are moved are programmed with filler.
    least_invalid: u32,
}

/// Ranges of logical blocks with dies of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    pub(crate) count: u32,
    /// Logical pages in a range.
    pages: u32,
    /// Dies of a range.
    dies: u32,
    /// Dies whose numbers differ by less than this are in the same range.
    dies_per_step: u32,
}

/// How much of a victim must be invalid above the hard watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worth {
    /// The share `min_invalid`.
    Enough,
    /// As much as its collection needs to give anything back.
    Anything,
}

/// Sizes that address arithmetic needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) unit: CollectionUnit,
    pub(crate) channels: u32,
    pub(crate) chips_per_channel: u32,
    pub(crate) dies: u32,
    pub(crate) blocks_per_die: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) logical_pages: u32,
    /// Logical pages and the parity behind them.
    pub(crate) stored_pages: u32,
    /// Pages in a block or in a line.
    pub(crate) pages_per_unit: u32,
    /// Pages that are programmed at a time.
    pub(crate) pages_per_program: u32,
    pub(crate) levels: Levels,
    pub(crate) ranges: Ranges,
    by_pages_per_die: Divisor,
    by_pages_per_block: Divisor,
    by_blocks_per_die: Divisor,
}

impl Shape {
    pub(crate) fn new(config: &Config) -> Self {
        let g = &config.geometry;
        let unit = config.collection.unit;
        let pages_per_unit = match unit {
            CollectionUnit::Block => g.pages_per_block,
            CollectionUnit::Line => g.pages_per_block * g.dies(),
        };
        let dies_per_step = match config.ranges.placement {
            RangePlacement::Channels => g.dies() / config.ranges.count,
            RangePlacement::Chips => g.chips_per_channel / config.ranges.count,
        };
        let min_invalid = config.collection.min_invalid.of(u64::from(pages_per_unit)) as u32;
        let pages_per_program = config.cells.map_or(1, |cells| cells.unit_pages());
        // Each die that collects fills up its last program.
        let least_invalid = match (pages_per_program, unit) {
            (1, _) => 1,
            (pages, CollectionUnit::Block) => pages,
            (pages, CollectionUnit::Line) => pages * g.dies(),
        };
        Self {
            unit,
            channels: g.channels,
            chips_per_channel: g.chips_per_channel,
            dies: g.dies(),
            blocks_per_die: g.blocks_per_die(),
            pages_per_block: g.pages_per_block,
            logical_pages: config.logical_pages() as u32,
            stored_pages: config.stored_pages() as u32,
            pages_per_unit,
            pages_per_program,
            levels: Levels {
                soft: config.soft_blocks(),
                hard: config.hard_blocks(),
                restore: config.restore_blocks(),
                min_invalid: min_invalid.max(least_invalid),
                least_invalid,
            },
            ranges: Ranges {
                count: config.ranges.count,
                pages: config.range_pages() as u32,
                dies: g.dies() / config.ranges.count,
                dies_per_step,
            },
            by_pages_per_die: Divisor::new(g.blocks_per_die() * g.pages_per_block),
            by_pages_per_block: Divisor::new(g.pages_per_block),
            by_blocks_per_die: Divisor::new(g.blocks_per_die()),
        }
    }

    /// Pages of the drive.
    pub(crate) fn pages(&self) -> u32 {
        self.dies * self.blocks_per_die * self.pages_per_block
    }

    #[inline]
    pub(crate) fn die_of(&self, page: u32) -> u32 {
        self.by_pages_per_die.divide(page)
    }

    /// The range of logical blocks that a die holds.
    #[inline]
    pub(crate) fn range_of_die(&self, die: u32) -> u32 {
        if self.ranges.count == 1 {
            return 0;
        }
        die / self.ranges.dies_per_step % self.ranges.count
    }

    /// The range that a logical page is in.
    #[inline]
    pub(crate) fn range_of(&self, logical: u32) -> u32 {
        if self.ranges.count == 1 { 0 } else { logical / self.ranges.pages }
    }

    /// First logical page of a range, and the number of its pages.
    pub(crate) fn pages_of_range(&self, range: u32) -> (u32, u32) {
        let first = range * self.ranges.pages;
        (first, self.ranges.pages.min(self.logical_pages - first))
    }

    #[inline]
    pub(crate) fn unit_of(&self, page: u32) -> usize {
        let block = self.by_pages_per_block.divide(page);
        match self.unit {
            CollectionUnit::Block => block as usize,
            CollectionUnit::Line => self.by_blocks_per_die.remainder(block) as usize,
        }
    }

    pub(crate) fn first_page(&self, die: u32, block: u32) -> u32 {
        (die * self.blocks_per_die + block) * self.pages_per_block
    }
}

/// The page where a die writes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frontier {
    pub(crate) next: u32,
    pub(crate) end: u32,
    /// The open block within the die; none before the first.
    pub(crate) block: Option<u32>,
}

impl Frontier {
    /// No block is open.
    pub(crate) const NONE: Self = Self { next: 0, end: 0, block: None };
}

/// Mapping, allocation and victims of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    pub(crate) shape: Shape,
    pub(crate) logical_to_flash: Vec<PackedPage>,
    pub(crate) flash_to_logical: Vec<PackedPage>,
    /// Valid pages of each block (or line), with [`NOT_A_CANDIDATE`]. A page counts from the
    /// moment it is allocated, so a block with programs in flight does not look emptier than it is.
    pub(crate) valid: Vec<u32>,
    pub(crate) erase_counts: Vec<u32>,
    /// Erasures of each die since the drive was made or restored.
    die_erases: Vec<u64>,
    pub(crate) space: Space,
    pub(crate) frontiers: Vec<Frontier>,
    /// Blocks that are programmed with one bit in a cell, if the drive has such a cache.
    pub(crate) slc: Option<Box<SlcBlocks>>,
    /// Dies in the order of host writes, range by range: one die of every channel, then the next
    /// die of each.
    order: Vec<u32>,
    /// Of each range, the die whose turn it is.
    pub(crate) turns: Vec<u32>,
    /// Of each block, the pages that are allocated for a stripe and not mapped before the whole
    /// stripe is programmed; empty without RAIN. A block with such pages is no victim.
    pinned: Vec<u32>,
    /// Whether host pages have dies by their number, without RAIN.
    is_static: bool,
}

/// A place for a host page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocated {
    pub(crate) page: u32,
    pub(crate) die: u32,
    /// A block was opened for it, so a watermark may have been reached.
    pub(crate) opened_block: bool,
}

impl Ftl {
    pub(crate) fn new(config: &Config) -> Self {
        let shape = Shape::new(config);
        let blocks = shape.dies * shape.blocks_per_die;
        let units = match shape.unit {
            CollectionUnit::Block => blocks,
            CollectionUnit::Line => shape.blocks_per_die,
        };
        let mut order: Vec<u32> = (0..shape.dies)
            .map(|i| (i % shape.channels) * shape.chips_per_channel + i / shape.channels)
            .collect();
        order.sort_by_key(|&die| shape.range_of_die(die));
        Self {
            shape,
            logical_to_flash: vec![PackedPage::NONE; shape.stored_pages as usize],
            flash_to_logical: vec![PackedPage::NONE; shape.pages() as usize],
            valid: vec![NOT_A_CANDIDATE; units as usize],
            erase_counts: vec![0; blocks as usize],
            die_erases: vec![0; shape.dies as usize],
            space: Space::new(shape.unit, shape.dies, shape.blocks_per_die),
            frontiers: vec![Frontier::NONE; shape.dies as usize],
            slc: SlcBlocks::new(config, &shape).map(Box::new),
            order,
            turns: vec![0; shape.ranges.count as usize],
            pinned: vec![0; if config.rain.is_some() { blocks as usize } else { 0 }],
            is_static: config.allocation == Allocation::Static && config.rain.is_none(),
        }
    }

    /// Where the logical page is, if it was ever written.
    #[inline]
    pub(crate) fn lookup(&self, logical: u32) -> Option<u32> {
        self.logical_to_flash[logical as usize].get()
    }

    /// The logical page that a flash page holds, if it is valid.
    #[inline]
    pub(crate) fn holds(&self, page: u32) -> Option<u32> {
        self.flash_to_logical[page as usize].get()
    }

    /// The die that a logical page is bound to, if the drive has dies for pages by their number.
    #[inline]
    pub(crate) fn bound_die(&self, logical: u32) -> Option<u32> {
        self.is_static.then(|| self.order[(logical % self.shape.dies) as usize])
    }

    /// The die that serves a read of a page that was never written: it costs what a written one
    /// costs.
    pub(crate) fn die_of_unwritten(&self, logical: u32) -> u32 {
        if let Some(die) = self.bound_die(logical) {
            return die;
        }
        let chance = logical.wrapping_mul(0x9e37_79b1);
        if self.shape.ranges.count == 1 {
            return chance % self.shape.dies;
        }
        let dies = self.dies_of_range(self.shape.range_of(logical));
        dies[chance as usize % dies.len()]
    }

    /// Brings the mapping of a page that will be changed soon into the cache.
    #[inline]
    pub(crate) fn touch(&self, logical: u32) {
        core::hint::black_box(self.logical_to_flash[logical as usize]);
    }

    /// Free blocks of a die (or lines) that are not kept for the cache.
    #[inline]
    pub(crate) fn free(&self, die: u32) -> u32 {
        self.space.free(die).saturating_sub(self.kept_for_slc(die))
    }

    /// Free blocks of a die (or lines) that are kept for the cache.
    #[inline]
    fn kept_for_slc(&self, die: u32) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.kept_free(die))
    }

    /// How long pages in the cache of SLC blocks take has changed.
    pub(crate) fn set_cache(&mut self, config: Option<SlcCacheConfig>) {
        if let (Some(slc), Some(config)) = (&mut self.slc, config) {
            slc.config = config;
        }
    }

    /// The cache that a flash page is in, if it is programmed with one bit in a cell.
    #[inline]
    pub(crate) fn slc_at(&self, page: u32) -> Option<&SlcCacheConfig> {
        let slc = self.slc.as_ref()?;
        slc.has(self.shape.unit_of(page)).then_some(&slc.config)
    }

    /// Pages that are programmed at a time where `page` is.
    #[inline]
    pub(crate) fn programmed_with(&self, page: u32) -> u32 {
        match &self.slc {
            Some(slc) if slc.has(self.shape.unit_of(page)) => slc.row_pages,
            _ => self.shape.pages_per_program,
        }
    }

    /// Whether so little of the cache is left that folding cannot wait for the host to be idle.
    pub(crate) fn is_slc_low(&self, die: u32) -> bool {
        let free = self.space.free(die);
        self.slc.as_ref().is_some_and(|slc| slc.is_low(die, free, self.shape.levels.hard))
    }

    /// Whether host writes that find the cache full wait for it.
    pub(crate) fn waits_for_slc(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.config.overflow == SlcOverflow::Wait)
    }

    /// The block (or line) of the cache to fold for `die`, if there is room for what is in it.
    pub(crate) fn slc_to_fold(&self, die: u32) -> Option<u32> {
        let slc = self.slc.as_ref()?;
        let has_room = slc.has_borrowed(die) || self.free(die) > self.shape.levels.hard;
        slc.oldest(die).filter(|_| has_room)
    }

    pub(crate) fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Erasures of a die since the drive was made or restored.
    pub(crate) fn die_erases(&self, die: u32) -> u64 {
        self.die_erases[die as usize]
    }

    /// Pages that are left in the open block of a die.
    pub(crate) fn open_pages(&self, die: u32) -> u32 {
        let frontier = &self.frontiers[die as usize];
        frontier.end - frontier.next
    }

    /// The dies of a range, in the order of host writes.
    pub(crate) fn dies_of_range(&self, range: u32) -> &[u32] {
        let dies = self.shape.ranges.dies as usize;
        &self.order[range as usize * dies..][..dies]
    }

    /// A place for a host page on the next die of its range that has room above the hard watermark.
    #[inline]
    pub(crate) fn allocate_for_host(&mut self, logical: u32) -> Option<Allocated> {
        let range = self.shape.range_of(logical);
        for _ in 0..self.shape.ranges.dies {
            let die = self.take_turn(range);
            if let Some(place) = self.allocate_for_host_on(die) {
                return Some(place);
            }
        }
        None
    }

    /// The die of a range whose turn it is to take a host page.
    #[inline]
    pub(crate) fn turn(&self, range: u32) -> u32 {
        self.order[(range * self.shape.ranges.dies + self.turns[range as usize]) as usize]
    }

    /// The same; the turn goes on to the next.
    #[inline]
    pub(crate) fn take_turn(&mut self, range: u32) -> u32 {
        let die = self.turn(range);
        let turn = &mut self.turns[range as usize];
        *turn = if *turn + 1 == self.shape.ranges.dies { 0 } else { *turn + 1 };
        die
    }

    /// A place for a host page on `die`, if that has room above the hard watermark.
    #[inline]
    pub(crate) fn allocate_for_host_on(&mut self, die: u32) -> Option<Allocated> {
        // Below the hard watermark a collection has opened a block for its copies, and the host
        // must not fill it up before the collection does.
        let kept = self.kept_for_slc(die);
        if self.space.free(die) < self.shape.levels.hard + kept {
            return None;
        }
        let (page, opened_block) = self.allocate(die, self.shape.levels.hard + kept)?;
        Some(Allocated { page, die, opened_block })
    }

    /// A place on `die` for what is flushed: in the cache, or, if that lets it go and it is enough
    /// for a whole program there, behind it.
    #[inline]
    pub(crate) fn allocate_for_flush_on(&mut self, die: u32, is_whole: bool) -> Option<Allocated> {
        if self.slc.is_some() {
            let place = self.allocate_in_slc(die);
            if place.is_some() || !is_whole || self.waits_for_slc() {
                return place;
            }
        }
        self.allocate_for_host_on(die)
    }

    /// A place on `die` in a block that is programmed with one bit in a cell. The block is full as
    /// soon as its last page is taken: there may be no other after it for long.
    fn allocate_in_slc(&mut self, die: u32) -> Option<Allocated> {
        let slc = self.slc.as_mut()?;
        let mut opened_block = false;
        if slc.frontiers[die as usize].block.is_none() {
            let keep = slc.keep(die, self.shape.levels.hard);
            let opened = self.space.open(die, Mode::Slc, keep)?;
            let first = self.shape.first_page(die, opened.block);
            if opened.was_free {
                slc.begin(die, self.shape.unit_of(first));
                opened_block = true;
            }
            let end = first + slc.pages_per_block;
            slc.frontiers[die as usize] = Frontier { next: first, end, block: Some(opened.block) };
        }
        let page = slc.frontiers[die as usize].next;
        self.valid[self.shape.unit_of(page)] += 1;
        Some(Allocated { page, die, opened_block })
    }

    /// A place for a host page on the die that it is bound to, or on the next with room.
    pub(crate) fn allocate_on(&mut self, logical: u32, die: Option<u32>) -> Option<Allocated> {
        match die {
            None => self.allocate_for_host(logical),
            Some(die) => self.allocate_for_host_on(die),
        }
    }

    /// Whether [`Ftl::allocate_for_host_on`] would find a place.
    pub(crate) fn has_room_on(&self, die: u32) -> bool {
        let (free, hard) = (self.space.free(die), self.shape.levels.hard);
        let frontier = &self.frontiers[die as usize];
        free > hard || (free == hard && frontier.next < frontier.end)
    }

    /// A page that was allocated for a stripe stays where it is until it is mapped.
    pub(crate) fn pin(&mut self, page: u32) {
        self.pinned[self.shape.unit_of(page)] += 1;
    }

    /// The page is mapped now, and its block a candidate as soon as it is full.
    pub(crate) fn unpin(&mut self, page: u32) {
        let unit = self.shape.unit_of(page);
        self.pinned[unit] -= 1;
        let open = self.frontiers[self.shape.die_of(page) as usize].block;
        if self.pinned[unit] == 0 && Some(unit as u32 % self.shape.blocks_per_die) != open {
            self.valid[unit] &= !NOT_A_CANDIDATE;
        }
    }

    /// Of the unit that `first`, which has just been allocated on `die`, begins, so many pages are
    /// programmed with data. The rest is filler.
    pub(crate) fn fill_unit(&mut self, die: u32, first: u32, used: u32) {
        let pages = self.programmed_with(first);
        debug_assert!(first.is_multiple_of(pages), "page {first}");
        self.valid[self.shape.unit_of(first)] += used - 1;
        let next = first + pages;
        if self.slc_at(first).is_none() {
            self.frontiers[die as usize].next = next;
        } else if let Some(slc) = &mut self.slc {
            let frontier = &mut slc.frontiers[die as usize];
            frontier.next = next;
            if next == frontier.end
                && let Some(full) = core::mem::replace(frontier, Frontier::NONE).block
                && self.space.close(Mode::Slc, full)
            {
                slc.fill(die, full);
            }
        }
    }

    /// The next page of a die is the first of a unit: what was placed page by page is followed by
    /// filler.
    pub(crate) fn align(&mut self, die: u32) {
        let frontier = &mut self.frontiers[die as usize];
        frontier.next = frontier.next.next_multiple_of(self.shape.pages_per_program);
    }

    /// A place on `die` for a page that collection moves.
    #[inline]
    pub(crate) fn allocate_for_collection(&mut self, die: u32) -> u32 {
        // The host stops at the hard watermark, which is at least one block, and a collection
        // frees a block for every block of copies: it always finds room.
        let (page, _) = self.allocate(die, 0).expect("collection has a free block by validation");
        page
    }

    #[inline]
    fn allocate(&mut self, die: u32, keep: u32) -> Option<(u32, bool)> {
        let frontier = self.frontiers[die as usize];
        let mut opened = false;
        if frontier.next == frontier.end {
            self.open_block(die, keep)?;
            opened = true;
        }
        let frontier = &mut self.frontiers[die as usize];
        let page = frontier.next;
        frontier.next += 1;
        self.valid[self.shape.unit_of(page)] += 1;
        Some((page, opened))
    }

    #[cold]
    fn open_block(&mut self, die: u32, keep: u32) -> Option<()> {
        let block = self.space.open(die, Mode::Ordinary, keep)?.block;
        let first = self.shape.first_page(die, block);
        if let Some(full) = self.frontiers[die as usize].block
            && self.space.close(Mode::Ordinary, full)
        {
            let unit = self.shape.unit_of(self.shape.first_page(die, full));
            if self.pinned.get(unit).is_none_or(|&pinned| pinned == 0) {
                self.valid[unit] &= !NOT_A_CANDIDATE;
            }
        }
        self.frontiers[die as usize] =
            Frontier { next: first, end: first + self.shape.pages_per_block, block: Some(block) };
        Some(())
    }

    /// The logical page is nowhere any more. Returns whether it was anywhere.
    pub(crate) fn forget(&mut self, logical: u32) -> bool {
        let entry = &mut self.logical_to_flash[logical as usize];
        let old = core::mem::replace(entry, PackedPage::NONE).get();
        old.is_some_and(|page| {
            self.invalidate(page);
            true
        })
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        self.flash_to_logical[page as usize] = PackedPage::NONE;
        self.valid[self.shape.unit_of(page)] -= 1;
    }

    /// The logical page now lives in `page`, which was allocated for it.
    #[inline]
    pub(crate) fn commit_write(&mut self, logical: u32, page: u32) {
        let entry = &mut self.logical_to_flash[logical as usize];
        if let Some(old) = core::mem::replace(entry, PackedPage::new(page)).get() {
            self.invalidate(old);
        }
        self.flash_to_logical[page as usize] = PackedPage::new(logical);
    }

    /// Collection has copied `from` to `to`. If the host overwrote the page meanwhile, the copy is
    /// stale and stays invalid.
    #[inline]
    pub(crate) fn commit_copy(&mut self, logical: u32, from: u32, to: u32) {
        if self.lookup(logical) == Some(from) {
            self.commit_write(logical, to);
        } else {
            self.valid[self.shape.unit_of(to)] -= 1;
        }
    }

    /// The victim of `die`: its block (or the line) with the fewest valid pages, if that is of
    /// `worth`. From the hard watermark down, anything is worth it.
    pub(crate) fn victim(&self, die: u32, worth: Worth) -> Option<u32> {
        let levels = &self.shape.levels;
        let min_invalid = match worth {
            Worth::Enough if self.free(die) > levels.hard => levels.min_invalid,
            Worth::Enough | Worth::Anything => levels.least_invalid,
        };
        let counts = match self.shape.unit {
            CollectionUnit::Line => &self.valid[..],
            CollectionUnit::Block => {
                let first = (die * self.shape.blocks_per_die) as usize;
                &self.valid[first..first + self.shape.blocks_per_die as usize]
            }
        };
        let ordinary = self.fewest_valid(counts, min_invalid);
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.has_borrowed(die)) else {
            return ordinary;
        };
        let valid = |block| self.valid[self.unit_index(die, block)] & !NOT_A_CANDIDATE;
        match (slc.oldest(die), ordinary) {
            (Some(cached), Some(ordinary)) if valid(ordinary) < valid(cached) => Some(ordinary),
            (cached, ordinary) => cached.or(ordinary),
        }
    }

    fn fewest_valid(&self, counts: &[u32], min_invalid: u32) -> Option<u32> {
        let fewest = counts.iter().copied().min()?;
        if fewest > self.shape.pages_per_unit - min_invalid.max(1) {
            return None;
        }
        counts.iter().position(|&count| count == fewest).map(|block| block as u32)
    }

    fn unit_index(&self, die: u32, block: u32) -> usize {
        self.shape.unit_of(self.shape.first_page(die, block))
    }

    /// Takes a victim out of the candidates.
    pub(crate) fn begin_collection(&mut self, die: u32, block: u32) {
        let unit = self.unit_index(die, block);
        self.valid[unit] |= NOT_A_CANDIDATE;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.has(unit)) {
            slc.take(die, block);
        }
    }

    /// Gives an untouched victim back.
    pub(crate) fn cancel_collection(&mut self, die: u32, block: u32) {
        let unit = self.unit_index(die, block);
        match self.slc.as_mut().filter(|slc| slc.has(unit)) {
            Some(slc) => slc.give_back(die, block),
            None => self.valid[unit] &= !NOT_A_CANDIDATE,
        }
    }

    /// Valid pages of one block, counted.
    pub(crate) fn count_valid(&self, die: u32, block: u32) -> u32 {
        let first = self.shape.first_page(die, block);
        self.count_valid_between(first, first + self.shape.pages_per_block)
    }

    /// Valid pages in `cursor..end`, counted.
    pub(crate) fn count_valid_between(&self, cursor: u32, end: u32) -> u32 {
        let pages = &self.flash_to_logical[cursor as usize..end as usize];
        pages.iter().filter(|&&logical| logical != PackedPage::NONE).count() as u32
    }

    /// Whether the block (or line) has pages that are allocated but not programmed yet.
    pub(crate) fn has_pages_in_flight(&self, die: u32, block: u32) -> bool {
        let programmed: u32 = match self.shape.unit {
            CollectionUnit::Block => self.count_valid(die, block),
            CollectionUnit::Line => {
                (0..self.shape.dies).map(|die| self.count_valid(die, block)).sum()
            }
        };
        self.valid[self.unit_index(die, block)] & !NOT_A_CANDIDATE != programmed
    }

    /// The next valid page in `cursor..end`, and the logical page that it holds.
    #[inline]
    pub(crate) fn next_valid(&self, cursor: u32, end: u32) -> Option<(u32, u32)> {
        let pages = self.flash_to_logical[cursor as usize..end as usize].iter().zip(cursor..);
        pages.filter_map(|(logical, page)| Some((page, logical.get()?))).next()
    }

    /// The block is erased and free once its unit is.
    pub(crate) fn erase(&mut self, die: u32, block: u32) {
        debug_assert_eq!(self.count_valid(die, block), 0, "erasing valid pages");
        self.erase_counts[(die * self.shape.blocks_per_die + block) as usize] += 1;
        self.die_erases[die as usize] += 1;
        if self.space.release(die, block)
            && let Some(slc) = &mut self.slc
        {
            slc.end(die, self.shape.unit_of(self.shape.first_page(die, block)));
        }
    }

    /// Places `logical` in the next page of `die`: how an aged drive is laid out.
    pub(crate) fn place(&mut self, die: u32, logical: Option<u32>) {
        let page = self.allocate_for_collection(die);
        match logical {
            Some(logical) => self.commit_write(logical, page),
            None => self.valid[self.shape.unit_of(page)] -= 1,
        }
    }

    /// Checks that both maps, the valid counts, the free blocks and the open ones agree.
    /// `in_flight` are the flash pages that are allocated and not mapped: programs and copies that
    /// are not done.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub(crate) fn check_invariants(&self, in_flight: impl Iterator<Item = u32>) {
        let mut valid = vec![0; self.valid.len()];
        let mut mapped = 0;
        for (&logical, page) in self.flash_to_logical.iter().zip(0..) {
            let Some(logical) = logical.get() else { continue };
            assert_eq!(self.lookup(logical), Some(page), "flash page {page}");
            valid[self.shape.unit_of(page)] += 1;
            mapped += 1;
        }
        let logical = self.logical_to_flash.iter();
        assert_eq!(mapped, logical.filter(|&&page| page != PackedPage::NONE).count());
        for page in in_flight {
            valid[self.shape.unit_of(page)] += 1;
            assert_eq!(
                self.holds(page),
                None,
                "flash page {page} is mapped before it is programmed"
            );
        }
        for (unit, &count) in self.valid.iter().enumerate() {
            assert_eq!(count & !NOT_A_CANDIDATE, valid[unit], "valid count of unit {unit}");
        }
        if let Some(slc) = &self.slc {
            slc.check_invariants();
        }
        for (frontier, die) in self.frontiers.iter().zip(0..) {
            let in_slc = self.slc.as_ref().and_then(|slc| slc.frontiers[die as usize].block);
            self.space.for_each_unwritten(die, |block| {
                let first = self.shape.first_page(die, block);
                assert_eq!(self.count_valid(die, block), 0, "pages in a free block of die {die}");
                assert_ne!(frontier.block, Some(block), "block {block} is open and free");
                assert_ne!(in_slc, Some(block), "block {block} is in the cache and free");
                let unit = self.shape.unit_of(first);
                assert_ne!(self.valid[unit] & NOT_A_CANDIDATE, 0, "free unit {unit} is a victim");
            });
        }
    }
}
