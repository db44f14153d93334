//! The storage over NVMe/TCP against a plain vector of bytes.

use super::target::{Kind, Medium, TestDrive, options};
use live::buffer::Buffer;
use live::storage::{
    ArrayPlace, Backing, DATA_OFFSET_BYTES, DriveLocation, Ending, Finished, IoMethod, RemoteDrive,
    RemoteOptions, Storage, StoredDrive, Work,
};
use nvme::PlFlag;
use nvme::wire::StatusCode;
use nvme::wire::pdu::Digests;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use units::{DriveId, Duration, Rng};

const PAGE: u64 = 4096;
const DRIVE: DriveId = DriveId(1);
const PAGES: u64 = 512;

fn medium() -> std::sync::Arc<std::sync::Mutex<Medium>> {
    Medium::new((DATA_OFFSET_BYTES + PAGES * PAGE) as usize)
}

fn storage(drive: &TestDrive, options: &RemoteOptions) -> Storage {
    let mut remote = RemoteDrive::open(&drive.remote(), options).unwrap();
    remote.set_bytes(PAGES * PAGE).unwrap();
    let mut storage = Storage::new(IoMethod::Best);
    storage.add(DRIVE, Backing::Remote(Box::new(remote))).unwrap();
    storage
}

/// The next command that is done, however long it takes; none if there is none.
fn wait(storage: &mut Storage) -> Option<Finished> {
    loop {
        storage.kick().unwrap();
        if let Some(finished) = storage.poll() {
            return Some(finished);
        }
        if storage.in_flight() == 0 {
            return None;
        }
        let fd = storage.fd().expect("something is in flight");
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).unwrap();
    }
}

fn filled(pages: u64, byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed((pages * PAGE) as usize);
    buffer.bytes_mut().fill(byte);
    buffer
}

fn write(page: u64, pages: u64, byte: u8) -> Work {
    let (offset_bytes, length_bytes) = (page * PAGE, (pages * PAGE) as usize);
    Work::Write { offset_bytes, length_bytes, buffer: filled(pages, byte) }
}

fn read(page: u64, pages: u64) -> Work {
    let (offset_bytes, length_bytes) = (page * PAGE, (pages * PAGE) as usize);
    Work::Read { offset_bytes, length_bytes, buffer: filled(pages, 0xaa), pl: PlFlag::Off }
}

#[test]
fn random_commands_do_what_a_vector_of_bytes_does() {
    for seed in testing::seeds(0..8) {
        let mut rng = Rng::stream(seed, "remote");
        let kind = Kind {
            number: 0,
            write_cache: rng.below(2) == 0,
            knows_ioda: false,
            capsule_bytes: [0, 4096, 8192][rng.below(3) as usize],
            reservations: nvme::target::Persistence::Possible,
        };
        let digests = Digests { header: rng.below(2) == 0, data: rng.below(2) == 0 };
        let commands = 1 + rng.below(40) as u16;
        let drive = TestDrive::start(kind, medium());
        let mut storage = storage(&drive, &RemoteOptions { digests, commands, ..options() });
        let mut model = vec![0_u8; PAGES as usize];
        let mut out: BTreeMap<u64, (u64, u64, Option<Vec<u8>>)> = BTreeMap::new();
        let mut reads = 0;
        for tag in 0..400 {
            let pages = 1 + rng.below(80);
            let page = rng.below(PAGES - pages);
            // Commands that overlap have no order.
            while out
                .values()
                .any(|&(first, count, _)| first < page + pages && page < first + count)
            {
                end(&mut out, wait(&mut storage).unwrap());
            }
            let place = page as usize..(page + pages) as usize;
            let byte = 1 + rng.below(200) as u8;
            let (work, expected) = match rng.below(8) {
                0..3 => {
                    reads += 1;
                    (read(page, pages), Some(model[place].to_vec()))
                }
                3..6 => {
                    model[place].fill(byte);
                    (write(page, pages, byte), None)
                }
                6 => {
                    model[place].fill(0);
                    let (offset_bytes, length_bytes) = (page * PAGE, pages * PAGE);
                    (Work::Discard { offset_bytes, length_bytes }, None)
                }
                _ => (Work::Sync, None),
            };
            let (page, pages) = if matches!(work, Work::Sync) { (PAGES, 0) } else { (page, pages) };
            storage.submit(tag, DRIVE, work);
            out.insert(tag, (page, pages, expected));
            if rng.below(3) == 0 {
                end(&mut out, wait(&mut storage).unwrap());
            }
        }
        while let Some(finished) = wait(&mut storage) {
            end(&mut out, finished);
        }
        assert!(out.is_empty() && reads > 50);
        assert_eq!(drive.medium.lock().unwrap().flushes > 0, kind.write_cache);
    }
}

fn end(out: &mut BTreeMap<u64, (u64, u64, Option<Vec<u8>>)>, finished: Finished) {
    finished.result.unwrap();
    let (_, pages, expected) = out.remove(&finished.tag).unwrap();
    if let Some(expected) = expected {
        let buffer = finished.buffer.unwrap();
        for (page, byte) in expected.into_iter().enumerate() {
            let bytes = &buffer.bytes()[page * PAGE as usize..][..PAGE as usize];
            assert!(bytes.iter().all(|&there| there == byte), "page {page} of {pages}");
        }
    }
}

