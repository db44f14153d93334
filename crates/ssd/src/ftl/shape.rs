//! The sizes of a drive that the FTL computes addresses with.

use crate::config::{CollectionUnit, Config, RangePlacement};
use crate::ftl::divisor::Divisor;

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
    /// more if the last program of its valid pages contains filler.
    pub(crate) least_invalid: u32,
}

/// Ranges of logical blocks with dies of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    pub(crate) count: u32,
    /// Logical pages in a range.
    pages: u32,
    /// Dies of a range.
    pub(crate) dies: u32,
    /// Length of a run of consecutive dies in the same range; the ranges alternate in such runs.
    dies_per_step: u32,
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
    /// Logical pages and the parity pages behind them.
    pub(crate) stored_pages: u32,
    /// Pages in a block or in a line.
    pub(crate) pages_per_unit: u32,
    /// Pages that one program takes in.
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

    /// Units of collection: blocks, or lines.
    pub(crate) fn units(&self) -> u32 {
        match self.unit {
            CollectionUnit::Block => self.dies * self.blocks_per_die,
            CollectionUnit::Line => self.blocks_per_die,
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

    /// Range of logical blocks on a die.
    #[inline]
    pub(crate) fn range_of_die(&self, die: u32) -> u32 {
        if self.ranges.count == 1 {
            return 0;
        }
        die / self.ranges.dies_per_step % self.ranges.count
    }

    /// Range of a logical page.
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

    /// Unit that contains a block of a die.
    #[inline]
    pub(crate) fn unit_of_block(&self, die: u32, block: u32) -> usize {
        match self.unit {
            CollectionUnit::Block => (die * self.blocks_per_die + block) as usize,
            CollectionUnit::Line => block as usize,
        }
    }

    pub(crate) fn first_page(&self, die: u32, block: u32) -> u32 {
        (die * self.blocks_per_die + block) * self.pages_per_block
    }
}
