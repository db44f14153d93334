//! The flash translation layer: page-level mapping, allocation, victims.
//!
//! Two `u32` per flash page (where a logical page is, and which logical page a flash page holds)
//! and a few bytes per block are all that it keeps, so a drive of 2 TiB with 16 KiB pages fits in
//! about 1 GiB. A victim is found by scanning the valid counts of one die (or of the lines): the
//! counts are contiguous, a scan is rare (one per collected block), and keeping sorted lists
//! instead would cost several cache misses on *every* overwrite.
//!
//! Each of its parts owns its state: the map (`map.rs`), the valid counts (`valid.rs`), free blocks
//! (`space.rs`), the cache of SLC blocks (`slc.rs`), the order of dies (`turns.rs`). Drives that
//! level wear keep full blocks in the order of their erases (`leveling.rs`), and drives with read
//! disturb count sensings (`sensings.rs`).

mod divisor;
mod frontier;
mod image;
mod leveling;
mod map;
mod page;
mod sensings;
mod shape;
mod slc;
mod slc_state;
mod space;
mod space_state;
mod state;
mod turns;
mod valid;

pub(crate) use image::{BlockImage, Placements};
pub(crate) use shape::Shape;

use crate::config::{CollectionUnit, Config};
use crate::ftl::frontier::Frontier;
use crate::ftl::leveling::Leveling;
use crate::ftl::map::PageMap;
use crate::ftl::sensings::Sensings;
use crate::ftl::slc::SlcBlocks;
use crate::ftl::space::{Mode, Space};
use crate::ftl::turns::Turns;
use crate::ftl::valid::ValidCounts;
use crate::slc_config::SlcCacheConfig;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Share of a victim that must be invalid above the hard watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worth {
    /// The share `min_invalid`: enough to be worth a collection.
    Enough,
    /// Any share with which its collection gives something back.
    Anything,
}

