//! What can be set about policies: `[policies]`.

use crate::failure::Failure;
use crate::values::quantity::{OnOff, Percent, Span, Text};
use crate::values::words::{Base, Flagged, Parity, Predicting};
use array::policy::{
    AllocationConfig, AttentiveSettings, HedgeSettings, PlmLightSettings, PolicySettings,
    QuietSettings, SitOutSettings, TrainedOn,
};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Ratio};

/// Options of single policies; the others do not look at them.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Policies")]
pub struct PolicyOptions {
    /// iod3: reads that a write needs for its parity go around the drive whose turn it is, or wait
    /// for it: around or wait [default: around]
    #[arg(long, value_name = "WHERE")]
    pub iod3_parity_reads: Option<Text<Parity>>,
    /// quiet: reads are failed fast for whatever is in their way, only if they would wait longer
    /// than a read takes, or the one or the other by how much the other drives have to do: strict,
    /// patient or by-queue [default: by-queue]
    #[arg(long, value_name = "HOW")]
    pub quiet_reads: Option<Text<Flagged>>,
    /// quiet: whether a write that can have its parity in two ways spares the drive in its busy
    /// window [default: true]
    #[arg(long, value_name = "BOOL")]
    pub quiet_spares_windows: Option<bool>,
    /// hedged: time without an answer after which a read is also reconstructed [default: 2ms]
    #[arg(long, value_name = "TIME")]
    pub hedge_delay: Option<Text<Span>>,
    /// hedged-quantile: the share of recent reads that were faster than one that is late
    /// [default: 99%]
    #[arg(long, value_name = "PERCENT")]
    pub hedge_quantile: Option<Text<Percent>>,
    /// hedged, hedged-quantile: most reads that hedges send, as a share of all [default: 5%]
    #[arg(long, value_name = "PERCENT")]
    pub hedge_budget: Option<Text<Percent>>,
    /// first-k: members of a stripe that are read beyond those that suffice, 1 or more [default: 1]
    #[arg(long, value_name = "N")]
    pub spare_reads: Option<u32>,
    /// sit-out: time between two looks at the drives [default: 10ms]
    #[arg(long, value_name = "TIME")]
    pub sit_out_interval: Option<Text<Span>>,
    /// sit-out: looks in a row at which a drive must be an outlier, 1 or more [default: 3]
    #[arg(long, value_name = "N")]
    pub sit_out_looks: Option<u32>,
    /// sit-out: for how long a drive is not read [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub sit_out_period: Option<Text<Span>>,
    /// attentive: most reads that hedges send, as a share of all others [default: 10%]
    #[arg(long, value_name = "PERCENT")]
    pub attentive_extra_reads: Option<Text<Percent>>,
    /// attentive: blocks of writes that a drive with a write buffer has at a time, 1 or more; the
    /// others wait at the host, and reads pass them [default: 32]
    #[arg(long, value_name = "N")]
    pub attentive_in_flight: Option<u32>,
    /// attentive: whether drives tell reads what they would wait for, which no drive on sale does:
    /// an oracle, on or off [default: off]
    #[arg(long, value_name = "WHETHER")]
    pub attentive_oracle: Option<Text<OnOff>>,
    /// linnos, heimdall: the drive that their models were trained on: pm9a3-960, 7450-960,
    /// p5520-1920, pe8110-960, wd-960 or cm7r-3840 [default: the drive of the run, or pm9a3-960 if
    /// it is none of them]
    #[arg(long, value_name = "DRIVE")]
    pub predictor: Option<Text<Predicting>>,
    /// mittos: the longest predicted wait with which a read is sent [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub objective: Option<Text<Span>>,
    /// quiet, attentive: whether a drive that answers too late is found and not read: on or off
    /// [default: on]
    #[arg(long, value_name = "WHETHER")]
    pub find_late_drives: Option<Text<OnOff>>,
    /// degraded, degraded-aware, degraded-host: time to evaluate the model, for each request, such
    /// as 5us [default: 0]
    #[arg(long, value_name = "TIME")]
    pub evaluation_time: Option<Text<Span>>,
    /// plm-light: length of a deterministic window [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub plm_window: Option<Text<Span>>,
    /// plm-light: shortest time between two of them [default: 100us]
    #[arg(long, value_name = "TIME")]
    pub plm_shortest_drain: Option<Text<Span>>,
    /// plm-light: longest time between two of them [default: 10ms]
    #[arg(long, value_name = "TIME")]
    pub plm_longest_drain: Option<Text<Span>>,
    /// plm-light: reads and writes that a deterministic window takes, as a share of those that come
    /// in one on average [default: 80%]
    #[arg(long, value_name = "PERCENT")]
    pub plm_counts: Option<Text<Percent>>,
    /// plm-light: reads that classes are sure of, together, as a share of the same [default: 75%]
    #[arg(long, value_name = "PERCENT")]
    pub plm_base: Option<Text<Percent>>,
    /// plm-light: how those are split among classes: equal or prioritized [default: prioritized]
    #[arg(long, value_name = "RULE")]
    pub plm_rule: Option<Text<Base>>,
    /// plm-light: weight of the last window in the estimate of the next [default: 50%]
    #[arg(long, value_name = "PERCENT")]
    pub plm_smoothing: Option<Text<Percent>>,
    /// plm-light: time of a message from array to coordinator and of one back, such as 50us
    /// [default: 0]
    #[arg(long, value_name = "TIME")]
    pub plm_message: Option<Text<Span>>,
}

