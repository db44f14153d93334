//! Deadlines of many sources, and the source that is due next.

use crate::Instant;
use alloc::vec;
use alloc::vec::Vec;

/// Number of sources, or rows of them, that are compared at once. Four make a tree half as high as
/// two, and a row of them is half a cache line.
const ROW: usize = 4;

/// A tournament over a fixed number of sources, each with one deadline.
///
/// Dies, drives and arrays each wait for at most one thing, so this tree is the event queue of the
/// whole project. Changing a deadline costs log4(n) rows in one cache-resident array, and nothing
/// is allocated. Equal deadlines are served in the order of the sources, which keeps runs
/// repeatable.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Row 0 is the root. Slot `s` of row `r` holds the earliest deadline of row `4r + s + 1`; in
    /// the last rows it holds the deadline of a source.
    rows: Vec<[Instant; ROW]>,
    /// The first row of sources.
    leaves: usize,
    earliest: Instant,
}

impl Deadlines {
    /// A tournament of `sources` sources, none of which is due.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let (mut leaves, mut width) = (0, 1);
        while width * ROW < sources {
            leaves += width;
            width *= ROW;
        }
        let rows = vec![[Instant::NEVER; ROW]; leaves + width];
        Self { rows, leaves, earliest: Instant::NEVER }
    }

    /// Sets the deadline of `source`; [`Instant::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, source: usize, due: Instant) {
        let (mut row, mut slot) = (self.leaves + source / ROW, source % ROW);
        let mut winner = due;
        loop {
            let dues = &mut self.rows[row];
            if dues[slot] == winner {
                return;
            }
            dues[slot] = winner;
            let [a, b, c, d] = *dues;
            winner = a.min(b).min(c.min(d));
            if row == 0 {
                self.earliest = winner;
                return;
            }
            (row, slot) = ((row - 1) / ROW, (row - 1) % ROW);
        }
    }

    /// The deadline of `source`.
    #[must_use]
    pub fn get(&self, source: usize) -> Instant {
        self.rows[self.leaves + source / ROW][source % ROW]
    }

    /// The earliest deadline of all.
    #[inline]
    #[must_use]
    pub fn earliest(&self) -> Instant {
        self.earliest
    }

    /// The first source that is due at [`Deadlines::earliest`]; `None` if no source is due.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        let due = self.earliest;
        if due == Instant::NEVER {
            return None;
        }
        let mut row = 0;
        loop {
            let [a, b, c, _] = self.rows[row];
            // Counted instead of searched: the slot is random, and a branch would be mispredicted.
            let (not_a, not_b, not_c) = (a != due, b != due, c != due);
            let slot = usize::from(not_a)
                + usize::from(not_a & not_b)
                + usize::from(not_a & not_b & not_c);
            if row >= self.leaves {
                return Some((row - self.leaves) * ROW + slot);
            }
            row = row * ROW + slot + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn agrees_with_a_linear_scan() {
        let mut rng = Rng::new(42);
        for sources in [1usize, 2, 3, 4, 5, 7, 16, 17, 64, 65] {
            let mut tree = Deadlines::new(sources);
            let mut naive = vec![Instant::NEVER; sources];
            for _ in 0..2_000 {
                let source = rng.below(sources as u64) as usize;
                let due = match rng.below(4) {
                    0 => Instant::NEVER,
                    _ => Instant::from_nanos(rng.below(20)),
                };
                tree.set(source, due);
                naive[source] = due;
                let earliest = *naive.iter().min().unwrap();
                assert_eq!(tree.earliest(), earliest);
                let first = naive.iter().position(|&d| d == earliest && d != Instant::NEVER);
                assert_eq!(tree.first(), first);
                assert_eq!(tree.get(source), due);
            }
        }
    }
}
