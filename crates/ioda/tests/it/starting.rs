//! What a start makes, what it refuses, and which drives it does without.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;
use crate::common::checker::BLOCK;
use crate::common::served::{Served, flush, read, write};
use live::control::AdminCommand;
use std::path::{Path, PathBuf};

const OTHER_UUID: &str = "0d9f3c8e-5a41-4c7b-9b62-7f10e4a8d253";

/// Where drives are, and the options of an array on them.
struct Array {
    folder: tempfile::TempDir,
    options: Vec<String>,
}

impl Array {
    fn new(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = folder.path().join("d").display().to_string();
        let plain = ["--plain", "--drive-size", "16m", "--storage", &storage];
        let options = plain.into_iter().chain(options.split_whitespace()).map(String::from);
        Self { options: options.collect(), folder }
    }

    fn drives(&self) -> PathBuf {
        self.folder.path().join("d")
    }

    fn serve(&self, more: &[&str]) -> Served {
        let more = more.iter().copied().map(String::from);
        let arguments: Vec<String> = self.options.iter().cloned().chain(more).collect();
        Served::start(self.folder.path(), &arguments)
    }

    /// Makes the array, with bytes at its begin, and ends it in order. Gives its uuid.
    fn make(&self, byte: u8) -> String {
        let mut served = self.serve(&[]);
        let mut client = served.connect();
        write(&mut client, 0, &[byte; 64 * BLOCK]).unwrap();
        flush(&mut client).unwrap();
        let uuid = served.status().identity.uuid;
        drop(client);
        assert!(served.terminate());
        uuid
    }

    /// The sentence of a start that is refused.
    fn refusal(&self, more: &[&str]) -> String {
        let socket = self.folder.path().join("other").display().to_string();
        let mut all = vec!["serve", "--quiet", "--http", "none", "--address", &socket];
        all.extend(self.options.iter().map(String::as_str).chain(more.iter().copied()));
        let ran = common::ioda_in(self.folder.path(), &all);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        ran.stderr
    }

    fn hide(&self, drive: u8) {
        std::fs::rename(self.file(drive), self.hidden(drive)).unwrap();
    }

    fn bring_back(&self, drive: u8) {
        std::fs::rename(self.hidden(drive), self.file(drive)).unwrap();
    }

    fn file(&self, drive: u8) -> PathBuf {
        self.drives().join(format!("drive-{drive}"))
    }

    fn hidden(&self, drive: u8) -> PathBuf {
        self.folder.path().join(format!("away-{drive}"))
    }
}

fn check(served: &mut Served, byte: u8) {
    let mut client = served.connect();
    assert!(read(&mut client, 0, 64 * BLOCK as u32).unwrap() == vec![byte; 64 * BLOCK]);
}

/// The lines of a level of the log.
fn lines(served: &Served, level: &str) -> Vec<String> {
    let said = served.said();
    let of_level = said.lines().filter(|line| line.contains(&format!(" {level} ")));
    of_level.map(String::from).collect()
}

fn content(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn nothing_is_made_unless_that_is_said() {
    let array = Array::new("--drives 4");
    let drives = array.drives();
    let said = array.refusal(&[]);
    assert!(said.contains(&format!("there is no directory {}", drives.display())), "{said}");
    assert!(said.contains("say --create to make a new array there"), "{said}");
    assert!(!drives.exists());
    // As an unmounted file system leaves it.
    std::fs::create_dir(&drives).unwrap();
    let said = array.refusal(&[]);
    assert!(said.contains(&format!("there is no array in {}", drives.display())), "{said}");
    assert_eq!(content(&drives), [] as [PathBuf; 0]);
    // A configuration file says where the drives are, and cannot say that they are to be made.
    let file = array.folder.path().join("a.toml");
    std::fs::write(&file, format!("[serve]\nstorage = [\"{}\"]\n", drives.display())).unwrap();
    let socket = array.folder.path().join("other").display().to_string();
    let config = file.display().to_string();
    let by_file = ["serve", "--http", "none", "--address", &socket, "--config", &config];
    let ran = common::ioda(&by_file);
    assert!(ran.code == 2 && ran.stderr.contains("there is no array in"), "{}", ran.stderr);
    assert_eq!(content(&drives), [] as [PathBuf; 0]);
    // An array that is to be there is not to be made in its place.
    let said = array.refusal(&["--uuid", OTHER_UUID]);
    assert!(said.contains(OTHER_UUID) && !said.contains("--create"), "{said}");

    let mut served = array.serve(&["--create"]);
    drop(served.connect());
    assert!(served.terminate());
    assert!(array.file(3).exists());
    let said = array.refusal(&["--create"]);
    assert!(said.contains("there is an array in") && said.contains("leave --create out"), "{said}");
    let list = [array.file(0), array.file(1)].map(|path| path.display().to_string()).join(",");
    let ran = common::ioda(&["serve", "--plain", "--raid", "1", "--create", "--storage", &list]);
    assert!(ran.code == 2 && ran.stderr.contains("it is a drive of array"), "{}", ran.stderr);
    assert!(ran.stderr.contains("leave --create out to serve that array"), "{}", ran.stderr);
    let mut served = array.serve(&[]);
    drop(served.connect());
    assert!(served.terminate());
}

#[test]
fn drives_that_are_not_there_are_not_to_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a", "b"].map(|name| folder.path().join(name));
    let list = names.clone().map(|name| name.display().to_string()).join(",");
    let serve = || common::ioda(&["serve", "--plain", "--raid", "1", "--storage", &list]);
    let said = serve().stderr;
    assert!(said.contains("none of the 2 drives is there: connect or mount them"), "{said}");
    assert!(!said.contains("create"), "{said}");
    std::fs::File::create(&names[0]).unwrap().set_len(64 << 20).unwrap();
    let said = serve().stderr;
    assert!(said.contains("1 of them are not there") && !said.contains("create"), "{said}");
    std::fs::File::create(&names[1]).unwrap().set_len(64 << 20).unwrap();
    let said = serve().stderr;
    assert!(said.contains("to make a new array on these drives say --create"), "{said}");
}

