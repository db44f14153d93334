//! A terminal in a folder of its own, in which the commands of a document are typed.

use rustix::process::{Pid, Signal, kill_process_group};
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest that a server may take to start, and a command to end.
const PATIENCE: Duration = Duration::from_secs(240);

/// An installed `ioda` to type the documents with; `scripts/first-hour` sets it.
const PROGRAM: &str = "IODA_PROGRAM";

/// What a server is given unless it is typed: less memory and time, and a port that is free.
const SERVER_OPTIONS: [(&str, &str); 3] = [
    ("--no-prefill", "--no-prefill"),
    ("--http", "--http 9640"),
    ("--plain", "--blocks-per-plane 20"),
];

/// What a command left behind.
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    /// Both channels together.
    pub(super) printed: String,
}

/// A terminal.
pub(super) struct Terminal {
    folder: TempDir,
    /// What stands in documents, and what is typed for it.
    places: Vec<(&'static str, String)>,
    server: Option<Child>,
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The program that is typed: the one that is tested, or another that is named.
fn program() -> PathBuf {
    let named = std::env::var_os(PROGRAM);
    named.map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_ioda")), PathBuf::from)
}

/// `N` ports that differ and are free. The kernel gives none of them to a connection meanwhile: they
/// lie below the range that it gives from (`ip_local_port_range`, 32,768 and up unless changed).
fn free_ports<const N: usize>() -> [String; N] {
    let bind = || {
        let random = RandomState::new().hash_one(std::process::id());
        let port = 20_000 + u16::try_from(random % 12_000).unwrap();
        TcpListener::bind(("127.0.0.1", port)).ok()
    };
    // All are held until the last is found.
    let listeners =
        std::array::from_fn::<_, N, _>(|_| std::iter::repeat_with(bind).flatten().next());
    listeners.map(|listener| listener.unwrap().local_addr().unwrap().port().to_string())
}

impl Terminal {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| format!("{}/{name}", folder.path().display());
        let [page, nbd] = free_ports();
        let places = vec![
            ("/tmp/", below("")),
            ("/srv/", below("srv-")),
            ("/dev/loop", below("loop")),
            // A drive of whoever runs the tests must not be written.
            ("/dev/nvme", below("nvme")),
            ("/var/lib/ioda/", below("lib-")),
            ("nbds://localhost/", format!("nbds://localhost:{nbd}/")),
            ("9640", page),
            ("10809", nbd),
        ];
        Self { folder, places, server: None }
    }

    /// Writes a file of the document.
    pub(super) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), self.here(text)).unwrap();
    }

    /// A text with this folder and these ports for those of the documents.
    fn here(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (written, typed) in &self.places {
            text = text.replace(written, typed);
        }
        text
    }

    /// The other way round.
    fn there(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (written, typed) in self.places.iter().rev() {
            text = text.replace(typed, written);
        }
        // The drives are smaller than those of the preset, which the server says.
        text.replace("(live, changed)", "(live)")
    }

    /// Types a command and waits for its end, or until what it serves can be reached. What was
    /// served before ends.
    pub(super) fn run(&mut self, command: &str) -> Ran {
        let is_server = command.starts_with("ioda serve") && !command.ends_with('&');
        match is_server {
            true => {
                let code = self.serve(command);
                self.ran(code, ".served")
            }
            false => self.run_in_front(command),
        }
    }

    /// Types a command and waits for its end.
    pub(super) fn run_in_front(&self, command: &str) -> Ran {
        let code = self.typed(command);
        self.ran(code, ".printed")
    }

    fn ran(&self, code: Option<i32>, log: &str) -> Ran {
        let printed = std::fs::read(self.folder.path().join(log)).unwrap_or_default();
        Ran { code, printed: self.there(&String::from_utf8_lossy(&printed)) }
    }

    fn shell(&self, script: &str, command: &str) -> Command {
        let ioda = program();
        let ioda = ioda.parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("bash");
        shell
            .args(["-c", script, &self.here(command)])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}:/usr/sbin:/sbin", ioda.display()))
            .env("ROOT", root())
            .env("TESTS", std::env::current_exe().unwrap())
            .env("SERVER", self.server.as_ref().map_or(0, Child::id).to_string())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("COLUMNS", "100")
            .env_remove("IODA_LOG")
            .stdin(Stdio::null());
        shell
    }

    fn typed(&self, command: &str) -> Option<i32> {
        let mut shell = self.shell("exec >.printed 2>&1; eval \"$0\"", command);
        // In a group of its own, so that nothing of it outlives its time.
        let mut child = shell.process_group(0).spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            match child.try_wait().unwrap() {
                Some(status) => return status.code(),
                None if Instant::now() > until => {
                    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                    return child.wait().unwrap().code();
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Starts a server. Returns how it ended if it did not start.
    fn serve(&mut self, command: &str) -> Option<i32> {
        self.end();
        let mut command = command.to_owned();
        for (option, added) in SERVER_OPTIONS {
            // A file of settings says which drives.
            let is_in_file = option == "--plain" && command.contains("--config");
            if !is_in_file && !command.contains(option) {
                command = format!("{command} {added}");
            }
        }
        let shell = self.shell("exec >.served 2>&1; eval \"exec $0\"", &command).spawn();
        self.server = Some(shell.unwrap());
        let until = Instant::now() + PATIENCE;
        while self.typed("ioda ctl status") != Some(0) {
            if let Some(status) = self.server.as_mut().and_then(|child| child.try_wait().unwrap()) {
                self.server = None;
                return status.code();
            }
            if Instant::now() > until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(0)
    }

    /// Has what is served end, if anything is.
    fn end(&mut self) {
        if let Some(mut child) = self.server.take() {
            self.typed("ioda ctl shutdown");
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.end();
        // Whatever a wrong document has left running ends.
        self.typed("ioda ctl shutdown");
    }
}
