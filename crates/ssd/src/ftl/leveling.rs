//! Static wear leveling. Cold data keep their block from being erased, so that the other blocks
//! wear out. A *swap* moves them to a worn block, and their old block takes its turn.
//!
//! Blocks of a die are compared with each other, or the lines of the drive where lines are
//! collected. Such a *pool* opens its least erased free block first. A swap is due when that block
//! has more than `most` erases more than the least erased block that holds data: every block in use
//! is worn then, so those data are cold. A collection copies them into the most erased free block,
//! which counts as full afterwards, and free space is as before. The pool opens the block that they
//! leave next. So there is one swap at most for each block that is opened, and none while young
//! blocks are in use.
//!
//! To compare with the most erased block instead would move hot data as soon as the cold ones have
//! moved: to the most worn blocks, which are then erased once more, and so on.
//!
//! **Bound.** Two blocks of a pool differ by at most `most + 2` erases. That holds if swaps begin
//! as soon as they are due and no block is opened meanwhile, and if cold data stay cold. A block is
//! opened with at most `most` erases more than any full block. The block that was being filled
//! until then may have fewer erases, and the next check finds it: one more. The erase at the end of
//! its life is one more.

use crate::config::{CollectionUnit, Config};
use crate::ftl::Ftl;
use crate::ftl::frontier::Frontier;
use crate::ftl::shape::Shape;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// A swap of a pool.
#[derive(Clone, Copy, Debug)]
struct Swap {
    /// The block (or line) that the data leave.
    from: u32,
    /// The block (or line) that takes them in.
    to: u32,
}

/// The blocks of one drive by their erases.
#[derive(Clone, Debug)]
pub(super) struct Leveling {
    /// Erases that the least erased free block of a pool may be ahead.
    most: u32,
    /// Blocks (or lines) of each pool that may be victims, as pairs of erases and block.
    full: Vec<BTreeSet<(u32, u32)>>,
    /// Swap under way in each pool.
    swaps: Vec<Option<Swap>>,
    /// Next page of each die for the data that it swaps.
    frontiers: Vec<Frontier>,
}

impl Leveling {
    pub(super) fn new(config: &Config, shape: &Shape) -> Option<Self> {
        let most = config.collection.static_wear_leveling;
        let pools = match shape.unit {
            CollectionUnit::Block => shape.dies as usize,
            CollectionUnit::Line => 1,
        };
        (most > 0).then(|| Self {
            most,
            full: vec![BTreeSet::new(); pools],
            swaps: vec![None; pools],
            frontiers: vec![Frontier::NONE; shape.dies as usize],
        })
    }

    fn pool(&self, die: u32) -> usize {
        if self.full.len() == 1 { 0 } else { die as usize }
    }

    /// Adds a block (or line) with `erases` erases to the possible victims.
    pub(super) fn add(&mut self, unit: usize, erases: u32, shape: &Shape) {
        let (pool, block) = place(unit, shape);
        self.full[pool].insert((erases, block));
    }

    /// Removes a block (or line) from the possible victims.
    pub(super) fn remove(&mut self, unit: usize, erases: u32, shape: &Shape) {
        let (pool, block) = place(unit, shape);
        self.full[pool].remove(&(erases, block));
    }

    /// Takes the next page for data that `die` swaps; `None` if it swaps none.
    #[inline]
    pub(super) fn take_page(&mut self, die: u32) -> Option<u32> {
        let frontier = &mut self.frontiers[die as usize];
        let page = frontier.next;
        (page < frontier.end).then(|| {
            frontier.next += 1;
            page
        })
    }

    /// Advances the frontier of a swap to `end`, behind the program that begins at `first`. Returns
    /// whether that program belongs to a swap.
    pub(super) fn advance(&mut self, die: u32, first: u32, end: u32) -> bool {
        let frontier = &mut self.frontiers[die as usize];
        // `first` has been taken already.
        let is_there = frontier.next == first + 1 && first < frontier.end;
        if is_there {
            frontier.next = end;
        }
        is_there
    }

    fn begin(&mut self, die: u32, swap: Swap, shape: &Shape) {
        let pool = self.pool(die);
        self.swaps[pool] = Some(swap);
        for die in self.dies_of(die) {
            let next = shape.first_page(die, swap.to);
            let end = next + shape.pages_per_block;
            self.frontiers[die as usize] = Frontier { next, end, block: Some(swap.to) };
        }
    }

    /// Ends the swap whose victim is `block` of `die`. Returns the block that has taken the data
    /// in; `None` if the victim belongs to no swap.
    fn end(&mut self, die: u32, block: u32) -> Option<u32> {
        let pool = self.pool(die);
        let swap = self.swaps[pool].take_if(|swap| swap.from == block)?;
        for die in self.dies_of(die) {
            self.frontiers[die as usize] = Frontier::NONE;
        }
        Some(swap.to)
    }

    /// The dies that swap together with `die`.
    fn dies_of(&self, die: u32) -> core::ops::Range<u32> {
        match self.full.len() {
            1 => 0..self.frontiers.len() as u32,
            _ => die..die + 1,
        }
    }
}

