//! Blocks of data whose sums are in doubt: they are computed from the data read.
//!
//! After a crash the sums of regions that were being written may be older or newer than the data. A
//! torn block of the table leaves the sums of all its blocks of data in doubt.

use super::table::{Key, SUMS};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

const WORDS: usize = SUMS.div_ceil(64);

/// Doubtful sums of all drives.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts {
    /// Blocks of data in doubt at the start, on every drive, in order.
    ranges: Vec<Range<u64>>,
    /// Blocks of data that a crash may have left half written, on every drive, in order.
    marked: Vec<Range<u64>>,
    /// For each block of a table that was read: a bit per sum that is still in doubt.
    unknown: BTreeMap<Key, [u64; WORDS]>,
    /// Torn blocks of the tables, until all their sums are known. They cannot be written before:
    /// nothing on the drive would tell known sums from doubtful ones.
    damaged: BTreeSet<Key>,
}

impl Doubts {
    /// Creates the doubts of a start: the sums of `ranges` are in doubt on every drive. Within
    /// `ranges`, and within `marked`, no range is empty and none overlap.
    pub(super) fn new(mut ranges: Vec<Range<u64>>, mut marked: Vec<Range<u64>>) -> Self {
        ranges.sort_by_key(|range| range.start);
        marked.sort_by_key(|range| range.start);
        Self { ranges, marked, unknown: BTreeMap::new(), damaged: BTreeSet::new() }
    }

    /// Returns true if the last end of the array may have torn the block of the table for these
    /// blocks of data. A block of the table is written only while one of its blocks of data is
    /// marked.
    pub(super) fn may_be_torn(&self, blocks: &Range<u64>) -> bool {
        let from = self.marked.partition_point(|range| range.end <= blocks.start);
        self.marked.get(from).is_some_and(|range| range.start < blocks.end)
    }

    /// Notes that the block of the table for these blocks of data was read; `sound` is false if it
    /// was torn.
    pub(super) fn table_read(&mut self, key: Key, blocks: Range<u64>, sound: bool) {
        if !sound {
            let mut unknown = [0; WORDS];
            for index in 0..(blocks.end - blocks.start) as usize {
                unknown[index / 64] |= 1 << (index % 64);
            }
            self.unknown.insert(key, unknown);
            self.damaged.insert(key);
        } else if !self.ranges.is_empty() && !self.unknown.contains_key(&key) {
            let mut unknown = [0; WORDS];
            let (first, end) = (key.first_block(), key.first_block() + SUMS as u64);
            let from = self.ranges.partition_point(|range| range.end <= first);
            for range in self.ranges[from..].iter().take_while(|range| range.start < end) {
                for block in range.start.max(first)..range.end.min(end) {
                    let index = (block - first) as usize;
                    unknown[index / 64] |= 1 << (index % 64);
                }
            }
            // Kept even if it is empty: a known sum stays known while the array runs.
            self.unknown.insert(key, unknown);
        }
    }

    /// Returns true if the sum at `index` of a block of the table is in doubt.
    #[inline]
    pub(super) fn is_unknown(&self, key: Key, index: usize) -> bool {
        !self.unknown.is_empty()
            && self
                .unknown
                .get(&key)
                .is_some_and(|unknown| unknown[index / 64] >> (index % 64) & 1 == 1)
    }

    /// Returns true if a sum of a drive is in doubt, in the blocks of its table read so far.
    pub(super) fn has_unknown(&self, drive: u8) -> bool {
        let its = self.unknown.iter().filter(|(key, _)| key.drive == drive);
        its.into_iter().any(|(_, unknown)| unknown.iter().any(|&bits| bits != 0))
    }

