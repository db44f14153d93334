//! Drives that are made from data sheets: planned, run and compared with their figures.

#![allow(clippy::unwrap_used, reason = "a test fails where a document lacks something")]

use crate::common::ioda_in;
use std::path::Path;
use tempfile::TempDir;

/// A small drive, so that it is measured in seconds.
const SHEET: &str = "[drive]\nname = \"mine\"\n\n[drive.data_sheet]\ncapacity = \"120GB\"\n\
                     sequential_read = \"3GB/s\"\nsequential_write = \"1200MB/s\"\n\
                     random_read = 400_000\nrandom_write = 50_000\nread_latency = \"90us\"\n";

fn folder_with(name: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let ran = ioda_in(folder, arguments);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
    ran.stderr
}

#[test]
fn a_drive_is_planned_from_its_data_sheet() {
    let folder = folder_with("mine.toml", SHEET);
    let arguments = ["plan", "--drive", "mine.toml", "--load", "1dwpd", "--json"];
    let document = ioda_in(folder.path(), &arguments).json();
    let plan = &document["plans"][0];
    assert_eq!(plan["drive"], "mine");
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
    let derived = &plan["derived"];
    let exposed = number(derived, "flash_bytes") - number(derived, "over_provisioned_bytes");
    assert!((exposed / 120e9 - 1.0).abs() < 0.01, "{exposed}");
    let program = number(derived, "program_bytes_per_second");
    assert!((program / 1.2e9 - 1.0).abs() < 0.01, "{program}");
    let load = &plan["loads"][0];
    assert_eq!(load["verdict"], "holds");
    assert!(number(load, "shortest_window_ms") < number(load, "window_ms"));
    // The settings of the document have the geometry, so that it can be made again without the
    // data sheet.
    assert!(plan["settings"]["data_sheet"].is_null());
    assert_eq!(plan["settings"]["channels"], 8);
}

#[test]
fn a_drive_is_run_from_its_data_sheet() {
    let folder = folder_with("mine.toml", SHEET);
    let arguments =
        ["run", "tpcc", "--drive", "mine.toml", "--requests", "500", "--quiet", "--json"];
    let document = ioda_in(folder.path(), &arguments).json();
    let configuration = document["manifest"]["configuration_toml"].as_str().unwrap();
    let drive = toml::from_str::<toml::Table>(configuration).unwrap()["drive"].clone();
    assert_eq!(drive["name"].as_str(), Some("mine"));
    assert_eq!(drive["chips_per_channel"].as_integer(), Some(2));
    // What repeats the run has the geometry, which later versions may choose otherwise.
    assert!(drive.get("data_sheet").is_none());
}

#[test]
fn the_calibration_compares_a_file_with_its_data_sheet() {
    let folder = folder_with("mine.toml", SHEET);
    let arguments = ["presets", "drives", "--calibration=mine.toml", "--json"];
    let document = ioda_in(folder.path(), &arguments).json();
    let drives = document["drives"].as_array().unwrap();
    assert_eq!(drives.len(), 1);
    assert_eq!(drives[0]["name"], "mine");
    assert_eq!(drives[0]["source"], "made from the data sheet in mine.toml");
    let figures = drives[0]["figures"].as_array().unwrap();
    let of = |name: &str| figures.iter().find(|figure| figure["figure"] == name).unwrap();
    for (name, value, was_used) in [
        ("sequential read", 3_000.0, true),
        ("sequential write", 1_200.0, true),
        ("random read", 400_000.0, true),
        ("random write", 50_000.0, false),
        ("read alone", 90.0, true),
    ] {
        let figure = of(name);
        assert_eq!(figure["data_sheet"], value, "{name}");
        assert_eq!(figure["was_used"], was_used, "{name}");
        // What the model was set to, it does.
        let model = figure["model"].as_f64().unwrap();
        assert!(!was_used || (model / value - 1.0).abs() < 0.1, "{name}: {model}, not {value}");
    }
    assert!(of("write alone")["data_sheet"].is_null());
}

#[test]
fn files_without_a_drive_to_measure_are_refused() {
    let folder = folder_with("mine.toml", SHEET);
    let path = folder.path();
    let missing = refused(path, &["presets", "--calibration=other.toml"]);
    assert!(missing.contains("cannot read the configuration other.toml"), "{missing}");
    let unknown = refused(path, &["presets", "--calibration=7450-961"]);
    assert!(
        unknown.contains("there is no drive with a data sheet \"7450-961\"; did you mean")
            && unknown.contains("nor is it a file"),
        "{unknown}"
    );
    for (change, said) in [
        (
            SHEET.replace("1200MB/s", "12MB/s"),
            "error: data sheet: sequential_write is 12 MB/s; it must be between 16 and 4000 MB/s",
        ),
        (
            SHEET.replace("[drive]", "[drive]\nbase = \"femu\""),
            "error: base is \"femu\" beside [drive.data_sheet]",
        ),
        (SHEET.replace("capacity", "size"), "error: mine.toml, line 5: there is no key `size`"),
        (
            SHEET.replace("120GB", "120 Gbit"),
            "error: mine.toml, line 5: capacity \"120 Gbit\" is not a size such as 960GB",
        ),
    ] {
        std::fs::write(path.join("mine.toml"), change).unwrap();
        for arguments in [
            &["presets", "drives", "--calibration=mine.toml"][..],
            &["plan", "--drive", "mine.toml"],
        ] {
            let refused = refused(path, arguments);
            assert!(refused.starts_with(said), "{refused}\n{said}");
        }
    }
}
