//! Runs of the laboratory, side by side: each is a process of its own.

use super::kept::Shelf;
use super::place::LabPlace;
use super::result;
use super::twice::Twice;
use super::{Experiment, FileSystem, System, processes, tools};
use crate::failure::Failure;
use crate::watch::Watch;
use report::lab::LabMeasured;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// One run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LabJob {
    pub(super) application: String,
    pub(super) file_system: FileSystem,
    /// The system, with its drive.
    pub(super) system: System,
    /// Whether processors take time.
    pub(super) processors: bool,
    /// The memory of its kernel.
    pub(super) memory: String,
    /// A hash of everything that determines what comes of it.
    pub(super) key: String,
    /// Whether it is made again, to be compared.
    pub(super) again: bool,
}

impl LabJob {
    /// What it is, in words.
    pub(super) fn name(&self) -> String {
        let Self { application, file_system, system, .. } = self;
        let on = match file_system {
            FileSystem::Raw => "the device",
            other => other.name(),
        };
        let again = if self.again { ", again" } else { "" };
        format!("{application} on {on} under {}{again}", system.label())
    }

    /// The name of its result.
    pub(super) fn file(&self) -> String {
        let Self { application, file_system, system, .. } = self;
        format!("{application}-{}-{system}.json", file_system.name())
    }

    /// The name of the folder of its result.
    pub(super) fn folder(&self) -> String {
        let Self { application, file_system, system, key, .. } = self;
        let again = if self.again { "-again" } else { "" };
        format!("{application}-{}-{system}-{key}{again}", file_system.name())
    }
}

/// How runs are made.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// So many side by side.
    pub threads: usize,
    /// Also those whose results are there.
    pub fresh: bool,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Failed {
    /// The run, in words.
    pub run: String,
    /// Why, and the last that it printed.
    pub why: String,
}

/// What came of runs.
pub struct Made {
    results: Vec<(LabJob, LabMeasured, Value)>,
    /// Those that failed, in their order.
    pub failed: Vec<Failed>,
    /// The name of the kernel.
    pub kernel: String,
    /// Whether somebody asked to stop before all were made.
    pub is_interrupted: bool,
}

impl Made {
    /// What was measured, if the run did not fail.
    pub(super) fn measured(
        &self,
        application: &str,
        file_system: FileSystem,
        system: &System,
    ) -> Option<&LabMeasured> {
        let is_wanted = |job: &LabJob| {
            !job.again
                && job.application == application
                && job.file_system == file_system
                && job.system == *system
        };
        self.results.iter().find(|(job, ..)| is_wanted(job)).map(|(_, measured, _)| measured)
    }

    /// Whether runs that were made twice gave the same.
    pub fn twice(&self) -> Twice {
        let mut twice = Twice::default();
        for (job, _, first) in self.results.iter().filter(|(job, ..)| !job.again) {
            let again = LabJob { again: true, ..job.clone() };
            if let Some((_, _, second)) = self.results.iter().find(|(other, ..)| *other == again) {
                twice.add(job.name(), first, second);
            }
        }
        twice
    }
}

/// The runs that `experiments` need, each once, or twice.
///
/// # Errors
///
/// If two experiments ask for the same run with different memory or processors, so that it would be
/// two.
pub fn jobs(experiments: &[Experiment], place: &LabPlace, twice: bool) -> Result<Jobs, Failure> {
    let mut jobs: Vec<LabJob> = Vec::new();
    for experiment in experiments {
        for (_, application, file_system) in experiment.tables() {
            for system in &experiment.systems {
                let system = system.value.over(&experiment.drive);
                let Experiment { memory, processors, .. } = experiment;
                let processors = *processors;
                let parts = [file_system.name(), &system.to_string(), memory, prices(processors)];
                let job = LabJob {
                    application: application.to_owned(),
                    file_system,
                    system,
                    processors,
                    memory: memory.clone(),
                    key: place.key(application, &parts),
                    again: false,
                };
                match jobs.iter().find(|known| known.file() == job.file()) {
                    None => jobs.push(job),
                    Some(known) if *known == job => {}
                    Some(known) => {
                        return Err(Failure::usage(format!(
                            "{} has memory {} and processors {} in one experiment and {memory} and {processors} in {}; \
                             give both the same",
                            job.name(),
                            known.memory,
                            known.processors,
                            experiment.id
                        )));
                    }
                }
            }
        }
    }
    if twice {
        let again = jobs.iter().map(|job| LabJob { again: true, ..job.clone() });
        let again: Vec<LabJob> = again.collect();
        jobs.extend(again);
    }
    Ok(Jobs(jobs))
}

/// The word by which scripts are told whether processors take time.
fn prices(processors: bool) -> &'static str {
    if processors { "priced" } else { "free" }
}

/// Runs to be made.
pub struct Jobs(Vec<LabJob>);

impl Jobs {
    /// Number of runs.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many of them `shelf` has.
    pub fn found(&self, shelf: &Shelf) -> usize {
        self.0.iter().filter(|job| shelf.find(job).is_some()).count()
    }

    /// The largest memory of a run, in MiB.
    pub fn memory_mib(&self) -> u64 {
        let mib = |job: &LabJob| {
            let (digits, unit) = job.memory.split_at(job.memory.len() - 1);
            digits.parse::<u64>().unwrap_or(0) * if unit == "G" { 1024 } else { 1 }
        };
        self.0.iter().map(mib).max().unwrap_or(0)
    }
}

