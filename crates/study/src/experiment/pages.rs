//! The documents of a reproduction: one for each workload of a figure that compares variants, with
//! the drives of every series, and one for each other group of runs.

use super::{Experiment, Group, Results, SMOKE};
use crate::describe::{self, convert};
use crate::failure::Failure;
use crate::setup::firmware;
use report::{Claim, Comparison, Manifest, Run};
use sim::Plan;

/// An experiment with its results and claims.
pub type Judged<'a> = (&'a Experiment, Results<'a>, Vec<Claim>);

/// A document and how it is called.
pub struct Page {
    /// Part of its file name.
    pub name: String,
    /// What it shows.
    pub comparison: Comparison,
}

/// The document of `group` with the claims that are about it.
pub fn of_group(group: &Group, claims: &[Claim], quick: bool) -> Result<Comparison, Failure> {
    let title = format!("ioda reproduce: {}{}", group.name, in_title(quick));
    let mut comparison = convert::comparison(&group.setup, &group.outcome, title)?;
    if quick {
        comparison.manifest.notes.insert(0, SMOKE.to_owned());
    }
    Ok(Comparison { claims: claims.to_vec(), ..comparison })
}

/// What the title of a shortened run has at its end.
fn in_title(quick: bool) -> &'static str {
    if quick { " (smoke run)" } else { "" }
}

/// The figure of an experiment that compares variants, one document for each workload. They are
/// made one by one, because all of them together are larger than what they are made from.
pub fn figures<'a>(
    (experiment, results, claims): &'a Judged<'_>,
) -> impl Iterator<Item = Result<Page, Failure>> + 'a {
    let tables = match experiment.variants.is_empty() {
        true => Vec::new(),
        false => experiment.tables(),
    };
    tables.into_iter().enumerate().map(move |(workload, name)| {
        let comparison = figure(experiment, results, claims, (workload, name))?;
        Ok(Page { name: format!("{}, {name}", experiment.id), comparison })
    })
}

/// Every series of `experiment` under one workload.
fn figure(
    experiment: &Experiment,
    results: &Results<'_>,
    claims: &[Claim],
    (workload, name): (usize, &str),
) -> Result<Comparison, Failure> {
    let series = experiment.series();
    let mut runs = Vec::new();
    let mut plans: Vec<&Plan> = Vec::new();
    let smoke = results.are_smoke().then(|| SMOKE.to_owned());
    let mut notes: Vec<String> = smoke.into_iter().collect();
    let mut manifest = Manifest::default();
    for one in &series {
        let Some((plan, result)) = results.plan_and_run(workload, one) else { continue };
        let Some(group) = results.group(workload, one) else { continue };
        if plans.is_empty() {
            manifest = convert::manifest(&group.setup, &group.outcome)?;
            manifest.configuration_toml = String::new();
        }
        // Variants may change the workload; their notes say how.
        if manifest.workload != group.outcome.workload {
            name.clone_into(&mut manifest.workload);
        }
        if manifest.replayed != group.outcome.replayed {
            manifest.replayed.clear();
        }
        for note in &group.setup.notes {
            let note = format!("{}: {note}", one.label);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        plans.push(plan);
        let label = firmware::marked(&one.label, plan.policy, [&plan.drive]);
        runs.push(Run { label, ..convert::run(result) });
    }
    notes.extend(firmware::note(plans.iter().map(|plan| (plan.policy, &plan.drive))));
    let layouts = describe::layouts(&plans)?;
    manifest.drive = layouts.drive;
    manifest.array = layouts.array;
    for (run, layout) in runs.iter_mut().zip(layouts.each) {
        run.layout = layout;
    }
    manifest.notes = notes;
    let seeds = experiment.seeds_in_title();
    let smoke = in_title(results.are_smoke());
    let title = format!("{}: {} ({name}{seeds}){smoke}", experiment.figure, experiment.title);
    Ok(Comparison { title, manifest, runs, claims: claims.to_vec(), ..Comparison::default() })
}
