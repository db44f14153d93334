//! Sizes of requests.

use units::{KIB, Rng};

/// The smallest size of a power law.
const SMALLEST: u64 = 4 * KIB;

/// Distribution of the sizes of requests.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// One size, in bytes.
    Fixed(u64),
    /// A multiple of the first number, by a factor of 1 to the second, with equal probability.
    Multiples(u64, u64),
    /// One of several sizes.
    Table(Box<Table>),
}

/// Most sizes of a table: 4 KiB to 64 MiB, and one more.
const MOST_SIZES: usize = 16;

/// Sizes with their probabilities.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// A size is chosen by the number of bounds that a 64-bit draw exceeds. Unused entries have a
    /// bound that no draw exceeds.
    bounds: [u64; MOST_SIZES],
    sizes: [u64; MOST_SIZES],
}

impl Table {
    fn new(sizes: &[u64], weights: &[f64]) -> Self {
        let mut table = Self { bounds: [u64::MAX; MOST_SIZES], sizes: [0; MOST_SIZES] };
        let mut sum = 0.0;
        for (place, (size, weight)) in sizes.iter().zip(weights).enumerate() {
            sum += weight;
            table.sizes[place] = *size;
            if place + 1 < sizes.len() {
                table.bounds[place] = (sum * 2f64.powi(64)) as u64;
            }
        }
        table
    }

    /// Draws a size. Counting all bounds without branches is faster than stopping at the right one.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> u64 {
        let draw = rng.next_u64();
        let place: usize = self.bounds.iter().map(|bound| usize::from(draw > *bound)).sum();
        self.sizes[place.min(MOST_SIZES - 1)]
    }
}

impl Sizes {
    /// A truncated power law over 4 KiB, 8 KiB, 16 KiB and so on up to `max_bytes`, and `max_bytes`
    /// itself, with the exponent that gives the mean `mean_bytes`. A mean at or beyond either end
    /// gives that size only.
    pub(super) fn power_law(mean_bytes: u64, max_bytes: u64) -> Self {
        let mut sizes = Vec::new();
        let mut size = SMALLEST;
        while size < max_bytes && sizes.len() < MOST_SIZES - 1 {
            sizes.push(size);
            size *= 2;
        }
        sizes.push(max_bytes.max(SMALLEST));
        let (smallest, largest) = (sizes[0], sizes[sizes.len() - 1]);
        if mean_bytes >= largest {
            return Self::Fixed(largest);
        }
        if mean_bytes <= smallest {
            return Self::Fixed(smallest);
        }
        let wanted = mean_bytes as f64;
        // The mean falls as the exponent grows. At ±64 all weight is on one end, to 2^-37 even
        // for the two sizes of 128 and 192 KiB.
        let (mut low, mut high) = (-64.0, 64.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if mean(&sizes, middle) > wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let weights = weights(&sizes, (low + high) / 2.0);
        Self::Table(Box::new(Table::new(&sizes, &weights)))
    }

    /// Draws a size in bytes.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Multiples(bytes, most) => bytes * (1 + rng.below(*most)),
            Self::Table(table) => table.draw(rng),
        }
    }
}

/// Weights of the sizes; they sum to 1.
fn weights(sizes: &[u64], exponent: f64) -> Vec<f64> {
    let largest = sizes[sizes.len() - 1] as f64;
    // Logarithms are used because 4096 to the power of 64 would not fit.
    let logs: Vec<f64> =
        sizes.iter().map(|size| -exponent * libm::log(*size as f64 / largest)).collect();
    let top = logs.iter().copied().fold(f64::MIN, f64::max);
    let raw: Vec<f64> = logs.iter().map(|log| libm::exp(log - top)).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / total).collect()
}

fn mean(sizes: &[u64], exponent: f64) -> f64 {
    let weights = weights(sizes, exponent);
    sizes.iter().zip(weights).map(|(size, weight)| *size as f64 * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_met_exactly_where_they_can_be() {
        for (mean_kib, max_kib) in [(8, 4_096), (137, 4_096), (191, 192), (260, 11_264), (53, 64)] {
            let sizes = Sizes::power_law(mean_kib * KIB, max_kib * KIB);
            let mut rng = Rng::new(9);
            let draws = 400_000;
            let total: u64 = (0..draws).map(|_| sizes.draw(&mut rng)).sum();
            let found = total as f64 / draws as f64 / KIB as f64;
            let wanted = mean_kib as f64;
            assert!((found / wanted - 1.0).abs() < 0.02, "{mean_kib} of {max_kib}: {found}");
        }
    }

    #[test]
    fn impossible_means_give_the_nearest_end() {
        assert!(matches!(Sizes::power_law(128 * KIB, 128 * KIB), Sizes::Fixed(131_072)));
        assert!(matches!(Sizes::power_law(999 * KIB, 128 * KIB), Sizes::Fixed(131_072)));
        assert!(matches!(Sizes::power_law(KIB, 128 * KIB), Sizes::Fixed(4_096)));
    }
}
