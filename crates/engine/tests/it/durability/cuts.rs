//! Creation, opening and joining, cut short at every write and sync.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{Power, SectorDisk};
use super::world::{QUIET_FOR, REGION_BYTES, UUID, geometry};
use array::Level;
use engine::durability::journal::{Content, Part};
use engine::durability::{
    Disk, Geometry, HEAD_BYTES, OpenError, Opened, Records, Refusal, SuperblockError, Uuid,
    check_join, create, open, prepare, read_superblock, write_superblock,
};
use engine::durability::{MemberState, is_unfinished};
use units::{DriveId, Instant, Rng};

type Found<'a> = Vec<Option<&'a mut SectorDisk>>;

fn all(disks: &mut [SectorDisk]) -> Found<'_> {
    disks.iter_mut().map(Some).collect()
}

fn cut(power: &Power, disks: &mut [SectorDisk], rng: &mut Rng) {
    power.goes_at(u64::MAX);
    disks.iter_mut().for_each(|disk| disk.cut(rng));
}

#[test]
fn a_creation_that_is_cut_leaves_an_array_or_nothing() {
    for seed in testing::seeds(0..40) {
        let mut rng = Rng::stream(seed, "creation");
        let geometry = geometry(Level::Raid5, 3);
        let power = Power::lasting();
        let mut disks = vec![SectorDisk::new(&power); 3];
        for number in 0.. {
            // Every other time, the creation starts from what the cut before has left.
            if number % 2 == 0 {
                disks = vec![SectorDisk::new(&power); 3];
            }
            let mut uuid = [0; 16];
            uuid.fill_with(|| rng.below(256) as u8);
            power.goes_at(number + 1);
            let made = create(disks.iter_mut().collect(), &geometry, Uuid(uuid), 1, QUIET_FOR);
            if made.is_ok() {
                break;
            }
            cut(&power, &mut disks, &mut rng);
            let mut others = disks.clone();
            let again = create(others.iter_mut().collect(), &geometry, UUID, 2, QUIET_FOR);
            let again = again.map(|_| ());
            let opened = open(all(&mut disks), Some(&geometry), QUIET_FOR);
            let opened = opened.map(|opened| opened.assembly.absent);
            match (again, opened) {
                (
                    Ok(()),
                    Err(OpenError::Refused(Refusal::BeingCreated | Refusal::Nothing { .. })),
                ) => {
                    assert_eq!(open(all(&mut others), None, QUIET_FOR).unwrap().assembly.absent, 0);
                }
                (Err(OpenError::NotBlank { .. }), Ok(0)) => {
                    disks = vec![SectorDisk::new(&power); 3];
                }
                other => panic!("cut at {number}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_drive_whose_joining_is_cut_may_join_again() {
    for (level, width, seeds) in [(Level::Raid5, 3, 0..40), (Level::Raid6, 40, 0..8)] {
        for seed in testing::seeds(seeds) {
            let mut rng = Rng::stream(seed, "joining");
            let geometry = geometry(level, width);
            let power = Power::lasting();
            let blank = vec![SectorDisk::new(&power); usize::from(width)];
            let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
            let mut disks: Vec<SectorDisk> = opened.disks.into_iter().flatten().collect();
            let last = usize::from(width) - 1;
            let (drive, old) = (DriveId(last as u8), disks[last].clone());
            let opened =
                open(all(&mut disks[..last]).into_iter().chain([None]).collect(), None, QUIET_FOR);
            let Records { superblock, intent, journal, .. } = opened.unwrap().records;
            for start in [SectorDisk::new(&power), old] {
                let mut disk = start.clone();
                for number in 0.. {
                    power.goes_at(number + 1);
                    let joined = prepare(&mut disk, drive, &superblock, &intent, &journal);
                    let cut_short = joined.is_err();
                    power.goes_at(u64::MAX);
                    disk.cut(&mut rng);
                    check_join(&mut disk, drive, &superblock).unwrap();
                    if !cut_short {
                        assert!(is_unfinished(&mut disk));
                        // The first superblock of the drive may be torn.
                        let mut first = superblock.clone();
                        (first.member, first.generation) = (drive, 9);
                        first.states[last] = MemberState::Rebuilding { cursor_bytes: 0 };
                        disk.write(first.offset_bytes(), &first.encode()).unwrap();
                        disk.cut(&mut rng);
                        check_join(&mut disk, drive, &superblock).unwrap();
                        break;
                    }
                    if rng.below(2) == 0 {
                        disk = start.clone();
                    }
                }
                let mut found = disks.clone();
                found[last] = disk;
                let opened = open(all(&mut found), None, QUIET_FOR).unwrap();
                assert_eq!(opened.assembly.absent, 1 << last);
            }
        }
    }
}

#[test]
fn what_is_not_blank_is_not_overwritten() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid1, 2);
    let mut disks = vec![SectorDisk::new(&power); 2];
    disks[1].set_number(BLOCK as u64 * 3, 7);
    let made = create(disks.iter_mut().collect(), &geometry, UUID, 1, QUIET_FOR);
    let said = made.map(|_| ()).unwrap_err().to_string();
    assert!(said.starts_with("drive 1 is not blank: data at byte 12288;"), "{said}");
    assert!(disks[0].is_blank(), "nothing was written");
    assert_eq!(read_superblock(&mut disks[0]), Err(SuperblockError::Blank));
}

#[test]
fn data_that_a_wiped_head_has_left_are_not_taken_for_zeros() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid1, 2);
    let mut disks = vec![SectorDisk::new(&power); 2];
    let first = HEAD_BYTES / BLOCK as u64;
    for block in first..first + geometry.drive_bytes / BLOCK as u64 {
        disks[1].set_number(block * BLOCK as u64, 7);
    }
    let made = create(disks.iter_mut().collect(), &geometry, UUID, 1, QUIET_FOR);
    let said = made.map(|_| ()).unwrap_err().to_string();
    assert!(said.starts_with("drive 1 is not blank: data at byte "), "{said}");
    assert!(disks[0].is_blank(), "nothing was written");
}