impl PolicyOptions {
    /// The settings of PLM-light.
    fn plm_light(&self) -> Result<PlmLightSettings, Failure> {
        let default = PlmLightSettings::default();
        let span = |option: &Option<Text<Span>>, default: Duration| {
            option.as_ref().map_or(default, |text| text.value.0)
        };
        let share = |option: &Option<Text<Percent>>, default: Ratio| {
            option.as_ref().map_or(default, |text| text.value.0)
        };
        let allocation = AllocationConfig {
            deterministic: share(&self.plm_counts, default.allocation.deterministic),
            base: share(&self.plm_base, default.allocation.base),
            rule: self.plm_rule.as_ref().map_or(default.allocation.rule, |text| text.value.0),
            smoothing: share(&self.plm_smoothing, default.allocation.smoothing),
        };
        let settings = PlmLightSettings {
            deterministic_window: span(&self.plm_window, default.deterministic_window),
            shortest_drain: span(&self.plm_shortest_drain, default.shortest_drain),
            longest_drain: span(&self.plm_longest_drain, default.longest_drain),
            allocation,
            message: span(&self.plm_message, default.message),
            ..default
        };
        if settings.longest_drain < settings.shortest_drain {
            return Err(Failure::usage(format!(
                "--plm-longest-drain is {}; it must be at least --plm-shortest-drain, {}",
                settings.longest_drain, settings.shortest_drain
            )));
        }
        Ok(settings)
    }

    /// The model that predictors ask on drives called `drive`.
    pub fn predictor(&self, drive: &str) -> TrainedOn {
        let asked = self.predictor.as_ref().map(|text| text.value.0);
        asked.or_else(|| TrainedOn::from_name(drive)).unwrap_or_default()
    }

    /// The settings of all policies, but for the predictor.
    pub fn settings(&self) -> Result<PolicySettings, Failure> {
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
            attentive: AttentiveSettings {
                extra_reads: share(&self.attentive_extra_reads, default.attentive.extra_reads),
                most_in_flight: self
                    .attentive_in_flight
                    .unwrap_or(default.attentive.most_in_flight),
                oracle: self
                    .attentive_oracle
                    .as_ref()
                    .map_or(default.attentive.oracle, |text| text.value.0),
            },
            iod3_parity_reads: self
                .iod3_parity_reads
                .as_ref()
                .map_or(default.iod3_parity_reads, |text| text.value.0),
            quiet: QuietSettings {
                reads: self.quiet_reads.as_ref().map_or(default.quiet.reads, |text| text.value.0),
                spares_windows_in_writes: self
                    .quiet_spares_windows
                    .unwrap_or(default.quiet.spares_windows_in_writes),
            },
            objective: span(&self.objective, default.objective),
            finds_late_drives: self
                .find_late_drives
                .as_ref()
                .map_or(default.finds_late_drives, |text| text.value.0),
            plm_light: self.plm_light()?,
            evaluation_time: span(&self.evaluation_time, default.evaluation_time),
            ..default
        };
        let least_one = [
            ("--sit-out-looks", settings.sit_out.looks == 0, "at least 1"),
            ("--sit-out-interval", settings.sit_out.interval.is_zero(), "at least 1ns"),
            ("--plm-window", settings.plm_light.deterministic_window.is_zero(), "at least 1ns"),
            ("--attentive-in-flight", settings.attentive.most_in_flight == 0, "at least 1"),
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
