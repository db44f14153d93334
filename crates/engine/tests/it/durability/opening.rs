//! Writes of creation, opening and joining: their places, and what they leave alone.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{NoPower, Power, SectorDisk};
use super::world::{QUIET_FOR, REGION_BYTES, UUID, geometry};
use array::Level;
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::journal::{Content, JOURNAL_OFFSET_BYTES, Part};
use engine::durability::{
    Contents, Disk, Fate, Geometry, HEAD_BYTES, Journal, Journalled, OpenError, Opened, Records,
    Setup, Sizes, Superblock, Taking, Uuid, check_join, check_new, create, find_forced,
    is_unfinished, open, prepare,
};
use units::{DriveId, Instant};

const MIB: u64 = 1 << 20;

fn created(geometry: &Geometry, power: &Power) -> (Vec<SectorDisk>, Records) {
    let blank = vec![SectorDisk::new(power); usize::from(geometry.width)];
    let Opened { disks, records, .. } = create(blank, geometry, UUID, 1, QUIET_FOR).unwrap();
    (disks.into_iter().flatten().collect(), records)
}

fn found(disks: &[SectorDisk], missing: &[usize]) -> Vec<Option<SectorDisk>> {
    let all = disks.iter().enumerate();
    all.map(|(at, disk)| (!missing.contains(&at)).then(|| disk.clone())).collect()
}

fn block(disk: &mut SectorDisk, offset_bytes: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK];
    disk.read(offset_bytes, &mut bytes).unwrap();
    bytes
}

/// Expected content of each drive: a page of its own, then zeros over the former content.
#[test]
fn what_the_journal_holds_is_written_again_once_and_nowhere_else() {
    let zeros = 2 * MIB + 3 * BLOCK as u64;
    let (page_at, zeros_at) = (5 * BLOCK as u64, 9 * BLOCK as u64);
    for checksums in [false, true] {
        let power = Power::lasting();
        let geometry = Geometry { checksums, ..geometry(Level::Raid5, 4) };
        let (mut disks, _) = created(&geometry, &power);
        // Without the last drive everything is journalled.
        let last = disks.pop().unwrap();
        let three = disks.into_iter().map(Some).chain([None]).collect();
        let Opened { disks, mut records, .. } = open(three, None, QUIET_FOR).unwrap();
        let mut disks: Vec<SectorDisk> = disks.into_iter().flatten().collect();
        let pages: Vec<Vec<u8>> = (0..3).map(|drive| vec![drive + 1; BLOCK]).collect();
        let parts: Vec<Part<'_>> = (0..3)
            .flat_map(|drive| {
                let page = Content::Bytes(&pages[usize::from(drive)]);
                let zeros = Content::Zeros { bytes: zeros };
                [(page_at, page), (zeros_at, zeros)].map(|(offset_bytes, content)| Part {
                    drive: DriveId(drive),
                    offset_bytes,
                    content,
                })
            })
            .collect();
        let batch = records.journal.append(&parts).unwrap();
        for (drive, record) in batch.records {
            disks[drive.index()].write(record.offset_bytes, &record.bytes).unwrap();
        }
        let all_blocks = (HEAD_BYTES..HEAD_BYTES + geometry.drive_bytes).step_by(BLOCK);
        for disk in &mut disks {
            for offset_bytes in all_blocks.clone() {
                disk.set_number(offset_bytes, 77);
            }
            disk.sync().unwrap();
        }
        disks.push(last);
        let untouched = disks[3].clone();

        let Opened { assembly, disks, replayed, records, .. } =
            open(disks.into_iter().map(Some).collect(), None, QUIET_FOR).unwrap();
        assert_eq!((replayed, assembly.absent), (3, 8));
        let written = [page_at..page_at + BLOCK as u64, zeros_at..zeros_at + zeros];
        assert_eq!(assembly.replayed, [&written[..]; 3].concat());
        assert_eq!(records.checksums.is_some(), checksums);
        let mut disks: Vec<SectorDisk> = disks.into_iter().flatten().collect();
        for (drive, disk) in disks[..3].iter_mut().enumerate() {
            disk.forget();
            for offset_bytes in all_blocks.clone() {
                let at = offset_bytes - HEAD_BYTES;
                let expected = if written[0].contains(&at) {
                    pages[drive][..8].try_into().map(u64::from_le_bytes).unwrap()
                } else if written[1].contains(&at) {
                    0
                } else {
                    77
                };
                assert_eq!(disk.number(offset_bytes), expected, "byte {at} of drive {drive}");
            }
        }
        assert!(disks[3].is_like(&untouched), "the drive that is left out is left alone");
        // The replay is not repeated over newer writes.
        for disk in &mut disks[..3] {
            disk.set_number(HEAD_BYTES + page_at, 99);
        }
        let again = open(disks.into_iter().map(Some).collect(), None, QUIET_FOR).unwrap();
        assert_eq!(again.replayed, 0);
        assert_eq!(
            again.disks.into_iter().flatten().next().unwrap().number(HEAD_BYTES + page_at),
            99
        );
    }
}

