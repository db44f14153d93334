//! Sweeps from end to end on tiny drives: what is kept, what is found again, what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{Ran, ioda, kept};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A small workload under two policies.
const SMALL: [&str; 7] =
    ["dtrs", "--config", "tiny.toml", "--requests", "2000", "--policy", "base,ioda"];
const LOADS: [&str; 4] = ["--vary", "load=0.002,0.004", "--seeds", "2"];
/// Runs of two loads, two policies and two seeds.
const RUNS: usize = 2 * 2 * 2;

fn arguments<'a>(folder: &'a Path, extra: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["sweep", "--output", folder.to_str().unwrap()];
    all.extend(SMALL);
    all.extend(extra);
    all
}

fn sweep(folder: &Path, extra: &[&str]) -> Ran {
    ioda(&arguments(folder, extra))
}

fn document(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("sweep.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The result hash of every run that ended, by values, policy and seed.
fn hashes(document: &Value) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for run in document["runs"].as_array().unwrap() {
        let point = &document["points"][run["point"].as_u64().unwrap() as usize];
        let values =
            point["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap());
        let rest = ["policy", "seed"].map(|key| run[key].as_str().unwrap());
        let name = values.chain(rest).collect::<Vec<_>>().join(" ");
        if let Some(hash) = run["outcome"]["measured"]["result_hash"].as_str() {
            hashes.insert(name, hash.to_owned());
        }
    }
    hashes
}

#[test]
fn a_point_that_is_too_much_says_so_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        ioda(&[
            "sweep",
            "synthetic",
            "--output",
            folder.path().to_str().unwrap(),
            "--config",
            "tiny.toml",
            "--policy",
            "base",
            "--rw",
            "randwrite",
            "--size",
            "16m",
            "--rate_iops",
            "100000000",
            "--vary",
            "number_ios=1000,300000",
            "--metric",
            "waf",
        ])
    };
    let first = run();
    assert_eq!(first.code, 0, "{}", first.stderr);
    let row =
        |value: &str| first.stdout.lines().find(|line| line.trim().starts_with(value)).unwrap();
    assert!(row("300000").ends_with(" overloaded"), "{}", first.stdout);
    assert!(!row("1000").contains("overloaded"), "{}", first.stdout);
    let remark =
        "- overloaded: number_ios 300000 under Base: the array does not keep up: more than 250000";
    assert!(first.stdout.contains(remark), "{}", first.stdout);
    assert!(first.stdout.contains("waf: write amplification of the drives"), "{}", first.stdout);
    let again = run();
    assert!(
        again.stderr.starts_with("2 of 2 runs found"),
        "it is kept as a result: {}",
        again.stderr
    );
    assert_eq!(again.stdout, first.stdout);
}

