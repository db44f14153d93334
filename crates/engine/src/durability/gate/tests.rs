//! Tests of the write gate: what leaves it, when, and with what.

use super::super::io_ids::IoIds;
use super::super::journal::Journal;
use super::super::setup::{Setup, Sizes};
use super::super::uuid::Uuid;
use super::*;
use alloc::vec;
use units::{Duration, Rng};

const UUID: Uuid = Uuid([7; 16]);
const BLOCK: u64 = BLOCK_BYTES as u64;
const MIB: u64 = 1 << 20;
const BLOCKS_PER_REGION: u64 = MIB / BLOCK;
const DRIVES: u8 = 3;

/// Content of a change.
#[derive(Debug)]
struct Data(Vec<u8>);

impl Change for Data {
    fn data(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

/// A gate with the records that it needs.
struct World {
    gate: WriteGate<Data>,
    ids: IoIds,
    /// Pending write of each operation.
    writes: BTreeMap<u64, IoId>,
    intent: Intent,
    journal: JournalWriter,
    present: DriveSet,
}

fn all() -> DriveSet {
    (0..DRIVES).map(DriveId).collect()
}

/// A world in which all regions are marked.
fn marked() -> World {
    let mut world = unmarked();
    (0..world.intent.regions()).for_each(|region| {
        world.intent.mark(Instant::ZERO, region);
    });
    world.mark();
    world
}

fn unmarked() -> World {
    let mut journal = Journal::new(UUID, &Setup::from(Duration::from_secs(5)));
    journal.clear().unwrap();
    journal.header_written();
    World {
        gate: WriteGate::new(Planted::NONE),
        ids: IoIds::default(),
        writes: BTreeMap::new(),
        intent: Intent::new(UUID, 64 * MIB, MIB, Duration::from_secs(5)),
        journal: JournalWriter::new(journal, DriveSet::EMPTY),
        present: all(),
    }
}

fn journalled() -> World {
    let mut world = marked();
    world.journal.set_drives(all());
    world
}

impl World {
    /// Holds a change of these blocks.
    fn hold(&mut self, operation: u64, drive: u8, blocks: Range<u64>) -> IoId {
        self.hold_wanted(operation, drive, blocks, false)
    }

    fn hold_cached(&mut self, operation: u64, drive: u8, blocks: Range<u64>) -> IoId {
        self.hold_wanted(operation, drive, blocks, true)
    }

    fn hold_wanted(&mut self, operation: u64, drive: u8, blocks: Range<u64>, cached: bool) -> IoId {
        let length_bytes = (blocks.end - blocks.start) * BLOCK;
        let wanted = WantedChange {
            drive: DriveId(drive),
            offset_bytes: blocks.start * BLOCK,
            length_bytes,
            joins: self.writes.get(&operation).copied(),
            cached,
            change: Data(vec![0; length_bytes as usize]),
        };
        let id = self.ids.take();
        let handed = self.gate.hold(Instant::ZERO, id, wanted, &mut self.intent);
        assert_eq!(handed.id, id);
        self.writes.insert(operation, handed.write);
        self.check();
        id
    }

    /// Seals the waiting writes, and admits them.
    fn admit(&mut self) {
        self.gate.seal();
        self.gate.admit(self.journal.drives());
        self.check();
    }

    /// Brings the write-intent record to stable storage.
    fn mark(&mut self) {
        for write in self.intent.blocks_to_write() {
            self.intent.written(write.block);
        }
        self.gate.note_marked();
    }

    /// Begins to write the next batch. Returns its number.
    fn record(&mut self) -> Option<u64> {
        let batch = self.gate.record(&mut self.journal).unwrap()?;
        self.check();
        Some(batch.sequence)
    }

    /// Brings the batch to stable storage.
    fn land(&mut self, sequence: u64) {
        self.journal.written(sequence);
        self.gate.note_stable(self.journal.stable());
        self.check();
    }

    /// Returns the changes that leave the gate, write by write.
    fn release(&mut self) -> Vec<Vec<IoId>> {
        let released =
            core::iter::from_fn(|| self.gate.release(&self.intent, self.journal.stable()));
        let released = released.map(|changes| changes.iter().map(|(id, ..)| *id).collect());
        let released = released.collect();
        self.check();
        released
    }

    fn end(&mut self, id: IoId) -> Option<DriveId> {
        let drive = self.gate.end(Instant::ZERO, id, &mut self.intent, &mut self.journal);
        self.check();
        drive
    }

    /// Fails a drive. Returns the changes that were held for it.
    fn fail(&mut self, drive: u8) -> Vec<IoId> {
        let drive = DriveId(drive);
        self.present.remove(drive);
        let now = Instant::ZERO;
        let leaving = self.gate.fail(now, drive, &mut self.intent, &mut self.journal);
        self.check();
        assert!(leaving.iter().all(|(_, of, _)| *of == drive));
        leaving.into_iter().map(|(id, ..)| id).collect()
    }

    fn check(&self) {
        self.gate.check_invariants(self.present, &self.intent);
    }
}

#[test]
fn all_changes_of_an_operation_leave_at_once_when_they_are_let_in() {
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..1), world.hold(1, 1, 0..1));
    assert!(world.release().is_empty(), "not let in");
    assert!(world.gate.is_drained() && !world.gate.is_empty());
    world.admit();
    assert!(!world.gate.is_drained() && !world.gate.is_empty(), "let in");
    assert_eq!(world.release(), [vec![a, b]]);
    assert!(!world.gate.is_drained() && !world.gate.is_empty(), "in flight");
    assert_eq!(world.end(a), Some(DriveId(0)));
    assert!(!world.gate.is_drained() && !world.gate.is_empty(), "one is in flight");
    assert_eq!((world.end(b), world.end(b)), (Some(DriveId(1)), None));
    assert!(world.gate.is_drained() && world.gate.is_empty());
}