#[test]
fn a_drive_without_sound_headers_gets_both_after_a_clean_end() {
    let power = Power::lasting();
    for (level, journalled) in
        [(Level::Raid5, Journalled::Always), (Level::Raid1, Journalled::Degraded)]
    {
        let geometry = Geometry { journalled, ..geometry(level, 3) };
        let (mut disks, records) = created(&geometry, &power);
        let mut clean = records.superblock.clone();
        (clean.generation, clean.committed, clean.clean) = (3, 2, true);
        for (drive, disk) in disks.iter_mut().enumerate() {
            clean.member = DriveId(drive as u8);
            disk.write(clean.offset_bytes(), &clean.encode()).unwrap();
            disk.sync().unwrap();
        }
        for number in 0..2 {
            disks[1].set_number(JOURNAL_OFFSET_BYTES + number * BLOCK as u64, 5);
        }
        let opened = open(found(&disks, &[]), None, QUIET_FOR).unwrap();
        assert!(opened.assembly.clean);
        let mut disks: Vec<SectorDisk> = opened.disks.into_iter().flatten().collect();
        for number in 0..2 {
            let at = JOURNAL_OFFSET_BYTES + number * BLOCK as u64;
            assert_eq!(&block(&mut disks[1], at)[..8], b"ioda\0jrn");
        }
        // The next start need not have ended cleanly.
        assert!(open(found(&disks, &[]), None, QUIET_FOR).is_ok());
    }
}

#[test]
fn sums_of_marked_regions_are_in_doubt_unless_everything_was_journalled() {
    for (level, journalled, is_in_doubt) in [
        (Level::Raid5, Journalled::Degraded, true),
        (Level::Raid5, Journalled::Always, false),
        (Level::Raid1, Journalled::Degraded, true),
        (Level::Raid1, Journalled::Always, true),
    ] {
        let power = Power::lasting();
        let plain = geometry(level, 3);
        // The last region is cut short by the end of the drive.
        let drive_bytes = 2 * REGION_BYTES + REGION_BYTES / 2;
        let geometry = Geometry { journalled, checksums: true, drive_bytes, ..plain };
        let (mut disks, mut records) = created(&geometry, &power);
        assert_eq!(records.checksums.unwrap().doubtful, []);
        for region in [1, 2] {
            records.intent.mark(Instant::ZERO, region);
        }
        for write in records.intent.blocks_to_write() {
            disks[1].write(write.offset_bytes, &write.bytes[..]).unwrap();
            disks[1].sync().unwrap();
            assert!(write.offset_bytes >= INTENT_OFFSET_BYTES);
        }
        let opened = open(found(&disks, &[]), None, QUIET_FOR).unwrap();
        let setup = opened.records.checksums.unwrap();
        assert_eq!((setup.uuid, setup.table_at), (UUID, Some(drive_bytes)));
        let marked = [REGION_BYTES..2 * REGION_BYTES, 2 * REGION_BYTES..drive_bytes];
        assert_eq!(setup.doubtful, if is_in_doubt { &marked[..] } else { &[] }, "{level:?}");
        // After a forced start everything is in doubt.
        let (forced, _) = find_forced(found(&disks, &[]), None).unwrap();
        let setup = forced.start(QUIET_FOR).unwrap().records.checksums.unwrap();
        let regions = [0, 1].map(|region| region * REGION_BYTES..(region + 1) * REGION_BYTES);
        assert_eq!(setup.doubtful[..2], regions);
        assert_eq!(setup.doubtful[2..], marked[1..], "to the end of the drive");
    }
}

#[test]
fn data_of_a_lost_drive_are_doubtful_where_parity_was_written_without_a_journal() {
    for level in
        [Level::Raid0, Level::Raid1, Level::Raid4, Level::Raid5, Level::Raid6, Level::Raid10]
    {
        for journalled in [Journalled::Always, Journalled::Degraded] {
            for lost in [0, 2] {
                let power = Power::lasting();
                let plain = geometry(Level::Raid6, 4);
                let blank = vec![SectorDisk::new(&power); 4];
                let mut opened = create(blank, &plain, UUID, 1, QUIET_FOR).unwrap();
                opened.assembly.geometry.level = level;
                opened.assembly.geometry.journalled = journalled;
                opened.assembly.lost = lost;
                let record = vec![0; opened.records.intent.record_bytes()];
                opened.records.intent.recover(&record);
                let has_parity = matches!(level, Level::Raid4 | Level::Raid5 | Level::Raid6);
                let has_hole = has_parity && journalled == Journalled::Degraded && lost != 0;
                let doubtful = opened.doubtful_regions();
                assert_eq!(doubtful.is_empty(), !has_hole, "{level:?} {journalled:?} {lost}");
                if has_hole {
                    assert_eq!(doubtful, opened.records.intent.dirty_regions());
                }
            }
        }
    }
}

