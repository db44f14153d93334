//! Arrays that are created, opened, torn and put together again on real files.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use live::buffer::Buffer;
use live::durable::format::{QUIET_FOR, join};
use live::durable::journal::{Content, HeadWrite, Part};
use live::durable::{
    Geometry, Journal, MemberState, Note, OpenArray, OpenError, create, is_remains, open,
    write_superblock,
};
use live::storage::{DATA_OFFSET_BYTES, Disk, DiskError, DriveLocation, PlaceError, StoredDrive};
use std::path::Path;
use units::{DriveId, Instant};

const PAGE: usize = 4096;

const GEOMETRY: Geometry = Geometry {
    journalled: live::durable::Journalled::Degraded,
    checksums: false,
    level: Level::Raid5,
    width: 3,
    stripe_width: 3,
    chunk_bytes: 64 << 10,
    page_bytes: 4096,
    drive_bytes: 8 << 20,
};

fn places(folder: &Path) -> Vec<DriveLocation> {
    (0..3).map(|drive| DriveLocation::File(folder.join(format!("drive-{drive}")))).collect()
}

fn start(folder: &Path) -> OpenArray {
    open(&places(folder), Some(&GEOMETRY), QUIET_FOR).unwrap()
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    create(&places(folder.path()), &GEOMETRY, QUIET_FOR).unwrap();
    folder
}

fn refused(folder: &Path) -> String {
    open(&places(folder), Some(&GEOMETRY), QUIET_FOR).unwrap_err().to_string()
}

fn page(byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(PAGE);
    buffer.bytes_mut().fill(byte);
    buffer
}

fn file(drive: &StoredDrive) -> &Disk {
    match drive {
        StoredDrive::Disk(disk) => disk,
        StoredDrive::Remote(_) => panic!("all drives are files"),
    }
}

fn put(disk: &Disk, write: &HeadWrite) {
    let mut buffer = Buffer::zeroed(write.bytes.len());
    buffer.bytes_mut().copy_from_slice(&write.bytes);
    disk.head().write_stable(write.offset_bytes, &buffer).unwrap();
}

/// Journals that a page of some drives becomes `byte`. Returns the number of the batch.
fn journal(array: &mut OpenArray, drives: &[u8], offset_bytes: u64, byte: u8) -> u64 {
    let page = page(byte);
    let part = |&drive: &u8| {
        let content = Content::Bytes(page.bytes());
        Part { drive: DriveId(drive), offset_bytes, content }
    };
    let parts: Vec<Part<'_>> = drives.iter().map(part).collect();
    let batch = array.records.journal.append(&parts).unwrap();
    for (drive, record) in &batch.records {
        put(file(array.disks[drive.index()].as_ref().unwrap()), record);
    }
    array.records.journal.written(batch.sequence);
    batch.sequence
}

/// Says on all drives that take part what the superblock of the array says now.
fn write_superblocks(array: &mut OpenArray) {
    let superblock = &mut array.records.superblock;
    superblock.committed = superblock.generation + 1;
    superblock.generation += 2;
    for (position, disk) in array.disks.iter_mut().enumerate() {
        let takes_part = superblock.states[position] != MemberState::Failed;
        if let Some(disk) = disk.as_mut().filter(|_| takes_part) {
            superblock.member = DriveId(position as u8);
            write_superblock(superblock, disk).unwrap();
        }
    }
}

/// Says how a drive takes part from now on.
fn record_state(array: &mut OpenArray, drive: DriveId, state: MemberState) {
    array.records.superblock.states[drive.index()] = state;
    write_superblocks(array);
}

/// Records a clean shutdown.
fn record_end(array: &mut OpenArray) {
    array.records.superblock.clean = true;
    write_superblocks(array);
}

fn join_array(
    array: &OpenArray,
    place: &DriveLocation,
    drive: DriveId,
) -> Result<StoredDrive, OpenError> {
    let records = &array.records;
    join(place, drive, &records.superblock, &records.intent, &records.journal)
}

fn byte_of(disk: &Disk, offset_bytes: u64) -> u8 {
    let buffer = disk.read_now(DATA_OFFSET_BYTES + offset_bytes, PAGE).unwrap();
    let first = buffer.bytes()[0];
    assert!(buffer.bytes().iter().all(|&byte| byte == first), "a torn page");
    first
}

