//! The runs of several folders in one.

use super::file;
use super::journal::{self, Kept};
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What to do about a line that cannot be used.
const REMEDY: &str = "leave the folder out, or make its runs again with --fresh";

/// What has come together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Merged {
    /// Runs that need not be made again.
    pub runs: usize,
    /// How many of these were new.
    pub new: usize,
}

/// A line and where it was found.
struct Found {
    line: Vec<u8>,
    is_final: bool,
    /// Whether it may differ from one time to the next.
    is_measured: bool,
    path: PathBuf,
}

/// Puts the runs that `folders` keep into `output`, beside those that it keeps already. Nothing is
/// written unless all of them fit together.
pub fn merge<R: Kept>(folders: &[PathBuf], output: &Path) -> Result<Merged, Failure> {
    let mut all = BTreeMap::new();
    for folder in folders.iter().filter(|folder| !is_same(folder, output)) {
        let mut text = Vec::new();
        let path = file::path(folder);
        file::readable(folder)?
            .read_to_end(&mut text)
            .map_err(|error| file::unusable(&path, "read", &error))?;
        for (key, found) in read::<R>(&path, &text)? {
            add(&mut all, key, found)?;
        }
    }
    journal::make_folder(output)?;
    let path = file::path(output);
    let mut text = Vec::new();
    file::writable(output)?
        .read_to_end(&mut text)
        .map_err(|error| file::unusable(&path, "read", &error))?;
    let mut together = read::<R>(&path, &text)?;
    let runs = |all: &BTreeMap<String, Found>| all.values().filter(|found| found.is_final).count();
    let before = runs(&together);
    for (key, found) in all {
        add(&mut together, key, found)?;
    }
    let merged: Vec<u8> = together.values().flat_map(|found| found.line.clone()).collect();
    if merged != text {
        file::replace(output, &merged)?;
    }
    let runs = runs(&together);
    Ok(Merged { runs, new: runs - before })
}

/// Whether both are the same folder, however they are called.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// The last line of every key.
fn read<R: Kept>(path: &Path, text: &[u8]) -> Result<BTreeMap<String, Found>, Failure> {
    let mut all = BTreeMap::new();
    for (number, line) in journal::lines(text) {
        let (key, record) = journal::read::<R>(path, number, line, REMEDY)?;
        let line = [line, b"\n"].concat();
        let (is_final, is_measured) = (record.is_final(), record.is_measured());
        all.insert(key, Found { line, is_final, is_measured, path: path.to_owned() });
    }
    Ok(all)
}

