//! Two servers over the same drives on the network: processes of `ioda serve` over processes of
//! `ioda drive`, which have reservations or not. One server has the drives at a time, whatever
//! becomes of the other.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::checker::{BLOCK, Checker};
use crate::common::pause;
use crate::common::served::{Served, flush, read, write};
use crate::wire::drive::{DriveProcess, nqn};
use live::nbd::client::Client;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::Rng;

const DRIVES: usize = 4;
const BLOCKS: u64 = 3000;
/// Writes that are out at a time.
const DEPTH: u64 = 32;
const LOAD: Duration = Duration::from_millis(500);
/// What no test writes otherwise.
const STRAY: [u8; BLOCK] = [0xab; BLOCK];

/// Drives, and folders for the servers over them.
struct Rig {
    drives: Vec<DriveProcess>,
    folder: tempfile::TempDir,
    servers: usize,
}

impl Rig {
    fn start(drive: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = [&["--plain", "--drive-size", "64m"], drive].concat();
        let start = |number| DriveProcess::start(folder.path(), number, &arguments);
        Self { drives: (0..DRIVES).map(start).collect(), folder, servers: 0 }
    }

    /// Starts a server over the drives, beside those that there are.
    fn serve(&mut self, more: &[&str]) -> Served {
        let place = |(number, drive): (usize, &DriveProcess)| {
            format!("nvme+tcp://127.0.0.1:{}/{}", drive.port(), nqn(number))
        };
        let places: Vec<String> = self.drives.iter().enumerate().map(place).collect();
        let mut arguments = vec!["--storage".to_owned(), places.join(",")];
        let options = ["--raid", "5", "--drive-lease", "1s"];
        let silence: &[&str] = match more.contains(&"--drive-keep-alive") {
            true => &[],
            false => &["--drive-keep-alive", "1s"],
        };
        arguments.extend(options.iter().chain(silence).chain(more).map(|&word| word.to_owned()));
        self.servers += 1;
        let folder: PathBuf = self.folder.path().join(format!("server-{}", self.servers));
        std::fs::create_dir(&folder).unwrap();
        Served::start(&folder, &arguments)
    }
}

/// Drives with reservations, and without.
const KINDS: [&[&str]; 2] = [&[], &["--no-reservations"]];

/// Whether the server closes the connection before it answers anything.
fn is_closed_without_answer(client: &mut Client) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        match client.receive() {
            Ok(None) => pause(5),
            Ok(Some(_)) => return false,
            Err(_) => return true,
        }
    }
    panic!("neither answered nor closed")
}

fn send(client: &mut Client, first: u64) {
    client.send_write(1, first * BLOCK as u64, &STRAY, false);
    client.send_read(2, (first + 8) * BLOCK as u64, BLOCK as u32);
    client.send_flush(3);
    let until = Instant::now() + Duration::from_secs(10);
    while client.wants_write() || client.flush().is_err() {
        assert!(Instant::now() < until, "nobody takes the requests");
        client.flush().unwrap();
    }
}

#[test]
fn a_second_server_is_refused_while_the_first_lives() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create"]);
        let mut client = first.connect();
        let mut checker = Checker::new(testing::seed(1).get(), BLOCKS);
        checker.run(&mut client, 16, Instant::now() + LOAD);
        // An array is neither opened nor made anew.
        for arguments in [&[][..], &["--create"], &["--degraded"]] {
            let mut second = rig.serve(arguments);
            let code = checker.run_during(&mut client, 16, || second.end_by_itself());
            let said = second.said();
            assert_eq!(code, Some(2), "{kind:?} {arguments:?}: {said}");
            assert!(said.contains(&format!("process {}", first.pid())), "{said}");
            assert!(said.contains("is in use by") && said.contains("--take-over"), "{said}");
        }
        checker.check_all(&mut client);
        assert!(!first.status().degraded, "{kind:?}: {}", first.said());
        assert_eq!(first.scrub(), 0, "{kind:?}");
        // A server that ends in order leaves its drives at once.
        drop(client);
        assert!(first.terminate(), "{kind:?}");
        let mut second = rig.serve(&[]);
        let mut client = second.connect();
        checker.check_all(&mut client);
        assert!(!second.said().contains("taken over"), "{kind:?}: {}", second.said());
        drop(client);
        assert!(second.terminate());
    }
}

#[test]
fn a_server_that_was_stopped_finds_its_drives_gone_and_answers_nothing_more() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create"]);
        let mut client = first.connect();
        let mut checker = Checker::new(testing::seed(2).get(), BLOCKS);
        checker.run(&mut client, 16, Instant::now() + LOAD);
        first.signal("STOP");
        send(&mut client, 40);
        let mut second = rig.serve(&[]);
        let mut other = second.connect();
        assert!(second.said().contains("is taken over from"), "{kind:?}: {}", second.said());
        checker.check_all(&mut other);
        checker.run(&mut other, 16, Instant::now() + LOAD);
        first.signal("CONT");
        checker.run_during(&mut other, 16, || {
            assert!(is_closed_without_answer(&mut client), "{kind:?}: {}", first.said());
            assert_eq!(first.end_by_itself(), Some(4), "{kind:?}: {}", first.said());
        });
        let said = first.said();
        assert!(said.contains("is not this server's any more"), "{kind:?}: {said}");
        assert!(!said.contains("has failed") && !said.contains("is given up"), "{kind:?}: {said}");
        checker.check_all(&mut other);
        assert_eq!(second.scrub(), 0, "{kind:?}: {}", second.said());
        assert!(!second.status().degraded, "{kind:?}: {}", second.said());
        drop(other);
        assert!(second.terminate());
    }
}

