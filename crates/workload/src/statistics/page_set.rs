//! Sets of touched and of written pages.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

/// Pages in one piece of the set: 2 MiB of 4 KiB pages.
const PIECE: u64 = 512;
const WORDS: usize = (PIECE / 64) as usize;

#[derive(Clone, Debug, Default)]
struct Piece {
    touched: [u64; WORDS],
    written: [u64; WORDS],
}

/// A set of pages per device, as bitmaps of 2 MiB in a hash map, so that a sparse trace over
/// terabytes and a dense one are both cheap. It is never iterated, so the order of the map does
/// not matter.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSet {
    pieces: HashMap<(u32, u64), Piece, Seeded>,
}

/// A hash for pairs of numbers that is much cheaper than the usual one, which every request would
/// pay for. It starts from a random seed of the process, so no trace can be made whose pages all
/// collide. The order of the map does not matter.
#[derive(Clone, Copy, Debug)]
struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// Multiplies to 128 bits and folds the halves.
struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl PageSet {
    /// Adds `pages` of `device`. Returns how many of them were not touched before, and how many
    /// were not written before.
    pub(super) fn insert(&mut self, device: u32, pages: Range<u64>, write: bool) -> (u64, u64) {
        let (mut new_touched, mut new_written) = (0, 0);
        let mut page = pages.start;
        while page < pages.end {
            let piece = self.pieces.entry((device, page / PIECE)).or_default();
            let piece_end = (page / PIECE + 1) * PIECE;
            while page < pages.end.min(piece_end) {
                let word = (page % PIECE / 64) as usize;
                let first = page % 64;
                let count = (64 - first).min(pages.end - page);
                let mask = (u64::MAX >> (64 - count)) << first;
                new_touched += add(&mut piece.touched[word], mask);
                if write {
                    new_written += add(&mut piece.written[word], mask);
                }
                page += count;
            }
        }
        (new_touched, new_written)
    }
}

/// Sets the bits of `mask`. Returns how many of them were clear.
fn add(word: &mut u64, mask: u64) -> u64 {
    let fresh = mask & !*word;
    *word |= mask;
    fresh.count_ones().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use units::Rng;

    #[test]
    fn agrees_with_a_plain_set() {
        let mut rng = Rng::new(3);
        let (mut set, mut touched, mut written) =
            (PageSet::default(), BTreeSet::new(), BTreeSet::new());
        for _ in 0..2_000 {
            let device = rng.below(2) as u32;
            let start = rng.below(5_000);
            let pages = start..start + 1 + rng.below(1_100);
            let write = rng.below(2) == 0;
            let before = (touched.len(), written.len());
            for page in pages.clone() {
                touched.insert((device, page));
                if write {
                    written.insert((device, page));
                }
            }
            let expected = ((touched.len() - before.0) as u64, (written.len() - before.1) as u64);
            assert_eq!(set.insert(device, pages, write), expected);
        }
    }
}