#[test]
fn what_comes_after_a_seal_is_another_write() {
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..1), world.hold(1, 1, 0..1));
    world.gate.seal();
    let (c, d) = (world.hold(1, 2, 0..1), world.hold(2, 0, 5..6));
    world.admit();
    assert_eq!(world.release(), [vec![a, b], vec![c], vec![d]]);
}

#[test]
fn a_change_marks_the_regions_in_which_it_lies_and_no_other() {
    let last = BLOCKS_PER_REGION;
    for (blocks, regions) in [
        (0..1, 0..1),
        (last - 1..last, 0..1),
        (0..last, 0..1),
        (last..last + 1, 1..2),
        (last - 1..last + 1, 0..2),
        (last..3 * last, 1..3),
    ] {
        let mut world = unmarked();
        let id = world.hold(1, 0, blocks.clone());
        let marked = |world: &World| -> Vec<u32> {
            (0..world.intent.regions()).filter(|&region| world.intent.is_marked(region)).collect()
        };
        assert_eq!(marked(&world), regions.clone().collect::<Vec<u32>>(), "{blocks:?}");
        world.admit();
        assert!(world.release().is_empty(), "the marks are not stable");
        assert!(world.release().is_empty());
        world.mark();
        assert_eq!(world.release(), [[id]]);
        // The write has ended: nothing holds its regions any more.
        world.end(id);
        let quiet = world.intent.quiet(Instant::ZERO + Duration::from_secs(5));
        assert_eq!(quiet.len(), regions.len(), "{blocks:?}");
    }
}

#[test]
fn changes_of_the_same_blocks_follow_each_other() {
    // The second change, and whether it waits for a change of blocks 4 to 8 of drive 0.
    for (drive, blocks, waits) in [
        (0, 0..4, false),
        (0, 8..9, false),
        (1, 4..8, false),
        (0, 4..8, true),
        (0, 0..5, true),
        (0, 7..9, true),
        (0, 5..6, true),
        (0, 0..20, true),
    ] {
        let mut world = marked();
        let first = world.hold(1, 0, 4..8);
        // Another change of the same operation waits with it.
        let second = [world.hold(2, drive, blocks.clone()), world.hold(2, 2, 0..1)];
        world.admit();
        let released = world.release();
        if waits {
            assert_eq!(released, [vec![first]], "{blocks:?}");
            world.end(first);
            assert_eq!(world.release(), [second.to_vec()], "{blocks:?}");
        } else {
            assert_eq!(released, [vec![first], second.to_vec()], "{blocks:?}");
        }
    }
}

