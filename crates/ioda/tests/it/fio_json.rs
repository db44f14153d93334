//! What `--fio-json` writes, read by the tool that fio brings for its own.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{self, ioda_in};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testing::tools;

const TOOL: &str = "fio_jsonplus_clat2csv";

/// A run of three thousand requests in `folder`, as fio's JSON.
fn written(folder: &Path) -> Value {
    let config = common::data().join("tiny.toml");
    let words = "run synthetic --rw randrw --rwmixread 70 --bs 4k,8k --size 16m --rate_iops 2000 --number_ios 3000 \
                 --policy base --fio-json f.json";
    let mut all = vec!["-q"];
    all.extend(words.split_whitespace());
    all.extend(["--config", config.to_str().unwrap()]);
    let ran = ioda_in(folder, &all);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_slice(&std::fs::read(folder.join("f.json")).unwrap()).unwrap()
}

/// The sums of the columns of a CSV whose names end with `_count`.
fn counts(csv: &str) -> Vec<(String, u64)> {
    let mut rows = csv.lines().map(|row| row.split(',').map(str::trim).collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let rows: Vec<Vec<&str>> = rows.collect();
    let columns = header.iter().enumerate().filter(|(_, name)| name.ends_with("_count"));
    let sum =
        |place: usize| rows.iter().filter_map(|row| row.get(place)?.parse::<u64>().ok()).sum();
    columns.map(|(place, name)| ((*name).to_owned(), sum(place))).collect()
}

#[test]
fn fios_own_tool_finds_every_request() {
    if !tools::have("fio's json+", &[TOOL]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let document = written(folder.path());
    let tool = |more: &[&str]| {
        let mut command = Command::new(TOOL);
        let output =
            command.args(["f.json", "f.csv"]).args(more).current_dir(folder.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    tool(&[]);
    assert_eq!(tool(&["--validate"]), "f_job0.csv validated\n");
    let csv = std::fs::read_to_string(folder.path().join("f_job0.csv")).unwrap();
    let job = &document["jobs"][0];
    let of = |way: &str| job[way]["total_ios"].as_u64().unwrap();
    assert_eq!(of("read") + of("write"), 3000);
    for (name, count) in counts(&csv) {
        let expected = match name.as_str() {
            "read_clat_ns_count" | "read_lat_ns_count" => of("read"),
            "write_clat_ns_count" | "write_lat_ns_count" => of("write"),
            _ => 0,
        };
        assert_eq!(count, expected, "{name}");
    }
}

/// Paths of all keys of objects, without names of bins and percentiles.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let path = format!("{path}/{key}");
        if !["bins", "percentile", "job options"].contains(&key.as_str()) {
            paths(value, &path, found);
        }
        found.push(path);
    }
}

/// Keys of fio that describe the machine it runs on, or the depths that it sampled.
const LEFT_OUT: [&str; 7] = [
    "/iodepth_level",
    "/iodepth_submit",
    "/iodepth_complete",
    "/latency_depth",
    "/latency_target",
    "/latency_percentile",
    "/latency_window",
];

#[test]
fn a_job_has_the_keys_of_fios_own() {
    if !tools::have("the keys of fio's json+", &["fio"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let job = &written(folder.path())["jobs"][0];
    let fio = "--name=j --ioengine=null --rw=randrw --bs=4k --size=1m --output-format=json+ --lat_percentiles=1";
    let output = Command::new("fio")
        .args(fio.split_whitespace())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let fios: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    paths(&fios["jobs"][0], "", &mut wanted);
    paths(job, "", &mut found);
    wanted.retain(|path| !LEFT_OUT.iter().any(|left_out| path.starts_with(left_out)));
    let missing: Vec<&String> = wanted.iter().filter(|path| !found.contains(path)).collect();
    assert!(wanted.len() > 100 && missing.is_empty(), "{missing:?} of {}", wanted.len());
    let options = &job["job options"];
    for (option, value) in [
        ("rw", "randrw"),
        ("rwmixread", "70"),
        ("bs", "4k,8k"),
        ("rate_iops", "2000"),
        ("size", "16m"),
    ] {
        assert_eq!(options[option], value, "{option}");
    }
}
