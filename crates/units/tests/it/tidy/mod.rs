//! House rules that a compiler does not check, over the sources of all crates.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod circles;
mod dependencies;
mod fields;
mod files;
mod impls;
mod journeys;
mod offenders;
mod types;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that own state with rules of its own. A reader must see at once which fields belong
/// together and which code may change them.
const MACHINES: [&str; 4] = ["array", "ssd", "engine", "live"];

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
