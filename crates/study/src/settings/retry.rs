//! Read retry in configuration files: `[drive.read_retry]`.

use crate::values::quantity::{Percent, Text, exact_percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::RetryConfig;
use units::Ratio;

/// How often pages are sensed again because error correction could not put them right:
/// `[drive.read_retry]`. The shares of new flash, of wear, of age and of read disturb add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySettings {
    /// Share of the sensings of new flash that have to be repeated.
    pub share: Option<Text<Percent>>,
    /// What a block adds to it that was erased `rated_erases` times.
    pub wear_share: Option<Text<Percent>>,
    /// Erases that a block is rated for [default: 3000].
    pub rated_erases: Option<u32>,
    /// Erases that every block has seen before the run.
    pub worn_erases: Option<u32>,
    /// What every month adds for which the data have lain.
    pub age_share: Option<Text<Percent>>,
    /// Months for which the data have lain before the run.
    pub age_months: Option<u32>,
    /// Share that a block adds after `rated_reads` sensings since its last erase; other numbers add
    /// in proportion, below and above [default: 0%].
    pub disturb_share: Option<Text<Percent>>,
    /// Sensings between two erases that a block is rated for: reads of hosts, repetitions and
    /// copies of collections together [default: 100000].
    pub rated_reads: Option<u32>,
    /// Most repetitions of one read, such as 7 where LDPC has seven levels; 0 for no read retry
    /// [default: 5].
    pub most: Option<u32>,
}

/// What is used where nothing else is said.
const USUAL: RetryConfig = RetryConfig {
    share: Ratio::ZERO,
    wear_share: Ratio::ZERO,
    rated_erases: 3_000,
    worn_erases: 0,
    age_share: Ratio::ZERO,
    age_months: 0,
    disturb_share: Ratio::ZERO,
    rated_reads: 100_000,
    most: 5,
};

impl RetrySettings {
    /// Everything about `retry`, spelt out.
    pub fn full(retry: &RetryConfig) -> Self {
        let percent = |ratio| exact_percent(ratio).parse().ok();
        Self {
            share: percent(retry.share),
            wear_share: percent(retry.wear_share),
            rated_erases: Some(retry.rated_erases),
            worn_erases: Some(retry.worn_erases),
            age_share: percent(retry.age_share),
            age_months: Some(retry.age_months),
            disturb_share: percent(retry.disturb_share),
            rated_reads: Some(retry.rated_reads),
            most: Some(retry.most),
        }
    }

    /// The read retry that these settings describe, of a drive that had `base`.
    pub fn build(&self, base: Option<RetryConfig>) -> Option<RetryConfig> {
        let base = base.unwrap_or(USUAL);
        let share = |given: &Option<Text<Percent>>, before| {
            given.as_ref().map_or(before, |text| text.value.0)
        };
        let retry = RetryConfig {
            share: share(&self.share, base.share),
            wear_share: share(&self.wear_share, base.wear_share),
            rated_erases: self.rated_erases.unwrap_or(base.rated_erases),
            worn_erases: self.worn_erases.unwrap_or(base.worn_erases),
            age_share: share(&self.age_share, base.age_share),
            age_months: self.age_months.unwrap_or(base.age_months),
            disturb_share: share(&self.disturb_share, base.disturb_share),
            rated_reads: self.rated_reads.unwrap_or(base.rated_reads),
            most: self.most.unwrap_or(base.most),
        };
        let repeats = retry.most > 0 && retry.share_of(u32::MAX, u32::MAX) > 0.0;
        repeats.then_some(retry)
    }
}