#[test]
fn what_was_synced_or_written_to_the_head_survives_the_power() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let mut storage = storage(&drive, &options());
    for (tag, work) in [
        write(0, 4, 1),
        Work::Sync,
        write(4, 4, 2),
        Work::WriteHead { offset_bytes: PAGE, length_bytes: 4096, buffer: filled(1, 3) },
    ]
    .into_iter()
    .enumerate()
    {
        storage.submit(tag as u64, DRIVE, work);
        wait(&mut storage).unwrap().result.unwrap();
    }
    drive.medium.lock().unwrap().lose_power(|_| true);
    storage.submit(9, DRIVE, read(0, 8));
    let data = wait(&mut storage).unwrap().buffer.unwrap();
    let byte = |page: u64| data.bytes()[(page * PAGE) as usize];
    assert_eq!((byte(0), byte(3), byte(4), byte(7)), (1, 1, 0, 0));
    let mut head = StoredDrive::open_head(&drive.place(&options())).unwrap();
    let mut page = [0; 4096];
    engine::durability::Disk::read(&mut head, PAGE, &mut page).unwrap();
    assert_eq!(page, [3; 4096]);
}

#[test]
fn a_drive_that_is_cut_in_the_middle_of_a_pdu_ends_all_its_commands() {
    for bytes in [1, 7, 24, 100, 5000, 70_000] {
        let drive = TestDrive::start(Kind::plain(0), medium());
        let mut storage = storage(&drive, &options());
        drive.faults.lock().unwrap().cut_after = Some(bytes);
        for tag in 0..20 {
            storage.submit(tag, DRIVE, read(tag * 16, 16));
        }
        let ends: Vec<Finished> = std::iter::from_fn(|| wait(&mut storage)).collect();
        assert_eq!(ends.len(), 20, "every command has an end");
        assert!(ends.iter().all(|finished| finished.buffer.is_some()));
        let failed = ends.iter().filter(|finished| finished.result.is_err()).count();
        assert!(failed > 18, "{failed} after {bytes} bytes");
        storage.submit(99, DRIVE, read(0, 1));
        assert!(wait(&mut storage).unwrap().result.is_err(), "it is gone");
    }
}

#[test]
fn a_drive_that_hangs_fails_its_commands_in_time() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let command_timeout = Duration::from_millis(100);
    let mut storage = storage(&drive, &RemoteOptions { command_timeout, ..options() });
    drive.faults.lock().unwrap().is_hung = true;
    storage.submit(1, DRIVE, read(0, 1));
    storage.submit(2, DRIVE, write(1, 1, 1));
    let error = wait(&mut storage).unwrap().result.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    assert!(wait(&mut storage).unwrap().result.is_err());
}

#[test]
fn a_drive_that_is_taken_out_gives_its_commands_back() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let mut storage = storage(&drive, &options());
    drive.faults.lock().unwrap().is_hung = true;
    storage.submit(1, DRIVE, read(0, 1));
    storage.kick().unwrap();
    storage.remove(DRIVE);
    let finished = wait(&mut storage).unwrap();
    assert!(finished.result.is_err() && finished.buffer.is_some());
    assert!(wait(&mut storage).is_none());
}

#[test]
fn errors_of_the_drive_are_those_of_their_command() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let mut storage = storage(&drive, &options());
    for (status, kind) in [
        (StatusCode::UnrecoveredRead, std::io::ErrorKind::Other),
        (StatusCode::CapacityExceeded, std::io::ErrorKind::StorageFull),
        (StatusCode::WriteProtected, std::io::ErrorKind::ReadOnlyFilesystem),
    ] {
        drive.faults.lock().unwrap().status = Some(status);
        storage.submit(1, DRIVE, write(0, 100, 7));
        let error = wait(&mut storage).unwrap().result.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(status.label()), "{error}");
    }
    drive.faults.lock().unwrap().status = None;
    storage.submit(1, DRIVE, write(0, 100, 7));
    wait(&mut storage).unwrap().result.unwrap();
}

#[test]
fn what_cannot_be_opened_is_told_in_one_sentence() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let said = |address: &str| {
        let address = address.parse().unwrap();
        RemoteDrive::open(&address, &options()).unwrap_err()
    };
    let other = format!("nvme+tcp://{}/nqn.other", drive.address);
    let error = said(&other);
    assert_eq!(
        error.to_string(),
        format!("{other} cannot be used: there is no subsystem of this name")
    );
    assert!(!error.may_pass());
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = said(&format!("nvme+tcp://127.0.0.1:{port}/nqn.a"));
    assert!(error.may_pass() && error.to_string().contains("refused"), "{error}");
    let mut small = RemoteDrive::open(&drive.remote(), &options()).unwrap();
    let error = small.set_bytes((PAGES + 1) * PAGE).unwrap_err().to_string();
    assert!(error.ends_with("has 35651584 bytes, and the drive needs 35655680"), "{error}");
    assert!(matches!(drive.place(&options()), DriveLocation::Remote(_)));
}

