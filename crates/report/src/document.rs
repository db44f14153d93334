//! The document: everything a report shows, as plain data.
//!
//! Every number must be finite, because JSON has no way to write infinity. Units stand at the end
//! of the names; a name without a unit is a count or a ratio.

use crate::assertions::Assertion;
use crate::schema::Document;
use crate::violation::Violation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A percentile with fewer samples beyond it than this is marked wherever it is shown.
pub(crate) const FEWEST_SAMPLES_BEYOND: u64 = 100;

/// Several runs of the same workload on the same array, one per policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What was compared, in one line.
    pub title: String,
    /// What is needed to run it again.
    pub manifest: Manifest,
    /// One run per policy, in the order in which they are shown.
    pub runs: Vec<Run>,
    /// Claims of an article and whether they hold here; empty outside `ioda reproduce`.
    pub claims: Vec<Claim>,
    /// Conditions on the results; empty unless some were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Assertion>,
}

impl Document for Comparison {
    const SCHEMA: &'static str = "ioda.compare/1";
}

impl Comparison {
    /// The run of the policy `Ideal`, to which the others are compared.
    #[must_use]
    pub fn ideal(&self) -> Option<&Run> {
        self.run_of("ideal")
    }

    /// The run of the policy `Floor`, on drives where changing flash takes no time.
    #[must_use]
    pub fn floor(&self) -> Option<&Run> {
        self.run_of("floor")
    }

    /// The runs that nobody can have and that the others are compared to: Ideal, and Floor.
    pub fn yardsticks(&self) -> impl Iterator<Item = &Run> {
        self.ideal().into_iter().chain(self.floor())
    }

    /// The words for ratios to these runs; none if there are none.
    pub(crate) fn ratios_to(yardsticks: &[&Run]) -> Option<String> {
        let names: Vec<&str> = yardsticks.iter().map(|run| run.name()).collect();
        match names[..] {
            [] => None,
            [name] => Some(format!("ratio to {name}")),
            _ => Some(format!("ratios to {}", names.join(" and "))),
        }
    }

    fn run_of(&self, policy: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.policy.eq_ignore_ascii_case(policy))
    }
}

/// What is needed to run the comparison again and to get the same numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the program.
    pub ioda_version: String,
    /// The command as it was typed.
    pub command_line: String,
    /// The seed, a number of 64 bits in decimal digits. A string, because JavaScript and other
    /// readers of JSON lose bits of numbers above 2^53.
    pub seed: String,
    /// The workload in words.
    pub workload: String,
    /// Hash of the trace, if the workload came from a file.
    pub workload_hash: Option<String>,
    /// "N of M requests replayed".
    pub replayed: String,
    /// The drive model in words.
    pub drive: String,
    /// The array in words: level, width, chunk size.
    pub array: String,
    /// The whole configuration.
    pub configuration_toml: String,
    /// Anything else that a reader should know.
    pub notes: Vec<String>,
}