/// A degraded array that was cut short: the first drives have a record whose writes were done in
/// part.
fn degraded(power: &Power, geometry: &Geometry) -> Vec<SectorDisk> {
    let width = usize::from(geometry.width);
    let opened = create(vec![SectorDisk::new(power); width], geometry, UUID, 1, QUIET_FOR).unwrap();
    let mut disks: Vec<SectorDisk> = opened.disks.into_iter().flatten().collect();
    let mut found = all(&mut disks);
    found[width - 1] = None;
    let Opened { mut records, .. } = open(found, None, QUIET_FOR).unwrap();
    let mut page = [0; BLOCK];
    page[..8].copy_from_slice(&7u64.to_le_bytes());
    let part = |drive| Part {
        drive: DriveId(drive as u8),
        offset_bytes: 4096,
        content: Content::Bytes(&page),
    };
    let parts: Vec<Part<'_>> = (0..width - 1).map(part).collect();
    let batch = records.journal.append(&parts).unwrap();
    records.intent.mark(Instant::ZERO, 0);
    let marks = records.intent.blocks_to_write();
    for disk in &mut disks[..width - 1] {
        for mark in &marks {
            disk.write(mark.offset_bytes, &mark.bytes[..]).unwrap();
        }
        disk.sync().unwrap();
    }
    for (drive, record) in batch.records {
        let disk = &mut disks[drive.index()];
        disk.write(record.offset_bytes, &record.bytes).unwrap();
        disk.sync().unwrap();
    }
    disks[0].set_number(HEAD_BYTES + 4096, 7);
    disks
}

