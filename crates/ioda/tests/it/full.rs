//! The file system below the drives is full: the array stops, no drive is given up, and nothing is
//! lost.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::checker::Checker;
use crate::common::served::Served;
use crate::forgetful::Forgetful;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

#[test]
fn a_full_file_system_stops_the_array_and_the_next_start_goes_on() {
    for (level, drives, journal) in [("5", "4", "degraded"), ("6", "5", "always"), ("10", "4", "")]
    {
        let Some(files) = Forgetful::mount("an array on a full file system") else { return };
        let folder = tempfile::tempdir().unwrap();
        let storage = files.at("d").display().to_string();
        let mut arguments = vec!["--raid", level, "--drives", drives, "--storage", &storage];
        arguments.extend(["--plain", "--drive-size", "16m", "--chunk", "16k"]);
        if !journal.is_empty() {
            arguments.extend(["--journal", journal]);
        }
        let arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
        let mut checker = Checker::new(testing::seed(3).get(), 3000);

        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        checker.run(&mut client, 8, Instant::now() + Duration::from_millis(100));
        assert_eq!(checker.errors, 0);
        files.limit(files.used_bytes() + MIB);
        checker.errors_allowed = true;
        let until = Instant::now() + Duration::from_secs(60);
        while checker.errors == 0 && Instant::now() < until {
            checker.run(&mut client, 8, Instant::now() + Duration::from_millis(20));
        }
        assert!(checker.errors > 0 && files.counts().full > 0, "{:?}", files.counts());
        let stopped = served.status().stopped.expect("it takes no more");
        assert!(stopped.contains("no room"), "{stopped}");
        let trace = folder.path().join("s.ctl.trace");
        let events = std::fs::read_to_string(&trace).unwrap();
        assert!(events.contains(" arrived: write of ") && events.contains(" answered by drive "));
        assert!(served.said().contains(&trace.display().to_string()), "{}", served.said());
        drop(client);
        assert!(!served.terminate(), "that was no clean end");

        // With as little room the next start may stop as well, but loses no drive.
        files.limit(u64::MAX);
        checker.errors_allowed = false;
        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        checker.forget_what_is_out();
        checker.check_all(&mut client);
        assert!(!served.status().degraded, "{}", served.said());
        served.wait_for_restoring();
        assert_eq!(served.scrub(), 0);
        checker.run(&mut client, 8, Instant::now() + Duration::from_millis(100));
        checker.check_all(&mut client);
        drop(client);
        assert!(served.terminate());
    }
}