/// One policy under the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name of the policy as people type it, such as `ioda`; decides the colour.
    pub policy: String,
    /// How the run is called in tables and plots, such as `IODA`; the policy's name if empty.
    pub label: String,
    /// Hash over every result; equal hashes mean equal runs.
    pub result_hash: String,
    /// What the run's drives are, in words, where not all runs have the same; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub layout: String,
    /// Bytes that the host can use.
    #[serde(default)]
    pub capacity_bytes: u64,
    /// Length of the run in simulated time.
    pub simulated_seconds: f64,
    /// Time it took to simulate; 0 in a survey, which keeps nothing of the machine.
    pub wall_seconds: f64,
    /// Page operations simulated, collection included.
    pub page_operations: u64,
    /// Latency of the host's reads.
    pub read: Latency,
    /// Latency of the host's writes.
    pub write: Latency,
    /// The latency of reads as multiples of that of other runs, with intervals; empty unless they
    /// were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<LatencyRatio>,
    /// Latency host by host, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostLatency>,
    /// Requests that the policy held back before it sent anything of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: u64,
    /// Host reads completed per simulated second.
    pub iops_read: f64,
    /// Host writes completed per simulated second.
    pub iops_write: f64,
    /// Host data read per simulated second.
    pub mib_per_second_read: f64,
    /// Host data written per simulated second.
    pub mib_per_second_write: f64,
    /// Where the time of reads at some percentiles went.
    pub causes: Vec<CauseSplit>,
    /// Stripe reads by the number of busy members: index 0 to N. A member is busy if a read there
    /// would wait for a collection, for work that a collection held up, or for the flush of a write
    /// buffer.
    pub busy_sub_ios_per_stripe_read: Vec<u64>,
    /// The same by the number of members that are busy with a collection, or with work that one
    /// held up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collecting_sub_ios_per_stripe_read: Vec<u64>,
    /// Stripe reads by the number of members that were sent a read which met a collection, and
    /// failed fast or waited, rebuilds included: index 0 to N.
    pub met_sub_ios_per_stripe_read: Vec<u64>,
    /// Host reads that collections made wait.
    #[serde(default)]
    pub blocked_reads: BlockedReads,
    /// Reads of a stripe.
    pub stripe_reads: u64,
    /// Drive reads made only because of the policy, for instance to rebuild.
    pub extra_reads: u64,
    /// All reads sent to drives, the extra ones included.
    pub device_reads: u64,
    /// All writes sent to drives, parity included.
    pub device_writes: u64,
    /// Programs and erases that were interrupted for reads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspensions: u64,
    /// Copies past error correction that drives checked in idle time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scrubbed_pages: u64,
    /// Pages of the host that drives programmed into a cache of SLC blocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slc_pages: u64,
    /// Pages that drives moved out of it: part of what collections programmed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded_pages: u64,
    /// Pages computed from the other members of the stripe.
    pub rebuilds: u64,
    /// Reads which a drive refused at once because a collection stood in the way.
    pub fail_fasts: u64,
    /// Reads sent again after a fail-fast, this time to wait.
    pub resubmitted: u64,
    /// Reads that were hedged; none if nothing was ever late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedges: Option<HedgeCounters>,
    /// What the policy has counted itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<Tally>,
    /// Collections that a drive had to run in its predictable window.
    pub contract_violations: u64,
    /// Collections on all drives.
    pub collections: u64,
    /// Host writes that waited until a drive had free space again.
    pub host_write_stalls: u64,
    /// Write amplification of the drives: pages of flash that they programmed, parity within them
    /// and what collections moved included, per page programmed for a write of the array. 1 before
    /// the first write, and where nothing is known of the drives.
    pub write_amplification_device: f64,
    /// Write amplification of the whole array: the same per page that the host wrote to the array,
    /// so that parity of the array counts as well.
    pub write_amplification_array: f64,
    /// Blocks erased on all drives.
    pub erases: u64,
    /// Pages programmed for the host, parity of the array included.
    #[serde(default)]
    pub host_programs_pages: u64,
    /// Pages programmed by collections.
    #[serde(default)]
    pub collection_programs_pages: u64,
    /// A stretch of the run in detail.
    pub timeline: Option<Timeline>,
    /// The drives one by one.
    pub drives: Vec<DriveSummary>,
    /// Every length of the busy window in order of time; empty without windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<ProgrammedWindow>,
    /// The p99 of reads over the whole run: start of each interval in seconds of simulated time
    /// and the latency in microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub p99_over_time: Vec<(f64, f64)>,
    /// Free blocks over the whole run: seconds of simulated time, and the share of its blocks that
    /// each drive had free then, from 0 to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_over_time: Vec<(f64, Vec<f64>)>,
    /// Leases that the host told drives of: granted, extended or taken back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub permits: u64,
    /// What became of the array with drives missing; none if nothing went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Degraded>,
    /// The write buffers of all drives; none if nothing was written through one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferCounters>,
    /// The fast memory of the host in which writes wait; none if the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<WriteCacheCounters>,
    /// Parity within the drives; none if they keep none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<RainCounters>,
}

impl Run {
    /// The name to show.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.label.is_empty() { &self.policy } else { &self.label }
    }

    /// Extra reads per hundred reads which the array would have needed anyway.
    #[must_use]
    pub fn extra_reads_percent(&self) -> f64 {
        percent(self.extra_reads, self.device_reads.saturating_sub(self.extra_reads))
    }

    /// Host reads that collections made wait, per hundred.
    #[must_use]
    pub fn blocked_percent(&self) -> f64 {
        let BlockedReads { by_collection, by_queue } = self.blocked_reads;
        percent(by_collection + by_queue, self.read.count)
    }

    /// How often the length of the busy window changed.
    #[must_use]
    pub fn window_changes(&self) -> u64 {
        self.windows.len().saturating_sub(1) as u64
    }

    /// The split of reads at `percentile`, if it was recorded.
    #[must_use]
    pub fn cause_split(&self, percentile: f64) -> Option<&CauseSplit> {
        self.causes.iter().find(|split| same_percentile(split.percentile, percentile))
    }
}