#[test]
fn an_array_is_created_once_and_opened_by_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let array = create(&places, &GEOMETRY, QUIET_FOR).unwrap();
    assert_eq!(
        (array.records.superblock.generation, array.assembly.absent, array.replayed),
        (1, 0, 0)
    );
    let said = refused(folder.path());
    assert!(said.contains("in use by this process; name each drive once"), "{said}");
    let again = create(&places, &GEOMETRY, QUIET_FOR).unwrap_err().to_string();
    assert!(again.contains("drive-0 is in use by this process"), "{again}");
    let uuid = array.records.superblock.uuid;
    drop(array);
    assert_eq!(start(folder.path()).records.superblock.uuid, uuid);
}

#[test]
fn a_creation_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut places = places(folder.path());
    places[2] = DriveLocation::File(folder.path().join("no/such/folder"));
    let said = create(&places, &GEOMETRY, QUIET_FOR).unwrap_err().to_string();
    assert!(said.starts_with("drive 2: "), "{said}");
    places[2] = DriveLocation::Memory;
    let said = create(&places, &GEOMETRY, QUIET_FOR).unwrap_err().to_string();
    assert_eq!(said, "drive 2: a drive in memory has no file to open");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let narrow = Geometry { width: 2, ..GEOMETRY };
    let said = create(&places[..2], &narrow, QUIET_FOR).unwrap_err().to_string();
    assert_eq!(said, "the number of drives is 2, which is impossible");
    let said = create(&places[..2], &GEOMETRY, QUIET_FOR).unwrap_err().to_string();
    assert_eq!(said, "the array has 3 drives, and 2 places are configured; name one for each");
}

#[test]
fn what_a_creation_left_that_was_cut_short_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let path = |drive: u8| folder.path().join(format!("drive-{drive}"));
    drop(create(&places, &GEOMETRY, QUIET_FOR).unwrap());
    // As after a cut: superblocks of generation 0 on one, another blank, the third not made.
    let mut bytes = std::fs::read(path(0)).unwrap();
    bytes[PAGE..2 * PAGE].fill(0);
    std::fs::write(path(0), bytes).unwrap();
    std::fs::write(path(1), []).unwrap();
    std::fs::remove_file(path(2)).unwrap();
    assert!(is_remains(&places[0]) && is_remains(&places[1]) && !is_remains(&places[2]));
    // The first block of a superblock was torn: a page is there, and the sector that says something
    // is not.
    std::fs::write(path(1), [0; 2 * PAGE]).unwrap();
    assert!(is_remains(&places[1]), "a page of zeros");
    assert!(refused(folder.path()).contains("create it again"));
    drop(create(&places, &GEOMETRY, QUIET_FOR).unwrap());
    assert!(!is_remains(&places[0]));
    assert_eq!(start(folder.path()).assembly.absent, 0);
    let again = create(&places, &GEOMETRY, QUIET_FOR).unwrap_err().to_string();
    assert!(again.contains("drive-0 is not blank: it is a drive of array"), "{again}");
}

#[test]
fn only_a_clean_end_is_clean() {
    let folder = made();
    let mut array = start(folder.path());
    assert!(!array.assembly.clean, "the creation was cut short");
    assert_eq!(array.assembly.generation, 1);
    let end = array.records.superblock.generation + 2;
    record_end(&mut array);
    assert_eq!(array.records.superblock.generation, end);
    drop(array);
    let array = start(folder.path());
    assert!(array.assembly.clean);
    assert_eq!((array.assembly.generation, array.assembly.end_generation()), (end, end));
    assert_eq!(array.records.superblock.generation, end + 2);
    drop(array);
    assert!(!start(folder.path()).assembly.clean, "it ran, and was not ended");
}

#[test]
fn marks_are_found_after_a_crash_and_gone_after_a_clean_end() {
    let folder = made();
    let mark = |array: &mut OpenArray| {
        array.records.intent.mark(Instant::ZERO, 5);
        for write in array.records.intent.blocks_to_write() {
            let mut buffer = Buffer::zeroed(PAGE);
            buffer.bytes_mut().copy_from_slice(&*write.bytes);
            // Torn between the drives: only one has it.
            file(array.disks[1].as_ref().unwrap()).write_now(write.offset_bytes, &buffer).unwrap();
        }
    };
    let mut array = start(folder.path());
    mark(&mut array);
    drop(array);
    let mut array = start(folder.path());
    assert_eq!(array.records.intent.dirty_regions(), [5]);
    assert_eq!(array.doubtful_regions(), [0; 0], "no drive is missing");
    record_end(&mut array);
    drop(array);
    assert_eq!(start(folder.path()).records.intent.dirty_regions(), [0; 0]);

    let mut array = start(folder.path());
    mark(&mut array);
    drop(array);
    std::fs::remove_file(folder.path().join("drive-0")).unwrap();
    let array = start(folder.path());
    assert_eq!(array.doubtful_regions(), [5], "a drive was lost in the same moment");
}