#[test]
fn a_sweep_is_made_once_and_shows_any_metric() {
    let folder = tempfile::tempdir().unwrap();
    let first = sweep(folder.path(), &LOADS);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.starts_with(&format!("0 of {RUNS} runs found in ")), "{}", first.stderr);
    let made = document(folder.path());
    assert_eq!((&made["schema"], hashes(&made).len()), (&"ioda.sweep/1".into(), RUNS));
    assert_eq!(made["parameters"][0]["key"], "workload.rerate");
    for words in ["read.p99.9\n", "write.p99.9\n", "waf\n", "0.004", " to ", "IODA"] {
        assert!(first.stdout.contains(words), "no {words:?} in {}", first.stdout);
    }
    let page = std::fs::read_to_string(folder.path().join("sweep.html")).unwrap();
    assert!(page.contains("id=\"plot-2\"") && page.contains("read.p99.9 by load"));

    // Another metric, and one thread: nothing is run again.
    let other = ["--metric", "read.mean", "--metric", "busy1", "--threads", "1"];
    let second = sweep(folder.path(), &[&LOADS[..], &other].concat());
    assert!(
        second.stderr.starts_with(&format!("{RUNS} of {RUNS} runs found")),
        "{}",
        second.stderr
    );
    assert!(second.stdout.contains("read.mean\n") && second.stdout.contains("busy1\n"));
    assert!(!second.stdout.contains("waf"), "{}", second.stdout);
    assert_eq!(document(folder.path())["runs"], made["runs"]);

    // A run of a sweep is the run of `ioda run` with the same settings.
    let settings = ["--rerate", "0.004", "--seed", "2", "--policy", "ioda", "--quiet", "--json"];
    let alone = ioda(&[&["run"], &SMALL[..5], &settings].concat()).json();
    let run = &alone["runs"][0];
    assert_eq!(run["result_hash"], hashes(&made)["0.004 ioda 2"].as_str());
    let of_sweep = made["runs"].as_array().unwrap();
    let of_sweep =
        of_sweep.iter().find(|one| one["outcome"]["measured"]["result_hash"] == run["result_hash"]);
    let metrics = &of_sweep.unwrap()["outcome"]["measured"]["metrics"];
    assert_eq!(metrics["read.mean"], run["read"]["mean_us"]);
    assert_eq!(metrics["waf"], run["write_amplification_device"]);

    // A narrower sweep finds its runs, too; anew and on one thread they come out the same.
    let narrow = ["--vary", "load=0.004", "--seeds", "2"];
    let fewer = sweep(folder.path(), &narrow);
    assert!(fewer.stderr.starts_with("4 of 4 runs found"), "{}", fewer.stderr);
    let fresh = sweep(folder.path(), &[&narrow[..], &["--fresh", "--threads", "1"]].concat());
    assert!(fresh.stderr.starts_with("0 of 4 runs found"), "{}", fresh.stderr);
    for (name, hash) in hashes(&document(folder.path())) {
        assert_eq!(hashes(&made)[&name], hash, "{name}");
    }
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let whole = tempfile::tempdir().unwrap();
    assert_eq!(sweep(whole.path(), &LOADS).code, 0);
    let kept = kept::killed(&arguments(folder.path(), &LOADS), folder.path());
    let ran = sweep(folder.path(), &LOADS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with(&format!("{kept} of {RUNS} runs found")), "{}", ran.stderr);
    assert_eq!(hashes(&document(folder.path())), hashes(&document(whole.path())));
    assert_eq!(kept::bytes(folder.path()), kept::bytes(whole.path()));
}

