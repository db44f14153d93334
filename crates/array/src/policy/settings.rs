//! Settings of policies.

use super::registry::plm_light::PlmLightSettings;
use crate::cache_config::WriteCacheConfig;
use units::{Duration, Ratio};

/// Destination of reads that a write needs for its parity, under `iod3`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ParityReads {
    /// They avoid the drive whose turn it is, as all other reads.
    #[default]
    Around,
    /// They go to their drives, even in their turn, as in the public IODA artifact's IOD3.
    Wait,
}

/// Flags of reads under `quiet`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QuietReads {
    /// Failed fast, whatever is in their way.
    Strict,
    /// Failed fast only if they would wait longer than a read takes.
    Patient,
    /// Strict while the other drives of the stripe have short queues, and patient otherwise.
    #[default]
    ByQueue,
}

/// Parts of `quiet` that can be switched off, to measure their benefit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuietSettings {
    /// Flags of reads.
    pub reads: QuietReads,
    /// Whether a write that can get its parity in two ways avoids the drive in its busy window.
    pub spares_windows_in_writes: bool,
}

impl Default for QuietSettings {
    fn default() -> Self {
        Self { reads: QuietReads::default(), spares_windows_in_writes: true }
    }
}

/// Delays and budget of hedges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HedgeSettings {
    /// Time without an answer, under `hedged`. HDFS's 500 ms are for disks; the default is longer
    /// than reads take on flash that is not collecting.
    pub delay: Duration,
    /// Quantile of recent reads after which a read is late, under `hedged-quantile`.
    pub quantile: Ratio,
    /// Maximum number of reads that hedges send, as a share of all reads.
    pub budget: Ratio,
}

impl Default for HedgeSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(2),
            quantile: Ratio::from_percent(99),
            budget: Ratio::from_percent(5),
        }
    }
}

/// Settings of `sit-out`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SitOutSettings {
    /// Time between two checks of the drives.
    pub interval: Duration,
    /// Consecutive checks at which a drive is an outlier before it sits out.
    pub looks: u32,
    /// Time for which it sits out.
    pub period: Duration,
}

impl Default for SitOutSettings {
    fn default() -> Self {
        Self { interval: Duration::from_millis(10), looks: 3, period: Duration::from_secs(1) }
    }
}

/// Limits of `attentive`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttentiveSettings {
    /// Maximum number of reads that hedges send, as a share of all others.
    pub extra_reads: Ratio,
    /// Maximum number of blocks of writes in flight at a drive with a write buffer, and likewise of
    /// reads for parity; more of them wait at the host. A quarter of the writes that Linux's Kyber
    /// allows.
    pub most_in_flight: u32,
    /// Whether drives tell reads what they would wait for, which no drive on sale does. Shows the
    /// limit of any prediction.
    pub oracle: bool,
}

impl Default for AttentiveSettings {
    fn default() -> Self {
        Self { extra_reads: Ratio::from_percent(10), most_in_flight: 32, oracle: false }
    }
}

/// The drives that the models of `linnos` and `heimdall` were trained on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrainedOn {
    /// `pm9a3-960`.
    #[default]
    Pm9a3,
    /// `7450-960`.
    Micron7450,
    /// `p5520-1920`.
    P5520,
    /// `pe8110-960`.
    Pe8110,
    /// `wd-960`.
    Wd,
    /// `cm7r-3840`.
    Cm7r,
}

impl TrainedOn {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pm9a3, Self::Micron7450, Self::P5520, Self::Pe8110, Self::Wd, Self::Cm7r];

    /// The name of the drive.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pm9a3 => "pm9a3-960",
            Self::Micron7450 => "7450-960",
            Self::P5520 => "p5520-1920",
            Self::Pe8110 => "pe8110-960",
            Self::Wd => "wd-960",
            Self::Cm7r => "cm7r-3840",
        }
    }

    /// The drive called `name`; `None` if there is no model of it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|drive| drive.name() == name)
    }
}

