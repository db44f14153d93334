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

/// A hundred requests, one every second, and one that comes forty years later.
fn years_later(folder: &Path) -> String {
    let path = folder.join("years.csv");
    let mut text = String::from("t_us,op,offset_bytes,size_bytes\n");
    for second in 0..100_u64 {
        let (at, offset) = (second * 1_000_000, second * 4096);
        text.push_str(&format!("{at},{},{offset},4096\n", if second % 2 == 0 { "R" } else { "W" }));
    }
    text.push_str("1262304000000000,R,0,4096\n");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_request_years_after_the_others_is_reported_and_its_gap_can_be_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = years_later(folder.path());
    let trace = path.as_str();
    let doubt = "request 101 (line 102) comes 40.0 years after the one before it, 100.0 % of the span of \
                 40.0 years; if its time is wrong, close such gaps (--close-gaps 60s)";
    let inspected = ioda(&["trace", "inspect", trace]);
    assert!(inspected.stdout.contains(doubt), "{}", inspected.stdout);
    let gaps = &ioda(&["trace", "inspect", trace, "--json"]).json()["gaps"];
    assert_eq!(gaps["longest"]["line"], 102);
    assert_eq!(gaps["longest"]["doubtful"], true);
    assert_eq!(gaps["closed"], 0);

    let closed = ["trace", "inspect", trace, "--close-gaps", "60s"];
    let inspected = ioda(&closed);
    assert!(inspected.stdout.contains("closed to 60.0s: 1"), "{}", inspected.stdout);
    let document = ioda(&[&closed[..], &["--json"]].concat()).json();
    assert_eq!(document["span_seconds"], 159.0);
    assert_eq!(document["gaps"]["closed"], 1);
    assert_eq!(document["gaps"]["closed_to_seconds"], 60.0);
    assert_eq!(document["gaps"]["longest"]["line"], 102);

    // A replay would wait for it.
    let ran = tiny("run", &[trace]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
    let refusal = "years.csv: request 101 (line 102) comes 40.0 years after the one before it, 100.0 % of the \
                   span of 40.0 years; if its time is wrong, close such gaps with --close-gaps 60s, or keep \
                   them with --close-gaps 350640h\n";
    assert!(ran.stderr.ends_with(refusal), "{}", ran.stderr);
    let kept = ["trace", "inspect", trace, "--close-gaps", "350640h", "--json"];
    assert_eq!(ioda(&kept).json()["gaps"]["closed"], 0);

    let ran = tiny("run", &[trace, "--close-gaps", "60s", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let notes = ran.json()["manifest"]["notes"].to_string();
    assert!(notes.contains("closed to 60.0s: 1, which takes 40.0 years out"), "{notes}");
}
