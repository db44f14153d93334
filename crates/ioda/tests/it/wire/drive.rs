//! A running `ioda drive`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A drive in a process of its own, with its bytes in a file.
pub(crate) struct DriveProcess {
    child: Child,
    arguments: Vec<String>,
    log: PathBuf,
    port: u16,
}

impl DriveProcess {
    /// Starts one; `arguments` say which.
    pub(crate) fn start(folder: &Path, number: usize, arguments: &[&str]) -> Self {
        let storage = folder.join(format!("drive-{number}")).display().to_string();
        Self::start_on(&storage, folder, number, arguments)
    }

    /// The same with its bytes in another place.
    pub(crate) fn start_on(
        storage: &str,
        folder: &Path,
        number: usize,
        arguments: &[&str],
    ) -> Self {
        let log = folder.join(format!("drive-{number}.log"));
        let mut all: Vec<String> =
            ["drive", "--json", "--address", "127.0.0.1:0"].map(String::from).to_vec();
        all.extend(["--nqn".into(), nqn(number)]);
        all.extend(["--storage".into(), storage.into()]);
        all.extend(arguments.iter().map(|&word| word.to_owned()));
        let (child, port) = spawn(&all, &log);
        Self { child, arguments: all, log, port }
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, after it was killed.
    pub(crate) fn start_again(&mut self) {
        (self.child, self.port) = spawn(&self.arguments, &self.log);
    }

    /// What it has said.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for DriveProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The name of a drive.
pub(crate) fn nqn(number: usize) -> String {
    format!("nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-{number:012}")
}

/// The process, and the port that it says it listens at.
fn spawn(arguments: &[String], log: &Path) -> (Child, u16) {
    let stderr = std::fs::File::options().create(true).append(true).open(log).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ioda"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| {
        panic!("{error}: {line:?}: {}", std::fs::read_to_string(log).unwrap())
    });
    let address = ready["addresses"][0].as_str().expect("where it listens");
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("no port in {line}")))
}
