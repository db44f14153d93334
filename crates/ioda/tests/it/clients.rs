//! Clients that other people wrote, against the real binary: fio, nbdcopy, nbdinfo, qemu-img.
//!
//! A client that is not installed is skipped with a sentence that says so;
//! `scripts/install-test-tools` installs them where it can. Every policy meets one level for a
//! second unless more is asked for:
//!
//! ```sh
//! IODA_LONG=1 cargo test -p ioda --test it -- clients:: file_systems:: --nocapture
//! ```
//!
//! runs every policy on every level that it can run on, and larger databases. `IODA_FIO_SECONDS` is
//! how long fio runs for each pair.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::served::Served;
use crate::common::tools::{self, run, uri};
use array::policy::{Needs, PolicyKind};
use std::path::Path;
use std::process::Command;
use units::Rng;

/// Levels, each with as many drives as are tested, and what it has to rebuild from.
const LEVELS: [(&str, &str, Needs); 6] = [
    ("0", "3", Needs::Nothing),
    ("1", "2", Needs::Mirrors),
    ("4", "4", Needs::Redundancy),
    ("5", "4", Needs::Redundancy),
    ("6", "5", Needs::Redundancy),
    ("10", "4", Needs::Mirrors),
];

/// Whether a policy can run on a level.
fn suits(policy: PolicyKind, level: Needs) -> bool {
    match policy.about().needs {
        Needs::Nothing => true,
        Needs::Redundancy => level != Needs::Nothing,
        Needs::Mirrors => level == Needs::Mirrors,
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(String::from).to_vec()
}

/// Small emulated drives, in memory or in `folder`.
fn small(level: &str, drives: &str, policy: &str, folder: Option<&Path>) -> Vec<String> {
    let mut arguments = words(["--blocks-per-plane", "20", "--raid", level, "--drives", drives]);
    arguments.extend(words(["--policy", policy]));
    if let Some(folder) = folder {
        arguments.extend(["--storage".into(), folder.join("drives").display().to_string()]);
    }
    arguments
}

/// Mixed writes and reads of 512 bytes to 64 KiB that fio checks; returns how many of each.
fn verify_with_fio(served: &Served, seconds: u64) -> (u64, u64) {
    let output = Command::new("fio")
        .args(["--name=v", "--ioengine=nbd", "--rw=randrw", "--bsrange=512-64k", "--iodepth=16"])
        .args(["--size=40m", "--verify=crc32c", "--verify_backlog=64", "--verify_fatal=1"])
        .arg("--verify_state_save=0")
        .args(["--time_based", "--output-format=json", "--eta=never"])
        .arg(format!("--runtime={seconds}"))
        .arg(format!("--uri={}", uri(served)))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}{}", served.said());
    // The engine says a line of its own first.
    let json = &said[said.find('{').unwrap()..];
    let document: serde_json::Value = serde_json::from_str(json).unwrap();
    let job = &document["jobs"][0];
    assert_eq!(job["error"], 0, "{json}{complaints}");
    let count = |what: &str| job[what]["total_ios"].as_u64().unwrap();
    (count("read"), count("write"))
}

#[test]
fn fio_finds_what_it_wrote_under_every_policy() {
    if !tools::have("fio", &["fio"]) || !tools::fio_speaks_nbd() {
        return;
    }
    let seconds = testing::setting("IODA_FIO_SECONDS", 1);
    let (mut pairs, mut all) = (0, (0, 0));
    for (number, &policy) in PolicyKind::ALL.iter().enumerate() {
        let mut levels: Vec<_> = LEVELS.iter().filter(|level| suits(policy, level.2)).collect();
        if !tools::long() {
            levels = vec![levels[number % levels.len()]];
        }
        for &&(level, drives, _) in &levels {
            let folder = tempfile::tempdir().unwrap();
            // Every third on files.
            let place = (pairs % 3 == 2).then_some(folder.path());
            let arguments = small(level, drives, policy.name(), place);
            let mut served = Served::start(folder.path(), &arguments);
            drop(served.connect());
            let (reads, writes) = verify_with_fio(&served, seconds);
            let status = served.status();
            assert!(reads > 0 && writes > 0, "{} on RAID-{level}", policy.name());
            assert_eq!(status.requests.failed_requests, 0, "{} on RAID-{level}", policy.name());
            assert!(served.terminate(), "{} on RAID-{level} does not end well", policy.name());
            all = (all.0 + reads, all.1 + writes);
            pairs += 1;
        }
    }
    println!("{pairs} pairs of policy and level: {} reads and {} writes, no error", all.0, all.1);
}

