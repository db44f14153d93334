//! An array that loses its power again and again.
#![allow(clippy::unwrap_used, reason = "a test without its server fails")]

use super::Damage;
use crate::common::checker::Checker;
use crate::common::pause;
use crate::common::served::Served;
use crate::forgetful::Forgetful;
use live::control::AdminCommand;
use live::nbd::client::Client;
use std::time::{Duration, Instant};
use units::Rng;

/// Blocks that the client writes: a part of the array, so that they are written again and again.
const BLOCKS: u64 = 2000;
/// Longest that a sequence may wait for a command of the server to reach its files.
const CUT_PATIENCE: Duration = Duration::from_secs(3);

/// What array it is.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) level: &'static str,
    pub(crate) drives: u8,
    /// How many drives may be missing.
    pub(crate) redundancy: u32,
    /// `--journal always`.
    pub(crate) always: bool,
    pub(crate) more: Vec<String>,
}

impl Shape {
    pub(crate) fn new(level: &'static str, drives: u8, always: bool) -> Self {
        let redundancy = match level {
            "0" => 0,
            "6" => 2,
            _ => 1,
        };
        let more = ["--plain", "--drive-size", "8m", "--chunk", "16k"].map(String::from);
        Self { level, drives, redundancy, always, more: more.into() }
    }

    fn arguments(&self, files: &Forgetful) -> Vec<String> {
        let drives = self.drives.to_string();
        let mut arguments: Vec<String> =
            ["--raid", self.level, "--drives", &drives].map(String::from).into();
        arguments.extend(["--storage".into(), files.at("d").display().to_string()]);
        arguments.extend(self.more.iter().cloned());
        if ["4", "5", "6"].contains(&self.level) {
            let journal = if self.always { "always" } else { "degraded" };
            arguments.extend(["--journal", journal].map(String::from));
        }
        arguments
    }
}

/// The array, its files, and who knows what must be on it.
pub(crate) struct Life {
    pub(crate) shape: Shape,
    pub(crate) checker: Checker,
    client: Option<Client>,
    served: Option<Served>,
    // Unmounted when the server is gone.
    pub(crate) files: Forgetful,
    folder: tempfile::TempDir,
    /// Whether the array was served.
    is_made: bool,
    /// Whether drives may be absent at the next start.
    degraded: bool,
    /// Drives whose failure was answered for.
    failed: u64,
    /// Drives whose files may be unknown to the array, as bits: they are blank before they are
    /// replaced.
    strange: u64,
}

impl Life {
    /// Makes a new array; `None` where FUSE cannot be mounted.
    pub(crate) fn new(shape: Shape, seed: u64) -> Option<Self> {
        let files = Forgetful::mount("power cuts below the real server")?;
        Some(Self {
            shape,
            checker: Checker::new(seed ^ 0x5eed, BLOCKS),
            client: None,
            served: None,
            files,
            folder: tempfile::tempdir().unwrap(),
            is_made: false,
            degraded: false,
            failed: 0,
            strange: 0,
        })
    }

    pub(crate) fn served(&self) -> &Served {
        self.served.as_ref().expect("it serves")
    }

    /// Starts the server, and checks everything that is there.
    pub(crate) fn start(&mut self) {
        let mut arguments = self.shape.arguments(&self.files);
        if self.degraded {
            arguments.push("--degraded".into());
        }
        let mut served = Served::start(self.folder.path(), &arguments);
        let mut client = match served.try_connect() {
            Some(client) => client,
            // What is cut short before anything was answered is made again.
            None if !self.is_made && served.said().contains("--create") => {
                arguments.push("--create".into());
                served = Served::start(self.folder.path(), &arguments);
                served.connect()
            }
            None => panic!("it does not start: {}", served.said()),
        };
        self.is_made = true;
        self.checker.forget_what_is_out();
        self.checker.check_all(&mut client);
        (self.served, self.client) = (Some(served), Some(client));
        let absent = self.absent();
        assert!(absent == 0 || self.degraded, "drives {absent:b} are absent: {}", self.said());
        assert_eq!(absent & self.failed, self.failed, "a failure was forgotten: {}", self.said());
    }

    /// Starts the server, whose power may go before anybody reaches it.
    pub(crate) fn start_until_cut(&mut self, seed: u64) {
        self.served = Some(Served::start(self.folder.path(), &self.shape.arguments(&self.files)));
        if !self.files.wait_for_cut(CUT_PATIENCE) {
            self.files.cut(seed);
        }
        kill(self.served(), &self.files);
        self.bury();
    }

    pub(crate) fn said(&self) -> String {
        self.served().said()
    }

    /// The drives that do not serve.
    pub(crate) fn absent(&self) -> u64 {
        let drives = self.served().status().drives;
        let absent = drives.iter().filter(|drive| drive.state != "serving");
        absent.map(|drive| 1 << drive.drive).sum()
    }

    /// The drives that have failed and are not being rebuilt.
    pub(crate) fn failed(&self) -> u64 {
        let drives = self.served().status().drives;
        let failed = drives.iter().filter(|drive| drive.state == "failed");
        failed.map(|drive| 1 << drive.drive).sum()
    }

    /// Whether something is resynced or rebuilt, or that has not been written down.
    pub(crate) fn is_restoring(&self) -> bool {
        let status = self.served().status();
        let rebuilding = status.drives.iter().any(|drive| drive.state == "rebuilding");
        rebuilding || status.restoring.is_some()
    }

    /// Waits until nothing is resynced or rebuilt; then everything must be as it was.
    pub(crate) fn settle(&mut self) {
        self.served().wait_for_restoring();
        if let Some(client) = &mut self.client {
            self.checker.check_all(client);
        }
    }

