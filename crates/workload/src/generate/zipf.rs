//! Ranks by Zipf's law, in constant time and memory for any number of ranks.

use units::Rng;

/// Draws ranks from 0 to `ranks - 1` where rank `k` comes with probability proportional to
/// `(k + 1)^-theta`.
///
/// The method is rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", 1996): the continuous hat `x^-theta` is
/// inverted in closed form and rounded to the nearest rank; few draws are rejected. Logarithms
/// come from `libm`, so the draws are the same on every machine.
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: f64,
    theta: f64,
    /// `1 / (1 - theta)` if that is a small whole number, as for 0.5, 0.8, 0.9 and 1.2.
    whole_power: Option<i32>,
    /// Area under the hat up to 1.5, less the whole first step: start of the range of draws.
    area_first: f64,
    /// Area under the hat up to the end of the last step: end of the range of draws.
    area_last: f64,
    /// A draw at most this far below its rank is accepted without the exact test.
    near: f64,
}

impl Zipf {
    /// Zipf's law over `ranks` ranks, at least 1, with exponent `theta` from 0 (uniform) upwards.
    #[must_use]
    pub fn new(ranks: u64, theta: f64) -> Self {
        let ranks = ranks.max(1) as f64;
        let theta = theta.max(0.0);
        let mut zipf = Self {
            ranks,
            theta,
            whole_power: whole_power(theta),
            area_first: 0.0,
            area_last: 0.0,
            near: 0.0,
        };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(ranks + 0.5);
        zipf.near = 2.0 - zipf.inverse_area(zipf.area(2.5) - zipf.hat(2.0));
        zipf
    }

    /// Draws a rank, from 0.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_last + rng.unit_f64() * (self.area_first - self.area_last);
            let x = self.inverse_area(area);
            let rank = ((x + 0.5) as u64 as f64).clamp(1.0, self.ranks);
            if rank - x <= self.near || area >= self.area(rank + 0.5) - self.hat(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// `x^-theta`.
    fn hat(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of the hat from 1 to `x`: `(x^(1-theta) - 1) / (1-theta)`, which tends to
    /// `ln x` where theta is 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        log * exp_minus_one_over((1.0 - self.theta) * log)
    }

    /// Value `x` for which [`Zipf::area`] is `area`.
    fn inverse_area(&self, area: f64) -> f64 {
        // Rounding may bring the product just below -1, where the logarithm is not defined.
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        if let Some(power) = self.whole_power {
            return raise(1.0 + scaled, power);
        }
        libm::exp(area * log_one_plus_over(scaled))
    }
}

/// `1 / (1 - theta)` if it is a whole number so small that multiplication is faster than two
/// logarithms.
fn whole_power(theta: f64) -> Option<i32> {
    let power = 1.0 / (1.0 - theta);
    let whole = libm::round(power);
    ((power - whole).abs() < 1e-9 && whole.abs() <= 128.0).then_some(whole as i32)
}

/// `base^power` by multiplication in a fixed order, so that every machine rounds alike.
#[inline]
fn raise(base: f64, power: i32) -> f64 {
    let (mut square, mut rest, mut product) = (base, power.unsigned_abs(), 1.0);
    while rest > 0 {
        if rest & 1 == 1 {
            product *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if power < 0 { 1.0 / product } else { product }
}

/// `(e^x - 1) / x`, accurate also near 0.
fn exp_minus_one_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// `ln(1 + x) / x`, accurate also near 0.
fn log_one_plus_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.0, 0.5, 0.77, 0.9, 1.0, 1.2, 2.5] {
            for ranks in [1_u64, 2, 10, 1_000] {
                let zipf = Zipf::new(ranks, theta);
                let mut rng = Rng::new(11);
                let draws = 200_000;
                let mut counts = vec![0_u32; ranks as usize];
                for _ in 0..draws {
                    counts[zipf.draw(&mut rng) as usize] += 1;
                }
                let weight = |rank: u64| ((rank + 1) as f64).powf(-theta);
                let total: f64 = (0..ranks).map(weight).sum();
                for rank in 0..ranks.min(10) {
                    let expected = weight(rank) / total * f64::from(draws);
                    let found = f64::from(counts[rank as usize]);
                    // Five standard deviations of a Poisson count.
                    assert!(
                        (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                        "theta {theta}, {ranks} ranks, rank {rank}: {found} for {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn large_numbers_of_ranks_stay_in_range() {
        let zipf = Zipf::new(1 << 40, 0.99);
        let mut rng = Rng::new(5);
        assert!((0..100_000).all(|_| zipf.draw(&mut rng) < 1 << 40));
    }
}