/// A file of bytes drawn by chance, with a hole in it.
fn image(path: &Path, seed: u64, bytes: usize) {
    let mut random = Rng::new(seed);
    let mut content: Vec<u8> = Vec::with_capacity(bytes);
    while content.len() < bytes {
        content.extend(random.next_u64().to_le_bytes());
    }
    content.truncate(bytes);
    content[bytes / 2..bytes / 2 + bytes / 8].fill(0);
    std::fs::write(path, content).unwrap();
}

/// Arrays that images are copied to: emulated in memory, in files, and plain in files.
fn places(folder: &Path) -> [Vec<String>; 3] {
    let mut plain = words(["--plain", "--drive-size", "64m", "--storage"]);
    plain.push(folder.join("plain").display().to_string());
    [small("5", "4", "ioda", None), small("6", "5", "ioda", Some(folder)), plain]
}

#[test]
fn nbdcopy_gets_back_what_it_put_in() {
    if !tools::have("nbdcopy", &["nbdcopy", "nbdinfo"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, arguments) in places(folder.path()).iter().enumerate() {
        let mut served = Served::start(folder.path(), arguments);
        let capacity = served.connect().size_bytes();
        let (put, got) = (folder.path().join("put"), folder.path().join("got"));
        // The last request is not a whole block of anything.
        let bytes = (capacity as usize).min(150 << 20) / 512 * 512 - 512;
        image(&put, number as u64, bytes);
        run("nbdcopy", &["--flush", put.to_str().unwrap(), &uri(&served)]);
        run("nbdcopy", &["--connections=4", &uri(&served), got.to_str().unwrap()]);
        let (put, got) = (std::fs::read(&put).unwrap(), std::fs::read(&got).unwrap());
        assert_eq!(got.len() as u64, capacity);
        assert!(put == got[..put.len()], "nbdcopy got other bytes from array {number}");
        assert!(got[put.len()..].iter().all(|&byte| byte == 0), "what was not written is zero");
        assert_eq!(served.scrub(), 0, "parity fits");
        assert!(served.terminate());
    }
}

#[test]
fn qemu_img_converts_and_compares() {
    if !tools::have("qemu-img", &["qemu-img"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, arguments) in places(folder.path()).iter().enumerate() {
        let mut served = Served::start(folder.path(), arguments);
        let capacity = served.connect().size_bytes();
        let put = folder.path().join("put");
        image(&put, 100 + number as u64, capacity as usize);
        let (put, uri) = (put.to_str().unwrap(), uri(&served));
        run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", put, &uri]);
        run("qemu-img", &["compare", "-f", "raw", "-F", "raw", put, &uri]);
        let disk = folder.path().join("disk.qcow2");
        let disk = disk.to_str().unwrap();
        run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, disk]);
        run("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", put, disk]);
        assert!(served.terminate());
    }
}

#[test]
fn nbdinfo_sees_what_is_written_and_what_was_trimmed() {
    if !tools::have("nbdinfo", &["nbdinfo", "nbdcopy", "qemu-io"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in &places(folder.path()) {
        let mut served = Served::start(folder.path(), arguments);
        let capacity = served.connect().size_bytes();
        let uri = uri(&served);
        let map = || -> Vec<(u64, u64, bool)> {
            let said = run("nbdinfo", &["--map", "--json", &uri]);
            let document: serde_json::Value = serde_json::from_str(&said).unwrap();
            let extent = |extent: &serde_json::Value| {
                let of = |name: &str| extent[name].as_u64().unwrap();
                (of("offset"), of("length"), of("type") == 0)
            };
            document.as_array().unwrap().iter().map(extent).collect()
        };
        let data = |map: &[(u64, u64, bool)]| -> u64 {
            map.iter().filter(|extent| extent.2).map(|extent| extent.1).sum()
        };
        let before = map();
        assert_eq!(before.iter().map(|extent| extent.1).sum::<u64>(), capacity);
        let io = |order: &str| run("qemu-io", &["-f", "raw", "-c", order, &uri]);
        io("write -P 0x5a 3M 24M");
        let written = map();
        assert!(data(&written) >= 24 << 20, "{written:?}");
        io("discard 3M 24M");
        let trimmed = map();
        assert_eq!(trimmed.iter().map(|extent| extent.1).sum::<u64>(), capacity);
        // Whole stripes are given back; at both ends parts of one may stay.
        assert!(data(&trimmed) + (22 << 20) <= data(&written), "{written:?} {trimmed:?}");
        for (offset, length, is_data) in trimmed {
            if !is_data {
                io(&format!("read -P 0 {offset} {}", length.min(1 << 20)));
            }
        }
        assert!(served.terminate());
    }
}
