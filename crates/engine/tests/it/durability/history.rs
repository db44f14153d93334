//! Arrays that are started, changed and cut short again and again, with other drives left out each
//! time. No drive that missed a change is ever taken for a current one, no cut costs a drive, and a
//! split is recognised.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::sectors::{Power, SectorDisk};
use super::world::{QUIET_FOR, REGION_BYTES, UUID, geometry};
use array::Level;
use engine::durability::{
    Change, Disk, Durability, End, Geometry, HEAD_BYTES, IoResult, MemberState, OpenError, Opened,
    Output, Refusal, Superblock, create, open, prepare, read_superblock,
};
use std::collections::{BTreeSet, VecDeque};
use units::{DriveId, Instant, Rng};

struct Nothing;

impl Change for Nothing {
    fn data(&self) -> Option<&[u8]> {
        None
    }
}

/// A drive that could be plugged in, and all writes to it while it served.
#[derive(Clone)]
struct Drive {
    disk: SectorDisk,
    member: usize,
    writes: BTreeSet<u64>,
    /// Writes and branches that the drive must know. The branches took effect, so data may have
    /// been written in them. A drive that is being rebuilt claims those of the drives that serve.
    claims: BTreeSet<u64>,
    change: u64,
}

impl Drive {
    fn new(member: usize, disk: SectorDisk) -> Self {
        Self { disk, member, writes: BTreeSet::new(), claims: BTreeSet::new(), change: 0 }
    }
}

#[derive(Default, Debug)]
struct Counts {
    starts: u64,
    cut_starts: u64,
    cut_rounds: u64,
    stale: u64,
    splits: u64,
    too_few: u64,
    rebuilt: u64,
}

struct Shelf {
    geometry: Geometry,
    power: Power,
    drives: Vec<Drive>,
    /// Drive in the place of each member.
    places: Vec<usize>,
    next_write: u64,
    /// Changes that all drives taking part have committed.
    effective: BTreeSet<u64>,
}

impl Shelf {
    fn new(rng: &mut Rng) -> Self {
        let shapes = [
            (Level::Raid1, 2, 2),
            (Level::Raid1, 3, 3),
            (Level::Raid5, 3, 3),
            (Level::Raid6, 4, 4),
            (Level::Raid6, 5, 5),
            (Level::Raid10, 4, 2),
        ];
        let (level, width, stripe_width) = shapes[rng.below(shapes.len() as u64) as usize];
        let geometry = Geometry { stripe_width, ..geometry(level, width) };
        let power = Power::lasting();
        let blank = vec![SectorDisk::new(&power); usize::from(width)];
        let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
        let disks = opened.disks.into_iter().flatten().enumerate();
        let drives = disks.map(|(member, disk)| Drive::new(member, disk));
        Self {
            geometry,
            power,
            drives: drives.collect(),
            places: (0..usize::from(width)).collect(),
            next_write: 1,
            effective: BTreeSet::new(),
        }
    }

    fn cut(&mut self, rng: &mut Rng) {
        self.power.goes_at(u64::MAX);
        let mut said = Vec::new();
        for drive in &mut self.drives {
            drive.disk.cut(rng);
            said.push(read_superblock(&mut drive.disk).ok());
        }
        let known = |number: usize, found: &Superblock| {
            let other = said[number].as_ref();
            other.filter(|other| other.uuid == found.uuid && found.knows(other))
        };
        let numbers = 0..self.drives.len();
        for number in numbers.clone() {
            let Some(found) = &said[number] else { continue };
            let change = found.branch();
            if std::mem::replace(&mut self.drives[number].change, change) == change {
                continue;
            }
            let lists =
                |other: &Superblock| other.past.branches().any(|past| past.branch == change);
            let says = |other: &Superblock| other.branch() == change || lists(other);
            let part = numbers.clone().filter_map(|other| known(other, found));
            let taking = found.states.iter().filter(|state| **state != MemberState::Failed).count();
            if part.filter(|other| says(other)).count() == taking {
                self.effective.insert(change);
            }
        }
        for (drive, found) in self.drives.iter_mut().zip(&said) {
            let changes = found.iter().flat_map(|found| {
                [found.branch()].into_iter().chain(found.past.branches().map(|past| past.branch))
            });
            drive.claims.extend(changes.filter(|change| self.effective.contains(change)));
        }
        for number in numbers.clone() {
            let Some(found) = &said[number] else { continue };
            if found.states[found.member.index()] == MemberState::Serving {
                continue;
            }
            for other in numbers.clone() {
                let serves = |other: &&Superblock| {
                    found.states[other.member.index()] == MemberState::Serving
                };
                if known(other, found).filter(serves).is_some() {
                    let claims = self.drives[other].claims.clone();
                    self.drives[number].claims.extend(claims);
                }
            }
        }
        self.next_write += 1;
    }

