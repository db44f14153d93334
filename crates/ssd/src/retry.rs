//! Reading again: what error correction cannot put right is sensed once more with other thresholds.
//!
//! How often that happens grows with the erases of the block and with the age of its data. Time in
//! a simulation is too short for either to change much, so a drive may begin worn and with old
//! data.

use crate::config::{ConfigError, refuse};
use alloc::format;
use alloc::string::String;
use units::{Ratio, Rng};

/// How often pages are sensed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryConfig {
    /// Share of the sensings of new flash that have to be repeated.
    pub share: Ratio,
    /// What a block that was erased `rated_erases` times adds to it; fewer erases add in
    /// proportion.
    pub wear_share: Ratio,
    /// Erases that a block is rated for.
    pub rated_erases: u32,
    /// Erases that every block has seen before the run.
    pub worn_erases: u32,
    /// What every month adds for which the data have lain.
    pub age_share: Ratio,
    /// Months for which the data have lain before the run.
    pub age_months: u32,
    /// Most repetitions of one read.
    pub most: u32,
}

impl RetryConfig {
    /// The share of sensings that have to be repeated in a block with so many erases in the run.
    #[must_use]
    pub fn share_of(&self, erases: u32) -> f64 {
        let worn = f64::from(self.worn_erases) + f64::from(erases);
        let wear = self.wear_share.as_f64() * worn / f64::from(self.rated_erases.max(1));
        let age = self.age_share.as_f64() * f64::from(self.age_months);
        (self.share.as_f64() + wear + age).min(1.0)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let Self { share, wear_share, rated_erases, age_share, most, .. } = self;
        for (name, share) in
            [("share", share), ("wear_share", wear_share), ("age_share", age_share)]
        {
            if *share > Ratio::ONE {
                return refuse(format!("read_retry.{name} is {share}; it must be at most 100%"));
            }
        }
        if *rated_erases == 0 {
            return refuse(String::from(
                "read_retry.rated_erases is 0; set the erases that a block is rated for",
            ));
        }
        if *most == 0 || *most > 100 {
            return refuse(format!("read_retry.most is {most}; it must be between 1 and 100"));
        }
        Ok(())
    }
}

/// Chance for the reads of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    config: RetryConfig,
    rng: Rng,
}

impl Retry {
    pub(crate) fn new(config: RetryConfig) -> Self {
        Self { config, rng: Rng::stream(0, "read retry") }
    }

    /// Drives with different seeds do not repeat the same reads.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.rng = Rng::stream(seed, "read retry");
    }

    /// How often a read in a block with so many erases is repeated.
    pub(crate) fn draw(&mut self, erases: u32) -> u32 {
        let share = self.config.share_of(erases);
        let mut retries = 0;
        while retries < self.config.most && self.rng.unit_f64() < share {
            retries += 1;
        }
        retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wear_and_age_add_up() {
        let config = RetryConfig {
            share: Ratio::from_percent(1),
            wear_share: Ratio::from_percent(20),
            rated_erases: 3_000,
            worn_erases: 1_400,
            age_share: Ratio::from_percent(2),
            age_months: 3,
            most: 5,
        };
        assert!((config.share_of(100) - (0.01 + 0.1 + 0.06)).abs() < 1e-9);
        let mut retry = Retry::new(config);
        let draws: u32 = (0..100_000).map(|_| retry.draw(100)).sum();
        // A geometric number of repetitions, cut off at five.
        let share: f64 = 0.17;
        let mean: f64 = (1..=5).map(|n| share.powi(n)).sum();
        assert!((f64::from(draws) / 1e5 - mean).abs() < 0.01, "{draws}");
    }
}
