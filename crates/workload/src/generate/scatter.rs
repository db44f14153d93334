//! A fixed shuffle of any number of places, without a table.

use units::Rng;

/// A bijection of `0..places` onto itself, so that neighbouring ranks land far apart and no two
/// ranks share a place.
///
/// It permutes the next power of two by rounds of odd multiplication, addition and folding of the
/// high bits, each of which can be undone, and repeats this until the result is below `places`:
/// fewer than two steps on average.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    places: u64,
    mask: u64,
    fold: u32,
    rounds: [(u64, u64); 3],
}

impl Scatter {
    /// A shuffle of at least one place, drawn from `rng`.
    pub(super) fn new(places: u64, rng: &mut Rng) -> Self {
        let places = places.clamp(1, 1 << 62);
        let mask = places.next_power_of_two() - 1;
        let bits = mask.count_ones();
        let rounds = std::array::from_fn(|_| (rng.next_u64() | 1, rng.next_u64()));
        Self { places, mask, fold: bits / 2 + 1, rounds }
    }

    /// Place of `rank`, which is below the number of places.
    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
        let mut at = rank;
        loop {
            for (factor, addend) in self.rounds {
                at = at.wrapping_mul(factor).wrapping_add(addend) & self.mask;
                at ^= at >> self.fold;
            }
            if at < self.places {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for places in [1_u64, 2, 3, 4, 5, 7, 64, 1_000, 65_537] {
            let scatter = Scatter::new(places, &mut Rng::new(places));
            let mut taken = vec![false; places as usize];
            for rank in 0..places {
                let place = scatter.place(rank) as usize;
                assert!(!std::mem::replace(&mut taken[place], true), "{places}: {place} twice");
            }
        }
    }

    #[test]
    fn neighbours_are_parted() {
        let scatter = Scatter::new(10_000, &mut Rng::new(1));
        let near =
            (0..9_999).filter(|&rank| scatter.place(rank).abs_diff(scatter.place(rank + 1)) < 10);
        assert!(near.count() < 100);
    }
}
