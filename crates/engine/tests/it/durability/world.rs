//! An array that writes versions into rows, its drives, and the answers that its clients got.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::code::Code;
use super::disk::{BLOCK, Disk, Write};
use array::Level;
use engine::Token;
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::superblock::{COPIES_AT, newer};
use engine::durability::{
    Change, DriveSet, Durability, End, Geometry, HEAD_BYTES, Handed, IoId, IoResult, Journal,
    MemberState, Output, Superblock, Uuid, WantedChange, create, prepare,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::{DriveId, Duration, Instant, Rng};

pub(crate) const UUID: Uuid = Uuid([9; 16]);
pub(crate) const REGION_BYTES: u64 = 1 << 20;
pub(crate) const QUIET_FOR: Duration = Duration::from_secs(5);
pub(crate) const ROWS: u64 = 8;
/// Distance of rows: two rows lie in a region.
const ROW_STRIDE: u64 = REGION_BYTES / 2;

pub(crate) struct Payload {
    row: u64,
    version: u64,
    bytes: Vec<u8>,
}

impl Change for Payload {
    fn data(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }
}

/// I/O under way on a disk.
#[derive(Clone, Copy)]
enum Work {
    Change(IoId),
    Head(IoId),
    Sync(IoId, u64),
}

struct Operation {
    row: u64,
    version: u64,
    left: usize,
    cached: bool,
    flushes: bool,
    /// Drive on which the row is rebuilt; `None` for a write.
    rebuilds: Option<DriveId>,
}

/// Request that a client waits for.
enum Waits {
    Write {
        row: u64,
        version: u64,
    },
    /// A flush of the versions that were answered before.
    Flush {
        answered: Vec<u64>,
    },
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) flushes: u64,
    pub(crate) cuts: u64,
    /// Starts after cuts that were themselves cut short.
    pub(crate) cut_starts: u64,
    pub(crate) replayed: usize,
    pub(crate) failures: u64,
    pub(crate) rebuilds: u64,
    /// Rows that were found half written, and were marked.
    pub(crate) torn: u64,
    /// Cuts after which a failed drive was found again.
    pub(crate) stale: u64,
    /// Rows that a drive held after a cut, whose rebuild need not write them again.
    pub(crate) resumed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.flushes += other.flushes;
        self.cuts += other.cuts;
        self.cut_starts += other.cut_starts;
        self.replayed += other.replayed;
        self.failures += other.failures;
        self.rebuilds += other.rebuilds;
        self.torn += other.torn;
        self.stale += other.stale;
        self.resumed += other.resumed;
    }
}

pub(crate) struct World {
    pub(crate) machine: Durability<Payload>,
    pub(crate) geometry: Geometry,
    row_blocks: u64,
    overlaps: bool,
    now: Instant,
    pub(crate) disks: Vec<Disk>,
    /// Drives that have failed.
    pub(crate) failed: DriveSet,
    /// Rows that are rebuilt on drives under rebuild.
    rebuilt: BTreeMap<DriveId, BTreeSet<u64>>,
    works: BTreeMap<u64, (DriveId, Work)>,
    next_key: u64,
    operations: BTreeMap<u64, Operation>,
    of_change: BTreeMap<IoId, u64>,
    /// Changes that were released to their drive.
    released: BTreeMap<IoId, DriveId>,
    next_number: u64,
    waits: BTreeMap<u64, Waits>,
    /// Newest version of each row that was begun; that was answered; and that a flush covers.
    pub(crate) begun: Vec<u64>,
    answered: Vec<u64>,
    pub(crate) flushed: Vec<u64>,
    ended: Option<End>,
    pub(crate) counts: Counts,
}

pub(crate) fn geometry(level: Level, width: u8) -> Geometry {
    Geometry {
        journalled: engine::durability::Journalled::Degraded,
        checksums: false,
        level,
        width,
        stripe_width: width,
        chunk_bytes: 64 << 10,
        page_bytes: 4096,
        drive_bytes: ROWS * ROW_STRIDE,
    }
}

