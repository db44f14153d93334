//! The requests of runs, one by one, in a Parquet file: `--requests-out`.
//!
//! A thread of its own writes while the runs go on. A few batches of requests may wait for it, so
//! memory does not grow with the number of requests; when there are more, the runs wait.

mod table;

use crate::describe::convert;
use crate::failure::Failure;
use crate::files::{self, NewFile};
use crate::setup::Setup;
use crate::simulate::Outcome;
use parquet::errors::ParquetError;
use sim::{RequestColumns, RequestSink};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use table::Table;

pub use table::cause_column;

/// Batches that the runs may be ahead of the file.
const AHEAD: usize = 2;

/// What the thread that writes is told.
enum Message {
    /// More requests of the run with this number.
    Requests(usize, Box<RequestColumns>),
    /// There are no more, and this is what they are.
    Complete(Vec<(String, String)>),
}

/// How writing ended that did not fail.
enum Written {
    /// All is in the file.
    All,
    /// The runs did not come to their end, so there is no file.
    Nothing,
}

/// How names of Parquet files end.
const EXTENSIONS: [&str; 3] = ["parquet", "parq", "pq"];

/// Refuses what cannot be a Parquet file, or is named as if it were none, before a run.
pub fn check(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    if files::is_stdout(path) {
        return Err(Failure::usage(
            "--requests-out writes a Parquet file and cannot go to standard output; name a file",
        ));
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(other) if !EXTENSIONS.contains(&other.to_lowercase().as_str()) => {
            Err(Failure::usage(format!(
                "--requests-out writes a Parquet file, and {} is named as if it were none; name it {}",
                path.display(),
                path.with_extension(EXTENSIONS[0]).display()
            )))
        }
        _ => Ok(()),
    }
}

/// Makes the runs of `setup` by `run`, and writes their requests to `path`. The file has its name
/// when all of them are in it.
pub fn write(
    path: &Path,
    setup: &Setup,
    run: impl FnOnce(RequestSink<'_>) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let failed = |error: String| files::cannot_write(path, error);
    // Before the first run.
    let file = NewFile::create(path).map_err(|error| failed(error.to_string()))?;
    let policies: Vec<&str> = setup.plans.iter().map(|plan| plan.policy.name()).collect();
    let (to, from) = sync_channel(AHEAD);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_all(file, &policies, from));
        let sink = |run, columns| match to.send(Message::Requests(run, Box::new(columns))) {
            Ok(()) => ControlFlow::Continue(()),
            // It has failed, and says why below.
            Err(_) => ControlFlow::Break(()),
        };
        let outcome = run(&sink);
        if let Ok(outcome) = &outcome {
            let about = convert::manifest(setup, outcome).map(|manifest| {
                let hashes = outcome.results.iter().map(|result| {
                    let name = format!("ioda.result_hash.{}", result.policy.name());
                    (name, convert::result_hash(result))
                });
                table::about(manifest, hashes)
            })?;
            // If it has failed, it says why below.
            let _ = to.send(Message::Complete(about));
        }
        drop(to);
        match writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(Written::All | Written::Nothing) => outcome,
            Err(ParquetError::External(error)) => Err(failed(error.to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    })
}

fn write_all(
    file: NewFile,
    policies: &[&str],
    from: Receiver<Message>,
) -> Result<Written, ParquetError> {
    let mut table = Table::new(file)?;
    for message in from {
        match message {
            Message::Requests(run, columns) => table.write(policies[run], &columns)?,
            Message::Complete(about) => {
                table.finish(about)?.finish()?;
                return Ok(Written::All);
            }
        }
    }
    Ok(Written::Nothing)
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::path::Path;

    #[test]
    fn names_of_other_formats_are_refused() {
        let refused = |name: &str| check(Some(Path::new(name))).map_err(|error| error.to_string());
        for name in ["a.parquet", "a.PQ", "folder.d/requests", "b.parq"] {
            assert_eq!(refused(name), Ok(()), "{name}");
        }
        let error = refused("dir/x.csv").unwrap_err();
        assert!(error.ends_with("name it dir/x.parquet"), "{error}");
        assert!(refused("-").is_err());
    }
}
