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

/// A trace of biosnoop, in bytes that are not all UTF-8.
const SNOOP: &[u8] = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)
0.000000    M\xfcller one     422     vda       W 4565264    331776    5.11
0.001293    kworker/u16:4  2784813 vda       R 113638304  8192      5.49
";

/// Runs `ioda` with `bytes` as its standard input, which is a pipe.
fn piped(arguments: &[&str], bytes: &[u8]) -> (i32, String, String) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_ioda"))
        .args(arguments)
        .current_dir(crate::common::data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // A command that refuses what it reads closes the pipe.
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn standard_input_is_a_trace_wherever_one_is_taken() {
    for name in ["-", "/dev/stdin"] {
        let (code, stdout, stderr) = piped(&["trace", "inspect", name, "--json"], SNOOP);
        assert_eq!(code, 0, "{stderr}");
        let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(document["requests"], 2);
        assert_eq!(document["bytes"], SNOOP.len());
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    let convert = ["trace", "convert", "-", out.to_str().unwrap(), "--to", "csv"];
    assert_eq!(piped(&convert, SNOOP).0, 0);
    let converted = std::fs::read_to_string(&out).unwrap();
    assert!(converted.ends_with("\n0.000,W,2337415168,331776,0\n1293.000,R,58182811648,8192,0\n"));
    let (code, stdout, stderr) =
        piped(&["explain", "-", "--worst", "1", "--config", "tiny.toml"], SNOOP);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("187 µs"), "{stdout}");
    for command in ["run", "compare"] {
        let mut arguments = vec![command, "-", "--policy", "base", "--json", "-"];
        arguments.extend(crate::common::TINY);
        let (code, stdout, stderr) = piped(&arguments, SNOOP);
        assert_eq!(code, 0, "{stderr}");
        let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let from_file = std::fs::write(folder.path().join("snoop"), SNOOP)
            .map(|()| folder.path().join("snoop"))
            .unwrap();
        arguments[1] = from_file.to_str().unwrap();
        let expected = ioda(&arguments).json();
        // What is read is the same bytes, so what is run is the same run.
        let result = |document: &serde_json::Value| document["runs"][0]["result_hash"].clone();
        assert!(result(&document).is_string());
        assert_eq!(result(&document), result(&expected));
        let hash = |document: &serde_json::Value| document["manifest"]["workload_hash"].clone();
        assert_eq!(hash(&document), hash(&expected));
    }
}

#[test]
fn a_pipe_is_read_once_by_all_points_of_a_sweep() {
    let sweep = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().display().to_string();
        let vary = ["--vary", "load=0.002,0.004", "--policy", "base,ioda", "--config", "tiny.toml"];
        let arguments = [&["sweep", "-", "--output", output.as_str()][..], &vary].concat();
        let (code, _, stderr) = piped(&arguments, text.as_bytes());
        let document = std::fs::read_to_string(folder.path().join("sweep.json"));
        (code, stderr, document.map(|text| serde_json::from_str(&text).unwrap()))
    };
    let header = "t_us,op,offset_bytes,size_bytes\n";
    let rows: String =
        (0..2_000).map(|n| format!("{},W,{},4096\n", n * 1_000, n % 500 * 4096)).collect();
    let (code, stderr, document) = sweep(&format!("{header}{rows}"));
    assert_eq!(code, 0, "{stderr}");
    let document: serde_json::Value = document.unwrap();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert!(run["outcome"]["measured"]["result_hash"].is_string(), "{run}");
    }
    let (code, stderr, _) = sweep(&format!("{header}0,R,zero,512\n"));
    assert_ne!(code, 0);
    // Each point asks for the trace, which cannot be read again: the first answer stands for all.
    assert!(stderr.contains("line 2: the offset \"zero\" is not a whole number"), "{stderr}");
    assert!(!stderr.contains("the file is empty"), "{stderr}");
}
