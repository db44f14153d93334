//! The template of a policy outside of the tree: its sources compile as they stand, and its manifest
//! fits the workspace.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test, and sources of a library")]

#[path = "../../../../templates/policy/src/comparison.rs"]
mod comparison;
#[path = "../../../../templates/policy/src/policy.rs"]
mod policy;

use comparison::compare;
use std::ffi::OsString;
use std::path::Path;

#[test]
fn its_policy_runs_beside_those_of_ioda() {
    let words = "tpcc --requests 20000 --blocks-per-plane 64 --rerate 0.05".split_whitespace();
    let done = compare(words.map(OsString::from)).unwrap();
    let table = report::table::render(&done.comparison);
    for label in ["Base", "Hedged", "Ideal", "{{label}}"] {
        assert!(table.contains(label), "{label} is not in\n{table}");
    }
    let own = done.comparison.runs.iter().find(|run| run.label == policy::POLICY.label()).unwrap();
    assert!(own.extra_reads > 0, "it reconstructs nothing");
    let Err(error) = compare([OsString::from("--no-such-option")]) else { panic!("taken") };
    assert!(error.to_string().contains("--no-such-option"), "{error}");
}

#[test]
fn its_manifest_fits_the_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let text = read("templates/policy/Cargo.toml").replace("{{project-name}}", "mine");
    let manifest: toml::Value = toml::from_str(&text).unwrap();
    let workspace: toml::Value = toml::from_str(&read("Cargo.toml")).unwrap();
    for key in ["edition", "rust-version"] {
        assert_eq!(manifest["package"][key], workspace["workspace"]["package"][key], "{key}");
    }
    for (name, dependency) in manifest["dependencies"].as_table().unwrap() {
        let path = dependency["path"].as_str().unwrap().replace("{{ioda}}", ".");
        let own: toml::Value = toml::from_str(&read(&format!("{path}/Cargo.toml"))).unwrap();
        let package = dependency.get("package").map_or(name.as_str(), |one| one.as_str().unwrap());
        assert_eq!(own["package"]["name"].as_str(), Some(package));
    }
}