#[test]
fn drives_may_change_places_and_one_may_be_lost() {
    let folder = made();
    let at = |drive: u8| folder.path().join(format!("drive-{drive}"));
    let array = start(folder.path());
    for (drive, disk) in array.disks.iter().flatten().enumerate() {
        file(disk).write_now(DATA_OFFSET_BYTES, &page(drive as u8 + 1)).unwrap();
    }
    drop(array);
    std::fs::rename(at(0), at(9)).unwrap();
    std::fs::rename(at(2), at(0)).unwrap();
    std::fs::rename(at(9), at(2)).unwrap();
    let array = start(folder.path());
    let first: Vec<u8> = array.disks.iter().flatten().map(|disk| byte_of(file(disk), 0)).collect();
    assert_eq!(first, [1, 2, 3], "each drive is in its position");
    assert_eq!(array.assembly.notes.len(), 2);
    drop(array);

    // Drive 2 is at place 0 now; without it the array is degraded, and remembers that.
    std::fs::rename(at(0), at(9)).unwrap();
    let array = start(folder.path());
    assert_eq!((array.assembly.absent, array.disks[2].is_some()), (0b100, false));
    assert_eq!(array.records.superblock.states[2], MemberState::Failed);
    drop(array);
    std::fs::rename(at(9), at(0)).unwrap();
    let array = start(folder.path());
    assert_eq!(array.assembly.absent, 0b100, "it missed what was written meanwhile");
    assert!(array.assembly.notes.contains(&Note::Failed { member: 2, place: 0 }));
    drop(array);
    std::fs::remove_file(at(1)).unwrap();
    assert!(refused(folder.path()).starts_with("2 drives are missing, failed or stale (1, 2)"));
}

#[test]
fn a_refused_start_writes_nothing() {
    let folder = made();
    let other = made();
    let path = |drive: u8| folder.path().join(format!("drive-{drive}"));
    std::fs::copy(other.path().join("drive-1"), path(1)).unwrap();
    let before: Vec<Vec<u8>> = (0..3).map(|drive| std::fs::read(path(drive)).unwrap()).collect();
    assert!(refused(folder.path()).contains("the drive at place 1 belongs to array"));
    // Somebody else's data, or too little to be a drive: the others are served, and it is left
    // alone.
    for bytes in [100_000, 100] {
        std::fs::write(path(1), vec![b'x'; bytes]).unwrap();
        let array = start(folder.path());
        assert_eq!(array.assembly.absent, 0b10);
        drop(array);
        assert_eq!(std::fs::read(path(1)).unwrap(), vec![b'x'; bytes]);
    }
    for drive in [0, 2] {
        let now = std::fs::read(path(drive)).unwrap();
        let data = DATA_OFFSET_BYTES as usize;
        assert!(now[data..] == before[usize::from(drive)][data..]);
    }
}

#[test]
fn a_torn_superblock_is_the_one_before() {
    let folder = made();
    let array = start(folder.path());
    let generation = array.records.superblock.generation;
    drop(array);
    let path = folder.path().join("drive-1");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = (generation % 2) as usize * PAGE;
    bytes[at + 100..at + 200].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let array = start(folder.path());
    assert_eq!((array.assembly.absent, array.assembly.generation), (0, generation));
}

#[test]
fn a_degraded_array_replays_its_journal() {
    let folder = made();
    let mut array = start(folder.path());
    record_state(&mut array, DriveId(2), MemberState::Failed);
    assert!(Journal::is_needed(&GEOMETRY, 0b100));
    let disk =
        |array: &OpenArray, drive: usize| byte_of(file(array.disks[drive].as_ref().unwrap()), 4096);
    for byte in [1, 2] {
        journal(&mut array, &[0, 1], 4096, byte);
    }
    drop(array);

    let mut array = start(folder.path());
    assert_eq!(array.replayed, 4);
    assert_eq!([disk(&array, 0), disk(&array, 1), disk(&array, 2)], [2, 2, 0]);
    drop(array);
    array = start(folder.path());
    assert_eq!(array.replayed, 0, "once");

    // After a clear an old record is never done again.
    let sequence = journal(&mut array, &[0, 1], 4096, 3);
    array.records.journal.finish(sequence);
    let clear = array.records.journal.clear().unwrap();
    for drive in [0, 1] {
        put(file(array.disks[drive].as_ref().unwrap()), &clear);
    }
    drop(array);
    assert_eq!(disk(&start(folder.path()), 0), 2);

    // One drive has the headers of the other. Without any the start would have to lie.
    let lose_headers = |drive: u8| {
        let path = folder.path().join(format!("drive-{drive}"));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[1 << 20..(1 << 20) + 8192].fill(0);
        std::fs::write(&path, bytes).unwrap();
    };
    lose_headers(1);
    assert_eq!(disk(&start(folder.path()), 0), 2);
    lose_headers(0);
    assert_eq!(disk(&start(folder.path()), 0), 2, "the start before has written them again");
    lose_headers(0);
    lose_headers(1);
    assert!(refused(folder.path()).contains("drive 0 has no sound journal"));
}

