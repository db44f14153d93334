//! The document of a survey: every policy under every workload, and what each policy costs.
//!
//! The schema is versioned ([`Document`]) and described in `docs/survey.md`. As in the document of
//! a comparison every number is finite, and units stand at the end of the names.

mod costs;
mod evidence;
mod spread;

use crate::document::{Latency, Run};
use crate::schema::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use costs::{PolicyCosts, costs};
pub(crate) use costs::{columns, drive_changes};
pub(crate) use spread::median;
pub use spread::{Spread, Statistic, quantile_curve};

/// Version of the records that a [`Survey`] is made of. It grows with every change that a reader of
/// an earlier version would misunderstand.
pub const SCHEMA: u32 = 2;

/// In version 1 `schema` was the number alone, and `policy` in a run was the label; both can be
/// read still.
impl Document for Survey {
    const SCHEMA: &'static str = "ioda.survey/2";
}

/// Name of the policy to which latencies are compared.
const IDEAL: &str = "ideal";

/// Many policies under many workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// What was surveyed, in one line.
    pub title: String,
    /// Version of the program.
    pub ioda_version: String,
    /// The command as it was typed.
    pub command_line: String,
    /// The drive model in words.
    pub drive: String,
    /// The standard array in words; policies that need another have it in their own entry.
    pub array: String,
    /// The whole configuration.
    pub configuration_toml: String,
    /// The seeds, each a number of 64 bits in decimal digits. Strings, because JavaScript and other
    /// readers of JSON lose bits of numbers above 2^53.
    pub seeds: Vec<String>,
    /// Anything else that a reader should know.
    pub notes: Vec<String>,
    /// The policies in the order in which they are shown.
    pub policies: Vec<SurveyPolicy>,
    /// The workloads in the order in which they are shown.
    pub workloads: Vec<SurveyWorkload>,
    /// One entry per policy, workload and seed.
    pub runs: Vec<SurveyRun>,
    /// Throughput at saturation: one entry per policy and mix.
    pub saturation: Vec<SaturationRun>,
    /// Processor time of the policies; empty if it was not measured.
    pub processor: Vec<ProcessorTime>,
    /// What each policy costs, worked out from all of the above.
    pub costs: Vec<PolicyCosts>,
}

/// A policy of a survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyPolicy {
    /// The name people type.
    pub name: String,
    /// The name in figures.
    pub label: String,
    /// What it does, in a line.
    pub summary: String,
    /// Where it comes from: a section of an article, or a product.
    pub source: String,
    /// What it needs of the drives beyond what any drive can do; empty if nothing.
    pub drive_changes: String,
    /// The level of the array it ran on; empty if it could not be run.
    pub level: String,
    /// Bytes that the host can use of that array.
    pub capacity_bytes: u64,
    /// Bytes of flash in that array.
    pub flash_bytes: u64,
    /// Why it could not be run; empty if it could.
    pub refused: String,
}

/// A workload of a survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyWorkload {
    /// The name people type.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Requests of each run.
    pub requests: u64,
    /// How many times faster requests come than in the table of presets.
    pub rate: f64,
    /// Remarks about its rate.
    pub notes: Vec<String>,
}

/// One policy under one workload with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurveyRun {
    /// Name of the policy.
    pub policy: String,
    /// Name of the workload.
    pub workload: String,
    /// The seed.
    pub seed: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended, and this was measured. Without a timeline.
    Measured(Box<Run>),
    /// It failed, and this sentence says why.
    Failed(String),
}

impl Outcome {
    /// What was measured, if the run ended.
    #[must_use]
    pub fn measured(&self) -> Option<&Run> {
        match self {
            Self::Measured(run) => Some(run),
            Self::Failed(_) => None,
        }
    }
}

/// One policy under as many requests as a fixed number of clients can send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SaturationRun {
    /// Name of the policy.
    pub policy: String,
    /// Reads in per cent of the requests.
    pub read_percent: u32,
    /// Clients, each with one request under way.
    pub clients: u32,
    /// Requests per simulated second in the second half of the run, when what drives could put off
    /// at the start is over; none if the run failed.
    pub iops: Option<f64>,
    /// What came of it, over the whole run.
    pub outcome: Outcome,
}

/// Processor time that one policy takes, measured on the machine of the survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorTime {
    /// Name of the policy.
    pub policy: String,
    /// Nanoseconds of one core per request of the host.
    pub nanos_per_io: f64,
    /// As a multiple of that of Base, measured in turns with it; none without Base.
    pub of_base: Option<f64>,
}