/// After any cut, the next start replays the journal on all drives that it takes.
#[test]
fn an_opening_that_is_cut_loses_nothing() {
    let mut whole = 0;
    for seed in testing::seeds(0..20) {
        let mut rng = Rng::stream(seed, "opening");
        for (level, width) in [(Level::Raid5, 3), (Level::Raid6, 4)] {
            let power = Power::lasting();
            let geometry = geometry(level, width);
            let before = degraded(&power, &geometry);
            let failed = usize::from(width) - 1;
            for number in 0.. {
                let mut disks = before.clone();
                // Where another drive can be missed, it sometimes is.
                let hidden = (level == Level::Raid6 && rng.below(2) == 0)
                    .then(|| rng.below(failed as u64) as usize);
                let mut found = all(&mut disks);
                hidden.into_iter().for_each(|hidden| found[hidden] = None);
                power.goes_at(number + 1);
                let done = open(found, Some(&geometry), QUIET_FOR).is_ok();
                cut(&power, &mut disks, &mut rng);
                for _ in 0..rng.below(4) {
                    power.goes_at(1 + rng.below(number + 1));
                    let mut found = all(&mut disks);
                    hidden.into_iter().for_each(|hidden| found[hidden] = None);
                    let _ = open(found, Some(&geometry), QUIET_FOR);
                    cut(&power, &mut disks, &mut rng);
                }
                let Opened { assembly, mut disks, records, .. } =
                    open(all(&mut disks), Some(&geometry), QUIET_FOR).unwrap();
                let text = format!("cut at {number} without {hidden:?}: {assembly:?}");
                let known = 1 << failed | hidden.map_or(0, |hidden| 1 << hidden);
                assert_eq!(assembly.absent & !known, 0, "{text}");
                whole += u32::from(hidden.is_some() && assembly.absent != known);
                for drive in (0..failed).filter(|drive| assembly.absent >> drive & 1 == 0) {
                    let found = disks[drive].as_mut().unwrap().number(HEAD_BYTES + 4096);
                    assert_eq!(found, 7, "drive {drive}, {text}");
                }
                assert_eq!(records.intent.dirty_regions(), [0], "{text}");
                if done && number > 8 {
                    break;
                }
            }
        }
    }
    assert!(whole > 0, "a drive that was hidden is never back");
}

/// While no start completes, superblocks of some drives are ahead of those of others.
#[test]
fn any_number_of_starts_that_are_cut_cost_no_drive() {
    for seed in testing::seeds(0..40) {
        let mut rng = Rng::stream(seed, "starts");
        let power = Power::lasting();
        let geometry = geometry(Level::Raid5, 4);
        let blank = vec![SectorDisk::new(&power); 4];
        let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
        let mut disks: Vec<SectorDisk> = opened.disks.into_iter().flatten().collect();
        for _ in 0..12 {
            power.goes_at(9 + rng.below(22));
            let done = open(all(&mut disks), None, QUIET_FOR).is_ok();
            assert!(done || power.is_gone());
            cut(&power, &mut disks, &mut rng);
        }
        assert_eq!(open(all(&mut disks), None, QUIET_FOR).unwrap().assembly.absent, 0);
    }
}

/// Arrays of the earlier version are opened unchanged, and get the present version.
#[test]
fn an_array_of_version_1_is_opened() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid5, 3);
    let blank = vec![SectorDisk::new(&power); 3];
    let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
    let mut disks: Vec<SectorDisk> = opened.disks.into_iter().flatten().collect();
    for (member, disk) in disks.iter_mut().enumerate() {
        // The cut came while generation 12 was written.
        let generation = if member == 0 { 12 } else { 11 };
        let mut superblock = opened.records.superblock.clone();
        (superblock.member, superblock.generation) = (DriveId(member as u8), generation);
        write_superblock(&superblock, disk).unwrap();
        let mut block = [0; BLOCK];
        disk.read(superblock.offset_bytes(), &mut block).unwrap();
        block[8] = 1;
        engine::durability::block::seal(&mut block, 12);
        disk.write(superblock.offset_bytes(), &block).unwrap();
        disk.sync().unwrap();
    }
    let opened = open(all(&mut disks), None, QUIET_FOR).unwrap();
    assert_eq!((opened.assembly.absent, opened.assembly.generation), (0, 12));
    assert_eq!(opened.records.intent.region_bytes(), REGION_BYTES);
    assert_eq!(read_superblock(&mut disks[2]).unwrap().committed, 13);
}