    /// Waits under load until a drive is called serving.
    pub(crate) fn load_until_serving(&mut self, depth: usize, drive: u8) {
        let until = Instant::now() + Duration::from_secs(120);
        self.load_during(depth, |served, _| {
            while served.status().drives[usize::from(drive)].state != "serving" {
                assert!(Instant::now() < until, "the rebuild does not end: {}", served.said());
                pause(1);
            }
        });
    }

    /// Compares parity and data, as long as all drives are there.
    pub(crate) fn scrub(&self) {
        if self.absent() == 0 && self.shape.level != "0" {
            assert_eq!(self.served().scrub(), 0, "parity does not match: {}", self.said());
        }
    }

    /// The client's load while something else is done, and until it is done.
    pub(crate) fn load_during<T: Send>(
        &mut self,
        depth: usize,
        meanwhile: impl FnOnce(&Served, &Forgetful) -> T + Send,
    ) -> T {
        let Self { checker, client, served, files, .. } = self;
        let (Some(client), Some(served)) = (client, served) else { panic!("it serves") };
        let (served, files) = (&*served, &*files);
        checker.run_during(client, depth, move || meanwhile(served, files))
    }

    /// The client's load for a while.
    pub(crate) fn load(&mut self, depth: usize, milliseconds: u64) {
        self.load_during(depth, |_, _| pause(milliseconds));
    }

    pub(crate) fn fail(&mut self, drive: u8) {
        self.degraded = true;
        self.served().done(&AdminCommand::Fail { drive, force: false });
        self.failed |= 1 << drive;
    }

    pub(crate) fn replace(&mut self, drive: u8) {
        self.make_known(drive);
        self.failed &= !(1 << drive);
        self.served().done(&AdminCommand::Replace { drive, path: None });
    }

    /// The power goes after a while under load.
    pub(crate) fn cut_after(&mut self, depth: usize, milliseconds: u64, seed: u64) {
        self.load_during(depth, |served, files| {
            pause(milliseconds);
            files.cut(seed);
            kill(served, files);
        });
        self.bury();
    }

    /// The power goes after `count` more writes and syncs of files, which begin with an order.
    pub(crate) fn cut_at_order(
        &mut self,
        depth: usize,
        order: &AdminCommand,
        count: u64,
        seed: u64,
    ) {
        match order {
            AdminCommand::Fail { .. } => self.degraded = true,
            AdminCommand::Replace { drive, .. } => {
                self.make_known(*drive);
                self.failed &= !(1 << drive);
            }
            _ => {}
        }
        self.load_during(depth, |served, files| {
            std::thread::scope(|scope| {
                files.cut_after(count, seed);
                // Who has no power does not answer.
                scope.spawn(|| served.try_ask(order));
                if !files.wait_for_cut(CUT_PATIENCE) {
                    files.cut(seed);
                }
                kill(served, files);
            });
        });
        self.bury();
    }

    /// The process is killed, and its files lose nothing.
    pub(crate) fn kill_after(&mut self, depth: usize, milliseconds: u64) {
        self.load_during(depth, |served, files| {
            pause(milliseconds);
            kill(served, files);
        });
        self.bury();
    }

    /// What was killed goes, and the power comes back.
    pub(crate) fn bury(&mut self) {
        self.client = None;
        if let Some(served) = self.served.take() {
            served.kill();
        }
        self.files.power_on();
    }

    /// A drive does not come back after the crash.
    pub(crate) fn lose_drive(&mut self, drive: u8) {
        self.degraded = true;
        self.remove(drive);
        self.checker.drive_lost();
    }

    fn remove(&self, drive: u8) {
        let folder = self.files.at("d");
        let path = folder.join(format!("drive-{drive}"));
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
        std::fs::File::open(&folder).unwrap().sync_all().unwrap();
    }

    /// A drive holds something else after the crash, and may be left out because of that.
    pub(crate) fn damage(&mut self, drive: u8, damage: Damage, random: &mut Rng) {
        let path = self.files.at("d").join(format!("drive-{drive}"));
        if path.exists() {
            damage.strike(&path, random);
            self.degraded = true;
            self.strange |= 1 << drive;
            self.checker.drive_lost();
        }
    }

    /// Removes what a drive holds that may be no drive of the array any more.
    fn make_known(&mut self, drive: u8) {
        if self.strange >> drive & 1 == 1 {
            self.strange &= !(1 << drive);
            self.remove(drive);
        }
    }

    /// Makes the array whole, looks at everything once more, and ends cleanly.
    pub(crate) fn end(mut self) {
        self.start();
        self.end_from_here();
    }

    /// The same, of one that serves.
    pub(crate) fn end_from_here(mut self) {
        self.make_whole();
        self.scrub();
        self.client = None;
        let served = self.served.take().unwrap();
        assert!(served.terminate(), "a clean end");
    }

    /// Replaces what failed, and waits until it is rebuilt.
    pub(crate) fn make_whole(&mut self) {
        self.settle();
        for drive in 0..self.shape.drives {
            if self.failed() >> drive & 1 == 1 {
                self.replace(drive);
                self.settle();
            }
        }
        assert_eq!(self.absent(), 0, "{}", self.said());
        self.degraded = false;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // A server that waits for its files cannot be killed.
        self.files.refuse();
    }
}

/// Kills a server. It keeps its sockets until its last request to the files is answered.
pub(crate) fn kill(served: &Served, files: &Forgetful) {
    served.signal("KILL");
    files.refuse();
}
