//! Settings of the write cache: `[stage]`.

use crate::failure::Failure;
use crate::values::quantity::{Size, Span, Text};
use array::policy::WriteCacheSettings as PolicySettings;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most drain commands that make sense: as many as an NVMe queue holds.
const MOST_DRAIN_DEPTH: u32 = 65_535;

/// The write cache in front of the drives: `[stage]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Staging (rails, ioda-nvm, plm-light)")]
pub struct WriteCacheSettings {
    /// What the fast memory in front of the drives holds, such as 256m [default: no bound; what was
    /// needed is reported]
    #[arg(id = "stage_capacity", long = "stage-capacity", value_name = "SIZE")]
    pub capacity: Option<Text<Size>>,
    /// From a read of it to the answer [default: 1us; plm-light: 10us]
    #[arg(long = "stage-read-latency", value_name = "TIME")]
    pub read_latency: Option<Text<Span>>,
    /// From a write to it to the answer [default: 1us; plm-light: 10us]
    #[arg(long = "stage-write-latency", value_name = "TIME")]
    pub write_latency: Option<Text<Span>>,
    /// Larger writes go straight to the drives [default: all are staged; plm-light: 64k]
    #[arg(long, value_name = "SIZE")]
    pub largest_write: Option<Text<Size>>,
    /// Writes that drain it, at once on each drive, 1 to 65535 [default: 32]
    #[arg(long, value_name = "N")]
    pub drain_depth: Option<u32>,
}

impl WriteCacheSettings {
    /// The settings for a policy, on drives with pages of `page_bytes`.
    pub fn policy_settings(&self, page_bytes: u64) -> Result<PolicySettings, Failure> {
        let size = |setting: &Option<Text<Size>>| setting.as_ref().map(|text| text.value.0);
        let span = |setting: &Option<Text<Span>>| setting.as_ref().map(|text| text.value.0);
        let capacity_bytes = size(&self.capacity);
        if let Some(bytes) = capacity_bytes.filter(|&bytes| bytes < page_bytes) {
            return Err(Failure::usage(format!(
                "--stage-capacity is {bytes} bytes, but a page of the drives has {page_bytes}; \
                 choose at least that"
            )));
        }
        if let Some(depth) = self.drain_depth
            && !(1..=MOST_DRAIN_DEPTH).contains(&depth)
        {
            return Err(Failure::usage(format!(
                "--drain-depth is {depth}; it must be 1 to {MOST_DRAIN_DEPTH}"
            )));
        }
        Ok(PolicySettings {
            capacity_bytes,
            read_latency: span(&self.read_latency),
            write_latency: span(&self.write_latency),
            largest_write_bytes: size(&self.largest_write),
            drain_depth: self.drain_depth,
        })
    }
}