    /// One start with some of the drives, its work, and its end.
    fn live(&mut self, rng: &mut Rng, counts: &mut Counts) {
        let width = self.places.len();
        let mut found: Vec<bool> = (0..width).map(|_| rng.below(5) > 0).collect();
        if rng.below(3) == 0 {
            found = vec![true; width];
        }
        if rng.below(6) == 0 {
            // An old drive is taken from the shelf.
            let old = rng.below(self.drives.len() as u64) as usize;
            let member = self.drives[old].member;
            if !self.drives[old].disk.is_blank() {
                self.places[member] = old;
            }
        }
        if rng.below(3) == 0 {
            self.power.goes_at(1 + rng.below(40));
        }
        let mut at_place: Vec<Option<&mut Drive>> = (0..width).map(|_| None).collect();
        for (number, drive) in self.drives.iter_mut().enumerate() {
            if self.places[drive.member] == number && found[drive.member] {
                let member = drive.member;
                at_place[member] = Some(drive);
            }
        }
        let histories: Vec<BTreeSet<u64>> =
            at_place.iter().flatten().map(|drive| drive.writes.clone()).collect();
        let claims: Vec<BTreeSet<u64>> =
            at_place.iter().flatten().map(|drive| drive.claims.clone()).collect();
        let disks = at_place.into_iter().map(|drive| drive.map(|drive| &mut drive.disk)).collect();
        counts.starts += 1;
        let opened = match open(disks, Some(&self.geometry), QUIET_FOR) {
            Ok(opened) => opened,
            Err(OpenError::Io { .. }) => {
                counts.cut_starts += 1;
                assert!(self.power.is_gone());
                return self.cut(rng);
            }
            Err(OpenError::Refused(Refusal::Split { .. })) => {
                counts.splits += 1;
                let apart = claims
                    .iter()
                    .any(|one| claims.iter().any(|two| !one.is_subset(two) && !two.is_subset(one)));
                assert!(apart, "refused, and nobody went on alone: {claims:?}");
                self.places = self.whole_again();
                return self.cut(rng);
            }
            Err(OpenError::Refused(Refusal::TooFew { .. } | Refusal::Nothing { .. })) => {
                counts.too_few += 1;
                return self.cut(rng);
            }
            Err(other) => panic!("{other}"),
        };
        self.power.goes_at(u64::MAX);
        let Opened { assembly, mut disks, records, .. } = opened;
        let serving: Vec<usize> =
            (0..width).filter(|&member| assembly.absent >> member & 1 == 0).collect();
        let absent = assembly.absent;
        let mut numbers = BTreeSet::new();
        for &member in &serving {
            numbers.insert(disks[member].as_mut().unwrap().number(HEAD_BYTES));
        }
        assert_eq!(numbers.len(), 1, "drives that were not together: {assembly:?}");
        for (member, disk) in disks.iter().enumerate() {
            counts.stale += u64::from(disk.is_some() && absent >> member & 1 == 1);
        }
        drop(disks);
        let newest = &self.drives[self.places[serving[0]]].writes;
        for history in &histories {
            assert!(history.is_subset(newest), "{history:?} is not in {newest:?}: {assembly:?}");
        }
        self.serve(&serving);
        let mut machine = Durability::new(records);
        for _ in 0..rng.below(4) {
            if !self.change(&mut machine, rng, counts) {
                counts.cut_rounds += 1;
                return self.cut(rng);
            }
        }
        if rng.below(2) == 0 {
            machine.handle_end(Instant::ZERO);
            if !self.run(&mut machine, rng) {
                counts.cut_rounds += 1;
            }
        }
        self.cut(rng);
    }

    /// Drives that together have the most writes, if that can be decided: the choice of an
    /// administrator.
    fn whole_again(&self) -> Vec<usize> {
        let most = (0..self.drives.len()).max_by_key(|&drive| self.drives[drive].writes.last());
        let most = &self.drives[most.unwrap()].writes;
        (0..self.places.len())
            .map(|member| {
                let of_member = |drive: &usize| self.drives[*drive].member == member;
                let fitting = (0..self.drives.len())
                    .filter(of_member)
                    .filter(|&drive| self.drives[drive].writes.is_subset(most));
                fitting.max_by_key(|&drive| self.drives[drive].writes.len()).unwrap_or(0)
            })
            .collect()
    }

