//! `ioda compare` and `ioda run`.

use crate::arguments::{OutputArgs, SimulationArgs};
use crate::exit::Code;
use crate::output::{self, Documents, remark};
use crate::talk::Talk;
use array::policy::PolicyKind;
use report::fio::Job;
use report::{Comparison, Verdict};
use sim::{Measured, RequestSink, RunResult};
use std::path::PathBuf;
use std::time::SystemTime;
use study::Failure;
use study::Watch;
use study::assertion::{Assertion, Bound, Few};
use study::describe::convert;
use study::describe::fio_jobs;
use study::describe::ratios;
use study::requests_out;
use study::settings::Settings;
use study::setup::{self, Setup};
use study::simulate::{self, Listeners, Outcome};
use study::values::quantity::{Span, exact_duration};
use units::Instant;

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
    let prepared = Prepared::new(args, &settings, &policies, &talk)?;
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

/// The policies that are named; if none are, those of `usual` that the array can be run by.
pub(crate) fn policies_of(settings: &Settings, usual: &[PolicyKind]) -> Vec<PolicyKind> {
    match settings.run.policy.as_slice() {
        [] => setup::possible(usual, &settings.array),
        named => named.iter().map(|text| text.value.0).collect(),
    }
}

/// What is asked, worked out as far as that goes without a run.
pub(crate) struct Prepared<'a> {
    args: &'a SimulationArgs,
    asserts: Vec<Bound<'a>>,
    /// What is run.
    pub(crate) setup: Setup,
}

impl<'a> Prepared<'a> {
    /// Works out `settings`, which are those of `args`, under `policies`.
    pub(crate) fn new(
        args: &'a SimulationArgs,
        settings: &Settings,
        policies: &[PolicyKind],
        watch: &dyn Watch,
    ) -> Result<Self, Failure> {
        // Before a long trace is read.
        let asserts = args.asserts.iter().map(|assertion| assertion.about(policies));
        let asserts = asserts.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
        if args.intervals && policies.len() < 2 {
            return Err(Failure::usage(
                "--intervals shows how sure ratios are, and one policy has none; name two or more with `ioda compare`",
            ));
        }
        let mut setup = Setup::new(settings, policies, watch)?;
        setup.faults = args.faults.faults(setup.plan().width)?;
        let sub_reads = args.asserts.iter().any(Assertion::needs_sub_reads);
        let at = |span: &Option<Span>| span.as_ref().map(|&Span(after)| Instant::ZERO + after);
        let (from, until) = (at(&args.measure_from), at(&args.measure_until));
        let measured = Measured { intervals: args.intervals, sub_reads, from, until };
        setup.plans.iter_mut().for_each(|plan| plan.measured = measured);
        Ok(Self { args, asserts, setup })
    }

    /// Makes the runs by `run`, which hands their requests to where the options want them.
    pub(crate) fn run(
        &self,
        run: impl FnOnce(Option<RequestSink<'_>>) -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        match self.args.requests_out.as_deref() {
            None => run(None),
            Some(path) => requests_out::write(path, &self.setup, |sink| run(Some(sink))),
        }
    }

    /// The document of what came of it.
    pub(crate) fn document(&self, outcome: &Outcome) -> Result<Comparison, Failure> {
        let mut comparison = convert::comparison(&self.setup, outcome, title(&self.setup))?;
        ratios::add(&mut comparison, &outcome.results);
        let few = if self.args.allow_few { Few::Judged } else { Few::Refused };
        let check = |assertion: &Bound<'_>| assertion.check(&outcome.results, few);
        comparison.assertions = self.asserts.iter().flat_map(check).collect();
        if let Some(arrays) = self.args.fan_out {
            convert::add_slowest(&mut comparison, &outcome.results, arrays);
        }
        Ok(comparison)
    }

    /// The runs as jobs of fio.
    pub(crate) fn fio_jobs(&self, outcome: &Outcome) -> Vec<Job> {
        let source = &self.setup.source;
        let job = |result: &RunResult| fio_jobs::job(source, &result.read, &result.write);
        outcome.results.iter().map(job).collect()
    }
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
