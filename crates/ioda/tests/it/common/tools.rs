//! Programs of other people that tests use where they are installed.

use super::served::Served;
use std::process::{Command, Stdio};
pub(crate) use testing::tools::have;

/// Whether this fio was built with an engine for NBD; otherwise says that it was not.
pub(crate) fn fio_speaks_nbd() -> bool {
    let engines = Command::new("fio").arg("--enghelp").output().unwrap();
    let speaks = String::from_utf8_lossy(&engines.stdout).lines().any(|line| line.trim() == "nbd");
    if !speaks {
        testing::tools::skip("fio", "it was built without its engine for NBD");
    }
    speaks
}

/// Whether everything is to be run.
pub(crate) fn long() -> bool {
    testing::setting("IODA_LONG", 0) > 0
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
