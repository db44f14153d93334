//! What the log of a server says of an array's life: a line for each thing that happens, and its
//! severity.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;
use crate::common::checker::BLOCK;
use crate::common::served::{Served, flush, read, write};
use live::control::AdminCommand;
use live::operate::exposition;
use std::os::unix::fs::FileExt;

const HEAD_BYTES: u64 = 32 << 20;
const BLOCKS: usize = 256;

fn arguments(folder: &std::path::Path) -> Vec<String> {
    let storage = folder.join("d").display().to_string();
    let words = ["--plain", "--drive-size", "16m", "--chunk", "16k", "--storage", &storage];
    words.map(String::from).into()
}

/// Bytes of blocks that are all different.
fn content() -> Vec<u8> {
    (0..BLOCKS).flat_map(|block| [block as u8; BLOCK]).collect()
}

fn filled(served: &mut Served) {
    let mut client = served.connect();
    write(&mut client, 0, &content()).unwrap();
    flush(&mut client).unwrap();
}

/// Lines with all of these words.
fn lines(served: &Served, words: &[&str]) -> Vec<String> {
    let said = served.said();
    let with = said.lines().filter(|line| words.iter().all(|word| line.contains(word)));
    with.map(String::from).collect()
}

/// The value of a field of a line of the log.
fn field(line: &str, name: &str) -> u64 {
    let (_, rest) = line.split_once(&format!(" {name}=")).unwrap_or_else(|| panic!("{line}"));
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn each_thing_that_happens_is_one_line_and_an_order_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path()));
    filled(&mut served);
    let uuid = served.status().identity.uuid;
    served.done(&AdminCommand::Fail { drive: 1, force: false });
    served.done(&AdminCommand::Replace { drive: 1, path: None });
    assert!(!served.wait_for_restoring().degraded);
    assert_eq!(served.scrub(), 0);
    for words in [
        &["INFO", "the array ", &uuid, " is served at nbd+unix://", "raid5 of 4 plain drives"][..],
        &["INFO", "drive 1 has failed, as was ordered"],
        &["INFO", "drive 1 is replaced by an empty one", "drive-1"],
        &["INFO", "the rebuild of drive 1 begins", "stripes="],
        &["INFO", "drive 1 is rebuilt", "stripes=", "took="],
        &["INFO", "a scrub begins", "stripes="],
        &["INFO", "the scrub has ended", "mismatches=0", "lost_pages=0", "took="],
    ] {
        assert_eq!(lines(&served, words).len(), 1, "{words:?}: {}", served.said());
    }
    for level in [" WARN ", " ERROR "] {
        assert_eq!(lines(&served, &[level]), [] as [String; 0]);
    }
    assert!(served.terminate());
}

#[test]
fn the_last_scrub_stays_in_the_status_and_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path()));
    filled(&mut served);
    assert_eq!(served.status().last_scrub, None);
    assert!(!exposition(&served.status()).contains("last_scrub"));
    assert_eq!(served.scrub(), 0);
    let status = served.status();
    let scrub = status.last_scrub.clone().unwrap();
    assert!(scrub.stripes > 0, "{scrub:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!((now - 3600..=now).contains(&scrub.ended_unix_seconds), "{scrub:?} at {now}");
    assert_eq!(
        (scrub.mismatches, scrub.repaired_pages, scrub.lost_pages, scrub.repair),
        (0, 0, 0, false)
    );
    let metrics = exposition(&status);
    let ended = format!("ioda_last_scrub_end_timestamp_seconds {}\n", scrub.ended_unix_seconds);
    for sample in [
        ended.as_str(),
        "ioda_last_scrub_mismatches 0\n",
        "ioda_last_scrub_info{repair=\"no\"} 1\n",
    ] {
        assert!(metrics.contains(sample), "{sample}: {metrics}");
    }
    let shown =
        common::ioda(&["ctl", "status", "--address", &served.socket().display().to_string()]);
    let line = shown.stdout.lines().find(|line| line.starts_with("last scrub: ended "));
    let line = line.unwrap_or_else(|| panic!("{}", shown.stdout));
    assert!(line.ends_with("0 with wrong parity, 0 pages repaired, 0 lost"), "{line}");
    assert!(served.terminate());
}

/// Ten bad blocks were thirty lines.
#[test]
fn damaged_pages_are_told_together() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path()));
    filled(&mut served);
    assert!(served.terminate());
    let drive = folder.path().join("d/drive-2");
    let file = std::fs::File::options().read(true).write(true).open(drive).unwrap();
    for block in 0..10 {
        let at = HEAD_BYTES + block * BLOCK as u64;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[!byte[0]], at).unwrap();
    }
    let mut served = Served::start(folder.path(), &arguments(folder.path()));
    drop(served.connect());
    assert_eq!(served.scrub(), 0);
    let told = lines(&served, &[" WARN "]);
    let sum = |name: &str| told.iter().map(|line| field(line, name)).sum::<u64>();
    assert_eq!((sum("repaired"), sum("lost")), (10, 0), "{told:?}");
    // A page may be read more than once before it is repaired.
    assert!(sum("wrong_checksums") >= 10, "{told:?}");
    // All at once, unless the machine has stalled in between.
    assert!(told.len() <= 2, "{}", served.said());
    assert!(told[0].contains("; at drive 2 byte "), "{told:?}");
    assert_eq!(lines(&served, &[" ERROR "]), [] as [String; 0]);
    let ended = &lines(&served, &["the scrub has ended"])[0];
    assert_eq!(field(ended, "repaired_pages"), 10, "{ended}");
    assert_eq!(served.status().last_scrub.unwrap().repaired_pages, 10);
    let mut client = served.connect();
    assert!(read(&mut client, 0, (BLOCKS * BLOCK) as u32).unwrap() == content());
    assert!(served.terminate());
}

#[test]
fn drives_that_are_not_emulated_count_what_they_read_and_write() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(folder.path(), &arguments(folder.path()));
    filled(&mut served);
    let bytes = (BLOCKS * BLOCK) as u64;
    let mut client = served.connect();
    read(&mut client, 0, bytes as u32).unwrap();
    assert_eq!(served.scrub(), 0);
    let status = served.status();
    let sum =
        |of: fn(&live::control::DriveStatus) -> u64| status.drives.iter().map(of).sum::<u64>();
    assert!(
        sum(|drive| drive.traffic.written_bytes) >= bytes * 4 / 3,
        "data and parity: {status:?}"
    );
    assert!(sum(|drive| drive.traffic.read_bytes) >= bytes, "{status:?}");
    assert!(sum(|drive| drive.traffic.record_bytes) >= bytes, "the journal: {status:?}");
    for drive in &status.drives {
        assert_eq!(drive.flash.read_pages, drive.traffic.read_bytes / 4096);
        assert_eq!(drive.flash.written_pages, drive.traffic.written_bytes / 4096);
        assert!(drive.flash.read_pages > 0 && drive.flash.written_pages > 0, "{drive:?}");
    }
    let metrics = exposition(&status);
    for name in ["read_bytes", "written_bytes", "record_bytes"] {
        let sample = format!("ioda_drive_{name}_total{{drive=\"0\"}} ");
        let value = metrics.split(&sample).nth(1).and_then(|rest| rest.lines().next()).unwrap();
        assert_ne!(value, "0", "{name}");
    }
    assert!(served.terminate());
}
