//! `ioda reproduce`.

use super::Talk;
use crate::convert;
use crate::exit::{self, Failure};
use crate::output::{self, remark};
use crate::reproduce::{self, Experiment, Group, Number, Plan, Results, Series};
use clap::Args;
use report::{Claim, Comparison};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda reproduce                       all figures: a few minutes on two cores
  ioda reproduce 5a 5b                 two of them
  ioda reproduce --list
  ioda reproduce --html pages          one page per workload in the folder `pages`
  ioda reproduce --quick               a smoke of seconds; its numbers mean nothing

What is checked is the shape: orders, ratios and zeros, with the article's limits. Experiments are
TOML files; --experiments FOLDER runs your own.";

/// Options of `ioda reproduce`.
#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {
    /// Experiments, such as 5a or figure-5a [default: all]
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// List the experiments and their claims
    #[arg(long)]
    list: bool,
    /// Take the experiments in this folder instead of those of the program
    #[arg(long = "experiments", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Few requests on small drives, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a claim does not hold
    #[arg(long)]
    strict: bool,
    /// Write claims and runs as JSON; `-` for standard output, instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write one HTML page per workload into this folder
    #[arg(long, value_name = "FOLDER")]
    html: Option<PathBuf>,
    /// Runs side by side; of no influence on any result [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Runs the experiments and prints what holds.
pub(crate) fn run(args: &ReproduceArgs, talk: Talk) -> Result<ExitCode, Failure> {
    let all = match &args.folder {
        Some(folder) => reproduce::load_folder(folder)?,
        None => reproduce::builtin()?,
    };
    let experiments = reproduce::select(all, &args.experiments)?;
    if args.list {
        output::print(&list(&experiments))?;
        return Ok(ExitCode::SUCCESS);
    }
    let orders = reproduce::gather(&experiments, args.quick)?;
    let groups = reproduce::run(&orders, args.threads, talk)?;
    let judged: Vec<(&Experiment, Results<'_>, Vec<Claim>)> = experiments
        .iter()
        .map(|experiment| {
            let own = Results::of(&groups, experiment, args.quick)?;
            let claims = reproduce::judge(experiment, &own);
            Ok((experiment, own, claims))
        })
        .collect::<Result<_, Failure>>()?;
    let claims: Vec<Claim> = judged.iter().flat_map(|(.., claims)| claims.clone()).collect();
    let comparisons = comparisons(&groups, &claims)?;
    if let Some(folder) = &args.html {
        write_pages(folder, &groups, &comparisons, talk)?;
    }
    if let Some(path) = &args.json {
        output::write(
            path,
            &format!(
                "{:#}",
                json!({ "claims": claims, "workloads": comparisons, "plans": plans(&judged) })
            ),
        )?;
    }
    if !args.json.as_ref().is_some_and(|path| output::is_stdout(path)) {
        for (experiment, own, claims) in &judged {
            output::print(&reproduce::figure(experiment, own, claims))?;
        }
        output::print(&summary(&claims, &groups, args.quick))?;
    }
    let holds = claims.iter().all(|claim| claim.holds);
    Ok(ExitCode::from(if holds || !args.strict { exit::OK } else { exit::FAILED }))
}

fn list(experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for experiment in experiments {
        let series = experiment.series();
        let series: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
        text += &format!("{}: {}\n", experiment.id, experiment.title);
        if experiment.plans.is_empty() {
            text += &format!("  workloads: {}\n", experiment.tables().join(", "));
        } else {
            text += &format!("  plans: {}\n", series.join(", "));
        }
        if !experiment.variants.is_empty() {
            text += &format!("  series: {}\n", series.join(", "));
        }
        for claim in &experiment.claims {
            text += &format!("  {}: {}\n", claim.id, claim.statement);
        }
    }
    text
}

/// The numbers of each plan that is shown; windows without bound are null.
fn plans(judged: &[(&Experiment, Results<'_>, Vec<Claim>)]) -> Vec<Value> {
    let of = |(experiment, own, _): &(&Experiment, Results<'_>, Vec<Claim>)| -> Vec<Value> {
        let plan = |(series, plan): (Series, &Plan)| {
            let number =
                |number: Number| (number.to_string(), own.value(0, &series, number).into());
            let shows = experiment.shows.iter().map(|text| number(text.value));
            let numbers: serde_json::Map<String, Value> = shows.collect();
            json!({
                "experiment": experiment.id,
                "name": plan.name,
                "drives": plan.drives,
                "numbers": numbers,
            })
        };
        experiment.series().into_iter().zip(&experiment.plans).map(plan).collect()
    };
    judged.iter().flat_map(of).collect()
}

/// The document of each group, with all claims.
fn comparisons(groups: &[Group], claims: &[Claim]) -> Result<Vec<Comparison>, Failure> {
    groups
        .iter()
        .map(|group| {
            let title = format!("ioda reproduce: {}", group.name);
            let comparison = convert::comparison(&group.setup, &group.outcome, title)?;
            Ok(Comparison { claims: claims.to_vec(), ..comparison })
        })
        .collect()
}

fn write_pages(
    folder: &PathBuf,
    groups: &[Group],
    comparisons: &[Comparison],
    talk: Talk,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    for (group, comparison) in groups.iter().zip(comparisons) {
        let path = folder.join(format!("{}.html", file_name(&group.name)));
        output::write(&path, &report::html::render(comparison))?;
        if !talk.quiet {
            remark(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// `name` as part of a path on every system.
fn file_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// How it went, and at which intensity.
fn summary(claims: &[Claim], groups: &[Group], quick: bool) -> String {
    let mut text = String::new();
    for group in groups {
        text += &format!("{}: {}\n", group.name, group.outcome.workload);
        for note in &group.setup.notes {
            text += &format!("  {note}\n");
        }
    }
    if quick && !groups.is_empty() {
        text += "\nThis was a smoke with few requests: the numbers of runs mean nothing.\n";
    }
    let failed: Vec<&str> =
        claims.iter().filter(|claim| !claim.holds).map(|claim| claim.id.as_str()).collect();
    text += &format!("\n{} of {} claims hold", claims.len() - failed.len(), claims.len());
    match failed.as_slice() {
        [] => text += ".\n",
        _ => text += &format!("; these do not: {}. See docs/claims.md.\n", failed.join(", ")),
    }
    text
}
