//! Blocks of data whose sums say nothing: they are taken from what is read.
//!
//! After a crash the sums of regions that were being written may be older or newer than the data. And a block
//! of the table that was torn says nothing about any of its blocks of data.

use super::table::{Key, SUMS};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

const WORDS: usize = SUMS.div_ceil(64);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts {
    /// Blocks of data on every drive, in order, that were in doubt at the start.
    ranges: Vec<Range<u64>>,
    /// Of blocks of the table that were looked at, which of their sums say nothing still.
    unknown: BTreeMap<Key, [u64; WORDS]>,
    /// Blocks of the table that were torn, until all their sums are known again: they cannot be written, because
    /// nothing on the drive would say which of them are.
    damaged: BTreeSet<Key>,
}

impl Doubts {
    /// Sums of these blocks of data say nothing, on any drive.
    pub(super) fn new(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_by_key(|range| range.start);
        Self { ranges, unknown: BTreeMap::new(), damaged: BTreeSet::new() }
    }

    /// A block of the table was read, which stands for these blocks of data; `sound` if it says something.
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
            // Kept even if it is empty: what is known once is known as long as the array runs.
            self.unknown.insert(key, unknown);
        }
    }

    /// Whether the sum at `index` of a block of the table says nothing.
    #[inline]
    pub(super) fn is_unknown(&self, key: Key, index: usize) -> bool {
        !self.unknown.is_empty()
            && self
                .unknown
                .get(&key)
                .is_some_and(|unknown| unknown[index / 64] >> (index % 64) & 1 == 1)
    }

    /// Whether any sum of a drive says nothing, as far as its table was read.
    pub(super) fn has_unknown(&self, drive: u8) -> bool {
        let its = self.unknown.iter().filter(|(key, _)| key.drive == drive);
        its.into_iter().any(|(_, unknown)| unknown.iter().any(|&bits| bits != 0))
    }

    /// The sum at `index` is right from now on.
    #[inline]
    pub(super) fn note_known(&mut self, key: Key, index: usize) {
        if let Some(unknown) = self.unknown.get_mut(&key) {
            unknown[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Whether a block of the table was torn and not all of its sums are known.
    #[inline]
    pub(super) fn is_damaged(&self, key: Key) -> bool {
        !self.damaged.is_empty() && self.damaged.contains(&key)
    }

    /// Whether a block of the table that was torn can be written from now on.
    pub(super) fn take_recovered(&mut self, key: Key) -> bool {
        let is_known =
            self.unknown.get(&key).is_none_or(|unknown| unknown.iter().all(|&bits| bits == 0));
        is_known && self.damaged.remove(&key)
    }

    /// Blocks that were in doubt at the start.
    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Another drive is in the place, whose table is empty and right.
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
