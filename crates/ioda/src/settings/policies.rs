//! What can be set about policies: `[policies]`.

use crate::exit::Failure;
use crate::quantity::{Percent, Span, Text};
use array::policy::{HedgeSettings, PolicySettings, SitOutSettings};
use clap::Args;
use serde::{Deserialize, Serialize};
use units::{Duration, Ratio};

/// Options of single policies; the others do not look at them.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Policies")]
pub(crate) struct PolicyOptions {
    /// hedged: time without an answer after which a read is rebuilt as well [default: 2ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) hedge_delay: Option<Text<Span>>,
    /// hedged-quantile: the share of recent reads that were faster than one that is late
    /// [default: 99%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) hedge_quantile: Option<Text<Percent>>,
    /// hedged, hedged-quantile: most reads that hedges send, as a share of all [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) hedge_budget: Option<Text<Percent>>,
    /// first-k: members of a stripe that are read beyond those that suffice [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) spare_reads: Option<u32>,
    /// sit-out: time between two looks at the drives [default: 10ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) sit_out_interval: Option<Text<Span>>,
    /// sit-out: looks in a row at which a drive must be an outlier [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) sit_out_looks: Option<u32>,
    /// sit-out: for how long a drive is not read [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) sit_out_period: Option<Text<Span>>,
    /// mittos: the longest predicted wait with which a read is sent [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) objective: Option<Text<Span>>,
}

impl PolicyOptions {
    /// The settings of all policies.
    pub(crate) fn settings(&self) -> Result<PolicySettings, Failure> {
        let default = PolicySettings::default();
        let span = |option: &Option<Text<Span>>, default: Duration| {
            option.as_ref().map_or(default, |text| text.value.0)
        };
        let share = |option: &Option<Text<Percent>>, default: Ratio| {
            option.as_ref().map_or(default, |text| text.value.0)
        };
        let settings = PolicySettings {
            hedge: HedgeSettings {
                delay: span(&self.hedge_delay, default.hedge.delay),
                quantile: share(&self.hedge_quantile, default.hedge.quantile),
                budget: share(&self.hedge_budget, default.hedge.budget),
            },
            spare_reads: self.spare_reads.unwrap_or(default.spare_reads),
            sit_out: SitOutSettings {
                interval: span(&self.sit_out_interval, default.sit_out.interval),
                looks: self.sit_out_looks.unwrap_or(default.sit_out.looks),
                period: span(&self.sit_out_period, default.sit_out.period),
            },
            objective: span(&self.objective, default.objective),
            ..default
        };
        let least_one = [
            ("--sit-out-looks", settings.sit_out.looks == 0, "at least 1"),
            ("--sit-out-interval", settings.sit_out.interval.is_zero(), "at least 1ns"),
            ("--spare-reads", settings.spare_reads == 0, "at least 1"),
        ];
        match least_one.into_iter().find(|(_, is_none, _)| *is_none) {
            Some((option, _, least)) => {
                Err(Failure::usage(format!("{option} is 0; it must be {least}")))
            }
            None => Ok(settings),
        }
    }
}
