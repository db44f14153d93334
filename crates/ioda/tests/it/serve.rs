//! What an array does when it is ordered about, ended and started again.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common;
use crate::common::checker::{BLOCK, Checker};
use crate::common::served::{Served, flush, read, write};
use live::control::{AdminCommand, Answer};
use live::operate::ctl;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}

fn on_files(folder: &Path, more: &str) -> Vec<String> {
    let mut arguments = words(more);
    arguments.extend(["--storage".into(), folder.join("d").display().to_string()]);
    arguments
}

const PLAIN: &str = "--plain --drive-size 16m";
const EMULATED: &str = "--blocks-per-plane 20";

/// The sentence with which a server that cannot start ends.
fn refusal(folder: &Path, arguments: &[String]) -> String {
    let mut all = words("serve --quiet --address");
    all.push(folder.join("other").display().to_string());
    if !arguments.iter().any(|argument| argument == "--http") {
        all.extend(words("--http none"));
    }
    all.extend(arguments.iter().cloned());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let ran = common::ioda_in(folder, &all);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    ran.stderr
}

#[test]
fn the_policy_changes_while_clients_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &words(EMULATED));
    let mut client = served.connect();
    let mut checker = Checker::new(1, 6000);
    let policies =
        ["base", "rails", "proactive", "ioda-nvm", "ideal", "mittos", "ioda", "harmonia"];
    std::thread::scope(|scope| {
        let switching = scope.spawn(|| {
            for policy in policies {
                std::thread::sleep(Duration::from_millis(150));
                served.done(&AdminCommand::Policy { name: policy.into() });
                assert_eq!(served.status().policy, policy);
            }
        });
        while !switching.is_finished() {
            checker.run(&mut client, 16, Instant::now() + Duration::from_millis(50));
        }
        switching.join().unwrap();
    });
    assert_eq!(checker.errors, 0);
    checker.check_all(&mut client);
    let Answer::Refused { reason } = served.ask(&AdminCommand::Policy { name: "iodda".into() })
    else {
        panic!("there is no such policy")
    };
    assert!(reason.contains("ioda"), "{reason}");
    assert!(matches!(served.ask(&AdminCommand::Window { nanoseconds: 0 }), Answer::Refused { .. }));
    assert!(matches!(
        served.ask(&AdminCommand::Fail { drive: 9, force: false }),
        Answer::Refused { .. }
    ));
    assert!(matches!(
        served.ask(&AdminCommand::Replace { drive: 0, path: None }),
        Answer::Refused { .. }
    ));
    for (drive, factor) in [(9, 10), (1, 0), (1, 1_001)] {
        assert!(matches!(
            served.ask(&AdminCommand::Slow { drive, factor }),
            Answer::Refused { .. }
        ));
    }
    served.done(&AdminCommand::Policy { name: "ioda".into() });
    served.done(&AdminCommand::Window { nanoseconds: 40_000_000 });
    assert_eq!(served.status().busy_window_nanoseconds, Some(40_000_000));
    assert_eq!(served.scrub(), 0);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_made_is_for_its_owner_alone_unless_a_group_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = on_files(folder.path(), EMULATED);
    let drives = folder.path().join("d");
    let mut served = Served::start(folder.path(), &arguments);
    served.connect();
    served.status();
    let control = ctl::control_socket(served.socket());
    assert_eq!((mode(served.socket()), mode(&control)), (0o600, 0o600));
    assert!(served.terminate());
    assert_eq!(mode(&drives), 0o700);
    let files: Vec<_> = std::fs::read_dir(&drives).unwrap().map(|file| file.unwrap()).collect();
    assert!(files.iter().any(|file| file.file_name() == "drive-0.ftl"), "{files:?}");
    for file in files {
        assert_eq!(mode(&file.path()), 0o600, "{file:?}");
    }

    let group = std::fs::metadata(folder.path()).unwrap().gid().to_string();
    let named = [arguments.clone(), words(&format!("--socket-group {group}"))].concat();
    let mut served = Served::start(folder.path(), &named);
    served.connect();
    served.status();
    for socket in [served.socket(), &control] {
        let about = std::fs::metadata(socket).unwrap();
        assert_eq!((mode(socket), about.gid().to_string()), (0o660, group.clone()));
    }
    assert!(served.terminate());
    let refused = refusal(folder.path(), &words("--socket-group no-such-group"));
    assert!(refused.starts_with("error: --socket-group: there is no group"), "{refused}");
}

