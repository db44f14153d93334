//! `runs.jsonl`: what is done, one JSON object in a line, so that many runs can be interrupted.
//!
//! A line is written and flushed to the medium when its run ends. What an interrupt leaves of a
//! last line is dropped at the next start. When all runs have ended, lines are sorted by key, and
//! of several with one key the last is left: then the file does not say who made which run when.

use super::file::{self, unusable};
use crate::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// What is kept of a run.
pub trait Kept: Clone + Serialize + DeserializeOwned + Send {
    /// Version of the schema. It grows with every change that a reader of an earlier version would
    /// misunderstand.
    const SCHEMA: u32;
    /// What keeps it, for messages: a survey.
    const OF: &'static str;
    /// The option that names its folder.
    const FOLDER_OPTION: &'static str = "--output";

    /// Whether the run need not be made again. What failed is tried again.
    fn is_final(&self) -> bool;

    /// Whether it was measured on a clock, and so comes out differently every time.
    fn is_measured(&self) -> bool {
        false
    }
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

/// The key of a line.
#[derive(Deserialize)]
struct Keyed {
    key: String,
}

/// The file and what it says. Nobody else writes it meanwhile.
pub struct Journal<R> {
    folder: PathBuf,
    file: File,
    records: BTreeMap<String, R>,
}

impl<R: Kept> Journal<R> {
    /// Opens the file in `folder`, which is made if there is none; an empty one if `fresh`.
    pub fn open(folder: &Path, fresh: bool) -> Result<Self, Failure> {
        make_folder(folder)?;
        let path = file::path(folder);
        let mut file = file::writable(folder)?;
        let mut records = BTreeMap::new();
        let mut whole_bytes = 0;
        let remedy = format!("choose another {}, or start again with --fresh", R::FOLDER_OPTION);
        if !fresh {
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(|error| unusable(&path, "read", &error))?;
            whole_bytes = whole(&text).len();
            for (number, line) in lines(&text) {
                let (key, record) = read(&path, number, line, &remedy)?;
                records.insert(key, record);
            }
        }
        file.set_len(whole_bytes as u64).map_err(|error| unusable(&path, "write", &error))?;
        Ok(Self { folder: folder.to_owned(), file, records })
    }

    /// What came of the measurement with this key, if it was made.
    pub fn get(&self, key: &str) -> Option<&R> {
        self.records.get(key)
    }

    /// What need not be made again, by key.
    pub fn finished(&self) -> impl Iterator<Item = (&str, &R)> {
        let records = self.records.iter().filter(|(_, record)| record.is_final());
        records.map(|(key, record)| (key.as_str(), record))
    }

    /// Whether the measurement with this key need not be made again.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(Kept::is_final)
    }

    /// Keeps what came of a measurement; when this returns it is on the medium.
    pub fn keep(&mut self, key: &str, record: R) -> Result<(), Failure> {
        let origin =
            Origin { schema: R::SCHEMA, ioda_version: env!("CARGO_PKG_VERSION").to_owned() };
        let line = Line { origin, key: key.to_owned(), record };
        let mut text = serde_json::to_string(&line)
            .map_err(|error| Failure::internal(format!("cannot write a result: {error}")))?;
        text.push('\n');
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| unusable(&file::path(&self.folder), "write", &error))?;
        self.records.insert(line.key, line.record);
        Ok(())
    }

    /// Brings the file into the order of keys, if it is not: what it says depends on the runs alone
    /// then. An interrupt leaves it as it was.
    pub fn finish(&mut self) -> Result<(), Failure> {
        let path = file::path(&self.folder);
        let text = std::fs::read(&path).map_err(|error| unusable(&path, "read", &error))?;
        let sorted = sorted(&text).map_err(|error| {
            Failure::internal(format!("cannot sort {}: {error}", path.display()))
        })?;
        if sorted != text {
            self.file = file::replace(&self.folder, &sorted)?;
        }
        Ok(())
    }
}