/// A drive that ends at a given size, and cannot be read before a given offset.
struct Small {
    size_bytes: u64,
    readable_from: u64,
}

impl Disk for Small {
    type Error = NoPower;

    fn size_bytes(&mut self) -> Result<u64, NoPower> {
        Ok(self.size_bytes)
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), NoPower> {
        into.fill(0);
        let ends =
            offset_bytes + into.len() as u64 > self.size_bytes.next_multiple_of(BLOCK as u64);
        if ends || offset_bytes < self.readable_from { Err(NoPower) } else { Ok(()) }
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), NoPower> {
        panic!("nothing is written to find out what is there")
    }

    fn sync(&mut self) -> Result<(), NoPower> {
        Ok(())
    }
}

#[test]
fn a_drive_that_ends_before_its_superblocks_would_is_blank_and_one_that_cannot_be_read_is_not() {
    let power = Power::lasting();
    let (_, Records { superblock, .. }) = created(&geometry(Level::Raid1, 2), &power);
    let join = |size_bytes, readable_from| {
        let mut disk = Small { size_bytes, readable_from };
        check_join(&mut disk, DriveId(1), &superblock).map_err(|error| match error {
            OpenError::NotBlank { found: Contents::Other(_), .. } => "unreadable",
            OpenError::NotBlank { .. } => "full",
            _ => "an error",
        })
    };
    for size_bytes in [512, 4096, 8191] {
        assert!(join(size_bytes, 0).is_ok(), "{size_bytes}");
    }
    assert!(join(8192, 0).is_ok() && join(1 << 30, 0).is_ok());
    assert_eq!(join(8192, 8192), Err("unreadable"));
    assert_eq!(join(1 << 30, 8192), Err("unreadable"));
}

#[test]
fn only_the_very_drive_may_join_again() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid5, 3);
    let (mut disks, Records { superblock, .. }) = created(&geometry, &power);
    let other = Superblock { uuid: Uuid([4; 16]), ..superblock.clone() };
    for (member, disk) in disks.iter_mut().enumerate() {
        let drive = DriveId(member as u8);
        assert!(!is_unfinished(disk), "it is in use");
        assert!(check_join(disk, drive, &superblock).is_ok());
        for (drive, superblock) in
            [(drive, &other), (DriveId(3), &superblock), (DriveId(3), &other)]
        {
            let refused = check_join(disk, drive, superblock).unwrap_err();
            let found = Contents::Member(UUID);
            assert_eq!(refused, OpenError::NotBlank { drive: drive.index(), found });
        }
    }
    assert!(!is_unfinished(&mut SectorDisk::new(&power)), "nothing was begun");
}

/// The table of a joining drive becomes that of a new drive, whatever was there. Arrays of earlier
/// versions have zeros.
#[test]
fn a_drive_that_joins_has_sums_of_zeros_and_keeps_what_is_not_of_the_array() {
    for seals_sectors in [true, false] {
        let power = Power::lasting();
        // A table of more than one step, and of less than two.
        let geometry =
            Geometry { checksums: true, drive_bytes: 1500 * MIB, ..geometry(Level::Raid1, 2) };
        let (disks, Records { superblock, intent, journal, .. }) = created(&geometry, &power);
        let superblock = Superblock { seals_sectors, ..superblock };
        let (start, end) =
            (HEAD_BYTES + geometry.drive_bytes, HEAD_BYTES + geometry.stored_bytes());
        assert!((end - start) > MIB && (end - start) < 2 * MIB);
        let mut disk = disks[1].clone();
        let block_bytes = BLOCK as u64;
        let garbage = [start, start + MIB - block_bytes, start + MIB, end - block_bytes];
        let others = [start - block_bytes, end, end + MIB - block_bytes];
        for at in garbage.into_iter().chain(others) {
            disk.set_number(at, 5);
        }
        prepare(&mut disk, DriveId(1), &superblock, &intent, &journal).unwrap();
        disk.forget();
        let mut new = disks[1].clone();
        for at in (start..end).step_by(BLOCK) {
            let found = block(&mut disk, at);
            match seals_sectors {
                true => assert_eq!(found, block(&mut new, at), "{at}"),
                false => assert_eq!(found, [0; BLOCK], "{at}"),
            }
        }
        for at in others {
            assert_eq!(disk.number(at), 5, "{at}");
        }
        // Both superblocks name the place that the drive takes.
        let mut another = disks[1].clone();
        prepare(&mut another, DriveId(0), &superblock, &intent, &journal).unwrap();
        for at in [0, block_bytes] {
            assert!(is_unfinished(&mut disk));
            assert_ne!(block(&mut disk, at), block(&mut another, at));
        }
    }
}

