//! `runs.jsonl`: what is done, one JSON object in a line, so that many runs can be interrupted.
//!
//! A line is written and flushed to the medium when its run ends. What an interrupt leaves of a last
//! line is dropped at the next start.

use crate::exit::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Name of the file.
const NAME: &str = "runs.jsonl";

/// What is kept of a run.
pub(crate) trait Kept: Clone + Serialize + DeserializeOwned + Send {
    /// Version of the schema. It grows with every change that a reader of an earlier version would
    /// misunderstand.
    const SCHEMA: u32;
    /// What keeps it, for messages: a survey.
    const OF: &'static str;

    /// Whether the run need not be made again. What failed is tried again.
    fn is_final(&self) -> bool;
}

/// What every line says of itself, whoever wrote it.
#[derive(Serialize, Deserialize)]
struct Origin {
    schema: u32,
    ioda_version: String,
}

#[derive(Serialize, Deserialize)]
struct Line<R> {
    #[serde(flatten)]
    origin: Origin,
    key: String,
    record: R,
}

/// The file and what it says.
pub(crate) struct Journal<R> {
    path: PathBuf,
    file: File,
    records: BTreeMap<String, R>,
}

impl<R: Kept> Journal<R> {
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
    pub(crate) fn get(&self, key: &str) -> Option<&R> {
        self.records.get(key)
    }

    /// What need not be made again, by key.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (&str, &R)> {
        let records = self.records.iter().filter(|(_, record)| record.is_final());
        records.map(|(key, record)| (key.as_str(), record))
    }

    /// Whether the measurement with this key need not be made again.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(Kept::is_final)
    }

    /// Keeps what came of a measurement; when this returns it is on the medium.
    pub(crate) fn keep(&mut self, key: &str, record: R) -> Result<(), Failure> {
        let origin =
            Origin { schema: R::SCHEMA, ioda_version: env!("CARGO_PKG_VERSION").to_owned() };
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
fn read<R: Kept>(path: &Path, number: usize, line: &[u8]) -> Result<Line<R>, Failure> {
    let path = path.display();
    let damaged = |error| {
        Failure::data(format!(
            "{path}, line {number} is no result of a {}: {error}; remove the line, choose another \
             --output, or start again with --fresh",
            R::OF
        ))
    };
    let Origin { schema, ioda_version } = serde_json::from_slice(line).map_err(damaged)?;
    if schema != R::SCHEMA || ioda_version != env!("CARGO_PKG_VERSION") {
        return Err(Failure::usage(format!(
            "{path}, line {number} was written by ioda {ioda_version} (schema {schema}), and this \
             is {} (schema {}), whose results may differ; choose another --output, or start again \
             with --fresh",
            env!("CARGO_PKG_VERSION"),
            R::SCHEMA
        )));
    }
    serde_json::from_slice(line).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number, which is final if it is even.
    #[derive(Clone, Serialize, Deserialize)]
    struct Number(u32);

    impl Kept for Number {
        const SCHEMA: u32 = 1;
        const OF: &'static str = "test";

        fn is_final(&self) -> bool {
            self.0.is_multiple_of(2)
        }
    }

    fn open(folder: &Path, fresh: bool) -> Journal<Number> {
        Journal::open(folder, fresh).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_again_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut journal = open(folder.path(), false);
        journal.keep("a", Number(2)).unwrap();
        journal.keep("b", Number(1)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Every possible end of the last line, also within a character.
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            let mut journal = open(folder.path(), false);
            assert_eq!((journal.has("a"), journal.get("b").is_some()), (lines > 0, lines > 1));
            assert!(!journal.has("b"), "what failed is tried again");
            journal.keep("c", Number(4)).unwrap();
            let journal = open(folder.path(), false);
            assert!(journal.has("c") && journal.records.len() == lines + 1);
        }
        assert!(open(folder.path(), true).records.is_empty());
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn the_last_result_of_a_key_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path(), false);
        journal.keep("a", Number(1)).unwrap();
        journal.keep("a", Number(2)).unwrap();
        assert!(open(folder.path(), false).has("a"));
    }

    #[test]
    fn damaged_lines_and_other_versions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Journal::<Number>::open(folder.path(), false).map(drop).unwrap_err().to_string()
        };
        let damaged = refused("{}\n");
        assert!(damaged.contains("runs.jsonl, line 1 is no result of a test"), "{damaged}");
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
