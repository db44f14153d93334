//! One seeded generator for all random draws.

/// A seeded pseudo-random generator: xoshiro256++ started by SplitMix64 (Blackman and Vigna).
///
/// Integer arithmetic only, so a seed gives the same draws on every machine. Split it into named
/// streams with [`Rng::stream`]: a draw added to one stream does not shift the others.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// A generator that draws the sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut s = seed;
        Self { state: core::array::from_fn(|_| split_mix(&mut s)) }
    }

    /// The generator of the stream `name` under `seed`, independent of every other name.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a: the name only has to land somewhere else than other names.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        Self::new(seed ^ hash)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A draw from `0..bound`, with a negligible bias below bound / 2^64 (Lemire's multiply-shift).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A draw from `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_draws_and_streams_differ() {
        let mut a = Rng::new(7);
        let mut b = Rng::new(7);
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
        assert_ne!(Rng::stream(7, "faults").next_u64(), Rng::stream(7, "arrivals").next_u64());
    }

    #[test]
    fn draws_stay_below_their_bound() {
        let mut rng = Rng::new(1);
        assert!((0..10_000).all(|_| rng.below(3) < 3 && rng.unit_f64() < 1.0));
    }
}