/// Reads or writes of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Direction {
    /// The latency of these requests in `run`.
    #[must_use]
    pub fn of(self, run: &Run) -> &Latency {
        match self {
            Self::Read => &run.read,
            Self::Write => &run.write,
        }
    }
}

impl Survey {
    /// What was measured of `policy` under `workload`, one entry for each seed that ended.
    pub fn measured(&self, policy: &str, workload: &str) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| run.policy == policy && run.workload == workload)
            .filter_map(|run| run.outcome.measured())
    }

    /// A statistic of `policy` under `workload` over the seeds; none if no run has it.
    #[must_use]
    pub fn spread(
        &self,
        policy: &str,
        workload: &str,
        direction: Direction,
        statistic: Statistic,
    ) -> Option<Spread> {
        Spread::of(self.measured(policy, workload).map(|run| direction.of(run)), statistic)
    }

    /// Whether `policy` is the one that the others are compared to.
    #[must_use]
    pub fn is_ideal(policy: &SurveyPolicy) -> bool {
        policy.name == IDEAL
    }

    /// The latency of `policy` under `workload` as a multiple of that of Ideal; none without Ideal.
    #[must_use]
    pub fn of_ideal(
        &self,
        policy: &str,
        workload: &str,
        direction: Direction,
        statistic: Statistic,
    ) -> Option<f64> {
        let ideal = self.spread(IDEAL, workload, direction, statistic)?.median_us;
        let own = self.spread(policy, workload, direction, statistic)?.median_us;
        (ideal > 0.0).then(|| own / ideal)
    }

    /// Geometric mean of [`Survey::of_ideal`] over the workloads of reads, and the largest; none if
    /// there is none.
    #[must_use]
    pub fn over_workloads(&self, policy: &str, statistic: Statistic) -> Option<(f64, f64)> {
        let ratio = |workload: &SurveyWorkload| {
            self.of_ideal(policy, &workload.name, Direction::Read, statistic)
        };
        let ratios: Vec<f64> = self.workloads.iter().filter_map(ratio).collect();
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        (!ratios.is_empty()).then(|| ((logarithms / ratios.len() as f64).exp(), largest))
    }

    /// The runs that failed, each in words.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let runs = self.runs.iter().filter_map(|run| match &run.outcome {
            Outcome::Measured(_) => None,
            Outcome::Failed(why) => {
                Some(format!("{} under {}, seed {}: {why}", run.policy, run.workload, run.seed))
            }
        });
        let saturated = self.saturation.iter().filter_map(|run| match &run.outcome {
            Outcome::Measured(_) => None,
            Outcome::Failed(why) => {
                Some(format!("{} at saturation, {} % reads: {why}", run.policy, run.read_percent))
            }
        });
        runs.chain(saturated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_medians_and_means_are_geometric() {
        let survey = crate::sample::survey();
        let p99 = Statistic::Percentile(99.0);
        let median = |policy, workload| {
            survey.spread(policy, workload, Direction::Read, p99).unwrap().median_us
        };
        let ratio = median("base", "tpcc") / median("ideal", "tpcc");
        assert_eq!(survey.of_ideal("base", "tpcc", Direction::Read, p99), Some(ratio));
        let other = median("base", "azure") / median("ideal", "azure");
        let (mean, most) = survey.over_workloads("base", p99).unwrap();
        assert!((mean - (ratio * other).sqrt()).abs() < 1e-9 * mean);
        assert_eq!(most, ratio.max(other));
        assert_eq!(survey.over_workloads("nobody", p99), None);
    }

    #[test]
    fn failures_are_told_and_leave_the_other_seed() {
        let survey = crate::sample::survey();
        let failures: Vec<String> = survey.failures().collect();
        assert_eq!(failures, ["iod1 under azure, seed 2: nothing moved"]);
        assert_eq!(survey.measured("iod1", "azure").count(), 1);
        assert_eq!(survey.measured("iod1", "tpcc").count(), 2);
    }

    #[test]
    fn the_document_survives_a_round_trip() {
        let survey = crate::sample::survey();
        let text = crate::schema::to_string(&survey);
        assert!(serde_json::from_str::<Survey>(&text).unwrap() == survey);
    }

    #[test]
    fn documents_from_before_schemas_had_names_are_read() {
        let survey = crate::sample::survey();
        let mut older = serde_json::to_value(&survey).unwrap();
        older["schema"] = 1.into();
        assert!(serde_json::from_value::<Survey>(older).unwrap() == survey);
    }
}
