//! House rules that a compiler does not check.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file, in lines, tests included. A file that nears it has two subjects.
const FILE_LINES_MAX: usize = 800;

/// Which rooms each room may name.
const MAY_NAME: [(&str, &[&str]); 11] = [
    ("units", &[]),
    ("nvme", &["units"]),
    ("ssd", &["units", "nvme"]),
    ("array", &["units", "nvme"]),
    ("engine", &["units", "nvme", "ssd", "array"]),
    ("workload", &["units"]),
    ("sim", &["units", "nvme", "ssd", "array", "engine", "workload"]),
    ("live", &["units", "nvme", "ssd", "array", "engine"]),
    ("report", &["units"]),
    ("ioda", &["units", "nvme", "ssd", "array", "workload", "engine", "sim", "live", "report"]),
    ("testing", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&crates(), &mut found);
    assert!(found.len() > 50, "looked in the wrong place");
    found
}

#[test]
fn dependencies_point_down() {
    let rooms: BTreeMap<&str, &[&str]> = MAY_NAME.into_iter().collect();
    for entry in fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(rooms.contains_key(name.as_str()), "room {name} is not in ARCHITECTURE.md's map");
    }
    for (room, allowed) in &rooms {
        let manifest = fs::read_to_string(crates().join(room).join("Cargo.toml")).unwrap();
        // Up to the tests, which may use what they like.
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        for other in rooms.keys().filter(|other| *other != room) {
            let named = dependencies.lines().any(|line| {
                line.starts_with(&format!("{other}.workspace"))
                    || line.starts_with(&format!("{other} ="))
            });
            assert!(!named || allowed.contains(other), "{room} may not depend on {other}");
        }
    }
}

#[test]
fn files_have_one_subject() {
    for path in all_sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_source_file_says_what_it_is() {
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} has no opening sentence", path.display());
    }
}

#[test]
fn nothing_is_left_for_later() {
    // Spelled in parts, or this file would find itself.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["todo", "!("].concat()];
    for path in all_sources() {
        let text = fs::read_to_string(&path).unwrap();
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{} says {mark}", path.display());
        }
    }
}