/// Adds a line of another file. A run that ended is better than one that failed; of two
/// measurements on a clock the first is kept; everything else is the same everywhere.
fn add(all: &mut BTreeMap<String, Found>, key: String, found: Found) -> Result<(), Failure> {
    let mut place = match all.entry(key) {
        Entry::Vacant(place) => {
            place.insert(found);
            return Ok(());
        }
        Entry::Occupied(place) => place,
    };
    let there = place.get();
    let is_better = match (there.is_final, found.is_final) {
        (false, true) => true,
        (true, false) => false,
        // Which one does not matter, but it is the same whichever comes first.
        (false, false) => found.line < there.line,
        (true, true) if found.line == there.line || found.is_measured => false,
        (true, true) => {
            return Err(Failure::data(format!(
                "{} and {} have different records for the key {}; equal runs have equal records, \
                 so one of them is damaged or comes of a changed program: make its runs again \
                 with --fresh",
                there.path.display(),
                found.path.display(),
                place.key()
            )));
        }
    };
    if is_better {
        place.insert(found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::journal::Journal;
    use super::super::journal::tests::Number;
    use super::*;

    fn keep(folder: &Path, records: &[(&str, u32)]) {
        let mut journal = Journal::open(folder, false).unwrap();
        for (key, number) in records {
            journal.keep(key, Number(*number)).unwrap();
        }
    }

    fn text(folder: &Path) -> Vec<u8> {
        std::fs::read(folder.join(file::NAME)).unwrap()
    }

    #[test]
    fn folders_come_together_in_the_order_of_keys() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = |name: &str| temporary.path().join(name);
        keep(&folder("a"), &[("d", 4), ("b", 1), ("b", 2), ("x", 1)]);
        keep(&folder("b"), &[("c", 3), ("a", 2), ("d", 4)]);
        keep(&folder("c"), &[("c", 6), ("x", 3)]);
        // As if the power had failed.
        let torn = [&text(&folder("b"))[..], b"{\"schema\":1,"].concat();
        std::fs::write(folder("b").join(file::NAME), &torn).unwrap();
        keep(&folder("one"), &[("a", 2), ("b", 2), ("c", 6), ("d", 4), ("x", 1)]);
        let names = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]];
        for (number, names) in names.into_iter().enumerate() {
            let output = folder(&format!("output-{number}"));
            let merged = merge::<Number>(&names.map(folder), &output).unwrap();
            assert_eq!(merged, Merged { runs: 4, new: 4 });
            assert_eq!(text(&output), text(&folder("one")), "in any order");
            // Again, and with itself among them, nothing is new.
            let all = [names[0], names[1], &format!("output-{number}")].map(folder);
            assert_eq!(merge::<Number>(&all, &output).unwrap(), Merged { runs: 4, new: 0 });
            assert_eq!(text(&output), text(&folder("one")));
        }
        assert_eq!(text(&folder("b")), torn, "what is read stays as it is");
    }

    #[test]
    fn different_records_are_refused_and_nothing_is_written() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = |name: &str| temporary.path().join(name);
        keep(&folder("a"), &[("k", 2)]);
        keep(&folder("b"), &[("k", 4)]);
        let refused = |names: &[&str], output: &str| {
            let folders: Vec<PathBuf> = names.iter().map(|name| folder(name)).collect();
            merge::<Number>(&folders, &folder(output)).unwrap_err().to_string()
        };
        let files = format!(
            "{} and {} have different records for the key k; ",
            folder("a").join(file::NAME).display(),
            folder("b").join(file::NAME).display()
        );
        assert!(refused(&["a", "b"], "output").starts_with(&files));
        assert!(!folder("output").exists());
        let before = text(&folder("a"));
        assert!(refused(&["b"], "a").starts_with(&files));
        assert_eq!(text(&folder("a")), before);
        assert!(refused(&["a", "none"], "output").contains("none has no runs.jsonl"));
        std::fs::write(folder("b").join(file::NAME), "{}\n").unwrap();
        let damaged = refused(&["a", "b"], "output");
        assert!(damaged.contains("line 1 is no result of a test"), "{damaged}");
        assert!(damaged.contains("leave the folder out"), "{damaged}");
        assert!(!folder("output").exists());
    }

    #[test]
    fn of_measurements_the_first_stays() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = |name: &str| temporary.path().join(name);
        keep(&folder("a"), &[("k", 1_000)]);
        keep(&folder("b"), &[("k", 1_002)]);
        merge::<Number>(&["a", "b"].map(folder), &folder("output")).unwrap();
        assert_eq!(text(&folder("output")), text(&folder("a")));
        merge::<Number>(&["a"].map(folder), &folder("b")).unwrap();
        assert_ne!(text(&folder("b")), text(&folder("a")));
    }

    #[test]
    fn what_is_being_written_is_not_merged() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = |name: &str| temporary.path().join(name);
        keep(&folder("a"), &[("k", 2)]);
        let _writer = Journal::<Number>::open(&folder("b"), false).unwrap();
        for (from, to) in [("b", "a"), ("a", "b")] {
            let error = merge::<Number>(&[folder(from)], &folder(to)).unwrap_err().to_string();
            assert!(error.contains("being written by another ioda"), "{error}");
        }
    }
}
