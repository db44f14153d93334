//! `ioda reproduce` with results that are kept.

use crate::common::ioda;
use serde_json::Value;

/// A document without the times that the machine took.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.remove("wall_seconds");
            fields.remove("command_line");
            // It names the number of threads.
            fields.remove("configuration_toml");
            fields.values_mut().for_each(|field| *field = timeless(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}

#[test]
fn an_interrupted_reproduction_goes_on_where_it_was() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let run = |words: &[&str]| ioda(&[&["reproduce", "5b", "--quick", "--json"], words].concat());
    let plain = timeless(run(&["--quiet"]).json());
    let first = run(&["--results", folder]);
    assert_eq!(timeless(first.json()), plain, "results that were kept are the same");
    let found = |stderr: &str| {
        let line = stderr.lines().find(|line| line.contains(" runs found in ")).unwrap();
        let words: Vec<u32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        (words[0], words[1])
    };
    let (none, all) = found(&first.stderr);
    assert!(none == 0 && all >= 4, "{none} of {all}");
    // A kill takes the runs that were under way, and perhaps half a line.
    let path = temporary.path().join("runs.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    let kept: String = lines.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, format!("{kept}{}", &lines[kept.len()..kept.len() + 100])).unwrap();
    for (threads, there) in [("1", 2), ("2", all)] {
        let again = run(&["--results", folder, "--threads", threads]);
        assert_eq!(found(&again.stderr), (there, all));
        assert_eq!(timeless(again.json()), plain);
    }
    let fresh = run(&["--results", folder, "--fresh"]);
    assert_eq!(found(&fresh.stderr), (0, all));
}

#[test]
fn results_that_are_damaged_or_of_no_use_are_named() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().to_str().unwrap();
    let run = |words: &[&str]| ioda(&[&["reproduce", "5b", "--quick"], words].concat());
    assert_eq!(run(&["--quiet", "--results", folder]).code, 0);
    let path = temporary.path().join("runs.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    let mut records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = records[0]["record"]["result"].as_str().unwrap();
    records[0]["record"]["result"] = text[..text.len() / 8 * 4].into();
    let damaged: String = records.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(&path, damaged).unwrap();
    let refused = run(&["--quiet", "--results", folder]);
    assert_ne!(refused.code, 0);
    let says = format!("error: a result in {folder} is damaged: ");
    assert!(refused.stderr.starts_with(&says), "{}", refused.stderr);
    assert!(refused.stderr.contains("--fresh makes all of them again"), "{}", refused.stderr);
    let useless = run(&["--fresh"]).stderr;
    assert_eq!(useless, "error: --fresh is about results that are kept: name --results FOLDER\n");
    let live = ioda(&["reproduce", "live", "--results", folder]).stderr;
    assert_eq!(live, "error: --results keeps nothing of `ioda reproduce live`\n");
}
