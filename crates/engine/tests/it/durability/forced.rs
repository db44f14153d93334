//! Arrays that the administrator forces together from outdated drives.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{Power, SectorDisk};
use super::world::{QUIET_FOR, UUID, geometry};
use array::{Layout, Level};
use engine::durability::{
    Change, Disk, Durability, Fate, Geometry, HEAD_BYTES, IoResult, Note, OpenError, Opened,
    Output, Refusal, Uuid, create, find_forced, open, prepare,
};
use engine::volume::Repairs;
use units::{DriveId, Instant, Rng};

struct Nothing;

impl Change for Nothing {
    fn data(&self) -> Option<&[u8]> {
        None
    }
}

type Opening = engine::durability::Opening<SectorDisk>;

/// The drives of a running array.
struct Array {
    disks: Vec<SectorDisk>,
    machine: Durability<Nothing>,
    written: u64,
}

impl Array {
    fn new(geometry: &Geometry, power: &Power) -> Self {
        let blank = vec![SectorDisk::new(power); usize::from(geometry.width)];
        Self::running(create(blank, geometry, UUID, 1, QUIET_FOR).unwrap())
    }

    fn running(opened: Opened<SectorDisk>) -> Self {
        let machine = Durability::new(opened.records);
        let mut array =
            Self { disks: opened.disks.into_iter().flatten().collect(), machine, written: 0 };
        array.run();
        array
    }

    fn run(&mut self) {
        loop {
            self.machine.advance();
            let Some(output) = self.machine.poll_output() else { return };
            let id = match output {
                Output::WriteHead { id, drive, offset_bytes, bytes } => {
                    self.disks[drive.index()].write(offset_bytes, &bytes).unwrap();
                    self.disks[drive.index()].sync().unwrap();
                    id
                }
                Output::Sync { id, .. } => id,
                _ => continue,
            };
            self.machine.handle_io_ended(Instant::ZERO, id, IoResult::Done);
        }
    }

    fn fail(&mut self, drive: u8) {
        self.machine.handle_drive_failed(Instant::ZERO, DriveId(drive));
        self.run();
    }

    fn replace(&mut self, drive: u8, disk: SectorDisk) {
        let machine = &self.machine;
        let (superblock, intent) = (machine.superblock(), machine.intent());
        let mut disk = disk;
        prepare(&mut disk, DriveId(drive), superblock, intent, machine.journal()).unwrap();
        self.disks[usize::from(drive)] = disk;
        self.machine.handle_drive_replaced(Instant::ZERO, DriveId(drive));
        self.run();
    }

    /// Writes new content on all drives that serve.
    fn write(&mut self) {
        self.written += 1;
        for (disk, state) in self.disks.iter_mut().zip(&self.machine.superblock().states) {
            if *state == engine::durability::MemberState::Serving {
                disk.set_number(HEAD_BYTES, self.written);
            }
        }
    }

    fn all(&self) -> Vec<Option<SectorDisk>> {
        self.disks.iter().cloned().map(Some).collect()
    }
}

fn fates(found: Vec<Option<SectorDisk>>) -> Result<(Opening, Vec<Fate>), Refusal> {
    let (opening, takings) = find_forced(found, None)?;
    Ok((opening, takings.iter().map(|taking| taking.fate).collect()))
}

fn forced_refusal(found: Vec<Option<SectorDisk>>) -> Refusal {
    fates(found).map(|(_, fates)| fates).unwrap_err()
}

