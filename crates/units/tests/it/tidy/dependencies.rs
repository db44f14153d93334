//! Dependencies that are allowed between crates.

use super::crates;
use std::collections::BTreeMap;
use std::fs;

/// The crates that each crate may depend on. Tests may use any crate.
const MAY_NAME: [(&str, &[&str]); 13] = [
    ("units", &[]),
    ("nvme", &["units"]),
    ("ssd", &["units", "nvme"]),
    ("array", &["units", "nvme"]),
    ("engine", &["units", "nvme", "ssd", "array"]),
    // Numbers in, intervals out: below the two crates that say how certain a number is.
    ("statistics", &[]),
    ("workload", &["units"]),
    ("sim", &["units", "nvme", "ssd", "array", "engine", "statistics", "workload"]),
    ("live", &["units", "nvme", "ssd", "array", "engine"]),
    ("report", &["units", "statistics"]),
    ("study", &["units", "nvme", "ssd", "array", "workload", "sim", "live", "report"]),
    (
        "ioda",
        &["units", "nvme", "ssd", "array", "workload", "engine", "sim", "live", "report", "study"],
    ),
    ("testing", &[]),
];

#[test]
fn dependencies_point_down() {
    let rooms: BTreeMap<&str, &[&str]> = MAY_NAME.into_iter().collect();
    for entry in fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(rooms.contains_key(name.as_str()), "crate {name} is not in ARCHITECTURE.md's map");
    }
    for (room, allowed) in &rooms {
        let manifest = fs::read_to_string(crates().join(room).join("Cargo.toml")).unwrap();
        // Up to the tests, which may use any crate.
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
        for other in rooms.keys().filter(|other| *other != room) {
            let named = dependencies.lines().any(|line| {
                line.starts_with(&format!("{other}.workspace"))
                    || line.starts_with(&format!("{other} ="))
            });
            assert!(!named || allowed.contains(other), "{room} may not depend on {other}");
        }
    }
}