/// An array whose drives failed in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Degraded {
    /// The least that it could promise its reads at any time.
    pub contract: DegradedContract,
    /// Drives that were busy at once at most, where they take turns; 0 where they do not.
    pub busy_drives: u32,
    /// What was rebuilt, in the order of beginning.
    pub rebuilds: Vec<Rebuild>,
}

/// What is left of the window contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DegradedContract {
    /// Drives take no turns, so there was none.
    #[default]
    NoWindows,
    /// All of it.
    Whole,
    /// The same with fewer drives busy at once.
    Reduced,
    /// None: a read that needs a busy drive waits for it.
    Suspended,
}

/// A rebuild of a drive that was replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuild {
    /// The drive, counted from 0.
    pub drive: u32,
    /// When it was replaced, in seconds of simulated time.
    pub began_s: f64,
    /// When it had everything back; none if that was not in this run.
    pub ended_s: Option<f64>,
    /// The share of its stripes that were done, from 0 to 1.
    pub done_share: f64,
    /// What was written to it for the rebuild per second.
    pub mib_per_second: f64,
}

/// A length of the busy window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgrammedWindow {
    /// When the drives were told, in seconds of simulated time.
    pub at_s: f64,
    /// The length in milliseconds.
    pub length_ms: f64,
}

/// Host reads that waited because of collections, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedReads {
    /// Reads that waited for a collection itself.
    pub by_collection: u64,
    /// Other reads, which waited for I/O of the host that a collection had held up.
    pub by_queue: u64,
}

/// Reads of (parts of) stripes whose answers were late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HedgeCounters {
    /// Those that were rebuilt as well.
    pub hedged: u64,
    /// Of these, those where the rebuilt data came first.
    pub won: u64,
    /// Those that had to wait: no budget, or nothing to rebuild from.
    pub denied: u64,
}

/// Something that a policy has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// What went through write buffers, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BufferCounters {
    /// Pages that host writes put into the buffers.
    pub buffered_writes_pages: u64,
    /// Those of them that replaced a version there, which then never reaches flash.
    pub coalesced_writes_pages: u64,
    /// Pages read from the buffers.
    pub buffer_reads_pages: u64,
    /// Pages that coordinated flushes programmed outside of busy windows.
    pub forced_flushes_pages: u64,
    /// Most bytes at once that were in the buffer of one drive or waited for room there.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Bytes that the buffer of one drive holds; 0 in documents of earlier versions.
    #[serde(default)]
    pub capacity_bytes: u64,
}

/// What went through the fast memory of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteCacheCounters {
    /// Most bytes that it held at once.
    pub host_buffer_peak_bytes: u64,
    /// Pages written into it.
    pub staged_pages: u64,
    /// Those of them that replaced a version which had not been drained.
    pub replaced_pages: u64,
    /// Pages drained from it to drives.
    pub drained_pages: u64,
    /// Pages of reads that it answered.
    pub read_pages: u64,
    /// Pages of writes that were too large for it.
    pub bypassed_pages: u64,
    /// Writes that waited for room in it.
    pub waits: u64,
}

/// Parity within the drives, on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RainCounters {
    /// Parity pages programmed.
    pub parity_programs_pages: u64,
    /// Pages read to compute parity.
    pub parity_reads_pages: u64,
    /// Pages of the host that were computed from the rest of their stripe.
    pub rebuilt_pages: u64,
    /// Pages read for that beyond what the host asked for.
    pub rebuild_reads_pages: u64,
    /// Collections that began although another die of their plane group collected.
    pub rotation_breaches: u64,
    /// Stripes that were moved to even out wear.
    pub moved_stripes: u64,
}

/// The distribution of a latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of requests.
    pub count: u64,
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Smallest in microseconds.
    pub min_us: f64,
    /// Largest in microseconds.
    pub max_us: f64,
    /// Percentiles in ascending order.
    pub percentiles: Vec<Percentile>,
    /// The slowest of several requests at once, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Slowest>,
    /// The distribution function as (fraction of requests, latency in microseconds), ascending.
    pub cdf: Vec<(f64, f64)>,
}

