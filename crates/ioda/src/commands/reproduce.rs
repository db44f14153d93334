//! `ioda reproduce`.

use super::Talk;
use crate::exit::{self, Failure};
use crate::output::{self, remark};
use crate::reproduce::{
    self, Experiment, Group, Judged, Number, Page, Plan, Results, Series, pages,
};
use clap::Args;
use report::{Claim, Comparison, Manifest, Run};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
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
    /// Write one HTML page per workload, and per figure that compares drives, into this folder
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
    let judged: Vec<Judged<'_>> = experiments
        .iter()
        .map(|experiment| {
            let own = Results::of(&groups, experiment, args.quick)?;
            let claims = reproduce::judge(experiment, &own);
            Ok((experiment, own, claims))
        })
        .collect::<Result<_, Failure>>()?;
    let claims: Vec<Claim> = judged.iter().flat_map(|(.., claims)| claims.clone()).collect();
    if args.json.is_some() || args.html.is_some() {
        write(args, &groups, &judged, &claims, talk)?;
    }
    if !args.json.as_ref().is_some_and(|path| output::is_stdout(path)) {
        for (experiment, own, claims) in &judged {
            output::print(&reproduce::figure(experiment, own, claims)?)?;
        }
        output::print(&summary(&claims, &groups, args.quick))?;
    }
    let holds = claims.iter().all(|claim| claim.holds);
    Ok(ExitCode::from(if holds || !args.strict { exit::OK } else { exit::FAILED }))
}

/// What `--json` writes.
#[derive(Serialize)]
struct Document<'a> {
    claims: &'a [Claim],
    workloads: &'a [Comparison],
    figures: &'a [Value],
    plans: &'a [Value],
}

/// Writes the pages and the document that were asked for.
fn write(
    args: &ReproduceArgs,
    groups: &[Group],
    judged: &[Judged<'_>],
    claims: &[Claim],
    talk: Talk,
) -> Result<(), Failure> {
    let comparisons = pages::of_groups(groups, judged)?;
    if let Some(folder) = &args.html {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        for (name, comparison) in pages::plain(groups, &comparisons, judged) {
            write_page(folder, name, comparison, talk)?;
        }
    }
    let mut figures = Vec::new();
    for page in pages::figures(judged) {
        let Page { name, comparison } = page?;
        if let Some(folder) = &args.html {
            write_page(folder, &name, &comparison, talk)?;
        }
        figures.push(system(&name, &comparison));
    }
    if let Some(path) = &args.json {
        let document =
            Document { claims, workloads: &comparisons, figures: &figures, plans: &plans(judged) };
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::internal(format!("cannot write the results: {error}")))?;
        output::write(path, &text)?;
    }
    Ok(())
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
fn plans(judged: &[Judged<'_>]) -> Vec<Value> {
    let of = |(experiment, own, _): &Judged<'_>| -> Vec<Value> {
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

/// What the series of a figure with variants were run on; their numbers are in `workloads`, with
/// the same hash.
fn system(name: &str, comparison: &Comparison) -> Value {
    let series = |manifest: &Manifest, run: &Run| {
        let differs = |common: &String| (!common.is_empty()).then(|| common.clone());
        let own = (!run.layout.is_empty()).then(|| run.layout.clone());
        let words = [differs(&manifest.drive), differs(&manifest.array), own];
        json!({
            "series": run.name(),
            "system": words.into_iter().flatten().collect::<Vec<_>>().join("; "),
            "capacity_bytes": run.capacity_bytes,
            "result_hash": run.result_hash,
        })
    };
    let Comparison { manifest, runs, .. } = comparison;
    let all: Vec<Value> = runs.iter().map(|run| series(manifest, run)).collect();
    json!({ "figure": name, "series": all })
}

fn write_page(
    folder: &Path,
    name: &str,
    comparison: &Comparison,
    talk: Talk,
) -> Result<(), Failure> {
    let path = folder.join(format!("{}.html", file_name(name)));
    output::write(&path, &report::html::render(comparison))?;
    if !talk.quiet {
        remark(&format!("wrote {}", path.display()));
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
