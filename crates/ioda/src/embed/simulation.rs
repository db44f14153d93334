//! `ioda run` and `ioda compare` without a process: what is asked, the runs, what came of them.

use super::error::Error;
use super::words::Words;
use crate::arguments::OutputArgs;
use crate::cli;
use crate::commands::compare::{check_outputs, one_policy, write_documents};
use crate::talk::QUIET;
use array::policy::PolicyKind;
use report::Comparison;
use sim::{Progress, RequestColumns, RequestSink, RunResult};
use std::ops::ControlFlow;
use study::compare;
use study::requests_out;
use study::settings::{self, Settings};
use study::simulate::{self, Listeners};

/// Which command is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// One run.
    Run,
    /// Policies side by side.
    Compare,
}

impl Command {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Compare => "compare",
        }
    }

    /// The policies unless some are named.
    const fn usual(self) -> &'static [PolicyKind] {
        match self {
            Self::Run => &[PolicyKind::IODA],
            Self::Compare => &PolicyKind::DEMONSTRATION,
        }
    }
}

/// A policy of the registry by its name, or one of the caller's own.
#[derive(Clone, Debug)]
pub enum Entry {
    /// One of the next that the words name.
    Named,
    /// One of the caller's own.
    Own(PolicyKind),
}

/// What is asked: words, and what cannot be said in words.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which command.
    pub command: Command,
    /// The options.
    pub words: Words,
    /// A configuration as TOML, over which the options are laid.
    pub configuration: Option<String>,
    /// The policies in order, where not all of them have a name; empty where the words say
    /// everything.
    pub policies: Vec<Entry>,
}

/// A question that was understood.
pub struct Simulation {
    question: compare::Question,
    output: OutputArgs,
    command_line: String,
}

/// What came of a simulation.
pub struct Done {
    /// The document.
    pub comparison: Comparison,
    /// The results, run by run, in the order of the document.
    pub results: Vec<RunResult>,
    /// Verdicts of the assertions, each with its line; `None` for a verdict on too few samples.
    pub verdicts: Vec<(Option<bool>, String)>,
}

impl Simulation {
    /// Reads `question`.
    ///
    /// # Errors
    ///
    /// If an option is not known or its value cannot be used, as the command line has it.
    pub fn new(question: &Question) -> Result<Self, Error> {
        let args = match question.words.parsed()?.command {
            cli::Command::Run(args) | cli::Command::Compare(args) => args,
            _ => return Err(Error::usage("neither `ioda run` nor `ioda compare`")),
        };
        check_outputs(&args.output)?;
        requests_out::check(args.requests_out.as_deref())?;
        let mut settings = match &question.configuration {
            Some(_) if args.output.config.is_some() => {
                return Err(Error::usage("there are two configurations"));
            }
            Some(text) => args.settings_over(&settings::parse(text, "config")?)?,
            None => args.settings()?,
        };
        let mut policies = compare::policies_of(&settings, question.command.usual());
        if !question.policies.is_empty() {
            policies = chosen(&question.policies, &settings)?;
            settings.run.policy.clear();
        }
        if question.command == Command::Run {
            one_policy(policies.len())?;
        }
        let command_line = question.words.command_line();
        let question = args.question(settings, policies);
        Ok(Self { question, output: args.output, command_line })
    }

    /// How many runs it has.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.question.policies.len()
    }

    /// Makes the runs, which `progress` counts and can interrupt, and writes the documents that the
    /// options ask for. `begun` is told how many requests each run has, if that is known, before
    /// the first begins. `keep` gets the requests of every run one by one.
    ///
    /// # Errors
    ///
    /// If the workload cannot be used, or a run or a document fails.
    pub fn run(
        &self,
        progress: &Progress,
        begun: impl FnOnce(Option<u64>),
        keep: Option<RequestSink<'_>>,
    ) -> Result<Done, Error> {
        let prepared = compare::Prepared::new(&self.question, &QUIET)?;
        begun(prepared.setup.requests);
        let outcome = prepared.run(|written| {
            let both = |run: usize, requests: RequestColumns| {
                if let (Some(written), Some(keep)) = (written, keep) {
                    written(run, requests.clone())?;
                    return keep(run, requests);
                }
                match written.or(keep) {
                    Some(sink) => sink(run, requests),
                    None => ControlFlow::Continue(()),
                }
            };
            let sink: Option<RequestSink<'_>> = match (written, keep) {
                (None, None) => None,
                _ => Some(&both),
            };
            let listeners = Listeners { requests: sink, ..Listeners::default() };
            simulate::counted(&prepared.setup, progress, &QUIET, listeners)
        })?;
        let mut comparison = prepared.document(&outcome)?;
        comparison.manifest.command_line.clone_from(&self.command_line);
        write_documents(&self.output, &comparison, &prepared.fio_jobs(&outcome))?;
        let verdict = |assertion: &report::Assertion| (assertion.verdict.holds(), assertion.line());
        let verdicts = comparison.assertions.iter().map(verdict).collect();
        Ok(Done { comparison, results: outcome.results, verdicts })
    }
}

/// The policies in the order of `entries`.
fn chosen(entries: &[Entry], settings: &Settings) -> Result<Vec<PolicyKind>, Error> {
    let mut named = settings.run.policy.iter().map(|text| text.value.0);
    let mut policies = Vec::<PolicyKind>::new();
    for entry in entries {
        let policy = match entry {
            Entry::Own(policy) => Some(*policy),
            Entry::Named => named.next(),
        };
        let policy = policy.ok_or_else(|| Error::usage("there are fewer names than policies"))?;
        if policies.contains(&policy) && matches!(entry, Entry::Own(_)) {
            let name = policy.name();
            return Err(Error::usage(format!(
                "two policies are called {name}; name one otherwise"
            )));
        }
        policies.push(policy);
    }
    Ok(policies)
}