/// The slowest of several requests, each of an array of its own, which know nothing of each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowest {
    /// How many arrays.
    pub arrays: u32,
    /// Percentiles of the slowest, in ascending order; the samples beyond are those of one array.
    pub percentiles: Vec<Percentile>,
}

impl Latency {
    /// The entry of `percentile` (for instance 99.9), if there is one.
    #[must_use]
    pub fn at(&self, percentile: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|p| same_percentile(p.percentile, percentile))
    }
}

/// A latency of reads as a multiple of that of another run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRatio {
    /// The name of the other run.
    pub to: String,
    /// Which percentile, in percent; none for the mean.
    pub percentile: Option<f64>,
    /// The quotient.
    pub ratio: f64,
    /// Where it lies with a confidence of 95 %, as the run's own blocks of time vary.
    pub interval: Option<(f64, f64)>,
    /// Why there is no interval; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
}

impl LatencyRatio {
    /// Its statistic, as `p99.9` or `mean`.
    #[must_use]
    pub fn name(&self) -> String {
        self.percentile.map_or_else(|| "mean".to_owned(), crate::format::percentile)
    }
}

/// The latency of one of several hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostLatency {
    /// Its class of service.
    pub host: String,
    /// Of its reads.
    pub read: Latency,
    /// Of its writes.
    pub write: Latency,
}

/// One percentile of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// Which one, in percent: 99.9 for p99.9.
    pub percentile: f64,
    /// The latency in microseconds.
    pub value_us: f64,
    /// Number of requests that took longer.
    pub samples_beyond: u64,
    /// Where it lies with a confidence of 95 %, as the run's own blocks of time vary, in
    /// microseconds; absent unless it was asked for and can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<(f64, f64)>,
}

impl Percentile {
    /// Whether too few samples lie beyond it to rely on it.
    #[must_use]
    pub fn has_few_samples(&self) -> bool {
        self.samples_beyond < FEWEST_SAMPLES_BEYOND
    }
}

/// The latency at one percentile, split by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseSplit {
    /// Which percentile, in percent.
    pub percentile: f64,
    /// The latency in microseconds; the parts sum to it.
    pub latency_us: f64,
    /// Each cause and its part in microseconds.
    pub parts_us: Vec<(String, f64)>,
}

/// A stretch of a run in detail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Start in milliseconds of simulated time.
    pub start_ms: f64,
    /// End in milliseconds of simulated time.
    pub end_ms: f64,
    /// Single reads.
    pub points: Vec<TimelinePoint>,
    /// Busy windows of the drives.
    pub windows: Vec<Band>,
    /// Collections of the drives.
    pub collections: Vec<Band>,
    /// The p99 of each interval: its start in milliseconds and the latency in microseconds.
    pub p99_per_bin: Vec<(f64, f64)>,
}

/// One read on the timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePoint {
    /// Intended arrival in milliseconds of simulated time.
    pub t_ms: f64,
    /// Latency in microseconds.
    pub latency_us: f64,
    /// The cause with the largest part.
    pub dominant_cause: String,
}

/// Something that lasted on one drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Index of the drive in the array.
    pub drive: u32,
    /// Start in milliseconds of simulated time.
    pub start_ms: f64,
    /// End in milliseconds of simulated time.
    pub end_ms: f64,
}

/// One drive at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveSummary {
    /// Index of the drive in the array.
    pub drive: u32,
    /// Write amplification of the drive: pages of flash that it programmed per page programmed for
    /// a write of the array.
    pub write_amplification: f64,
    /// Blocks erased.
    pub erases: u64,
    /// Collections.
    pub collections: u64,
    /// Collections that ran in the predictable window.
    pub contract_violations: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_violation: Option<Violation>,
    /// Share of the drive's blocks that are free, from 0 to 1.
    pub free_share: f64,
    /// Stalls that the policy has learnt from the drive's answers, if it learns any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<LearntStalls>,
}

