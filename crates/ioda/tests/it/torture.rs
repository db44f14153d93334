//! Torture from the command line: what is printed, what repeats it, how it ends.
#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{Ran, ioda, ioda_in};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Everything but how fast it was.
fn without_speed(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("histories per second"))
        // A table of levels ends with processor seconds.
        .map(|line| match line.trim_start().starts_with("raid") && line.contains('.') {
            true => line.rsplit_once(' ').map_or(line, |(rest, _)| rest).trim_end(),
            false => line,
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// A script that fails where more is demanded than is promised: a drive is not found after the
/// power went while stripes were being written.
fn hole() -> String {
    let scripts = (0..60).map(|after| format!("raid5-degraded:write:missing:{after}"));
    let fails = |script: &String| {
        let more = ["--write-hole", "--no-shrink", "--quiet"];
        ioda(&[&["torture", "--script", script][..], &more[..]].concat()).code == 4
    };
    scripts.into_iter().find(fails).unwrap()
}

fn document(ran: &Ran) -> Value {
    let mut document = ran.json();
    for level in document["levels"].as_array_mut().unwrap() {
        assert!(level["processor_seconds"].take().as_f64().unwrap() > 0.0);
    }
    for key in ["seconds", "histories_per_second", "processor_seconds"] {
        assert!(document[key].take().as_f64().unwrap() > 0.0, "{key}");
    }
    document
}

#[test]
fn a_few_seeds_are_survived_and_counted() {
    let arguments = ["torture", "--seeds", "6", "--steps", "60", "--quiet"];
    let ran = ioda(&[&arguments[..], &["--threads", "2"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("possible, but never met:"), "{}", ran.stdout);
    let one = ioda(&[&arguments[..], &["--threads", "1"]].concat());
    assert_eq!(without_speed(&one.stdout), without_speed(&ran.stdout));

    let json = ioda(&[&arguments[..], &["--json"]].concat());
    let document = document(&json);
    assert_eq!((&document["histories"], &document["failed"]), (&6.into(), &0.into()));
    assert!(document["requests"].as_u64().unwrap() > 100, "{document}");
    assert!(document["sectors_compared"].as_u64().unwrap() > 10_000, "{document}");
    let transitions = document["transitions"].as_array().unwrap();
    assert_eq!(transitions.len(), sim::torture::Transition::ALL.len());
    let levels = document["levels"].as_array().unwrap();
    let of_levels: u64 = levels.iter().map(|level| level["histories"].as_u64().unwrap()).sum();
    assert_eq!((of_levels, &document["steps"]), (6, &360.into()), "{document}");
    let pairs = sim::torture::Event::ALL.len() * sim::torture::ArrayState::ALL.len();
    assert_eq!(document["coverage"].as_array().unwrap().len(), pairs);
    for seed in 1..=6 {
        let level = ["raid5", "raid6"][seed % 2];
        let seed = seed.to_string();
        let ran = ioda(&["torture", "--seed", &seed, "--level", level, "--steps", "40", "--quiet"]);
        assert_eq!(ran.code, 0, "seed {seed}: {}", ran.stdout);
    }
}

#[test]
fn what_is_not_promised_fails_with_its_shortest_story() {
    let script = hole();
    let arguments = ["torture", "--script", &script, "--write-hole"];
    let ran = ioda(&arguments);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.ends_with("error: 1 of 1 histories failed\n"), "{}", ran.stderr);
    let repeat = format!("repeat with: ioda torture --script {script} --write-hole\n");
    assert!(ran.stdout.contains(&repeat), "{}", ran.stdout);
    let (_, story) = ran.stdout.split_once(" of 13 steps:\n").unwrap();
    assert!(story.starts_with("  raid5 of 3 drives, chunks of 4 KiB\n"), "{story}");
    assert!(story.contains("the power is gone") && story.contains("holds"), "{story}");
    // What it says repeats it.
    assert_eq!(without_speed(&ioda(&arguments).stdout), without_speed(&ran.stdout));
    // And it is promised that nothing is lost if the drive is found.
    let promised = ioda(&["torture", "--script", &script, "--quiet"]);
    assert_eq!((promised.code, promised.stderr.as_str()), (0, ""), "{}", promised.stdout);
}

#[test]
fn one_history_is_told() {
    let ran =
        ioda(&["torture", "--script", "raid1:write,fail:everything:20", "--story", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("raid1 of 2 drives, chunks of 4 KiB\n"), "{}", ran.stdout);
    for event in ["a client flushes", "order: drive 0 has failed", "the power is gone"] {
        assert!(ran.stdout.contains(event), "{}", ran.stdout);
    }
    let json = ioda(&["torture", "--seed", "5", "--steps", "20", "--story", "--json", "--quiet"]);
    let document = document(&json);
    assert!(document["story"].as_array().unwrap().len() > 20, "{document}");
}

#[test]
fn every_script_is_cut_everywhere() {
    let arguments = ["torture", "--sweep", "--length", "1", "--level", "raid1", "--quiet"];
    let ran = ioda(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("10 scripts of up to 1 acts, cut at every command\n"));
}

/// What is in a file of counts, but for how long it took.
fn counts(path: &Path) -> Value {
    let mut counts: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for level in counts["levels"].as_array_mut().unwrap() {
        assert!(level["processor_seconds"].take().as_f64().unwrap() > 0.0);
    }
    counts
}

#[test]
fn counts_are_added_up_as_if_it_had_been_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |file: &str, more: &[&str]| {
        let arguments = ["torture", "--steps", "40", "--quiet", "--state", file];
        ioda_in(folder.path(), &[&arguments[..], more].concat())
    };
    let whole = run("whole.json", &["--seeds", "9", "--threads", "2"]);
    assert_eq!((whole.code, whole.stderr.as_str()), (0, ""), "{}", whole.stdout);
    for (seeds, runs) in [("4", 1), ("3", 2), ("2", 3)] {
        let ran = run("parts.json", &["--seeds", seeds, "--threads", "2", "--json"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let document = document(&ran);
        assert_eq!((&document["state"]["runs"], &document["failed"]), (&runs.into(), &0.into()));
    }
    let [mut whole, mut parts] =
        ["whole.json", "parts.json"].map(|name| counts(&folder.path().join(name)));
    assert_eq!((&whole["next_seed"], &parts["runs"]), (&10.into(), &3.into()));
    assert_eq!(whole["unfinished"], serde_json::json!([]));
    assert_eq!(whole["runs"].take(), 1);
    parts["runs"].take();
    assert_eq!(whole, parts);
    // Nothing is counted without work, and a little processor time is one history at least.
    let ran = run("whole.json", &["--for", "1us", "--threads", "1", "--json"]);
    assert_eq!(document(&ran)["histories"], 10, "{}", ran.stderr);
}

#[test]
fn what_would_falsify_a_sum_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let arguments = ["torture", "--seeds", "1", "--quiet", "--state", "counts.json"];
        ioda_in(folder.path(), &[&arguments[..], more].concat())
    };
    let begun = run(&["--steps", "20"]);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    let path = folder.path().join("counts.json");
    let before = std::fs::read_to_string(&path).unwrap();
    for (more, says) in [
        (&["--steps", "30"][..], "--steps 20, and this run has --steps 30"),
        (&["--steps", "20", "--level", "raid5"], "no --level, and this run has --level raid5"),
        (&["--steps", "20", "--long", "7"], "--long 0, and this run has --long 7"),
        (&["--steps", "20", "--write-hole"], "no --write-hole, and this run has --write-hole"),
        (&["--steps", "20", "--seed", "2"], "--seed 1, and this run has --seed 2"),
    ] {
        let ran = run(more);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{more:?}");
        let expected = format!(
            "error: counts.json has counts with {says}: give the same options, or another file\n"
        );
        assert_eq!(ran.stderr, expected);
    }
    for (from, to, says) in [
        ("torture-state/1", "torture-state/2", "has the format \"ioda.torture-state/2\""),
        ("\"ioda_version\": \"", "\"ioda_version\": \"7", "has counts of ioda 7"),
        ("\"half retired\"", "\"half tired\"", "is damaged: no transition is \"half tired\""),
        ("\"next_seed\"", "\"next\"", "is damaged: missing field `next_seed`"),
        ("{", "", "is no file of --state"),
    ] {
        std::fs::write(&path, before.replacen(from, to, 1)).unwrap();
        let ran = run(&["--steps", "20"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{from}");
        assert!(
            ran.stderr.starts_with("error: counts.json ") && ran.stderr.contains(says),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("choose another file"), "{}", ran.stderr);
    }
}

#[test]
fn a_failure_stays_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seeds: &str| {
        let arguments = ["torture", "--write-hole", "--steps", "60", "--level", "raid5"];
        let more = ["--no-shrink", "--quiet", "--state", "counts.json", "--seeds", seeds];
        ioda_in(folder.path(), &[&arguments[..], &more[..]].concat())
    };
    // Arrays that journal while drives are missing have a write hole, and this demands that they
    // have none.
    let failed = (0..20).map(|_| run("20")).find(|ran| ran.code != 0).unwrap();
    assert_eq!(failed.code, 4, "{}", failed.stderr);
    let repeat = failed.stdout.lines().find(|line| line.contains("repeat with: ")).unwrap();
    let again = run("1");
    assert_eq!(again.code, 4);
    assert!(again.stdout.contains("in an earlier run: "), "{}", again.stdout);
    assert!(again.stdout.contains(repeat), "{repeat} is not in {}", again.stdout);
    assert!(again.stderr.contains(" histories failed"), "{}", again.stderr);
}

#[test]
fn one_process_at_a_time_has_the_file_and_an_interrupt_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.json");
    let arguments = ["torture", "--steps", "40", "--quiet", "--state", "counts.json"];
    let begin = || {
        let mut first = Command::new(env!("CARGO_BIN_EXE_ioda"));
        first.args(arguments).args(["--seeds", "100000000"]).current_dir(folder.path());
        first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let patience = Instant::now() + Duration::from_secs(60);
    for runs in 1..=2 {
        let mut first = begin();
        while !path.exists() || counts(&path)["runs"] != runs {
            assert!(Instant::now() < patience, "it writes the file before it works");
            std::thread::sleep(Duration::from_millis(20));
        }
        let second = ioda_in(folder.path(), &[&arguments[..], &["--seeds", "1"]].concat());
        assert_eq!((second.code, second.stdout.as_str()), (2, ""));
        let says = "error: counts.json is in use by another ioda torture; wait until it has ended, or choose another file\n";
        assert_eq!(second.stderr, says);
        let pid = rustix::process::Pid::from_child(&first);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(
            first.wait().unwrap().code(),
            Some(0),
            "it ends as if it had been asked for less"
        );
    }
    let counts = counts(&path);
    let levels = counts["levels"].as_array().unwrap();
    let histories: u64 = levels.iter().map(|level| level["histories"].as_u64().unwrap()).sum();
    assert_eq!(counts["next_seed"].as_u64().unwrap(), histories + 1, "{counts}");
    assert_eq!(counts["unfinished"], serde_json::json!([]));
}