#[test]
fn an_array_with_another_uuid_is_refused() {
    let array = Array::new("--drives 4");
    let uuid = array.make(1);
    let said = array.refusal(&["--uuid", OTHER_UUID]);
    assert!(said.contains(&uuid) && said.contains(OTHER_UUID), "{said}");
    // In the file as well, and what is refused is as it was.
    let config = |uuid: &str| {
        let path = array.folder.path().join("a.toml");
        std::fs::write(&path, format!("[serve]\nuuid = \"{uuid}\"\n")).unwrap();
        path.display().to_string()
    };
    let said = array.refusal(&["--config", &config(OTHER_UUID)]);
    assert!(said.contains(&uuid) && said.contains(OTHER_UUID), "{said}");
    let mut served = array.serve(&["--config", &config(&uuid)]);
    check(&mut served, 1);
    let shown =
        common::ioda(&["ctl", "status", "--address", &served.socket().display().to_string()]);
    assert!(shown.stdout.contains(&format!("uuid {uuid}")), "{}", shown.stdout);
    assert!(served.terminate());
    for (more, words) in [
        (&["--uuid", "array"][..], "\"array\" is not a uuid"),
        (&["--create", "--uuid", &uuid], "cannot be used with"),
        (&["--create", "--config", &config(&uuid)], "there is an array in"),
    ] {
        let said = array.refusal(more);
        assert!(said.contains(words), "{said}");
    }
    let memory = common::ioda(&["serve", "--http", "none", "--uuid", &uuid]);
    assert!(memory.stderr.contains("--uuid is for files and devices"), "{}", memory.stderr);
}

/// A reboot with a dead drive.
#[test]
fn an_array_that_can_keep_everything_starts_and_says_loudly_what_it_does_without() {
    for (options, dead) in
        [("--raid 5 --drives 4", 2), ("--raid 6 --drives 5", 0), ("--raid 10 --drives 4", 1)]
    {
        let array = Array::new(options);
        array.make(3);
        array.hide(dead);
        let mut served = array.serve(&[]);
        check(&mut served, 3);
        assert!(served.status().degraded);
        let warnings = lines(&served, "WARN");
        assert_eq!(warnings.len(), 1, "{options}: {warnings:?}");
        for words in [
            format!("DEGRADED: drive {dead} at {} is missing", array.file(dead).display()),
            format!("`ioda ctl replace {dead}` rebuilds it"),
            format!("slot={dead}"),
        ] {
            assert!(warnings[0].contains(&words), "{words}: {warnings:?}");
        }
        assert!(!served.said().contains("--create"), "{}", served.said());
        let mut client = served.connect();
        write(&mut client, 0, &[4; 64 * BLOCK]).unwrap();
        flush(&mut client).unwrap();
        drop(client);
        assert!(served.terminate());
        // It is known to have failed by now, and outdated when it is there again.
        let mut served = array.serve(&[]);
        check(&mut served, 4);
        assert!(served.terminate());
        array.bring_back(dead);
        let mut served = array.serve(&[]);
        check(&mut served, 4);
        let warnings = lines(&served, "WARN");
        assert!(warnings.len() == 1 && warnings[0].contains("had failed"), "{warnings:?}");
        served.done(&AdminCommand::Replace { drive: dead, path: None });
        assert!(!served.wait_for_restoring().degraded);
        assert!(served.terminate());
        let mut served = array.serve(&[]);
        check(&mut served, 4);
        assert_eq!(lines(&served, "WARN"), [] as [String; 0]);
        assert!(served.terminate());
    }
}