/// The pool of a unit, and the number of its block (or line) there.
fn place(unit: usize, shape: &Shape) -> (usize, u32) {
    let blocks = shape.blocks_per_die as usize;
    match shape.unit {
        CollectionUnit::Block => (unit / blocks, (unit % blocks) as u32),
        CollectionUnit::Line => (0, unit as u32),
    }
}

impl Ftl {
    /// Whether wear is leveled.
    #[inline]
    pub(crate) fn levels_wear(&self) -> bool {
        self.leveling.is_some()
    }

    /// Block of `die` (or line) with cold data that are to move to a worn block now. A swap takes a
    /// free block while it lasts, so none begins where the host would miss that block.
    pub(crate) fn cold_block(&self, die: u32) -> Option<u32> {
        let leveling = self.leveling.as_ref()?;
        if self.free(die) <= self.shape.levels.hard + 1 {
            return None;
        }
        let &(erases, block) = leveling.full[leveling.pool(die)].first()?;
        let next = self.space.next_free(die)?;
        let young = self.erases_of_blocks(die)[next as usize];
        (young > erases.saturating_add(leveling.most)).then_some(block)
    }

    /// The erases of the blocks of a die, or of the lines.
    pub(super) fn erases_of_blocks(&self, die: u32) -> &[u32] {
        &self.erase_counts[self.blocks_of_pool(die)]
    }

    /// Positions of the erase counts of a die, or of the lines.
    pub(super) fn blocks_of_pool(&self, die: u32) -> core::ops::Range<usize> {
        let blocks = self.shape.blocks_per_die as usize;
        let die = match self.shape.unit {
            CollectionUnit::Block => die as usize,
            // All dies erase a line equally often.
            CollectionUnit::Line => 0,
        };
        die * blocks..(die + 1) * blocks
    }

    /// Makes the collection of `block` of `die`, which has begun, move its data into the most
    /// erased free block. Returns whether it does: without data to move, it stays an ordinary
    /// collection.
    pub(crate) fn begin_swap(&mut self, die: u32, block: u32) -> bool {
        let is_empty = self.valid.valid(self.shape.unit_of_block(die, block)) == 0;
        let Self { leveling: Some(leveling), space, shape, .. } = self else { return false };
        if is_empty {
            return false;
        }
        let Some(to) = space.take_last_free(die) else { return false };
        leveling.begin(die, Swap { from: block, to }, shape);
        true
    }

    /// Ends the swap of a victim that has been erased on all its dies: the block that took its data
    /// in is full from now on. Returns whether there was a swap.
    pub(super) fn end_swap(&mut self, die: u32, block: u32) -> bool {
        let ended = self.leveling.as_mut().and_then(|leveling| leveling.end(die, block));
        if let Some(to) = ended {
            self.make_candidate(self.shape.unit_of_block(die, to));
        }
        ended.is_some()
    }

    /// Cancels the swap of a victim that is given back: the block for its data is free again.
    pub(super) fn cancel_swap(&mut self, die: u32, block: u32) {
        let ended = self.leveling.as_mut().and_then(|leveling| leveling.end(die, block));
        if let Some(to) = ended {
            let erases = &self.erase_counts[self.blocks_of_pool(die)];
            self.space.put_back(die, to, Some(erases));
        }
    }

    /// Adds a full unit to the possible victims.
    pub(super) fn make_candidate(&mut self, unit: usize) {
        self.valid.make_candidate(unit);
        if let Some(leveling) = &mut self.leveling {
            // The unit of a line is its block on the first die.
            leveling.add(unit, self.erase_counts[unit], &self.shape);
        }
    }

    /// Removes a unit that is being collected from the possible victims.
    pub(super) fn take_candidate(&mut self, unit: usize) {
        self.valid.take_candidate(unit);
        if let Some(leveling) = &mut self.leveling {
            leveling.remove(unit, self.erase_counts[unit], &self.shape);
        }
    }

    /// Checks that the victims by their erases are all victims, that the least erased free block is
    /// opened first, and that the target of a swap is neither free nor a victim.
    pub(super) fn check_leveling(&self) {
        let Some(leveling) = &self.leveling else { return };
        let mut candidates = 0;
        for unit in (0..self.valid.len()).filter(|&unit| self.valid.is_candidate(unit)) {
            let (pool, block) = place(unit, &self.shape);
            let entry = (self.erase_counts[unit], block);
            assert!(leveling.full[pool].contains(&entry), "victim {unit} is not in its pool");
            candidates += 1;
        }
        let known: usize = leveling.full.iter().map(BTreeSet::len).sum();
        assert_eq!(known, candidates, "victims by erases");
        for (swap, die) in leveling.swaps.iter().zip(0..) {
            let erases = self.erases_of_blocks(die);
            let mut before = 0;
            self.space.for_each_free(die, |block| {
                assert!(erases[block as usize] >= before, "free blocks of die {die} in disorder");
                before = erases[block as usize];
                assert!(swap.is_none_or(|swap| swap.to != block), "block {block} takes data in");
            });
            if let Some(swap) = swap {
                let unit = self.shape.unit_of_block(die, swap.to);
                assert!(!self.valid.is_candidate(unit), "unit {unit} takes data in");
            }
        }
    }
}