    /// Clients write to all drives that serve.
    fn serve(&mut self, serving: &[usize]) {
        for &member in serving {
            let drive = &mut self.drives[self.places[member]];
            drive.disk.set_number(HEAD_BYTES, self.next_write);
            drive.writes.insert(self.next_write);
            drive.claims.insert(self.next_write);
        }
        self.next_write += 1;
    }

    /// Fails, replaces or rebuilds a drive. Returns false if the power failed.
    fn change(
        &mut self,
        machine: &mut Durability<Nothing>,
        rng: &mut Rng,
        counts: &mut Counts,
    ) -> bool {
        use MemberState::{Failed, Rebuilding, Serving};
        let width = self.places.len();
        let member = rng.below(width as u64) as usize;
        let drive = DriveId(member as u8);
        let states = machine.superblock().states.clone();
        let whole = states.iter().filter(|state| **state == Serving).count();
        match states[member] {
            Serving => {
                let spare = self.geometry.level.parities(u32::from(self.geometry.stripe_width));
                let enough = width - whole < spare as usize;
                if !enough {
                    return true;
                }
                machine.handle_drive_failed(Instant::ZERO, drive);
                if rng.below(4) == 0 {
                    self.replace(machine, member);
                }
            }
            Failed => self.replace(machine, member),
            Rebuilding { .. } => {
                counts.rebuilt += 1;
                let from = states.iter().position(|state| *state == Serving).unwrap();
                let from = &self.drives[self.places[from]];
                let (number, writes) = (from.disk.clone().number(HEAD_BYTES), from.writes.clone());
                let claims = from.claims.clone();
                let new = &mut self.drives[self.places[member]];
                new.disk.set_number(HEAD_BYTES, number);
                (new.writes, new.claims) = (writes, claims);
                machine.handle_drive_rebuilt(Instant::ZERO, drive);
            }
        }
        if !self.run(machine, rng) {
            return false;
        }
        let states = machine.superblock().states.iter().enumerate();
        let serving = states.filter(|(_, state)| **state == Serving).map(|(member, _)| member);
        self.serve(&serving.collect::<Vec<_>>());
        true
    }

    fn replace(&mut self, machine: &mut Durability<Nothing>, member: usize) {
        let mut disk = SectorDisk::new(&self.power);
        let drive = DriveId(member as u8);
        let (intent, journal) = (machine.intent(), machine.journal());
        prepare(&mut disk, drive, machine.superblock(), intent, journal).unwrap();
        self.places[member] = self.drives.len();
        self.drives.push(Drive::new(member, disk));
        machine.handle_drive_replaced(Instant::ZERO, drive);
    }

    /// Carries out the machine's outputs in order until `enough` returns true. Returns the writes
    /// under way then.
    fn run_in_order(
        &mut self,
        machine: &mut Durability<Nothing>,
        enough: impl Fn(&Durability<Nothing>) -> bool,
    ) -> Vec<(DriveId, u64, Vec<u8>)> {
        let mut under_way = VecDeque::new();
        loop {
            machine.advance();
            while let Some(output) = machine.poll_output() {
                match output {
                    Output::WriteHead { id, drive, offset_bytes, bytes } => {
                        under_way.push_back((id, drive, Some((offset_bytes, bytes.to_vec()))));
                    }
                    Output::Sync { id, drive, .. } => under_way.push_back((id, drive, None)),
                    _ => {}
                }
            }
            if enough(machine) {
                let left = under_way.into_iter();
                let left = left.filter_map(|(_, drive, write)| Some((drive, write?)));
                return left.map(|(drive, (at, bytes))| (drive, at, bytes)).collect();
            }
            let Some((id, drive, write)) = under_way.pop_front() else { return Vec::new() };
            let disk = &mut self.drives[self.places[drive.index()]].disk;
            if let Some((offset_bytes, bytes)) = write {
                disk.write(offset_bytes, &bytes).unwrap();
            }
            disk.sync().unwrap();
            machine.handle_io_ended(Instant::ZERO, id, IoResult::Done);
        }
    }

