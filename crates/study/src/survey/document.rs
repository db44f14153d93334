//! The document of a survey, from what was asked and what was kept.

use super::matrix::{Candidate, Matrix, Question};
use super::record::Record;
use crate::describe;
use crate::failure::Failure;
use crate::jobs::Journal;
use crate::setup::firmware;
use report::survey::{Survey, SurveyPolicy, costs};

/// Everything that `journal` has of `matrix`.
pub fn document(
    question: &Question,
    matrix: &Matrix,
    journal: &Journal<Record>,
) -> Result<Survey, Failure> {
    let plan = matrix.standard.plan();
    let plans = matrix.plans();
    let runs_on = plans.iter().map(|plan| (plan.policy, &plan.drive));
    let policies = matrix.candidates.iter().map(policy).collect::<Result<Vec<_>, _>>()?;
    let counts = [
        (policies.len(), "policy", "policies"),
        (matrix.workloads.len(), "workload", "workloads"),
        (matrix.seeds.len(), "seed", "seeds"),
    ];
    let counts =
        counts.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
    let [of_policies, of_workloads, of_seeds] = counts;
    let mut survey = Survey {
        title: format!("Survey: {of_policies} under {of_workloads}, {of_seeds}"),
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        drive: describe::drive(plan),
        array: describe::array(&plans)?,
        configuration_toml: question.settings.to_toml(),
        seeds: matrix.seeds.iter().map(u64::to_string).collect(),
        notes: firmware::note(runs_on).into_iter().collect(),
        policies,
        workloads: matrix.workloads.clone(),
        runs: Vec::new(),
        saturation: Vec::new(),
        processor: Vec::new(),
        costs: Vec::new(),
    };
    let keys = matrix.jobs.iter().map(|job| &job.key).chain([&matrix.processor_key]);
    for record in keys.filter_map(|key| journal.get(key)) {
        match record.clone() {
            Record::Run(run) => survey.runs.push(run),
            Record::Saturation(run) => survey.saturation.push(run),
            Record::Processor(times) => survey.processor = times,
        }
    }
    survey.costs = costs(&survey);
    survey.notes.extend(survey.evidence());
    Ok(survey)
}

fn policy(candidate: &Candidate) -> Result<SurveyPolicy, Failure> {
    let about = candidate.policy.about();
    let text = |text: &str| text.to_owned();
    let mut policy = SurveyPolicy {
        name: text(about.name),
        label: text(about.label),
        summary: text(about.summary),
        source: text(about.source),
        drive_changes: about.drive_changes.to_string(),
        ..SurveyPolicy::default()
    };
    match &candidate.plan {
        Ok(plan) => {
            policy.label = firmware::marked(about.label, candidate.policy, [&plan.drive]);
            policy.level = text(plan.level.name());
            policy.capacity_bytes = plan.capacity_bytes()?;
            policy.flash_bytes = u64::from(plan.width) * plan.drive.geometry.raw_bytes();
        }
        Err(why) => policy.refused.clone_from(why),
    }
    Ok(policy)
}
