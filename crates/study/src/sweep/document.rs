//! The document of a sweep, from what was asked and what was kept.

use super::matrix::{Matrix, Question};
use super::record::Record;
use crate::describe;
use crate::failure::Failure;
use crate::jobs::Journal;
use crate::metric::{self, Metric};
use crate::setup::Setup;
use crate::setup::firmware;
use report::sweep::{Outcome, Sweep, SweepMetric, SweepPoint, SweepPolicy, SweepRun, Unit};

/// A metric that is to be shown; all that are kept can be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wanted(Metric);

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let metric: Metric = text.parse().map_err(|error| format!("{error}"))?;
        if Metric::standard().contains(&metric) {
            return Ok(Self(metric));
        }
        Err(format!(
            "a sweep does not keep {metric}; of percentiles it keeps {}, of busy members 1 to 4",
            sim::PERCENTILES.map(|percentile| format!("p{percentile}")).join(", ")
        ))
    }
}

/// Everything that `journal` has of `matrix`; `wanted` is what is shown.
pub fn document(
    question: &Question,
    matrix: &Matrix,
    journal: &Journal<Record>,
    wanted: &[Wanted],
) -> Result<Sweep, Failure> {
    let parameters: Vec<_> = question.parameters.iter().map(|one| one.described()).collect();
    let names: Vec<&str> = parameters.iter().map(|one| one.name.as_str()).collect();
    let counts = [
        (matrix.points.len(), "point", "points"),
        (question.policies.len(), "policy", "policies"),
        (question.seeds.len(), "seed", "seeds"),
    ];
    let counts =
        counts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
    let run = |asked: &super::matrix::Asked| {
        let outcome = match &asked.key {
            Ok(key) => journal.get(key)?.outcome.clone(),
            Err(why) => Outcome::Refused(why.clone()),
        };
        let (policy, seed) = (asked.policy.name().to_owned(), asked.seed.to_string());
        Some(SweepRun { point: asked.point, policy, seed, outcome })
    };
    let drives = || matrix.setups().map(|setup| &setup.plan().drive);
    let runs_on =
        question.policies.iter().flat_map(|&policy| drives().map(move |drive| (policy, drive)));
    let mut sweep = Sweep {
        title: format!("Sweep of {}: {}", names.join(" and "), counts.join(", ")),
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        facts: facts(question, matrix)?,
        configuration_toml: question.settings.to_toml(),
        seeds: question.seeds.iter().map(u64::to_string).collect(),
        policies: question
            .policies
            .iter()
            .map(|policy| SweepPolicy {
                name: policy.name().to_owned(),
                label: firmware::marked(policy.label(), *policy, drives()),
            })
            .collect(),
        metrics: wanted.iter().map(shown).collect(),
        points: matrix
            .points
            .iter()
            .map(|point| SweepPoint {
                values: (question.parameters.iter().zip(&point.values))
                    .map(|(parameter, &index)| parameter.text(index))
                    .collect(),
                notes: point.setup.as_ref().map_or_else(Vec::new, |setup| setup.notes.clone()),
            })
            .collect(),
        runs: matrix.asked.iter().filter_map(run).collect(),
        parameters,
        notes: firmware::note(runs_on).into_iter().collect(),
    };
    sweep.notes.extend(sweep.evidence());
    Ok(sweep)
}

fn shown(wanted: &Wanted) -> SweepMetric {
    let unit = match wanted.0.unit() {
        metric::Unit::Time => Unit::Microseconds,
        metric::Unit::Percent => Unit::Percent,
        metric::Unit::Number => Unit::Number,
    };
    SweepMetric { name: wanted.0.to_string(), unit }
}

/// What is the same at all points that can be built, in words.
fn facts(question: &Question, matrix: &Matrix) -> Result<Vec<(String, String)>, Failure> {
    let mut facts = Vec::new();
    let mut add = |name: &str, all: Vec<String>| {
        if let [first, rest @ ..] = all.as_slice()
            && rest.iter().all(|other| other == first)
        {
            facts.push((name.to_owned(), first.clone()));
        }
    };
    add("workload", matrix.setups().map(workload).collect());
    add("drive", matrix.setups().map(|setup| describe::drive(setup.plan())).collect());
    let array = |setup: &Setup| describe::array(&setup.plans);
    add("array", matrix.setups().map(array).collect::<Result<_, _>>()?);
    let seeds: Vec<String> = question.seeds.iter().map(u64::to_string).collect();
    add("seeds", vec![seeds.join(", ")]);
    Ok(facts)
}

/// What kind of workload it is.
fn workload(setup: &Setup) -> String {
    match &setup.source {
        workload::Source::Preset(source) => {
            format!("{}: {}", source.preset.name, source.preset.description)
        }
        workload::Source::Trace(source) => source.trace.path().display().to_string(),
        workload::Source::Synthetic(_) => "synthetic".to_owned(),
    }
}
