//! Allocation of reads to classes of hosts in a deterministic window (PLM-light §III-B and §III-C).
//!
//! Averages are kept in thousandths of a read, so that hundredths of a per cent of a window are not
//! lost and no floating point decides.

use units::Ratio;

/// Quality of service that a host has asked for (PLM-light §III-A).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QosClass {
    /// Latency first.
    High,
    /// In between.
    Medium,
    /// The rest.
    Low,
}

impl QosClass {
    /// Number of classes.
    pub const COUNT: usize = nvme::QOS_CLASSES;
    /// All of them, the first served first.
    pub const ALL: [Self; Self::COUNT] = [Self::High, Self::Medium, Self::Low];

    /// The class of a host: the first two hosts are of the classes High and Medium, all others Low.
    #[must_use]
    pub const fn of_host(host: u8) -> Self {
        match host {
            0 => Self::High,
            1 => Self::Medium,
            _ => Self::Low,
        }
    }

    /// The name in metrics and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Minimum reads of every class in each window, whatever was expected (PLM-light §III-C).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseRule {
    /// Equal Base: a third each.
    Equal,
    /// Prioritized Base: 50, 30 and 20 per cent (§IV-D).
    Prioritized,
}

impl BaseRule {
    /// Weights of the classes.
    const fn weights(self) -> [u64; QosClass::COUNT] {
        match self {
            Self::Equal => [1, 1, 1],
            Self::Prioritized => PRIORITIZED,
        }
    }
}

/// Shares by class. The paper gives them for the base (§IV-D); we take the same as the ratios `r_j`
/// by which the rest is split.
const PRIORITIZED: [u64; QosClass::COUNT] = [50, 30, 20];

/// Settings of the allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocationConfig {
    /// `read_DC` and `write_DC` as a share of the average reads and writes of a window; 80 %
    /// (§IV-D).
    pub deterministic: Ratio,
    /// Base of all classes together as a share of the average reads; 75 % (§IV-D).
    pub base: Ratio,
    /// Rule by which the base is split.
    pub rule: BaseRule,
    /// `ζ` of Equation 1, the weight of the last window; 0.5.
    pub smoothing: Ratio,
}

impl AllocationConfig {
    /// The values of the paper's evaluation, with this rule.
    #[must_use]
    pub const fn article(rule: BaseRule) -> Self {
        Self {
            deterministic: Ratio::from_percent(80),
            base: Ratio::from_percent(75),
            rule,
            smoothing: Ratio::from_percent(50),
        }
    }
}

/// Thousandths of a request.
const SCALE: u64 = 1_000;

/// Traffic of the classes so far, and the expected traffic.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    config: AllocationConfig,
    /// `R_j^(p)`: expected reads of the next window, in thousandths.
    expected: [u64; QosClass::COUNT],
    /// Number of windows that have ended, and the requests in them.
    windows: u64,
    reads: u64,
    writes: u64,
}

impl Allocation {
    pub(crate) fn new(config: AllocationConfig) -> Self {
        Self { config, expected: [0; QosClass::COUNT], windows: 0, reads: 0, writes: 0 }
    }

    /// Takes the reads of each class and the writes in a window that has ended.
    pub(crate) fn learn(&mut self, reads: [u64; QosClass::COUNT], writes: u64) {
        for (expected, measured) in self.expected.iter_mut().zip(reads) {
            let measured = measured.saturating_mul(SCALE);
            // The first window is the first estimate.
            *expected = match self.windows {
                0 => measured,
                _ => {
                    let both = self.config.smoothing.of(measured).saturating_add(*expected);
                    both.saturating_sub(self.config.smoothing.of(*expected))
                }
            };
        }
        self.windows += 1;
        // A coordinator may receive any number over a network: sums saturate.
        self.reads = reads.iter().fold(self.reads, |sum, reads| sum.saturating_add(*reads));
        self.writes = self.writes.saturating_add(writes);
    }

