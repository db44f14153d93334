//! Tests of superblocks: what is written is read, and what cannot be is named.

use super::*;
use alloc::string::ToString;
use alloc::vec;
use proptest::prelude::*;

pub(in crate::durability) fn example() -> Superblock {
    Superblock {
        uuid: Uuid([7; 16]),
        member: DriveId(1),
        geometry: Geometry {
            journalled: Journalled::Always,
            checksums: true,
            level: Level::Raid5,
            width: 4,
            stripe_width: 4,
            chunk_bytes: 64 << 10,
            page_bytes: 4096,
            drive_bytes: 1 << 30,
        },
        region_bytes: 1 << 20,
        generation: 12,
        committed: 11,
        states: vec![MemberState::Serving; 4],
        joined: vec![0; 4],
        began: 0,
        past: Past::default(),
        proposed: 0,
        seals_sectors: false,
        clean: false,
        created_seconds: 1_700_000_000,
    }
}

type Change = fn(&mut Superblock);

/// Every field at the ends of its range, and the place of its bytes.
#[test]
fn every_field_has_its_place_and_its_range() {
    let table: &[(&str, usize, &[u8], Change)] = &[
        ("uuid, least", 16, &[0; 16], |s| s.uuid = Uuid([0; 16])),
        ("uuid, most", 16, &[255; 16], |s| s.uuid = Uuid([255; 16])),
        ("generation, least", 32, &[0; 8], |s| (s.generation, s.committed) = (0, 0)),
        ("generation, most", 32, &[255; 8], |s| s.generation = u64::MAX),
        ("committed, least", 88, &[0; 8], |s| s.committed = 0),
        ("committed, most", 88, &[12], |s| s.committed = 12),
        ("proposed, least", 96, &[0; 8], |s| s.proposed = 0),
        ("proposed, most", 96, &[255; 8], |s| s.proposed = u64::MAX),
        ("created, least", 40, &[0; 8], |s| s.created_seconds = 0),
        ("created, most", 40, &[255; 8], |s| s.created_seconds = u64::MAX),
        ("drive, least", 48, &[0, 0x10, 0, 0, 0, 0, 0, 0], |s| {
            s.geometry.drive_bytes = 4096;
            s.geometry.chunk_bytes = 4096;
        }),
        ("drive, most", 48, &[0, 0, 0, 0, 0, 0, 0, 0x40], |s| {
            s.geometry.drive_bytes = 1 << 62;
        }),
        ("chunk, least", 56, &[0, 0x10, 0, 0, 0, 0, 0, 0], |s| s.geometry.chunk_bytes = 4096),
        ("chunk, most", 56, &[0, 0, 0, 0x40, 0, 0, 0, 0], |s| {
            s.geometry.chunk_bytes = 1 << 30;
        }),
        ("page, least", 64, &[0, 0x10, 0, 0], |s| s.geometry.page_bytes = 4096),
        ("page, most", 64, &[0, 0, 1, 0], |s| s.geometry.page_bytes = 64 << 10),
        ("member, least", 68, &[0], |s| s.member = DriveId(0)),
        ("member, most", 68, &[3], |s| s.member = DriveId(3)),
        ("width, least", 69, &[1, 1, 0], |s| {
            s.geometry.level = Level::Raid0;
            (s.geometry.width, s.geometry.stripe_width) = (1, 1);
            (s.member, s.states) = (DriveId(0), vec![MemberState::Serving]);
            s.joined = vec![0];
        }),
        ("width, most", 69, &[64, 64, 4], |s| {
            s.geometry.level = Level::Raid6;
            (s.geometry.width, s.geometry.stripe_width) = (64, 64);
            s.states = vec![MemberState::Serving; 64];
            s.joined = vec![0; 64];
        }),
        ("past", 1664, &[7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 8], |s| {
            s.past.add([(7, 9), (8, 1)].map(|(branch, until)| PastBranch { branch, until }));
        }),
        ("past, most", 4080, &[152, 0, 0, 0, 0, 0, 0, 0, 255], |s| {
            s.past.add((1..=152).map(|branch| PastBranch { branch, until: 255 }));
        }),
        ("horizon", 112, &[9], |s| {
            s.past.add((1..=153).map(|branch| PastBranch { branch, until: 9 }));
        }),
        ("branch, most", 104, &[255; 8], |s| s.began = u64::MAX),
        ("written tables", 76, &[1], |s| s.seals_sectors = true),
        ("joined, most", 1152 + 3 * 8, &[255; 8], |s| s.joined[3] = u64::MAX),
        ("clean", 72, &[1], |s| s.clean = true),
        ("region, least", 80, &[0, 0, 0x10, 0, 0, 0, 0, 0], |s| s.region_bytes = 1 << 20),
        ("region, most", 80, &[0, 0, 0, 0, 0, 0, 0, 0x80], |s| s.region_bytes = 1 << 63),
        ("failed", 128 + 2 * 16, &[1], |s| s.states[2] = MemberState::Failed),
        ("rebuilding, most", 128 + 3 * 16, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40], |s| {
            s.states[3] = MemberState::Rebuilding { cursor_bytes: 1 << 30 };
        }),
    ];
    for (name, at, bytes, change) in table {
        let mut superblock = example();
        change(&mut superblock);
        let block = superblock.encode();
        assert_eq!(&block[*at..at + bytes.len()], *bytes, "{name}");
        assert_eq!(Superblock::decode(&block), Ok(superblock), "{name}");
    }
}

