//! Surveys from end to end on tiny drives: what is kept, what is found again, what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{Ran, data, ioda, kept, schemas};
use serde_json::Value;
use std::path::Path;

const LIMITS: [&str; 6] = ["--workload", "dtrs,tpcc", "--requests", "2000", "--seeds", "2"];

fn arguments<'a>(folder: &'a Path, extra: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["survey", "--config", "tiny.toml", "--output", folder.to_str().unwrap()];
    all.extend(LIMITS);
    all.extend(extra);
    all
}

fn survey(folder: &Path, extra: &[&str]) -> Ran {
    ioda(&arguments(folder, extra))
}

fn document(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("survey.json")).unwrap();
    let document = serde_json::from_str(&text).unwrap();
    schemas::validate(&document);
    document
}

/// The result hash of every run, by policy, workload and seed.
fn hashes(document: &Value) -> Vec<(String, String)> {
    let hash = |run: &Value| {
        let name = ["policy", "workload", "seed"].map(|key| run[key].as_str().unwrap()).join(" ");
        (name, run["outcome"]["measured"]["result_hash"].as_str().unwrap().to_owned())
    };
    document["runs"].as_array().unwrap().iter().map(hash).collect()
}

const THREE: [&str; 2] = ["--policy", "base,ioda,ideal"];
/// Runs of three policies: two workloads with two seeds, and three mixes at saturation.
const RUNS: usize = 3 * (2 * 2 + 3);

#[test]
fn a_survey_is_made_once_and_shows_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let first = survey(folder.path(), &THREE);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.starts_with(&format!("0 of {RUNS} runs found in ")), "{}", first.stderr);
    let made = document(folder.path());
    assert_eq!(made["schema"], "ioda.survey/2");
    assert_eq!(made["runs"].as_array().unwrap().len(), 12);
    assert_eq!(made["saturation"].as_array().unwrap().len(), 9);
    for title in ["dtrs: ", "tpcc: ", "Read latency, × Ideal", "What each policy costs"] {
        assert!(first.stdout.contains(title), "{}", first.stdout);
    }
    for costs in made["costs"].as_array().unwrap() {
        assert!(costs["processor_nanos_per_io"].as_f64().unwrap() > 0.0);
        assert_eq!(costs["saturation_iops"].as_array().unwrap().len(), 3, "{costs}");
        assert!(costs["capacity_lost"].as_f64().unwrap() > 0.25, "parity takes a quarter");
        assert_eq!(costs["host_buffer_peak_bytes"], 0);
    }
    assert_eq!(made["costs"][0]["device_reads_of_base"], 1.0);
    assert!(made["costs"][1]["rebuilds_per_host_read"].as_f64().unwrap() > 0.0);
    let page = std::fs::read_to_string(folder.path().join("survey.html")).unwrap();
    assert!(page.contains("What each policy costs"));

    let second = survey(folder.path(), &[&THREE[..], &["--costs"]].concat());
    assert!(
        second.stderr.starts_with(&format!("{RUNS} of {RUNS} runs found")),
        "{}",
        second.stderr
    );
    assert!(second.stdout.starts_with("What each policy costs"), "{}", second.stdout);
    let again = document(folder.path());
    assert_eq!((&again["runs"], &again["costs"]), (&made["runs"], &made["costs"]));

    // A run of a survey is the run of `ioda compare` with the same settings.
    let compared =
        ioda(&["run", "dtrs", "--config", "tiny.toml", "--requests", "2000", "--quiet", "--json"]);
    let compared = compared.json();
    let (name, hash) = &hashes(&made)[1];
    assert_eq!(
        (name.as_str(), &compared["runs"][0]["result_hash"]),
        ("ioda dtrs 1", &hash[..].into())
    );

    let fewer = survey(folder.path(), &["--policy", "ioda"]);
    assert!(fewer.stderr.starts_with("7 of 7 runs found"), "{}", fewer.stderr);
    let fresh = survey(folder.path(), &["--policy", "ioda", "--fresh", "--threads", "1"]);
    assert!(fresh.stderr.starts_with("0 of 7 runs found"), "{}", fresh.stderr);
    let of_ioda = |document: &Value| -> Vec<(String, String)> {
        hashes(document).into_iter().filter(|(name, _)| name.starts_with("ioda ")).collect()
    };
    assert_eq!(of_ioda(&document(folder.path())), of_ioda(&made));
}