impl World {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let shapes = [
            (Level::Raid5, 3),
            (Level::Raid5, 4),
            (Level::Raid6, 4),
            (Level::Raid6, 5),
            (Level::Raid1, 2),
        ];
        let (level, width) = shapes[rng.below(5) as usize];
        // Long rows fill the journal.
        let row_blocks = if rng.below(8) == 0 { ROW_STRIDE / BLOCK as u64 } else { 2 };
        let mut geometry = geometry(level, width);
        if rng.below(2) == 0 {
            geometry.journalled = engine::durability::Journalled::Always;
        }
        Self::with(geometry, row_blocks, rng.below(3) == 0)
    }

    pub(crate) fn with(geometry: Geometry, row_blocks: u64, overlaps: bool) -> Self {
        let blank = vec![Disk::default(); usize::from(geometry.width)];
        let opened = create(blank, &geometry, UUID, 1, QUIET_FOR).expect("blank drives");
        let disks = opened.disks.into_iter().flatten().collect();
        let rows = ROWS as usize;
        Self {
            machine: Durability::new(opened.records),
            geometry,
            row_blocks,
            overlaps,
            now: Instant::ZERO,
            disks,
            failed: DriveSet::EMPTY,
            rebuilt: BTreeMap::new(),
            works: BTreeMap::new(),
            next_key: 0,
            operations: BTreeMap::new(),
            of_change: BTreeMap::new(),
            released: BTreeMap::new(),
            next_number: 0,
            waits: BTreeMap::new(),
            begun: vec![0; rows],
            answered: vec![0; rows],
            flushed: vec![0; rows],
            ended: None,
            counts: Counts::default(),
        }
    }

    pub(crate) fn spare(&self) -> u32 {
        self.geometry.level.parities(u32::from(self.geometry.stripe_width))
    }

    pub(crate) fn row_extent(&self, row: u64) -> (u64, u64) {
        (row * ROW_STRIDE, self.row_blocks)
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Drives to which an array writes a row.
    fn drives_of(&self, row: u64) -> Vec<DriveId> {
        let drives = (0..self.geometry.width).map(DriveId);
        let holds = |drive: &DriveId| {
            !self.failed.contains(*drive)
                && self.rebuilt.get(drive).is_none_or(|rows| rows.contains(&row))
        };
        drives.filter(holds).collect()
    }

    /// Number of drives that do not hold all data.
    fn incomplete(&self) -> u32 {
        self.failed.len() + self.rebuilt.len() as u32
    }

    pub(crate) fn step(&mut self, rng: &mut Rng) {
        match rng.below(100) {
            0..25 => {
                self.write(rng.below(ROWS), rng.below(4) == 0);
            }
            25..30 => self.flush(),
            30 if self.incomplete() < self.spare() => {
                let drive = DriveId(rng.below(u64::from(self.geometry.width)) as u8);
                self.fail_drive(drive);
            }
            31..35 => {
                if let Some(drive) = self.failed.iter().next() {
                    self.replace(drive);
                }
            }
            35..50 => {
                let first = |rows: &BTreeSet<u64>| (0..ROWS).find(|row| !rows.contains(row));
                let first = self.rebuilt.values().next().and_then(first);
                let in_order = rng.below(3) > 0;
                let row = rng.below(ROWS);
                self.rebuild_a_row(first.filter(|_| in_order).unwrap_or(row));
            }
            50..55 => self.pass(Duration::from_millis(rng.below(4000))),
            _ => self.end_some(rng),
        }
        self.drain(rng);
    }

    /// Begins a write of a row, if an array could.
    pub(crate) fn write(&mut self, row: u64, flushes: bool) -> bool {
        let busy = self
            .operations
            .values()
            .any(|op| op.row == row && (op.rebuilds.is_some() || !self.overlaps));
        if busy {
            return false;
        }
        self.begun[row as usize] += 1;
        let version = self.begun[row as usize];
        let drives = self.drives_of(row);
        let cached = self.overlaps;
        let number = self.begin(row, version, &drives, cached, flushes, None);
        if cached {
            self.answer_write(number, row, version, flushes);
        }
        true
    }

    /// Encoding of versions on a drive.
    pub(crate) fn code(&self, drive: DriveId) -> Code<'_> {
        Code { geometry: &self.geometry, drive }
    }

    fn begin(
        &mut self,
        row: u64,
        version: u64,
        drives: &[DriveId],
        cached: bool,
        flushes: bool,
        rebuilds: Option<DriveId>,
    ) -> u64 {
        let number = self.number();
        let mut joins = None;
        for &drive in drives {
            let mut bytes = vec![0; self.row_blocks as usize * BLOCK];
            let code = self.code(drive);
            let places = (row * ROW_STRIDE..).step_by(BLOCK);
            for (at, block) in places.zip(bytes.chunks_exact_mut(BLOCK)) {
                block[..8].copy_from_slice(&code.encode(at, version));
            }
            let change = Payload { row, version, bytes };
            let wanted = WantedChange {
                drive,
                offset_bytes: row * ROW_STRIDE,
                length_bytes: self.row_blocks * BLOCK as u64,
                joins,
                cached,
                change,
            };
            let Handed { id, write } = self.machine.handle_change(self.now, wanted);
            joins = Some(write);
            self.of_change.insert(id, number);
        }
        let left = drives.len();
        let operation = Operation { row, version, left, cached, flushes, rebuilds };
        self.operations.insert(number, operation);
        number
    }

    fn answer_write(&mut self, number: u64, row: u64, version: u64, flushes: bool) {
        if flushes {
            let mut answered = self.answered.clone();
            answered[row as usize] = answered[row as usize].max(version);
            self.waits.insert(number, Waits::Flush { answered });
            self.machine.handle_flush(self.now, Token(number as u32));
        } else {
            self.waits.insert(number, Waits::Write { row, version });
            self.machine.handle_answer(Token(number as u32));
        }
    }

    pub(crate) fn flush(&mut self) {
        let number = self.number();
        self.waits.insert(number, Waits::Flush { answered: self.answered.clone() });
        self.machine.handle_flush(self.now, Token(number as u32));
    }

    pub(crate) fn fail_drive(&mut self, drive: DriveId) {
        if self.failed.contains(drive) {
            return;
        }
        self.counts.failures += 1;
        self.failed.insert(drive);
        self.rebuilt.remove(&drive);
        self.works.retain(|_, (other, _)| *other != drive);
        self.machine.handle_drive_failed(self.now, drive);
        let lost: Vec<IoId> = self.of_change.keys().copied().collect();
        for id in lost {
            if self.changes_drive(id) == Some(drive) {
                self.end_change_of(id);
            }
        }
    }

    /// Drive of a change that was released and has not ended; `None` for cancelled ones.
    fn changes_drive(&self, id: IoId) -> Option<DriveId> {
        self.released.get(&id).copied()
    }

    pub(crate) fn replace(&mut self, drive: DriveId) {
        // The array waits until all earlier commands to the drive are answered.
        self.failed.remove(drive);
        let mut disk = Disk::default();
        let machine = &self.machine;
        prepare(&mut disk, drive, machine.superblock(), machine.intent(), machine.journal())
            .unwrap();
        self.disks[drive.index()] = disk;
        self.rebuilt.insert(drive, BTreeSet::new());
        self.machine.handle_drive_replaced(self.now, drive);
    }

    pub(crate) fn rebuild_a_row(&mut self, row: u64) {
        let missing = |rows: &BTreeSet<u64>| !rows.contains(&row);
        let drive = self.rebuilt.iter().find(|(_, rows)| missing(rows)).map(|(drive, _)| *drive);
        let busy = self.operations.values().any(|op| op.row == row);
        if let Some(drive) = drive.filter(|_| !busy) {
            let version = self.begun[row as usize];
            self.begin(row, version, &[drive], false, false, Some(drive));
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        if self.machine.next_deadline() <= self.now {
            self.machine.handle_deadline(self.now);
        }
    }

    /// Ends some I/O that is under way, in any order, sometimes with a failure.
    pub(crate) fn end_some(&mut self, rng: &mut Rng) {
        let Some(&key) = self.works.keys().nth(rng.below(self.works.len().max(1) as u64) as usize)
        else {
            return;
        };
        let fails = rng.below(150) == 0 && self.incomplete() < self.spare();
        self.end_work(key, fails.then_some(rng));
    }

    fn end_work(&mut self, key: u64, fails: Option<&mut Rng>) {
        let Some((drive, work)) = self.works.remove(&key) else { return };
        let disk = &mut self.disks[drive.index()];
        let result = match fails {
            None => {
                if let Work::Sync(_, ended) = work {
                    disk.synced(ended);
                }
                disk.end(key);
                IoResult::Done
            }
            Some(rng) => {
                disk.fail(key, rng);
                IoResult::Failed
            }
        };
        match work {
            Work::Change(id) => {
                self.machine.handle_io_ended(self.now, id, result);
                self.end_change_of(id);
            }
            Work::Head(id) | Work::Sync(id, _) => {
                self.machine.handle_io_ended(self.now, id, result);
            }
        }
        if result == IoResult::Failed {
            self.fail_drive(drive);
        }
    }

    fn end_change_of(&mut self, id: IoId) {
        self.released.remove(&id);
        let Some(number) = self.of_change.remove(&id) else { return };
        let Some(op) = self.operations.get_mut(&number) else { return };
        op.left -= 1;
        if op.left > 0 {
            return;
        }
        let Some(op) = self.operations.remove(&number) else { return };
        if let Some(drive) = op.rebuilds {
            self.end_row(drive, op.row);
        } else if !op.cached {
            self.answer_write(number, op.row, op.version, op.flushes);
        }
    }

    fn end_row(&mut self, drive: DriveId, row: u64) {
        let Some(rows) = self.rebuilt.get_mut(&drive) else { return };
        rows.insert(row);
        let first = (0..).find(|row| !rows.contains(row)).unwrap_or(0);
        let stripe = first * ROW_STRIDE / self.geometry.chunk_bytes;
        self.machine.handle_rebuilt_before(self.now, drive, stripe);
        let rows = &self.rebuilt[&drive];
        if rows.len() as u64 == ROWS {
            self.counts.rebuilds += 1;
            self.rebuilt.remove(&drive);
            self.machine.handle_drive_rebuilt(self.now, drive);
        }
    }

    /// Carries out the machine's outputs; the power may fail between any two of them.
    pub(crate) fn drain(&mut self, rng: &mut Rng) {
        loop {
            if rng.below(40) == 0 {
                self.cut(rng);
            }
            self.machine.advance();
            let output = self.machine.poll_output();
            self.machine.check_invariants();
            let Some(output) = output else { break };
            self.act(output);
        }
        // Any I/O under way is at a disk: nothing waits for anything else.
        if self.ended.is_none() {
            assert_eq!(self.machine.is_idle(), self.works.is_empty());
        }
    }

    fn act(&mut self, output: Output<Payload>) {
        match output {
            Output::WriteHead { id, drive, offset_bytes, bytes } => {
                assert!(offset_bytes + bytes.len() as u64 <= HEAD_BYTES);
                let write = Write { offset_bytes, bytes, forced: true };
                self.submit(drive, Work::Head(id), Some(write));
            }
            Output::Sync { id, drive, .. } => {
                let ended = self.disks[drive.index()].ended();
                self.submit(drive, Work::Sync(id, ended), None);
            }
            Output::Release { id, drive, change } => {
                self.check_release(drive, &change);
                let offset_bytes = HEAD_BYTES + change.row * ROW_STRIDE;
                let bytes = Arc::new(change.bytes);
                let write = Write { offset_bytes, bytes, forced: false };
                self.released.insert(id, drive);
                self.submit(drive, Work::Change(id), Some(write));
            }
            Output::Cancel { id, drive, .. } => {
                assert!(self.failed.contains(drive));
                self.end_change_of(id);
            }
            Output::Answer { answer } => self.answer(answer),
            Output::Refuse { answer } => panic!("{answer:?} is refused, and nothing has stopped"),
            Output::FailDrive { drive, .. } => assert!(self.failed.contains(drive)),
            Output::Stop { reason } => panic!("{reason}"),
            Output::Ended { end } => self.ended = Some(end),
        }
    }

    fn submit(&mut self, drive: DriveId, work: Work, write: Option<Write>) {
        let key = self.next_key;
        self.next_key += 1;
        if self.failed.contains(drive) {
            return;
        }
        if let Some(write) = write {
            self.disks[drive.index()].begin(key, write);
        }
        self.works.insert(key, (drive, work));
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = DriveId> + use<> {
        let failed = self.failed;
        (0..self.geometry.width).map(DriveId).filter(move |drive| !failed.contains(*drive))
    }

    /// Checks a release: the marks of the change, and its record if it needs one, must be stable.
    fn check_release(&self, drive: DriveId, change: &Payload) {
        let region = change.row * ROW_STRIDE / REGION_BYTES;
        let offset_bytes = change.row * ROW_STRIDE;
        for other in self.present() {
            for block in self.disks[other.index()].possible(INTENT_OFFSET_BYTES) {
                let marked = block[32 + region as usize / 8] >> (region % 8) & 1 == 1;
                assert!(marked, "region {region} is not marked on {other:?}");
            }
        }
        let states = self.machine.superblock().states.iter().enumerate();
        let absent = states.filter(|(_, state)| **state != MemberState::Serving);
        let absent = absent.fold(0, |bits, (drive, _)| bits | 1 << drive);
        // The journal of a drive that is being rebuilt does not count.
        if Journal::is_needed(&self.geometry, absent) && absent >> drive.0 & 1 == 0 {
            let found = self.disks[drive.index()].has_record(
                self.code(drive),
                offset_bytes,
                change.version,
            );
            assert!(found, "{drive:?} has no record of row {}", change.row);
        }
    }

    pub(crate) fn superblock_of(
        disk: &Disk,
    ) -> Result<Superblock, engine::durability::SuperblockError> {
        newer(COPIES_AT.map(|at| Superblock::decode(&disk.block(at))))
    }

    fn answer(&mut self, answer: Token) {
        let waits = self.waits.remove(&u64::from(answer.0)).expect("nothing is answered twice");
        // No client is answered before all present drives record the failure of a drive that lacks
        // the write.
        for drive in self.present() {
            let Ok(superblock) = Self::superblock_of(&self.disks[drive.index()]) else { continue };
            for failed in self.failed.iter() {
                assert_ne!(superblock.states[failed.index()], MemberState::Serving);
            }
        }
        match waits {
            Waits::Write { row, version } => {
                let entry = &mut self.answered[row as usize];
                *entry = version.max(*entry);
            }
            Waits::Flush { answered } => {
                self.counts.flushes += 1;
                for (row, version) in (0..).zip(answered) {
                    let (offset_bytes, blocks) = self.row_extent(row);
                    // Content of a drive that is being rebuilt is not needed yet.
                    let states = &self.machine.superblock().states;
                    let serves = |drive: &DriveId| states[drive.index()] == MemberState::Serving;
                    for drive in self.drives_of(row).into_iter().filter(serves) {
                        let disk = &self.disks[drive.index()];
                        let (least, _) = disk.versions(self.code(drive), offset_bytes, blocks);
                        let journalled = || {
                            let newest = self.begun[row as usize];
                            let has =
                                |newer| disk.has_record(self.code(drive), offset_bytes, newer);
                            (version..=newest).any(has)
                        };
                        let is_stable = least >= version || journalled();
                        assert!(is_stable, "row {row} is not stable on {drive:?}");
                    }
                    let entry = &mut self.flushed[row as usize];
                    *entry = version.max(*entry);
                    let entry = &mut self.answered[row as usize];
                    *entry = version.max(*entry);
                }
            }
        }
    }

    /// Ends everything without failures.
    pub(crate) fn settle(&mut self, rng: &mut Rng) {
        self.drain(rng);
        let mut turns = 0;
        while let Some(&key) = self.works.keys().next() {
            self.end_work(key, None);
            self.drain(rng);
            turns += 1;
            assert!(turns < 100_000, "it never ends");
        }
        assert!(self.machine.is_idle(), "something waits for nothing");
        assert!(self.operations.is_empty() && self.waits.is_empty());
    }

    /// Ends the array cleanly, after all that is under way.
    pub(crate) fn finish(&mut self, rng: &mut Rng) {
        self.settle(rng);
        let generation = self.machine.end_generation();
        self.machine.handle_end(self.now);
        self.drain(rng);
        while let Some(&key) = self.works.keys().next() {
            self.end_work(key, None);
            self.drain(rng);
        }
        assert_eq!(self.ended, Some(End::Clean));
        assert_eq!(self.machine.superblock().generation, generation);
        self.flushed.clone_from(&self.begun);
        let starts = self.counts.cut_starts;
        let assembly = self.cut(rng);
        assert!(assembly.clean || self.counts.cut_starts > starts);
        if self.counts.cut_starts == starts {
            assert_eq!(assembly.end_generation(), generation, "by which a map of a drive is known");
        }
    }
}