/// Puts bytes into the example's block, and corrects its checksum.
fn forged(at: usize, bytes: &[u8]) -> Result<Superblock, String> {
    let mut block = example().encode();
    put(&mut block, at, bytes);
    seal(&mut block, SUM_AT);
    Superblock::decode(&block).map_err(|error| error.to_string())
}

#[test]
fn impossible_fields_are_named() {
    let table: &[(usize, &[u8], &str)] = &[
        (8, &[6], "version 6"),
        (8, &[255; 4], "version 4294967295"),
        (8, &[0], "version 0"),
        (48, &[1], "bytes of a drive is 1073741825"),
        (48, &[0; 8], "bytes of a drive is 0"),
        (48, &[0, 0, 0, 0, 0, 0, 0, 0x41], "bytes of a drive"),
        (56, &[0; 8], "bytes of a chunk is 0"),
        (56, &[0, 0x10, 0, 0x40, 0, 0, 0, 0], "bytes of a chunk"),
        (64, &[0; 4], "bytes of a page is 0"),
        (64, &[1], "bytes of a page is 4097"),
        (68, &[4], "index of the drive is 4"),
        (69, &[2], "number of drives is 2"),
        (69, &[65], "number of drives is 65"),
        (70, &[5], "members of a stripe is 5"),
        (70, &[0], "members of a stripe is 0"),
        (71, &[6], "level is 6"),
        (72, &[2], "mark of a clean end is 2"),
        (73, &[1], "holds nothing"),
        (73, &[2], "mark of a joining drive is 2"),
        (75, &[2], "use of checksums is 2"),
        (76, &[2], "format of checksum tables is 2"),
        (88, &[13], "committed generation is 13"),
        (80, &[1], "bytes of a region is 1048577"),
        (80, &[0, 0, 8], "bytes of a region is 524288"),
        (128, &[3], "state of a drive is 3"),
        (128, &[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x40], "progress of a rebuild is 1073741825"),
    ];
    for (at, bytes, words) in table {
        let said = forged(*at, bytes).unwrap_err();
        assert!(said.contains(words), "byte {at}: {said}");
    }
}

/// Numbers of changes are on the drives, so every version of the program must compute the same.
const NUMBER: u64 = 0x324c_b3fa_2e85_7b40;

#[test]
fn changes_keep_their_numbers() {
    let mut superblock = example();
    let rebuilding = MemberState::Rebuilding { cursor_bytes: 4096 };
    let states = [MemberState::Serving, MemberState::Failed, MemberState::Serving, rebuilding];
    superblock.propose(&states, &[0, 0, 5, 12]);
    assert_eq!(superblock.proposed, NUMBER);
    assert_eq!(get_u64(&superblock.encode(), 96), NUMBER);
}

/// Commits a change in the next generation.
fn commit(superblock: &mut Superblock, change: impl FnOnce(&mut [MemberState], &mut [u64])) {
    superblock.generation += 1;
    let (mut states, mut joined) = (superblock.states.clone(), superblock.joined.clone());
    change(&mut states, &mut joined);
    superblock.propose(&states, &joined);
    superblock.commit(states, joined, false);
}

/// Loses a drive; another one joins in its place and is rebuilt.
fn replace(superblock: &mut Superblock, drive: usize) {
    commit(superblock, |states, _| states[drive] = MemberState::Failed);
    let joins = superblock.generation;
    commit(superblock, |states, joined| {
        states[drive] = MemberState::Rebuilding { cursor_bytes: 0 };
        joined[drive] = joins;
    });
    commit(superblock, |states, _| states[drive] = MemberState::Serving);
}

