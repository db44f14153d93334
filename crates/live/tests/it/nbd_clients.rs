//! Real NBD clients against the NBD front end, where they are installed.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::nbd_memory::Server;
use live::nbd::Tls;
use live::nbd::uri::Uri;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::Ordering;
use testing::tools;
use units::Rng;

const MIB: usize = 1 << 20;

/// Runs a program; `None`, said aloud, if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    // None of these take longer than seconds; a hang must not hold up everything else.
    let output = Command::new("timeout").arg("120").arg(program).args(arguments).output().unwrap();
    if output.status.code() == Some(127) {
        tools::skip("the NBD front end", &format!("{program} is not installed"));
        return None;
    }
    Some(output)
}

/// The output of a program that must succeed.
fn text(program: &str, arguments: &[&str]) -> Option<String> {
    let output = run(program, arguments)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}{errors}", output.status);
    Some(text)
}

/// A file with data, zeros and repetitions.
fn sample(path: &Path, size: usize) -> Vec<u8> {
    let mut rng = Rng::stream(7, "nbd sample");
    let mut bytes = vec![0; size];
    for chunk in bytes.chunks_mut(64 << 10) {
        if rng.below(3) > 0 {
            chunk.fill_with(|| rng.next_u64() as u8);
        }
    }
    fs::write(path, &bytes).unwrap();
    bytes
}

fn with_name(uri: &Uri, name: &str) -> String {
    Uri { export: name.into(), ..uri.clone() }.to_string()
}

#[test]
fn nbdinfo_sees_the_export() {
    let server = Server::start(8 * MIB, Tls::Off);
    for uri in [server.unix(), server.tcp()] {
        let Some(about) = text("nbdinfo", &[&uri.to_string()]) else { return };
        for line in [
            "newstyle-fixed without TLS",
            "structured packets",
            "export-size: 8388608 (8M)",
            "memory for a test",
            "base:allocation",
            "can_cache: true",
            "can_df: true",
            "can_fast_zero: true",
            "can_flush: true",
            "can_fua: true",
            "can_multi_conn: true",
            "can_trim: true",
            "can_zero: true",
            "block_size_minimum: 1",
            "block_size_preferred: 4096",
            "block_size_maximum: 33554432",
        ] {
            assert!(about.contains(line), "no `{line}` in\n{about}");
        }
        let list = text("nbdinfo", &["--list", &uri.to_string()]).unwrap();
        assert!(list.contains("export=\"disk\""), "{list}");
        assert_eq!(text("nbdinfo", &["--size", &with_name(&uri, "disk")]).unwrap(), "8388608\n");
        let other = run("nbdinfo", &["--size", &with_name(&uri, "other")]).unwrap();
        assert!(!other.status.success());
        let error = String::from_utf8_lossy(&other.stderr);
        assert!(error.contains("no export named"), "{error}");
    }
}

#[test]
fn nbdcopy_both_ways_changes_no_bit() {
    let server = Server::start(32 * MIB, Tls::Off);
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let bytes = sample(&from, 32 * MIB);
    for uri in [server.unix().to_string(), server.tcp().to_string()] {
        if text("nbdcopy", &["--flush", from.to_str().unwrap(), &uri]).is_none() {
            return;
        }
        text("nbdcopy", &[&uri, to.to_str().unwrap()]).unwrap();
        assert!(fs::read(&to).unwrap() == bytes, "the copy differs");
        fs::remove_file(&to).unwrap();
    }
    assert!(server.seen.flushes.load(Ordering::SeqCst) >= 2);
    assert!(server.stop() == bytes, "the export differs");
}

#[test]
fn nbdinfo_map_shows_what_was_written() {
    let server = Server::start(4 * MIB, Tls::Off);
    let uri = server.unix();
    let map = |arguments: &[&str]| text("nbdinfo", arguments);
    let Some(before) = map(&["--map", &uri.to_string()]) else { return };
    assert_eq!(before.split_whitespace().collect::<Vec<_>>(), ["0", "4194304", "3", "hole,zero"]);
    let mut client = live::nbd::client::Client::connect(&uri).unwrap();
    client.send_write(1, MIB as u64, &[1; 8192], false);
    client.flush().unwrap();
    while client.receive().unwrap().is_none() {
        std::thread::yield_now();
    }
    let after = map(&["--map", &uri.to_string()]).unwrap();
    let lines: Vec<Vec<&str>> =
        after.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected: [&[&str]; 3] = [
        &["0", "1048576", "3", "hole,zero"],
        &["1048576", "8192", "0", "data"],
        &["1056768", "3137536", "3", "hole,zero"],
    ];
    assert_eq!(lines, expected);
}

#[test]
fn qemu_img_converts_and_compares() {
    let server = Server::start(16 * MIB, Tls::Off);
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    let bytes = sample(&from, 16 * MIB);
    let from = from.to_str().unwrap();
    let back = directory.path().join("back.qcow2");
    let back = back.to_str().unwrap();
    let uri = with_name(&server.unix(), "disk");
    let Some(about) = text("qemu-img", &["info", &uri]) else { return };
    assert!(about.contains("virtual size: 16 MiB"), "{about}");
    text("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", from, &uri]).unwrap();
    text("qemu-img", &["compare", "-f", "raw", "-F", "raw", from, &uri]).unwrap();
    text("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, back]).unwrap();
    text("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", from, back]).unwrap();
    text("qemu-img", &["map", "-f", "raw", "--output=json", &uri]).unwrap();
    assert!(server.stop() == bytes, "the export differs");
}

#[test]
fn fio_verifies_what_it_wrote() {
    let server = Server::start(32 * MIB, Tls::Off);
    for (uri, block) in [(server.unix(), "4k-4k"), (server.tcp(), "1k-256k")] {
        let uri = format!("--uri={uri}");
        let range = format!("--bsrange={block}");
        let Some(outcome) = text(
            "fio",
            &[
                "--name=verify",
                "--ioengine=nbd",
                &uri,
                "--rw=randwrite",
                &range,
                "--size=32M",
                "--iodepth=32",
                "--verify=crc32c",
                "--verify_fatal=1",
                "--verify_state_save=0",
                "--fsync=64",
                "--randseed=3",
            ],
        ) else {
            return;
        };
        assert!(outcome.contains("err= 0"), "{outcome}");
    }
    assert!(server.seen.flushes.load(Ordering::SeqCst) > 0);
}