    /// Notes that the sum at `index` is known.
    #[inline]
    pub(super) fn note_known(&mut self, key: Key, index: usize) {
        if let Some(unknown) = self.unknown.get_mut(&key) {
            unknown[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Returns true if a block of the table was torn and some of its sums are still in doubt.
    #[inline]
    pub(super) fn is_damaged(&self, key: Key) -> bool {
        !self.damaged.is_empty() && self.damaged.contains(&key)
    }

    /// Returns true, once, if a torn block of the table can be written from now on.
    pub(super) fn take_recovered(&mut self, key: Key) -> bool {
        let is_known =
            self.unknown.get(&key).is_none_or(|unknown| unknown.iter().all(|&bits| bits == 0));
        is_known && self.damaged.remove(&key)
    }

    /// Blocks that were in doubt at the start.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Handles the return of a drive: its table is read again, and a block that was torn may be
    /// sound now.
    pub(super) fn drive_returned(&mut self, drive: u8) {
        let damaged = &mut self.damaged;
        self.unknown.retain(|key, _| key.drive != drive || !damaged.contains(key));
        damaged.retain(|key| key.drive != drive);
    }

    /// Handles the replacement of a drive: the table of the new drive is empty and right.
    pub(super) fn drive_replaced(&mut self, drive: u8) {
        self.unknown.retain(|key, _| key.drive != drive);
        self.damaged.retain(|key| key.drive != drive);
        if self.ranges.is_empty() {
            return;
        }
        let last = self.ranges.iter().map(|range| range.end).max().unwrap_or(0);
        for number in 0..last.div_ceil(SUMS as u64) {
            self.unknown.insert(Key { drive, number }, [0; WORDS]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use units::Rng;

    const TABLES: u64 = 3;
    const DRIVES: u8 = 2;
    const BLOCKS: u64 = SUMS as u64;

    /// Sums in doubt, block by block.
    struct Model {
        ranges: Vec<Range<u64>>,
        seen: BTreeSet<Key>,
        unknown: BTreeSet<(u8, u64)>,
        damaged: BTreeSet<Key>,
    }

    fn blocks(key: Key) -> Range<u64> {
        key.number * BLOCKS..(key.number + 1) * BLOCKS
    }

    impl Model {
        fn table_read(&mut self, key: Key, sound: bool) {
            if !sound {
                self.damaged.insert(key);
                self.unknown.extend(blocks(key).map(|block| (key.drive, block)));
            } else if !self.ranges.is_empty() && !self.seen.contains(&key) {
                let doubted = |block: &u64| self.ranges.iter().any(|range| range.contains(block));
                self.unknown.extend(blocks(key).filter(doubted).map(|block| (key.drive, block)));
            }
            if !sound || !self.ranges.is_empty() {
                self.seen.insert(key);
            }
        }

        fn is_recovered(&self, key: Key) -> bool {
            blocks(key).all(|block| !self.unknown.contains(&(key.drive, block)))
        }

        fn drive_replaced(&mut self, drive: u8) {
            self.unknown.retain(|(other, _)| *other != drive);
            self.damaged.retain(|key| key.drive != drive);
            self.seen.retain(|key| key.drive != drive);
            let last = self.ranges.iter().map(|range| range.end).max().unwrap_or(0);
            self.seen.extend((0..last.div_ceil(BLOCKS)).map(|number| Key { drive, number }));
        }
    }

    #[test]
    fn it_agrees_with_a_set_of_blocks() {
        for seed in testing::seeds(0..60) {
            let mut rng = Rng::stream(seed, "doubts");
            // Ranges begin and end within blocks of the table, and at their edges.
            let mut ends: Vec<u64> = (0..8).map(|_| rng.below(TABLES * BLOCKS)).collect();
            ends.extend([BLOCKS, 2 * BLOCKS]);
            ends.sort_unstable();
            ends.dedup();
            let apart = ends.windows(2).map(|ends| ends[0]..ends[1]);
            let count = rng.below(4);
            let mut ranges: Vec<_> = apart.filter(|_| rng.below(3) < count).collect();
            ranges.reverse();
            let mut doubts = Doubts::new(ranges.clone(), Vec::new());
            assert_eq!(doubts.ranges().len(), ranges.len());
            assert!(doubts.ranges().is_sorted_by_key(|range| range.start));
            let (seen, unknown, damaged) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let mut model = Model { ranges, seen, unknown, damaged };
            for _ in 0..30 {
                let drive = rng.below(u64::from(DRIVES)) as u8;
                let key = Key { drive, number: rng.below(TABLES) };
                match rng.below(12) {
                    0..4 => {
                        let sound = rng.below(3) > 0;
                        doubts.table_read(key, blocks(key), sound);
                        model.table_read(key, sound);
                    }
                    4..6 => {
                        let block = key.number * BLOCKS + rng.below(BLOCKS);
                        doubts.note_known(key, (block % BLOCKS) as usize);
                        model.unknown.remove(&(drive, block));
                    }
                    6..8 => {
                        for block in blocks(key) {
                            doubts.note_known(key, (block % BLOCKS) as usize);
                            model.unknown.remove(&(drive, block));
                        }
                    }
                    8..10 => {
                        let recovered = model.is_recovered(key) && model.damaged.remove(&key);
                        assert_eq!(doubts.take_recovered(key), recovered);
                    }
                    10 => {
                        doubts.drive_replaced(drive);
                        model.drive_replaced(drive);
                    }
                    _ => {}
                }
                for drive in 0..DRIVES {
                    let its = |(other, _): &(u8, u64)| *other == drive;
                    assert_eq!(doubts.has_unknown(drive), model.unknown.iter().any(its));
                    for number in 0..TABLES {
                        let key = Key { drive, number };
                        assert_eq!(doubts.is_damaged(key), model.damaged.contains(&key));
                        for block in blocks(key) {
                            let index = (block % BLOCKS) as usize;
                            let is_unknown = model.unknown.contains(&(drive, block));
                            assert_eq!(doubts.is_unknown(key, index), is_unknown, "{block}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_of_the_table_can_be_torn_where_a_block_of_data_is_marked() {
        let doubts = Doubts::new(Vec::new(), vec![50..60, 10..20]);
        for (blocks, expected) in [
            (0..10, false),
            (0..11, true),
            (19..50, true),
            (20..50, false),
            (59..99, true),
            (60..99, false),
        ] {
            assert_eq!(doubts.may_be_torn(&blocks), expected, "{blocks:?}");
        }
        assert!(!Doubts::new(vec![0..50, 51..99], Vec::new()).may_be_torn(&(0..99)));
    }

    #[test]
    fn the_last_block_of_a_table_stands_for_as_many_blocks_as_there_are() {
        let mut doubts = Doubts::new(Vec::new(), Vec::new());
        let key = Key { drive: 0, number: 1 };
        doubts.table_read(key, BLOCKS..BLOCKS + 5, false);
        let unknown = (0..SUMS).filter(|&index| doubts.is_unknown(key, index));
        assert!(unknown.eq(0..5));
    }
}
