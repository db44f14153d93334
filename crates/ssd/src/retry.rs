//! Read retry: a page that error correction cannot correct is sensed again with other thresholds.
//!
//! The share of sensings that fail grows with the erases of the block and with the age of its data.
//! Time in a simulation is too short for either to change much, so a drive may begin worn and with
//! old data. It also grows with the sensings since the erase of the block (read disturb).

use crate::config::{ConfigError, refuse};
use alloc::format;
use alloc::string::String;
use units::{Ratio, Rng};

/// Most repetitions of a read by a drive that is made without read retry and becomes worn.
const MOST: u32 = 5;

/// Chance that a page is sensed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryConfig {
    /// Share of the sensings of new flash that have to be repeated.
    pub share: Ratio,
    /// Share that `rated_erases` erases of a block add; fewer erases add in proportion.
    pub wear_share: Ratio,
    /// Erases that a block is rated for.
    pub rated_erases: u32,
    /// Erases that every block has seen before the run.
    pub worn_erases: u32,
    /// Share that each month of the data's age adds.
    pub age_share: Ratio,
    /// Age of the data before the run, in months.
    pub age_months: u32,
    /// Share that a block adds after `rated_reads` sensings since its last erase; other numbers add
    /// in proportion, below and above. Zero for a drive without read disturb, which counts no
    /// sensings.
    pub disturb_share: Ratio,
    /// Sensings between two erases that a block is rated for: reads of hosts, repetitions, copies
    /// of collections, parity within the drive, scrubbing.
    pub rated_reads: u32,
    /// Most repetitions of one read.
    pub most: u32,
}

impl RetryConfig {
    /// The share of sensings that have to be repeated, up to 1, in a block with `erases` erases in
    /// the run and `reads` sensings since the last.
    #[must_use]
    pub fn share_of(&self, erases: u32, reads: u32) -> f64 {
        let worn = f64::from(self.worn_erases) + f64::from(erases);
        let wear = self.wear_share.as_f64() * worn / f64::from(self.rated_erases.max(1));
        let age = self.age_share.as_f64() * f64::from(self.age_months);
        let disturb =
            self.disturb_share.as_f64() * f64::from(reads) / f64::from(self.rated_reads.max(1));
        (self.share.as_f64() + wear + age + disturb).min(1.0)
    }

    /// Whether sensings are counted, because they disturb their block.
    pub(crate) fn counts_reads(&self) -> bool {
        self.disturb_share > Ratio::ZERO
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let Self { share, wear_share, age_share, disturb_share, .. } = self;
        for (name, share) in [
            ("share", share),
            ("wear_share", wear_share),
            ("age_share", age_share),
            ("disturb_share", disturb_share),
        ] {
            if *share > Ratio::ONE {
                return refuse(format!("read_retry.{name} is {share}; it must be at most 100%"));
            }
        }
        if self.rated_erases == 0 {
            return refuse(String::from(
                "read_retry.rated_erases is 0; set the erases that a block is rated for",
            ));
        }
        if self.rated_reads == 0 {
            return refuse(String::from(
                "read_retry.rated_reads is 0; set the reads that a block is rated for between two erases",
            ));
        }
        let most = self.most;
        if most == 0 || most > 100 {
            return refuse(format!("read_retry.most is {most}; it must be between 1 and 100"));
        }
        Ok(())
    }
}

/// Random numbers for the reads of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    config: RetryConfig,
    /// Share on top of the configured shares.
    added: Ratio,
    rng: Rng,
}

impl Retry {
    pub(crate) fn new(config: RetryConfig) -> Self {
        Self { config, added: Ratio::ZERO, rng: Rng::stream(0, "read retry") }
    }

    /// Read retry of a drive without configured retries: all shares are 0.
    pub(crate) fn none() -> Self {
        Self::new(RetryConfig {
            share: Ratio::ZERO,
            wear_share: Ratio::ZERO,
            rated_erases: 1,
            worn_erases: 0,
            age_share: Ratio::ZERO,
            age_months: 0,
            disturb_share: Ratio::ZERO,
            rated_reads: 1,
            most: MOST,
        })
    }

    /// Sets the share of sensings that are repeated on top of the configured shares.
    pub(crate) fn set_added(&mut self, share: Ratio) {
        self.added = share;
    }