/// Mapping, allocation and victims of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    shape: Shape,
    map: PageMap,
    valid: ValidCounts,
    erase_counts: Vec<u32>,
    /// Erasures of each die since the drive was made or restored.
    die_erases: Vec<u64>,
    sensings: Sensings,
    space: Space,
    /// Next page of each die, outside of the cache.
    frontiers: Vec<Frontier>,
    /// Blocks that are programmed with one bit in a cell; `None` without such a cache.
    slc: Option<Box<SlcBlocks>>,
    /// Blocks by their erases; `None` if wear is not leveled.
    leveling: Option<Box<Leveling>>,
    turns: Turns,
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
        Self {
            map: PageMap::new(shape.stored_pages, shape.pages()),
            valid: ValidCounts::new(&shape, config.rain.is_some()),
            erase_counts: vec![0; (shape.dies * shape.blocks_per_die) as usize],
            die_erases: vec![0; shape.dies as usize],
            sensings: Sensings::new(config, &shape),
            space: Space::new(shape.unit, shape.dies, shape.blocks_per_die),
            frontiers: vec![Frontier::NONE; shape.dies as usize],
            slc: SlcBlocks::new(config, &shape).map(Box::new),
            leveling: Leveling::new(config, &shape).map(Box::new),
            turns: Turns::new(config, &shape),
            shape,
        }
    }

    /// The sizes of the drive.
    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Flash page of a logical page; `None` if it was never written.
    #[inline]
    pub(crate) fn lookup(&self, logical: u32) -> Option<u32> {
        self.map.lookup(logical)
    }

    /// Logical page of a flash page; `None` if the flash page is not valid.
    #[inline]
    pub(crate) fn holds(&self, page: u32) -> Option<u32> {
        self.map.holds(page)
    }

    /// Die that a logical page is bound to; `None` if numbers of pages do not determine dies.
    #[inline]
    pub(crate) fn bound_die(&self, logical: u32) -> Option<u32> {
        self.turns.bound_die(logical)
    }

    /// Die that serves a read of a page that was never written. The read costs as much as that of a
    /// written page.
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
        self.map.touch(logical);
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

    /// Whether the drive has a cache of SLC blocks.
    #[inline]
    pub(crate) fn has_slc(&self) -> bool {
        self.slc.is_some()
    }

    /// Pages that are programmed at a time in the cache; `None` without one.
    pub(crate) fn slc_row_pages(&self) -> Option<u32> {
        self.slc.as_ref().map(|slc| slc.row_pages())
    }

    /// Blocks (or lines) in SLC mode.
    pub(crate) fn slc_blocks(&self) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.in_use())
    }

    /// Blocks (or lines) that are kept for the cache of a drive that is otherwise full.
    pub(crate) fn slc_reserved_blocks(&self) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.config().reserved_blocks())
    }

    /// Sets the times of pages in the cache of SLC blocks.
    pub(crate) fn set_cache(&mut self, config: Option<SlcCacheConfig>) {
        if let (Some(slc), Some(config)) = (&mut self.slc, config) {
            slc.set_config(config);
        }
    }

    /// Cache settings for a flash page that is programmed with one bit in a cell; `None` for
    /// another page.
    #[inline]
    pub(crate) fn slc_at(&self, page: u32) -> Option<&SlcCacheConfig> {
        let slc = self.slc.as_ref()?;
        slc.has(self.shape.unit_of(page)).then_some(slc.config())
    }

    /// Pages that one program takes in at the place of `page`.
    #[inline]
    pub(crate) fn programmed_with(&self, page: u32) -> u32 {
        match &self.slc {
            Some(slc) if slc.has(self.shape.unit_of(page)) => slc.row_pages(),
            _ => self.shape.pages_per_program,
        }
    }

    /// Whether so little of the cache is left that folding cannot wait for the host to be idle.
    pub(crate) fn is_slc_low(&self, die: u32) -> bool {
        let free = self.space.free(die);
        self.slc.as_ref().is_some_and(|slc| slc.is_low(die, free, self.shape.levels.hard))
    }

    /// Whether host writes wait while the cache is full.
    pub(crate) fn waits_for_slc(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.waits_when_full())
    }

    /// Block (or line) of the cache to fold for `die`; `None` without a full one, or without room
    /// for its data.
    pub(crate) fn slc_to_fold(&self, die: u32) -> Option<u32> {
        let slc = self.slc.as_ref()?;
        let has_room = slc.has_borrowed(die) || self.free(die) > self.shape.levels.hard;
        slc.oldest(die).filter(|_| has_room)
    }

    pub(crate) fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Sensings of each block since its last erase; empty if they are not counted.
    pub(crate) fn sensing_counts(&self) -> &[u32] {
        self.sensings.counts()
    }

    /// Sensings of the block that `page` is in, since its last erase.
    pub(crate) fn sensings(&self, page: u32) -> u32 {
        self.sensings.of(page, &self.shape)
    }

    /// Counts `times` sensings of a flash page.
    #[inline]
    pub(crate) fn count_sensings(&mut self, page: u32, times: u32) {
        self.sensings.add(page, times, &self.shape);
    }

    /// Counts a sensing of a logical page, if it is mapped.
    pub(crate) fn count_sensing_of(&mut self, logical: Option<u32>) {
        if let Some(page) = logical.and_then(|logical| self.lookup(logical)) {
            self.count_sensings(page, 1);
        }
    }

    /// Erasures of a die since the drive was made or restored.
    pub(crate) fn die_erases(&self, die: u32) -> u64 {
        self.die_erases[die as usize]
    }

    /// Pages that are left in the open block of a die.
    pub(crate) fn open_pages(&self, die: u32) -> u32 {
        self.frontiers[die as usize].left()
    }

    /// The dies of a range, in the order of host writes.
    pub(crate) fn dies_of_range(&self, range: u32) -> &[u32] {
        self.turns.dies_of_range(range)
    }

    /// Allocates a host page on the next die of its range with room above the hard watermark.
    #[inline]
    pub(crate) fn allocate_for_host(&mut self, logical: u32) -> Option<Allocated> {
        let range = self.shape.range_of(logical);
        for _ in 0..self.shape.ranges.dies {
            let die = self.turns.take(range);
            if let Some(place) = self.allocate_for_host_on(die) {
                return Some(place);
            }
        }
        None
    }

    /// The die of a range whose turn it is to take a host page.
    #[inline]
    pub(crate) fn turn(&self, range: u32) -> u32 {
        self.turns.current(range)
    }

    /// Passes the turn to the next die of a range.
    #[inline]
    pub(crate) fn take_turn(&mut self, range: u32) {
        self.turns.take(range);
    }

    /// Allocates a host page on `die`, if it has room above the hard watermark.
    #[inline]
    pub(crate) fn allocate_for_host_on(&mut self, die: u32) -> Option<Allocated> {
        // Below the hard watermark a collection has opened a block for its copies. The host must
        // not fill it up before the collection does.
        let kept = self.kept_for_slc(die);
        if self.space.free(die) < self.shape.levels.hard + kept {
            return None;
        }
        let (page, opened_block) = self.allocate(die, self.shape.levels.hard + kept)?;
        Some(Allocated { page, die, opened_block })
    }

    /// Allocates a place on `die` for flushed pages: in the cache, or in an ordinary block if
    /// writes may bypass a full cache and the pages fill a whole program there.
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

    /// Allocates a place on `die` in a block that is programmed with one bit in a cell.
    fn allocate_in_slc(&mut self, die: u32) -> Option<Allocated> {
        let slc = self.slc.as_mut()?;
        let (page, opened_block) = slc.allocate(die, &self.shape, &mut self.space)?;
        self.valid.add(self.shape.unit_of(page), 1);
        Some(Allocated { page, die, opened_block })
    }

    /// Allocates a host page on `die` if it is bound to one, or else on the next die with room.
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

    /// Allocates a page of a stripe on `die`, if it has room above the hard watermark. The block of
    /// the page is no victim until [`Ftl::commit_pinned`] maps the page.
    pub(crate) fn allocate_pinned(&mut self, die: u32) -> Option<Allocated> {
        let place = self.allocate_for_host_on(die)?;
        self.valid.pin(self.shape.unit_of(place.page));
        Some(place)
    }

    /// Maps a logical page to `page`, which was allocated for it by [`Ftl::allocate_pinned`]. The
    /// block is a candidate as soon as it is full and has no such page left.
    pub(crate) fn commit_pinned(&mut self, logical: u32, page: u32) {
        self.commit_write(logical, page);
        let unit = self.shape.unit_of(page);
        let open = self.frontiers[self.shape.die_of(page) as usize].block;
        let is_open = Some(unit as u32 % self.shape.blocks_per_die) == open;
        if self.valid.unpin(unit) && !is_open {
            self.make_candidate(unit);
        }
    }

    /// Records that `used` pages of the unit that begins at `first` hold data. `first` has just
    /// been allocated on `die`; the rest of the unit is filler.
    pub(crate) fn fill_unit(&mut self, die: u32, first: u32, used: u32) {
        let pages = self.programmed_with(first);
        debug_assert!(first.is_multiple_of(pages), "page {first}");
        let unit = self.shape.unit_of(first);
        self.valid.add(unit, used - 1);
        if let Some(leveling) = &mut self.leveling
            && leveling.advance(die, first, first + pages)
        {
            return;
        }
        match &mut self.slc {
            Some(slc) if slc.has(unit) => slc.advance(die, first + pages, &mut self.space),
            _ => self.frontiers[die as usize].next = first + pages,
        }
    }

    /// Advances a die to the first page of a unit: pages that were placed one by one are followed
    /// by filler.
    pub(crate) fn align(&mut self, die: u32) {
        let frontier = &mut self.frontiers[die as usize];
        frontier.next = frontier.next.next_multiple_of(self.shape.pages_per_program);
    }

    /// Allocates a place on `die` for a page that a collection moves.
    #[inline]
    pub(crate) fn allocate_for_collection(&mut self, die: u32) -> u32 {
        if let Some(leveling) = &mut self.leveling
            && let Some(page) = leveling.take_page(die)
        {
            self.valid.add(self.shape.unit_of(page), 1);
            return page;
        }
        // A collection always finds room: the host stops at the hard watermark, which is at least
        // one block, and a collection frees a block for every block of copies.
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
        let (page, block) = (frontier.next, frontier.block?);
        frontier.next += 1;
        self.valid.add(self.shape.unit_of_block(die, block), 1);
        Some((page, opened))
    }

    #[cold]
    fn open_block(&mut self, die: u32, keep: u32) -> Option<()> {
        let block = self.space.open(die, Mode::Ordinary, keep)?.block;
        let first = self.shape.first_page(die, block);
        if let Some(full) = self.frontiers[die as usize].block
            && self.space.close(Mode::Ordinary, full)
        {
            let unit = self.shape.unit_of_block(die, full);
            if !self.valid.is_pinned(unit) {
                self.make_candidate(unit);
            }
        }
        self.frontiers[die as usize] =
            Frontier { next: first, end: first + self.shape.pages_per_block, block: Some(block) };
        Some(())
    }

    /// Unmaps a logical page. Returns whether it was mapped.
    pub(crate) fn forget(&mut self, logical: u32) -> bool {
        let old = self.map.remove(logical);
        if let Some(old) = old {
            self.valid.remove_one(self.shape.unit_of(old));
        }
        old.is_some()
    }

    /// Maps a logical page to `page`, which was allocated for it.
    #[inline]
    pub(crate) fn commit_write(&mut self, logical: u32, page: u32) {
        if let Some(old) = self.map.insert(logical, page) {
            self.valid.remove_one(self.shape.unit_of(old));
        }
    }

    /// Maps a page that a collection has copied to `to`. If the host overwrote it in the meantime,
    /// the copy stays invalid.
    #[inline]
    pub(crate) fn commit_copy(&mut self, logical: u32, from: u32, to: u32) {
        let stale = if self.map.replace(logical, from, to) { from } else { to };
        self.valid.remove_one(self.shape.unit_of(stale));
    }

    /// Victim of `die`: its block (or the line) with the fewest valid pages, if it is of `worth`.
    /// At the hard watermark and below, any gain is enough.
    pub(crate) fn victim(&self, die: u32, worth: Worth) -> Option<u32> {
        let levels = &self.shape.levels;
        let min_invalid = match worth {
            Worth::Enough if self.free(die) > levels.hard => levels.min_invalid,
            Worth::Enough | Worth::Anything => levels.least_invalid,
        };
        let units = match self.shape.unit {
            CollectionUnit::Line => 0..self.valid.len(),
            CollectionUnit::Block => {
                let first = (die * self.shape.blocks_per_die) as usize;
                first..first + self.shape.blocks_per_die as usize
            }
        };
        let valid_max = self.shape.pages_per_unit - min_invalid.max(1);
        let ordinary = self.valid.emptiest(units, valid_max);
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.has_borrowed(die)) else {
            return ordinary;
        };
        let valid = |block| self.valid.valid(self.shape.unit_of_block(die, block));
        match (slc.oldest(die), ordinary) {
            (Some(cached), Some(ordinary)) if valid(ordinary) < valid(cached) => Some(ordinary),
            (cached, ordinary) => cached.or(ordinary),
        }
    }

    /// Removes a victim from the candidates.
    pub(crate) fn begin_collection(&mut self, die: u32, block: u32) {
        let unit = self.shape.unit_of_block(die, block);
        self.take_candidate(unit);
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.has(unit)) {
            slc.take(die, block);
        }
    }

    /// Gives back a victim that was not collected.
    pub(crate) fn cancel_collection(&mut self, die: u32, block: u32) {
        let unit = self.shape.unit_of_block(die, block);
        self.cancel_swap(die, block);
        match self.slc.as_mut().filter(|slc| slc.has(unit)) {
            Some(slc) => slc.give_back(die, block),
            None => self.make_candidate(unit),
        }
    }

    /// Counts the valid pages of one block.
    pub(crate) fn count_valid(&self, die: u32, block: u32) -> u32 {
        let first = self.shape.first_page(die, block);
        self.count_valid_between(first, first + self.shape.pages_per_block)
    }

    /// Counts the valid pages in `cursor..end`.
    pub(crate) fn count_valid_between(&self, cursor: u32, end: u32) -> u32 {
        self.map.count_valid(cursor, end)
    }

    /// Whether the block (or line) has pages that are allocated but not programmed yet.
    pub(crate) fn has_pages_in_flight(&self, die: u32, block: u32) -> bool {
        let programmed: u32 = match self.shape.unit {
            CollectionUnit::Block => self.count_valid(die, block),
            CollectionUnit::Line => {
                (0..self.shape.dies).map(|die| self.count_valid(die, block)).sum()
            }
        };
        self.valid.valid(self.shape.unit_of_block(die, block)) != programmed
    }

    /// The next valid page in `cursor..end`, and the logical page that it holds.
    #[inline]
    pub(crate) fn next_valid(&self, cursor: u32, end: u32) -> Option<(u32, u32)> {
        self.map.next_valid(cursor, end)
    }

    /// Records that a block is erased. It is free when its unit is erased everywhere. Returns
    /// whether that ends a swap for wear leveling.
    pub(crate) fn erase(&mut self, die: u32, block: u32) -> bool {
        debug_assert_eq!(self.count_valid(die, block), 0, "erasing valid pages");
        let index = (die * self.shape.blocks_per_die + block) as usize;
        self.erase_counts[index] += 1;
        self.die_erases[die as usize] += 1;
        self.sensings.forget(index);
        let pool = self.blocks_of_pool(die);
        let erases = self.leveling.is_some().then(|| &self.erase_counts[pool]);
        if !self.space.release(die, block, erases) {
            return false;
        }
        if let Some(slc) = &mut self.slc {
            slc.end(die, self.shape.unit_of_block(die, block));
        }
        self.end_swap(die, block)
    }

    /// Lays out the next `pages` pages of `die` as `image` says. The die is at the start of a
    /// block, or has as many pages left in its open block. None of the logical pages may be placed
    /// yet; [`Ftl::enter`] maps them.
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
        // The allocation opens a block if need be, and counts one page as valid.
        let first = self.allocate_for_collection(die);
        let frontier = &mut self.frontiers[die as usize];
        frontier.next = first + pages;
        debug_assert!(frontier.next <= frontier.end, "more pages than the block has left");
        let unit = self.shape.unit_of(first);
        self.valid.add(unit, image.valid());
        self.valid.remove_one(unit);
        for (offset, logical) in image.pages() {
            placements.add(logical, first + offset);
            self.map.insert_half(first + offset, logical);
        }
    }

    /// Maps pages to the places where they were laid out.
    pub(crate) fn enter(&mut self, placements: &Placements) {
        self.map.complete(placements.iter());
    }

    /// Checks that both maps, the valid counts, the free blocks and the open ones agree.
    /// `in_flight` are the flash pages that are allocated and not mapped: targets of programs and
    /// copies under way.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub(crate) fn check_invariants(&self, in_flight: impl Iterator<Item = u32>) {
        self.map.check_invariants();
        let mut valid = vec![0; self.valid.len()];
        self.map.valid_pages().for_each(|page| valid[self.shape.unit_of(page)] += 1);
        for page in in_flight {
            valid[self.shape.unit_of(page)] += 1;
            assert_eq!(
                self.holds(page),
                None,
                "flash page {page} is mapped before it is programmed"
            );
        }
        for (unit, &count) in valid.iter().enumerate() {
            assert_eq!(self.valid.valid(unit), count, "valid count of unit {unit}");
        }
        if let Some(slc) = &self.slc {
            slc.check_invariants();
        }
        self.check_leveling();
        for (frontier, die) in self.frontiers.iter().zip(0..) {
            let in_slc = self.slc.as_ref().and_then(|slc| slc.open_block(die));
            self.space.for_each_unwritten(die, |block| {
                let unit = self.shape.unit_of_block(die, block);
                assert_eq!(self.count_valid(die, block), 0, "pages in a free block of die {die}");
                assert_ne!(frontier.block, Some(block), "block {block} is open and free");
                assert_ne!(in_slc, Some(block), "block {block} is in the cache and free");
                assert!(!self.valid.is_candidate(unit), "free unit {unit} is a victim");
            });
        }
    }
}
