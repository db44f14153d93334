//! Replays of logs by fio itself, which records the end of each request.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use ioda_workload::{Op, ReadOptions, Request, TraceReader, TraceWriter, WriteFormat};
use std::path::{Path, PathBuf};
use std::process::Command;
use units::Instant;

/// Replays the log `name` in `folder`. Returns the end of each of its writes, in ms since the
/// start.
fn replayed(folder: &Path, name: &str) -> Vec<u64> {
    let output = Command::new("fio")
        .current_dir(folder)
        .args(["--name=x", "--ioengine=psync", "--write_lat_log=x", "--output=/dev/null"])
        .arg(format!("--read_iolog={name}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.join("x_clat.1.log")).unwrap();
    text.lines().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ioda-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::File::create(folder.join("device0")).unwrap().set_len(1 << 20).unwrap();
    folder
}

#[test]
fn fio_waits_as_long_as_a_log_that_was_written_for_it_says() {
    if !testing::tools::have("a log for fio", &["fio"]) {
        return;
    }
    let folder = folder("fio-written");
    let file = std::fs::File::create(folder.join("log")).unwrap();
    let mut writer = TraceWriter::new(file, WriteFormat::FioIologV3).unwrap();
    for (milliseconds, page) in [(0, 0), (400, 1), (700, 2)] {
        let at = Instant::from_nanos(milliseconds * 1_000_000);
        let (op, offset_bytes, size_bytes) = (Op::Write, page * 4_096, 4_096);
        writer
            .write(&Request {
                at,
                op,
                offset_bytes,
                size_bytes,
                device: 0,
                durable: false,
                after_flush: false,
            })
            .unwrap();
    }
    writer.finish().unwrap();
    let ends = replayed(&folder, "log");
    // A busy machine makes them later, never earlier.
    let [_, second, third] = ends[..] else { panic!("{ends:?}") };
    assert!(second >= 390 && third >= 690, "{ends:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn fio_waits_until_that_time_since_its_start() {
    if !testing::tools::have("waits of fio's logs", &["fio"]) {
        return;
    }
    let folder = folder("fio-waits");
    let mut log = String::from("fio version 2 iolog\ndevice0 add\ndevice0 open\n");
    let waits: Vec<u64> = (6..=20).map(|n| n * 100).collect();
    for (wait, page) in waits.iter().zip(0..) {
        log.push_str(&format!("device0 wait {wait} 0\ndevice0 write {} 4096\n", page * 4_096));
    }
    log.push_str("device0 close\n");
    std::fs::write(folder.join("log"), log).unwrap();
    let mut reader = TraceReader::open(folder.join("log"), &ReadOptions::default()).unwrap();
    let read: Vec<u64> =
        reader.by_ref().map(|request| request.unwrap().at.as_nanos() / 1_000_000).collect();
    assert_eq!(read, waits.iter().map(|wait| wait - waits[0]).collect::<Vec<u64>>());
    let ends = replayed(&folder, "log");
    assert_eq!(ends.len(), waits.len());
    // As microseconds, the sum would be 20 ms; as milliseconds, 19.5 s.
    let span = ends[ends.len() - 1] - ends[0];
    assert!((400..15_000).contains(&span), "{ends:?}");
    std::fs::remove_dir_all(folder).unwrap();
}
