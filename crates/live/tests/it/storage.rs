//! Storage against a plain vector of bytes: memory, files through `io_uring` and by threads, with
//! and without the page cache.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use live::buffer::{Buffer, PAGE_BYTES};
use live::storage::{
    Backing, DATA_OFFSET_BYTES, Disk, DiskError, DriveLocation, Fault, FaultKind, Finished,
    IoMethod, Memory, PrefillState, Storage, Work,
};
use nvme::PlFlag;
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::path::Path;
use units::DriveId;

const PAGE: u64 = PAGE_BYTES as u64;
/// Pages of the drives that the random test writes.
const PAGES: u64 = 64;
const DRIVE: DriveId = DriveId(2);

#[derive(Clone, Debug)]
enum Step {
    /// Pages to read, from a page on.
    Read(u64, u64),
    /// Pages to write with a byte.
    Write(u64, u64, u8),
    Discard(u64, u64),
    Sync,
    /// Wait until everything is done.
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0..PAGES).prop_flat_map(|first| (Just(first), 0..=(PAGES - first).min(9)));
    prop_oneof![
        4 => range.clone().prop_map(|(first, count)| Step::Read(first, count)),
        4 => (range.clone(), 1u8..).prop_map(|((first, count), byte)| Step::Write(first, count, byte)),
        2 => range.prop_map(|(first, count)| Step::Discard(first, count)),
        1 => Just(Step::Sync),
        1 => Just(Step::Settle),
    ]
}

/// The next command that is done, however long it takes; `None` if there is none.
fn wait(storage: &mut Storage) -> Option<Finished> {
    storage.kick().unwrap();
    loop {
        if let Some(finished) = storage.poll() {
            return Some(finished);
        }
        if storage.in_flight() == 0 {
            return None;
        }
        let fd = storage.fd().expect("something is in flight that is not in memory");
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).unwrap();
    }
}

fn pages(count: u64, byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed((count * PAGE) as usize);
    buffer.bytes_mut().fill(byte);
    buffer
}

/// A drive and everything that was said about it: its bytes, and what reads in flight must bring.
struct Model {
    storage: Storage,
    naive: Vec<u8>,
    /// By tag: first page, pages, and what a read must bring.
    in_flight: BTreeMap<u64, (u64, u64, Option<Vec<u8>>)>,
    next_tag: u64,
}

impl Model {
    fn new(way: IoMethod, backing: Backing) -> Self {
        let mut storage = Storage::new(way);
        storage.add(DRIVE, backing).unwrap();
        let naive = vec![0; (PAGES * PAGE) as usize];
        Self { storage, naive, in_flight: BTreeMap::new(), next_tag: 0 }
    }

    fn take(&mut self, finished: Finished) {
        let (_, _, expected) = self.in_flight.remove(&finished.tag).expect("finished once");
        finished.result.unwrap();
        assert_eq!(finished.drive, DRIVE);
        if let Some(expected) = expected {
            let buffer = finished.buffer.expect("a read returns its buffer");
            assert!(buffer.bytes()[..expected.len()] == expected[..], "read {}", finished.tag);
        }
    }

    fn settle(&mut self) {
        while let Some(finished) = wait(&mut self.storage) {
            self.take(finished);
        }
        assert_eq!((self.in_flight.len(), self.storage.in_flight()), (0, 0));
    }

    /// Overlapping commands have no order, so what overlaps is waited for.
    fn submit(&mut self, first: u64, count: u64, expected: Option<Vec<u8>>, work: Work) {
        let clashes = |(other, length, _): &(u64, u64, Option<Vec<u8>>)| {
            *other < first + count && first < other + length
        };
        while self.in_flight.values().any(clashes) {
            let finished = wait(&mut self.storage).expect("the one that overlaps");
            self.take(finished);
        }
        self.in_flight.insert(self.next_tag, (first, count, expected));
        self.storage.submit(self.next_tag, DRIVE, work);
        self.next_tag += 1;
    }

