//! `ioda compare` and `ioda run`.

use super::Talk;
use crate::assertion::{Assertion, Bound};
use crate::cli::{OutputArgs, SimulationArgs};
use crate::exit::{Code, Failure};
use crate::output::{self, Documents, remark};
use crate::ratios;
use crate::requests_out;
use crate::setup::{self, Setup};
use crate::simulate::{self, Outcome};
use crate::{
    convert,
    quantity::{Span, exact_duration},
};
use array::policy::PolicyKind;
use report::Comparison;
use sim::Measured;
use std::path::PathBuf;
use units::Instant;

/// `ioda compare`.
pub(crate) fn compare(args: &SimulationArgs, talk: Talk) -> Result<Code, Failure> {
    simulate(args, &PolicyKind::DEMONSTRATION, talk)
}

/// `ioda run`.
pub(crate) fn run(args: &SimulationArgs, talk: Talk) -> Result<Code, Failure> {
    if args.run.policy.len() > 1 {
        return Err(Failure::usage(
            "`ioda run` takes one policy; `ioda compare` takes several".to_owned(),
        ));
    }
    simulate(args, &[PolicyKind::IODA], talk)
}

fn simulate(args: &SimulationArgs, policies: &[PolicyKind], talk: Talk) -> Result<Code, Failure> {
    let output = &args.output;
    check_outputs(output)?;
    requests_out::check(args.requests_out.as_deref())?;
    let settings = args.settings()?;
    let mut policies = setup::possible(policies, &settings.array);
    if !settings.run.policy.is_empty() {
        policies = settings.run.policy.iter().map(|text| text.value.0).collect();
    }
    // Before a long trace is read.
    let asserts = args.asserts.iter().map(|assertion| assertion.about(&policies));
    let asserts = asserts.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
    if args.intervals && policies.len() < 2 {
        return Err(Failure::usage(
            "--intervals shows how sure ratios are, and one policy has none; name two or more with `ioda compare`",
        ));
    }
    let mut setup = Setup::new(&settings, &policies)?;
    setup.faults = args.faults.faults(setup.plan().width)?;
    let sub_reads = args.asserts.iter().any(Assertion::needs_sub_reads);
    let at = |span: &Option<Span>| span.as_ref().map(|&Span(after)| Instant::ZERO + after);
    let (from, until) = (at(&args.measure_from), at(&args.measure_until));
    let measured = Measured { intervals: args.intervals, sub_reads, from, until };
    setup.plans.iter_mut().for_each(|plan| plan.measured = measured);
    let outcome = match args.requests_out.as_deref() {
        None => simulate::run(&setup, talk.progress, "", talk.quiet)?,
        Some(path) => requests_out::write(path, &setup, |sink| {
            simulate::run_recorded(&setup, talk.progress, "", talk.quiet, Some(sink))
        })?,
    };
    if let Some(path) = args.requests_out.as_deref().filter(|_| !talk.quiet) {
        remark(&format!("wrote {}", path.display()));
    }
    let mut comparison = convert::comparison(&setup, &outcome, title(&setup))?;
    ratios::add(&mut comparison, &outcome.results);
    if let Some(arrays) = args.fan_out {
        convert::add_slowest(&mut comparison, &outcome.results, arrays);
    }
    write(output, &comparison, talk)?;
    judge(output, &asserts, &outcome)
}

/// What is compared, in one line.
fn title(setup: &Setup) -> String {
    let workload = match &setup.source {
        workload::Source::Preset { preset, .. } => preset.name.to_owned(),
        workload::Source::Synthetic(_) => "synthetic workload".to_owned(),
        workload::Source::Trace(source) => {
            let path = source.trace.path();
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        }
    };
    let plan = setup.plan();
    let policies = match setup.plans.as_slice() {
        [only] => only.policy.label().to_owned(),
        several => format!("{} policies", several.len()),
    };
    let window = plan.windows.busy_time_window.map(exact_duration);
    let window = window.map_or_else(String::new, |window| format!(", TW {window}"));
    format!(
        "{workload} on {} × {} ({}{window}): {policies}",
        plan.width,
        plan.drive.name,
        plan.level.name()
    )
}

fn is_stdout(path: Option<&PathBuf>) -> bool {
    path.is_some_and(|path| output::is_stdout(path))
}

/// The options by which a document goes to standard output.
fn printed(output: &OutputArgs) -> impl Iterator<Item = &'static str> {
    let options = [
        ("--json", output.json.is_printed()),
        ("--fio-json", is_stdout(output.fio_json.as_ref())),
        ("--html", output.html.is_printed()),
    ];
    options.into_iter().filter(|(_, is_printed)| *is_printed).map(|(option, _)| option)
}

/// Refuses outputs that would overwrite each other.
pub(crate) fn check_outputs(output: &OutputArgs) -> Result<(), Failure> {
    let mut printed = printed(output);
    if let (Some(first), Some(second)) = (printed.next(), printed.next()) {
        return Err(Failure::usage(format!(
            "{first} and {second} cannot both go to standard output; name a file for one of them"
        )));
    }
    Ok(())
}

/// Writes what is asked for, or prints the table.
pub(crate) fn write(args: &OutputArgs, comparison: &Comparison, talk: Talk) -> Result<(), Failure> {
    let mut documents = Documents::default();
    if let Some(path) = args.json.path() {
        documents.write(path, &report::json::to_string(comparison))?;
    }
    if let Some(path) = &args.fio_json {
        documents.write(path, &report::fio::to_string(comparison))?;
    }
    if let Some(path) = args.html.path() {
        documents.write(path, &report::html::render(comparison))?;
    }
    if printed(args).next().is_none() {
        output::print(&report::table::render(comparison))?;
    }
    documents.tell(talk);
    Ok(())
}

/// Checks the assertions; they go where the table goes, or to stderr if that is a document.
fn judge(args: &OutputArgs, asserts: &[Bound<'_>], outcome: &Outcome) -> Result<Code, Failure> {
    let verdicts: Vec<_> =
        asserts.iter().flat_map(|assertion| assertion.check(&outcome.results)).collect();
    let to_stderr = printed(args).next().is_some();
    for verdict in &verdicts {
        match to_stderr {
            true => remark(&verdict.line),
            false => output::print(&format!("{}\n", verdict.line))?,
        }
    }
    let holds = verdicts.iter().all(|verdict| verdict.holds);
    Ok(if holds { Code::Ok } else { Code::Failed })
}