fn refusal(found: Vec<Option<SectorDisk>>) -> Refusal {
    match open(found, None, QUIET_FOR).map(|_| ()).unwrap_err() {
        OpenError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

/// All drives fail one after the other, as when a controller fails; all data is still there.
fn all_failed(geometry: &Geometry, power: &Power) -> Array {
    let mut array = Array::new(geometry, power);
    array.write();
    for drive in 0..geometry.width - 1 {
        array.fail(drive);
        array.write();
    }
    array
}

#[test]
fn of_drives_that_all_failed_the_newest_that_suffice_are_taken() {
    use Fate::{Leads, LeftOut, Outdated};
    let power = Power::lasting();
    for (level, width, expected) in [
        (Level::Raid5, 4, vec![LeftOut, Outdated, Outdated, Leads]),
        (Level::Raid6, 5, vec![LeftOut, LeftOut, Outdated, Outdated, Leads]),
        (Level::Raid0, 3, vec![Outdated, Outdated, Leads]),
    ] {
        let geometry = geometry(level, width);
        let array = all_failed(&geometry, &power);
        assert!(matches!(refusal(array.all()), Refusal::TooFew { .. }));
        let (opening, fates) = fates(array.all()).unwrap();
        assert_eq!(fates, expected, "{level:?}");
        let left_out = fates.iter().take_while(|fate| **fate == LeftOut).count();
        let absent = (1u64 << left_out) - 1;
        assert_eq!(opening.assembly.absent, absent);
        let opened = opening.start(QUIET_FOR).unwrap();
        assert_eq!(
            opened.records.intent.dirty_regions().len() as u32,
            opened.records.intent.regions()
        );
        // The array goes on by itself from here. Drives that were left out stay out, in any place.
        let mut disks = opened.disks;
        for (drive, disk) in disks.iter_mut().enumerate().take(left_out) {
            *disk = Some(array.disks[drive].clone());
        }
        let again = open(disks, Some(&geometry), QUIET_FOR).unwrap();
        assert_eq!(again.assembly.absent, absent);
        // No drive of the old lineage counts beside it.
        let mut mixed = again.disks;
        mixed[usize::from(width) - 1] = Some(array.disks[usize::from(width) - 1].clone());
        match open(mixed, None, QUIET_FOR) {
            Ok(opened) => assert_eq!(opened.assembly.absent >> (width - 1) & 1, 1),
            Err(OpenError::Refused(Refusal::TooFew { .. })) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn of_two_that_went_on_apart_the_newer_branch_is_taken_and_the_other_given_up() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid1, 2);
    let array = Array::new(&geometry, &power);
    let alone = |drive: usize, more: u32| {
        let mut found = vec![None, None];
        found[drive] = Some(array.disks[drive].clone());
        let mut disk = None;
        for _ in 0..=more {
            let opened = open(found, None, QUIET_FOR).unwrap();
            disk = opened.disks.into_iter().flatten().next();
            found = vec![None, None];
            found[drive] = disk.clone();
        }
        disk
    };
    let found = vec![alone(0, 0), alone(1, 1)];
    assert!(matches!(refusal(found.clone()), Refusal::Split { .. }));
    let (opening, fates) = fates(found.clone()).unwrap();
    assert_eq!(fates, [Fate::Apart, Fate::Leads]);
    let opened = opening.start(QUIET_FOR).unwrap();
    let second = opened.disks.into_iter().nth(1).flatten();
    let again = open(vec![found[0].clone(), second], None, QUIET_FOR).unwrap();
    assert_eq!(again.assembly.absent, 0b01, "no split any more");
}

#[test]
fn drives_that_went_on_apart_are_never_mixed() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid6, 4);
    let array = Array::new(&geometry, &power);
    let pair = |drives: [usize; 2]| {
        let disk = |drive: usize| drives.contains(&drive).then(|| array.disks[drive].clone());
        let opened = open((0..4).map(disk).collect(), None, QUIET_FOR).unwrap();
        opened.disks
    };
    let (one, two) = (pair([0, 1]), pair([2, 3]));
    // One drive of each branch: neither branch has enough.
    let found = vec![one[0].clone(), None, two[2].clone(), None];
    assert!(matches!(forced_refusal(found), Refusal::Split { .. }));
    let found = vec![one[0].clone(), one[1].clone(), two[2].clone(), None];
    let (opening, fates) = fates(found).unwrap();
    assert_eq!(fates, [Fate::Leads, Fate::Current, Fate::Apart, Fate::Missing]);
    assert_eq!(opening.assembly.absent, 0b1100);
}

#[test]
fn what_is_not_of_the_array_or_cannot_be_read_is_never_taken() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid5, 4);
    let array = all_failed(&geometry, &power);
    let other = create(vec![SectorDisk::new(&power); 4], &geometry, Uuid([8; 16]), 1, QUIET_FOR);
    let other = other.unwrap().disks;

    let mut found = array.all();
    found[1].clone_from(&other[1]);
    assert!(matches!(forced_refusal(found), Refusal::ForeignArray { place: 1, .. }));

    let mut found = array.all();
    found[0] = Some(array.disks[2].clone());
    assert!(matches!(forced_refusal(found), Refusal::Twice { member: 2, .. }));

    // Both superblocks of a drive are damaged: the next drive is taken instead, as long as there is
    // one.
    let mut found = array.all();
    let damage = |disk: &mut Option<SectorDisk>| {
        let disk = disk.as_mut().unwrap();
        for at in [0, BLOCK as u64] {
            let mut block = [0; BLOCK];
            disk.read(at, &mut block).unwrap();
            block[100] ^= 1;
            disk.write(at, &block).unwrap();
        }
        disk.sync().unwrap();
    };
    damage(&mut found[1]);
    let (opening, fates_now) = fates(found.clone()).unwrap();
    assert_eq!(fates_now, [Fate::Outdated, Fate::Missing, Fate::Outdated, Fate::Leads]);
    assert_eq!(opening.assembly.forced, Some(0b0101), "those that are outdated");
    let is_moved = |note: &Note| matches!(note, Note::Moved { .. });
    assert!(!opening.assembly.notes.iter().any(is_moved), "each is in its place");
    assert_eq!(opening.assembly.absent, 0b0010);
    damage(&mut found[0]);
    assert!(matches!(forced_refusal(found), Refusal::TooFew { .. }));
}

