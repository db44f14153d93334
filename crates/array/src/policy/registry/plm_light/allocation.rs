//! Who may read how much in a deterministic window (PLM-light §III-B and §III-C).
//!
//! Counts that are averaged are kept in thousandths of a read, so that hundredths of a per cent of
//! a window are not lost and no floating point decides.

use units::{Duration, Ratio};

/// Quality of service that a host has asked for (PLM-light §III-A).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QosClass {
    /// Latency first.
    High,
    /// In between.
    Medium,
    /// What is left.
    Low,
}

impl QosClass {
    /// Number of classes.
    pub const COUNT: usize = 3;
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

/// What every class may read in each window, whatever it was expected to (PLM-light §III-C).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseRule {
    /// Equal Base: a third each.
    Equal,
    /// Prioritized Base: 50, 30 and 20 per cent (§IV-D).
    Prioritized,
}

impl BaseRule {
    /// The shares of the classes in per cent; thirds as hundredths of 3 × 100.
    const fn weights(self) -> [u64; QosClass::COUNT] {
        match self {
            Self::Equal => [1, 1, 1],
            Self::Prioritized => PRIORITIZED,
        }
    }
}

/// Shares by class. The article gives them for the base (§IV-D); we take the same as the ratios
/// `r_j` by which the rest is split.
const PRIORITIZED: [u64; QosClass::COUNT] = [50, 30, 20];

/// How reads are counted out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocationConfig {
    /// `read_DC` and `write_DC` as a share of the average reads and writes of a window; 80 %
    /// (§IV-D).
    pub deterministic: Ratio,
    /// Base of all classes together as a share of the average reads; 75 % (§IV-D).
    pub base: Ratio,
    /// How the base is split.
    pub rule: BaseRule,
    /// `ζ` of Equation 1, the weight of the last window; 0.5.
    pub smoothing: Ratio,
}

impl AllocationConfig {
    /// The values of the article's evaluation, with this rule.
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

/// Settings of PLM-light.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlmLightSettings {
    /// Length of a deterministic window that nothing ends early; not zero. 1 ms (§IV-D).
    pub deterministic_window: Duration,
    /// Shortest non-deterministic window. Ours.
    pub shortest_drain: Duration,
    /// Longest non-deterministic window: what is not drained by then waits for the next. Ours.
    pub longest_drain: Duration,
    /// How reads are counted out.
    pub allocation: AllocationConfig,
}

impl Default for PlmLightSettings {
    fn default() -> Self {
        Self {
            deterministic_window: Duration::from_millis(1),
            shortest_drain: Duration::from_micros(100),
            longest_drain: Duration::from_millis(10),
            allocation: AllocationConfig::article(BaseRule::Prioritized),
        }
    }
}

/// What was seen of the classes, and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    config: AllocationConfig,
    /// `R_j^(p)`: expected reads of the next window, in thousandths.
    expected: [u64; QosClass::COUNT],
    /// Windows that have ended, and what came in them.
    windows: u64,
    reads: u64,
    writes: u64,
}

impl Allocation {
    pub(crate) fn new(config: AllocationConfig) -> Self {
        Self { config, expected: [0; QosClass::COUNT], windows: 0, reads: 0, writes: 0 }
    }

    /// A window has ended in which so many reads came of each class, and so many writes.
    pub(crate) fn learn(&mut self, reads: [u64; QosClass::COUNT], writes: u64) {
        for (expected, measured) in self.expected.iter_mut().zip(reads) {
            let measured = measured * SCALE;
            // The first window is the first estimate.
            *expected = match self.windows {
                0 => measured,
                _ => {
                    self.config.smoothing.of(measured) + *expected
                        - self.config.smoothing.of(*expected)
                }
            };
        }
        self.windows += 1;
        self.reads += reads.iter().sum::<u64>();
        self.writes += writes;
    }

    /// A share of an average over all windows, in thousandths.
    fn share_of_average(&self, share: Ratio, total: u64) -> u64 {
        share.of(total * SCALE) / self.windows.max(1)
    }

    /// Reads that each class may send in the next window; none before anything was learnt, when
    /// there is no limit.
    ///
    /// If what is expected fits into `C`, each class gets just that. If not, each gets its base,
    /// and of what is left of `C` its ratio.
    pub(crate) fn reads(&self) -> Option<[u64; QosClass::COUNT]> {
        if self.windows == 0 {
            return None;
        }
        let all = self.share_of_average(self.config.deterministic, self.reads);
        if self.expected.iter().sum::<u64>() <= all {
            return Some(self.expected.map(nearest));
        }
        let base = self.share_of_average(self.config.base, self.reads).min(all);
        let split = |whole: u64, weights: [u64; QosClass::COUNT]| {
            let sum: u64 = weights.iter().sum();
            weights.map(|weight| whole * weight / sum)
        };
        let mut shares = split(base, self.config.rule.weights());
        for (share, more) in shares.iter_mut().zip(split(all - base, PRIORITIZED)) {
            *share += more;
        }
        Some(shares.map(nearest))
    }

    /// Writes that the drives may get in the next window (`write_DC`); no limit before anything was
    /// learnt.
    pub(crate) fn writes(&self) -> Option<u64> {
        let learnt = self.windows > 0;
        learnt.then(|| nearest(self.share_of_average(self.config.deterministic, self.writes)))
    }
}

/// Whole requests, rounded half up.
fn nearest(thousandths: u64) -> u64 {
    (thousandths + SCALE / 2) / SCALE
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
    fn nothing_is_limited_before_anything_is_known() {
        let allocation = learnt(BaseRule::Equal, &[]);
        assert_eq!((allocation.reads(), allocation.writes()), (None, None));
    }

    #[test]
    fn estimates_follow_equation_1() {
        // 100; 0.5 × 40 + 0.5 × 100 = 70; 0.5 × 10 + 0.5 × 70 = 40.
        let allocation = learnt(BaseRule::Equal, &[[100, 0, 0], [40, 0, 8], [10, 0, 0]]);
        assert_eq!(allocation.expected, [40_000, 0, 2_000]);
        // They need 42; on average 158 / 3 = 52.7 came, and 80 % of that is 42.1.
        assert_eq!(allocation.reads(), Some([40, 0, 2]));
        assert_eq!(allocation.writes(), Some(80));
    }

    #[test]
    fn what_does_not_fit_is_split_by_base_and_ratio() {
        // Always 100 of each: C = 240, base = 225, rest = 15.
        let always = [[100; 3]; 4];
        // 75 each, and 7.5, 4.5 and 3.
        assert_eq!(learnt(BaseRule::Equal, &always).reads(), Some([83, 80, 78]));
        // 112.5, 67.5 and 45, and 7.5, 4.5 and 3.
        assert_eq!(learnt(BaseRule::Prioritized, &always).reads(), Some([120, 72, 48]));
    }

    #[test]
    fn a_base_beyond_the_whole_is_the_whole() {
        let config = AllocationConfig {
            deterministic: Ratio::from_percent(30),
            ..AllocationConfig::article(BaseRule::Equal)
        };
        let mut allocation = Allocation::new(config);
        allocation.learn([100; 3], 0);
        assert_eq!(allocation.reads(), Some([30; 3]));
    }
}
