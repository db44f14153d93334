//! An array that the real binary serves, and a client that remembers what it wrote.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test without its server fails")]

use live::control::{AdminCommand, Answer, Status};
use live::nbd::client::Client;
use live::operate::ctl;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use units::Rng;

/// Longest that anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `ioda serve`.
pub(crate) struct Served {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Served {
    /// Serves with `arguments`; sockets are in `folder`.
    pub(crate) fn start(folder: &Path, arguments: &[String]) -> Self {
        let socket = folder.join("s");
        let log = folder.join("log");
        let stderr = std::fs::File::create(&log).unwrap();
        // Nothing may rely on the umask to keep others out. Tests may run under `nohup`, which would
        // have the server ignore a closed terminal.
        let child = Command::new("env")
            .args(["--default-signal=HUP", "sh", "-c", "umask 0; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_ioda"))
            .args(["--log", "info", "serve", "--quiet", "--http", "none", "--listen"])
            .arg(&socket)
            .args(arguments)
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
        self.done(&AdminCommand::Scrub);
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

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits. Returns whether it ended well.
    pub(crate) fn terminate(self) -> bool {
        self.end_by("TERM")
    }

    /// Sends it a signal, and waits. Returns whether it ended well.
    pub(crate) fn end_by(mut self, signal: &str) -> bool {
        Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
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

pub(crate) const BLOCK: usize = 4096;
/// Blocks of the longest request.
const LONGEST: u64 = 24;

/// What a block may hold: the version that was flushed, or any later one. Version 0 is zeros.
#[derive(Clone, Copy, Default)]
struct Versions {
    flushed: u64,
    answered: u64,
    sent: u64,
}

enum Asked {
    Read,
    Write,
    /// A flush, and what had been answered when it was sent.
    Flush(BTreeMap<u64, u64>),
}

/// A client that checks what it reads.
pub(crate) struct Checker {
    pub(crate) random: Rng,
    blocks: u64,
    versions: BTreeMap<u64, Versions>,
    next_version: u64,
    out: HashMap<u64, (Asked, u64, u64)>,
    busy: BTreeSet<u64>,
    next_cookie: u64,
    /// Requests that may be answered with an error.
    pub(crate) errors_allowed: bool,
    pub(crate) errors: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
}

fn fill(block: u64, version: u64, into: &mut [u8]) {
    let mut random = Rng::new(version.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ block);
    for (index, word) in into.chunks_exact_mut(8).enumerate() {
        let value = match index {
            _ if version == 0 => 0,
            0 => version,
            1 => block,
            _ => random.next_u64(),
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
}

impl Checker {
    pub(crate) fn new(seed: u64, blocks: u64) -> Self {
        Self {
            random: Rng::new(seed),
            blocks,
            versions: BTreeMap::new(),
            next_version: 1,
            out: HashMap::new(),
            busy: BTreeSet::new(),
            next_cookie: 0,
            errors_allowed: false,
            errors: 0,
            reads: 0,
            writes: 0,
            flushes: 0,
        }
    }

    /// Keeps `depth` requests out until `until`, or until the server is gone.
    pub(crate) fn run(&mut self, client: &mut Client, depth: usize, until: Instant) {
        loop {
            while self.out.len() < depth && Instant::now() < until {
                self.send(client);
            }
            if self.out.is_empty() || !self.exchange(client) {
                return;
            }
        }
    }

    fn exchange(&mut self, client: &mut Client) -> bool {
        if client.flush().is_err() {
            return false;
        }
        let mut any = false;
        loop {
            match client.receive() {
                Err(_) => return false,
                Ok(None) => break,
                Ok(Some(reply)) => {
                    any = true;
                    let (cookie, error) = (reply.cookie, reply.error);
                    let data = reply.data.to_vec();
                    self.answered(cookie, error, &data);
                }
            }
        }
        if !any {
            std::thread::sleep(Duration::from_micros(100));
        }
        true
    }

    fn send(&mut self, client: &mut Client) {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        if self.random.next_u64().is_multiple_of(24) {
            client.send_flush(cookie);
            let answered = self.versions.iter().map(|(&block, v)| (block, v.answered)).collect();
            self.out.insert(cookie, (Asked::Flush(answered), 0, 0));
            return;
        }
        let count = 1 + self.random.next_u64() % LONGEST;
        let first = self.random.next_u64() % (self.blocks - count);
        if self.busy.range(first..first + count).next().is_some() {
            return;
        }
        self.busy.extend(first..first + count);
        let length = count as usize * BLOCK;
        if self.random.next_u64().is_multiple_of(3) {
            client.send_read(cookie, first * BLOCK as u64, length as u32);
            self.out.insert(cookie, (Asked::Read, first, count));
            return;
        }
        let version = self.next_version;
        self.next_version += 1;
        let mut data = vec![0; length];
        for (block, bytes) in (first..).zip(data.chunks_exact_mut(BLOCK)) {
            fill(block, version, bytes);
            self.versions.entry(block).or_default().sent = version;
        }
        client.send_write(cookie, first * BLOCK as u64, &data, false);
        self.out.insert(cookie, (Asked::Write, first, count));
    }

    fn answered(&mut self, cookie: u64, error: u32, data: &[u8]) {
        let (asked, first, count) = self.out.remove(&cookie).expect("it was asked");
        if error != 0 {
            self.errors += 1;
            assert!(self.errors_allowed, "a request of blocks {first}+{count}: error {error}");
        }
        for block in first..first + count {
            self.busy.remove(&block);
        }
        match asked {
            Asked::Read if error == 0 => {
                self.reads += 1;
                for (block, bytes) in (first..).zip(data.chunks_exact(BLOCK)) {
                    let versions = self.versions.get(&block).copied().unwrap_or_default();
                    // A write that failed may or may not have come through.
                    self.check(block, bytes, versions.answered, versions.sent);
                }
            }
            Asked::Write if error == 0 => {
                self.writes += 1;
                for block in first..first + count {
                    let versions = self.versions.entry(block).or_default();
                    versions.answered = versions.sent;
                }
            }
            Asked::Flush(answered) if error == 0 => {
                self.flushes += 1;
                for (block, version) in answered {
                    let versions = self.versions.entry(block).or_default();
                    versions.flushed = versions.flushed.max(version);
                }
            }
            Asked::Read | Asked::Write | Asked::Flush(_) => {}
        }
    }

    /// Checks that a block holds a version between two.
    fn check(&self, block: u64, bytes: &[u8], oldest: u64, newest: u64) -> u64 {
        let version = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let mut expected = vec![0; BLOCK];
        fill(block, version, &mut expected);
        assert!(
            bytes == expected && (oldest..=newest).contains(&version),
            "block {block} holds version {version} (whole: {}), not one of {oldest} to {newest}",
            bytes == expected
        );
        version
    }

    /// After the server was killed: nothing is under way.
    pub(crate) fn forget_what_is_out(&mut self) {
        self.out.clear();
        self.busy.clear();
    }

    /// Reads every block, which must hold what was flushed or something later; from now on it holds
    /// what was found.
    pub(crate) fn check_all(&mut self, client: &mut Client) {
        let blocks: Vec<u64> = self.versions.keys().copied().collect();
        for block in blocks {
            let bytes = read(client, block * BLOCK as u64, BLOCK as u32).expect("it is readable");
            let versions = self.versions[&block];
            let found = self.check(block, &bytes, versions.flushed, versions.sent);
            let same = Versions { flushed: found, answered: found, sent: found };
            self.versions.insert(block, same);
        }
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
