//! Arrays that refuse to start, and go on because people say so.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;
use crate::common::checker::BLOCK;
use crate::common::served::{Served, flush, read, write};
use live::control::AdminCommand;
use std::path::Path;
use std::time::SystemTime;

fn arguments(folder: &Path, more: &[&str]) -> Vec<String> {
    let storage = folder.join("d").display().to_string();
    let all = ["--plain", "--drive-size", "16m", "--storage", &storage];
    all.iter().chain(more).copied().map(String::from).collect()
}

/// What a server says that does not start.
fn refusal(folder: &Path, more: &[&str]) -> String {
    let other = folder.join("other").display().to_string();
    let mut all = vec!["serve", "--quiet", "--http", "none", "--address", &other];
    let arguments = arguments(folder, more);
    all.extend(arguments.iter().map(String::as_str));
    let ran = common::ioda_in(folder, &all);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    ran.stderr
}

fn written_at(folder: &Path) -> Vec<SystemTime> {
    let about = |drive: u32| std::fs::metadata(folder.join(format!("d/drive-{drive}"))).unwrap();
    (0..4).map(|drive| about(drive).modified().unwrap()).collect()
}

#[test]
fn of_four_drives_that_all_failed_an_array_is_made_again_when_people_agree() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path(), &[]));
    let mut client = served.connect();
    let content = vec![7; 256 * BLOCK];
    write(&mut client, 0, &content).unwrap();
    flush(&mut client).unwrap();
    for drive in [2, 0, 1] {
        served.done(&AdminCommand::Fail { drive, force: true });
    }
    drop(client);
    served.kill();

    let before = written_at(folder.path());
    let said = refusal(folder.path(), &["--degraded"]);
    assert!(said.contains("3 drives are missing, failed or stale (0, 1, 2)"), "{said}");
    assert!(said.contains("--force-assembly says what can be done"), "{said}");
    let said = refusal(folder.path(), &["--yes"]);
    assert!(said.contains("--force-assembly"), "it agrees to nothing: {said}");
    // There is no terminal in a test: it tells, and does nothing.
    let said = refusal(folder.path(), &["--force-assembly"]);
    for words in [
        "drive 3: taken, the newest (generation 7), at ",
        "drive 1: taken, but it has missed what was written since generation 5, at ",
        "drive 0: taken, but it has missed what was written since generation 3, at ",
        "drive 2: left out, it has missed what was written since generation 1, at ",
        "Whatever was written since generation 3 may be lost",
        "nothing was written: there is no terminal to ask on; say --yes",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(written_at(folder.path()), before);

    let mut served =
        Served::start(folder.path(), &arguments(folder.path(), &["--force-assembly", "--yes"]));
    let mut client = served.connect();
    assert_eq!(read(&mut client, 0, content.len() as u32).unwrap(), content);
    assert!(served.status().degraded);
    served.done(&AdminCommand::Replace { drive: 2, path: None });
    assert!(!served.wait_for_restoring().degraded);
    assert_eq!(served.scrub(), 0);
    assert_eq!(read(&mut client, 0, content.len() as u32).unwrap(), content);
    drop(client);
    assert!(served.terminate());
    // From here on it is an array like any other.
    let mut served = Served::start(folder.path(), &arguments(folder.path(), &["--force-assembly"]));
    drop(served.connect());
    assert!(!served.status().degraded);
    assert!(served.terminate());
}

#[test]
fn what_cannot_be_forced_is_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path(), &[]));
    drop(served.connect());
    assert!(served.terminate());
    for drive in [0, 1] {
        std::fs::write(folder.path().join(format!("d/drive-{drive}")), [0; 5000]).unwrap();
    }
    let said = refusal(folder.path(), &["--degraded"]);
    assert!(said.contains("missing") && !said.contains("--force-assembly"), "{said}");
    let said = refusal(folder.path(), &["--force-assembly", "--yes"]);
    assert!(said.contains("--force-assembly cannot help: 2 drives are missing"), "{said}");
}