/// Stalls of a drive as the policy has learnt them: reads that took five times as long as usual, or
/// longer. Medians are of the latest 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearntStalls {
    /// Stalls since the start.
    pub count: u64,
    /// Time that a stall lasts, in milliseconds; null if fewer than six are known, as below.
    pub length_ms: Option<LearntMedian>,
    /// Time from the beginning of one to that of the next, in milliseconds.
    pub period_ms: Option<LearntMedian>,
    /// Pages written to the drive meanwhile.
    pub written_pages: Option<LearntMedian>,
    /// What they follow.
    pub trigger: LearntTrigger,
}

/// What stalls follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LearntTrigger {
    /// Neither of the others is regular, or too few stalls were seen.
    #[default]
    Unknown,
    /// The time since the stall before.
    Time,
    /// What was written since the stall before.
    Written,
}

/// A median with the bounds of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearntMedian {
    /// Lower bound.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Upper bound.
    pub high: f64,
}

/// Who claims something, or has set its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// The article, in its words or figures.
    #[default]
    Article,
    /// We.
    Ours,
    /// We, to show why a statement of an article does not hold.
    Evidence,
}

/// A side of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Above.
    Higher,
    /// Below.
    Lower,
}

/// A claim and what we found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Short and stable name.
    pub id: String,
    /// Whose claim it is.
    pub kind: ClaimKind,
    /// The figure or section of the article.
    pub figure: String,
    /// The claim in a sentence.
    pub statement: String,
    /// The article's words or number; empty for a claim of ours.
    pub article: String,
    /// The limit, in words.
    #[serde(default)]
    pub limits: String,
    /// The limit, where it comes from, and what it was before if it was changed.
    pub limit: String,
    /// Our number.
    pub ours: String,
    /// Whether the shape holds.
    pub holds: bool,
    /// The side of the limits on which all numbers lie that miss them; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<Side>,
    /// Whether the limit lies within the interval of our number, so that the verdict may be chance.
    #[serde(default, skip_serializing_if = "is_false")]
    pub within_noise: bool,
    /// Our numbers of which it can be said how sure they are: latencies, rates of requests, and
    /// their ratios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<ClaimNumber>,
    /// Why not, or what to keep in mind.
    pub note: String,
}

/// One number of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimNumber {
    /// Workload, metric and what is compared.
    pub of: String,
    /// The number; latencies in nanoseconds.
    pub value: f64,
    /// Where it lies with a confidence of 95 %, as the run's own blocks of time vary.
    pub interval: Option<(f64, f64)>,
    /// Why there is no interval; empty if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_not: String,
}

impl Claim {
    /// What the article says, for a table.
    pub(crate) fn article_or_ours(&self) -> &str {
        match self.kind {
            ClaimKind::Article => &self.article,
            ClaimKind::Ours => "(our claim)",
            ClaimKind::Evidence => "(evidence)",
        }
    }

    /// Whether it holds, in words.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.holds, self.within_noise) {
            (true, false) => "holds",
            (true, true) => "holds, within noise",
            (false, false) => "DOES NOT HOLD",
            (false, true) => "DOES NOT HOLD, within noise",
        }
    }
}

/// How many busy members are worth a row in a table: at least four if the array is that wide,
/// and all that occur in any run. Wide arrays would otherwise fill tables with zeros.
pub(crate) fn busy_members_shown(runs: &[Run]) -> usize {
    let counts = || runs.iter().map(|run| &run.busy_sub_ios_per_stripe_read);
    let members = counts().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    let largest = counts().filter_map(|counts| counts.iter().rposition(|&n| n > 0)).max();
    largest.unwrap_or(0).max(4).min(members)
}

/// Whether some members are busy because they flush their write buffers, and collect nothing.
pub(crate) fn flushes_make_busy(runs: &[Run]) -> bool {
    runs.iter().any(|run| {
        let collecting = &run.collecting_sub_ios_per_stripe_read;
        !collecting.is_empty() && *collecting != run.busy_sub_ios_per_stripe_read
    })
}

/// Stripe reads with `members` or more, in per cent of all that `counts` has by their number of
/// members.
pub(crate) fn percent_from(counts: &[u64], members: usize) -> f64 {
    percent(counts.iter().skip(members).sum(), counts.iter().sum())
}

/// `part` per hundred of `whole`; nothing of nothing is 0.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Whether a number may be left out of the JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether a flag may be left out of the JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Percentiles are typed by people (99.9), so they are equal when they print the same.
fn same_percentile(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}
