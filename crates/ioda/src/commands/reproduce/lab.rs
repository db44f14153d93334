//! `ioda reproduce lab`.

use super::{ReproduceArgs, conclusion, file_name};
use crate::exit::Code;
use crate::output::{self, remark};
use crate::talk::Talk;
use clap::Args;
use live::storage::headroom_bytes;
use report::Claim;
use report::lab::{LabExperiment, Unjudged};
use report::schema::Document;
use report::statements::PaperStatements;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use study::Failure;
use study::Watch;
use study::experiment::lab::{self, Asked, Experiment, Failed, Jobs, LabPlace, Made, Shelf, Twice};
use study::experiment::{Suites, statement};
use study::jobs::say_found_in;
use units::MIB;

/// Where the laboratory is, and its results.
const FOLDER: &str = "lab";
const RESULTS: &str = "target/lab/results";

/// Options of `ioda reproduce lab`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Of `lab`")]
pub(crate) struct LabArgs {
    /// The folder of the laboratory, which is in ioda's sources [default: lab]
    #[arg(long, value_name = "FOLDER")]
    lab: Option<PathBuf>,
    /// Make each run twice, and exit with 1 if the two results of one differ in any field
    #[arg(long)]
    twice: bool,
}

impl LabArgs {
    /// The option that was given, if any was.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [("--lab", self.lab.is_some()), ("--twice", self.twice)];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// Experiments of the laboratory, as `ioda reproduce lab --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Laboratory {
    /// The statements of each paper with their verdicts, of which all claims were judged.
    statements: Vec<PaperStatements>,
    /// Each experiment with its results and claims.
    experiments: Vec<LabExperiment>,
    /// Runs that failed.
    failed: Vec<Failed>,
    /// Whether runs that were made twice gave the same; absent unless that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    twice: Option<Twice>,
}

impl Document for Laboratory {
    const SCHEMA: &'static str = "ioda.reproduce-lab/1";
}

/// Makes the runs and prints what holds.
pub(super) fn run(args: &ReproduceArgs, talk: Talk) -> Result<Code, Failure> {
    let experiments = chosen(args)?;
    if args.list {
        output::print(&list(&experiments))?;
        return Ok(Code::Ok);
    }
    let LabArgs { lab, twice } = &args.of_lab;
    let ReproduceArgs { results, fresh, .. } = args;
    let place = LabPlace::open(lab.as_deref().unwrap_or(Path::new(FOLDER)))?;
    lab::check_tools(&experiments)?;
    let jobs = lab::jobs(&experiments, &place, *twice)?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
    }
    let shelf = Shelf::open(results.as_deref().unwrap_or(Path::new(RESULTS)))?;
    place.prepare(scripts(&experiments))?;
    let found = if *fresh { 0 } else { jobs.found(&shelf) };
    say_found_in(shelf.folder(), found, jobs.count(), &talk);
    let is_told = found < jobs.count() && !talk.quiet;
    let threads = args.threads.unwrap_or_else(|| side_by_side(&jobs, is_told));
    let asked = Asked { threads, fresh: *fresh };
    let made = interruptible(|stop| lab::make(&jobs, &place, &shelf, asked, stop, &talk))?;
    if made.is_interrupted {
        return Err(Failure::internal(format!(
            "interrupted; what has ended is kept in {}, and the same command goes on from there",
            shelf.folder().display()
        )));
    }
    show(args, &experiments, made, jobs.count(), talk)
}

/// The experiments that are asked for.
fn chosen(args: &ReproduceArgs) -> Result<Vec<Experiment>, Failure> {
    let names: Vec<String> =
        args.experiments.iter().filter(|name| *name != lab::NAME).cloned().collect();
    if args.experiments.first().is_none_or(|first| first != lab::NAME) {
        return Err(Failure::usage(
            "`lab` is a laboratory with experiments of its own; name it first and these after it: ioda reproduce lab 9a",
        ));
    }
    let refused = [
        ("--requests", args.requests.is_some()),
        ("--wait", args.wait.is_some()),
        ("--seed", args.seeds.seed.is_some()),
        ("--seeds", args.seeds.seeds != 1),
    ];
    if let Some((option, _)) = refused.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{option} is not for `lab`, whose scripts say what is run and with which seeds"
        )));
    }
    if let Some(threads) = args.threads.filter(|threads| !(1..=1024).contains(threads)) {
        return Err(Failure::usage(format!("--threads is {threads}; it must be 1 to 1024")));
    }
    let all = match &args.folder {
        Some(folder) => lab::load_folder(folder)?,
        None => lab::builtin()?,
    };
    let mut experiments = lab::select(all, &names)?;
    if let Some(text) = &args.filter {
        experiments = lab::filter(experiments, text);
    }
    if args.quick {
        experiments = lab::quick(experiments, !names.is_empty());
    }
    if experiments.is_empty() {
        return Err(Failure::usage(match &args.filter {
            Some(text) => format!(
                "no experiment of the laboratory and no claim has {text:?}; see `ioda reproduce lab --list`"
            ),
            None => {
                "no experiment says which of its applications is short, so name one for --quick"
                    .to_owned()
            }
        }));
    }
    Ok(experiments)
}