/// A drive that is killed with reads in flight and is there again, after what `before` did.
fn come_back(write_cache: bool, before: &[Work]) -> Vec<Finished> {
    let kind = Kind { write_cache, ..Kind::plain(0) };
    let mut drive = TestDrive::start(kind, medium());
    let reconnect = Duration::from_secs(20);
    let mut storage = storage(&drive, &RemoteOptions { reconnect, ..options() });
    for work in before {
        let work = match work {
            Work::Sync => Work::Sync,
            _ => write(0, 64, 9),
        };
        storage.submit(100, DRIVE, work);
        wait(&mut storage).unwrap().result.unwrap();
    }
    drive.faults.lock().unwrap().holds_reads = true;
    for tag in 0..20 {
        storage.submit(tag, DRIVE, read(tag, 16));
    }
    storage.kick().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    drive.kill();
    let (address, medium) = (drive.address, drive.medium.clone());
    let _drive = TestDrive::start_at(address, kind, medium);
    std::iter::from_fn(|| wait(&mut storage)).collect()
}

#[test]
fn a_drive_that_cannot_have_lost_anything_is_connected_again() {
    for (write_cache, before) in
        [(true, &[][..]), (true, &[write(0, 1, 9), Work::Sync][..]), (false, &[write(0, 1, 9)][..])]
    {
        let ends = come_back(write_cache, before);
        assert_eq!(ends.len(), 20);
        let byte = if before.is_empty() { 0 } else { 9 };
        for finished in ends {
            assert_eq!(finished.result.unwrap(), Ending::Done);
            assert_eq!(finished.buffer.unwrap().bytes()[0], byte);
        }
    }
}

#[test]
fn a_drive_that_may_have_lost_something_is_not() {
    for before in [&[write(0, 1, 9)][..], &[write(0, 1, 9), Work::Sync, write(0, 1, 9)][..]] {
        let ends = come_back(true, before);
        assert!(ends.len() == 20 && ends.iter().all(|finished| finished.result.is_err()));
    }
}

#[test]
fn a_write_without_an_answer_ends_the_drive() {
    let mut drive = TestDrive::start(Kind { write_cache: false, ..Kind::plain(0) }, medium());
    let reconnect = Duration::from_secs(20);
    let mut storage = storage(&drive, &RemoteOptions { reconnect, ..options() });
    drive.faults.lock().unwrap().is_hung = true;
    storage.submit(1, DRIVE, write(0, 1, 9));
    storage.kick().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    drive.kill();
    assert!(wait(&mut storage).unwrap().result.is_err());
}

#[test]
fn a_read_that_may_fail_fast_does_not_wait_for_its_drive() {
    let drive = TestDrive::start(Kind::plain(0), medium());
    let read_patience = Duration::from_millis(20);
    let mut storage = storage(&drive, &RemoteOptions { read_patience, ..options() });
    drive.faults.lock().unwrap().holds_reads = true;
    let flagged = |page: u64| {
        let (offset_bytes, length_bytes) = (page * PAGE, PAGE as usize);
        let buffer = filled(1, 0);
        Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Predictable }
    };
    storage.submit(1, DRIVE, flagged(0));
    storage.submit(2, DRIVE, flagged(1));
    for _ in 0..2 {
        let finished = wait(&mut storage).unwrap();
        let busy_remaining = Duration::ZERO;
        assert_eq!(finished.result.unwrap(), Ending::FailedFast { busy_remaining });
        assert!(finished.buffer.is_none(), "the drive may still fill it");
    }
    assert_eq!(storage.in_flight(), 0);
    // Others do.
    drive.faults.lock().unwrap().holds_reads = false;
    storage.submit(3, DRIVE, read(0, 1));
    assert_eq!(wait(&mut storage).unwrap().result.unwrap(), Ending::Done);
}

#[test]
fn what_a_drive_says_of_its_windows_is_found() {
    let drive = TestDrive::start(Kind { knows_ioda: true, ..Kind::plain(0) }, medium());
    let mut remote = RemoteDrive::open(&drive.remote(), &options()).unwrap();
    let array = nvme::ArrayDescription { width: 4, parities: 1 };
    let place = ArrayPlace { array, slot: 3, scope: nvme::WindowScope::Collections };
    let windows = remote.ask_windows_now(place).unwrap().unwrap();
    assert_eq!(windows.report.busy_time_window, Duration::from_millis(100));
    assert_eq!((windows.report.array, windows.report.slot), (array, 3));
    // The drift until the next look, and half of a round trip.
    assert!(windows.clock_bound >= Duration::from_micros(400));
    let plain = TestDrive::start(Kind::plain(1), medium());
    let mut remote = RemoteDrive::open(&plain.remote(), &options()).unwrap();
    assert_eq!(remote.ask_windows_now(place).unwrap(), None);
}