#[test]
fn a_survey_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let whole = tempfile::tempdir().unwrap();
    assert_eq!(survey(whole.path(), &THREE).code, 0);
    let kept = kept::killed(&arguments(folder.path(), &THREE), folder.path());
    let ran = survey(folder.path(), &THREE);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // One line more than runs is the processor time.
    let found = format!("{} of {RUNS} runs found", kept.min(RUNS));
    assert!(ran.stderr.starts_with(&found), "{kept}: {}", ran.stderr);
    assert_eq!(hashes(&document(folder.path())), hashes(&document(whole.path())));
    assert_eq!(simulated(folder.path()), simulated(whole.path()));
}

/// What is kept in `folder` of runs, and how many lines are of processor time, which is measured on
/// a clock.
fn simulated(folder: &Path) -> (Vec<String>, usize) {
    let text = String::from_utf8(kept::bytes(folder)).unwrap();
    let lines = text.split_inclusive('\n').map(str::to_owned);
    let (measured, simulated): (Vec<_>, Vec<_>) =
        lines.partition(|line| line.contains("\"record\":{\"processor\":"));
    (simulated, measured.len())
}

#[test]
fn shards_that_are_merged_are_the_whole_survey() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    let two = ["--policy", "base,ioda"];
    let runs = 2 * (2 * 2 + 3);
    assert_eq!(survey(&at("whole"), &two).code, 0);
    let mut all = vec!["survey".to_owned(), "merge".to_owned()];
    for number in 1..=3 {
        let folder = at(&format!("shard-{number}"));
        let ran = survey(&folder, &[&two[..], &["--shard", &format!("{number}/3")]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("ioda survey merge FOLDER... --output"), "{}", ran.stderr);
        let (simulated, measured) = simulated(&folder);
        assert!((4..=5).contains(&simulated.len()) && measured == 0);
        assert!(!folder.join("survey.json").exists());
        all.push(folder.to_str().unwrap().to_owned());
    }
    all.extend(["--output".to_owned(), at("merged").to_str().unwrap().to_owned()]);
    let merged = ioda(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((merged.code, merged.stdout.as_str()), (0, ""), "{}", merged.stderr);
    let [(whole, measured), (together, none)] =
        ["whole", "merged"].map(|name| simulated(&at(name)));
    assert_eq!((whole.len(), measured, none), (runs, 1, 0));
    assert_eq!(together, whole);
    assert_eq!(kept::bytes(&at("merged")), whole.concat().into_bytes());
    let ran = survey(&at("merged"), &two);
    assert!(ran.stderr.starts_with(&format!("{runs} of {runs} runs found")), "{}", ran.stderr);
    assert_eq!(simulated(&at("merged")), (whole, 1), "processor time is measured then");
    let [one, other] = ["whole", "merged"].map(|name| document(&at(name)));
    assert_eq!((&one["runs"], &one["saturation"]), (&other["runs"], &other["saturation"]));
    assert_eq!(one["runs"][0]["outcome"]["measured"]["wall_seconds"], 0.0);
}

#[test]
fn policies_run_on_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ["--policy", "base,ioda,least-outstanding,ideal"];
    let ran = survey(folder.path(), &limits);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let made = document(folder.path());
    let levels: Vec<&str> = made["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|policy| policy["level"].as_str().unwrap())
        .collect();
    assert_eq!(levels, ["raid5", "raid5", "raid5", "raid10"]);
    assert!(ran.stdout.contains("ran on raid10 of the same drives"), "{}", ran.stdout);

    let config = folder.path().join("raid0.toml");
    let tiny = std::fs::read_to_string(data().join("tiny.toml")).unwrap();
    std::fs::write(&config, tiny.replace("[array]", "[array]\nraid = 0")).unwrap();
    let path = config.to_str().unwrap();
    let output = folder.path().join("raid0");
    let mut all = vec!["survey", "--config", path, "--output", output.to_str().unwrap()];
    all.extend(LIMITS);
    all.extend(["--policy", "base,ioda,ideal"]);
    let without = ioda(&all);
    assert_eq!(without.code, 0, "{}", without.stderr);
    assert!(without.stdout.contains("- IODA was not run: policy ioda rebuilds reads from parity"));
}

#[test]
fn flags_say_the_array_and_the_drives_and_kept_runs_notice() {
    let folder = tempfile::tempdir().unwrap();
    let of = |extra: &[&str]| survey(folder.path(), &[&["--policy", "base"], extra].concat());
    assert!(of(&[]).stderr.starts_with("0 of 7 runs found"));
    let flags = [
        &["--drives", "5", "--raid", "6"][..],
        &["--blocks-per-plane", "40"],
        &["--precondition", "fresh"],
        &["--seed", "5"],
    ];
    let mut seen = vec![hashes(&document(folder.path()))];
    for extra in flags {
        let ran = of(extra);
        assert!(ran.code == 0 && ran.stderr.starts_with("0 of 7 runs found"), "{}", ran.stderr);
        let made = hashes(&document(folder.path()));
        let runs = made.iter().zip(&seen[0]);
        assert!(runs.into_iter().all(|((_, hash), (_, before))| hash != before), "{extra:?}");
        assert!(!seen.contains(&made), "{extra:?}");
        seen.push(made);
    }
    let again = of(&["--drives", "5", "--raid", "6"]);
    assert!(again.stderr.starts_with("7 of 7 runs found"), "{}", again.stderr);
    let made = document(folder.path());
    assert_eq!(made["policies"][0]["level"], "raid6");
    assert!(made["array"].as_str().unwrap().starts_with("raid6 of 5 drives"), "{}", made["array"]);
    assert_eq!(hashes(&made), seen[1], "of every workload");
    // Every workload runs there as `ioda run` runs it.
    let alone = ["run", "dtrs", "--config", "tiny.toml", "--requests", "2000", "--policy", "base"];
    let alone =
        ioda(&[&alone[..], &["--drives", "5", "--raid", "6", "--quiet", "--json"]].concat());
    assert_eq!(alone.json()["runs"][0]["result_hash"], hashes(&made)[0].1[..]);
    // The file is what flags lie over.
    assert!(made["configuration_toml"].as_str().unwrap().contains("drives = 5"));
}

#[test]
fn folders_that_cannot_be_used_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let ran = survey(&file.join("below"), &["--policy", "base"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(ran.stderr.starts_with("error: cannot make the folder "), "{}", ran.stderr);

    let journal = folder.path().join("runs.jsonl");
    std::fs::write(&journal, "{\"schema\":1,\"ioda_version\":\"0.0.9\",\"key\":\"\"}\n").unwrap();
    let other = survey(folder.path(), &["--policy", "base"]);
    assert_eq!((other.code, other.stdout.as_str()), (2, ""));
    assert!(other.stderr.contains("was written by ioda 0.0.9 (schema 1)"), "{}", other.stderr);
    assert!(other.stderr.contains("--output"), "{}", other.stderr);

    std::fs::write(&journal, "half a li\n").unwrap();
    let damaged = survey(folder.path(), &["--policy", "base"]);
    assert_eq!((damaged.code, damaged.stdout.as_str()), (3, ""));
    assert!(damaged.stderr.contains("runs.jsonl, line 1 is no result"), "{}", damaged.stderr);
}