    /// A share of an average over all windows, in thousandths.
    fn share_of_average(&self, share: Ratio, total: u64) -> u64 {
        share.of(total.saturating_mul(SCALE)) / self.windows.max(1)
    }

    /// Reads that each class may send in the next window, and writes that the drives may get in it
    /// (`write_DC`); valid once a window has ended.
    pub(crate) fn counts(&self) -> ([u64; QosClass::COUNT], u64) {
        let writes = nearest(self.share_of_average(self.config.deterministic, self.writes));
        (self.reads(), writes)
    }

    /// Reads of each class. If the expected reads fit into `C`, each class gets just these. If not,
    /// each class gets its base, and of the rest of `C` its ratio.
    fn reads(&self) -> [u64; QosClass::COUNT] {
        let all = self.share_of_average(self.config.deterministic, self.reads);
        let expected = self.expected.iter().fold(0_u64, |sum, reads| sum.saturating_add(*reads));
        if expected <= all {
            return self.expected.map(nearest);
        }
        let base = self.share_of_average(self.config.base, self.reads).min(all);
        let split = |whole: u64, weights: [u64; QosClass::COUNT]| {
            let sum: u64 = weights.iter().sum();
            let part = |weight: u64| u128::from(whole) * u128::from(weight) / u128::from(sum);
            weights.map(|weight| part(weight) as u64)
        };
        let mut shares = split(base, self.config.rule.weights());
        for (share, more) in shares.iter_mut().zip(split(all - base, PRIORITIZED)) {
            *share += more;
        }
        shares.map(nearest)
    }
}

/// Whole requests, rounded half up.
fn nearest(thousandths: u64) -> u64 {
    thousandths.saturating_add(SCALE / 2) / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(rule: BaseRule, windows: &[[u64; 3]]) -> Allocation {
        let mut allocation = Allocation::new(AllocationConfig::article(rule));
        for &reads in windows {
            allocation.learn(reads, 100);
        }
        allocation
    }

    #[test]
    fn estimates_follow_equation_1() {
        // 100; 0.5 × 40 + 0.5 × 100 = 70; 0.5 × 10 + 0.5 × 70 = 40.
        let allocation = learnt(BaseRule::Equal, &[[100, 0, 0], [40, 0, 8], [10, 0, 0]]);
        assert_eq!(allocation.expected, [40_000, 0, 2_000]);
        // They need 42; on average 158 / 3 = 52.7 came, and 80 % of that is 42.1.
        assert_eq!(allocation.counts(), ([40, 0, 2], 80));
    }

    #[test]
    fn what_does_not_fit_is_split_by_base_and_ratio() {
        // Always 100 of each: C = 240, base = 225, rest = 15.
        let always = [[100; 3]; 4];
        // 75 each, and 7.5, 4.5 and 3.
        assert_eq!(learnt(BaseRule::Equal, &always).reads(), [83, 80, 78]);
        // 112.5, 67.5 and 45, and 7.5, 4.5 and 3.
        assert_eq!(learnt(BaseRule::Prioritized, &always).reads(), [120, 72, 48]);
    }

    #[test]
    fn a_base_beyond_the_whole_is_the_whole() {
        let config = AllocationConfig {
            deterministic: Ratio::from_percent(30),
            ..AllocationConfig::article(BaseRule::Equal)
        };
        let mut allocation = Allocation::new(config);
        allocation.learn([100; 3], 0);
        assert_eq!(allocation.reads(), [30; 3]);
    }

    #[test]
    fn numbers_that_cannot_be_are_bounded() {
        for windows in [&[[u64::MAX; 3]; 4][..], &[[0; 3], [u64::MAX, 0, 1]]] {
            for rule in [BaseRule::Equal, BaseRule::Prioritized] {
                let (reads, _) = learnt(rule, windows).counts();
                assert!(reads[0] > 1 << 50, "{reads:?}");
            }
        }
    }
}
