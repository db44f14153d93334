//! The steady state of a drive, built directly.
//!
//! Uniform random overwrites invalidate every page at the same rate. A block that was filled `x`
//! ago still has the share `e^-x` of its pages valid, and greedy collection takes a block when its
//! share has sunk to `v`. In steady state the ages of blocks are spread evenly over `0 … −ln v`,
//! and `v` follows from the share of logical pages in the blocks that are not free:
//!
//! ```text
//! u = (1 − v) / (−ln v)
//! ```
//!
//! This is the fixed point that the analysis of greedy and first-in-first-out collection gives for
//! large blocks (Desnoyers, "Analytic modeling of SSD write performance", SYSTOR'12). Laying a
//! drive out this way takes one pass over its pages instead of several drive writes.

use crate::ftl::{BlockImage, Ftl, Shape};
use crate::rain::Layout;
use alloc::vec;
use alloc::vec::Vec;
use units::Rng;

/// The share of valid pages in a victim, `v`, when the share `utilization` of the pages in use is
/// valid.
pub(crate) fn victim_valid_share(utilization: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        let side =
            if (1.0 - middle) / -libm::log(middle) < utilization { &mut low } else { &mut high };
        if core::mem::replace(side, middle).to_bits() == middle.to_bits() {
            break;
        }
    }
    (low + high) / 2.0
}

/// A bijection on `0..size` without a table of it: a Feistel network over the next power of four,
/// walked until it lands inside.
struct Permutation {
    size: u64,
    half_bits: u32,
    /// Value that each of four rounds adds to one half, by the value of the other half. The table
    /// is small: a half has few values, and a round is applied once per page or more.
    rounds: Vec<[u16; 4]>,
}

impl Permutation {
    fn new(size: u64, rng: &mut Rng) -> Self {
        let bits = 64 - size.max(2).saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2);
        debug_assert!(half_bits <= u16::BITS, "pages have numbers of 32 bits");
        let keys: [u64; 4] = core::array::from_fn(|_| rng.next_u64());
        let mask = (1u64 << half_bits) - 1;
        let mixed = |half: u64, key: u64| (half ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let rounds =
            (0..=mask).map(|half| keys.map(|key| (mixed(half, key) & mask) as u16)).collect();
        Self { size, half_bits, rounds }
    }

    /// Maps `value` within the power of four. The result may lie outside of `0..size`.
    #[inline]
    fn step(&self, value: u32) -> u32 {
        let rounds = self.rounds.as_slice();
        let halves = (value >> self.half_bits, value & ((1 << self.half_bits) - 1));
        let (left, right) = (0..4).fold(halves, |(left, right), round: usize| {
            (right, left ^ u32::from(rounds[right as usize][round]))
        });
        (left << self.half_bits) | right
    }

    fn apply(&self, value: u32) -> u32 {
        let mut value = self.step(value);
        while u64::from(value) >= self.size {
            value = self.step(value);
        }
        value
    }

    /// Puts the images of the values from `first` on into `images`. `outside` is scratch memory of
    /// the same length.
    fn apply_all(&self, first: u32, images: &mut [u32], outside: &mut [u32]) {
        // Values outside of the range are collected and mapped again together: a branch for each
        // value would be mispredicted at random.
        let mut walking = 0;
        for (image, at) in images.iter_mut().zip(0..) {
            *image = self.step(first + at);
            outside[walking] = at;
            walking += usize::from(u64::from(*image) >= self.size);
        }
        while walking > 0 {
            let mut still = 0;
            for index in 0..walking {
                let at = outside[index];
                let image = &mut images[at as usize];
                *image = self.step(*image);
                outside[still] = at;
                still += usize::from(u64::from(*image) >= self.size);
            }
            walking = still;
        }
    }
}

/// Dies that share logical pages among each other only.
struct Group<'a> {
    dies: Vec<u32>,
    /// Number of these pages.
    pages: u32,
    numbers: Numbers<'a>,
}

/// Logical pages of a group.
#[derive(Clone, Copy)]
enum Numbers<'a> {
    /// All pages from this number on.
    From(u32),
    /// Page `first`, and every `step`th page after it.
    Every { first: u32, step: u32 },
    /// Pages of a die with RAIN, one in each row.
    InRows { layout: &'a Layout, die: u32 },
}

impl Numbers<'_> {
    /// Logical page at this place in the group.
    fn page(self, place: u32) -> u32 {
        match self {
            Self::From(first) => first + place,
            Self::Every { first, step } => first + place * step,
            Self::InRows { layout, die } => layout.page_in_row(die, place),
        }
    }
}

