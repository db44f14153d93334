//! What is written and read is as the schemas say.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::schemas::{errors, validate, validate_as};
use crate::common::{data, ioda};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A configuration with a key that there is not.
const UNKNOWN_KEY: &str = "unknown-key.toml";

fn toml_as_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    serde_json::to_value(table).unwrap()
}

/// Holds every TOML file of a folder against the schema called `name`; how many there are.
fn hold(folder: &Path, name: &str) -> usize {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "toml") && !path.ends_with(UNKNOWN_KEY)
    };
    let files: Vec<_> = files.filter(is_wanted).collect();
    for path in &files {
        let found = errors(name, &toml_as_json(path));
        assert!(found.is_empty(), "{}:\n{}", path.display(), found.join("\n"));
    }
    files.len()
}

#[test]
fn the_experiments_are_as_their_schema_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    assert!(hold(&folder, "experiment") > 50);
    assert_eq!(hold(&folder.join("lab"), "lab-experiment"), 13);
}

#[test]
fn configurations_are_as_their_schema_says() {
    assert!(hold(&data(), "configuration") > 0);
    for drive in ssd::presets::names() {
        let ran = ioda(&["presets", "drives", "--toml", drive]);
        let table: toml::Table = toml::from_str(&ran.stdout).unwrap();
        validate_as("configuration", &serde_json::to_value(table).unwrap());
    }
    // What a report keeps repeats its run, and so it is a configuration.
    let run = ["run", "exch", "--config", "tiny.toml", "--requests", "300", "--quiet", "--json"];
    let document = ioda(&run).json();
    let text = document["manifest"]["configuration_toml"].as_str().unwrap();
    let table: toml::Table = toml::from_str(text).unwrap();
    validate_as("configuration", &serde_json::to_value(table).unwrap());
}

#[test]
fn what_is_wrong_is_found() {
    assert!(!errors("configuration", &toml_as_json(&data().join(UNKNOWN_KEY))).is_empty());
    assert!(!errors("configuration", &json!({ "array": { "chunck": "4k" } })).is_empty());
    assert!(!errors("configuration", &json!({ "array": { "drives": "many" } })).is_empty());
    assert!(!errors("configuration", &json!({ "drive": { "blocking": "nothing" } })).is_empty());
    assert!(!errors("experiment", &json!({ "id": "x" })).is_empty());
    assert!(!errors("presets", &json!({ "schema": "ioda.compare/1" })).is_empty());
    assert!(!errors("presets", &json!({ "schema": "ioda.presets/1", "more": 1 })).is_empty());
}

#[test]
fn documents_of_short_commands_are_as_their_schemas_say() {
    let commands: [&[&str]; 5] = [
        &["plan", "--json"],
        &["presets", "--json"],
        &["bench", "policies", "--quick", "--json", "--quiet"],
        &["bench", "loading", "--quick", "--json", "--quiet"],
        &["bench", "timer", "--seconds", "1", "--json", "--quiet"],
    ];
    for command in commands {
        let ran = ioda(command);
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.stderr);
        validate(&ran.json());
    }
}

#[test]
fn documents_of_sweeps_and_of_experiments_are_as_their_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let mut sweep = vec!["sweep", "dtrs", "--config", "tiny.toml", "--requests", "300", "--quiet"];
    sweep.extend(["--policy", "base,ioda", "--json", "--output", output]);
    // Five drives cannot be mirrored: a point that is refused is in the document as well.
    sweep.extend(["--vary", "width=4,5", "--vary", "raid=5,10"]);
    let reproduce = ["reproduce", "--quick", "--quiet", "--json", "--filter", "6-iod1-iod2"];
    for (name, command) in [("sweep", &sweep[..]), ("reproduce", &reproduce)] {
        let ran = ioda(command);
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.stderr);
        let document = ran.json();
        assert!(document["schema"].as_str().unwrap().starts_with(&format!("ioda.{name}/")));
        let mut more = document.clone();
        more["more"] = json!(1);
        assert!(!errors(name, &more).is_empty(), "a field that is not described is accepted");
    }
    let kept = std::fs::read_to_string(folder.path().join("sweep.json")).unwrap();
    validate(&serde_json::from_str(&kept).unwrap());
}

#[test]
fn schemas_are_listed_and_printed() {
    let list = ioda(&["schema"]);
    assert_eq!(list.code, 0);
    let names = list.stdout.lines().filter(|line| line.starts_with("  "));
    let names: Vec<&str> = names.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(names.contains(&"compare") && names.contains(&"configuration"), "{}", list.stdout);
    for name in names {
        let schema: Value = serde_json::from_str(&ioda(&["schema", name]).stdout).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
    }
    let unknown = ioda(&["schema", "compares"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    assert!(unknown.stderr.contains("compare"), "{}", unknown.stderr);
}
