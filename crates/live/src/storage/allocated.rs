//! Which pages of a drive may hold data: one bit each.

use crate::buffer::PAGE_BYTES;
use std::ops::Range;

const PAGE: u64 = PAGE_BYTES as u64;

/// A bit for each page of [`PAGE_BYTES`] of a drive: set where something may have been written
/// since the page was last discarded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocated {
    words: Vec<u64>,
    pages: u64,
}

impl Allocated {
    /// All pages of a drive of `bytes` are holes.
    #[must_use]
    pub fn nothing(bytes: u64) -> Self {
        let pages = bytes.div_ceil(PAGE);
        Self { words: vec![0; pages.div_ceil(64) as usize], pages }
    }

    /// All pages of a drive of `bytes` may hold data.
    #[must_use]
    pub fn everything(bytes: u64) -> Self {
        let mut all = Self::nothing(bytes);
        all.set(0, bytes);
        all
    }

    /// Number of pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Whether the page may hold data; a page past the end does not.
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        page < self.pages && self.words[(page / 64) as usize] >> (page % 64) & 1 == 1
    }

    /// Whether no page of `pages` pages from `first` may hold data.
    #[must_use]
    pub fn none_in(&self, first: u64, pages: u64) -> bool {
        let last = (first + pages).min(self.pages);
        let mut page = first;
        while page < last {
            let taken = (64 - page % 64).min(last - page);
            if self.words[(page / 64) as usize] & mask(page % 64, taken) != 0 {
                return false;
            }
            page += taken;
        }
        true
    }

    /// Whether no page that these bytes touch may hold data.
    pub(super) fn is_hole(&self, offset_bytes: u64, length_bytes: u64) -> bool {
        let pages = pages_of(offset_bytes, length_bytes);
        self.none_in(pages.start, pages.end - pages.start)
    }

    /// Number of pages that may hold data.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The pages that these bytes touch may hold data.
    pub(super) fn set(&mut self, offset_bytes: u64, length_bytes: u64) {
        let pages = pages_of(offset_bytes, length_bytes);
        self.change(pages.start, pages.end, true);
    }

    /// The pages that lie entirely within these bytes are holes.
    pub(super) fn clear(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.change(offset_bytes.div_ceil(PAGE), (offset_bytes + length_bytes) / PAGE, false);
    }

    fn change(&mut self, first: u64, last: u64, value: bool) {
        let last = last.min(self.pages);
        let mut page = first;
        while page < last {
            let taken = (64 - page % 64).min(last - page);
            let word = &mut self.words[(page / 64) as usize];
            if value {
                *word |= mask(page % 64, taken);
            } else {
                *word &= !mask(page % 64, taken);
            }
            page += taken;
        }
    }
}

/// The pages that these bytes touch.
fn pages_of(offset_bytes: u64, length_bytes: u64) -> Range<u64> {
    offset_bytes / PAGE..(offset_bytes + length_bytes).div_ceil(PAGE)
}

/// `count` bits from `first`; together at most 64, and at least one.
fn mask(first: u64, count: u64) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn it_agrees_with_a_list_of_bools(
            pages in 1u64..300,
            changes in proptest::collection::vec((any::<bool>(), 0u64..300, 0u64..300), 0..20),
        ) {
            let mut real = Allocated::nothing(pages * PAGE);
            let mut naive = vec![false; pages as usize];
            for (value, first, count) in changes {
                if value {
                    real.set(first * PAGE, count * PAGE);
                } else {
                    real.clear(first * PAGE, count * PAGE);
                }
                for page in first..(first + count).min(pages) {
                    naive[page as usize] = value;
                }
                let none = (first..(first + count).min(pages)).all(|page| !naive[page as usize]);
                prop_assert_eq!(real.none_in(first, count), none);
            }
            for page in 0..pages + 70 {
                let expected = naive.get(page as usize).copied().unwrap_or(false);
                prop_assert_eq!(real.contains(page), expected);
            }
            prop_assert_eq!(real.count(), naive.iter().filter(|&&bit| bit).count() as u64);
        }
    }

    #[test]
    fn parts_of_pages_are_set_but_not_cleared() {
        let mut bits = Allocated::nothing(4 * PAGE);
        bits.set(PAGE + 1, 1);
        assert!(bits.contains(1) && bits.count() == 1);
        bits.clear(PAGE, PAGE - 1);
        assert!(bits.contains(1), "the page's last byte may still hold data");
        assert_eq!(Allocated::everything(4 * PAGE + 1).count(), 5);
    }
}
