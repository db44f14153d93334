//! `ioda compare` and `ioda run`.

use crate::arguments::{OutputArgs, SimulationArgs};
use crate::exit::Code;
use crate::output::{self, Documents, remark};
use crate::talk::Talk;
use array::policy::PolicyKind;
use report::fio::Job;
use report::{Comparison, Verdict};
use std::path::PathBuf;
use std::time::SystemTime;
use study::Failure;
use study::compare::{Prepared, policies_of};
use study::requests_out;
use study::simulate::{self, Listeners};

/// `ioda compare`.
pub(crate) fn compare(args: &SimulationArgs, talk: Talk) -> Result<Code, Failure> {
    simulate(args, &PolicyKind::DEMONSTRATION, talk)
}

/// `ioda run`.
pub(crate) fn run(args: &SimulationArgs, talk: Talk) -> Result<Code, Failure> {
    one_policy(args.run.policy.len())?;
    simulate(args, &[PolicyKind::IODA], talk)
}

/// Refuses more than one policy for a run of one.
pub(crate) fn one_policy(policies: usize) -> Result<(), Failure> {
    match policies {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage("`ioda run` takes one policy; `ioda compare` takes several")),
    }
}

fn simulate(args: &SimulationArgs, policies: &[PolicyKind], talk: Talk) -> Result<Code, Failure> {
    check_outputs(&args.output)?;
    requests_out::check(args.requests_out.as_deref())?;
    let settings = args.settings()?;
    let policies = policies_of(&settings, policies);
    let question = args.question(settings, policies);
    let prepared = Prepared::new(&question, &talk)?;
    let setup = &prepared.setup;
    let outcome = prepared.run(|requests| {
        let listeners = Listeners { requests, ..Listeners::default() };
        simulate::run(setup, "", &talk, listeners)
    })?;
    if let Some(path) = args.requests_out.as_deref().filter(|_| !talk.quiet) {
        remark(&format!("wrote {}", path.display()));
    }
    let comparison = prepared.document(&outcome)?;
    write(&args.output, &comparison, &prepared.fio_jobs(&outcome), talk)?;
    judge(&args.output, &comparison.assertions)
}

fn is_stdout(path: Option<&PathBuf>) -> bool {
    path.is_some_and(|path| study::files::is_stdout(path))
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
pub(crate) fn write(
    args: &OutputArgs,
    comparison: &Comparison,
    jobs: &[Job],
    talk: Talk,
) -> Result<(), Failure> {
    let documents = write_documents(args, comparison, jobs)?;
    if printed(args).next().is_none() {
        output::print(&report::table::render(comparison))?;
    }
    documents.tell(talk);
    Ok(())
}

/// Writes the documents that are asked for. The runs of `comparison` are `jobs` of fio.
pub(crate) fn write_documents(
    args: &OutputArgs,
    comparison: &Comparison,
    jobs: &[Job],
) -> Result<Documents, Failure> {
    let mut documents = Documents::default();
    if let Some(path) = args.json.path() {
        documents.write(path, &report::json::to_string(comparison))?;
    }
    if let Some(path) = &args.fio_json {
        documents.write(path, &report::fio::to_string(comparison, jobs, SystemTime::now()))?;
    }
    if let Some(path) = args.html.path() {
        documents.write(path, &report::html::render(comparison))?;
    }
    Ok(documents)
}

/// Tells what came of the assertions; that goes where the table goes, or to stderr if that is a
/// document.
fn judge(args: &OutputArgs, assertions: &[report::Assertion]) -> Result<Code, Failure> {
    let to_stderr = printed(args).next().is_some();
    for assertion in assertions {
        match to_stderr {
            true => remark(&assertion.line()),
            false => output::print(&format!("{}\n", assertion.line()))?,
        }
    }
    Ok(match Verdict::of_all(assertions) {
        Verdict::Holds => Code::Ok,
        Verdict::Fails => Code::Failed,
        Verdict::NotEnough => Code::NotEnough,
    })
}