    fn step(&mut self, step: &Step) {
        let range =
            |first: u64, count: u64| (first * PAGE) as usize..((first + count) * PAGE) as usize;
        match *step {
            Step::Read(first, count) => {
                let expected = self.naive[range(first, count)].to_vec();
                let (offset_bytes, length_bytes) = (first * PAGE, expected.len());
                let buffer = pages(count + 1, 0xee);
                let work = Work::Read { offset_bytes, buffer, length_bytes, pl: PlFlag::Off };
                self.submit(first, count, Some(expected), work);
            }
            Step::Write(first, count, byte) => {
                let length_bytes = (count * PAGE) as usize;
                let (offset_bytes, buffer) = (first * PAGE, pages(count, byte));
                let work = Work::Write { offset_bytes, buffer, length_bytes };
                self.submit(first, count, None, work);
                self.naive[range(first, count)].fill(byte);
            }
            Step::Discard(first, count) => {
                let (offset_bytes, length_bytes) = (first * PAGE, count * PAGE);
                self.submit(first, count, None, Work::Discard { offset_bytes, length_bytes });
                self.naive[range(first, count)].fill(0);
            }
            Step::Sync => self.submit(0, 0, None, Work::Sync),
            Step::Settle => self.settle(),
        }
    }

    /// Everything is as the naive model has it, and holes are zeros.
    fn check(&mut self) {
        self.settle();
        self.step(&Step::Read(0, PAGES));
        self.settle();
        for page in 0..PAGES {
            let bytes = &self.naive[(page * PAGE) as usize..((page + 1) * PAGE) as usize];
            let zero = bytes.iter().all(|&byte| byte == 0);
            assert!(zero || !self.storage.is_hole(DRIVE, page), "page {page} is no hole");
        }
    }
}

fn run(steps: &[Step], way: IoMethod, place: &DriveLocation) {
    let bytes = PAGES * PAGE;
    let backing = match place {
        DriveLocation::Memory => Backing::Memory(Memory::new(bytes).unwrap()),
        _ => match Disk::create(place, bytes) {
            Ok(disk) => Backing::Disk(disk),
            // Not every file system can.
            Err(DiskError::NotDirect { .. }) => return,
            Err(error) => panic!("{error}"),
        },
    };
    let mut model = Model::new(way, backing);
    steps.iter().for_each(|step| model.step(step));
    model.check();
    if *place == DriveLocation::Memory {
        return;
    }
    // The next process finds the same bytes, and holes where they are.
    let naive = model.naive.clone();
    drop(model);
    let disk = Disk::open(place, bytes).unwrap();
    let mut again = Model::new(way, Backing::Disk(disk));
    again.naive = naive;
    again.check();
}

proptest! {
    #![proptest_config(testing::cases(24))]

    #[test]
    fn storage_keeps_what_is_written(steps in proptest::collection::vec(step(), 0..60)) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        run(&steps, IoMethod::Best, &DriveLocation::Memory);
        run(&steps, IoMethod::Threads, &DriveLocation::File(path("threads")));
        run(&steps, IoMethod::Threads, &DriveLocation::Direct(path("threads-direct")));
        if ring_is_allowed() {
            run(&steps, IoMethod::Ring, &DriveLocation::File(path("ring")));
            run(&steps, IoMethod::Ring, &DriveLocation::Direct(path("ring-direct")));
        }
    }
}

/// Whether this kernel lets us have a ring; containers often do not.
fn ring_is_allowed() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::create(&DriveLocation::File(folder.path().join("probe")), PAGE).unwrap();
    Storage::new(IoMethod::Ring).add(DRIVE, Backing::Disk(disk)).is_ok()
}

fn on_file(folder: &Path, way: IoMethod) -> Storage {
    let place = DriveLocation::File(folder.join("drive"));
    let mut storage = Storage::new(way);
    storage.add(DRIVE, Backing::Disk(Disk::create(&place, PAGES * PAGE).unwrap())).unwrap();
    storage
}

fn read(page: u64) -> Work {
    Work::Read {
        offset_bytes: page * PAGE,
        buffer: pages(1, 9),
        length_bytes: PAGE_BYTES,
        pl: PlFlag::Off,
    }
}

fn write(page: u64, byte: u8) -> Work {
    Work::Write { offset_bytes: page * PAGE, buffer: pages(1, byte), length_bytes: PAGE_BYTES }
}

#[test]
fn more_commands_than_the_kernel_takes_are_all_done() {
    for way in [IoMethod::Best, IoMethod::Threads] {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = on_file(folder.path(), way);
        for tag in 0..2000 {
            storage.submit(tag, DRIVE, read(tag % PAGES));
        }
        assert_eq!(storage.in_flight(), 2000);
        let mut tags: Vec<u64> = std::iter::from_fn(|| wait(&mut storage))
            .map(|finished| {
                finished.result.unwrap();
                assert_eq!(finished.buffer.unwrap().bytes(), [0; PAGE_BYTES]);
                finished.tag
            })
            .collect();
        tags.sort_unstable();
        assert!(tags.into_iter().eq(0..2000));
    }
}

