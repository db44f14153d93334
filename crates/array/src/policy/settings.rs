//! What can be set about policies.

use crate::stage::StageConfig;
use units::Duration;

/// Settings of all policies that have any; each reads its own.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PolicySettings {
    /// The fast memory of policies that stage writes.
    pub stage: StageSettings,
}

/// What is set about the fast memory in which writes wait; none for what the policy takes by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StageSettings {
    /// Bytes that it holds.
    pub capacity_bytes: Option<u64>,
    /// From a read to its answer.
    pub read_latency: Option<Duration>,
    /// From a write to its answer.
    pub write_latency: Option<Duration>,
    /// Largest command that it takes.
    pub largest_write_bytes: Option<u64>,
    /// Most drain commands that a drive has at once.
    pub drain_depth: Option<u32>,
}

impl StageSettings {
    /// `default`, with what is set in its place.
    #[must_use]
    pub fn over(&self, default: StageConfig) -> StageConfig {
        StageConfig {
            capacity_bytes: self.capacity_bytes.unwrap_or(default.capacity_bytes),
            read_latency: self.read_latency.unwrap_or(default.read_latency),
            write_latency: self.write_latency.unwrap_or(default.write_latency),
            largest_write_bytes: self.largest_write_bytes.unwrap_or(default.largest_write_bytes),
            drain_depth: self.drain_depth.unwrap_or(default.drain_depth),
        }
    }
}