/// Groups of a drive. With RAIN, `layout` says where pages lie.
fn groups<'a>(ftl: &Ftl, layout: Option<&'a Layout>) -> Vec<Group<'a>> {
    let shape = ftl.shape();
    let in_rows = |layout, die| Numbers::InRows { layout, die };
    if let Some(layout) = layout {
        let group =
            |die| Group { dies: vec![die], pages: layout.rows, numbers: in_rows(layout, die) };
        return (0..shape.dies).map(group).collect();
    }
    if ftl.bound_die(0).is_some() {
        // Every die has pages of its own, one in each round.
        let (all, step) = (shape.logical_pages, shape.dies);
        let group = |first: u32| Group {
            dies: ftl.bound_die(first).into_iter().collect(),
            pages: (all - first).div_ceil(step),
            numbers: Numbers::Every { first, step },
        };
        return (0..step).map(group).collect();
    }
    let group = |range| {
        let mut dies = ftl.dies_of_range(range).to_vec();
        dies.sort_unstable();
        let (first, pages) = shape.pages_of_range(range);
        Group { dies, pages, numbers: Numbers::From(first) }
    };
    (0..shape.ranges.count).map(group).collect()
}

/// Block of a die that is to be laid out, and the number of its pages that are programmed.
#[derive(Clone, Copy)]
pub(crate) struct AgedBlock {
    pub(crate) die: u32,
    pub(crate) pages: u32,
}

/// Blocks that the dies of a drive have programmed in steady state, one after the other, as if the
/// drive had been preconditioned.
pub(crate) struct AgedBlocks<'a> {
    shape: Shape,
    /// Full blocks of each die. Collection keeps the drive just above the level to which it
    /// restores it; one block is open. The cache is empty: it has had time to be folded.
    full_blocks: u32,
    /// The groups that are left, the last first.
    groups: Vec<Group<'a>>,
    current: Option<AgedGroup<'a>>,
    rng: Rng,
    image: BlockImage,
    /// Memory for [`Permutation::apply_all`].
    outside: Vec<u32>,
}

/// Dies of a group while their blocks are laid out, oldest block first: the order in which they
/// would have been opened.
struct AgedGroup<'a> {
    group: Group<'a>,
    permutation: Permutation,
    /// Pages in the open block of each die.
    opened: Vec<u32>,
    /// The age of the oldest block.
    oldest: f64,
    /// The next block of each die, and the die whose turn it is.
    rank: u32,
    turn: usize,
    next_logical: u64,
    slots_left: u64,
}

impl<'a> AgedGroup<'a> {
    fn new(group: Group<'a>, shape: &Shape, full_blocks: u32, rng: &mut Rng) -> Self {
        let logical_pages = u64::from(group.pages);
        let permutation = Permutation::new(logical_pages, rng);
        // The open block of every die is filled to a point of its own: dies that fill their
        // blocks in step would all collect at the same moments, which no used drive does.
        let dies = group.dies.iter();
        let opened = dies.map(|_| rng.below(u64::from(shape.pages_per_block)) as u32);
        // A program unit is programmed as a whole.
        let opened: Vec<u32> =
            opened.map(|pages| pages - pages % shape.pages_per_program).collect();
        let pages_in_use =
            u64::from(full_blocks) * u64::from(shape.pages_per_block) * group.dies.len() as u64
                + opened.iter().copied().map(u64::from).sum::<u64>();
        let utilization = logical_pages as f64 / pages_in_use as f64;
        Self {
            group,
            permutation,
            opened,
            oldest: -libm::log(victim_valid_share(utilization)),
            rank: 0,
            turn: 0,
            next_logical: 0,
            slots_left: pages_in_use,
        }
    }

    /// The next block, and its rank among those of its die.
    fn next(&mut self, shape: &Shape, full_blocks: u32) -> Option<(AgedBlock, u32)> {
        let rank = self.rank;
        if rank > full_blocks {
            return None;
        }
        let (die, opened) = (self.group.dies[self.turn], self.opened[self.turn]);
        self.turn += 1;
        if self.turn == self.group.dies.len() {
            (self.turn, self.rank) = (0, rank + 1);
        }
        let pages = if rank == full_blocks { opened } else { shape.pages_per_block };
        Some((AgedBlock { die, pages }, rank))
    }

    /// Draws the valid pages of the next block, each with the chance `valid_share`.
    fn draw(
        &mut self,
        pages: u32,
        valid_share: f64,
        rng: &mut Rng,
        image: &mut BlockImage,
        outside: &mut [u32],
    ) {
        let numbers = self.group.numbers;
        let logical_pages = u64::from(self.group.pages);
        let left = logical_pages - self.next_logical;
        if left >= u64::from(pages) && self.slots_left - left >= u64::from(pages) {
            // Chance alone decides about every page of the block.
            image.draw(pages, valid_share, rng);
            let logical = image.logical_mut();
            self.permutation.apply_all(self.next_logical as u32, logical, outside);
            logical.iter_mut().for_each(|number| *number = numbers.page(*number));
            self.next_logical += logical.len() as u64;
            self.slots_left -= u64::from(pages);
            return;
        }
        image.clear();
        for offset in 0..pages {
            // Every logical page needs exactly one place: near the end, the number of pages and
            // places left decides instead of chance.
            let left = logical_pages - self.next_logical;
            let valid = left == self.slots_left || (left > 0 && rng.unit_f64() < valid_share);
            self.slots_left -= 1;
            if valid {
                let number = self.permutation.apply(self.next_logical as u32);
                image.push(offset, numbers.page(number));
                self.next_logical += 1;
            }
        }
    }
}