/// Two halves of a mirror, each of which could go on alone.
#[test]
fn two_halves_never_go_on_without_each_other_unless_that_is_said() {
    for (options, half, other) in [
        ("--raid 1 --drives 2", &[0][..], &[1][..]),
        ("--raid 10 --drives 4", &[0, 2], &[1, 3]),
        ("--raid 6 --drives 4", &[0, 1], &[2, 3]),
    ] {
        let array = Array::new(options);
        array.make(5);
        for away in [half, other] {
            away.iter().for_each(|drive| array.hide(*drive));
            let said = array.refusal(&[]);
            for drive in away {
                assert!(said.contains(&format!("drive {drive} at ")), "{options}: {said}");
            }
            assert!(said.contains("could be served without the others"), "{options}: {said}");
            assert!(said.contains("--degraded"), "{options}: {said}");
            away.iter().for_each(|drive| array.bring_back(*drive));
        }
        // What is refused writes nothing: a drive that is plugged in again was never away.
        let mut served = array.serve(&[]);
        check(&mut served, 5);
        assert!(!served.status().degraded);
        assert!(served.terminate());

        // In the file it is said once and for all.
        let file = array.folder.path().join("a.toml");
        std::fs::write(&file, "[serve]\ndegraded = true\n").unwrap();
        half.iter().for_each(|drive| array.hide(*drive));
        let mut served = array.serve(&["--config", &file.display().to_string()]);
        check(&mut served, 5);
        let mut client = served.connect();
        write(&mut client, 0, &[6; 64 * BLOCK]).unwrap();
        flush(&mut client).unwrap();
        drop(client);
        assert_eq!(lines(&served, "WARN").len(), half.len(), "{}", served.said());
        assert!(served.terminate());
        // From now on that half is known to have failed, and nobody is asked again.
        half.iter().for_each(|drive| array.bring_back(*drive));
        let mut served = array.serve(&[]);
        check(&mut served, 6);
        assert!(served.terminate());
        // It is the outdated half that is not served alone.
        other.iter().for_each(|drive| array.hide(*drive));
        let said = array.refusal(&[]);
        assert!(said.contains("could be served without the others"), "{options}: {said}");
    }
}

#[test]
fn a_drive_that_failed_before_is_no_reason_to_ask() {
    let array = Array::new("--raid 1 --drives 2");
    array.make(7);
    let mut served = array.serve(&[]);
    drop(served.connect());
    served.done(&AdminCommand::Fail { drive: 0, force: false });
    assert!(served.terminate());
    let mut served = array.serve(&[]);
    check(&mut served, 7);
    let warnings = lines(&served, "WARN");
    assert!(warnings.len() == 1 && warnings[0].contains("DEGRADED: drive 0"), "{warnings:?}");
    assert!(served.terminate());
    array.hide(0);
    let mut served = array.serve(&[]);
    check(&mut served, 7);
    assert!(served.terminate());
    array.bring_back(0);
    array.hide(1);
    let said = array.refusal(&[]);
    assert!(said.contains("drive 1 at") && said.contains("--degraded"), "{said}");
}

/// The read latencies that a file of `--learnt` knows.
fn learnt_reads(file: &Path) -> u64 {
    let stored: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(stored["version"], 1);
    let latencies = stored["learnt"]["latencies"].as_array().unwrap();
    latencies.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum()
}

#[test]
fn what_a_policy_has_learnt_outlives_the_policy_and_the_server() {
    let array = Array::new("--drives 4 --policy attentive");
    let file = array.folder.path().join("learnt.json");
    let path = file.display().to_string();
    let more = ["--learnt", &path];
    let mut served = array.serve(&more);
    let mut client = served.connect();
    write(&mut client, 0, &[1; 64 * BLOCK]).unwrap();
    for _ in 0..50 {
        read(&mut client, 0, 64 * BLOCK as u32).unwrap();
    }
    drop(client);
    served.done(&AdminCommand::Policy { name: "base".into() });
    assert!(served.terminate());
    let known = learnt_reads(&file);
    assert!(known >= 50, "{known} reads");

    let mut served = array.serve(&more);
    check(&mut served, 1);
    assert!(served.terminate());
    assert!(learnt_reads(&file) > known);

    std::fs::write(&file, r#"{"version":9,"learnt":{}}"#).unwrap();
    let said = array.refusal(&more);
    assert!(said.contains("--learnt") && said.contains(&path), "{said}");
}
