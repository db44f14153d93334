//! What came of experiments, as JSON.

use report::published::PublishedTable;
use report::schema::Document;
use report::seeds::ClaimOverSeeds;
use report::statements::PaperStatements;
use report::{Claim, Comparison, Manifest, Run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use study::experiment::{Judged, Number, Plan, Series};

mod spool;

pub(super) use spool::Spool;

/// Claims and runs of experiments, as `ioda reproduce --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reproduction {
    /// The statements of each paper with their verdicts, of which all claims were judged.
    pub(super) statements: Vec<PaperStatements>,
    /// The claims and whether they hold.
    pub(super) claims: Vec<Claim>,
    /// One document for each group of runs of one workload.
    pub(super) workloads: Spool,
    /// What the series of figures that compare variants were run on.
    pub(super) figures: Vec<Figure>,
    /// The numbers of each plan that is shown.
    pub(super) plans: Vec<PlanNumbers>,
    /// Numbers that others have published, beside ours; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) published: Vec<PublishedTable>,
    /// Each claim over all seeds; absent if there was one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) over_seeds: Vec<ClaimOverSeeds>,
    /// Remarks for readers, such as that the runs were shortened; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

impl Document for Reproduction {
    const SCHEMA: &'static str = "ioda.reproduce/1";
}

/// What the series of a figure with variants were run on.
#[derive(Serialize, JsonSchema)]
pub(super) struct Figure {
    /// Experiment and workload.
    figure: String,
    /// Its series. Their numbers are in `workloads`, with the same hash; of an experiment with
    /// several seeds, seed by seed and with hashes of their own.
    series: Vec<FigureSeries>,
}

/// One series of a figure.
#[derive(Serialize, JsonSchema)]
struct FigureSeries {
    /// How tables and plots call it.
    series: String,
    /// Its drives and its array, in words.
    system: String,
    /// Bytes that the host can use.
    capacity_bytes: u64,
    /// Hash over every result; equal hashes mean equal runs.
    result_hash: String,
}

impl Figure {
    /// What the figure called `name` compares.
    pub(super) fn new(name: &str, comparison: &Comparison) -> Self {
        let series = |manifest: &Manifest, run: &Run| {
            let differs = |common: &String| (!common.is_empty()).then(|| common.clone());
            let own = (!run.layout.is_empty()).then(|| run.layout.clone());
            let words = [differs(&manifest.drive), differs(&manifest.array), own];
            FigureSeries {
                series: run.name().to_owned(),
                system: words.into_iter().flatten().collect::<Vec<_>>().join("; "),
                capacity_bytes: run.capacity_bytes,
                result_hash: run.result_hash.clone(),
            }
        };
        let Comparison { manifest, runs, .. } = comparison;
        let series = runs.iter().map(|run| series(manifest, run)).collect();
        Self { figure: name.to_owned(), series }
    }
}

/// The numbers of one plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlanNumbers {
    /// Short name of the experiment.
    experiment: String,
    /// Short name of the plan.
    name: String,
    /// Number of drives.
    drives: u32,
    /// Its numbers by name; windows without bound are null.
    numbers: BTreeMap<String, Option<f64>>,
}

/// The numbers of each plan that is shown.
pub(super) fn plans((experiment, own, _): &Judged<'_>) -> Vec<PlanNumbers> {
    let plan = |(series, plan): (Series, &Plan)| {
        let finite =
            |number: Number| own.value(0, &series, number).filter(|value| value.is_finite());
        let shows = experiment.shows.iter();
        PlanNumbers {
            experiment: experiment.id.clone(),
            name: plan.name.clone(),
            drives: plan.drives,
            numbers: shows.map(|text| (text.value.to_string(), finite(text.value))).collect(),
        }
    };
    experiment.series().into_iter().zip(&experiment.plans).map(plan).collect()
}
