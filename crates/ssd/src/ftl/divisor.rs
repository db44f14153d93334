//! Division by a number that is fixed when the drive is made: a multiplication, several times as
//! fast as a division. Every page operation turns page numbers into dies and blocks.

/// A divisor above zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    value: u32,
    /// `⌈2^64 / value⌉`, of which the upper half of a product is exact for every `u32` (Lemire,
    /// Kaser and Kurz, "Faster remainder by direct computation", 2019); 0 for 1, where it does not
    /// fit.
    reciprocal: u64,
}

impl Divisor {
    pub(super) const fn new(value: u32) -> Self {
        Self { value, reciprocal: (u64::MAX / value as u64).wrapping_add(1) }
    }

    /// `number / value`.
    #[inline]
    pub(super) const fn divide(self, number: u32) -> u32 {
        if self.reciprocal == 0 {
            return number;
        }
        ((number as u128 * self.reciprocal as u128) >> u64::BITS) as u32
    }

    /// `number % value`.
    #[inline]
    pub(super) const fn remainder(self, number: u32) -> u32 {
        number - self.divide(number) * self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn agrees_with_division() {
        let mut rng = Rng::new(1);
        let edges =
            [1, 2, 3, 5, 7, 64, 100, 641, 65_535, 65_536, u32::MAX / 2, u32::MAX - 1, u32::MAX];
        let mut check = |value: u32| {
            let divisor = Divisor::new(value);
            let near = [value - 1, value, value.saturating_add(1), u32::MAX / value * value];
            let numbers = [0, 1, u32::MAX, u32::MAX - 1].into_iter().chain(near);
            for number in numbers.chain((0..100).map(|_| rng.next_u64() as u32)) {
                assert_eq!(divisor.divide(number), number / value, "{number} / {value}");
                assert_eq!(divisor.remainder(number), number % value, "{number} % {value}");
            }
        };
        edges.into_iter().for_each(&mut check);
        let mut rng = Rng::new(2);
        (0..10_000).for_each(|_| check(rng.next_u64() as u32 >> rng.below(31) as u32 | 1));
    }
}
