//! An array that the real binary serves.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test without its server fails")]

use live::control::{AdminCommand, Answer, Status};
use live::nbd::client::Client;
use live::operate::ctl;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `ioda serve`.
pub(crate) struct Served {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

/// Whether the directory for drives that `arguments` name is still to be made, and `--create` not
/// said.
fn is_new(arguments: &[String]) -> bool {
    let named = arguments.iter().position(|argument| argument == "--storage");
    let storage = named.and_then(|position| arguments.get(position + 1));
    let is_folder = |storage: &&String| !storage.contains(',') && !storage.contains("://");
    !arguments.iter().any(|argument| argument == "--create")
        && storage.filter(is_folder).is_some_and(|folder| !Path::new(folder).exists())
}

impl Served {
    /// Serves with `arguments`, and makes the array if the directory for its drives is not there;
    /// sockets are in `folder`.
    pub(crate) fn start(folder: &Path, arguments: &[String]) -> Self {
        Self::start_by(&[], folder, arguments)
    }

    /// The same by a program that is given the command line behind its own.
    pub(crate) fn start_by(program: &[&str], folder: &Path, arguments: &[String]) -> Self {
        let socket = folder.join("s");
        let log = folder.join("log");
        let stderr = std::fs::File::create(&log).unwrap();
        // Nothing may rely on the umask to keep others out. Tests may run under `nohup`, which
        // would have the server ignore a closed terminal.
        let child = Command::new("env")
            .args(["--default-signal=HUP", "sh", "-c", "umask 0; exec \"$0\" \"$@\""])
            .args(program)
            .arg(env!("CARGO_BIN_EXE_ioda"))
            .args(["--log", "info", "serve", "--quiet", "--http", "none", "--address"])
            .arg(&socket)
            .arg("--check-invariants")
            .args(arguments)
            .args(is_new(arguments).then_some("--create"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        Self { child, socket, log }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection, as soon as there is somebody to connect to.
    pub(crate) fn connect(&mut self) -> Client {
        let uri = format!("nbd+unix:///?socket={}", self.socket.display()).parse().unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the server ended with {status}: {}", self.said());
            }
            match Client::connect(&uri) {
                Ok(client) => return client,
                Err(error) if Instant::now() > until => panic!("{error}: {}", self.said()),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// What it has said on stderr.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn ask(&self, order: &AdminCommand) -> Answer {
        let path = ctl::control_socket(&self.socket);
        let until = Instant::now() + PATIENCE;
        loop {
            match ctl::Client::connect(&path, PATIENCE) {
                Ok(mut client) => return client.ask(order).unwrap(),
                Err(error) if Instant::now() > until => panic!("{error}: {}", self.said()),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Asks once; nothing if the server goes before it answers.
    pub(crate) fn try_ask(&self, order: &AdminCommand) -> Option<Answer> {
        let path = ctl::control_socket(&self.socket);
        ctl::Client::connect(&path, PATIENCE).ok()?.ask(order).ok()
    }

    pub(crate) fn done(&self, order: &AdminCommand) -> String {
        match self.ask(order) {
            Answer::Done { text } => text,
            answer => panic!("{order:?}: {answer:?}: {}", self.said()),
        }
    }

    pub(crate) fn status(&self) -> Status {
        match self.ask(&AdminCommand::Status) {
            Answer::Status(status) => *status,
            answer => panic!("{answer:?}"),
        }
    }

    /// Waits until nothing is being restored.
    pub(crate) fn wait_for_restoring(&self) -> Status {
        let until = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            // A rebuild has ended when the superblocks say so.
            let rebuilding = status.drives.iter().any(|drive| drive.state == "rebuilding");
            if status.restoring.is_none() && !rebuilding {
                return status;
            }
            assert!(Instant::now() < until, "{:?}: {}", status.restoring, self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Compares all parity; returns how many stripes were wrong.
    pub(crate) fn scrub(&self) -> u64 {
        self.done(&AdminCommand::Scrub { repair: false });
        let mut mismatches = 0;
        let until = Instant::now() + PATIENCE;
        while let Some(restoring) = self.status().restoring {
            mismatches = restoring.mismatches;
            assert!(Instant::now() < until, "the scrub does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
        mismatches.max(self.scrubbed())
    }

    /// What the log says about the last scrub.
    fn scrubbed(&self) -> u64 {
        let log = self.said();
        let line = log.lines().rev().find(|line| line.contains("every stripe was read"));
        let Some(line) = line else { panic!("no scrub has ended: {log}") };
        let (_, count) = line.split_once("mismatches=").unwrap();
        count.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    /// A connection; `None` if the server refuses to start.
    pub(crate) fn try_connect(&mut self) -> Option<Client> {
        let uri = format!("nbd+unix:///?socket={}", self.socket.display()).parse().unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            if self.child.try_wait().unwrap().is_some() {
                return None;
            }
            match Client::connect(&uri) {
                Ok(client) => return Some(client),
                Err(error) => assert!(Instant::now() < until, "{error}: {}", self.said()),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until it ends by itself; with which exit code.
    pub(crate) fn end_by_itself(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on: {}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        Command::new("kill").args(["-s", signal, &self.pid().to_string()]).status().unwrap();
    }

    /// Asks it to end, and waits. Returns whether it ended well.
    pub(crate) fn terminate(self) -> bool {
        self.end_by("TERM")
    }

    /// Sends it a signal, and waits. Returns whether it ended well.
    pub(crate) fn end_by(mut self, signal: &str) -> bool {
        self.signal(signal);
        self.child.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the server said: {}", self.said());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One read, waited for; the error number if it failed.
pub(crate) fn read(client: &mut Client, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
    client.send_read(u64::MAX, offset, length);
    wait(client)
}

/// One flush, waited for.
pub(crate) fn flush(client: &mut Client) -> Result<Vec<u8>, u32> {
    client.send_flush(u64::MAX);
    wait(client)
}

/// One write, waited for.
pub(crate) fn write(client: &mut Client, offset: u64, data: &[u8]) -> Result<Vec<u8>, u32> {
    client.send_write(u64::MAX, offset, data, false);
    wait(client)
}

fn wait(client: &mut Client) -> Result<Vec<u8>, u32> {
    let until = Instant::now() + PATIENCE;
    loop {
        client.flush().unwrap();
        if let Some(reply) = client.receive().unwrap() {
            return if reply.error == 0 { Ok(reply.data.to_vec()) } else { Err(reply.error) };
        }
        assert!(Instant::now() < until, "no answer");
        std::thread::sleep(Duration::from_micros(20));
    }
}
