//! `runs.jsonl`: what is done, one JSON object in a line, so that a survey can be interrupted.
//!
//! A line is written and flushed to the medium when its run ends. What an interrupt leaves of a last
//! line is dropped at the next start.

use crate::exit::Failure;
use report::survey::{Outcome, ProcessorTime, SCHEMA, SaturationRun, SurveyRun};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Name of the file.
const NAME: &str = "runs.jsonl";

/// What came of one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record {
    /// A workload.
    Run(SurveyRun),
    /// Throughput at saturation.
    Saturation(SaturationRun),
    /// Processor time of all policies.
    Processor(Vec<ProcessorTime>),
}

impl Record {
    /// Whether it need not be made again. What failed is tried again.
    fn is_final(&self) -> bool {
        let outcome = match self {
            Self::Run(run) => &run.outcome,
            Self::Saturation(run) => &run.outcome,
            Self::Processor(_) => return true,
        };
        matches!(outcome, Outcome::Measured(_))
    }
}

/// What every line says of itself, whoever wrote it.
#[derive(Serialize, Deserialize)]
struct Origin {
    schema: u32,
    ioda_version: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    origin: Origin,
    key: String,
    record: Record,
}

/// The file and what it says.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    records: BTreeMap<String, Record>,
}

impl Journal {
    /// Opens the file in `folder`, which is made if there is none; an empty one if `fresh`.
    pub(crate) fn open(folder: &Path, fresh: bool) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        let path = folder.join(NAME);
        let mut records = BTreeMap::new();
        let mut whole_bytes = 0;
        if !fresh {
            let text = match std::fs::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(unusable(&path, "read", &error)),
            };
            // What follows the last end of a line was being written when the program stopped.
            whole_bytes = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            for (index, line) in text[..whole_bytes].split(|&byte| byte == b'\n').enumerate() {
                if !line.is_empty() {
                    let Line { key, record, .. } = read(&path, index + 1, line)?;
                    records.insert(key, record);
                }
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| unusable(&path, "write", &error))?;
        file.set_len(whole_bytes as u64).map_err(|error| unusable(&path, "write", &error))?;
        Ok(Self { path, file, records })
    }

    /// What came of the measurement with this key, if it was made.
    pub(crate) fn get(&self, key: &str) -> Option<&Record> {
        self.records.get(key)
    }

    /// Whether the measurement with this key need not be made again.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(Record::is_final)
    }

    /// Keeps what came of a measurement; when this returns it is on the medium.
    pub(crate) fn keep(&mut self, key: &str, record: Record) -> Result<(), Failure> {
        let origin = Origin { schema: SCHEMA, ioda_version: env!("CARGO_PKG_VERSION").to_owned() };
        let line = Line { origin, key: key.to_owned(), record };
        let mut text = serde_json::to_string(&line)
            .map_err(|error| Failure::internal(format!("cannot write a result: {error}")))?;
        text.push('\n');
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| unusable(&self.path, "write", &error))?;
        self.records.insert(line.key, line.record);
        Ok(())
    }
}

fn unusable(path: &Path, what: &str, error: &Error) -> Failure {
    Failure::internal(format!("cannot {what} {}: {error}", path.display()))
}

/// Reads a line. A line of another version is refused, because its results may differ.
fn read(path: &Path, number: usize, line: &[u8]) -> Result<Line, Failure> {
    let path = path.display();
    let damaged = |error| {
        Failure::data(format!(
            "{path}, line {number} is no result of a survey: {error}; remove the line, or start \
             again with --fresh"
        ))
    };
    let Origin { schema, ioda_version } = serde_json::from_slice(line).map_err(damaged)?;
    if schema != SCHEMA || ioda_version != env!("CARGO_PKG_VERSION") {
        return Err(Failure::usage(format!(
            "{path}, line {number} was written by ioda {ioda_version} (schema {schema}), and this \
             is {} (schema {SCHEMA}), whose results may differ; choose another --output, or start \
             again with --fresh",
            env!("CARGO_PKG_VERSION")
        )));
    }
    serde_json::from_slice(line).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seed: &str, outcome: Outcome) -> Record {
        let (policy, workload, seed) = ("base".to_owned(), "tpcc".to_owned(), seed.to_owned());
        Record::Run(SurveyRun { policy, workload, seed, outcome })
    }

    fn measured(seed: &str) -> Record {
        record(seed, Outcome::Measured(Box::default()))
    }

    #[test]
    fn what_was_kept_is_found_again_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut journal = Journal::open(folder.path(), false).unwrap();
        journal.keep("a", measured("1")).unwrap();
        journal.keep("b", record("2", Outcome::Failed("why".to_owned()))).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Every possible end of the last line, also within a character.
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            let mut journal = Journal::open(folder.path(), false).unwrap();
            assert_eq!((journal.has("a"), journal.get("b").is_some()), (lines > 0, lines > 1));
            assert!(!journal.has("b"), "what failed is tried again");
            journal.keep("c", measured("3")).unwrap();
            let journal = Journal::open(folder.path(), false).unwrap();
            assert!(journal.has("c") && journal.records.len() == lines + 1);
        }
        assert!(Journal::open(folder.path(), true).unwrap().records.is_empty());
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn the_last_result_of_a_key_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), false).unwrap();
        journal.keep("a", record("1", Outcome::Failed("why".to_owned()))).unwrap();
        journal.keep("a", measured("1")).unwrap();
        assert!(Journal::open(folder.path(), false).unwrap().has("a"));
    }

    #[test]
    fn damaged_lines_and_other_versions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Journal::open(folder.path(), false).map(drop).unwrap_err().to_string()
        };
        let damaged = refused("{}\n");
        assert!(damaged.contains("runs.jsonl, line 1 is no result of a survey"), "{damaged}");
        assert!(refused("\n\u{fffd}\n").contains("line 2 is no result"));
        let other = refused("{\"schema\":1,\"ioda_version\":\"0.0.1\",\"what\":7}\n");
        assert!(other.contains("line 1 was written by ioda 0.0.1 (schema 1)"), "{other}");
        let older = refused(&format!(
            "{{\"schema\":0,\"ioda_version\":\"{}\"}}\n",
            env!("CARGO_PKG_VERSION")
        ));
        assert!(older.contains("(schema 0)"), "{older}");
    }
}
