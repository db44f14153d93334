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

/// What is typed for a trace of DiskSim's relatives, whose columns do not say the unit of their
/// times.
fn typed(trace: &Path) -> &'static [&'static str] {
    match trace.file_name().unwrap().to_str().unwrap() {
        "tpcc-small.trace.zst" => &["--format", "mqsim"],
        "MSN-FS-30s-ms.ssdsim.txt.zst" => &["--format", "disksim"],
        "DTRS1K.trace.zst" => &["--time-unit", "us"],
        _ => &[],
    }
}

#[test]
fn every_trace_is_inspected() {
    for trace in traces() {
        let inspect = ["trace", "inspect", trace.to_str().unwrap(), "--json"];
        let ran = ioda(&[&inspect[..], typed(&trace)].concat());
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
                ][..],
                typed(&trace),
            ]
            .concat(),
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
        let mut arguments = vec![command, "-", "--policy", "base", "--json"];
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

#[test]
fn logs_of_jobs_are_merged_into_a_trace_that_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let job = |number: u64| {
        let name = format!("job.{number}.log");
        let mut text = String::from("fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n");
        for index in 0..40 {
            let (at, offset) = (index * 1_000 + number * 300, (index * 3 + number) * 4_096);
            text.push_str(&format!("{at} /dev/sdb read {offset} 4096\n"));
        }
        std::fs::write(folder.path().join(&name), text).unwrap();
        name
    };
    let (a, b, c) = (job(0), job(1), job(2));
    let ioda = |arguments: &[&str]| crate::common::ioda_in(folder.path(), arguments);
    let merge = ["-q", "trace", "merge", &a, &b, &c, "--out", "all.csv"];
    let ran = ioda(&merge);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.stdout,
        "all.csv: 120 requests of 3 traces and 3 devices\n  no times are dates, so all are taken to \
         count from the same moment; if each trace counts from its own, --align start lets all begin at \
         the same time\n  job.0.log: fio-iolog-v3, 40 requests from 0ns on, devices 0 (/dev/sdb)\n  \
         job.1.log: fio-iolog-v3, 40 requests from 300us on, devices 1 (/dev/sdb)\n  \
         job.2.log: fio-iolog-v3, 40 requests from 600us on, devices 2 (/dev/sdb)\n"
    );
    let document = ioda(&["trace", "inspect", "all.csv", "--json"]).json();
    assert_eq!((&document["requests"], &document["devices"]), (&120.into(), &3.into()));
    assert_eq!(document["reordered"], 0);
    let ran = ioda(&[&merge[..], &["--same-devices", "--align", "start"]].concat());
    assert!(
        ran.stdout.contains("and 1 devices\n  the first requests of all come at the same time")
    );
    assert!(
        ran.stdout
            .contains("job.2.log: fio-iolog-v3, 40 requests from 0ns on, devices 0 (/dev/sdb)")
    );

    // All in one file is refused, with this advice.
    let all: String = [&a, &b, &c]
        .map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap())
        .concat();
    std::fs::write(folder.path().join("one.log"), all).unwrap();
    let ran = ioda(&["trace", "inspect", "one.log"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(
        ran.stderr.contains("one.log, line 44: the header of another log begins here"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("`ioda trace merge`"), "{}", ran.stderr);

    let refused = |arguments: &[&str], code: i32, sentence: &str| {
        let ran = ioda(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    };
    let to = "all.csv would overwrite the trace that it is made from";
    refused(&["trace", "merge", &a, "all.csv", "--out", "all.csv"], 2, to);
    refused(&["trace", "merge", &a, &a, "--out", "x.csv"], 2, "job.0.log is named twice");
    refused(
        &["trace", "merge", &a, &b, "--out", "x.csv", "--rerate", "2"],
        2,
        "--rerate changes requests",
    );
    let dated = "timestamp,op,offset_bytes,size_bytes\n1700000000.25,R,8192,4096\n";
    std::fs::write(folder.path().join("dated.csv"), dated).unwrap();
    let refusal =
        "dated.csv: its times are dates, where of job.0.log its times count from a moment";
    refused(&["trace", "merge", &a, "dated.csv", "--out", "x.csv"], 3, refusal);
    assert!(!folder.path().join("x.csv").exists());
}

#[test]
fn impossible_requests_are_refused_and_can_be_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..50)
        .map(|index| format!("{},R,{},4096,{index}\n", index * 500, index * 4_096))
        .collect();
    let text = format!("time_us,op,offset_bytes,size_bytes,device\n{text}");
    std::fs::write(folder.path().join("odd.csv"), text).unwrap();
    let ioda = |arguments: &[&str]| crate::common::ioda_in(folder.path(), arguments);
    let ran = ioda(&["trace", "inspect", "odd.csv"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains("its 50 requests are for 50 devices"), "{}", ran.stderr);
    let ran = ioda(&["trace", "inspect", "odd.csv", "--allow-odd", "--json"]);
    assert_eq!(ran.json()["devices"], 50);
}

#[test]
fn durable_writes_and_flushes_are_said_by_inspection_and_by_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut text = String::from("t_us,op,offset_bytes,size_bytes\n");
    for number in 0..200 {
        let word = ["R", "W", "WF", "F"][number % 4];
        let size = if word == "F" { 0 } else { 4096 };
        text.push_str(&format!("{},{word},{},{size}\n", number * 100, number * 4096));
    }
    std::fs::write(&path, text).unwrap();
    let trace = path.to_str().unwrap();
    let inspected = ioda(&["trace", "inspect", trace]);
    let said = "50 writes ask for stable storage (FUA, or a flush ahead)";
    assert!(inspected.stdout.contains(&format!("; {said}")), "{}", inspected.stdout);
    let document = ioda(&["trace", "inspect", trace, "--json"]).json();
    assert_eq!([&document["durable"], &document["skipped"]["flush"]], [50, 50]);
    let ran = tiny("run", &[trace, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let notes = ran.json()["manifest"]["notes"].to_string();
    let note = format!(
        "of the trace, {said} and 50 lines are flushes; the simulation has no such promise"
    );
    assert!(notes.contains(&note), "{notes}");
}
