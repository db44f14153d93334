//! Bits of drives flip beneath a served array: every read is right, and all is repaired.
//!
//! `IODA_FLIPS` sets how many (10 000), `IODA_SEED` which.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::checker::Checker;
use crate::common::served::Served;
use live::control::Status;
use live::nbd::client::Client;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use units::Rng;

const DRIVE_BYTES: u64 = 64 << 20;
const HEAD_BYTES: u64 = 32 << 20;

/// A file of a drive, to be spoiled.
fn drive_file(folder: &Path, drive: u8) -> File {
    let path = folder.join("d").join(format!("drive-{drive}"));
    File::options().read(true).write(true).open(path).unwrap()
}

fn flip(file: &File, rng: &mut Rng) {
    let at = HEAD_BYTES + rng.below(DRIVE_BYTES);
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 << rng.below(8);
    file.write_all_at(&byte, at).unwrap();
}

fn load(checker: &mut Checker, client: &mut Client, milliseconds: u64) {
    checker.run(client, 16, Instant::now() + Duration::from_millis(milliseconds));
}

fn told(when: &str, before: &Status, after: &Status) {
    let reads = after.requests.read.since(&before.requests.read);
    let [median, tail] = [50.0, 99.0].map(|percent| reads.percentile(percent).unwrap_or(0) / 1000);
    println!("{when}: {} reads, p50 {median} us, p99 {tail} us", reads.count);
}

#[test]
fn flipped_bits_are_never_read_and_all_repaired() {
    let flips = testing::setting("IODA_FLIPS", 10_000);
    for (level, drives, members) in [("5", 4u8, &[1u8][..]), ("6", 5, &[1, 3]), ("10", 4, &[2])] {
        let folder = tempfile::tempdir().unwrap();
        let storage = folder.path().join("d").display().to_string();
        let size = DRIVE_BYTES.to_string();
        let drives = drives.to_string();
        let arguments = ["--plain", "--drive-size", &size, "--chunk", "16k", "--raid", level];
        let more = ["--drives", &drives, "--checksums", "on", "--storage", &storage];
        let arguments: Vec<String> = arguments.into_iter().chain(more).map(String::from).collect();
        let mut served = Served::start(folder.path(), &arguments);
        let mut client = served.connect();
        let seed = testing::seed(1);
        let mut rng = Rng::new(seed.get());
        let mut checker = Checker::new(seed.get(), 12_000);
        load(&mut checker, &mut client, 2000);
        let start = served.status();
        assert_eq!(start.integrity.mismatched_blocks, 0);
        told("undamaged", &Status::default(), &start);
        let files: Vec<File> =
            members.iter().map(|&drive| drive_file(folder.path(), drive)).collect();
        for _ in 0..20 {
            for _ in 0..flips / 20 {
                files.iter().for_each(|file| flip(file, &mut rng));
            }
            load(&mut checker, &mut client, 100);
        }
        let end = served.status();
        told("while bits flip", &start, &end);
        assert_eq!(served.scrub(), 0, "parity fits: {}", served.said());
        let scrubbed = served.status().integrity;
        assert!(scrubbed.repaired_pages > flips / 2, "{scrubbed:?}");
        assert_eq!(scrubbed.lost_pages, 0, "{}", served.said());
        checker.check_all(&mut client);
        // Nothing is left to repair.
        assert_eq!(served.scrub(), 0);
        let again = served.status().integrity;
        assert_eq!(again.mismatched_blocks, scrubbed.mismatched_blocks, "{}", served.said());
        assert_eq!(served.status().requests.failed_requests, 0);
        println!(
            "raid {level}: {} blocks found wrong, {} pages repaired",
            scrubbed.mismatched_blocks, scrubbed.repaired_pages
        );
        drop(client);
        assert!(served.terminate());
        // What was repaired is there at the next start as well.
        let mut served = Served::start(folder.path(), &arguments);
        checker.check_all(&mut served.connect());
        assert_eq!(served.scrub(), 0);
        assert_eq!(served.status().integrity.mismatched_blocks, 0, "{}", served.said());
        assert!(served.terminate());
    }
}
