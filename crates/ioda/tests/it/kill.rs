//! Arrays on files are killed at random moments under load: no flushed write is lost, parity is
//! right after the resync, also with drives missing and during a rebuild.
//!
//! `IODA_KILLS` sets how often (12 unless it is set), `IODA_SEED` with which draws.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::checker::Checker;
use crate::common::served::Served;
use live::control::AdminCommand;
use std::time::{Duration, Instant};
use units::Rng;

/// One array that is killed again and again.
struct Victim {
    random: Rng,
    folder: tempfile::TempDir,
    arguments: Vec<String>,
    drives: u8,
    parities: u32,
    failed: u64,
    rebuilding: bool,
    checker: Checker,
}

impl Victim {
    fn new(seed: u64) -> Self {
        let mut random = Rng::new(seed);
        let levels = [("5", 4u8, 1), ("6", 5, 2), ("10", 4, 1), ("4", 3, 1), ("6", 4, 2)];
        let (level, drives, parities) = levels[(random.next_u64() % 5) as usize];
        let chunk = ["4k", "16k", "64k"][(random.next_u64() % 3) as usize];
        let folder = tempfile::tempdir().unwrap();
        let emulated = random.next_u64().is_multiple_of(3);
        let policy = ["ioda", "base", "rails", "hedged"][(random.next_u64() % 4) as usize];
        let mut arguments: Vec<String> = ["--raid", level, "--drives"].map(String::from).to_vec();
        arguments.extend([drives.to_string(), "--chunk".into(), chunk.into()]);
        arguments.extend(["--storage".into(), folder.path().join("d").display().to_string()]);
        match emulated {
            true => {
                let words = ["--precondition", "fresh", "--blocks-per-plane", "20"];
                arguments.extend(words.map(String::from));
                arguments.extend(["--policy".into(), policy.into()]);
            }
            false => arguments.extend(["--plain", "--drive-size", "16m"].map(String::from)),
        }
        // A part of the array, so that blocks are written again and again.
        let checker = Checker::new(seed ^ 0x5eed, 3000);
        let (failed, rebuilding) = (0, false);
        Self { random, folder, arguments, drives, parities, failed, rebuilding, checker }
    }

    fn start(&self) -> Served {
        let mut arguments = self.arguments.clone();
        if self.failed != 0 || self.rebuilding {
            arguments.push("--degraded".into());
        }
        Served::start(self.folder.path(), &arguments)
    }

    /// Serves, checks what is there, loads, and kills.
    fn round(&mut self) {
        let mut served = self.start();
        let mut client = served.connect();
        self.checker.forget_what_is_out();
        self.checker.check_all(&mut client);
        if self.failed == 0 && !self.rebuilding && self.random.next_u64().is_multiple_of(2) {
            served.wait_for_restoring();
            assert_eq!(served.scrub(), 0, "parity after the resync: {}", served.said());
        }
        self.harm(&served);
        let length = 20 + self.random.next_u64() % 400;
        let until = Instant::now() + Duration::from_millis(length);
        let depth = 1 + (self.random.next_u64() % 24) as usize;
        // The killer comes while requests are out.
        let pid = served.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        });
        self.checker.run(&mut client, depth, until + Duration::from_secs(3600));
        killer.join().unwrap();
        served.kill();
    }

    /// Fails or replaces a drive now and then.
    fn harm(&mut self, served: &Served) {
        if self.rebuilding && served.status().restoring.is_none() {
            self.rebuilding = false;
        }
        let draw = self.random.next_u64() % 4;
        if draw == 0 && self.failed.count_ones() < self.parities && !self.rebuilding {
            let drive = (self.random.next_u64() % u64::from(self.drives)) as u8;
            if self.failed >> drive & 1 == 0 {
                served.done(&AdminCommand::Fail { drive, force: false });
                self.failed |= 1 << drive;
            }
        } else if draw == 1 && self.failed != 0 {
            let drive = self.failed.trailing_zeros() as u8;
            served.done(&AdminCommand::Replace { drive, path: None });
            self.failed &= !(1 << drive);
            self.rebuilding = true;
        }
    }

    /// Makes the array whole and looks at everything once more.
    fn end(mut self) {
        let mut served = self.start();
        let mut client = served.connect();
        self.checker.forget_what_is_out();
        self.checker.check_all(&mut client);
        served.wait_for_restoring();
        for drive in 0..self.drives {
            if self.failed >> drive & 1 == 1 {
                served.done(&AdminCommand::Replace { drive, path: None });
                served.wait_for_restoring();
            }
        }
        let status = served.status();
        assert!(!status.degraded, "{}", served.said());
        assert_eq!(served.scrub(), 0, "parity at the end: {}", served.said());
        self.checker.check_all(&mut client);
        drop(client);
        assert!(served.terminate(), "a clean end");
    }
}

#[test]
fn no_flushed_write_is_lost_however_often_the_array_is_killed() {
    let kills = testing::setting("IODA_KILLS", 12);
    let first = testing::setting("IODA_SEED", 1);
    let mut done = 0;
    for number in first.. {
        if done >= kills {
            break;
        }
        let rounds = (kills - done).min(4);
        let seed = testing::Seed::new(number).with("IODA_KILLS", rounds);
        let mut victim = Victim::new(seed.get());
        println!("  {:?}", victim.arguments);
        for _ in 0..rounds {
            victim.round();
        }
        let Checker { reads, writes, flushes, .. } = victim.checker;
        println!("  {reads} reads, {writes} writes, {flushes} flushes");
        victim.end();
        done += rounds;
    }
}
