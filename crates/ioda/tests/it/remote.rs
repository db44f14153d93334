//! Arrays over drives on the network: the real command against drives that threads of the test
//! play.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::checker::Checker;
use crate::common::pause;
use crate::common::served::Served;
use crate::remote_target::{Kind, Medium, TestDrive};
use live::control::{AdminCommand, Answer};
use nvme::target::Action;
use std::time::{Duration, Instant};
use units::Rng;

const DATA_BYTES: usize = 16 << 20;
const HEAD_BYTES: usize = 32 << 20;
const BLOCKS: u64 = 3000;

/// Four drives and the array of them.
struct Shelf {
    folder: tempfile::TempDir,
    kinds: Vec<Kind>,
    drives: Vec<TestDrive>,
    options: Vec<String>,
}

impl Shelf {
    fn new(kind: impl Fn(u8) -> Kind, options: &str) -> Self {
        let kinds: Vec<Kind> = (0..4).map(kind).collect();
        let start = |&kind: &Kind| TestDrive::start(kind, Medium::new(HEAD_BYTES + DATA_BYTES));
        let drives = kinds.iter().map(start).collect();
        let options = options.split_whitespace().map(String::from).collect();
        Self { folder: tempfile::tempdir().unwrap(), kinds, drives, options }
    }

    fn serve(&self, more: &[&str]) -> Served {
        let places: Vec<String> =
            self.drives.iter().map(|drive| drive.remote().to_string()).collect();
        let mut arguments = vec!["--storage".to_owned(), places.join(",")];
        arguments.extend(["--raid", "5", "--chunk", "16k"].map(String::from));
        arguments.extend(self.options.iter().cloned());
        arguments.extend(more.iter().map(|word| (*word).to_owned()));
        Served::start(self.folder.path(), &arguments)
    }

    /// The process of a drive was killed and is there again, at the same address.
    fn revive(&mut self, drive: usize) {
        let old = &mut self.drives[drive];
        old.kill();
        let (address, medium) = (old.address, old.medium.clone());
        self.drives[drive] = TestDrive::start_at(address, self.kinds[drive], medium);
    }
}

/// Waits until the array says that a drive has failed.
fn wait_for_failure(served: &Served) {
    let until = Instant::now() + Duration::from_secs(60);
    while !served.status().degraded {
        assert!(Instant::now() < until, "no drive has failed: {}", served.said());
        pause(10);
    }
}

#[test]
fn an_array_over_the_network_keeps_what_is_written() {
    for options in ["--policy base", "--policy ioda --drive-digests on --drive-depth 5"] {
        let shelf = Shelf::new(Kind::plain, options);
        let mut served = shelf.serve(&["--create"]);
        let mut client = served.connect();
        let seed = testing::seed(1);
        let mut checker = Checker::new(seed.get(), BLOCKS);
        checker.run(&mut client, 16, Instant::now() + Duration::from_millis(800));
        assert!(checker.reads > 0 && checker.writes > 0 && checker.flushes > 0);
        assert_eq!(served.scrub(), 0, "{}", served.said());
        drop(client);
        assert!(served.terminate());
        // It is there again.
        let mut served = shelf.serve(&[]);
        let mut client = served.connect();
        checker.check_all(&mut client);
        drop(client);
        assert!(served.terminate());
        // And nobody makes another one of its drives.
        let mut served = shelf.serve(&["--create"]);
        assert_eq!(served.end_by_itself(), Some(2), "{}", served.said());
        assert!(served.said().contains("is not blank"), "{}", served.said());
    }
}