#[test]
fn a_new_drive_joins_and_is_rebuilt() {
    let folder = made();
    let mut array = start(folder.path());
    record_state(&mut array, DriveId(1), MemberState::Failed);
    array.disks[1] = None;
    let place = DriveLocation::File(folder.path().join("spare"));
    let one = DriveId(1);
    array.disks[1] = Some(join_array(&array, &place, one).unwrap());
    let rebuilding = MemberState::Rebuilding { cursor_bytes: 0 };
    record_state(&mut array, DriveId(1), rebuilding);
    drop(array);

    let mut places = places(folder.path());
    places[1] = place;
    let mut array = open(&places, None, QUIET_FOR).unwrap();
    assert_eq!((array.assembly.absent, array.assembly.rebuilding), (0b10, 0b10));
    record_state(&mut array, DriveId(1), MemberState::Serving);
    drop(array);
    assert_eq!(open(&places, None, QUIET_FOR).unwrap().assembly.absent, 0);
    // The old one is no part of it any more.
    let said = open(&self::places(folder.path()), None, QUIET_FOR).unwrap();
    assert_eq!(said.assembly.absent, 0b10);
}

#[test]
fn only_a_blank_drive_or_the_failed_one_joins() {
    let folder = made();
    let other = made();
    let mut array = start(folder.path());
    let one = DriveId(1);
    record_state(&mut array, one, MemberState::Failed);
    let old = array.disks[1].take().unwrap();
    file(&old).write_now(DATA_OFFSET_BYTES, &page(7)).unwrap();
    let places = places(folder.path());
    let refused = |array: &OpenArray, place: &DriveLocation| {
        join_array(array, place, one).unwrap_err().to_string()
    };
    assert!(refused(&array, &places[1]).contains("in use"), "the failed one has its lock yet");
    drop(old);
    let foreign = DriveLocation::File(other.path().join("drive-1"));
    assert!(refused(&array, &foreign).contains("is not blank: it is a drive of array"));
    let letters = folder.path().join("letters");
    std::fs::write(&letters, vec![b'x'; 100_000]).unwrap();
    assert!(refused(&array, &DriveLocation::File(letters)).contains("it is not overwritten"));

    let joined = join_array(&array, &places[1], one).unwrap();
    let joined_file = file(&joined);
    assert_eq!((byte_of(joined_file, 0), joined_file.allocated().count()), (0, 0), "it is empty");
    array.disks[1] = Some(joined);
    record_state(&mut array, one, MemberState::Serving);
    drop(array);
    assert_eq!(start(folder.path()).assembly.absent, 0);
}

#[test]
fn a_chunk_that_the_journal_cannot_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let geometry = Geometry { chunk_bytes: 16 << 20, drive_bytes: 16 << 20, ..GEOMETRY };
    let said = create(&places(folder.path()), &geometry, QUIET_FOR).unwrap_err().to_string();
    assert!(said.starts_with("chunks of 16777216 bytes are too large"), "{said}");
    let mirror = Geometry { level: Level::Raid1, ..geometry };
    assert!(create(&places(folder.path()), &mirror, QUIET_FOR).is_ok(), "it needs no journal");
}

#[test]
fn arrays_are_the_same_past_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    let direct: Vec<DriveLocation> = (0..3)
        .map(|drive| DriveLocation::Direct(folder.path().join(format!("drive-{drive}"))))
        .collect();
    let mut array = match create(&direct, &GEOMETRY, QUIET_FOR) {
        // Not every file system can.
        Err(OpenError::DriveLocation {
            error: PlaceError::Disk(DiskError::NotDirect { .. }),
            ..
        }) => {
            return;
        }
        array => array.unwrap(),
    };
    record_state(&mut array, DriveId(2), MemberState::Failed);
    journal(&mut array, &[1], 8192, 9);
    drop(array);
    let array = open(&direct, Some(&GEOMETRY), QUIET_FOR).unwrap();
    assert_eq!((array.replayed, byte_of(file(array.disks[1].as_ref().unwrap()), 8192)), (1, 9));
    drop(array);
    assert_eq!(start(folder.path()).assembly.absent, 0b100, "the same files through the cache");
}
