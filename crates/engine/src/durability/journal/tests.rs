//! Tests of the journal: its content after a cut anywhere.

use super::super::block::{put, seal};
use super::*;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec;
use array::Level;
use proptest::prelude::*;
use units::Duration;

fn setup(sizes: Sizes) -> Setup {
    Setup { sizes, ..Setup::from(Duration::ZERO) }
}

const UUID: Uuid = Uuid([5; 16]);
const BLOCK: usize = BLOCK_BYTES;
const DRIVES: u8 = 4;

/// Journal of each drive, as far as it was ever written.
#[derive(Clone, Default)]
struct Images([Vec<u8>; DRIVES as usize]);

impl Images {
    /// Writes only the first `landed` bytes: the power fails then.
    fn write(&mut self, drive: DriveId, write: &HeadWrite, landed: usize) {
        let at = (write.offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
        let bytes = &write.bytes[..landed.min(write.bytes.len())];
        assert!(at + write.bytes.len() <= JOURNAL_BYTES);
        let image = &mut self.0[drive.index()];
        if image.len() < at + bytes.len() {
            image.resize(at + bytes.len(), 0);
        }
        image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn batch(&mut self, batch: &Batch) {
        for (drive, record) in &batch.records {
            self.write(*drive, record, usize::MAX);
        }
    }

    fn header(&mut self, write: &HeadWrite) {
        (0..DRIVES).for_each(|drive| self.write(DriveId(drive), write, usize::MAX));
    }

    /// Returns true if all of a record is there. A cut within zeros that were zeros before loses
    /// nothing.
    fn has(&self, drive: DriveId, write: &HeadWrite) -> bool {
        let at = (write.offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
        let mut padded = self.0[drive.index()].clone();
        padded.resize(padded.len().max(at + write.bytes.len()), 0);
        padded[at..at + write.bytes.len()] == write.bytes
    }

    /// Reads as a start does from each drive of a set.
    fn read(&self, found: DriveSet) -> Vec<(DriveId, Vec<u8>)> {
        self.read_sized(found, &Sizes::SERVED)
    }

    fn read_sized(&self, found: DriveSet, sizes: &Sizes) -> Vec<(DriveId, Vec<u8>)> {
        let read = |drive: DriveId| {
            let image = &self.0[drive.index()];
            Journal::read(UUID, drive, sizes, |offset_bytes, into| {
                let start = (offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
                into.fill(0);
                let written = start.min(image.len())..(start + into.len()).min(image.len());
                put(into, 0, &image[written]);
                Ok::<_, ()>(())
            })
        };
        found.iter().map(|drive| (drive, read(drive).unwrap())).collect()
    }

    fn replay(&self, found: DriveSet) -> Replay {
        let read = self.read(found);
        Journal::replay(
            UUID,
            &setup(Sizes::SERVED),
            read.iter().map(|(drive, image)| (*drive, &image[..])),
        )
    }

    fn records(&self) -> Vec<Record> {
        let replay = self.replay(all());
        assert_eq!(replay.damage, None);
        replay.records
    }
}

fn all() -> DriveSet {
    (0..DRIVES).map(DriveId).collect()
}

fn new() -> (Journal, Images) {
    let (mut journal, mut images) = (Journal::new(UUID, &setup(Sizes::SERVED)), Images::default());
    images.header(&journal.clear().unwrap());
    assert_eq!(journal.header_written(), Some(HeaderUse::Clear));
    (journal, images)
}

/// A part that owns its content.
type Owned = (DriveId, FoundPart);

fn append(journal: &mut Journal, parts: &[Owned]) -> Result<Batch, JournalError> {
    let parts = parts.iter().map(|(drive, part)| Part {
        drive: *drive,
        offset_bytes: part.offset_bytes,
        content: match &part.content {
            FoundContent::Bytes(bytes) => Content::Bytes(bytes),
            FoundContent::Zeros { bytes } => Content::Zeros { bytes: *bytes },
        },
    });
    journal.append(&parts.collect::<Vec<_>>())
}

fn bytes(drive: u8, block: u64, bytes: Vec<u8>) -> Owned {
    let content = FoundContent::Bytes(bytes);
    (DriveId(drive), FoundPart { offset_bytes: block * BLOCK as u64, content })
}

fn part() -> impl Strategy<Value = Owned> {
    let what = (0..DRIVES, 0u64..1000, 0usize..3, any::<u8>(), any::<bool>());
    what.prop_map(|(drive, block, blocks, byte, zeros)| {
        let length = blocks * BLOCK;
        let (drive, mut part) = bytes(drive, block, vec![byte; length]);
        if zeros {
            part.content = FoundContent::Zeros { bytes: length as u64 };
        }
        (drive, part)
    })
}

fn parts() -> impl Strategy<Value = Vec<Owned>> {
    proptest::collection::vec(part(), 1..5)
}

/// Returns the expected records of a batch.
fn records(batch: &Batch, parts: &[Owned], found: DriveSet) -> Vec<Record> {
    let drives = batch.records.iter().map(|(drive, _)| *drive);
    let record = |drive| Record {
        sequence: batch.sequence,
        drive,
        parts: parts.iter().filter(|part| part.0 == drive).map(|part| part.1.clone()).collect(),
    };
    drives.filter(|drive| found.contains(*drive)).map(record).collect()
}

proptest! {
    #![proptest_config(testing::cases(128))]

    /// All batches but the last are stable. Any bytes of the last have landed on each drive, and
    /// any drives are found.
    #[test]
    fn a_journal_cut_anywhere_gives_what_was_stable_and_nothing_by_halves(
        old in proptest::collection::vec(parts(), 0..6),
        new_ones in proptest::collection::vec(parts(), 1..6),
        landed in any::<[proptest::sample::Index; DRIVES as usize]>(),
        found in any::<[bool; DRIVES as usize]>(),
    ) {
        let (mut journal, mut images) = new();
        for parts in &old {
            let batch = append(&mut journal, parts).unwrap();
            images.batch(&batch);
            journal.written(batch.sequence);
            journal.finish(batch.sequence);
        }
        images.header(&journal.clear().unwrap());
        journal.header_written();
        prop_assert_eq!(images.records(), vec![]);

        let found: DriveSet = all().iter().filter(|drive| found[drive.index()]).collect();
        let mut expected = Vec::new();
        for (index, parts) in new_ones.iter().enumerate() {
            let batch = append(&mut journal, parts).unwrap();
            let is_last = index + 1 == new_ones.len();
            for (drive, record) in &batch.records {
                let landed = match is_last {
                    true => landed[drive.index()].index(record.bytes.len() + 1),
                    false => usize::MAX,
                };
                images.write(*drive, record, landed);
            }
            let mut looked_at =
                batch.records.iter().filter(|(drive, _)| found.contains(*drive));
            if looked_at.all(|(drive, record)| images.has(*drive, record)) {
                expected.extend(records(&batch, parts, found));
            }
            journal.written(batch.sequence);
        }
        let mut replay = images.replay(found);
        prop_assert_eq!(replay.damage, None);
        let is_lacking = replay.records != expected;
        prop_assert_eq!(replay.gaps.is_empty(), !is_lacking);
        replay.drop_last();
        prop_assert_eq!(replay.records, expected);
        prop_assert_eq!(replay.gaps, vec![]);
    }

    #[test]
    fn hostile_bytes_are_no_panic(
        parts in proptest::collection::vec(part(), 1..4),
        changes in proptest::collection::vec((0usize..200, any::<u8>()), 1..8),
    ) {
        let (mut journal, mut images) = new();
        let batch = append(&mut journal, &parts).unwrap();
        images.batch(&batch);
        let image = &mut images.0[batch.records[0].0.index()];
        for (at, byte) in changes {
            image[HALVES_AT + at] = byte;
        }
        let block = &mut image[HALVES_AT..HALVES_AT + BLOCK];
        put(block, 0, b"ioda\0log");
        put(block, 16, &UUID.0);
        seal(block, 8);
        for record in images.replay(all()).records {
            let held = record.parts.iter().map(|part| match &part.content {
                FoundContent::Bytes(bytes) => bytes.len(),
                FoundContent::Zeros { .. } => 0,
            });
            prop_assert!(held.sum::<usize>() <= JOURNAL_BYTES);
        }
    }
}

#[test]
fn operations_begin_when_their_batch_is_stable() {
    let (mut journal, _) = new();
    let first = append(&mut journal, &[bytes(0, 0, vec![1; BLOCK])]).unwrap().sequence;
    assert_eq!((journal.stable(), journal.is_stable()), (first - 1, false));
    journal.written(first);
    assert_eq!((journal.stable(), journal.is_stable()), (first, true));
    assert_eq!(journal.clear().unwrap_err(), JournalError::Busy { batches: 1 });
}

#[test]
#[should_panic(expected = "batch 0 is stable, and was not being written")]
fn no_batch_is_stable_that_was_not_being_written() {
    let (mut journal, _) = new();
    append(&mut journal, &[bytes(0, 0, vec![1; BLOCK])]).unwrap();
    journal.written(0);
}

#[test]
fn halves_take_turns_and_lose_nothing_that_is_open() {
    let (mut journal, mut images) = new();
    let large = |byte: u8| bytes(byte % 2, u64::from(byte), vec![byte; 3 << 20]);
    let mut open: VecDeque<(u64, u8)> = VecDeque::new();
    let mut turns = 0;
    for byte in 1..=60u8 {
        let batch = loop {
            match append(&mut journal, &[large(byte)]) {
                Ok(batch) => break batch,
                Err(error) => assert_eq!(error, JournalError::Full),
            }
            if let Some(first) = journal.to_sync() {
                let header = journal.retire(first).unwrap();
                assert_eq!((journal.to_sync(), journal.retire(first).is_some()), (None, false));
                assert_eq!(append(&mut journal, &[large(byte)]).unwrap_err(), JournalError::Full);
                // Drives 2 and 3 lag behind: any header will do.
                images.write(DriveId(byte % 2), &header, usize::MAX);
                let half = turns % 2;
                assert_eq!(journal.header_written(), Some(HeaderUse::Retire { half }));
                turns += 1;
            } else {
                let (sequence, _) = open.pop_front().expect("something fills it");
                journal.finish(sequence);
            }
        };
        images.batch(&batch);
        journal.written(batch.sequence);
        open.push_back((batch.sequence, byte));
        let records = images.records();
        assert!(records.is_sorted_by_key(|record| record.sequence));
        for &(sequence, byte) in &open {
            let record = records.iter().find(|record| record.sequence == sequence);
            assert_eq!(record.expect("open ones are found").parts, [large(byte).1]);
        }
    }
    assert!(turns > 3, "{turns}");
    let Transitions { halves_retired, halves_refilled, .. } = journal.transitions();
    assert_eq!(halves_retired, turns as u64);
    assert!((turns as u64 - 1..=turns as u64).contains(&halves_refilled), "{halves_refilled}");
    while let Some((sequence, _)) = open.pop_front() {
        journal.finish(sequence);
    }
    images.header(&journal.clear().unwrap());
    assert_eq!(images.records(), []);
    assert!(journal.is_empty());
}

/// Three batches of two drives, each in a record of two blocks.
fn three_batches() -> (Images, [u64; 3]) {
    let (mut journal, mut images) = new();
    let both = |byte: u8| [bytes(0, 1, vec![byte; BLOCK]), bytes(1, 1, vec![byte; BLOCK])];
    let sequences = [1, 2, 3].map(|byte| {
        let batch = append(&mut journal, &both(byte)).unwrap();
        images.batch(&batch);
        journal.written(batch.sequence);
        batch.sequence
    });
    assert_eq!(images.records().len(), 6);
    (images, sequences)
}

#[test]
fn a_drive_without_what_was_stable_on_it_is_named() {
    let (mut images, sequences) = three_batches();
    let second = HALVES_AT + 2 * BLOCK;
    let mut rotten = images.clone();
    rotten.0[1][second + 100] ^= 1;
    let mut replay = rotten.replay(all());
    let missing = Damage::Missing { drive: DriveId(1), sequence: sequences[1] };
    let gap = replay.gaps[0].sequences().collect::<Vec<_>>();
    assert_eq!((gap, replay.missing()), (vec![sequences[1], sequences[2]], Some(missing)));
    replay.drop_last();
    assert_eq!((replay.records.len(), replay.missing()), (3, Some(missing)));
    // Without that drive all records are there.
    let without = rotten.replay(all().without(DriveSet::from_bits(0b10)));
    assert_eq!((without.gaps.len(), without.records.len()), (0, 3));
    // The last batch need not have been stable.
    let mut torn = images.clone();
    torn.0[1][second + 2 * BLOCK + 100] ^= 1;
    let mut replay = torn.replay(all());
    assert_eq!((replay.gaps.len(), replay.records.len()), (1, 5));
    replay.drop_last();
    assert_eq!((replay.gaps.len(), replay.missing(), replay.records.len()), (0, None, 4));
    assert!(missing.to_string().starts_with("the journal of drive 1 lacks batch "));
    // A drive without a header uses those of the others.
    images.0[2][..2 * BLOCK].fill(0xff);
    let replay = images.replay(all());
    assert_eq!((replay.damage, replay.is_unsound, replay.records.len()), (None, true, 6));
    (0..DRIVES).for_each(|drive| images.0[usize::from(drive)][..2 * BLOCK].fill(0xff));
    assert_eq!(images.replay(all()).damage, Some(Damage::NoHeader { drive: DriveId(0) }));
}

#[test]
fn a_gap_that_was_filled_is_none() {
    let (images, sequences) = three_batches();
    for (lost, first) in [(0, HALVES_AT), (1, HALVES_AT + 2 * BLOCK), (2, HALVES_AT + 4 * BLOCK)] {
        let mut images = images.clone();
        images.0[0][first + 3000] ^= 1;
        let gap = images.replay(all()).gaps[0].clone();
        assert!(gap.sequences().eq(sequences[lost..].iter().copied()));
        let content = vec![9; BLOCK];
        let part = Part { drive: DriveId(0), offset_bytes: 0, content: Content::Bytes(&content) };
        let write = gap.fill(UUID, &Sizes::SERVED, &[part]).unwrap();
        images.write(DriveId(0), &write, usize::MAX);
        let replay = images.replay(all());
        assert_eq!((replay.gaps, replay.records.len()), (vec![], 6));
        let its =
            |record: &&Record| record.drive == DriveId(0) && record.sequence >= sequences[lost];
        let parts: Vec<usize> =
            replay.records.iter().filter(its).map(|it| it.parts.len()).collect();
        assert_eq!(parts, [&[1][..], &vec![0; 2 - lost]].concat());
        // The record has to fit behind the others.
        let blocks = first / BLOCK - HALVES_AT / BLOCK + parts.len() + 1;
        let sizes = |blocks| Sizes { journal_half_bytes: blocks * BLOCK, ..Sizes::SERVED };
        assert!(gap.fill(UUID, &sizes(blocks), &[part]).is_some());
        assert!(gap.fill(UUID, &sizes(blocks - 1), &[part]).is_none());
    }
}

/// A gap takes all parts of its batches, even if they do not fit into one record.
#[test]
fn parts_go_into_as_many_records_as_they_need() {
    let (mut images, sequences) = three_batches();
    images.0[0][HALVES_AT + 2 * BLOCK + 3000] ^= 1;
    let gap = images.replay(all()).gaps[0].clone();
    assert!(gap.sequences().eq(sequences[1..].iter().copied()));
    let zeros = Content::Zeros { bytes: BLOCK as u64 };
    let part = |index: usize| Part {
        drive: DriveId(0),
        offset_bytes: (index * BLOCK) as u64,
        content: zeros,
    };
    let parts = |count: usize| (0..count).map(part).collect::<Vec<_>>();
    assert!(gap.fill(UUID, &Sizes::SERVED, &parts(2 * PARTS_MAX + 1)).is_none());
    let write = gap.fill(UUID, &Sizes::SERVED, &parts(PARTS_MAX + 5)).unwrap();
    images.write(DriveId(0), &write, usize::MAX);
    let replay = images.replay(all());
    assert_eq!(replay.gaps, []);
    let its = replay.records.iter().filter(|record| record.drive == DriveId(0));
    let counts: Vec<usize> = its.map(|record| record.parts.len()).collect();
    assert_eq!(counts, [1, PARTS_MAX, 5]);
}

#[test]
fn numbers_are_never_used_again_and_a_torn_header_takes_nothing() {
    let (mut journal, mut images) = new();
    let one = |byte| [bytes(1, 0, vec![byte; BLOCK])];
    let batch = append(&mut journal, &one(1)).unwrap();
    images.batch(&batch);
    let mut replay = images.replay(all());
    assert_eq!(replay.records.len(), 1);

    let header = replay.journal.clear().unwrap();
    replay.journal.header_written();
    let mut torn = images.clone();
    (0..DRIVES).for_each(|drive| torn.write(DriveId(drive), &header, 30));
    assert_eq!(torn.records().len(), 1, "the header before still holds");
    images.header(&header);
    assert_eq!(images.records(), []);
    // A drive that joins gets the same header.
    images.0[1].clear();
    replay.journal.headers().iter().for_each(|write| images.write(DriveId(1), write, usize::MAX));
    let next = append(&mut replay.journal, &one(3)).unwrap();
    assert!(next.sequence > batch.sequence + 1000);
    images.batch(&next);
    assert_eq!(images.records().len(), 1);
}

#[test]
fn what_a_drive_holds_is_never_taken_for_its_journal() {
    let (mut journal, mut images) = new();
    let first = append(&mut journal, &[bytes(0, 0, vec![1; BLOCK])]).unwrap();
    images.batch(&first);
    journal.written(first.sequence);
    // A record of the next batch in the place of the next record, but not written there.
    let next = append(&mut journal, &[bytes(0, 0, vec![2; BLOCK])]).unwrap();
    let mut forged = next.records[0].1.clone();
    put(&mut forged.bytes, 64, &0u64.to_le_bytes());
    seal(&mut forged.bytes[..BLOCK], 8);
    images.write(DriveId(0), &forged, usize::MAX);
    assert_eq!(images.records().len(), 1, "it does not name the one before it");
    // The journal of another drive is not accepted.
    let mut swapped = images.clone();
    swapped.0.swap(0, 1);
    assert_eq!(swapped.records(), []);
    // Nor are two drives with each other's journals.
    let (mut journal, mut images) = new();
    let both = [bytes(0, 0, vec![1; BLOCK]), bytes(1, 0, vec![2; BLOCK])];
    images.batch(&append(&mut journal, &both).unwrap());
    assert_eq!(images.records().len(), 2);
    images.0.swap(0, 1);
    assert_eq!(images.records(), []);
}

#[test]
fn records_that_cannot_be_are_refused() {
    let (mut journal, _) = new();
    let long = bytes(0, 0, vec![0; RECORD_BYTES_MAX]);
    let too_long = RECORD_BYTES_MAX + BLOCK;
    assert_eq!(
        append(&mut journal, &[long]).unwrap_err(),
        JournalError::TooLong { bytes: too_long, most_bytes: RECORD_BYTES_MAX }
    );
    let most = vec![bytes(0, 0, vec![]); PARTS_MAX];
    let (mut other, mut images) = new();
    let batch = append(&mut other, &most).unwrap();
    images.batch(&batch);
    assert_eq!(images.records(), records(&batch, &most, all()));
    let parts = vec![bytes(0, 0, vec![]); PARTS_MAX + 1];
    assert_eq!(
        append(&mut journal, &parts).unwrap_err().to_string(),
        "a journal record of 252 parts is too long: at most 251 fit"
    );
    for (offset_bytes, length) in [(1, BLOCK), (0, BLOCK + 1)] {
        let data = vec![0; length];
        let part = Part { drive: DriveId(0), offset_bytes, content: Content::Bytes(&data) };
        assert!(journal.append(&[part]).is_err());
    }
    // Each drive takes the largest record.
    let whole = |drive| bytes(drive, 0, vec![0; RECORD_BYTES_MAX - BLOCK]);
    assert!(append(&mut journal, &[whole(0), whole(1)]).is_ok());
}

/// A first half that is full to its last byte has the next record in the other half.
#[test]
fn a_half_that_is_full_to_its_end_says_all_and_no_more() {
    let (mut journal, mut images) = new();
    let whole = [bytes(0, 0, vec![3; RECORD_BYTES_MAX - BLOCK])];
    let next = [bytes(0, 5, vec![4; BLOCK])];
    let mut expected = Vec::new();
    for parts in [&whole, &next] {
        let batch = append(&mut journal, parts).unwrap();
        images.batch(&batch);
        journal.written(batch.sequence);
        expected.extend(records(&batch, parts, all()));
    }
    assert_eq!(images.records(), expected);
    assert_eq!(expected.iter().map(|record| record.parts[0].length_bytes()).max(), {
        Some((RECORD_BYTES_MAX - BLOCK) as u64)
    });
    let zeros = FoundPart { offset_bytes: 0, content: FoundContent::Zeros { bytes: 12_288 } };
    assert_eq!(zeros.length_bytes(), 12_288);
}

/// Small halves are placed by their size, wrap after a few batches, and hold no batch larger than
/// themselves.
#[test]
fn halves_of_any_size_wrap_and_say_what_they_hold() {
    let half = 4 * BLOCK;
    let sizes = Sizes { journal_half_bytes: half, ..Sizes::SERVED };
    let (mut journal, mut images) = (Journal::new(UUID, &setup(sizes)), Images::default());
    images.header(&journal.clear().unwrap());
    journal.header_written();
    let mut expected: VecDeque<Vec<Record>> = VecDeque::new();
    let mut retired = 0;
    // Two records of two blocks fill a half.
    for number in 0..40 {
        let parts = [bytes(0, number, vec![number as u8; BLOCK])];
        let batch = match append(&mut journal, &parts) {
            Ok(batch) => batch,
            Err(error) => {
                assert_eq!(error, JournalError::Full);
                let ready = journal.to_sync().unwrap();
                images.header(&journal.retire(ready).unwrap());
                assert_eq!(
                    append(&mut journal, &parts).unwrap_err(),
                    JournalError::Full,
                    "not yet"
                );
                let half = retired % 2;
                assert_eq!(journal.header_written(), Some(HeaderUse::Retire { half }));
                expected.drain(..2);
                retired += 1;
                append(&mut journal, &parts).unwrap()
            }
        };
        let (_, record) = &batch.records[0];
        let at = (record.offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
        assert!((HALVES_AT..HALVES_AT + 2 * half).contains(&at), "batch {number} is at {at}");
        images.batch(&batch);
        journal.written(batch.sequence);
        journal.finish(batch.sequence);
        expected.push_back(records(&batch, &parts, all()));
        let read = images.read_sized(all(), &sizes);
        let read = read.iter().map(|(drive, image)| (*drive, &image[..]));
        let Replay { records, damage, .. } = Journal::replay(UUID, &setup(sizes), read);
        assert_eq!((records, damage), (expected.iter().flatten().cloned().collect(), None));
    }
    assert!(retired > 10, "{retired}");
    let long = [bytes(0, 0, vec![0; half])];
    let said = append(&mut journal, &long).unwrap_err().to_string();
    assert_eq!(said, "a journal record of 20480 bytes is too long: at most 16384 fit");
}

/// Syncs that were under way while the journal was cleared do not cover later writes: they do not
/// retire a half that was filled again since.
#[test]
fn a_half_that_was_filled_again_since_the_syncs_began_is_not_retired() {
    let sizes = Sizes { journal_half_bytes: 2 * BLOCK, ..Sizes::SERVED };
    let mut journal = Journal::new(UUID, &setup(sizes));
    let fill = |journal: &mut Journal| {
        // One record fills a half, so the second is in the other.
        for block in 0..2 {
            let batch = append(journal, &[bytes(0, block, vec![1; BLOCK])]).unwrap();
            journal.written(batch.sequence);
            journal.finish(batch.sequence);
        }
        journal.to_sync().unwrap()
    };
    let before = fill(&mut journal);
    journal.clear().unwrap();
    journal.header_written();
    let after = fill(&mut journal);
    assert!(journal.retire(before).is_none(), "its writes are not synced");
    assert_eq!(journal.to_sync(), Some(after));
    assert!(journal.retire(after).is_some());
}

/// A sealed record claims to extend past the end of its half. The bytes there are not its own;
/// behind the second half is the data of clients, or nothing.
#[test]
fn a_record_that_claims_to_go_past_its_half_is_none() {
    use super::record::RecordHead;
    for half in 0..2 {
        for (claimed, is_record) in
            [(HALF_BYTES - BLOCK, true), (HALF_BYTES, false), (3 * HALF_BYTES, false)]
        {
            let (_, mut images) = new();
            let head = RecordHead {
                drive: DriveId(1),
                sequence: 5,
                previous: 0,
                participants: DriveSet::from_bits(0b10),
            };
            let mut block = head.encode(UUID, &[]);
            put(&mut block, 12, &crc32fast::hash(&vec![0; claimed]).to_le_bytes());
            put(&mut block, 40, &(claimed as u64).to_le_bytes());
            seal(&mut block, 8);
            let at = HALVES_AT + half * HALF_BYTES;
            let offset_bytes = JOURNAL_OFFSET_BYTES + at as u64;
            images.write(DriveId(1), &HeadWrite { offset_bytes, bytes: block }, usize::MAX);
            let image = &images.read(all())[1].1;
            assert!(image.len() <= JOURNAL_BYTES, "{} bytes were read", image.len());
            let ends = if is_record { at + HALF_BYTES } else { HALVES_AT };
            assert!(image.len() <= ends, "{claimed} bytes claimed in half {half}");
            assert_eq!(images.records().len(), usize::from(is_record));
        }
    }
}

#[test]
fn records_of_the_format_before_are_damage_if_they_count() {
    for (sequence, counts) in [(0, false), (1, true), (2, true)] {
        for half in 0..2 {
            let (_, mut images) = new();
            let mut block = vec![0; BLOCK];
            put(&mut block, 0, b"ioda\0rec");
            put(&mut block, 16, &UUID.0);
            put(&mut block, 32, &u64::to_le_bytes(sequence));
            seal(&mut block, 8);
            let at = HALVES_AT + half * HALF_BYTES;
            let offset_bytes = JOURNAL_OFFSET_BYTES + at as u64;
            images.write(DriveId(2), &HeadWrite { offset_bytes, bytes: block }, usize::MAX);
            let Replay { records, damage, .. } = images.replay(all());
            assert_eq!(records, []);
            let expected = counts.then_some(Damage::Shared { drive: DriveId(2) });
            assert_eq!(damage, expected, "record {sequence} in half {half}");
        }
    }
}

#[test]
fn records_follow_each_other_by_numbers_that_grow() {
    use super::record::{RecordHead, records_of};
    let half = |numbers: &[(u64, u64)]| -> Vec<u64> {
        let record = |&(previous, sequence): &(u64, u64)| {
            let participants = DriveSet::from_bits(0b10);
            RecordHead { drive: DriveId(1), sequence, previous, participants }.encode(UUID, &[])
        };
        let bytes: Vec<u8> = numbers.iter().flat_map(record).collect();
        records_of(&bytes, UUID, DriveId(1)).map(|(head, _)| head.sequence).collect()
    };
    assert_eq!(half(&[(0, 3), (3, 4), (4, 9)]), [3, 4, 9]);
    assert_eq!(half(&[(0, 3), (0, 4)]), [3], "it names another");
    assert_eq!(half(&[(0, 3), (3, 3), (3, 4)]), [3], "the same again");
    assert_eq!(half(&[(0, 3), (3, 2)]), [3]);
    assert!(half(&[(0, 0)]).is_empty());
    let most = (1 << 62) - 1;
    assert_eq!(half(&[(0, most), (most, most + 1)]), [most], "no array comes so far");
}

#[test]
fn numbers_that_no_array_comes_to_count_as_nothing() {
    const NUMBER_MAX: u64 = 1 << 62;
    for (number, base, is_possible) in [
        (1, 1, true),
        (NUMBER_MAX - 1, NUMBER_MAX - 1, true),
        (NUMBER_MAX, 1, false),
        (1, NUMBER_MAX, false),
        (u64::MAX, u64::MAX, false),
    ] {
        let block = Header { number, base }.encode(UUID);
        assert_eq!(Header::decode(&block, UUID).is_some(), is_possible, "{number} {base}");
        assert!(Header::decode(&block, Uuid([6; 16])).is_none(), "another array's");
    }
}

#[test]
fn arrays_with_parity_need_it_while_drives_are_missing_or_always() {
    let geometry = |level, journalled| Geometry {
        journalled,
        checksums: false,
        level,
        ..super::super::superblock::tests::example().geometry
    };
    let needed = |level, journalled| {
        [0, 1].map(|absent| Journal::is_needed(&geometry(level, journalled), absent))
    };
    assert_eq!(needed(Level::Raid6, Journalled::Degraded), [false, true]);
    assert_eq!(needed(Level::Raid5, Journalled::Always), [true, true]);
    assert_eq!(needed(Level::Raid1, Journalled::Always), [false, false]);
    assert_eq!(needed(Level::Raid0, Journalled::Always), [false, false]);
}
