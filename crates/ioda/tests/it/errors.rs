//! Bad input: one clear sentence, the documented exit code, never a panic.

use crate::common::{ioda, tiny};
use std::fmt::Write;

/// Usage, data: the exit codes of bad input.
const USAGE: i32 = 2;
const DATA: i32 = 3;

#[test]
fn bad_usage_is_refused_with_a_sentence() {
    let cases: [&[&str]; 96] = [
        &["compare", "--config", "unknown-key.toml"],
        &["compare", "--config", "no-such.toml"],
        &["compare", "--config", "no-channels.toml"],
        &["compare", "--config", "no-room.toml"],
        &["compare", "--chunk", "4q"],
        &["compare", "--chunk", "6k"],
        &["compare", "--drive", "sim", "--chunk", "4k"],
        &["compare", "--drives", "2"],
        &["compare", "--drives", "65"],
        &["compare", "--raid", "2"],
        &["compare", "--raid", "10", "--drives", "5"],
        &["compare", "--stripe-width", "5"],
        &["compare", "--raid", "0", "--policy", "ioda"],
        &["run", "--raid", "6", "--drives", "3"],
        &["compare", "--tw", "0ms"],
        &["compare", "--tw", "1ns"],
        &["compare", "--tw-changes", "1s=1ns"],
        &["compare", "--coordinate", "adaptive", "--adapt-every", "1ns"],
        &["compare", "--coordinate", "token", "--lease", "1ns"],
        &["serve", "--drive-lease", "1ns", "--storage", "nvme+tcp://127.0.0.1:1/nqn.a"],
        &["serve", "--drive-lease", "500h", "--storage", "nvme+tcp://127.0.0.1:1/nqn.a"],
        &["run", "--raid=-1"],
        &["run", "--write-buffer", "1000000000000000000"],
        &["run", "--config", "hostile.toml"],
        &["run", "--threads", "9223372036854775807"],
        &["run", "--threads", "\u{1b}[31m\u{9b}5m"],
        &["compare", "tpc"],
        &["compare", "--drive", "fema"],
        &["compare", "--policy", "base,iodb"],
        &["compare", "--over-provisioning", "120%"],
        &["compare", "--blocks-per-plane", "3"],
        &["compare", "--precondition", "old"],
        &["run", "synthetic", "--rw", "randread", "--precondition", "load"],
        &["serve", "--precondition", "load"],
        &["drive", "--precondition", "load"],
        &["compare", "tpcc", "--bs", "4k"],
        &["compare", "tpcc", "--format", "msr"],
        &["compare", "tpcc", "--close-gaps", "60s"],
        &["compare", "tpcc", "--burst", "0.5"],
        &["compare", "tpcc", "--burst-gap", "3"],
        &["compare", "tpcc", "--hot-drive", "50%", "--drives", "1"],
        &["compare", "backwards.csv", "--hot-drive", "50%"],
        &["compare", "synthetic", "--burst", "4"],
        &["compare", "--ages", "5"],
        &["compare", "--policy", "base", "--other-drive", "sim"],
        &["compare", "--policy", "base", "--other-drive", "4:femu-artifact"],
        &["compare", "--policy", "base", "--other-drive", "1:fema"],
        &["compare", "--policy", "base", "--other-drive", "1:sim"],
        &["compare", "--policy", "ioda", "--other-drive", "1:femu-artifact"],
        &["serve", "--plain", "--policy", "base", "--other-drive", "1:femu-artifact"],
        &["trace", "inspect", "backwards.csv", "--close-gaps", "0s"],
        &["compare", "tpcc", "--rerate", "0"],
        &["compare", "tpcc", "--rerate", "20dwp"],
        &["compare", "tpcc", "--phases", "20dwpd:1s"],
        &["compare", "synthetic", "--rate_iops", "20dwpd"],
        &["compare", "synthetic", "--phases", "20dwpd"],
        &["compare", "synthetic", "--phases", "20:1s", "--rate_iops", "burst", "--rw", "write"],
        &["compare", "synthetic", "--phases", "20:1s", "--iodepth", "4"],
        &["compare", "synthetic", "--rw", "sideways"],
        &["compare", "synthetic", "--size", "1t"],
        &["compare", "--assert", "read.p99<500"],
        &["compare", "--json", "--fio-json", "-"],
        &["run", "--policy", "base,ioda"],
        &["run", "--policy", "rails", "--stage-capacity", "1k"],
        &["run", "--policy", "rails", "--drain-depth", "0"],
        &["run", "--policy", "plm", "--raid", "5"],
        &["run", "--policy", "plm-light", "--plm-smoothing", "150%"],
        &["run", "--policy", "plm-light", "--plm-longest-drain", "1us"],
        &["run", "--policy", "plm-light", "--plm-rule", "fair"],
        &["run", "synthetic", "--numjobs", "3"],
        &["run", "synthetic", "--bsrange", "4k"],
        &["reproduce", "5c"],
        &["survey", "--policy", "base,iodb"],
        &["survey", "--workload", "tpcc,asure"],
        &["survey", "--seeds", "0"],
        &["survey", "--requests", "0"],
        &["survey", "--threads", "0"],
        &["survey", "--config", "workload.toml"],
        &["serve", "--address", "nvme+tcp://127.0.0.1:many"],
        &["serve", "--address", "nvme+tcp://0.0.0.0:4420"],
        &["serve", "--address", "nvme+tcp://127.0.0.1/nqn.a:1", "--nqn", "nqn.a:2"],
        &["serve", "--address", "nvme+tcp://127.0.0.1", "--host", "me"],
        &["serve", "--any-host"],
        &["serve", "--plm-coordinator", "remote"],
        &["serve", "--plm-coordinator", "far"],
        &["plmlc", "nvme-tcp://127.0.0.1/nqn.a"],
        &["torture", "--level", "raid0"],
        &["torture", "--threads", "0"],
        &["torture", "--story"],
        &["torture", "--seed", "3", "--level", "raid5", "--level", "raid6"],
        &["torture", "--script", "raid5:write,fall:mixed:3"],
        &["torture", "--seed", "3", "--sweep"],
        &["torture", "--for", "1h", "--time", "1h"],
        &["torture", "--for", "5"],
        &["torture", "--state", "counts.json", "--sweep"],
        &["comapre"],
    ];
    let mut text = String::new();
    for arguments in cases {
        let ran = ioda(arguments);
        assert_eq!(ran.code, USAGE, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        let obeyed = |letter: char| letter.is_control() && letter != '\n';
        assert!(!ran.stderr.contains(obeyed), "{arguments:?}: {:?}", ran.stderr);
        let arguments = arguments.join(" ");
        writeln!(text, "$ ioda {}\n{}", arguments.escape_debug(), ran.stderr).unwrap();
    }
    insta::assert_snapshot!("usage", text);
}

#[test]
fn bad_traces_are_refused_with_a_sentence() {
    let cases: [&[&str]; 8] = [
        &["beyond.csv", "--fit", "refuse"],
        &["zero-length.csv"],
        &["backwards.csv", "--reorder-window", "0"],
        &["short-line.csv"],
        &["truncated.csv.gz"],
        &["/no/such/trace.csv"],
        &["tiny.toml"],
        &["beyond.csv", "--columns", "time=9,op=1,offset=2,size=3"],
    ];
    let mut text = String::new();
    for arguments in cases {
        let ran = tiny("run", arguments);
        assert_eq!(ran.code, DATA, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        writeln!(text, "$ ioda run {}\n{}", arguments.join(" "), ran.stderr).unwrap();
    }
    insta::assert_snapshot!("data", text);
}

#[test]
fn what_was_refused_can_be_allowed() {
    for arguments in [
        &["beyond.csv", "--fit", "wrap"][..],
        &["zero-length.csv", "--skip-zero-length"],
        &["backwards.csv", "--reorder-window", "0", "--clamp-time"],
        &["backwards.csv"],
    ] {
        let ran = tiny("run", arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("requests replayed"), "{}", ran.stdout);
    }
}
