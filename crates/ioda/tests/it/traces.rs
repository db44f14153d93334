//! Every real trace at hand is read, described, converted and replayed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panic and say why they skip"
)]

use crate::common::{ioda, tiny};
use std::path::{Path, PathBuf};

/// The traces, or none where there are none.
fn traces() -> Vec<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("IODA_TRACES").map_or_else(beside, PathBuf::from);
    let mut traces = Vec::new();
    for part in ["norm", "raw"] {
        let entries = std::fs::read_dir(folder.join(part)).into_iter().flatten();
        traces.extend(entries.map(|entry| entry.unwrap().path()));
    }
    traces.sort();
    if traces.is_empty() {
        println!("skipped: no traces in {}; set IODA_TRACES", folder.display());
    }
    traces
}

#[test]
fn every_trace_is_inspected() {
    for trace in traces() {
        let ran = ioda(&["trace", "inspect", trace.to_str().unwrap(), "--json"]);
        assert_eq!(ran.code, 0, "{}: {}", trace.display(), ran.stderr);
        let document = ran.json();
        assert!(document["requests"].as_u64().unwrap() > 100, "{}", trace.display());
        assert!(!document["evidence"].as_array().unwrap().is_empty());
    }
}

#[test]
fn every_trace_replays_on_an_array_that_collects() {
    for trace in traces() {
        let name = trace.display();
        let ran = tiny(
            "run",
            &[
                trace.to_str().unwrap(),
                "--requests",
                "20000",
                "--rerate",
                "auto",
                "--resize-read",
                "0.25",
                "--resize-write",
                "0.25",
                "--json",
                "-",
            ],
        );
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let document = ran.json();
        let replayed = document["manifest"]["replayed"].as_str().unwrap();
        assert!(replayed.contains("requests replayed"), "{name}: {replayed}");
        let run = &document["runs"][0];
        let collections = run["collections"].as_u64().unwrap();
        println!("{name}: {replayed}; {collections} collections");
        assert!(collections > 0, "{name} does not collect");
    }
}

#[test]
fn a_converted_trace_says_the_same() {
    let Some(trace) = traces().into_iter().next() else { return };
    let folder = tempfile::tempdir().unwrap();
    let summary = |path: &str| {
        let document = ioda(&["trace", "inspect", path, "--json"]).json();
        ["requests", "reads", "read_bytes", "written_bytes", "footprint_bytes"]
            .map(|key| document[key].as_u64().unwrap())
    };
    let before = summary(trace.to_str().unwrap());
    for format in ["csv", "fio", "msr"] {
        let out = folder.path().join(format);
        let out = out.to_str().unwrap();
        let ran = ioda(&["trace", "convert", trace.to_str().unwrap(), out, "--to", format]);
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        assert_eq!(summary(out), before, "{format}");
    }
}