/// Keeps writes out until the server closes the connection, and counts those that it answers.
fn write_until_closed(client: &mut Client, answered: &AtomicU64) {
    let mut sent = 0;
    loop {
        while sent < answered.load(Ordering::Relaxed) + DEPTH {
            client.send_write(sent, (BLOCKS + sent % BLOCKS) * BLOCK as u64, &STRAY, false);
            sent += 1;
        }
        if client.flush().is_err() {
            return;
        }
        match client.receive() {
            Ok(None) => pause(1),
            Ok(Some(reply)) => {
                assert_eq!(reply.error, 0);
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => return,
        }
    }
}

#[test]
fn a_server_that_was_stopped_in_the_middle_of_its_work_acknowledges_no_write_after_the_first_of_the_other()
 {
    let mut rng = Rng::stream(testing::seed(5).get(), "moments");
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create"]);
        let mut client = first.connect();
        let answered = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| write_until_closed(&mut client, &answered));
            let until = Instant::now() + Duration::from_secs(60);
            while answered.load(Ordering::Relaxed) < 100 + rng.below(1000) {
                assert!(Instant::now() < until, "{kind:?}: {}", first.said());
                pause(1);
            }
            first.signal("STOP");
            let mut second = rig.serve(&[]);
            let mut other = second.connect();
            write(&mut other, 0, &[7; BLOCK]).unwrap();
            // What had been sent before has been received since: seconds have passed.
            let before = answered.load(Ordering::Relaxed);
            first.signal("CONT");
            assert_eq!(first.end_by_itself(), Some(4), "{kind:?}: {}", first.said());
            flush(&mut other).unwrap();
            assert_eq!(read(&mut other, 0, BLOCK as u32), Ok(vec![7; BLOCK]));
            assert_eq!(answered.load(Ordering::Relaxed), before, "{kind:?}: {}", first.said());
            second.wait_for_restoring();
            assert_eq!(second.scrub(), 0, "{kind:?}: {}", second.said());
            drop(other);
            assert!(second.terminate());
        });
    }
}

#[test]
fn a_server_that_was_stopped_and_kept_its_drives_goes_on() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create", "--drive-keep-alive", "10s"]);
        let mut client = first.connect();
        let mut checker = Checker::new(testing::seed(3).get(), BLOCKS);
        for _ in 0..3 {
            checker.run(&mut client, 16, Instant::now() + LOAD);
            // Longer than a lease, and not so long that drives end the connection.
            first.signal("STOP");
            pause(2500);
            first.signal("CONT");
        }
        checker.run(&mut client, 16, Instant::now() + LOAD);
        checker.check_all(&mut client);
        let said = first.said();
        assert!(!first.status().degraded && !first.status().failed, "{kind:?}: {said}");
        assert!(said.contains("certainly this server's again"), "{kind:?}: {said}");
        assert_eq!(first.scrub(), 0, "{kind:?}: {said}");
        drop(client);
        assert!(first.terminate());
    }
}

#[test]
fn a_server_that_was_killed_is_started_again_without_help() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create"]);
        let mut checker = Checker::new(testing::seed(4).get(), BLOCKS);
        for _ in 0..3 {
            let mut client = first.connect();
            checker.forget_what_is_out();
            checker.check_all(&mut client);
            checker.run(&mut client, 16, Instant::now() + LOAD);
            first.kill();
            first = rig.serve(&[]);
        }
        let mut client = first.connect();
        checker.forget_what_is_out();
        checker.check_all(&mut client);
        first.wait_for_restoring();
        assert_eq!(first.scrub(), 0, "{kind:?}: {}", first.said());
        drop(client);
        assert!(first.terminate());
    }
}

#[test]
fn a_server_loses_its_drives_to_one_that_is_told_to_take_them() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut first = rig.serve(&["--create"]);
        let mut client = first.connect();
        write(&mut client, 0, &[7; BLOCK]).unwrap();
        flush(&mut client).unwrap();
        let mut second = rig.serve(&["--take-over"]);
        assert_eq!(first.end_by_itself(), Some(4), "{kind:?}: {}", first.said());
        assert!(first.said().contains("is not this server's any more"), "{}", first.said());
        let mut other = second.connect();
        assert_eq!(read(&mut other, 0, BLOCK as u32), Ok(vec![7; BLOCK]));
        write(&mut other, 0, &[8; BLOCK]).unwrap();
        flush(&mut other).unwrap();
        assert_eq!(read(&mut other, 0, BLOCK as u32), Ok(vec![8; BLOCK]));
        drop(other);
        assert!(second.terminate(), "{kind:?}");
    }
}

#[test]
fn a_creation_that_is_refused_leaves_nothing_behind() {
    for kind in KINDS {
        let mut rig = Rig::start(kind);
        let mut refused =
            rig.serve(&["--create", "--journal", "always", "--raid", "0", "--chunk", "1g"]);
        assert_eq!(refused.end_by_itself(), Some(2), "{}", refused.said());
        // What was claimed for it is free at once, and still blank.
        let mut first = rig.serve(&["--create"]);
        let mut client = first.connect();
        write(&mut client, 0, &[7; BLOCK]).unwrap();
        drop(client);
        assert!(first.terminate(), "{kind:?}");
    }
}