/// Makes the sweep of [`LOADS`] in three shards below `folder`.
fn shards(folder: &Path) -> Vec<PathBuf> {
    let shard = |number: usize| {
        let output = folder.join(format!("shard-{number}"));
        let shard = format!("{number}/3");
        let ran = sweep(&output, &[&LOADS[..], &["--shard", &shard]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        let runs = [2, 3, 3][number - 1];
        assert!(ran.stderr.starts_with(&format!("0 of {runs} runs found")), "{}", ran.stderr);
        let says = format!("shard {shard} is {runs} of {RUNS} runs, kept in {}", output.display());
        assert!(ran.stderr.contains(&says), "{}", ran.stderr);
        assert!(ran.stderr.contains("ioda sweep merge FOLDER... --output FOLDER"));
        assert_eq!(std::fs::read_dir(&output).unwrap().count(), 1, "neither document nor page");
        output
    };
    (1..=3).map(shard).collect()
}

fn merge(folders: &[PathBuf], output: &Path) -> Ran {
    let mut all = vec!["sweep", "merge", "--output", output.to_str().unwrap()];
    all.extend(folders.iter().map(|folder| folder.to_str().unwrap()));
    ioda(&all)
}

#[test]
fn shards_that_are_merged_are_the_whole_sweep() {
    let temporary = tempfile::tempdir().unwrap();
    let [whole, merged] = ["whole", "merged"].map(|name| temporary.path().join(name));
    let at_once = sweep(&whole, &LOADS);
    let shards = shards(temporary.path());
    // One was stopped in the middle of a line.
    let torn = [&kept::bytes(&shards[1])[..], b"{\"schema\":1,\"ioda_v"].concat();
    std::fs::write(shards[1].join("runs.jsonl"), &torn).unwrap();
    let ran = merge(&shards, &merged);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let says = format!("{RUNS} runs in {}, {RUNS} of them new\n", merged.display());
    assert!(ran.stderr.starts_with(&says), "{}", ran.stderr);
    assert_eq!(kept::bytes(&merged), kept::bytes(&whole));
    let shown = sweep(&merged, &LOADS);
    assert!(shown.stderr.starts_with(&format!("{RUNS} of {RUNS} runs found")), "{}", shown.stderr);
    assert_eq!(shown.stdout, at_once.stdout);
    assert_eq!(document(&merged)["runs"], document(&whole)["runs"]);
    assert_eq!(kept::bytes(&merged), kept::bytes(&whole));

    // A shard that was killed goes on; more shards than runs are none.
    let killed = temporary.path().join("killed");
    let shard = [&LOADS[..], &["--shard", "2/2"]].concat();
    kept::killed(&arguments(&killed, &shard), &killed);
    assert_eq!(sweep(&killed, &shard).code, 0);
    let again = temporary.path().join("again");
    assert_eq!(sweep(&again, &shard).code, 0);
    assert_eq!(kept::bytes(&killed), kept::bytes(&again));
    let none = sweep(&again, &[&LOADS[..], &["--shard", "1/64", "--fresh"]].concat());
    assert_eq!((none.code, kept::bytes(&again).as_slice()), (0, &b""[..]), "{}", none.stderr);
    assert!(none.stderr.contains(&format!("is 0 of {RUNS} runs")), "{}", none.stderr);
}

#[test]
fn what_cannot_be_a_shard_or_be_merged_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let output = temporary.path().join("output");
    for (shard, why) in [
        ("0/4", "of 4 shards the first is 1 and the last 4; 0 is none"),
        ("5/4", "of 4 shards the first is 1 and the last 4; 5 is none"),
        ("1/10001", "there can be 1 to 10000 shards, not 10001"),
        ("a/b", "a shard is K/N in whole numbers, such as 3/64"),
        ("3", "a shard is K/N in whole numbers, such as 3/64"),
    ] {
        let ran = sweep(&output, &[&LOADS[..], &["--shard", shard]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{shard}: {}", ran.stderr);
        let says = format!("error: invalid value '{shard}' for '--shard <K/N>': {why}");
        assert!(ran.stderr.starts_with(&says), "{shard}: {}", ran.stderr);
    }
    let both = sweep(&output, &[&LOADS[..], &["--shard", "1/2", "--json"]].concat());
    assert!(both.code == 2 && both.stderr.contains("cannot be used with"), "{}", both.stderr);
    let none = merge(&[temporary.path().join("none")], &output);
    assert_eq!(none.code, 3, "{}", none.stderr);
    assert!(none.stderr.contains("none has no runs.jsonl"), "{}", none.stderr);
    assert!(!output.exists());
    assert_eq!(merge(&[], &output).code, 2);

    // One record is not what the same run gave elsewhere.
    let [good, bad] = ["good", "bad"].map(|name| temporary.path().join(name));
    let one = ["--vary", "load=0.002"];
    assert_eq!(sweep(&good, &one).code, 0);
    std::fs::create_dir(&bad).unwrap();
    let text = String::from_utf8(kept::bytes(&good)).unwrap();
    let changed = text.replacen("\"result_hash\":\"", "\"result_hash\":\"0", 1);
    assert_ne!(changed, text);
    std::fs::write(bad.join("runs.jsonl"), changed).unwrap();
    let ran = merge(&[good.clone(), bad], &output);
    assert_eq!((ran.code, ran.stderr.lines().count()), (3, 1), "{}", ran.stderr);
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let key = format!("for the key {}; ", first["key"].as_str().unwrap());
    for words in ["good/runs.jsonl and ", "bad/runs.jsonl have different records ", &key] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    assert!(!output.exists());

    // Whoever comes second is told where.
    let file = std::fs::File::open(good.join("runs.jsonl")).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let says = format!("error: {} is being written by another ioda; ", good.display());
    for ran in [sweep(&good, &one), sweep(&good, &["--vary", "load=0.002", "--fresh"])] {
        assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
        assert!(ran.stderr.starts_with(&says), "{}", ran.stderr);
    }
    assert_eq!(merge(std::slice::from_ref(&good), &output).code, 4);
    drop(file);
    assert_eq!(kept::bytes(&good), text.as_bytes());
    assert!(sweep(&good, &one).stderr.starts_with("2 of 2 runs found"));
}

#[test]
fn points_that_cannot_be_built_are_shown_and_the_others_run() {
    let folder = tempfile::tempdir().unwrap();
    let vary = ["--vary", "width=4..6:1", "--vary", "raid=5,10", "--quiet", "--json"];
    let ran = sweep(folder.path(), &vary);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let printed = ran.json();
    assert_eq!(printed, document(folder.path()), "--json prints what is kept");
    let made = hashes(&printed);
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    let expected = [
        "4 10 base 1",
        "4 10 ioda 1",
        "4 5 base 1",
        "4 5 ioda 1",
        "5 5 base 1",
        "5 5 ioda 1",
        "6 10 base 1",
        "6 10 ioda 1",
        "6 5 base 1",
        "6 5 ioda 1",
    ];
    assert_eq!(names, expected);
    let refused: Vec<&str> = printed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|run| run["outcome"]["refused"].as_str())
        .collect();
    assert_eq!(refused.len(), 2);
    assert!(refused[0].contains("raid10"), "{}", refused[0]);
    let page = std::fs::read_to_string(folder.path().join("sweep.html")).unwrap();
    assert_eq!(page.matches("<table class=\"heat\"").count(), 3 * 2);
    assert!(page.contains("<td class=\"none\">") && page.contains("Not run:"));
    let file = folder.path().join("all.json");
    let beside =
        sweep(folder.path(), &[&vary[..5], &[&format!("--json={}", file.display())]].concat());
    assert!(beside.stdout.contains("- not run: width 5, raid 10 under Base"), "{}", beside.stdout);
    let written: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(hashes(&written), made);
}

#[test]
fn what_cannot_be_varied_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 14] = [
        (&["--vary", "widht=4,8"], "did you mean width?"),
        (&["--vary", "width"], "has no values"),
        (&["--vary", "width=4..16"], "has no step"),
        (&["--vary", "width=four"], "cannot set array.drives to four"),
        (&["--vary", "width=1..100:1"], "more than 64 values"),
        (&["--vary", "width=2"], "no point can be built: "),
        (&["--vary", "window=100"], "has no unit"),
        (&["--vary", "seed=1,2"], "--seeds says how many"),
        (&["--vary", "width=4", "--vary", "array.drives=5"], "twice for array.drives"),
        (&["--vary", "width=4", "--vary", "load=1", "--vary", "raid=5"], "one parameter or two"),
        (&["--vary", "width=4", "--metric", "read.p98"], "a sweep does not keep read.p98"),
        (&["--vary", "width=4", "--metric", "speed"], "there is no metric \"speed\""),
        (&["--vary", "width=4", "--seeds", "0"], "must be 1 to 100"),
        (&["--vary", "width=4", "--threads", "0"], "--threads is 0"),
    ];
    for (extra, why) in cases {
        let output = folder.path().join("new");
        let ran = sweep(&output, extra);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{extra:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{extra:?}: {}", ran.stderr);
        assert!(!output.exists(), "{extra:?} made a folder");
    }
    assert_eq!(sweep(folder.path(), &[]).code, 2, "--vary is required");
    // What a survey has kept is no sweep.
    let line = format!(
        "{{\"schema\":1,\"ioda_version\":\"{}\",\"key\":\"\",\"record\":{{\"run\":1}}}}\n",
        env!("CARGO_PKG_VERSION")
    );
    std::fs::write(folder.path().join("runs.jsonl"), line).unwrap();
    let other = sweep(folder.path(), &LOADS);
    assert_eq!(other.code, 3);
    assert!(other.stderr.contains("is no result of a sweep"), "{}", other.stderr);
}

#[test]
fn cells_without_collections_and_spare_without_effect_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let array = ["--config", "tiny.toml", "--policy", "base,ioda", "--precondition", "fresh"];
    let vary = ["--vary", "over-provisioning=25%,40%", "--vary", "load=0.002,0.004"];
    let few = ["--requests", "300", "--metric", "waf"];
    let all = [&["sweep", "dtrs", "--output", output], &array[..], &vary, &few].concat();
    let ran = ioda(&all);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("no collection took place in 8 of 8 cells"), "{}", ran.stdout);
    assert!(ran.stdout.contains("write amplification does not fall with more spare"));
    let notes = document(folder.path())["notes"].as_array().unwrap().len();
    assert_eq!(notes, 2);
    let page = std::fs::read_to_string(folder.path().join("sweep.html")).unwrap();
    assert_eq!(page.matches("<td class=\"idle\">").count(), 8);
    let aged = sweep(folder.path(), &["--vary", "load=0.002,0.004", "--metric", "waf"]);
    assert!(!aged.stdout.contains("no collection"), "{}", aged.stdout);
}
