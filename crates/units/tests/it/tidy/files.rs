//! Rules for every source file.

use super::all_sources;
use std::fs;

/// Maximum length of a source file in lines, tests included. A file near the limit has two
/// subjects.
const FILE_LINES_MAX: usize = 800;

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