#[test]
fn a_write_that_waits_for_several_goes_after_the_last() {
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..2), world.hold(2, 0, 2..4));
    let c = world.hold(3, 0, 1..4);
    world.admit();
    assert_eq!(world.release(), [[a], [b]]);
    world.end(b);
    assert!(world.release().is_empty());
    world.end(a);
    assert_eq!(world.release(), [[c]]);
}

#[test]
fn no_write_waits_for_itself_or_for_one_that_waits_for_it() {
    // An operation changes its own block again.
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..1), world.hold(1, 0, 0..1));
    world.admit();
    assert_eq!(world.release(), [[a]]);
    world.end(a);
    assert_eq!(world.release(), [[b]]);

    // A change may join a write that is newer than the one it has to wait for.
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..1), world.hold(2, 0, 10..11));
    let c = world.hold(2, 0, 0..1);
    world.admit();
    assert_eq!(world.release(), [[a]]);
    world.end(a);
    assert_eq!(world.release(), [[b, c]]);

    // It may not join an older one.
    let mut world = marked();
    let (a, b) = (world.hold(1, 0, 0..1), world.hold(2, 0, 10..11));
    let c = world.hold(2, 0, 0..1);
    let d = world.hold(1, 0, 10..11);
    world.admit();
    assert_eq!(world.release(), [[a]]);
    world.end(a);
    assert_eq!(world.release(), [[b, c]]);
    world.end(c);
    assert!(world.release().is_empty());
    world.end(b);
    assert_eq!(world.release(), [[d]]);
}

#[test]
fn what_is_sent_back_waits_to_be_let_in_again() {
    for mut world in [marked(), journalled()] {
        let a = world.hold(1, 0, 0..1);
        world.admit();
        world.gate.withdraw();
        world.check();
        assert!(world.gate.is_drained() && !world.gate.is_empty());
        assert_eq!(world.record(), None);
        assert!(world.release().is_empty());
        world.admit();
        if let Some(sequence) = world.record() {
            world.land(sequence);
        }
        assert_eq!(world.release(), [[a]]);
        // Changes in flight are not withdrawn.
        world.gate.withdraw();
        world.check();
        assert!(!world.gate.is_drained());
    }
}

#[test]
fn a_journalled_write_leaves_when_its_batch_is_stable_and_ends_in_it() {
    let mut world = journalled();
    let a = world.hold_cached(1, 0, 0..1);
    let b = world.hold_cached(2, 1, 0..1);
    world.admit();
    assert!(world.release().is_empty(), "not recorded");
    let first = world.record().unwrap();
    assert_eq!(world.record(), None);
    let c = world.hold_cached(3, 2, 0..1);
    world.admit();
    assert!(world.release().is_empty(), "not stable");
    assert_eq!(world.gate.first_cached(), Some(a));
    world.land(first);
    assert_eq!(world.gate.first_cached(), Some(c), "what is stable survives a power cut");
    assert_eq!(world.release(), [[a], [b]]);
    let second = world.record().unwrap();
    world.land(second);
    assert_eq!((world.gate.first_cached(), world.release()), (None, vec![vec![c]]));
    world.end(a);
    assert_eq!(world.journal.clear().unwrap_err(), JournalError::Busy { batches: 2 });
    world.end(b);
    assert_eq!(world.journal.clear().unwrap_err(), JournalError::Busy { batches: 1 });
    world.end(c);
    assert!(world.journal.clear().is_ok());
}

#[test]
fn only_writes_that_touch_a_journalled_drive_are_recorded() {
    let mut world = marked();
    world.journal.set_drives([DriveId(2)].into_iter().collect());
    let a = world.hold_cached(1, 0, 0..1);
    let (b, c) = (world.hold(2, 1, 0..1), world.hold(2, 2, 0..1));
    world.admit();
    assert_eq!(world.release(), [[a]]);
    let batch = world.gate.record(&mut world.journal).unwrap().unwrap();
    let drives: Vec<DriveId> = batch.records.iter().map(|(drive, _)| *drive).collect();
    assert_eq!(drives, [DriveId(2)]);
    world.land(batch.sequence);
    assert_eq!(world.release(), [[b, c]]);
    assert_eq!(world.gate.first_cached(), Some(a), "it is in no journal");
    world.end(a);
    assert_eq!(world.gate.first_cached(), None);
}

