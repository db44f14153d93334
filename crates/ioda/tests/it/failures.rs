//! Drives of a served array fail under load: reads are right as long as enough drives are left, and
//! errors after that, never wrong bytes.
//!
//! `IODA_SEED` sets the draws, `IODA_FAILURES` how often drives fail in the last test (6).
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::checker::Checker;
use crate::common::pause;
use crate::common::served::Served;
use live::control::AdminCommand;
use std::time::{Duration, Instant};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}

const PLAIN: &str = "--plain --drive-size 16m --chunk 16k";

#[test]
fn each_drive_fails_in_turn_and_nothing_is_lost() {
    for (level, drives) in [("5", 4u8), ("6", 5), ("10", 4), ("4", 3)] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = words(&format!("{PLAIN} --raid {level} --drives {drives}"));
        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        let seed = testing::seed(1);
        let mut checker = Checker::new(seed.get(), 3000);
        for drive in 0..drives {
            checker.run_during(&mut client, 16, || {
                pause(30);
                served.done(&AdminCommand::Fail { drive, force: false });
                pause(60);
                assert!(served.status().degraded);
                served.done(&AdminCommand::Replace { drive, path: None });
                served.wait_for_restoring();
            });
            assert!(!served.status().degraded);
            assert_eq!(served.scrub(), 0, "RAID-{level}, drive {drive}");
        }
        checker.check_all(&mut client);
        assert!(checker.reads > 0 && checker.writes > 0);
        drop(client);
        assert!(served.terminate());
    }
}

#[test]
fn one_failure_too_many_means_errors_and_no_wrong_bytes() {
    for (level, drives, most) in [("5", 4u8, 1u8), ("6", 5, 2), ("0", 3, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = words(&format!("{PLAIN} --raid {level} --drives {drives}"));
        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        let seed = testing::seed(2);
        let mut checker = Checker::new(seed.get(), 3000);
        checker.run_during(&mut client, 16, || {
            pause(100);
            for drive in 0..most {
                served.done(&AdminCommand::Fail { drive, force: false });
            }
            pause(100);
        });
        assert_eq!(checker.errors, 0, "RAID-{level} does without {most}");
        checker.errors_allowed = true;
        checker.run_during(&mut client, 16, || {
            served.done(&AdminCommand::Fail { drive: most, force: true });
            pause(200);
        });
        assert!(checker.errors > 0, "RAID-{level} cannot do without {}", most + 1);
        assert!(served.status().requests.failed_requests > 0);
    }
}

#[test]
fn a_second_drive_fails_during_a_rebuild() {
    for (level, drives, survives) in [("6", 5u8, true), ("5", 4, false)] {
        let folder = tempfile::tempdir().unwrap();
        let arguments =
            words(&format!("{PLAIN} --raid {level} --drives {drives} --restore-depth 1"));
        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        let seed = testing::seed(3);
        let mut checker = Checker::new(seed.get(), 3000);
        checker.errors_allowed = !survives;
        checker.run_during(&mut client, 16, || {
            pause(50);
            served.done(&AdminCommand::Fail { drive: 1, force: false });
            served.done(&AdminCommand::Replace { drive: 1, path: None });
            served.done(&AdminCommand::Fail { drive: 2, force: !survives });
            pause(100);
        });
        if survives {
            served.done(&AdminCommand::Replace { drive: 2, path: None });
            checker.run_during(&mut client, 16, || served.wait_for_restoring());
            assert_eq!(checker.errors, 0);
            assert_eq!(served.scrub(), 0);
            checker.check_all(&mut client);
        }
    }
}

#[test]
fn drives_fail_while_reads_that_were_failed_fast_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    // Little space and a high load: collections never stop, and reads are failed fast all the time.
    let arguments = words("--policy ioda --blocks-per-plane 20 --chunk 4k --drives 4");
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    let seed = testing::seed(4);
    let mut checker = Checker::new(seed.get(), 6000);
    let mut random = units::Rng::new(seed.get());
    let mut failed_fast = 0;
    for _ in 0..testing::setting("IODA_FAILURES", 6) {
        let drive = (random.next_u64() % 4) as u8;
        checker.run_during(&mut client, 16, || {
            let before = served.status().counters.fail_fasts;
            let until = Instant::now() + Duration::from_secs(2);
            while served.status().counters.fail_fasts == before && Instant::now() < until {
                pause(1);
            }
            served.done(&AdminCommand::Fail { drive, force: false });
            pause(20 + random.next_u64() % 200);
            served.done(&AdminCommand::Replace { drive, path: None });
            served.wait_for_restoring();
        });
        failed_fast = served.status().counters.fail_fasts;
    }
    assert!(failed_fast > 0, "nothing was failed fast: the test tests nothing");
    assert_eq!(checker.errors, 0);
    assert_eq!(served.scrub(), 0);
    checker.check_all(&mut client);
}

#[test]
fn a_head_that_nobody_understands_does_not_keep_the_others_from_being_served() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("d");
    let arguments = words(&format!("{PLAIN} --storage {}", storage.display()));
    let mut checker = Checker::new(testing::seed(6).get(), 3000);
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    checker.run(&mut client, 16, Instant::now() + Duration::from_millis(200));
    drop(client);
    assert!(served.terminate());

    let mut random = units::Rng::new(7);
    let mut noise = vec![0; 1 << 20];
    noise.fill_with(|| random.next_u64() as u8);
    let head = std::fs::File::options().write(true).open(storage.join("drive-2")).unwrap();
    head.write_all_at(&noise, 0).unwrap();
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    checker.check_all(&mut client);
    assert_eq!(served.status().drives[2].state, "failed");
    assert!(served.said().contains("DEGRADED: drive 2"), "{}", served.said());
    let mut after = vec![0; noise.len()];
    std::fs::File::open(storage.join("drive-2")).unwrap().read_exact_at(&mut after, 0).unwrap();
    assert!(after == noise, "what nobody understands is left alone");
    drop(client);
    assert!(served.terminate());
}