#[test]
fn a_drive_that_was_being_rebuilt_is_not_taken() {
    let power = Power::lasting();
    let geometry = geometry(Level::Raid5, 3);
    let mut array = Array::new(&geometry, &power);
    let old = array.disks[0].clone();
    array.fail(0);
    array.replace(0, SectorDisk::new(&power));
    let mut found = array.all();
    found[1] = None;
    assert!(matches!(refusal(found.clone()), Refusal::TooFew { .. }));
    assert!(matches!(forced_refusal(found.clone()), Refusal::TooFew { .. }));
    // The former drive of that place will do.
    found[0] = Some(old);
    let (_, fates) = fates(found).unwrap();
    assert_eq!(fates, [Fate::Outdated, Fate::Missing, Fate::Leads]);
}

#[test]
fn of_pairs_of_mirrors_no_outdated_drive_is_taken_beside_its_newer_copy() {
    use Fate::{Leads, LeftOut, Outdated};
    let power = Power::lasting();
    let geometry = Geometry { stripe_width: 2, ..geometry(Level::Raid10, 4) };
    let mut array = Array::new(&geometry, &power);
    // Drive 3 is the newest outdated drive, and the leader has all its data.
    for drive in [0, 1, 3] {
        array.write();
        array.fail(drive);
    }
    let (opening, fates) = fates(array.all()).unwrap();
    assert_eq!(fates, [LeftOut, Outdated, Leads, LeftOut]);
    assert_eq!(opening.assembly.absent, 0b1001);
}

#[test]
fn a_drive_that_was_being_rebuilt_is_said_to_be_incomplete() {
    use Fate::{Incomplete, Leads, LeftOut, Outdated};
    let power = Power::lasting();
    let mut array = Array::new(&geometry(Level::Raid6, 5), &power);
    array.fail(0);
    array.replace(0, SectorDisk::new(&power));
    for drive in [1, 2, 3] {
        array.fail(drive);
    }
    let (_, fates) = fates(array.all()).unwrap();
    assert_eq!(fates, [Incomplete, LeftOut, Outdated, Outdated, Leads]);
}

