//! Free blocks and the order in which dies open them.

use crate::config::CollectionUnit;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// Free blocks: the first freed is opened first, which spreads wear. Where wear is leveled, the
/// least erased is opened first, and among equals the first freed.
#[derive(Clone, Debug)]
pub(super) enum Space {
    /// Every die has blocks of its own.
    Blocks(Vec<VecDeque<u32>>),
    /// Blocks of the same number on all dies are opened and freed as a line.
    Lines(Lines),
}

/// Lines in the order of opening. Dies fill at slightly different speeds, because a collection
/// copies a different number of pages on each; every die goes through the same sequence at its own
/// pace.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) free: VecDeque<u32>,
    /// Lines that are being filled with all bits of a cell.
    pub(super) ordinary: Sequence,
    /// Lines that are being filled with one bit in a cell.
    pub(super) slc: Sequence,
    /// Dies that have filled their block of each line.
    pub(super) left: Vec<u32>,
    /// Dies that have erased their block of each line.
    erased: Vec<u32>,
}

/// Lines that are being filled.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Lines that some die has not filled yet, oldest first.
    pub(super) opened: VecDeque<u32>,
    /// Sequence number of the first line in `opened`.
    pub(super) opened_base: u64,
    /// Sequence number of the next line of each die.
    pub(super) position: Vec<u64>,
}

/// Mode in which a block is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// With all bits of a cell.
    Ordinary,
    /// With one bit in a cell.
    Slc,
}

/// A block that a die may fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) block: u32,
    /// The block was free on all dies.
    pub(super) was_free: bool,
}

impl Space {
    pub(super) fn new(unit: CollectionUnit, dies: u32, blocks_per_die: u32) -> Self {
        match unit {
            CollectionUnit::Block => {
                Self::Blocks(vec![(0..blocks_per_die).collect(); dies as usize])
            }
            CollectionUnit::Line => Self::Lines(Lines {
                free: (0..blocks_per_die).collect(),
                ordinary: Sequence::new(dies),
                slc: Sequence::new(dies),
                left: vec![0; blocks_per_die as usize],
                erased: vec![0; blocks_per_die as usize],
            }),
        }
    }

    /// Free blocks of `die`, or free lines.
    pub(super) fn free(&self, die: u32) -> u32 {
        match self {
            Self::Blocks(free) => free[die as usize].len() as u32,
            Self::Lines(lines) => lines.free.len() as u32,
        }
    }

    /// Opens the next block of `die` in a mode, unless that would leave fewer than `keep` free.
    pub(super) fn open(&mut self, die: u32, mode: Mode, keep: u32) -> Option<Opened> {
        match self {
            Self::Blocks(free) => {
                let free = &mut free[die as usize];
                if free.len() as u32 <= keep {
                    return None;
                }
                free.pop_front().map(|block| Opened { block, was_free: true })
            }
            Self::Lines(lines) => lines.open(die, mode, keep),
        }
    }

    /// Records that `die` has filled `block`. Returns whether the collection unit is now full
    /// everywhere.
    pub(super) fn close(&mut self, mode: Mode, block: u32) -> bool {
        match self {
            Self::Blocks(_) => true,
            Self::Lines(lines) => lines.close(mode, block),
        }
    }

    /// Records that `die` has erased `block`. Returns whether the collection unit is now free.
    /// `erases` are the erase counts of the blocks of the die (or of the lines), if wear is
    /// leveled.
    pub(super) fn release(&mut self, die: u32, block: u32, erases: Option<&[u32]>) -> bool {
        let is_free = match self {
            Self::Blocks(_) => true,
            Self::Lines(lines) => lines.release(block),
        };
        if is_free {
            self.put_back(die, block, erases);
        }
        is_free
    }

    /// Adds a block of `die` (or a line) to the free ones.
    pub(super) fn put_back(&mut self, die: u32, block: u32, erases: Option<&[u32]>) {
        let free = self.free_blocks_mut(die);
        match erases {
            None => free.push_back(block),
            Some(erases) => {
                let own = erases[block as usize];
                let at = free.partition_point(|&other| erases[other as usize] <= own);
                free.insert(at, block);
            }
        }
    }

    /// Puts the free blocks of `die` (or lines) into the order of their erases.
    pub(super) fn sort_free(&mut self, die: u32, erases: &[u32]) {
        let free = self.free_blocks_mut(die).make_contiguous();
        free.sort_by_key(|&block| erases[block as usize]);
    }

    /// The free block of `die` (or line) that is opened next.
    pub(super) fn next_free(&self, die: u32) -> Option<u32> {
        self.free_blocks(die).front().copied()
    }

    /// Takes the free block of `die` (or line) that would be opened last.
    pub(super) fn take_last_free(&mut self, die: u32) -> Option<u32> {
        self.free_blocks_mut(die).pop_back()
    }

    /// Calls `tell` with the free blocks of `die` (or lines) in the order in which they are opened.
    pub(super) fn for_each_free(&self, die: u32, tell: impl FnMut(u32)) {
        self.free_blocks(die).iter().copied().for_each(tell);
    }

    fn free_blocks(&self, die: u32) -> &VecDeque<u32> {
        match self {
            Self::Blocks(free) => &free[die as usize],
            Self::Lines(lines) => &lines.free,
        }
    }

    fn free_blocks_mut(&mut self, die: u32) -> &mut VecDeque<u32> {
        match self {
            Self::Blocks(free) => &mut free[die as usize],
            Self::Lines(lines) => &mut lines.free,
        }
    }
}

impl Sequence {
    fn new(dies: u32) -> Self {
        Self { opened: VecDeque::new(), opened_base: 0, position: vec![0; dies as usize] }
    }

    /// Opened lines that `die` has come to.
    pub(super) fn reached(&self, die: u32) -> usize {
        (self.position[die as usize] - self.opened_base) as usize
    }
}

impl Lines {
    fn sequence(&mut self, mode: Mode) -> &mut Sequence {
        match mode {
            Mode::Ordinary => &mut self.ordinary,
            Mode::Slc => &mut self.slc,
        }
    }

    fn open(&mut self, die: u32, mode: Mode, keep: u32) -> Option<Opened> {
        let free = self.free.len() as u32;
        let reached = self.sequence(mode).reached(die);
        let was_free = reached == self.sequence(mode).opened.len();
        if was_free {
            if free <= keep {
                return None;
            }
            let line = self.free.pop_front()?;
            self.sequence(mode).opened.push_back(line);
        }
        let sequence = self.sequence(mode);
        sequence.position[die as usize] += 1;
        Some(Opened { block: sequence.opened[reached], was_free })
    }

    fn close(&mut self, mode: Mode, line: u32) -> bool {
        let dies = self.ordinary.position.len() as u32;
        let left = &mut self.left[line as usize];
        *left += 1;
        if *left < dies {
            return false;
        }
        *left = 0;
        // Every die fills lines in the same order, so the first full line is the oldest.
        let sequence = self.sequence(mode);
        let oldest = sequence.opened.pop_front();
        debug_assert_eq!(oldest, Some(line));
        sequence.opened_base += 1;
        true
    }

    /// Records that a die has erased its block of a line. Returns whether all dies have.
    fn release(&mut self, line: u32) -> bool {
        let erased = &mut self.erased[line as usize];
        *erased += 1;
        let is_free = *erased == self.ordinary.position.len() as u32;
        if is_free {
            *erased = 0;
        }
        is_free
    }
}