#[test]
fn drives_of_the_past_are_outdated_however_long_ago_that_is() {
    let mut superblock = example();
    let mut left: Vec<Superblock> = Vec::new();
    for cycle in 0..1000 {
        let drive = cycle % 4;
        left.push(Superblock { member: DriveId(drive as u8), ..superblock.clone() });
        replace(&mut superblock, drive);
        for _ in 0..cycle % 3 {
            commit(&mut superblock, |_, _| {});
        }
        superblock = Superblock::decode(&superblock.encode()).unwrap();
    }
    assert!(superblock.generation > 4000);
    for (cycle, old) in left.iter().enumerate() {
        assert!(old.is_contained_in(&superblock), "drive of cycle {cycle}");
    }
    for old in &left[..996] {
        assert!(!superblock.is_contained_in(old), "it has gone on");
    }
}

#[test]
fn only_a_lost_drive_begins_a_branch() {
    let mut superblock = example();
    commit(&mut superblock, |_, _| {});
    let first = superblock.branch();
    for _ in 0..1000 {
        commit(&mut superblock, |_, _| {});
    }
    assert_eq!((superblock.branch(), superblock.past.branches().count()), (first, 0));
    replace(&mut superblock, 2);
    assert_ne!(superblock.branch(), first);
    assert!(superblock.past.branches().map(|past| past.branch).eq([first]));
}

/// Both halves of an array went on alone, one of them for many changes.
#[test]
fn a_drive_that_went_on_alone_is_not_outdated_until_the_horizon_has_passed_it() {
    let before = example();
    let mut alone = before.clone();
    commit(&mut alone, |states, _| states[2] = MemberState::Failed);
    let mut others = before;
    commit(&mut others, |states, _| states[1] = MemberState::Failed);
    let long = past::PAST_MAX - 2;
    for _ in 0..long {
        replace(&mut others, 3);
        let one = Superblock { member: DriveId(1), ..alone.clone() };
        let other = Superblock { member: DriveId(2), ..others.clone() };
        assert!(!one.is_contained_in(&other) && !other.is_contained_in(&one));
    }
}

/// A superblock of version 4, whose list had the number of each change.
#[test]
fn changes_of_version_4_count_as_branches() {
    let mut block = Superblock { generation: 30, ..example() }.encode();
    put(&mut block, 8, &4u32.to_le_bytes());
    for index in 0..304u64 {
        put(&mut block, PAST_AT + 8 * index as usize, &(index + 1).to_le_bytes());
    }
    put(&mut block, BRANCH_AT, &[9; 16]);
    seal(&mut block, SUM_AT);
    let mut read = Superblock::decode(&block).unwrap();
    assert_eq!((read.began, read.branch()), (0, read.change()));
    assert!(read.past.covers(304, 29) && read.past.covers(1, 29) && !read.past.covers(1, 30));
    let old = read.clone();
    commit(&mut read, |_, _| {});
    assert_eq!(read.branch(), old.change());
    assert!(old.is_contained_in(&read));
}

#[test]
fn checksums_follow_the_data() {
    let with = example().geometry;
    let without = Geometry { checksums: false, ..with };
    assert_eq!(without.stored_bytes(), without.drive_bytes);
    assert_eq!(with.stored_bytes(), with.drive_bytes + table_bytes(with.drive_bytes));
    assert!(with.stored_bytes() > without.stored_bytes());
    assert_eq!(
        [Journalled::Degraded, Journalled::Always].map(Journalled::name),
        ["degraded", "always"]
    );
}

#[test]
fn version_1_is_read() {
    let read = forged(8, &VERSION_SINGLE.to_le_bytes()).unwrap();
    assert_eq!((read.generation, read.committed), (12, 11));
    // Version 1 had zeros where version 2 has these fields.
    let mut block = example().encode();
    put(&mut block, 8, &VERSION_SINGLE.to_le_bytes());
    put(&mut block, 88, &3u64.to_le_bytes());
    put(&mut block, JOINED_AT, &9u64.to_le_bytes());
    put(&mut block, PAST_AT, &9u64.to_le_bytes());
    seal(&mut block, SUM_AT);
    assert_eq!(Superblock::decode(&block), Ok(read.clone()));
    let mut expected = example();
    expected.geometry.checksums = false;
    assert_eq!(read, expected);
}

#[test]
fn every_superblock_has_the_newest_version() {
    let mut superblock = example();
    for checksums in [true, false] {
        superblock.geometry.checksums = checksums;
        assert_eq!(get_u32(&superblock.encode(), 8), VERSION);
        assert_eq!(Superblock::decode(&superblock.encode()).as_ref(), Ok(&superblock));
    }
}

