//! Experiments of the laboratory: applications on file systems over several systems, with what was
//! measured.
//!
//! Times are those of the laboratory's clock, which stands still while programs compute
//! (`lab/README.md`).

use crate::Claim;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The percentiles that are shown, as documents spell them.
pub const PERCENTILES: [&str; 5] = ["50", "95", "99", "99.9", "99.99"];

/// One experiment with its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabExperiment {
    /// Short and stable name.
    pub id: String,
    /// The figure or section of the article.
    pub figure: String,
    /// What it shows, in one line.
    pub title: String,
    /// What was run and on what, each with its name.
    pub facts: Vec<(String, String)>,
    /// What is compared, in order.
    pub systems: Vec<LabSystem>,
    /// One for each application on each file system.
    pub applications: Vec<LabApplication>,
    /// The claims that could be judged, and whether they hold.
    pub claims: Vec<Claim>,
    /// The claims that could not be judged.
    pub unjudged: Vec<Unjudged>,
}

/// What is compared: Linux's own RAID-5 (`md`), or an array of ours under a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabSystem {
    /// As it is typed: `md`, or a policy.
    pub name: String,
    /// As tables call it.
    pub label: String,
}

/// One application on one file system, with a run on each system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabApplication {
    /// How tables call it: the application, and the file system where an experiment has several.
    pub name: String,
    /// The application.
    pub application: String,
    /// The file system; `raw` for the device without one.
    pub file_system: String,
    /// One for each system, in the order of the experiment.
    pub runs: Vec<LabRun>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabRun {
    /// The system, as it is typed.
    pub system: String,
    /// What was measured; none if the run failed.
    pub measured: Option<LabMeasured>,
}

/// What was measured in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabMeasured {
    /// What kind of application it is: `mix`, `filebench`, `ycsb`, `program` or `faults`.
    pub kind: Option<String>,
    /// How long it ran.
    pub seconds: f64,
    /// How many operations it did.
    pub operations: u64,
    /// The same per second.
    #[serde(default)]
    pub operations_per_second: Option<f64>,
    /// What one operation is; none if it has none.
    #[serde(default)]
    pub operation: Option<String>,
    /// The mean latency of its operations; none if they were not timed.
    #[serde(default)]
    pub mean_us: Option<f64>,
    /// Percentiles of the latency of its operations in microseconds, by per cent, such as `99.9`.
    #[serde(default)]
    pub percentiles_us: Option<BTreeMap<String, f64>>,
    /// What the array did meanwhile.
    pub array: ArrayMeasured,
    /// The processor time of the application; none if processors took no time.
    #[serde(default)]
    pub processor: Option<ProcessorMeasured>,
    /// What happened second by second; none where that was not recorded.
    #[serde(default)]
    pub timeline: Option<Vec<Second>>,
}

/// The processor time of an application, as the laboratory charged it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorMeasured {
    /// System calls.
    pub calls: u64,
    /// Pages of 4 KiB that system calls copied.
    pub pages: u64,
    /// Processor time of all tasks, in seconds. Tasks run side by side.
    pub seconds: f64,
}

/// What an array did while an application was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayMeasured {
    /// Reads that it was sent; of `md` those of its four drives.
    pub reads: u64,
    /// Writes that it was sent; of `md` those of its four drives.
    pub writes: u64,
    /// Reads of stripes. A read of an application may be several.
    pub stripe_reads: u64,
    /// Reads of stripes that met a collection of a drive. Some policies turn to other drives then.
    pub met: u64,
    /// The mean latency of the reads.
    #[serde(default)]
    pub mean_us: Option<f64>,
    /// Percentiles of the latency of the reads in microseconds, by per cent.
    #[serde(default)]
    pub percentiles_us: Option<BTreeMap<String, f64>>,
}

/// One second of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Which one, counted from 0.
    pub second: u64,
    /// Operations that are counted to it: those that began in it, or were due.
    pub operations: u64,
    /// The median of their latencies; none if there were none.
    pub p50_us: Option<f64>,
    /// Their 99th percentile.
    pub p99_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
    /// What was done to the array in it.
    #[serde(default)]
    pub event: Option<String>,
}

/// A claim that could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// Short and stable name of the claim.
    pub id: String,
    /// What is missing, in a sentence.
    pub why: String,
}

impl LabExperiment {
    /// The system called `name`, by index.
    #[must_use]
    pub fn system(&self, name: &str) -> Option<usize> {
        self.systems.iter().position(|system| system.name == name)
    }

    /// What others are compared with, by index: Ideal, else Base, else the first.
    #[must_use]
    pub fn yardstick(&self) -> Option<usize> {
        let first = (!self.systems.is_empty()).then_some(0);
        self.system("ideal").or_else(|| self.system("base")).or(first)
    }
}

impl LabMeasured {
    /// What happened second by second; nothing where that was not recorded.
    #[must_use]
    pub fn seconds_of_it(&self) -> &[Second] {
        self.timeline.as_deref().unwrap_or_default()
    }
}

impl LabApplication {
    /// What was measured on the system with this index.
    #[must_use]
    pub fn measured(&self, system: usize) -> Option<&LabMeasured> {
        self.runs.get(system)?.measured.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_compared_with_ideal_or_else_with_base() {
        let of = |names: &[&str]| {
            let system =
                |name: &&str| LabSystem { name: (*name).to_owned(), ..LabSystem::default() };
            let systems = names.iter().map(system).collect();
            LabExperiment { systems, ..LabExperiment::default() }.yardstick()
        };
        assert_eq!(of(&["md", "base", "ioda", "ideal"]), Some(3));
        assert_eq!((of(&["md", "base", "ioda"]), of(&["md", "ioda"])), (Some(1), Some(0)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_a_result_leaves_out_is_not_there() {
        let text = r#"{"kind": null, "seconds": 2, "operations": 3, "array": {"reads": 1, "writes": 0, "stripe_reads": 1, "met": 0}}"#;
        let measured: LabMeasured = serde_json::from_str(text).unwrap();
        assert_eq!((measured.seconds, measured.mean_us), (2.0, None));
        assert!(measured.seconds_of_it().is_empty() && measured.array.percentiles_us.is_none());
    }
}
