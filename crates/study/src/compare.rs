//! Policies side by side: what is asked, the runs, the document of what came of them.

use crate::assertion::{Assertion, Bound, Few};
use crate::describe::{convert, fio_jobs, ratios};
use crate::failure::Failure;
use crate::requests_out;
use crate::settings::Settings;
use crate::setup::faults::FaultArgs;
use crate::setup::{self, Setup};
use crate::simulate::Outcome;
use crate::values::quantity::{Span, exact_duration};
use crate::watch::Watch;
use array::policy::PolicyKind;
use report::Comparison;
use report::fio::Job;
use sim::{Measured, RequestSink, RunResult};
use std::path::PathBuf;
use units::Instant;

/// A comparison that is asked for. The usual one measures all of a run without faults, and asserts
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The array, its drives and the workload.
    pub settings: Settings,
    /// The policies, in the order of the document.
    pub policies: Vec<PolicyKind>,
    /// What goes wrong, and when.
    pub faults: FaultArgs,
    /// Latencies count of requests that come from this time of the run on.
    pub measure_from: Option<Span>,
    /// Latencies count of requests that come before this time of the run.
    pub measure_until: Option<Span>,
    /// Whether ratios have 95 % intervals.
    pub intervals: bool,
    /// Arrays of which a request needs one part each, 2 or more.
    pub fan_out: Option<u32>,
    /// The Parquet file of all requests.
    pub requests_out: Option<PathBuf>,
    /// Conditions on the results.
    pub asserts: Vec<Assertion>,
    /// Whether conditions are judged that rest on fewer than a hundred samples.
    pub allow_few: bool,
}

/// The policies that are named; if none are, those of `usual` that the array can be run by.
pub fn policies_of(settings: &Settings, usual: &[PolicyKind]) -> Vec<PolicyKind> {
    match settings.run.policy.as_slice() {
        [] => setup::possible(usual, &settings.array),
        named => named.iter().map(|text| text.value.0).collect(),
    }
}

/// What is asked, worked out as far as that goes without a run.
pub struct Prepared<'a> {
    question: &'a Question,
    asserts: Vec<Bound<'a>>,
    /// What is run.
    pub setup: Setup,
}

impl<'a> Prepared<'a> {
    /// Works out `question`.
    ///
    /// # Errors
    ///
    /// If a setting or an assertion cannot be used, or the workload cannot be read.
    pub fn new(question: &'a Question, watch: &dyn Watch) -> Result<Self, Failure> {
        let Question { settings, policies, .. } = question;
        // Before a long trace is read.
        let asserts = question.asserts.iter().map(|assertion| assertion.about(policies));
        let asserts = asserts.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
        if question.intervals && policies.len() < 2 {
            return Err(Failure::usage(
                "--intervals shows how sure ratios are, and one policy has none; name two or more with `ioda compare`",
            ));
        }
        let mut setup = Setup::new(settings, policies, watch)?;
        setup.faults = question.faults.faults(setup.plan().width)?;
        let sub_reads = question.asserts.iter().any(Assertion::needs_sub_reads);
        let at = |span: &Option<Span>| span.as_ref().map(|&Span(after)| Instant::ZERO + after);
        let (from, until) = (at(&question.measure_from), at(&question.measure_until));
        let measured = Measured { intervals: question.intervals, sub_reads, from, until };
        setup.plans.iter_mut().for_each(|plan| plan.measured = measured);
        Ok(Self { question, asserts, setup })
    }

    /// Makes the runs by `run`, which hands their requests to where the options want them.
    pub fn run(
        &self,
        run: impl FnOnce(Option<RequestSink<'_>>) -> Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        match self.question.requests_out.as_deref() {
            None => run(None),
            Some(path) => requests_out::write(path, &self.setup, |sink| run(Some(sink))),
        }
    }

    /// The document of what came of it.
    pub fn document(&self, outcome: &Outcome) -> Result<Comparison, Failure> {
        let mut comparison = convert::comparison(&self.setup, outcome, title(&self.setup))?;
        ratios::add(&mut comparison, &outcome.results);
        let few = if self.question.allow_few { Few::Judged } else { Few::Refused };
        let check = |assertion: &Bound<'_>| assertion.check(&outcome.results, few);
        comparison.assertions = self.asserts.iter().flat_map(check).collect();
        if let Some(arrays) = self.question.fan_out {
            convert::add_slowest(&mut comparison, &outcome.results, arrays);
        }
        Ok(comparison)
    }

    /// The runs as jobs of fio.
    pub fn fio_jobs(&self, outcome: &Outcome) -> Vec<Job> {
        let source = &self.setup.source;
        let job = |result: &RunResult| fio_jobs::job(source, &result.read, &result.write);
        outcome.results.iter().map(job).collect()
    }
}

/// What is compared, in one line.
fn title(setup: &Setup) -> String {
    let workload = match &setup.source {
        workload::Source::Preset(source) => source.preset.name.to_owned(),
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