#[test]
fn blank_foreign_and_damaged_blocks_are_told_apart() {
    assert_eq!(Superblock::decode(&[0; 4096]), Err(SuperblockError::Blank));
    assert_eq!(Superblock::decode(&[1; 4096]), Err(SuperblockError::Foreign));
    let mut block = example().encode();
    block[3000] ^= 1;
    assert_eq!(Superblock::decode(&block), Err(SuperblockError::Checksum));
}

#[test]
fn what_is_unfinished_fits_into_a_sector() {
    let mut superblock = example();
    superblock.geometry.level = Level::Raid6;
    (superblock.geometry.width, superblock.geometry.stripe_width) = (64, 64);
    superblock.states = vec![MemberState::Failed; 64];
    superblock.joined = vec![7; 64];
    superblock.past.add([PastBranch { branch: 7, until: 1 }]);
    superblock.member = DriveId(63);
    (superblock.committed, superblock.proposed, superblock.clean) = (12, 9, true);
    let first = superblock.unfinished();
    assert!(first.is_being_created());
    let Superblock { generation, committed, states, joined, past, proposed, clean, .. } = &first;
    assert_eq!((*generation, *committed, *proposed, *clean), (0, 0, 0, false));
    assert!(states.iter().all(|state| *state == MemberState::Serving));
    assert!(states.len() == 64 && *joined == [0; 64] && *past == Past::default());
    let (first_uuid, first_geometry) = (first.uuid, &first.geometry);
    assert_eq!((first_uuid, first_geometry), (superblock.uuid, &superblock.geometry));
    let second = Superblock { generation: 1, ..first.clone() };
    for block in [first.encode(), second.encode(), superblock.encode_joining()] {
        assert!(block[512..].iter().all(|&byte| byte == 0));
    }
    let joining = Superblock::decode(&superblock.encode_joining());
    assert_eq!(joining, Err(SuperblockError::Unfinished));
}

#[test]
fn the_copy_that_counts_has_its_place() {
    let of = |generation| Ok(Superblock { generation, ..example() });
    let (unfinished, torn) =
        (|| Err(SuperblockError::Unfinished), || Err(SuperblockError::Checksum));
    for (copies, expected) in [
        ([of(12), of(13)], Some(1)),
        ([of(14), of(13)], Some(0)),
        ([of(0), torn()], Some(0)),
        ([torn(), of(0)], Some(1)),
        ([torn(), unfinished()], Some(1)),
        ([of(0), unfinished()], Some(0)),
        ([unfinished(), of(0)], Some(1)),
        ([torn(), Err(SuperblockError::Blank)], None),
    ] {
        assert_eq!(newest_offset_bytes(&copies), expected.map(|at: usize| COPIES_AT[at]));
    }
}

#[test]
fn of_two_copies_the_newer_counts() {
    let old = example();
    let new = Superblock { generation: 13, ..example() };
    assert_ne!(old.offset_bytes(), new.offset_bytes());
    let broken = || Err(SuperblockError::Checksum);
    assert_eq!(newer([Ok(new.clone()), Ok(old.clone())]), Ok(new.clone()));
    assert_eq!(newer([Ok(old.clone()), Ok(new.clone())]), Ok(new));
    assert_eq!(newer([broken(), Ok(old.clone())]), Ok(old.clone()), "the last write was torn");
    assert_eq!(newer([Err(SuperblockError::Blank), broken()]), broken());
    let version = || Err(SuperblockError::Version { version: 3 });
    assert_eq!(newer([Ok(old), version()]), version(), "a newer program was here");
}

proptest! {
    #![proptest_config(testing::cases(256))]

    #[test]
    fn hostile_bytes_are_refused_or_consistent(
        changes in proptest::collection::vec((0usize..4096, any::<u8>()), 1..12),
    ) {
        let mut block = example().encode();
        for (at, byte) in changes {
            block[at] = byte;
        }
        let _ = Superblock::decode(&block);
        put(&mut block, 0, &MAGIC);
        put(&mut block, 8, &VERSION.to_le_bytes());
        seal(&mut block, SUM_AT);
        if let Ok(superblock) = Superblock::decode(&block) {
            prop_assert_eq!(superblock.geometry.check(), Ok(()));
            prop_assert!(superblock.member.0 < superblock.geometry.width);
            prop_assert_eq!(Superblock::decode(&superblock.encode()), Ok(superblock));
        }
    }
}
