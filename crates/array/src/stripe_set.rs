//! Sets of stripes, stored as ranges: nearly all, or nearly none, or a few long runs.

use alloc::collections::BTreeMap;
use core::ops::Range;

/// A set of stripes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StripeSet {
    /// End of each range by its beginning. Ranges are not empty, and neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
    len: u64,
}

impl StripeSet {
    /// Number of stripes in the set.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn contains(&self, stripe: u64) -> bool {
        self.ranges.range(..=stripe).next_back().is_some_and(|(_, &end)| stripe < end)
    }

    /// The first stripe of the set that is not before `stripe`.
    pub(crate) fn first_from(&self, stripe: u64) -> Option<u64> {
        if self.contains(stripe) {
            return Some(stripe);
        }
        self.ranges.range(stripe..).next().map(|(&begin, _)| begin)
    }

    /// Adds stripes; those that are there already stay.
    pub(crate) fn insert(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        let Range { start: mut begin, mut end } = new;
        // Merge all ranges that overlap or touch the new one.
        while let Some((&other, &other_end)) = self.ranges.range(..=end).next_back() {
            if other_end < begin {
                break;
            }
            self.ranges.remove(&other);
            self.len -= other_end - other;
            begin = begin.min(other);
            end = end.max(other_end);
        }
        self.ranges.insert(begin, end);
        self.len += end - begin;
    }

    /// Takes a stripe out, if it is in.
    pub(crate) fn remove(&mut self, stripe: u64) {
        let Some((&begin, &end)) = self.ranges.range(..=stripe).next_back() else { return };
        if stripe >= end {
            return;
        }
        self.ranges.remove(&begin);
        if begin < stripe {
            self.ranges.insert(begin, stripe);
        }
        if stripe + 1 < end {
            self.ranges.insert(stripe + 1, end);
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use units::Rng;

    #[test]
    fn agrees_with_a_set_of_numbers() {
        for seed in testing::seeds(0..200) {
            let mut rng = Rng::new(seed);
            let (mut set, mut model) = (StripeSet::default(), BTreeSet::new());
            for _ in 0..200 {
                let stripe = rng.below(40);
                if rng.below(3) == 0 {
                    let end = stripe + rng.below(8);
                    set.insert(stripe..end);
                    model.extend(stripe..end);
                } else {
                    set.remove(stripe);
                    model.remove(&stripe);
                }
                assert_eq!(set.len(), model.len() as u64, "seed {seed}");
                assert_eq!(set.is_empty(), model.is_empty());
                for stripe in 0..50 {
                    assert_eq!(set.contains(stripe), model.contains(&stripe), "seed {seed}");
                    let next = model.range(stripe..).next().copied();
                    assert_eq!(set.first_from(stripe), next, "seed {seed}");
                }
                let mut last = None;
                for (&begin, &end) in &set.ranges {
                    assert!(begin < end && last.is_none_or(|last| last < begin), "seed {seed}");
                    last = Some(end);
                }
            }
        }
    }
}
