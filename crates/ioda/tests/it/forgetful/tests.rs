//! The file system forgets what it may, and nothing else.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use super::{Counts, Forgetful};
use live::buffer::Buffer;
use live::storage::{
    Backing, DATA_OFFSET_BYTES, Disk, DriveLocation, Finished, IoMethod, Storage, Work,
};
use rustix::event::{PollFd, PollFlags, poll};
use std::os::unix::fs::FileExt;
use std::path::Path;
use units::DriveId;

const PAGE: usize = 4096;
const PAGES: u64 = 64;
const DRIVE: DriveId = DriveId(0);

/// The ways in which the server reads and writes files.
fn ways() -> impl Iterator<Item = (IoMethod, bool)> {
    let methods = [IoMethod::Ring, IoMethod::Threads];
    methods.into_iter().flat_map(|method| [(method, false), (method, true)])
}

fn place(path: &Path, direct: bool) -> DriveLocation {
    if direct { DriveLocation::Direct(path.into()) } else { DriveLocation::File(path.into()) }
}

fn filled(byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(PAGE);
    buffer.bytes_mut().fill(byte);
    buffer
}

fn run(storage: &mut Storage, work: Work) -> Finished {
    storage.submit(0, DRIVE, work);
    storage.kick().unwrap();
    loop {
        if let Some(finished) = storage.poll() {
            return finished;
        }
        let fd = storage.fd().unwrap();
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).unwrap();
    }
}

fn write(page: u64, byte: u8) -> Work {
    let offset_bytes = page * PAGE as u64;
    Work::Write { offset_bytes, buffer: filled(byte), length_bytes: PAGE }
}

fn write_head(page: u64, byte: u8) -> Work {
    let offset_bytes = page * PAGE as u64;
    Work::WriteHead { offset_bytes, buffer: filled(byte), length_bytes: PAGE }
}

/// What a page of the file holds, if it holds one byte only.
fn page(path: &Path, number: u64) -> Option<u8> {
    let mut bytes = [0; PAGE];
    std::fs::File::open(path).unwrap().read_exact_at(&mut bytes, number * PAGE as u64).unwrap();
    bytes.iter().all(|byte| *byte == bytes[0]).then_some(bytes[0])
}

fn restart(files: &Forgetful, storage: Storage, seed: u64) {
    files.cut(seed);
    files.refuse();
    drop(storage);
    files.power_on();
}

#[test]
fn what_was_synced_stays_and_nothing_else_has_to() {
    let Some(files) = Forgetful::mount("a file system that forgets") else { return };
    let data_page = DATA_OFFSET_BYTES / PAGE as u64;
    for (number, (method, direct)) in ways().enumerate() {
        // What is seen over all seeds of the page that was never synced, and of the one that was
        // stable.
        let mut seen = [false; 3];
        for seed in 0..24 {
            let path = files.at(&format!("drive-{number}-{seed}"));
            let place = place(&path, direct);
            let disk = Disk::create(&place, PAGES * PAGE as u64).unwrap();
            std::fs::File::open(files.path()).unwrap().sync_all().unwrap();
            let mut storage = Storage::new(method);
            storage.add(DRIVE, Backing::Disk(disk)).unwrap();
            let before = files.counts();
            run(&mut storage, write(1, 1)).result.unwrap();
            run(&mut storage, Work::Sync).result.unwrap();
            run(&mut storage, write(1, 2)).result.unwrap();
            // Neither of these covers what is not synced.
            run(&mut storage, write_head(7, 7)).result.unwrap();
            run(&mut storage, write_head(8, 8)).result.unwrap();
            let after = files.counts();
            let done = Counts { writes: 2, stable_writes: 2, syncs: 1, ..Counts::default() };
            let writes = after.writes - before.writes;
            let stable_writes = after.stable_writes - before.stable_writes;
            let syncs = after.syncs - before.syncs;
            // The kernel sends one after each stable write, which is told from others.
            assert!(files.shared.lock().stable_writers.is_empty());
            assert_eq!(Counts { writes, stable_writes, syncs, ..Counts::default() }, done);
            restart(&files, storage, seed);
            assert_eq!((page(&path, 7), page(&path, 8)), (Some(7), Some(8)));
            match page(&path, data_page + 1) {
                Some(1) => seen[0] = true,
                Some(2) => seen[1] = true,
                Some(other) => panic!("a page of {other}"),
                None => seen[2] = true,
            }
        }
        assert_eq!(seen, [true; 3], "{method:?}, direct: {direct}: old, new, torn");
    }
}

#[test]
fn names_are_kept_when_their_folder_was_synced() {
    let Some(files) = Forgetful::mount("a file system that forgets names") else { return };
    let folder = files.at("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::File::open(files.path()).unwrap().sync_all().unwrap();
    let sync = || std::fs::File::open(&folder).unwrap().sync_all().unwrap();
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..24 {
        let (a, b, c) = (folder.join("a"), folder.join("b"), folder.join("c"));
        std::fs::write(&a, b"here").unwrap();
        std::fs::File::open(&a).unwrap().sync_all().unwrap();
        sync();
        std::fs::write(&c, b"too").unwrap();
        std::fs::File::open(&c).unwrap().sync_all().unwrap();
        std::fs::rename(&a, &b).unwrap();
        files.cut(seed);
        files.refuse();
        files.power_on();
        assert!(a.exists() != b.exists(), "one name of two");
        assert!(!b.exists() || c.exists(), "names are lost from the end");
        let there = if a.exists() { &a } else { &b };
        assert_eq!(std::fs::read(there).unwrap(), b"here");
        if c.exists() {
            kept += 1
        } else {
            lost += 1
        }
        for path in [a, b, c] {
            let _ = std::fs::remove_file(path);
        }
        sync();
    }
    assert!(lost > 0 && kept > 0, "{lost} lost, {kept} kept");
}

#[test]
fn a_full_file_system_takes_no_more() {
    let Some(files) = Forgetful::mount("a file system that is full") else { return };
    files.limit(8 * PAGE as u64);
    let path = files.at("file");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    for page in 0..8 {
        file.write_all_at(&[1; PAGE], page * PAGE as u64).unwrap();
    }
    let error = file.write_all_at(&[1; PAGE], 8 * PAGE as u64).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    file.write_all_at(&[2; PAGE], 3 * PAGE as u64).unwrap();
    files.limit(9 * PAGE as u64);
    file.write_all_at(&[1; PAGE], 8 * PAGE as u64).unwrap();
    assert_eq!((files.used_bytes(), files.counts().full), (9 * PAGE as u64, 1));
}
