//! A cache of blocks that are programmed with one bit in a cell (SLC), as client drives have it.
//!
//! Any block may be in SLC mode: it holds one of the pages that share its cells, is read and
//! programmed faster, and becomes an ordinary block again when it is erased. The cache uses all
//! blocks that nothing else needs, and shrinks as the drive fills up; some blocks are kept for it
//! in any case. A collection *folds* its data into ordinary blocks.
//!
//! Knows: the blocks in SLC mode, which of them are full, and how many more may be opened. Does not
//! know: the source of free blocks, when the drive is idle, how folding proceeds.

use crate::config::{CollectionUnit, Config};
use crate::ftl::frontier::Frontier;
use crate::ftl::shape::Shape;
use crate::ftl::space::{Mode, Space};
use crate::slc_config::{SlcCacheConfig, SlcOverflow};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// Blocks of one drive in SLC mode. A block here is a block of a die, or a line; a *pool* is a die,
/// or the drive.
#[derive(Clone, Debug)]
pub(super) struct SlcBlocks {
    config: SlcCacheConfig,
    /// Pages that one program takes in.
    pub(super) row_pages: u32,
    /// Pages that a block of a die holds in SLC mode.
    pub(super) pages_per_block: u32,
    /// Free blocks that must be left when the cache borrows one.
    lend_above: u32,
    has_lines: bool,
    /// Whether each block (or line) is in SLC mode.
    in_mode: Vec<bool>,
    /// Blocks of each pool in SLC mode that are not being folded.
    count: Vec<u32>,
    /// Blocks of each pool that are being folded.
    folding: Vec<u32>,
    /// Full blocks of each pool that are not being folded, oldest first.
    pub(super) full: Vec<VecDeque<u32>>,
    /// Next page of each die.
    pub(super) frontiers: Vec<Frontier>,
}

impl SlcBlocks {
    pub(super) fn new(config: &Config, shape: &Shape) -> Option<Self> {
        let cells = config.cells?;
        let slc = cells.slc?;
        let has_lines = shape.unit == CollectionUnit::Line;
        let pools = if has_lines { 1 } else { shape.dies };
        let units = pools * shape.blocks_per_die;
        Some(Self {
            config: slc,
            row_pages: cells.row_pages(),
            pages_per_block: slc.pages_per_block(&cells, shape.pages_per_block),
            // A borrowed block must not make a collection due.
            lend_above: shape.levels.restore + 1,
            has_lines,
            in_mode: vec![false; units as usize],
            count: vec![0; pools as usize],
            folding: vec![0; pools as usize],
            full: vec![VecDeque::new(); pools as usize],
            frontiers: vec![Frontier::NONE; shape.dies as usize],
        })
    }

    pub(super) fn config(&self) -> &SlcCacheConfig {
        &self.config
    }

    /// Sets the times of pages.
    pub(super) fn set_config(&mut self, config: SlcCacheConfig) {
        self.config = config;
    }

    /// Pages that one program takes in.
    pub(super) fn row_pages(&self) -> u32 {
        self.row_pages
    }

    /// Whether host writes wait while the cache is full.
    pub(super) fn waits_when_full(&self) -> bool {
        self.config.overflow == SlcOverflow::Wait
    }

    /// The block that a die writes in SLC mode.
    pub(super) fn open_block(&self, die: u32) -> Option<u32> {
        self.frontiers[die as usize].block
    }

    /// Allocates the next page of a die, and says whether a free block (or line) was opened for it.
    /// A block counts as full when its last page is taken, because a long time may pass before the
    /// next page is needed.
    pub(super) fn allocate(
        &mut self,
        die: u32,
        shape: &Shape,
        space: &mut Space,
    ) -> Option<(u32, bool)> {
        let mut opened_block = false;
        if self.open_block(die).is_none() {
            let keep = self.keep(die, shape.levels.hard);
            let opened = space.open(die, Mode::Slc, keep)?;
            let first = shape.first_page(die, opened.block);
            if opened.was_free {
                self.begin(die, shape.unit_of(first));
                opened_block = true;
            }
            let end = first + self.pages_per_block;
            self.frontiers[die as usize] = Frontier { next: first, end, block: Some(opened.block) };
        }
        Some((self.frontiers[die as usize].next, opened_block))
    }

    /// Advances a die to the page `next`, which may be the end of its block.
    pub(super) fn advance(&mut self, die: u32, next: u32, space: &mut Space) {
        let frontier = &mut self.frontiers[die as usize];
        frontier.next = next;
        if next == frontier.end
            && let Some(full) = core::mem::replace(frontier, Frontier::NONE).block
            && space.close(Mode::Slc, full)
        {
            self.fill(die, full);
        }
    }

    #[inline]
    fn pool(&self, die: u32) -> usize {
        if self.has_lines { 0 } else { die as usize }
    }

