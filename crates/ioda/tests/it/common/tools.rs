//! Programs of other people that tests use where they are installed.

use super::served::Served;
use std::process::{Command, Stdio};

/// Whether all `programs` are installed; otherwise says which is not.
pub(crate) fn have(what: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let missing = programs.iter().find(|&&program| {
        // What root uses is not in everybody's path.
        let more = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
        !folders.iter().chain(&more).any(|folder| folder.join(program).is_file())
    });
    if let Some(missing) = missing {
        println!("skipped: {what}, because {missing} is not installed");
    }
    missing.is_none()
}

/// Whether this fio was built with an engine for NBD; otherwise says that it was not.
pub(crate) fn fio_speaks_nbd() -> bool {
    let engines = Command::new("fio").arg("--enghelp").output().unwrap();
    let speaks = String::from_utf8_lossy(&engines.stdout).lines().any(|line| line.trim() == "nbd");
    if !speaks {
        println!("skipped: fio, because it was built without its engine for NBD");
    }
    speaks
}

/// Whether everything is to be run.
pub(crate) fn long() -> bool {
    number("IODA_LONG", 0) > 0
}

/// A number of the environment.
pub(crate) fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Where clients find an array.
pub(crate) fn uri(served: &Served) -> String {
    format!("nbd+unix:///?socket={}", served.socket().display())
}

/// Runs a program that must succeed; returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}{complaints}");
    said
}
