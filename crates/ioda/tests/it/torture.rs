//! Torture from the command line: what is printed, what repeats it, how it ends.
#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::{Ran, ioda};
use serde_json::Value;

/// Everything but how fast it was.
fn without_speed(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("histories per second"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// A script that fails where more is demanded than is promised: a drive is not found after the power went
/// while stripes were being written.
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
    for key in ["seconds", "histories_per_second"] {
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
    let pairs = sim::torture::Event::ALL.len() * sim::torture::State::ALL.len();
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
