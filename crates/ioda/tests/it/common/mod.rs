//! Runs the real binary.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot run its command fails")]
#![allow(clippy::print_stdout, reason = "a test says what it skips and what a server said")]

pub(crate) mod checker;
pub(crate) mod kept;
pub(crate) mod mounted;
pub(crate) mod schemas;
pub(crate) mod served;
pub(crate) mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What a run of the command left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The JSON document on stdout, which is as its schema says.
    pub(crate) fn json(&self) -> serde_json::Value {
        let document = self.foreign_json();
        schemas::validate(&document);
        document
    }

    /// The JSON document on stdout in the layout of another program.
    pub(crate) fn foreign_json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}\nstderr: {}", self.stdout, self.stderr))
    }
}

/// Runs `ioda` with `arguments` in `folder`.
pub(crate) fn ioda_in(folder: &Path, arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_ioda"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs `ioda` with `arguments` where the test data lies.
pub(crate) fn ioda(arguments: &[&str]) -> Ran {
    ioda_in(&data(), arguments)
}

/// The folder of the test data.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Options for an array of tiny drives that collect all the time.
pub(crate) const TINY: [&str; 3] = ["--config", "tiny.toml", "--quiet"];

/// `arguments` on the tiny array.
pub(crate) fn tiny(command: &str, arguments: &[&str]) -> Ran {
    let mut all = vec![command];
    all.extend(TINY);
    all.extend(arguments);
    ioda(&all)
}

pub(crate) fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