/// Returns the number of writes in each batch.
fn batches(world: &mut World) -> Vec<usize> {
    world.admit();
    let mut taken = Vec::new();
    while let Some(sequence) = world.record() {
        world.land(sequence);
        taken.push(world.release().len());
    }
    taken
}

#[test]
fn a_batch_takes_as_many_writes_as_it_may() {
    let usual = Sizes::SERVED.batch_bytes / BLOCK;
    // Data blocks of each write, and the number of writes in each batch.
    for (blocks, expected) in [
        (vec![usual / 2, usual / 2], vec![2]),
        (vec![usual / 2, usual / 2 + 1], vec![1, 1]),
        (vec![usual / 2, usual / 2, 1], vec![2, 1]),
        (vec![usual + 1, 1], vec![1, 1]),
        (vec![1, usual + 1, 1], vec![1, 1, 1]),
    ] {
        let mut world = journalled();
        for (operation, &count) in (0..).zip(&blocks) {
            let start = operation * 2 * usual;
            world.hold(operation, 0, start..start + count);
        }
        assert_eq!(batches(&mut world), expected, "{blocks:?}");
    }
    // Changes of each write.
    for (changes, expected) in [
        (vec![PARTS_MAX - 1, 1], vec![2]),
        (vec![PARTS_MAX - 1, 2], vec![1, 1]),
        (vec![PARTS_MAX, 1], vec![1, 1]),
        (vec![1, PARTS_MAX - 1, 1], vec![2, 1]),
    ] {
        let mut world = journalled();
        let mut block = 0;
        for (operation, &count) in (0..).zip(&changes) {
            for _ in 0..count {
                world.hold(operation, 0, block..block + 1);
                block += 2;
            }
        }
        assert_eq!(batches(&mut world), expected, "{changes:?}");
    }
}

#[test]
fn a_drive_that_fails_takes_its_changes_with_it_and_holds_nobody_up() {
    for mut world in [marked(), journalled()] {
        // In flight: a, b. Held: c behind a, d with it; e behind c; f alone.
        let (a, b) = (world.hold_cached(1, 0, 0..1), world.hold(1, 1, 0..1));
        world.admit();
        if let Some(sequence) = world.record() {
            world.land(sequence);
        }
        assert_eq!(world.release(), [[a, b]]);
        let (c, d) = (world.hold_cached(2, 0, 0..2), world.hold(2, 1, 0..1));
        let e = world.hold_cached(3, 0, 1..2);
        let f = world.hold(4, 2, 8..9);
        world.admit();
        if let Some(sequence) = world.record() {
            world.land(sequence);
        }
        assert_eq!(world.release(), [[f]]);
        assert_eq!(world.fail(0), [c, e]);
        assert_eq!(world.gate.first_cached(), None);
        assert_eq!(world.end(a), None, "it counts as ended");
        assert!(world.release().is_empty(), "b is before d");
        world.end(b);
        assert_eq!(world.release(), [[d]]);
        world.end(d);
        assert!(!world.gate.is_empty());
        world.end(f);
        assert!(world.gate.is_empty() && world.gate.is_drained());
        assert!(world.journal.clear().is_ok(), "no batch is left");
    }
}

#[test]
fn an_operation_whose_changes_were_all_cancelled_may_begin_again() {
    let mut world = marked();
    let a = world.hold(1, 0, 0..1);
    assert_eq!(world.fail(0), [a]);
    assert!(world.gate.is_empty());
    let b = world.hold(1, 1, 0..1);
    world.admit();
    assert_eq!(world.release(), [[b]]);
}