#[test]
fn storage_that_is_dropped_waits_for_the_kernel() {
    for way in [IoMethod::Best, IoMethod::Threads] {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = on_file(folder.path(), way);
        for tag in 0..300 {
            storage.submit(tag, DRIVE, write(tag % PAGES, 5));
        }
        drop(storage);
        let place = DriveLocation::File(folder.path().join("drive"));
        let disk = Disk::open(&place, PAGES * PAGE).expect("the lock is gone with the storage");
        let first = disk.read_now(DATA_OFFSET_BYTES, PAGE_BYTES).unwrap();
        assert_eq!(first.bytes(), [5; PAGE_BYTES]);
    }
}

#[test]
fn what_is_wrong_with_a_command_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = on_file(folder.path(), IoMethod::Best);
    let mut fails = |drive, work: Work| {
        let has_buffer = matches!(work, Work::Read { .. } | Work::Write { .. });
        storage.submit(1, drive, work);
        let finished = wait(&mut storage).unwrap();
        assert_eq!(finished.buffer.is_some(), has_buffer, "the buffer comes back");
        finished.result.unwrap_err().to_string()
    };
    assert_eq!(fails(DriveId(0), read(0)), "drive 0 has no storage");
    assert_eq!(fails(DriveId(9), Work::Sync), "drive 9 has no storage");
    assert_eq!(
        fails(DRIVE, read(PAGES)),
        "drive 2: 4096 bytes at 262144 with a buffer of 4096 are not whole pages of 4096 bytes within its 262144 bytes"
    );
    let short = Work::Write { offset_bytes: 0, buffer: pages(1, 0), length_bytes: 2 * PAGE_BYTES };
    fails(DRIVE, short);
    fails(DRIVE, Work::Discard { offset_bytes: 1, length_bytes: PAGE });
    fails(DRIVE, Work::Discard { offset_bytes: u64::MAX - PAGE + 1, length_bytes: 2 * PAGE });
    // A file that is cut while it is used.
    std::fs::File::options()
        .write(true)
        .open(folder.path().join("drive"))
        .unwrap()
        .set_len(DATA_OFFSET_BYTES)
        .unwrap();
    assert!(fails(DRIVE, read(3)).contains("the file ends before the drive does"));
}

#[test]
fn faults_strike_as_often_as_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = on_file(folder.path(), IoMethod::Best);
    storage.add(DriveId(0), Backing::Memory(Memory::new(PAGES * PAGE).unwrap())).unwrap();
    for drive in [DRIVE, DriveId(0)] {
        storage.inject(drive, Fault { kind: FaultKind::Reads, after: 1, count: 2 });
        let mut well = |work| {
            storage.submit(0, drive, work);
            wait(&mut storage).unwrap().result.is_ok()
        };
        assert!(well(read(0)) && well(write(0, 1)));
        assert!(!well(read(0)) && well(Work::Sync) && !well(read(0)) && well(read(0)));
        storage.inject(drive, Fault { kind: FaultKind::Everything, after: 0, count: u64::MAX });
        for work in [read(0), write(0, 1), Work::Sync] {
            storage.submit(0, drive, work);
            assert!(wait(&mut storage).unwrap().result.is_err());
        }
        assert!(storage.memory(drive).is_none(), "no way around a fault");
        storage.inject(drive, None);
        storage.submit(0, drive, read(0));
        assert_eq!(wait(&mut storage).unwrap().buffer.unwrap().bytes(), [1; PAGE_BYTES]);
    }
    assert!(storage.memory(DriveId(0)).is_some());
    assert!(storage.memory(DRIVE).is_none(), "it is a file");
}

#[test]
fn the_head_is_written_apart_from_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    for way in [IoMethod::Best, IoMethod::Threads] {
        let _ = std::fs::remove_file(folder.path().join("drive"));
        let mut storage = on_file(folder.path(), way);
        let head = |offset_bytes| Work::WriteHead {
            offset_bytes,
            buffer: pages(1, 3),
            length_bytes: PAGE_BYTES,
        };
        storage.submit(0, DRIVE, head(PAGE));
        storage.submit(1, DRIVE, head(DATA_OFFSET_BYTES));
        storage.submit(2, DRIVE, write(0, 4));
        let results: BTreeMap<u64, bool> = std::iter::from_fn(|| wait(&mut storage))
            .map(|finished| (finished.tag, finished.result.is_ok()))
            .collect();
        assert_eq!(results, BTreeMap::from([(0, true), (1, false), (2, true)]));
        let bytes = std::fs::read(folder.path().join("drive")).unwrap();
        let data = DATA_OFFSET_BYTES as usize;
        assert_eq!([bytes[4095], bytes[4096], bytes[8191], bytes[8192]], [0, 3, 3, 0]);
        assert_eq!([bytes[data - 1], bytes[data], bytes[data + 4095]], [0, 4, 4]);
    }
}