impl<'a> AgedBlocks<'a> {
    /// Blocks of a factory-new drive. With RAIN, `layout` says where pages lie.
    pub(crate) fn new(ftl: &Ftl, layout: Option<&'a Layout>, seed: u64) -> Self {
        let shape = *ftl.shape();
        let mut groups = groups(ftl, layout);
        groups.reverse();
        Self {
            shape,
            full_blocks: shape.blocks_per_die
                - shape.levels.restore
                - 2
                - ftl.slc_reserved_blocks(),
            groups,
            current: None,
            rng: Rng::stream(seed, "age"),
            image: BlockImage::new(shape.pages_per_block),
            outside: vec![0; shape.pages_per_block as usize],
        }
    }

    /// Returns the next block. [`AgedBlocks::image`] has its valid pages.
    pub(crate) fn next(&mut self) -> Option<AgedBlock> {
        let Self { shape, full_blocks, groups, current, rng, image, outside } = self;
        loop {
            let Some(group) = current else {
                *current = Some(AgedGroup::new(groups.pop()?, shape, *full_blocks, rng));
                continue;
            };
            let Some((block, rank)) = group.next(shape, *full_blocks) else {
                *current = None;
                continue;
            };
            let younger = (f64::from(rank) + 0.5) / f64::from(*full_blocks);
            let age = group.oldest * (1.0 - younger).max(0.0);
            group.draw(block.pages, libm::exp(-age), rng, image, outside);
            return Some(block);
        }
    }

    /// Valid pages of the block that [`AgedBlocks::next`] returned last.
    pub(crate) fn image(&self) -> &BlockImage {
        &self.image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ssd;

    #[test]
    fn the_artifact_collects_victims_with_two_thirds_valid() {
        // IODA's artifact: 192 logical lines in the 231 lines above the soft watermark.
        let v = victim_valid_share(192.0 / 231.0);
        assert!((v - 0.683).abs() < 0.001, "{v}");
    }

    #[test]
    fn a_permutation_hits_every_value_once() {
        for size in [1u64, 2, 3, 10, 64, 1000] {
            let permutation = Permutation::new(size, &mut Rng::new(size));
            let mut seen = vec![false; size as usize];
            for value in 0..size {
                let image = permutation.apply(value as u32) as usize;
                assert!(!seen[image]);
                seen[image] = true;
            }
        }
    }

    #[test]
    fn many_images_at_once_are_those_of_one_at_a_time() {
        for size in [1u64, 3, 17, 1000, 1025, 4096] {
            let permutation = Permutation::new(size, &mut Rng::new(size));
            let first = size / 3;
            let mut images = vec![0; (size - first) as usize];
            let mut outside = images.clone();
            permutation.apply_all(first as u32, &mut images, &mut outside);
            let one_by_one = (first..size).map(|value| permutation.apply(value as u32));
            assert_eq!(images, one_by_one.collect::<Vec<_>>());
        }
    }

    #[test]
    fn pages_are_drawn_as_one_by_one() {
        let (mut one_by_one, mut at_once) = (Rng::new(3), Rng::new(3));
        let mut image = BlockImage::new(512);
        for share in [0.0, 0.3, 0.683_123_4, 1.0 - 1e-16, 1.0] {
            let expected = (0..512).filter(|_| one_by_one.unit_f64() < share).count() as u32;
            image.draw(512, share, &mut at_once);
            assert_eq!(image.logical_mut().len() as u32, expected);
        }
        assert_eq!(one_by_one.next_u64(), at_once.next_u64());
    }

    /// The state of prepared drives is part of every pinned result.
    #[test]
    fn an_aged_drive_is_laid_out_as_ever() {
        let config = crate::presets::preset("live").unwrap();
        for (seed, expected) in [(0, 0x5233_98e9_87d2_c017), (1, 0xea6e_d5b5_330d_a445_u64)] {
            let mut drive = Ssd::new(config.clone()).unwrap();
            drive.age(seed);
            drive.check_invariants();
            let pages = (0..drive.logical_blocks()).step_by(7);
            let places = pages.map(|lba| drive.flash_page(units::Lba(lba)).unwrap());
            let hash = places
                .fold(0_u64, |hash, page| hash.wrapping_mul(31).wrapping_add(u64::from(page)));
            assert_eq!(hash, expected, "seed {seed}");
        }
    }
}
