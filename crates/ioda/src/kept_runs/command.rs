//! What the commands that keep runs have in common: what they say, and what they write.

use super::job::{Job, Subject};
use super::journal::Journal;
use super::shard::Shard;
use crate::exit::{Code, Failure};
use crate::output::{self, remark};
use crate::talk::Talk;
use report::schema::Document;
use std::path::Path;

/// Says how many of the runs need not be made.
pub(crate) fn say_found<S: Subject>(
    jobs: &[Job<S>],
    journal: &Journal<S::Record>,
    folder: &Path,
    talk: Talk,
) {
    if !talk.quiet {
        let found = jobs.iter().filter(|job| journal.has(&job.key)).count();
        remark(&format!("{found} of {} runs found in {}", jobs.len(), folder.display()));
    }
}

/// The jobs of `shard`; all of them if it is none.
pub(crate) fn part<S>(jobs: &[Job<S>], shard: Option<Shard>) -> &[Job<S>] {
    match shard {
        Some(shard) => &jobs[shard.range(jobs.len())],
        None => jobs,
    }
}

/// How the command ends that has made the `part` of `jobs` that is `shard`, and what comes next.
pub(crate) fn end_shard<S: Subject>(
    shard: Shard,
    jobs: &[Job<S>],
    journal: &Journal<S::Record>,
    folder: &Path,
    talk: Talk,
) -> Result<Code, Failure> {
    let part = part(jobs, Some(shard));
    let failed = part.iter().filter(|job| !journal.has(&job.key)).count();
    if !talk.quiet {
        let command = S::COMMAND;
        remark(&format!(
            "shard {shard} is {} of {} runs, kept in {}",
            part.len(),
            jobs.len(),
            folder.display()
        ));
        remark(&format!(
            "when all {} shards have ended: ioda {command} merge FOLDER... --output FOLDER, and then \
             the same ioda {command} with that --output and without --shard",
            shard.of()
        ));
    }
    end(failed, part.len())
}

/// Writes the document NAME.json and the page NAME.html.
pub(crate) fn write<D: Document>(
    folder: &Path,
    name: &str,
    document: &D,
    page: String,
    talk: Talk,
) -> Result<(), Failure> {
    let text = serde_json::to_string(&report::schema::marked(document))
        .map_err(|error| Failure::internal(format!("cannot write the results: {error}")))?;
    for (ending, text) in [("json", text + "\n"), ("html", page)] {
        let path = folder.join(format!("{name}.{ending}"));
        output::write(&path, &text)?;
        if !talk.quiet {
            remark(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// How the command ends when so many of its runs have failed.
pub(crate) fn end(failed: usize, runs: usize) -> Result<Code, Failure> {
    match failed {
        0 => Ok(Code::Ok),
        _ => Err(Failure::internal(format!(
            "{failed} of {runs} runs failed; they are tried again the next time"
        ))),
    }
}