#[test]
fn drives_that_know_ioda_have_windows_and_fail_reads_fast() {
    let kind = |number| Kind { knows_ioda: true, ..Kind::plain(number) };
    let mut shelf = Shelf::new(kind, "--policy ioda");
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(2);
    let mut checker = Checker::new(seed.get(), BLOCKS);
    shelf.drives[2].faults.lock().unwrap().is_collecting = true;
    checker.run(&mut client, 16, Instant::now() + Duration::from_millis(800));
    checker.check_all(&mut client);
    assert_eq!(served.scrub(), 0, "{}", served.said());
    assert!(!served.status().degraded);
    let mut turns = Vec::new();
    for drive in &shelf.drives {
        let faults = drive.faults.lock().unwrap();
        assert!(faults.flagged > 0, "reads carry the flag");
        let orders: Vec<_> = faults
            .actions
            .iter()
            .filter_map(|action| match action {
                Action::SetWindows(order) => Some(order),
                _ => None,
            })
            .collect();
        let first = orders.first().unwrap();
        assert!(!first.enabled, "the word comes before windows");
        let last = orders.last().unwrap();
        let settings = last.config.ioda.unwrap();
        assert!(last.enabled && settings.width == 4 && settings.parities == 1);
        assert_eq!(settings.busy_time_window, Some(units::Duration::from_millis(100)));
        let guard = settings.guard.as_nanos();
        assert!((100_000..40_000_000).contains(&guard), "a guard of {guard} ns");
        // The clock of these drives is ahead of all others by an hour.
        assert!(settings.cycle_start.as_nanos() > 3_500_000_000_000);
        turns.push(settings.slot);
    }
    turns.sort_unstable();
    assert_eq!(turns, [0, 1, 2, 3]);
    let failed_fast = shelf.drives[2].faults.lock().unwrap().failed_fast;
    assert!(failed_fast > 10, "{failed_fast} reads failed fast");
    // A drive that takes the place of one that failed is told as well.
    served.done(&AdminCommand::Fail { drive: 1, force: false });
    shelf.revive(1);
    checker.run_during(&mut client, 16, || {
        served.done(&AdminCommand::Replace { drive: 1, path: None });
        served.wait_for_restoring();
        let is_told = || {
            let faults = shelf.drives[1].faults.lock().unwrap();
            matches!(faults.actions.last(), Some(Action::SetWindows(order)) if order.enabled)
        };
        let until = Instant::now() + Duration::from_secs(20);
        while !is_told() {
            assert!(Instant::now() < until, "it has no windows: {}", served.said());
            pause(10);
        }
    });
    checker.check_all(&mut client);
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_drive_that_is_killed_fails_and_is_rebuilt_when_it_is_back() {
    let mut shelf = Shelf::new(Kind::plain, "--policy ioda");
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(3);
    let mut checker = Checker::new(seed.get(), BLOCKS);
    for drive in [1_u8, 3] {
        checker.run_during(&mut client, 16, || {
            pause(100);
            shelf.drives[usize::from(drive)].kill();
            wait_for_failure(&served);
            pause(100);
        });
        checker.check_all(&mut client);
        shelf.revive(drive.into());
        checker.run_during(&mut client, 16, || {
            served.done(&AdminCommand::Replace { drive, path: None });
            served.wait_for_restoring();
        });
        assert!(!served.status().degraded);
        assert_eq!(served.scrub(), 0, "{}", served.said());
    }
    checker.check_all(&mut client);
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_drive_that_comes_back_gets_what_it_missed_and_no_more() {
    let options = "--policy ioda --drive-keep-alive 1s";
    let mut shelf = Shelf::new(Kind::plain, options);
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(8);
    let mut rng = Rng::new(seed.get());
    let mut checker = Checker::new(seed.get(), BLOCKS);
    for drive in [2_u8, 0, 2] {
        checker.run_during(&mut client, 16, || {
            pause(100);
            shelf.drives[usize::from(drive)].kill();
            wait_for_failure(&served);
        });
        // It lost its power as well.
        let salt = rng.next_u64();
        let is_lost = |block: u64| Rng::new(block ^ salt).next_u64().is_multiple_of(2);
        shelf.drives[usize::from(drive)].medium.lock().unwrap().lose_power(is_lost);
        checker.run_during(&mut client, 16, || pause(200));
        shelf.revive(drive.into());
        checker.run_during(&mut client, 16, || {
            let until = Instant::now() + Duration::from_secs(30);
            while served.status().degraded {
                assert!(Instant::now() < until, "it is not taken back: {}", served.said());
                pause(50);
            }
            served.wait_for_restoring();
        });
        checker.check_all(&mut client);
        assert_eq!(served.scrub(), 0, "{}", served.said());
    }
    // A region is 1 MiB of each drive, and 11 of the 16 are never written.
    let said = served.said();
    let stripes: Vec<u64> = said
        .lines()
        .filter(|line| line.contains("gets what it missed"))
        .map(|line| line.split("stripes=").nth(1).unwrap().trim().parse().unwrap())
        .collect();
    let all = (DATA_BYTES >> 14) as u64;
    assert!(stripes.len() == 3 && stripes.iter().all(|&some| some > 0 && some < all / 2), "{said}");
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_drive_that_comes_back_empty_is_not_taken() {
    let mut shelf = Shelf::new(Kind::plain, "--policy ioda --drive-keep-alive 1s");
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(9);
    let mut checker = Checker::new(seed.get(), BLOCKS);
    checker.run_during(&mut client, 16, || {
        pause(100);
        shelf.drives[1].kill();
        wait_for_failure(&served);
    });
    shelf.drives[1].medium.lock().unwrap().bytes.fill(0);
    shelf.revive(1);
    checker.run_during(&mut client, 16, || {
        let until = Instant::now() + Duration::from_secs(30);
        while !served.said().contains("it does not hold what it held when it failed") {
            assert!(Instant::now() < until, "{}", served.said());
            pause(50);
        }
        served.done(&AdminCommand::Replace { drive: 1, path: None });
        served.wait_for_restoring();
    });
    checker.check_all(&mut client);
    assert_eq!(served.scrub(), 0, "{}", served.said());
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_drive_that_hangs_is_read_around_and_fails_in_time() {
    let kind = |number| Kind { knows_ioda: number % 2 == 0, ..Kind::plain(number) };
    let options = "--policy ioda --drive-timeout 1500ms --drive-read-timeout 20ms";
    let mut shelf = Shelf::new(kind, options);
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(4);
    let mut checker = Checker::new(seed.get(), BLOCKS);
    checker.run(&mut client, 16, Instant::now() + Duration::from_millis(200));
    // Only reads hang: they are reconstructed long before the drive counts as failed.
    shelf.drives[1].faults.lock().unwrap().holds_reads = true;
    let began = Instant::now();
    checker.check_all(&mut client);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    checker.run_during(&mut client, 16, || wait_for_failure(&served));
    shelf.revive(1);
    checker.run_during(&mut client, 16, || {
        served.done(&AdminCommand::Replace { drive: 1, path: None });
        served.wait_for_restoring();
    });
    // Nothing is answered.
    shelf.drives[2].faults.lock().unwrap().is_hung = true;
    checker.run_during(&mut client, 16, || wait_for_failure(&served));
    checker.check_all(&mut client);
    shelf.drives[2].faults.lock().unwrap().is_hung = false;
    checker.run_during(&mut client, 16, || {
        served.done(&AdminCommand::Replace { drive: 2, path: None });
        served.wait_for_restoring();
    });
    assert_eq!(served.scrub(), 0, "{}", served.said());
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_cut_in_the_middle_of_a_pdu_loses_nothing() {
    let shelf = Shelf::new(Kind::plain, "--policy base");
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let seed = testing::seed(5);
    let mut checker = Checker::new(seed.get(), BLOCKS);
    let mut rng = Rng::new(seed.get());
    for drive in 0..4_u8 {
        checker.run_during(&mut client, 16, || {
            pause(50);
            let bytes = 1 + rng.below(100_000) as usize;
            shelf.drives[usize::from(drive)].faults.lock().unwrap().cut_after = Some(bytes);
            wait_for_failure(&served);
            shelf.drives[usize::from(drive)].faults.lock().unwrap().cut_after = None;
            served.done(&AdminCommand::Replace { drive, path: None });
            served.wait_for_restoring();
        });
    }
    checker.check_all(&mut client);
    assert_eq!(served.scrub(), 0, "{}", served.said());
    drop(client);
    assert!(served.terminate());
}

#[test]
fn what_was_flushed_survives_the_power_of_all_drives() {
    let shelf = Shelf::new(Kind::plain, "--policy ioda");
    let seed = testing::seed(6);
    let mut rng = Rng::new(seed.get());
    let mut checker = Checker::new(seed.get(), BLOCKS);
    let mut served = shelf.serve(&["--create"]);
    for _ in 0..5 {
        let mut client = served.connect();
        checker.forget_what_is_out();
        checker.check_all(&mut client);
        let length = 50 + rng.below(300);
        checker.run(&mut client, 16, Instant::now() + Duration::from_millis(length));
        served.kill();
        // Whatever is on its way arrives, or not; then the power goes, everywhere.
        pause(20);
        for drive in &shelf.drives {
            let salt = rng.next_u64();
            let is_lost = |block: u64| Rng::new(block ^ salt).next_u64().is_multiple_of(2);
            drive.medium.lock().unwrap().lose_power(is_lost);
        }
        served = shelf.serve(&[]);
    }
    let mut client = served.connect();
    checker.forget_what_is_out();
    checker.check_all(&mut client);
    served.wait_for_restoring();
    assert_eq!(served.scrub(), 0, "{}", served.said());
    assert!(checker.flushes > 0);
    drop(client);
    assert!(served.terminate());
}

#[test]
fn a_drive_that_is_not_there_is_missing() {
    let mut shelf = Shelf::new(Kind::plain, "--policy base");
    let mut served = shelf.serve(&["--create"]);
    let mut client = served.connect();
    let mut checker = Checker::new(7, BLOCKS);
    checker.run(&mut client, 8, Instant::now() + Duration::from_millis(200));
    drop(client);
    assert!(served.terminate());
    shelf.drives[0].kill();
    let mut served = shelf.serve(&[]);
    let mut client = served.connect();
    assert!(served.said().contains("DEGRADED: drive 0 at nvme+tcp://"), "{}", served.said());
    checker.check_all(&mut client);
    let Answer::Refused { reason } = served.ask(&AdminCommand::Replace { drive: 0, path: None })
    else {
        panic!("nothing is there")
    };
    assert!(reason.contains("cannot be used"), "{reason}");
    shelf.revive(0);
    served.done(&AdminCommand::Replace { drive: 0, path: None });
    served.wait_for_restoring();
    assert_eq!(served.scrub(), 0);
    drop(client);
    assert!(served.terminate());
}