#[test]
fn a_closed_terminal_is_a_clean_end() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = on_files(folder.path(), EMULATED);
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    write(&mut client, 0, &[7; BLOCK]).unwrap();
    served.status();
    assert!(served.end_by("HUP"));
    assert!(folder.path().join("d/drive-0.ftl").exists());
    let mut served = Served::start(folder.path(), &arguments);
    assert_eq!(read(&mut served.connect(), 0, BLOCK as u32).unwrap(), [7; BLOCK]);
    assert!(!served.said().contains("was not shut down"), "{}", served.said());
}

/// As behind `ioda serve 2>&1 | head`.
#[test]
fn who_reads_the_log_may_go() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ioda"))
        .args(["--log", "info", "serve", "--quiet", "--http", "none", "--address"])
        .arg(&socket)
        .args(words(PLAIN))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let until = Instant::now() + Duration::from_secs(60);
    let control = ctl::control_socket(&socket);
    let mut client = loop {
        match ctl::Client::connect(&control, Duration::from_secs(60)) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // Both the array's thread and that of the signals have something to say.
    client.ask(&AdminCommand::Fail { drive: 1, force: false }).unwrap();
    assert!(matches!(client.ask(&AdminCommand::Status).unwrap(), Answer::Status(_)));
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_clean_end_keeps_data_and_the_maps_of_emulated_drives() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = on_files(folder.path(), EMULATED);
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    let mut checker = Checker::new(7, 6000);
    checker.run(&mut client, 16, Instant::now() + Duration::from_millis(500));
    flush(&mut client).unwrap();
    let map = folder.path().join("d/drive-0.ftl");
    assert!(!map.exists(), "a map on disk is of an array that has ended");
    let free: Vec<f64> = served.status().drives.iter().map(|drive| drive.free_share).collect();
    let uuid = served.status().identity.uuid;
    drop(client);
    assert!(served.terminate());
    assert!(map.exists());
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    assert!(!map.exists(), "it is used once");
    assert_eq!(served.status().identity.uuid, uuid);
    assert!(served.status().restoring.is_none(), "nothing to resync: {}", served.said());
    let again: Vec<f64> = served.status().drives.iter().map(|drive| drive.free_share).collect();
    for (before, after) in free.iter().zip(&again) {
        assert!((before - after).abs() < 0.06, "{free:?} became {again:?}");
    }
    checker.check_all(&mut client);
}

#[test]
fn foreign_stale_and_missing_drives_are_not_mixed_in() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = on_files(folder.path(), PLAIN);
    let drives = folder.path().join("d");
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    write(&mut client, 0, &[1; 16 * BLOCK]).unwrap();
    flush(&mut client).unwrap();
    let began = std::time::Instant::now();
    let sentence = refusal(folder.path(), &arguments);
    let holder =
        format!("drive-0 is in use by process {} (ioda); stop that one first", served.pid());
    assert!(sentence.contains(&holder), "{sentence}");
    // Each look at each drive once waited for two seconds: 18 in all.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    drop(client);
    assert!(served.terminate());

    // Stale: it was away while the others went on.
    std::fs::rename(drives.join("drive-1"), folder.path().join("away")).unwrap();
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    write(&mut client, 0, &[2; 16 * BLOCK]).unwrap();
    flush(&mut client).unwrap();
    drop(client);
    assert!(served.terminate());
    std::fs::rename(folder.path().join("away"), drives.join("drive-1")).unwrap();
    let mut served = Served::start(folder.path(), &arguments);
    let mut client = served.connect();
    assert_eq!(read(&mut client, 0, 16 * BLOCK as u32).unwrap(), vec![2; 16 * BLOCK]);
    served.done(&AdminCommand::Replace { drive: 1, path: None });
    assert!(!served.wait_for_restoring().degraded);
    assert_eq!(served.scrub(), 0);
    drop(client);
    assert!(served.terminate());

    // Foreign: a drive of another array in the place of one of these.
    let other = folder.path().join("other-array");
    let mut foreign = words(PLAIN);
    foreign.extend(["--storage".into(), other.display().to_string()]);
    let mut served = Served::start(folder.path(), &foreign);
    drop(served.connect());
    assert!(served.terminate());
    std::fs::copy(other.join("drive-2"), drives.join("drive-2")).unwrap();
    let sentence = refusal(folder.path(), &arguments);
    assert!(sentence.contains("another array") || sentence.contains("belongs"), "{sentence}");
}