#[test]
fn two_forced_starts_with_other_drives_are_two_arrays() {
    let power = Power::lasting();
    let array = all_failed(&geometry(Level::Raid6, 5), &power);
    let started = |found: Vec<Option<SectorDisk>>| {
        let opened = fates(found).unwrap().0.start(QUIET_FOR).unwrap();
        (opened.assembly.absent, opened.records.superblock)
    };
    let (absent, one) = started(array.all());
    let mut found = array.all();
    found[2] = None;
    let (other_absent, other) = started(found);
    assert_eq!((absent, other_absent), (0b00011, 0b00101));
    assert_eq!(one.generation, other.generation, "nothing but who takes part tells them apart");
    for drive in [3, 4] {
        assert_ne!(one.joined[drive], other.joined[drive], "drive {drive}");
    }
}

#[test]
fn narrow_stripes_that_miss_nobody_are_resynced() {
    let power = Power::lasting();
    let geometry = Geometry { stripe_width: 3, ..geometry(Level::Raid5, 6) };
    let mut array = Array::new(&geometry, &power);
    // Neighbours share stripes: without both, too few drives are left.
    for drive in [0, 1] {
        array.fail(drive);
    }
    let (opening, fates) = fates(array.all()).unwrap();
    assert_eq!(fates[..2], [Fate::LeftOut, Fate::Outdated]);
    let mut opened = opening.start(QUIET_FOR).unwrap();
    let pages = geometry.drive_bytes / u64::from(geometry.page_bytes);
    let chunk_pages = (geometry.chunk_bytes / u64::from(geometry.page_bytes)) as u32;
    let layout = Layout::striped(Level::Raid5, 6, 3, chunk_pages, pages).unwrap();
    let repairs = Repairs::new(&opened.assembly, &mut opened.records.intent, &layout);
    let all = |stripe: &u64| layout.members(*stripe) & 1 == 0;
    let resynced = repairs.resync.iter().cloned().flatten();
    assert!(resynced.clone().all(|stripe| all(&stripe)));
    let expected = (0..layout.stripes()).filter(all).count() as u64;
    assert!(expected > 0 && repairs.resync_stripes() >= expected);
}

/// After a power cut at any write, the next start goes on, or is refused and can be forced again to
/// the same end.
#[test]
fn a_forced_start_that_is_cut_can_be_repeated() {
    let power = Power::lasting();
    let mut rng = Rng::stream(1, "forced");
    for (level, width, absent) in [(Level::Raid5, 4, 0b0001), (Level::Raid6, 5, 0b00011)] {
        let array = all_failed(&geometry(level, width), &power);
        let mut cuts = 0;
        for round in 0..8 {
            for cut in 0.. {
                let mut disks = array.disks.clone();
                let opening = find_forced(disks.iter_mut().map(Some).collect(), None).unwrap().0;
                power.goes_at(cut);
                let started = opening.start(QUIET_FOR).map(|_| ());
                let is_over = started.is_ok();
                power.goes_at(u64::MAX);
                disks.iter_mut().for_each(|disk| disk.cut(&mut rng));
                let all = || disks.iter().cloned().map(Some).collect::<Vec<_>>();
                let opened = match open(all(), None, QUIET_FOR) {
                    Ok(opened) => opened,
                    Err(OpenError::Refused(Refusal::TooFew { .. })) => {
                        cuts += 1;
                        fates(all()).unwrap().0.start(QUIET_FOR).unwrap()
                    }
                    Err(other) => panic!("round {round}, cut {cut}: {other}"),
                };
                assert_eq!(opened.assembly.absent, absent, "round {round}, cut {cut}");
                if is_over {
                    break;
                }
            }
        }
        assert!(cuts > 0);
    }
}
