//! Free blocks and the order in which dies open them.

use crate::config::CollectionUnit;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// Blocks that may be opened, first freed first opened, which spreads wear.
#[derive(Clone, Debug)]
pub(crate) enum Space {
    /// Every die has blocks of its own.
    Blocks(Vec<VecDeque<u32>>),
    /// Blocks of the same number on all dies are opened and freed as a line.
    Lines(Lines),
}

/// Lines in the order of opening. Dies fill at slightly different speeds, because a collection
/// copies a different number of pages on each; every die walks the same sequence at its own pace.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) free: VecDeque<u32>,
    /// Lines that some die has not filled yet, oldest first.
    pub(crate) opened: VecDeque<u32>,
    /// Sequence number of the first line in `opened`.
    pub(crate) opened_base: u64,
    /// Sequence number of the next line of each die.
    pub(crate) position: Vec<u64>,
    /// Dies that have filled their block of the line.
    pub(crate) left: Vec<u32>,
    /// Dies that have erased their block of the line.
    erased: Vec<u32>,
}

impl Space {
    pub(crate) fn new(unit: CollectionUnit, dies: u32, blocks_per_die: u32) -> Self {
        match unit {
            CollectionUnit::Block => {
                Self::Blocks(vec![(0..blocks_per_die).collect(); dies as usize])
            }
            CollectionUnit::Line => Self::Lines(Lines {
                free: (0..blocks_per_die).collect(),
                opened: VecDeque::new(),
                opened_base: 0,
                position: vec![0; dies as usize],
                left: vec![0; blocks_per_die as usize],
                erased: vec![0; blocks_per_die as usize],
            }),
        }
    }

    /// Free blocks of `die`, or free lines.
    pub(crate) fn free(&self, die: u32) -> u32 {
        match self {
            Self::Blocks(free) => free[die as usize].len() as u32,
            Self::Lines(lines) => lines.free.len() as u32,
        }
    }

    /// The next block of `die`, unless that would leave fewer than `keep` free.
    pub(crate) fn open(&mut self, die: u32, keep: u32) -> Option<u32> {
        match self {
            Self::Blocks(free) => {
                let free = &mut free[die as usize];
                if free.len() as u32 <= keep { None } else { free.pop_front() }
            }
            Self::Lines(lines) => lines.open(die, keep),
        }
    }

    /// `die` has filled `block`. Returns whether the collection unit is now full everywhere.
    pub(crate) fn close(&mut self, block: u32) -> bool {
        match self {
            Self::Blocks(_) => true,
            Self::Lines(lines) => lines.close(block),
        }
    }

    /// `die` has erased `block`.
    pub(crate) fn release(&mut self, die: u32, block: u32) {
        match self {
            Self::Blocks(free) => free[die as usize].push_back(block),
            Self::Lines(lines) => lines.release(block),
        }
    }
}

impl Lines {
    fn open(&mut self, die: u32, keep: u32) -> Option<u32> {
        let position = &mut self.position[die as usize];
        let ahead = (*position - self.opened_base) as usize;
        if ahead == self.opened.len() {
            if self.free.len() as u32 <= keep {
                return None;
            }
            self.opened.push_back(self.free.pop_front()?);
        }
        *position += 1;
        Some(self.opened[ahead])
    }

    fn close(&mut self, line: u32) -> bool {
        let left = &mut self.left[line as usize];
        *left += 1;
        if *left < self.position.len() as u32 {
            return false;
        }
        *left = 0;
        // Every die fills lines in the same order, so the first to be full is the oldest.
        let oldest = self.opened.pop_front();
        debug_assert_eq!(oldest, Some(line));
        self.opened_base += 1;
        true
    }

    fn release(&mut self, line: u32) {
        let erased = &mut self.erased[line as usize];
        *erased += 1;
        if *erased == self.position.len() as u32 {
            *erased = 0;
            self.free.push_back(line);
        }
    }
}