    /// Carries out the machine's outputs in any order. Returns false if the power failed.
    fn run(&mut self, machine: &mut Durability<Nothing>, rng: &mut Rng) -> bool {
        let mut under_way = Vec::new();
        let cut_at = if rng.below(6) == 0 { rng.below(30) } else { u64::MAX };
        for step in 0.. {
            machine.advance();
            while let Some(output) = machine.poll_output() {
                match output {
                    Output::WriteHead { id, drive, offset_bytes, bytes } => {
                        under_way.push((id, drive, Some((offset_bytes, bytes))));
                    }
                    Output::Sync { id, drive, .. } => under_way.push((id, drive, None)),
                    Output::Ended { end } => assert_eq!(end, End::Clean),
                    Output::Stop { reason } => panic!("{reason}"),
                    _ => {}
                }
            }
            if step == cut_at {
                for (_, drive, write) in under_way {
                    let disk = &mut self.drives[self.places[drive.index()]].disk;
                    if let Some((offset_bytes, bytes)) = write {
                        disk.write(offset_bytes, &bytes).unwrap();
                    }
                }
                return false;
            }
            if under_way.is_empty() {
                return true;
            }
            let next = rng.below(under_way.len() as u64) as usize;
            let (id, drive, write) = under_way.swap_remove(next);
            let disk = &mut self.drives[self.places[drive.index()]].disk;
            if let Some((offset_bytes, bytes)) = write {
                disk.write(offset_bytes, &bytes).unwrap();
            }
            disk.sync().unwrap();
            machine.handle_io_ended(Instant::ZERO, id, IoResult::Done);
        }
        true
    }
}

/// Number of starts in a usual history.
const LIVES: u32 = 16;

fn live_through(seed: u64, lives: u32, counts: &mut Counts) {
    let mut rng = Rng::stream(seed, "history");
    let mut shelf = Shelf::new(&mut rng);
    for _ in 0..lives {
        shelf.live(&mut rng, counts);
    }
}

/// Drives of an array are replaced and found again over thousands of superblock changes.
#[test]
fn old_drives_are_recognised_after_thousands_of_changes() {
    let mut counts = Counts::default();
    for seed in testing::seeds(0..3) {
        live_through(seed, 250, &mut counts);
    }
    assert!(testing::is_repeat() || counts.stale > 50 && counts.rebuilt > 50, "{counts:?}");
}

/// Seed 598: an outdated drive went on alone. It is found with a drive that was being rebuilt in
/// the branch of the others, which are all missing. The latter holds no data, and is the only
/// witness of that branch.
#[test]
fn a_drive_that_was_being_rebuilt_tells_of_those_that_went_on_apart() {
    let mut counts = Counts::default();
    live_through(598, LIVES, &mut counts);
    assert!(counts.splits > 0, "{counts:?}");
}

/// The power failed during the commit of a change, when one drive of three had it. That drive is
/// found when the others, which went on without it, have all been replaced: none that it knows is
/// left.
#[test]
fn a_change_that_came_to_nothing_is_no_split() {
    for joins in [false, true] {
        let geometry = geometry(Level::Raid1, 3);
        let power = Power::lasting();
        let blank = vec![SectorDisk::new(&power); 3];
        let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
        let disks = opened.disks.into_iter().flatten().enumerate();
        let drives = disks.map(|(member, disk)| Drive::new(member, disk)).collect();
        let (places, effective) = (vec![0, 1, 2], BTreeSet::new());
        let mut shelf = Shelf { geometry, power, drives, places, next_write: 1, effective };
        let mut machine = Durability::new(opened.records);
        if joins {
            machine.handle_drive_failed(Instant::ZERO, DriveId(2));
            shelf.run_in_order(&mut machine, |_| false);
            shelf.replace(&mut machine, 2);
        } else {
            machine.handle_drive_failed(Instant::ZERO, DriveId(1));
        }
        let committed = machine.superblock().committed;
        let commits = |machine: &Durability<Nothing>| machine.superblock().committed > committed;
        for (drive, offset_bytes, bytes) in shelf.run_in_order(&mut machine, commits) {
            if drive == DriveId(2) {
                shelf.drives[shelf.places[2]].disk.write(offset_bytes, &bytes).unwrap();
                shelf.drives[shelf.places[2]].disk.sync().unwrap();
            }
        }
        let early = shelf.places[2];
        let said = read_superblock(&mut shelf.drives[early].disk).unwrap();
        assert!(said.committed > committed);

        let disk = |shelf: &Shelf, drive: usize| Some(shelf.drives[drive].disk.clone());
        for member in [0, 1] {
            let disks = shelf.places[..2].iter().map(|&drive| disk(&shelf, drive));
            let opened = open(disks.chain([None]).collect(), None, QUIET_FOR).unwrap();
            assert_eq!(opened.assembly.absent, 0b100);
            for (member, opened) in opened.disks.into_iter().flatten().enumerate() {
                let drive = shelf.places[member];
                shelf.drives[drive].disk = opened;
            }
            let mut machine = Durability::new(opened.records);
            machine.handle_drive_failed(Instant::ZERO, DriveId(member as u8));
            shelf.run_in_order(&mut machine, |_| false);
            shelf.replace(&mut machine, member);
            shelf.run_in_order(&mut machine, |_| false);
            machine.handle_drive_rebuilt(Instant::ZERO, DriveId(member as u8));
            shelf.run_in_order(&mut machine, |_| false);
        }
        let [first, second] = [shelf.places[0], shelf.places[1]];
        let found = [first, second, early].map(|drive| disk(&shelf, drive));
        let opened = open(found.into(), None, QUIET_FOR).unwrap();
        assert_eq!(opened.assembly.absent, 0b100, "it is outdated, whatever it says");
    }
}