    /// Whether a unit of the drive is in SLC mode.
    #[inline]
    pub(super) fn has(&self, unit: usize) -> bool {
        self.in_mode[unit]
    }

    /// Free blocks that are kept for the cache.
    pub(super) fn kept_free(&self, die: u32) -> u32 {
        self.config.fixed_blocks.saturating_sub(self.count[self.pool(die)])
    }

    /// Number of free blocks, of all kinds, at or below which no other may be opened in SLC mode.
    /// `hard` free blocks are for collections.
    fn keep(&self, die: u32, hard: u32) -> u32 {
        let count = self.count[self.pool(die)];
        match self.kept_free(die) {
            _ if count >= self.config.most_blocks => u32::MAX,
            0 => self.lend_above,
            kept => hard + kept - 1,
        }
    }

    /// Number of blocks that could still be opened in SLC mode if `free` blocks are free.
    fn room(&self, die: u32, free: u32, hard: u32) -> u32 {
        let quota = self.config.most_blocks.saturating_sub(self.count[self.pool(die)]);
        let kept = self.kept_free(die);
        let lent = (free.saturating_sub(kept)).saturating_sub(self.lend_above);
        let fixed = if free >= hard + kept { kept } else { 0 };
        quota.min(fixed + lent)
    }

    /// Whether so few blocks can be opened that folding cannot wait for the host to be idle.
    pub(super) fn is_low(&self, die: u32, free: u32, hard: u32) -> bool {
        self.config.low_blocks > 0
            && !self.full[self.pool(die)].is_empty()
            && self.room(die, free, hard) < self.config.low_blocks
    }

    /// Counts a block that has been opened in SLC mode for a die.
    fn begin(&mut self, die: u32, unit: usize) {
        let pool = self.pool(die);
        self.count[pool] += 1;
        self.in_mode[unit] = true;
    }

    /// Records that a block is full on all its dies.
    fn fill(&mut self, die: u32, block: u32) {
        let pool = self.pool(die);
        self.full[pool].push_back(block);
    }

    /// Records that a block is erased on all its dies.
    pub(super) fn end(&mut self, die: u32, unit: usize) {
        if core::mem::replace(&mut self.in_mode[unit], false) {
            let pool = self.pool(die);
            self.folding[pool] -= 1;
        }
    }

    /// Block to fold for `die`: the oldest full block, because most of its data have been
    /// overwritten.
    pub(super) fn oldest(&self, die: u32) -> Option<u32> {
        self.full[self.pool(die)].front().copied()
    }

    /// Returns true if folding gives back a block for other uses. The cache keeps its fixed blocks,
    /// while the data in them need room elsewhere.
    pub(super) fn has_borrowed(&self, die: u32) -> bool {
        self.count[self.pool(die)] > self.config.fixed_blocks
    }

    /// Begins to fold a block. It no longer counts as part of the cache, so a free block is kept
    /// for the cache in its place and stays unavailable to others.
    pub(super) fn take(&mut self, die: u32, block: u32) {
        let pool = self.pool(die);
        self.full[pool].retain(|&full| full != block);
        self.count[pool] -= 1;
        self.folding[pool] += 1;
    }

    /// Cancels the folding of a block.
    pub(super) fn give_back(&mut self, die: u32, block: u32) {
        let pool = self.pool(die);
        self.full[pool].push_front(block);
        self.count[pool] += 1;
        self.folding[pool] -= 1;
    }

    /// Sets which blocks (or lines) are in SLC mode. Returns false if a pool has too many of them.
    pub(super) fn set_modes(&mut self, in_mode: Vec<bool>) -> bool {
        let units_of_pool = in_mode.len() / self.count.len();
        for (count, units) in self.count.iter_mut().zip(in_mode.chunks(units_of_pool)) {
            *count = units.iter().filter(|&&is_slc| is_slc).count() as u32;
        }
        self.in_mode = in_mode;
        // One more is possible: a block that was given back after another had been opened in its
        // place.
        self.count.iter().all(|&count| count <= self.config.most_blocks + 1)
    }

    /// Blocks (or lines) in SLC mode.
    pub(super) fn in_use(&self) -> u32 {
        self.count.iter().chain(&self.folding).sum()
    }

    /// Checks that the counts agree with the modes.
    pub(super) fn check_invariants(&self) {
        let units_of_pool = self.in_mode.len() / self.count.len();
        for (pool, units) in self.in_mode.chunks(units_of_pool).enumerate() {
            let count = units.iter().filter(|&&is_slc| is_slc).count();
            let known = self.count[pool] + self.folding[pool];
            assert_eq!(count, known as usize, "blocks in SLC mode of pool {pool}");
            for &block in &self.full[pool] {
                assert!(
                    units[block as usize],
                    "block {block} is in the cache, but not in its mode"
                );
            }
        }
        for frontier in &self.frontiers {
            assert_eq!(
                frontier.block.is_none(),
                frontier.next == frontier.end,
                "a full open block"
            );
        }
    }
}
