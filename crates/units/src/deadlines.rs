//! Which of many sources is due next.

use crate::Instant;
use alloc::vec;
use alloc::vec::Vec;

/// A tournament over a fixed number of sources, each with one deadline.
///
/// Dies, drives and arrays each have at most one thing they wait for, so the event queue of the
/// whole project is this tree: changing a deadline costs log2(n) comparisons in one cache-resident
/// array, nothing is allocated, and equal deadlines are served in the order of the sources, which
/// keeps runs repeatable.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Node 1 is the root; the children of `i` are `2i` and `2i + 1`; leaves start at `leaves`.
    tree: Vec<Instant>,
    leaves: usize,
}

impl Deadlines {
    /// A tournament of `sources` sources, none of which is due.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.max(1).next_power_of_two();
        Self { tree: vec![Instant::NEVER; 2 * leaves], leaves }
    }

    /// Sets when `source` is due; [`Instant::NEVER`] for not at all.
    #[inline]
    pub fn set(&mut self, source: usize, due: Instant) {
        let mut node = self.leaves + source;
        if self.tree[node] == due {
            return;
        }
        self.tree[node] = due;
        // The winner so far stays in a register: reading it back from the tree at every level costs a
        // load and a bounds check more, a tenth of what a drive model does.
        let mut winner = due;
        while node > 1 {
            winner = winner.min(self.tree[node ^ 1]);
            node >>= 1;
            let parent = &mut self.tree[node];
            if *parent == winner {
                return;
            }
            *parent = winner;
        }
    }

    /// When `source` is due.
    #[must_use]
    pub fn get(&self, source: usize) -> Instant {
        self.tree[self.leaves + source]
    }

    /// The earliest deadline of all.
    #[inline]
    #[must_use]
    pub fn earliest(&self) -> Instant {
        self.tree[1]
    }

    /// The first source that is due at [`Deadlines::earliest`], or none if no source is due.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        let due = self.tree[1];
        if due == Instant::NEVER {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] != due);
        }
        Some(node - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn agrees_with_a_linear_scan() {
        let mut rng = Rng::new(42);
        for sources in [1usize, 2, 3, 7, 64, 65] {
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