    /// Seeds the random numbers, so that drives with different seeds do not repeat the same reads.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.rng = Rng::stream(seed, "read retry");
    }

    /// Number of repetitions of a read in a block with `erases` erases in the run and `reads`
    /// sensings since the last.
    pub(crate) fn draw(&mut self, erases: u32, reads: u32) -> u32 {
        let share = (self.config.share_of(erases, reads) + self.added.as_f64()).min(1.0);
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

    const CONFIG: RetryConfig = RetryConfig {
        share: Ratio::from_percent(1),
        wear_share: Ratio::from_percent(20),
        rated_erases: 3_000,
        worn_erases: 1_400,
        age_share: Ratio::from_percent(2),
        age_months: 3,
        disturb_share: Ratio::ZERO,
        rated_reads: 1,
        most: 5,
    };

    #[test]
    fn reads_add_in_proportion_and_never_more_than_all() {
        let config = RetryConfig {
            share: Ratio::ZERO,
            wear_share: Ratio::ZERO,
            age_share: Ratio::ZERO,
            disturb_share: Ratio::from_percent(25),
            rated_reads: 1_024,
            ..CONFIG
        };
        // Powers of two make the quotients exact.
        let shares = [0, 1, 512, 1_024, 2_048, 4_095, 4_096, 5_000, u32::MAX];
        let expected = [0.0, 0.25 / 1_024.0, 0.125, 0.25, 0.5, 4_095.0 / 4_096.0, 1.0, 1.0, 1.0];
        assert_eq!(shares.map(|reads| config.share_of(0, reads)), expected);
        // The shares add up, to 1 at most.
        let config = RetryConfig { share: Ratio::from_percent(50), ..config };
        assert_eq!([1_024, 2_048, 2_049].map(|reads| config.share_of(9, reads)), [0.75, 1.0, 1.0]);
    }

    #[test]
    fn levels_of_correction_bound_the_repetitions() {
        let config =
            RetryConfig { disturb_share: Ratio::ONE, rated_reads: 1_000, most: 7, ..CONFIG };
        let mut retry = Retry::new(config);
        assert_eq!((0..1_000).map(|_| retry.draw(0, 1_000)).sum::<u32>(), 7_000);
        // Half of the sensings fail: 1/2 + 1/4 + … + 1/128 repetitions on average.
        let config = RetryConfig { wear_share: Ratio::ZERO, age_months: 0, ..config };
        let mut retry = Retry::new(RetryConfig { share: Ratio::ZERO, ..config });
        let draws: u32 = (0..100_000).map(|_| retry.draw(0, 500)).sum();
        assert!((f64::from(draws) / 1e5 - 127.0 / 128.0).abs() < 0.015, "{draws}");
    }

    #[test]
    fn reads_change_nothing_on_a_drive_without_read_disturb() {
        let [mut one, mut other] = [Retry::new(CONFIG), Retry::new(CONFIG)];
        for reads in 0..10_000 {
            assert_eq!(one.draw(reads, 0), other.draw(reads, reads * 1_000));
        }
    }

    #[test]
    fn what_is_added_can_be_taken_back() {
        let mut retry = Retry::none();
        let mut repeated = |share| {
            retry.set_added(share);
            (0..100_000).map(|_| retry.draw(0, 0)).sum::<u32>()
        };
        assert_eq!(repeated(Ratio::ZERO), 0);
        let mean = f64::from(repeated(Ratio::from_percent(20))) / 1e5;
        assert!((mean - 0.25).abs() < 0.01, "{mean}");
        assert_eq!(repeated(Ratio::ONE), 100_000 * MOST);
        assert_eq!(repeated(Ratio::ZERO), 0);
    }

    #[test]
    fn impossible_settings_name_their_limit() {
        let refused = |config: RetryConfig| format!("{}", config.validate().unwrap_err());
        let none = refused(RetryConfig { rated_reads: 0, ..CONFIG });
        assert!(none.starts_with("read_retry.rated_reads is 0; set the reads"), "{none}");
        let much = refused(RetryConfig { disturb_share: Ratio::from_percent(101), ..CONFIG });
        assert_eq!(much, "read_retry.disturb_share is 101%; it must be at most 100%");
    }

    #[test]
    fn wear_and_age_add_up() {
        assert!((CONFIG.share_of(100, 0) - (0.01 + 0.1 + 0.06)).abs() < 1e-9);
        let mut retry = Retry::new(CONFIG);
        let draws: u32 = (0..100_000).map(|_| retry.draw(100, 0)).sum();
        // A geometric number of repetitions, cut off at five.
        let share: f64 = 0.17;
        let mean: f64 = (1..=5).map(|n| share.powi(n)).sum();
        assert!((f64::from(draws) / 1e5 - mean).abs() < 0.01, "{draws}");
    }
}
