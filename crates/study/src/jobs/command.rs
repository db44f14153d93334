//! What the commands that keep runs have in common: what they say, and what they write.

use super::job::{Job, Subject};
use super::journal::Journal;
use super::shard::Shard;
use crate::failure::Failure;
use crate::files;
use crate::watch::Watch;
use report::schema::Document;
use std::path::Path;

/// Says that `found` of `runs` runs need not be made, because `folder` has them.
pub fn say_found_in(folder: &Path, found: usize, runs: usize, watch: &dyn Watch) {
    watch.remark(&format!("{found} of {runs} runs found in {}", folder.display()));
}

/// Says how many of `jobs` need not be made.
pub fn say_found<S: Subject>(
    jobs: &[Job<S>],
    journal: &Journal<S::Record>,
    folder: &Path,
    watch: &dyn Watch,
) {
    let found = jobs.iter().filter(|job| journal.has(&job.key)).count();
    say_found_in(folder, found, jobs.len(), watch);
}

/// The jobs of `shard`; all of them if it is none.
pub fn part<S>(jobs: &[Job<S>], shard: Option<Shard>) -> &[Job<S>] {
    match shard {
        Some(shard) => &jobs[shard.range(jobs.len())],
        None => jobs,
    }
}

/// How the command ends that has made the `part` of `jobs` that is `shard`, and what comes next.
pub fn end_shard<S: Subject>(
    shard: Shard,
    jobs: &[Job<S>],
    journal: &Journal<S::Record>,
    folder: &Path,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let part = part(jobs, Some(shard));
    let failed = part.iter().filter(|job| !journal.has(&job.key)).count();
    let command = S::COMMAND;
    watch.remark(&format!(
        "shard {shard} is {} of {} runs, kept in {}",
        part.len(),
        jobs.len(),
        folder.display()
    ));
    watch.remark(&format!(
        "when all {} shards have ended: ioda {command} merge FOLDER... --output FOLDER, and then \
         the same ioda {command} with that --output and without --shard",
        shard.of()
    ));
    end(failed, part.len())
}

/// Writes the document NAME.json and the page NAME.html.
pub fn write<D: Document>(
    folder: &Path,
    name: &str,
    document: &D,
    page: String,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let text = serde_json::to_string(&report::schema::marked(document))
        .map_err(|error| Failure::internal(format!("cannot write the results: {error}")))?;
    for (ending, text) in [("json", text + "\n"), ("html", page)] {
        let path = folder.join(format!("{name}.{ending}"));
        files::write(&path, &text)?;
        watch.remark(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Refuses to call a study done of whose `runs` some have failed.
pub fn end(failed: usize, runs: usize) -> Result<(), Failure> {
    match failed {
        0 => Ok(()),
        _ => Err(Failure::internal(format!(
            "{failed} of {runs} runs failed; they are tried again the next time"
        ))),
    }
}