/// How a run ended.
enum Ended {
    Measured(Box<(LabMeasured, Value)>),
    Failed(String),
    Interrupted,
}

/// Makes those of `jobs` that `shelf` does not have, and reads all of them. A run that fails does
/// not stop the others. None begins after `stop`, and those that are being made then are ended.
pub fn make(
    jobs: &Jobs,
    place: &LabPlace,
    shelf: &Shelf,
    asked: Asked,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Made {
    let jobs = &jobs.0;
    let is_kept = |job: &LabJob| !asked.fresh && shelf.find(job).is_some();
    let missing = jobs.iter().filter(|job| !is_kept(job)).count();
    let count = watch.count("lab", missing);
    let work = |index: usize| {
        let job = &jobs[index];
        if stop.load(Ordering::Acquire) {
            return Ended::Interrupted;
        }
        let kept = shelf.find(job).filter(|_| !asked.fresh);
        let one = match kept {
            Some(path) => match result::read(&path, job) {
                Ok(result) => Ended::Measured(Box::new(result)),
                Err(why) => Ended::Failed(format!("{why}; --fresh makes it again")),
            },
            None => {
                count.begin(&job.name());
                let one = run(job, place, shelf, stop);
                count.end();
                one.unwrap_or_else(|error| {
                    Ended::Failed(format!("in {}: {error}", shelf.folder().display()))
                })
            }
        };
        if let Ended::Failed(why) = &one {
            watch.warn(&format!("failed: {}: {why}", job.name()));
        }
        one
    };
    let threads = asked.threads.clamp(1, missing.max(1));
    let ended = sim::side_by_side(threads, jobs.len(), work);
    let mut made = Made {
        results: Vec::new(),
        failed: Vec::new(),
        kernel: place.kernel.clone(),
        is_interrupted: false,
    };
    for (job, ended) in jobs.iter().zip(ended) {
        match ended {
            Ended::Measured(result) => {
                let (measured, value) = *result;
                made.results.push((job.clone(), measured, value));
            }
            Ended::Failed(why) => made.failed.push(Failed { run: job.name(), why }),
            Ended::Interrupted => made.is_interrupted = true,
        }
    }
    made
}

/// Makes a run and keeps its result.
fn run(job: &LabJob, place: &LabPlace, shelf: &Shelf, stop: &AtomicBool) -> std::io::Result<Ended> {
    let (folder, output) = shelf.begin(job)?;
    let started = Command::new(place.boot())
        .args(["--memory", &job.memory, "--results"])
        .arg(&folder)
        .arg(place.script())
        .args([&job.system.to_string(), job.file_system.name(), &job.application])
        .env("IODA", &place.program)
        .env("IODA_LAB_PROCESSORS", prices(job.processors))
        .env("PATH", tools::path())
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output)
        // Keys of a terminal interrupt us, and we end it.
        .process_group(0)
        .spawn();
    let why = match started {
        Err(error) => format!("{} cannot be run: {error}", place.boot().display()),
        Ok(mut child) => match processes::wait(&mut child, stop)? {
            None => {
                shelf.drop_run(job)?;
                return Ok(Ended::Interrupted);
            }
            Some(status) if !status.success() => match status.code() {
                Some(code) => format!("it exited with {code}"),
                None => format!("it was ended by a signal ({status})"),
            },
            Some(_) => match finished(job, &folder) {
                Ok(result) => {
                    shelf.keep(job)?;
                    return Ok(Ended::Measured(Box::new(result)));
                }
                Err(why) => why,
            },
        },
    };
    let (path, text) = shelf.fail(job)?;
    let failed = path.parent().unwrap_or(&path);
    // The folder has another name now.
    let why = why.replace(&folder.display().to_string(), &failed.display().to_string());
    let last = processes::last_lines(&text);
    Ok(Ended::Failed(format!("{why}; it said last: {last} (all of it: {})", path.display())))
}

/// The result that a run has left in `folder`.
fn finished(job: &LabJob, folder: &Path) -> Result<(LabMeasured, Value), String> {
    let path = folder.join(job.file());
    if !path.is_file() {
        return Err(format!("it ended well, but wrote no {}", path.display()));
    }
    result::read(&path, job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_what_it_is() {
        let mut job = LabJob {
            application: "mix-30-70".to_owned(),
            file_system: FileSystem::Raw,
            system: "ioda@plain".parse().unwrap(),
            processors: false,
            memory: "1G".to_owned(),
            key: "0f".to_owned(),
            again: false,
        };
        assert_eq!(job.name(), "mix-30-70 on the device under IODA, plain");
        assert_eq!(
            (job.file().as_str(), job.folder().as_str()),
            ("mix-30-70-raw-ioda@plain.json", "mix-30-70-raw-ioda@plain-0f")
        );
        (job.again, job.file_system) = (true, FileSystem::Xfs);
        job.system = "md@buffered".parse().unwrap();
        assert_eq!(job.name(), "mix-30-70 on xfs under md, buffered, again");
        assert_eq!(job.folder(), "mix-30-70-xfs-md@buffered-0f-again");
        let jobs = |memory: &str| Jobs(vec![LabJob { memory: memory.to_owned(), ..job.clone() }]);
        assert_eq!((jobs("3800M").memory_mib(), jobs("4G").memory_mib()), (3800, 4096));
    }
}
