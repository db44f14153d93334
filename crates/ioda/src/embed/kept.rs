//! Runs of a sweep one by one, so that others can decide where and when each is made. They are
//! those of `ioda sweep`: known by the same keys, and kept in the same file.

use super::error::Error;
use super::simulation::Question;
use crate::cli;
use crate::talk::QUIET;
use array::policy::PolicyKind;
use sim::{Measured, Plan};
use std::ops::Range;
use std::path::{Path, PathBuf};
use study::Watch;
use study::jobs::{self, Journal, Merged, Shard};
use study::settings::{self, Settings};
use study::setup::Traces;
use study::sweep::{Built, Record, Subject};

/// As many drives as an array may have: whether a fault is of one of them is of no interest here.
const MOST_DRIVES: u32 = 64;

/// Makes runs. It keeps prepared drives and traces for the next one, so runs that are alike should
/// follow each other.
pub struct Maker {
    shelf: jobs::Shelf,
    traces: Traces,
}

/// One run.
pub struct Job(jobs::Job<Subject>);

impl Job {
    /// A hash of everything that determines what comes of it.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }
}

impl Default for Maker {
    fn default() -> Self {
        Self { shelf: jobs::Shelf::default(), traces: Traces::new(QUIET.waiting()) }
    }
}

impl Maker {
    /// The run of `question` under `policy`, one of its policies. All of them are laid out alike,
    /// so a run depends on which others there are as in a comparison. `point` says in a few words
    /// what is varied.
    ///
    /// # Errors
    ///
    /// If an option is not known, its value cannot be used, or the array cannot be built.
    pub fn job(&mut self, question: &Question, policy: &str, point: &str) -> Result<Job, Error> {
        let args = match question.words.parsed()?.command {
            cli::Command::Run(args) | cli::Command::Compare(args) => args,
            _ => return Err(Error::usage("neither `ioda run` nor `ioda compare`")),
        };
        let has_faults = !args.faults.faults(MOST_DRIVES)?.is_empty();
        if has_faults || !args.asserts.is_empty() || args.fan_out.is_some() {
            return Err(Error::usage("a sweep has neither faults, assertions nor --fan-out"));
        }
        let file = match &question.configuration {
            Some(text) => settings::parse(text, "config")?,
            None => match &args.output.config {
                Some(path) => settings::load(path)?,
                None => Settings::default(),
            },
        };
        let mut settings = args.settings_over(&file)?;
        let named = std::mem::take(&mut settings.run.policy);
        let policies: Vec<PolicyKind> = named.iter().map(|text| text.value.0).collect();
        let wanted = PolicyKind::from_name(policy).filter(|policy| policies.contains(policy));
        let wanted = wanted.ok_or_else(|| Error::usage(format!("{policy} is not asked for")))?;
        let built = Built::new(&settings, &policies, &mut self.traces);
        let (plan, source) = built.planned(wanted).map_err(Error::usage)?;
        let measured = Measured { intervals: args.intervals, ..Measured::default() };
        let plan = Plan { timeline: None, measured, ..plan.clone() };
        let subject = Subject { point: point.to_owned() };
        Ok(Job(jobs::Job::new(subject, plan, source)))
    }

    /// Makes a run. What is kept of it, as JSON: also of one that failed.
    ///
    /// # Errors
    ///
    /// Of our own only.
    pub fn make(&self, job: &Job) -> Result<String, Error> {
        let record = jobs::make(&job.0, &self.shelf);
        serde_json::to_string(&record).map_err(Error::internal)
    }
}

/// The file of a sweep.
pub struct Store(Journal<Record>);

impl Store {
    /// Opens the folder of a sweep, which is made if there is none; an empty one if `fresh`.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written, or was written by another version.
    pub fn open(folder: &Path, fresh: bool) -> Result<Self, Error> {
        Ok(Self(Journal::open(folder, fresh)?))
    }

    /// The keys of the runs that need not be made again, and what is kept of them as JSON.
    ///
    /// # Errors
    ///
    /// Of our own only.
    pub fn records(&self) -> Result<Vec<(String, String)>, Error> {
        let text = |(key, record): (&str, &Record)| {
            serde_json::to_string(record)
                .map(|text| (key.to_owned(), text))
                .map_err(Error::internal)
        };
        self.0.finished().map(text).collect()
    }

    /// Keeps what [`Maker::make`] gave; when this returns it is on the medium.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or is nothing that a maker gave.
    pub fn keep(&mut self, key: &str, record: &str) -> Result<(), Error> {
        let record: Record = serde_json::from_str(record).map_err(Error::internal)?;
        Ok(self.0.keep(key, record)?)
    }

    /// All runs have ended: brings the file into an order that does not depend on when each did.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }
}

/// Which of so many runs the shard `text` has, such as 3/64.
///
/// # Errors
///
/// If it is no shard, as the command line has it.
pub fn shard(text: &str, runs: usize) -> Result<Range<usize>, Error> {
    let shard: Shard = text.parse().map_err(|why| {
        Error::usage(format!("invalid value '{text}' for '--shard <K/N>': {why}"))
    })?;
    Ok(shard.range(runs))
}

/// Puts the runs of sweeps that `folders` keep into `output`, as `ioda sweep merge` does. Gives how
/// many runs it keeps then.
///
/// # Errors
///
/// If a folder cannot be used, or two have different records of one run; then nothing is written.
pub fn merge(folders: &[PathBuf], output: &Path) -> Result<usize, Error> {
    let Merged { runs, .. } = jobs::merge::<Record>(folders, output)?;
    Ok(runs)
}