/// Makes `folder` if there is none.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// What was written to the end: what follows the last end of a line was being written when the
/// program stopped.
fn whole(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    &text[..end]
}

/// The lines that were written to the end, with their numbers.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = (1..).zip(whole(text).split(|&byte| byte == b'\n'));
    lines.filter(|(_, line)| !line.is_empty())
}

/// The last line of every key, sorted by key.
fn sorted(text: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let mut last = BTreeMap::new();
    for (_, line) in lines(text) {
        let Keyed { key } = serde_json::from_slice(line)?;
        last.insert(key, line);
    }
    Ok(last.into_values().flat_map(|line| [line, b"\n"].concat()).collect())
}

/// Reads a line. A line of another version is refused, because its results may differ.
/// `remedy` says what to do then.
pub(super) fn read<R: Kept>(
    path: &Path,
    number: usize,
    line: &[u8],
    remedy: &str,
) -> Result<(String, R), Failure> {
    let path = path.display();
    let damaged = |error| {
        Failure::data(format!(
            "{path}, line {number} is no result of a {}: {error}; remove the line, {remedy}",
            R::OF
        ))
    };
    let Origin { schema, ioda_version } = serde_json::from_slice(line).map_err(damaged)?;
    if schema != R::SCHEMA || ioda_version != env!("CARGO_PKG_VERSION") {
        return Err(Failure::usage(format!(
            "{path}, line {number} was written by ioda {ioda_version} (schema {schema}), and this \
             is {} (schema {}), whose results may differ; {remedy}",
            env!("CARGO_PKG_VERSION"),
            R::SCHEMA
        )));
    }
    let Line { key, record, .. } = serde_json::from_slice(line).map_err(damaged)?;
    Ok((key, record))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::file::NAME;
    use super::*;

    /// A number, which is final if it is even, and measured from a thousand on.
    #[derive(Clone, Serialize, Deserialize)]
    pub(in super::super) struct Number(pub(in super::super) u32);

    impl Kept for Number {
        const SCHEMA: u32 = 1;
        const OF: &'static str = "test";

        fn is_final(&self) -> bool {
            self.0.is_multiple_of(2)
        }

        fn is_measured(&self) -> bool {
            self.0 >= 1000
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
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        // Every possible end of the last line, also within a character.
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            let mut journal = open(folder.path(), false);
            assert_eq!((journal.has("a"), journal.get("b").is_some()), (lines > 0, lines > 1));
            assert!(!journal.has("b"), "what failed is tried again");
            journal.keep("c", Number(4)).unwrap();
            drop(journal);
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
        drop(journal);
        assert!(open(folder.path(), false).has("a"));
    }

    #[test]
    fn a_finished_file_is_in_the_order_of_keys() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let path = folders[0].path().join(NAME);
        let mut journal = open(folders[0].path(), false);
        for (key, number) in [("c", 2), ("a", 1), ("b", 4), ("a", 6)] {
            journal.keep(key, Number(number)).unwrap();
        }
        journal.finish().unwrap();
        let file = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        let first = file(&path);
        journal.finish().unwrap();
        assert_eq!(file(&path), first, "what is in order is not written again");
        // It goes on after that, and is still locked.
        assert!(Journal::<Number>::open(folders[0].path(), false).is_err());
        journal.keep("aa", Number(8)).unwrap();
        journal.finish().unwrap();
        let mut other = open(folders[1].path(), false);
        for (key, number) in [("aa", 8), ("a", 6), ("c", 2), ("b", 4)] {
            other.keep(key, Number(number)).unwrap();
        }
        other.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        assert_eq!(written, std::fs::read(folders[1].path().join(NAME)).unwrap());
        let keys = |text: &str| {
            let key = |line| serde_json::from_str::<Keyed>(line).unwrap().key;
            text.lines().map(key).collect::<Vec<_>>()
        };
        assert_eq!(keys(std::str::from_utf8(&written).unwrap()), ["a", "aa", "b", "c"]);
        drop(journal);
        assert!(open(folders[0].path(), false).has("a"), "the last of a key is what is left");
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