#[test]
fn no_history_of_starts_changes_and_cuts_takes_a_drive_for_one_that_was_there() {
    let mut counts = Counts::default();
    for seed in testing::seeds(0..400) {
        live_through(seed, LIVES, &mut counts);
    }
    if testing::is_repeat() {
        return;
    }
    println!("{counts:?}");
    let Counts { starts, cut_starts, cut_rounds, stale, splits, too_few, rebuilt } = counts;
    assert!(starts > 0 && cut_starts > 0 && cut_rounds > 0 && stale > 0);
    assert!(splits > 0 && too_few > 0 && rebuilt > 0);
}

/// Two drives fail, the first is replaced, and the array stops. The second is older than the drive
/// that replaced the first.
#[test]
fn a_drive_that_failed_after_one_that_was_replaced_is_no_split() {
    for (level, stripe_width) in [(Level::Raid6, 4), (Level::Raid10, 2)] {
        let geometry = Geometry { stripe_width, ..geometry(level, 4) };
        let power = Power::lasting();
        let blank = vec![SectorDisk::new(&power); 4];
        let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).unwrap();
        let disks = opened.disks.into_iter().flatten().enumerate();
        let drives = disks.map(|(member, disk)| Drive::new(member, disk));
        let (drives, places) = (drives.collect(), (0..4).collect());
        let mut shelf =
            Shelf { geometry, power, drives, places, next_write: 1, effective: BTreeSet::new() };
        let mut machine = Durability::new(opened.records);
        let mut rng = Rng::new(1);
        // Both drives of a pair of mirrors must not fail.
        for drive in [0, 3] {
            machine.handle_drive_failed(Instant::ZERO, DriveId(drive));
            while !shelf.run(&mut machine, &mut rng) {}
        }
        shelf.replace(&mut machine, 0);
        while !shelf.run(&mut machine, &mut rng) {}
        shelf.cut(&mut rng);
        let places = shelf.places.clone();
        let disks = places.iter().map(|&drive| Some(shelf.drives[drive].disk.clone())).collect();
        let opened = open(disks, Some(&geometry), QUIET_FOR).unwrap();
        assert_eq!((opened.assembly.absent, opened.assembly.rebuilding), (0b1001, 0b0001));
        assert_eq!(opened.records.intent.region_bytes(), REGION_BYTES);
    }
}

/// The drive that served last is missing. The drive that it was rebuilding shows that the older
/// drive found is too old.
#[test]
fn a_drive_that_is_being_rebuilt_keeps_an_old_one_from_leading() {
    let geometry = geometry(Level::Raid1, 3);
    let power = Power::lasting();
    let opened = create(vec![SectorDisk::new(&power); 3], &geometry, UUID, 1, QUIET_FOR).unwrap();
    let disks = opened.disks.into_iter().flatten().enumerate();
    let drives = disks.map(|(member, disk)| Drive::new(member, disk)).collect();
    let mut shelf = Shelf {
        geometry,
        power,
        drives,
        places: vec![0, 1, 2],
        next_write: 1,
        effective: BTreeSet::new(),
    };
    let mut machine = Durability::new(opened.records);
    let mut rng = Rng::new(1);
    for drive in [0, 2] {
        machine.handle_drive_failed(Instant::ZERO, DriveId(drive));
        while !shelf.run(&mut machine, &mut rng) {}
    }
    shelf.replace(&mut machine, 2);
    while !shelf.run(&mut machine, &mut rng) {}
    let disk = |drive: usize| Some(shelf.drives[drive].disk.clone());
    let refused = open(vec![disk(0), None, disk(3)], None, QUIET_FOR).map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::Refused(Refusal::TooFew { .. })), "{refused}");
}
