//! Tests that need a process of their own: they count the threads of the process, take all its file
//! descriptors, or end it.
#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::process::{Command, Output};

/// Set in the process that runs one test alone.
const CHILD: &str = "IODA_TEST_OWN_PROCESS";

/// Runs `test`, named as `cargo test` lists it, in a process of its own and gives what came of it.
/// Gives nothing in that process, where the test has to do its work.
pub(crate) fn run(test: &str) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    // Under `nohup` it would ignore a closed terminal.
    let mut child = Command::new("env");
    child.arg("--default-signal=HUP").arg(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test);
    Some(child.output().unwrap())
}
