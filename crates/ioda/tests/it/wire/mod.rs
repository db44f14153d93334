//! Arrays over drives in other processes, which are killed, hung, slowed and cut off at random
//! under load: no byte is wrong, no flushed write is lost, and every drive comes back.
//!
//! `IODA_WIRE_FAULTS` sets how many faults of each kind (2 unless it is set), `IODA_SEED` with
//! which draws.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

pub(crate) mod drive;
pub(crate) mod link;

use crate::common::checker::Checker;
use crate::common::served::Served;
use drive::{DriveProcess, nqn};
use link::Link;
use std::thread;
use std::time::{Duration, Instant};
use units::Rng;

const DRIVES: usize = 4;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    Killed,
    Hung,
    Slow,
    Cut,
}

const KINDS: [Fault; 4] = [Fault::Killed, Fault::Hung, Fault::Slow, Fault::Cut];

/// Four drives, the ways to them, and an array over them.
struct Rig {
    random: Rng,
    drives: Vec<DriveProcess>,
    links: Vec<Link>,
    served: Served,
    folder: tempfile::TempDir,
}

impl Rig {
    fn start(seed: u64, drive: &[&str], array: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let drives: Vec<_> =
            (0..DRIVES).map(|number| DriveProcess::start(path, number, drive)).collect();
        let links: Vec<_> = drives.iter().map(|drive| Link::new(drive.port())).collect();
        let addresses: Vec<_> = (links.iter().zip(0..))
            .map(|(link, number)| format!("nvme+tcp://127.0.0.1:{}/{}", link.port(), nqn(number)))
            .collect();
        let mut arguments = vec!["--create".to_owned(), "--storage".into(), addresses.join(",")];
        arguments.extend(array.iter().map(|&word| word.to_owned()));
        let served = Served::start(path, &arguments);
        Self { random: Rng::new(seed), drives, links, served, folder }
    }

    /// Lets something happen to a drive for some time, and ends it.
    fn happen(&mut self, fault: Fault) {
        let number = self.random.below(DRIVES as u64) as usize;
        let length = Duration::from_millis(20 + self.random.below(1500));
        let (drive, link) = (&mut self.drives[number], &self.links[number]);
        match fault {
            Fault::Killed => {
                drive.kill();
                thread::sleep(length);
                drive.start_again();
                link.set_drive_port(drive.port());
            }
            Fault::Hung => {
                drive.signal("STOP");
                thread::sleep(length);
                drive.signal("CONT");
            }
            Fault::Slow => {
                link.set_delay(Duration::from_millis(1 + self.random.below(20)));
                thread::sleep(length);
                link.set_delay(Duration::ZERO);
            }
            Fault::Cut => link.cut_after(self.random.below(200_000) as u32),
        }
    }

    /// Waits until the array has all its drives again. It takes one that it has given up back by
    /// itself.
    fn wait_until_whole(&self) {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let status = self.served.status();
            if !status.degraded && status.restoring.is_none() {
                return;
            }
            assert!(!status.failed, "the array has failed: {}", self.said());
            assert!(Instant::now() < until, "{:?}: {}", status.drives, self.said());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn said(&self) -> String {
        let drives = self.drives.iter().map(|drive| format!("\n--- drive:\n{}", drive.said()));
        self.served.said() + &drives.collect::<String>()
    }
}

fn faults_harm_nothing(seed: u64, each: u64, drive: &[&str], array: &[&str]) {
    let mut rig = Rig::start(seed, drive, array);
    let mut client = rig.served.connect();
    let mut checker = Checker::new(seed ^ 0x5eed, 3000);
    let mut faults: Vec<Fault> =
        KINDS.iter().flat_map(|&kind| (0..each).map(move |_| kind)).collect();
    while !faults.is_empty() {
        let fault = faults.swap_remove(rig.random.below(faults.len() as u64) as usize);
        let depth = 1 + rig.random.below(24) as usize;
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                let until = Instant::now() + Duration::from_secs(3);
                checker.run(&mut client, depth, until);
            });
            thread::sleep(Duration::from_millis(300));
            rig.happen(fault);
            load.join().unwrap();
        });
        rig.wait_until_whole();
        checker.check_all(&mut client);
    }
    let returned = rig.served.said().matches("gets what it missed").count();
    println!(
        "  {returned} drives came back, {} reads, {} writes, {} flushes",
        checker.reads, checker.writes, checker.flushes
    );
    assert_eq!(rig.served.scrub(), 0, "parity at the end: {}", rig.said());
    drop(client);
    let Rig { served, .. } = &rig;
    served.signal("TERM");
    assert_eq!(rig.served.end_by_itself(), Some(0), "a clean end: {}", rig.said());
    drop(rig.folder);
}

#[test]
fn plain_drives_may_be_killed_hung_slowed_and_cut_off() {
    let each = testing::setting("IODA_WIRE_FAULTS", 2);
    let seed = testing::Seed::new(testing::setting("IODA_SEED", 1)).with("IODA_WIRE_FAULTS", each);
    let drive = ["--plain", "--drive-size", "64m"];
    faults_harm_nothing(
        seed.get(),
        each,
        &drive,
        &["--raid", "5", "--drive-timeout", "1s", "--drive-keep-alive", "1s"],
    );
}

#[test]
fn emulated_drives_may_be_killed_hung_slowed_and_cut_off() {
    let each = testing::setting("IODA_WIRE_FAULTS", 2);
    let seed = testing::Seed::new(testing::setting("IODA_SEED", 2)).with("IODA_WIRE_FAULTS", each);
    let drive = ["--drive", "live", "--precondition", "fresh", "--blocks-per-plane", "20"];
    let array =
        ["--raid", "5", "--policy", "ioda", "--drive-timeout", "1s", "--drive-keep-alive", "1s"];
    faults_harm_nothing(seed.get(), each, &drive, &array);
}