#[test]
fn a_drive_that_is_replaced_finishes_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = on_file(folder.path(), IoMethod::Best);
    storage.submit(0, DRIVE, write(0, 6));
    storage.submit(1, DRIVE, Work::Discard { offset_bytes: PAGE, length_bytes: PAGE });
    let place = DriveLocation::File(folder.path().join("other"));
    let mut other = Storage::new(IoMethod::Best);
    storage.add(DRIVE, Backing::Disk(Disk::create(&place, PAGES * PAGE).unwrap())).unwrap();
    storage.submit(2, DRIVE, write(1, 7));
    while let Some(finished) = wait(&mut storage) {
        finished.result.unwrap();
    }
    assert!(storage.is_hole(DRIVE, 0), "the new one is blank there");
    assert!(!storage.is_hole(DRIVE, 1), "the discard was of the old one");
    storage.remove(DRIVE);
    assert!(storage.backing(DRIVE).is_none());
    let old = DriveLocation::File(folder.path().join("drive"));
    other.add(DRIVE, Backing::Disk(Disk::open(&old, PAGES * PAGE).unwrap())).unwrap();
    other.submit(0, DRIVE, read(0));
    assert_eq!(wait(&mut other).unwrap().buffer.unwrap().bytes(), [6; PAGE_BYTES]);
}

#[test]
fn places_that_cannot_be_used_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let place = DriveLocation::File(folder.path().join("drive"));
    let said = |result: Result<Disk, DiskError>| result.unwrap_err().to_string();
    assert!(said(Disk::open(&place, PAGE)).contains("does not exist"));
    let disk = Disk::create(&place, PAGE).unwrap();
    assert!(said(Disk::create(&place, PAGE)).contains("exists already"));
    assert!(said(Disk::open(&place, PAGE)).contains("in use by this process"));
    drop(disk);
    assert!(said(Disk::open(&place, 2 * PAGE)).contains("the drive needs"));
    assert!(said(Disk::open(&place, 5)).contains("multiple of 4096"));
    assert!(said(Disk::open(&place, 1 << 63)).contains("impossible"));
    let not_a_file = DriveLocation::File(folder.path().into());
    assert!(said(Disk::open(&not_a_file, PAGE)).contains("neither a file nor a block device"));
    assert!(said(Disk::open(&DriveLocation::Memory, PAGE)).contains("memory"));
    assert!(!folder.path().join("other").exists());
    let nowhere = DriveLocation::File(folder.path().join("missing/drive"));
    assert!(Disk::create(&nowhere, PAGE).is_err());
}

#[test]
fn memory_is_taken_in_advance_also_of_a_drive_that_is_added_later_and_stops_at_once() {
    const BYTES: u64 = 5 << 20;
    let mut storage = Storage::new(IoMethod::Best);
    assert_eq!(storage.prefill(), None, "nobody has asked for it");
    storage.add(DriveId(0), Backing::Memory(Memory::new(BYTES).unwrap())).unwrap();
    storage.start_prefill().unwrap();
    storage.add(DriveId(1), Backing::Memory(Memory::new(BYTES).unwrap())).unwrap();
    storage.memory(DriveId(1)).unwrap().write(BYTES - 3, &[7; 3]);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let progress = loop {
        let progress = storage.prefill().unwrap();
        assert!(progress.bytes == 2 * BYTES && progress.done_bytes <= progress.bytes);
        if progress.state != PrefillState::Running {
            break progress;
        }
        assert!(std::time::Instant::now() < until, "{progress:?}");
        std::thread::yield_now();
    };
    // Where the kernel is old or memory is short it says so, and everything works all the same.
    if progress.state == PrefillState::Done {
        assert_eq!(progress.done_bytes, 2 * BYTES);
    }
    let mut end = [1; 4];
    storage.memory(DriveId(1)).unwrap().read(BYTES - 4, &mut end);
    assert_eq!(end, [0, 7, 7, 7]);
    assert!(storage.is_hole(DriveId(0), 0), "what is taken in advance holds no data");
    // A drive that is replaced meanwhile counts no longer; the end waits for one piece only.
    storage.add(DriveId(0), Backing::Memory(Memory::new(1 << 40).unwrap())).unwrap();
    storage.add(DriveId(0), Backing::Memory(Memory::new(BYTES).unwrap())).unwrap();
    assert_eq!(storage.prefill().unwrap().bytes, 2 * BYTES);
}