#[test]
fn a_batch_that_is_not_to_be_is_recorded_again_and_others_are_not() {
    let mut world = journalled();
    let a = world.hold(1, 0, 0..1);
    world.admit();
    let first = world.record().unwrap();
    world.land(first);
    let b = world.hold_cached(2, 1, 0..1);
    world.admit();
    let torn = world.record().unwrap();
    world.gate.withdraw_batch(torn, &mut world.journal);
    assert_eq!(world.gate.withdrawn(), 1);
    world.check();
    world.land(torn);
    assert_eq!(world.gate.first_cached(), Some(b), "nothing has it");
    assert_eq!(world.release(), [[a]], "the other batch is stable");
    world.admit();
    let again = world.record().unwrap();
    assert!(again > torn);
    assert!(world.release().is_empty());
    world.land(again);
    assert_eq!(world.release(), [[b]]);
    world.end(a);
    world.end(b);
    assert!(world.journal.clear().is_ok(), "no batch is left");
}

/// In any order of events, every change leaves once, none before another of the same block has
/// ended, and the gate is empty at the end.
#[test]
fn every_change_leaves_once_and_in_order() {
    for seed in testing::seeds(0..200) {
        let mut rng = Rng::stream(seed, "gate");
        let mut world = if rng.below(2) == 0 { unmarked() } else { journalled() };
        let mut held: Vec<(IoId, u8, Range<u64>)> = Vec::new();
        let mut in_flight: Vec<IoId> = Vec::new();
        let mut landing: Option<u64> = None;
        let mut there: Vec<u8> = (0..DRIVES).collect();
        for step in 0..400 {
            let is_over = step >= 200;
            if there.len() > 1 && rng.below(100) == 0 {
                // Its changes in flight count as ended, and its held changes come back, each once.
                let failed = there.swap_remove(rng.below(there.len() as u64) as usize);
                let mut cancelled = world.fail(failed);
                cancelled.sort_unstable();
                let is_its = |(_, drive, _): &(IoId, u8, Range<u64>)| *drive == failed;
                let mut of_drive: Vec<IoId> =
                    held.iter().filter(|it| is_its(it)).map(|(id, ..)| *id).collect();
                of_drive.retain(|id| !in_flight.contains(id));
                assert_eq!(cancelled, of_drive, "seed {seed}");
                in_flight.retain(|id| !held.iter().any(|it| it.0 == *id && is_its(it)));
                held.retain(|it| !is_its(it));
            }
            match if is_over { 2 + rng.below(4) } else { rng.below(8) } {
                0 | 1 | 6 => {
                    let drive = there[rng.below(there.len() as u64) as usize];
                    let start = BLOCKS_PER_REGION - 50 + rng.below(12) * 8;
                    let blocks = start..start + 1 + rng.below(20);
                    let id = world.hold(rng.below(4), drive, blocks.clone());
                    held.push((id, drive, blocks));
                }
                2 => world.admit(),
                3 => world.mark(),
                4 => match landing.take() {
                    Some(sequence) => world.land(sequence),
                    None => landing = world.record(),
                },
                5 if !in_flight.is_empty() => {
                    let at = rng.below(in_flight.len() as u64) as usize;
                    let id = in_flight.remove(at);
                    let (_, drive, _) = held.iter().find(|(other, ..)| *other == id).unwrap();
                    assert_eq!(world.end(id), Some(DriveId(*drive)));
                    held.retain(|(other, ..)| *other != id);
                }
                7 => world.gate.seal(),
                _ => {}
            }
            for id in world.release().into_iter().flatten() {
                let (_, drive, blocks) = held.iter().find(|(other, ..)| *other == id).unwrap();
                let overlaps = |(before, other, theirs): &&(IoId, u8, Range<u64>)| {
                    let is_before = *before < id && other == drive;
                    is_before && theirs.start < blocks.end && blocks.start < theirs.end
                };
                assert_eq!(held.iter().find(overlaps), None, "{id:?} goes first");
                assert!(!in_flight.contains(&id), "{id:?} leaves twice");
                in_flight.push(id);
            }
        }
        // Every waiting write has had many chances.
        for _ in 0..200 {
            if let Some(sequence) = landing.take() {
                world.land(sequence);
            }
            world.admit();
            world.mark();
            landing = world.record();
            for id in core::mem::take(&mut in_flight) {
                world.end(id);
                held.retain(|(other, ..)| *other != id);
            }
            in_flight.extend(world.release().into_iter().flatten());
        }
        assert!(held.is_empty() && world.gate.is_empty(), "{held:?}");
    }
}
