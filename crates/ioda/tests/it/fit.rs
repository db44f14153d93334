//! `ioda fit`: its script, its curves, and measurements that it refuses.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::ioda_in;
use std::process::Command;

const LOADS: [&str; 2] = ["--loads", "2000,20000,120000"];

#[test]
fn the_script_wants_the_device_twice() {
    let folder = tempfile::tempdir().unwrap();
    let ran = ioda_in(folder.path(), &["fit", "--script", LOADS[0], LOADS[1]]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    std::fs::write(folder.path().join("measure.sh"), &ran.stdout).unwrap();
    for devices in [&["/dev/null"][..], &["/dev/null", "/dev/zero"], &["/dev/null", "/dev/null"]] {
        let mut shell = Command::new("sh");
        let output =
            shell.current_dir(folder.path()).arg("measure.sh").args(devices).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{devices:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let same = devices.len() == 2 && devices[0] == devices[1];
        let why = if same { "is no block device" } else { "type its device twice" };
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was written");
}

#[test]
fn a_curve_is_a_file_for_a_fit() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = "[drive.data_sheet]\ncapacity = \"120GB\"\nsequential_read = \"3GB/s\"\n\
                 sequential_write = \"1200MB/s\"\nrandom_read = 400_000\nrandom_write = 50_000\n";
    std::fs::write(folder.path().join("small.toml"), sheet).unwrap();
    let curve = ["fit", "--curve", "small.toml", "--seconds", "1", LOADS[0], LOADS[1]];
    let ran = ioda_in(folder.path(), &curve);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.stdout);
    std::fs::write(folder.path().join("curve.csv"), &ran.stdout).unwrap();
    let held = ioda_in(folder.path(), &["fit", "curve.csv", "--hold-out", "3000"]);
    assert_eq!(held.code, 2, "{}", held.stderr);
    assert!(held.stderr.contains("it has 2000, 20000, 120000"), "{}", held.stderr);
    let few = ioda_in(folder.path(), &["fit", "curve.csv", "--hold-out", "2000"]);
    assert_eq!(few.code, 3, "{}", few.stderr);
    assert!(few.stderr.contains("has 2 loads; a fit needs at least 3"), "{}", few.stderr);
    let other = ioda_in(folder.path(), &["fit", "curve.csv", "--like", "femu"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("start from a drive of today"), "{}", other.stderr);
    let none = ioda_in(folder.path(), &["fit", "pm9a3"]);
    assert!(none.stderr.contains("published are pm9a3-960, 7450-960"), "{}", none.stderr);
}