#[test]
fn settings_that_cannot_be_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words_of_it) in [
        ("--address localhost", "--address: localhost is neither"),
        ("--http nowhere", "--http nowhere is neither"),
        ("--restore-depth 0", "--restore-depth is 0"),
        ("--plain --drive-size 5000", "--drive-size is 5000"),
        ("--plain --policy rails", "fast memory"),
        ("--raid 0 --policy ioda", "parity"),
        ("--tls .", "--tls"),
        ("--storage memory,memory", "mixes memory"),
        ("--create", "--create is for files"),
        ("--uuid 0d9f3c8e-5a41-4c7b-9b62-7f10e4a8d253", "--uuid is for files"),
    ] {
        let sentence = refusal(folder.path(), &words(arguments));
        assert!(sentence.contains(words_of_it), "{arguments}: {sentence}");
        assert!(sentence.starts_with("error: "), "{sentence}");
    }
}

#[test]
fn the_last_events_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &words(EMULATED));
    drop(served.connect());
    let path = served.socket().display().to_string();
    let load = "load synthetic --quiet --rw randrw --bs 4k --iodepth 1 --number_ios 40 --address";
    let ioda = |options: &str| {
        let all: Vec<&str> = options.split(' ').chain([path.as_str()]).collect();
        common::ioda(&all)
    };
    let loaded = ioda(load);
    assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""));
    let trace = |options: &str| -> Vec<String> {
        let shown = ioda(&format!("ctl trace {options} --address"));
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{options}");
        shown.stdout.lines().map(str::to_owned).collect()
    };
    assert_eq!(trace("--last 7").len(), 7);
    let arrived = trace("--last 8192");
    let arrived = arrived.iter().rev().find(|line| line.contains(" arrived: ")).unwrap();
    let number = arrived.split("request ").nth(1).unwrap().split(' ').next().unwrap();
    let life = trace(&format!("--request {number}"));
    for part in [format!("request {number} arrived"), "answered by drive".into()] {
        assert!(life.iter().any(|line| line.contains(&part)), "{part}: {life:#?}");
    }
    assert!(life.last().unwrap().contains("closed"), "{life:#?}");
    let of_drive = trace("--drive 1");
    assert!(!of_drive.is_empty() && of_drive.iter().all(|line| line.contains("drive 1")));
    assert!(served.terminate());
}

#[test]
fn one_address_serves_administers_and_loads() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &words(EMULATED));
    drop(served.connect());
    let path = served.socket().display().to_string();
    for address in [path.clone(), format!("unix:{path}"), format!("nbd+unix:///?socket={path}")] {
        let status = common::ioda(&["ctl", "status", "--address", &address]);
        assert_eq!((status.code, status.stderr.as_str()), (0, ""), "{address}");
        let load = ["--rw", "randread", "--bs", "4k", "--iodepth", "4", "--number_ios", "40"];
        let mut all = vec!["load", "synthetic", "--quiet", "--address", &address];
        all.extend(load);
        let loaded = common::ioda(&all);
        assert_eq!((loaded.code, loaded.stderr.as_str()), (0, ""), "{address}");
        assert!(loaded.stdout.contains("40 requests sent"), "{}", loaded.stdout);
    }
    let by_control = common::ioda(&["ctl", "--control", &format!("{path}.ctl"), "status"]);
    assert_eq!((by_control.code, by_control.stderr.as_str()), (0, ""));
    assert!(served.terminate());
}
