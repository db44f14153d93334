//! `--requests-out`: the file is read back and must be what the run was.

#![allow(clippy::unwrap_used, reason = "a test fails where a file lacks something")]

use crate::common::{data, ioda_in, tiny};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The fields of a row by name.
fn fields(row: &Row) -> BTreeMap<&str, &Field> {
    row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect()
}

fn number(row: &BTreeMap<&str, &Field>, name: &str) -> i64 {
    match row[name] {
        Field::Long(value) => *value,
        Field::ULong(value) => value.cast_signed(),
        other => panic!("{name} is {other:?}"),
    }
}

/// What the rows of a policy come to.
#[derive(Default)]
struct Sums {
    reads: u64,
    writes: u64,
    busy: u64,
    last_completed: i64,
}

fn check(path: &Path, report: &Value) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut sums = BTreeMap::<String, Sums>::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let row = fields(&row);
        let (Field::Str(policy), Field::Str(op)) = (row["policy"], row["op"]) else {
            panic!("{row:?}")
        };
        let names: Vec<&str> = row.keys().copied().collect();
        let parts = names.into_iter().filter(|name| name.ends_with("_ns"));
        let times = ["arrived_ns", "completed_ns", "latency_ns"];
        let parts: Vec<i64> =
            parts.filter(|name| !times.contains(name)).map(|name| number(&row, name)).collect();
        assert_eq!(parts.len(), 13);
        assert!(parts.iter().all(|part| *part >= 0), "{row:?}");
        let latency = number(&row, "latency_ns");
        assert_eq!(parts.iter().sum::<i64>(), latency, "{row:?}");
        let completed = number(&row, "completed_ns");
        assert_eq!(completed - number(&row, "arrived_ns"), latency);
        let sums = sums.entry(policy.clone()).or_default();
        assert!(completed >= sums.last_completed, "in the order of completion");
        sums.last_completed = completed;
        sums.busy += u64::from(number(&row, "busy_members") != 0);
        match op.as_str() {
            "read" => sums.reads += 1,
            "write" => sums.writes += 1,
            other => panic!("{other}"),
        }
    }
    let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let about = |key: &str| {
        about.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone()).unwrap()
    };
    assert_eq!(about("ioda.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(about("ioda.seed"), report["manifest"]["seed"].as_str().unwrap());
    let toml = report["manifest"]["configuration_toml"].as_str().unwrap();
    assert_eq!(about("ioda.configuration_toml"), toml);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(sums.len(), runs.len());
    for run in runs {
        let policy = run["policy"].as_str().unwrap();
        let sums = &sums[policy];
        assert_eq!(Value::from(sums.reads), run["read"]["count"], "{policy}");
        assert_eq!(Value::from(sums.writes), run["write"]["count"], "{policy}");
        assert!(policy == "ideal" || sums.busy > 0, "{policy}");
        let hash = about(&format!("ioda.result_hash.{policy}"));
        assert_eq!(hash, run["result_hash"].as_str().unwrap());
    }
}

#[test]
fn requests_are_written_as_they_were_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.parquet");
    let out = path.to_str().unwrap();
    for (command, asked) in [
        ("compare", &["dtrs", "--requests", "4000", "--policy", "base,ioda,ideal"][..]),
        // More than one row group, with faults.
        ("run", &["azure", "--requests", "70000", "--policy", "iod1", "--fail", "1@5s"]),
        (
            "run",
            &["synthetic", "--rw", "randrw", "--iodepth", "8", "--number_ios", "3000", "--verify"],
        ),
    ] {
        let plain = tiny(command, &[asked, &["--json"]].concat());
        assert_eq!(plain.code, 0, "{}", plain.stderr);
        let ran = tiny(command, &[asked, &["--json", "--requests-out", out]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let (plain, ran) = (plain.json(), ran.json());
        let hashes = |report: &Value| {
            let runs = report["runs"].as_array().unwrap().clone();
            runs.into_iter().map(|run| run["result_hash"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(hashes(&plain), hashes(&ran));
        check(&path, &ran);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_none_is_left() {
    let refused = tiny("run", &["--requests-out", "-"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("cannot go to standard output"), "{}", refused.stderr);
    let nowhere = tiny("run", &["--requests", "1000", "--requests-out", "/no/such/r.parquet"]);
    assert_eq!(nowhere.code, 4);
    assert!(nowhere.stderr.contains("cannot write /no/such/r.parquet"), "{}", nowhere.stderr);
    // A disk that is full at the end, and one that is full long before: that ends the run.
    for requests in ["1000", "100000000"] {
        let full = tiny("run", &["--requests", requests, "--requests-out", "/dev/full"]);
        assert_eq!(full.code, 4);
        assert!(full.stderr.contains("cannot write /dev/full: No space left"), "{}", full.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = data().join("backwards.csv");
    let trace = [trace.to_str().unwrap(), "--reorder-window", "0", "--requests-out", "r.parquet"];
    let ran = ioda_in(folder.path(), &[&["run"], &trace[..]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a part is no file");
}