/// A drive with nothing but its head is left out if the array can miss it. A drive with some damage
/// is used.
#[test]
fn a_drive_that_was_overwritten_behind_its_head_is_left_out() {
    let power = Power::lasting();
    for (level, width) in [(Level::Raid1, 2), (Level::Raid5, 4), (Level::Raid6, 6)] {
        let geometry =
            Geometry { checksums: true, drive_bytes: 64 * MIB, ..geometry(level, width) };
        let (disks, _) = created(&geometry, &power);
        let end = HEAD_BYTES + geometry.stored_bytes();
        for (filling, from, is_used) in
            [(5, HEAD_BYTES, false), (0, HEAD_BYTES, false), (5, end - 3 * BLOCK as u64, true)]
        {
            let mut disks = disks.clone();
            for at in (from..end).step_by(BLOCK) {
                disks[1].set_number(at, filling);
            }
            let Opened { assembly, .. } = open(found(&disks, &[]), None, QUIET_FOR).unwrap();
            assert_eq!(assembly.absent, if is_used { 0 } else { 0b10 }, "{level:?}, {filling}");
            let notes: Vec<String> = assembly.notes.iter().map(ToString::to_string).collect();
            assert_eq!(notes.len(), usize::from(!is_used));
            assert!(notes.iter().all(|note| note.contains("drive 1 at place 1 was overwritten")));
            // The array cannot miss one more drive.
            if level != Level::Raid6 {
                let mut disks = found(&disks, &[0]);
                let opened = open(disks.split_off(0), None, QUIET_FOR).unwrap();
                assert_eq!(opened.assembly.absent, 1);
            }
        }
    }
}

#[test]
fn an_array_that_cannot_be_is_not_created() {
    let good = geometry(Level::Raid5, 3);
    let new = |geometry: &Geometry, places| check_new::<NoPower>(geometry, places);
    assert_eq!(new(&good, 3), Ok(()));
    assert_eq!(new(&good, 4), Err(OpenError::Places { drives: 3, places: 4 }));
    let narrow = Geometry { width: 2, stripe_width: 2, ..good };
    assert!(matches!(new(&narrow, 2), Err(OpenError::Geometry { .. })));
    // A chunk is written to one drive at once, so it has to fit into one record.
    let most_bytes = (engine::durability::journal::RECORD_BYTES_MAX - BLOCK) as u64;
    for (chunk_bytes, level, is_possible) in [
        (most_bytes / 65536 * 65536, Level::Raid5, true),
        (most_bytes, Level::Raid5, true),
        (most_bytes + 4096, Level::Raid5, false),
        (most_bytes + 4096, Level::Raid1, true),
    ] {
        let drive_bytes = 4 * chunk_bytes;
        let geometry = Geometry { chunk_bytes, drive_bytes, level, ..good };
        let expected = OpenError::Chunk { chunk_bytes, most_bytes };
        assert_eq!(new(&geometry, 3), if is_possible { Ok(()) } else { Err(expected) });
    }
    assert!(Journal::is_needed(&good, 1) && !Journal::is_needed(&good, 0));
    // An array with a smaller journal takes smaller chunks.
    let sizes = Sizes { journal_half_bytes: 4 * BLOCK, ..Sizes::SERVED };
    let setup = Setup { sizes, ..Setup::from(QUIET_FOR) };
    let chunk_bytes = sizes.chunk_bytes_max() + BLOCK as u64;
    let small = Geometry { chunk_bytes, drive_bytes: 4 * chunk_bytes, ..good };
    let power = Power::lasting();
    let made = |geometry: &Geometry| {
        let blank = vec![SectorDisk::new(&power); 3];
        create(blank, geometry, UUID, 1, setup).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(
        made(&small),
        Err("chunks of 16384 bytes are too large for the journal: choose at most 12288 bytes"
            .into())
    );
    assert_eq!(made(&Geometry { chunk_bytes: 3 * BLOCK as u64, ..small }), Ok(()));
}

#[test]
fn what_becomes_of_a_drive_is_said_in_a_sentence_of_its_own() {
    let all = [
        Fate::Leads,
        Fate::Current,
        Fate::Outdated,
        Fate::LeftOut,
        Fate::Apart,
        Fate::Incomplete,
        Fate::Missing,
    ];
    let said = all.map(|fate| Taking { member: 3, place: None, fate, generation: 41 }.to_string());
    for (at, sentence) in said.iter().enumerate() {
        assert!(sentence.starts_with("drive 3: "), "{sentence}");
        assert_eq!(sentence.contains("generation 41"), all[at] != Fate::Missing, "{sentence}");
        assert!(!said[..at].contains(sentence), "{sentence}");
    }
}