/// The scripts that make what applications need, each once.
fn scripts(experiments: &[Experiment]) -> Vec<&str> {
    let mut scripts: Vec<&str> =
        experiments.iter().flat_map(|one| &one.ahead).map(String::as_str).collect();
    scripts.sort_unstable();
    scripts.dedup();
    scripts
}

/// How many runs are made side by side: one for each core as far as memory reaches.
fn side_by_side(jobs: &Jobs, is_told: bool) -> usize {
    let cores = sim::cores();
    let room = headroom_bytes().map(|free_bytes| room(free_bytes, jobs.memory_mib()));
    let Some(room) = room.filter(|room| *room < cores) else { return cores };
    if is_told {
        remark(&format!(
            "memory is free for {room} runs side by side, not for one on each of {cores} cores; --threads decides otherwise"
        ));
    }
    room
}

/// Runs of `mib_each` that `free_bytes` hold, at least one.
fn room(free_bytes: u64, mib_each: u64) -> usize {
    usize::try_from(free_bytes / MIB / mib_each.max(1)).unwrap_or(usize::MAX).max(1)
}

/// Does `work` with a mark that is set when a signal asks to stop.
fn interruptible<T>(work: impl FnOnce(&AtomicBool) -> T) -> Result<T, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let signals = live::operate::signals::watch(move || asked.store(true, Ordering::Release))
        .map_err(|error| Failure::internal(format!("cannot wait for signals: {error}")))?;
    let result = work(&stop);
    drop(signals);
    Ok(result)
}

/// Writes and prints everything, and says how it went.
fn show(
    args: &ReproduceArgs,
    experiments: &[Experiment],
    made: Made,
    runs: usize,
    talk: Talk,
) -> Result<Code, Failure> {
    let judged: Vec<LabExperiment> =
        experiments.iter().map(|experiment| lab::judged(experiment, &made)).collect();
    if let Some(folder) = &args.output {
        for one in &judged {
            let path = folder.join(format!("{}.html", file_name(&one.id)));
            let page = report::html::render_lab(one);
            output::stream(&path, |out| out.write_all(page.as_bytes()))?;
            talk.remark(&format!("wrote {}", path.display()));
        }
    }
    if let Some(path) = &args.junit {
        let mut suites = Suites::new(false);
        for one in &judged {
            suites.add_with_skipped(&one.id, &one.claims, &one.unjudged);
        }
        output::write(path, suites.to_xml()?.trim_end())?;
    }
    let twice = args.of_lab.twice.then(|| made.twice());
    let is_document_printed =
        args.json.is_printed() || args.junit.as_deref().is_some_and(study::files::is_stdout);
    let claims: Vec<Claim> = judged.iter().flat_map(|one| one.claims.iter().cloned()).collect();
    let unjudged: Vec<&Unjudged> = judged.iter().flat_map(|one| &one.unjudged).collect();
    let papers = args.papers()?;
    let statements = statement::judge(&papers, &claims);
    if let Some(path) = &args.statements {
        output::write(path, report::statements::laboratory_page(&statements).trim_end())?;
    }
    if !is_document_printed {
        let texts = experiments.iter().zip(&judged);
        let mut text: String = texts.map(|(experiment, one)| lab::text(experiment, one)).collect();
        text += conclusion(&claims, false).trim_start_matches('\n');
        text += &statement::render(&papers, &statements);
        if !unjudged.is_empty() {
            let ids: Vec<&str> = unjudged.iter().map(|one| one.id.as_str()).collect();
            text += &format!("\n{} cannot be judged: {}.\n", ids.len(), ids.join(", "));
        }
        text += &twice.as_ref().map_or_else(String::new, |twice| format!("\n{}", twice.text()));
        output::print(&text)?;
    }
    let is_settled = |claim| statement::is_settled(&statements, claim);
    let holds = unjudged.is_empty() && claims.iter().all(is_settled);
    let differ = twice.as_ref().is_some_and(|twice| !twice.different.is_empty());
    let failed: Vec<String> = made.failed.iter().map(|failed| failed.run.clone()).collect();
    if let Some(path) = args.json.path() {
        let failed = made.failed;
        let document = Laboratory { statements, experiments: judged, failed, twice };
        output::write(path, &report::schema::to_string(&document))?;
    }
    if !failed.is_empty() {
        return Err(Failure::internal(format!(
            "{} of {runs} runs failed: {}; they are tried again the next time",
            failed.len(),
            failed.join(", ")
        )));
    }
    Ok(if differ || (args.strict && !holds) { Code::Failed } else { Code::Ok })
}

fn list(experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for experiment in experiments {
        text += &format!("{}: {}\n", experiment.id, experiment.title);
        text += &format!("  applications: {}\n", experiment.applications.join(", "));
        let names: Vec<&str> = experiment.file_systems.iter().map(|one| one.name()).collect();
        text += &format!("  file systems: {}\n", names.join(", "));
        let names: Vec<String> =
            experiment.systems.iter().map(|one| one.value.to_string()).collect();
        text += &format!("  systems: {}\n", names.join(", "));
        for claim in &experiment.claims {
            text += &format!("  {}: {}\n", claim.id, claim.statement);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_as_many_runs_as_memory_holds() {
        let free_bytes = 8192 * MIB;
        assert_eq!((room(free_bytes, 4096), room(free_bytes, 3000)), (2, 2));
        assert_eq!(room(free_bytes, 100_000), 1, "one is always tried");
    }
}