/// Settings of all policies that have any; each reads its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PolicySettings {
    /// Destination of reads for parity, under `iod3`.
    pub iod3_parity_reads: ParityReads,
    /// Parts of `quiet`.
    pub quiet: QuietSettings,
    /// Delays and budget of hedges, under `hedged` and `hedged-quantile`.
    pub hedge: HedgeSettings,
    /// Members read beyond those that suffice, under `first-k`.
    pub spare_reads: u32,
    /// Settings of `sit-out`.
    pub sit_out: SitOutSettings,
    /// Limits of extra reads and of commands in flight, under `attentive`.
    pub attentive: AttentiveSettings,
    /// The drive whose model predicts, under `linnos` and `heimdall`.
    pub predictor: TrainedOn,
    /// Longest predicted wait of a read that is sent, under `mittos`. The value is ours: longer
    /// than reads take on flash that is not collecting.
    pub objective: Duration,
    /// The write cache of policies that have one.
    pub write_cache: WriteCacheSettings,
    /// Whether drives that answer too late are found and not read, under `quiet` and `attentive`.
    pub finds_late_drives: bool,
    /// Windows and counts, under `plm-light`.
    pub plm_light: PlmLightSettings,
    /// Time for which the controller computes before it dispatches a request, under `degraded` and
    /// its variants; 4.9 µs on the paper's processor (Sha et al., §4.2.5).
    pub evaluation_time: Duration,
    /// Profile of the drives, under `mittos`.
    pub profile: DriveProfile,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            iod3_parity_reads: ParityReads::default(),
            quiet: QuietSettings::default(),
            hedge: HedgeSettings::default(),
            spare_reads: 1,
            sit_out: SitOutSettings::default(),
            attentive: AttentiveSettings::default(),
            predictor: TrainedOn::default(),
            objective: Duration::from_millis(1),
            write_cache: WriteCacheSettings::default(),
            finds_late_drives: true,
            plm_light: PlmLightSettings::default(),
            evaluation_time: Duration::ZERO,
            profile: DriveProfile::default(),
        }
    }
}

/// Profile of a drive, measured once; all drives of an array are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveProfile {
    /// Time to read a page from an idle drive.
    pub read: Duration,
    /// Maximum time of such a read, from the command to the answer; zero if unknown.
    pub longest_read: Duration,
    /// Time to write a page to an idle drive.
    pub write: Duration,
    /// Time to erase a block.
    pub erase: Duration,
    /// Pages in a block.
    pub block_pages: u64,
    /// Number of pages that are worked on at the same time.
    pub dies: u32,
    /// Whether a buffer that survives a loss of power acknowledges writes, and holds the rated
    /// writes between two windows of the drive.
    pub buffers_a_cycle: bool,
    /// Duration of a collection.
    pub collection: Duration,
    /// Pages that the host writes from one collection to the next.
    pub pages_between_collections: u64,
    /// Number of collections at the same time that block the whole drive: 1 if each does.
    pub collections_to_hold_it: u32,
}

impl Default for DriveProfile {
    /// A drive of which nothing is known: it never collects.
    fn default() -> Self {
        Self {
            read: Duration::ZERO,
            longest_read: Duration::ZERO,
            write: Duration::ZERO,
            erase: Duration::ZERO,
            block_pages: 1,
            dies: 1,
            buffers_a_cycle: false,
            collection: Duration::ZERO,
            pages_between_collections: u64::MAX,
            collections_to_hold_it: 1,
        }
    }
}

/// Settings of the write cache; `None` for the default of the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteCacheSettings {
    /// Capacity in bytes.
    pub capacity_bytes: Option<u64>,
    /// Time from a read to its answer.
    pub read_latency: Option<Duration>,
    /// Time from a write to its answer.
    pub write_latency: Option<Duration>,
    /// Largest request whose writes are cached.
    pub largest_write_bytes: Option<u64>,
    /// Maximum number of drain commands in flight at one drive.
    pub drain_depth: Option<u32>,
}

impl WriteCacheSettings {
    /// `default`, overridden by these settings.
    #[must_use]
    pub fn over(&self, default: WriteCacheConfig) -> WriteCacheConfig {
        WriteCacheConfig {
            capacity_bytes: self.capacity_bytes.unwrap_or(default.capacity_bytes),
            read_latency: self.read_latency.unwrap_or(default.read_latency),
            write_latency: self.write_latency.unwrap_or(default.write_latency),
            largest_write_bytes: self.largest_write_bytes.unwrap_or(default.largest_write_bytes),
            drain_depth: self.drain_depth.unwrap_or(default.drain_depth),
        }
    }
}
