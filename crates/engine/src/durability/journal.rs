//! What an array is about to write, written down first: one that is degraded, or any if people want that
//! ([`Journalled`]).
//!
//! With a drive missing, data of that drive exist only as what parity and the other data add up to.
//! A crash between the writes of one stripe would change that sum. So all rows that a stripe
//! operation writes are recorded here, on stable storage, before it writes any of them, and are
//! written again at the next start.
//!
//! # Where
//!
//! In the reserved head of drives, not in a file beside them: a record must outlive any drive that
//! the array itself would outlive. [`Journal::holders`] says on which: an array that can still lose
//! `n` drives needs `n + 1` copies and no more. When a holder fails, the others are enough, because the
//! array can then lose one drive less; so the set only shrinks. Mirrors need no journal: each
//! drive has the data themselves.
//!
//! # How
//!
//! Two header blocks are written in turn and say from which sequence number on records count. After
//! them the area has two halves. One is filled, record after record, while the operations of the
//! other end; a half is used again when all its operations are done and all drives synced. A record
//! is a block that says what it is, followed by its data:
//!
//! | bytes | header block | first block of a record |
//! |---|---|---|
//! | 0..8 | magic `ioda\0jrn` | magic `ioda\0rec` |
//! | 8..12 | CRC-32 of all other bytes | the same |
//! | 12..16 | 0 | CRC-32 of the data |
//! | 16..32 | the array | the array |
//! | 32..40 | number of this header | sequence number |
//! | 40..48 | records from here on count | bytes of data |
//! | 48..52 | 0 | number of parts |
//! | 64..4096 | 0 | 24 bytes per part: drive, 7 zeros, offset on the drive, length |
//!
//! Records in a half count as far as their numbers follow each other; what comes after is torn, or
//! older. That is enough because a record may be acted on only when all before it are stable too.
//!
//! # What the owner keeps to
//!
//! While records count, every change of the rows they name is journalled. Before the first that is
//! not (the array is optimal again), [`Journal::clear`] is on stable storage on all drives.

use super::HEAD_BYTES;
use super::block::{BLOCK_BYTES, array, get_u32, get_u64, is_sealed, put, seal};
use super::crc32::crc32;
use super::superblock::{Geometry, Journalled};
use super::uuid::Uuid;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use units::DriveId;

/// Where the journal begins in the file of each drive.
pub const JOURNAL_OFFSET_BYTES: u64 = 1 << 20;
/// Bytes of the journal.
pub const JOURNAL_BYTES: usize = (HEAD_BYTES - JOURNAL_OFFSET_BYTES) as usize;
/// Largest record, with its first block.
pub const RECORD_BYTES_MAX: usize = HALF_BYTES;
/// Most parts of a record.
pub const PARTS_MAX: usize = (BLOCK_BYTES - PARTS_AT) / PART_BYTES;

const HEADER_MAGIC: [u8; 8] = *b"ioda\0jrn";
const RECORD_MAGIC: [u8; 8] = *b"ioda\0rec";
const SUM_AT: usize = 8;
const PARTS_AT: usize = 64;
const PART_BYTES: usize = 24;
/// Where the halves begin, after the headers.
const HALVES_AT: usize = 64 << 10;
const HALF_BYTES: usize = (JOURNAL_BYTES - HALVES_AT) / 2 / BLOCK_BYTES * BLOCK_BYTES;
/// Numbers that a start skips, so that a record that was torn never has the number of a later one.
const SKIPPED: u64 = 1 << 32;

/// Why a record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JournalError {
    /// Both halves are in use.
    Full,
    /// It would never fit.
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Too many parts.
    TooMany {
        /// How many.
        parts: usize,
    },
    /// Not whole blocks.
    Unaligned {
        /// Where on its drive.
        offset_bytes: u64,
        /// Its length.
        bytes: usize,
    },
    /// Records that count are not done.
    Busy {
        /// How many.
        operations: usize,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => {
                f.write_str("the journal is full until the writes in it are done and synced")
            }
            Self::TooLong { bytes } => write!(
                f,
                "a journal record of {bytes} bytes is too long: at most {RECORD_BYTES_MAX} fit"
            ),
            Self::TooMany { parts } => {
                write!(f, "a journal record of {parts} parts is too long: at most {PARTS_MAX} fit")
            }
            Self::Unaligned { offset_bytes, bytes } => write!(
                f,
                "a journal record has parts of whole blocks of 4096 bytes, and one is {bytes} bytes at {offset_bytes}"
            ),
            Self::Busy { operations } => write!(f, "{operations} journalled writes are not done"),
        }
    }
}

impl core::error::Error for JournalError {}

/// Bytes to be written to the head of each holder.
#[derive(Clone, Debug)]
pub struct HeadWrite {
    /// Number of the record; of a header, the first that counts.
    pub sequence: u64,
    /// Where in the file of the drive.
    pub offset_bytes: u64,
    /// What: whole blocks.
    pub bytes: Vec<u8>,
}

/// A part of a record: bytes of a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The drive.
    pub drive: DriveId,
    /// Where on it.
    pub offset_bytes: u64,
    /// What is to be there.
    pub bytes: Vec<u8>,
}

/// A record that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its number.
    pub sequence: u64,
    /// What is to be written.
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Half {
    used_bytes: usize,
    /// Records whose operations are not done.
    open: usize,
}

/// The journal of a running array.
#[derive(Clone, Debug)]
pub struct Journal {
    uuid: Uuid,
    next: u64,
    header: u64,
    halves: [Half; 2],
    filling: usize,
    /// Records that are not stable, or that are behind one that is not: number, stable.
    unstable: VecDeque<(u64, bool)>,
    /// The half of each record whose operation is not done.
    open: BTreeMap<u64, usize>,
}

/// The result of reading the journals of all drives.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Records to be written again, in order.
    pub records: Vec<Record>,
    /// The journal to go on with; [`Journal::clear`] comes first, after the records are written
    /// and synced.
    pub journal: Journal,
    /// Drives without a sound header, as bits: their records count for nothing.
    pub unsound: u64,
}

impl Journal {
    /// The journal of a new array. [`Journal::clear`] must be written before it is used.
    #[must_use]
    pub fn new(uuid: Uuid) -> Self {
        Self {
            uuid,
            next: 1,
            header: 0,
            halves: [Half::default(); 2],
            filling: 0,
            unstable: VecDeque::new(),
            open: BTreeMap::new(),
        }
    }

    /// Reads the journals of all drives that take part: [`JOURNAL_BYTES`] from
    /// [`JOURNAL_OFFSET_BYTES`] of each (a shorter one is taken for cut off).
    #[must_use]
    pub fn replay<'a>(
        uuid: Uuid,
        journals: impl IntoIterator<Item = (DriveId, &'a [u8])>,
    ) -> Replay {
        let mut unsound = 0;
        let (mut base, mut header) = (1, 0);
        let mut found = BTreeMap::new();
        for (drive, bytes) in journals {
            let headers = bytes.chunks_exact(BLOCK_BYTES).take(2);
            let sound = headers.filter(|block| is_ours(block, HEADER_MAGIC, uuid));
            let Some(last) = sound.max_by_key(|block| get_u64(block, 32)) else {
                unsound |= 1 << drive.0;
                continue;
            };
            header = header.max(get_u64(last, 32));
            base = base.max(get_u64(last, 40));
            for half in 0..2 {
                let start = HALVES_AT + half * HALF_BYTES;
                let end = (start + HALF_BYTES).min(bytes.len());
                let records = records_of(bytes.get(start..end).unwrap_or(&[]), uuid);
                found.extend(records.map(|record| (record.sequence, record)));
            }
        }
        let last = found.last_key_value().map_or(0, |(&sequence, _)| sequence);
        let records = found.split_off(&base).into_values().collect();
        let mut journal = Self::new(uuid);
        journal.next = base.max(last + 1).saturating_add(SKIPPED);
        journal.header = header;
        Replay { records, journal, unsound }
    }

    /// Reads the journal of a drive: its headers, and the records that are there, by a function that
    /// fills whole blocks from a place in the file. What comes after the last record is left out.
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub fn read<E>(
        uuid: Uuid,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut image = vec![0; 2 * BLOCK_BYTES];
        read(JOURNAL_OFFSET_BYTES, &mut image)?;
        let mut block = vec![0; BLOCK_BYTES];
        for half in 0..2 {
            let mut at = HALVES_AT + half * HALF_BYTES;
            let end = at + HALF_BYTES;
            while at < end {
                read(JOURNAL_OFFSET_BYTES + at as u64, &mut block)?;
                let data_at = at + BLOCK_BYTES;
                let data_bytes = usize::try_from(get_u64(&block, 40)).unwrap_or(usize::MAX);
                let fits = data_bytes <= end - data_at && data_bytes.is_multiple_of(BLOCK_BYTES);
                if !fits || !is_ours(&block, RECORD_MAGIC, uuid) {
                    break;
                }
                image.resize(data_at + data_bytes, 0);
                image[at..data_at].copy_from_slice(&block);
                if data_bytes > 0 {
                    read(JOURNAL_OFFSET_BYTES + data_at as u64, &mut image[data_at..])?;
                }
                at = data_at + data_bytes;
            }
        }
        Ok(image)
    }

    /// The drives that records go to while those of `absent` are missing; empty if the array needs
    /// no journal.
    #[must_use]
    pub fn holders(geometry: &Geometry, absent: u64) -> Vec<DriveId> {
        let needed = absent != 0 || geometry.journalled == Journalled::Always;
        if !needed || !geometry.level.is_redundant() || geometry.level.is_mirrored() {
            return Vec::new();
        }
        let present = (0..geometry.width).filter(|drive| absent >> drive & 1 == 0).map(DriveId);
        // Where stripes are narrower than the array, how many drives it can still lose depends on
        // which; all present ones are enough.
        if geometry.stripe_width < geometry.width {
            return present.collect();
        }
        let parities = geometry.level.parities(u32::from(geometry.stripe_width));
        let copies = parities.saturating_sub(absent.count_ones()) + 1;
        present.take(copies as usize).collect()
    }

    /// Records what an operation is about to write: for each part its drive, where on it, and what;
    /// whole blocks of 4096 bytes. The operation may begin when [`Journal::stable`] has reached the
    /// record's number, and [`Journal::finish`] says that it is over.
    ///
    /// # Errors
    ///
    /// If it does not fit now ([`JournalError::Full`]) or ever.
    pub fn append(&mut self, parts: &[(DriveId, u64, &[u8])]) -> Result<HeadWrite, JournalError> {
        let data_bytes: usize = parts.iter().map(|(_, _, bytes)| bytes.len()).sum();
        let bytes = BLOCK_BYTES + data_bytes;
        if bytes > RECORD_BYTES_MAX {
            return Err(JournalError::TooLong { bytes });
        }
        if parts.len() > PARTS_MAX {
            return Err(JournalError::TooMany { parts: parts.len() });
        }
        for &(_, offset_bytes, bytes) in parts {
            let bytes = bytes.len();
            let whole = offset_bytes.is_multiple_of(BLOCK_BYTES as u64);
            if !whole || !bytes.is_multiple_of(BLOCK_BYTES) {
                return Err(JournalError::Unaligned { offset_bytes, bytes });
            }
        }
        if self.halves[self.filling].used_bytes + bytes > HALF_BYTES {
            if self.halves[1 - self.filling].used_bytes > 0 {
                return Err(JournalError::Full);
            }
            self.filling = 1 - self.filling;
        }
        let half = &mut self.halves[self.filling];
        let at = HALVES_AT + self.filling * HALF_BYTES + half.used_bytes;
        half.used_bytes += bytes;
        half.open += 1;
        let sequence = self.next;
        self.next += 1;
        self.unstable.push_back((sequence, false));
        self.open.insert(sequence, self.filling);
        Ok(HeadWrite {
            sequence,
            offset_bytes: JOURNAL_OFFSET_BYTES + at as u64,
            bytes: encode(self.uuid, sequence, parts),
        })
    }

    /// A record is on stable storage on all its holders.
    pub fn written(&mut self, sequence: u64) {
        if let Some(entry) = self.unstable.iter_mut().find(|(number, _)| *number == sequence) {
            entry.1 = true;
        }
        while let Some((_, true)) = self.unstable.front() {
            self.unstable.pop_front();
        }
    }

    /// Records up to this number are stable, and their operations may begin.
    #[must_use]
    pub fn stable(&self) -> u64 {
        self.unstable.front().map_or(self.next, |(sequence, _)| *sequence) - 1
    }

    /// Whether no record is being written.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.unstable.is_empty()
    }

    /// All writes of the record's operation are done, or it will never begin.
    pub fn finish(&mut self, sequence: u64) {
        if let Some(half) = self.open.remove(&sequence) {
            self.halves[half].open -= 1;
        }
    }

    /// A half whose operations are all done, and which is wanted again: when all drives were synced
    /// after this call, give it to [`Journal::retire`].
    #[must_use]
    pub fn to_sync(&self) -> Option<usize> {
        let other = 1 - self.filling;
        let half = self.halves[other];
        (half.used_bytes > 0 && half.open == 0).then_some(other)
    }

    /// All drives were synced since [`Journal::to_sync`]: the half can be filled again.
    pub fn retire(&mut self, half: usize) {
        if self.halves[half].open == 0 && half != self.filling {
            self.halves[half].used_bytes = 0;
        }
    }

    /// Whether any record may count at the next start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.halves.iter().all(|half| half.used_bytes == 0)
    }

    /// From now on no record counts: a header to be written to all drives that take part, on stable
    /// storage, after they were synced. The journal is empty at once, so nothing may be appended
    /// before that is done.
    ///
    /// # Errors
    ///
    /// If operations are not done.
    pub fn clear(&mut self) -> Result<HeadWrite, JournalError> {
        if !self.open.is_empty() {
            return Err(JournalError::Busy { operations: self.open.len() });
        }
        self.halves = [Half::default(); 2];
        self.filling = 0;
        self.unstable.clear();
        self.header += 1;
        Ok(self.header_write())
    }

    /// The header as it was written last, for a drive that joins; write it to both places.
    #[must_use]
    pub fn headers(&self) -> [HeadWrite; 2] {
        let write = self.header_write();
        let mut other = write.clone();
        other.offset_bytes = header_offset(self.header + 1);
        [write, other]
    }

    fn header_write(&self) -> HeadWrite {
        let mut bytes = vec![0; BLOCK_BYTES];
        let block = &mut bytes[..];
        put(block, 0, &HEADER_MAGIC);
        put(block, 16, &self.uuid.0);
        put(block, 32, &self.header.to_le_bytes());
        put(block, 40, &self.next.to_le_bytes());
        seal(block, SUM_AT);
        HeadWrite { sequence: self.next, offset_bytes: header_offset(self.header), bytes }
    }
}

fn header_offset(number: u64) -> u64 {
    JOURNAL_OFFSET_BYTES + number % 2 * BLOCK_BYTES as u64
}

fn is_ours(block: &[u8], magic: [u8; 8], uuid: Uuid) -> bool {
    block[..8] == magic && is_sealed(block, SUM_AT) && array::<16>(block, 16) == uuid.0
}

fn encode(uuid: Uuid, sequence: u64, parts: &[(DriveId, u64, &[u8])]) -> Vec<u8> {
    let data_bytes: usize = parts.iter().map(|(_, _, bytes)| bytes.len()).sum();
    let mut encoded = vec![0; BLOCK_BYTES + data_bytes];
    let (block, data) = encoded.split_at_mut(BLOCK_BYTES);
    let mut at = 0;
    for (index, (drive, offset_bytes, bytes)) in parts.iter().enumerate() {
        let entry = PARTS_AT + index * PART_BYTES;
        block[entry] = drive.0;
        put(block, entry + 8, &offset_bytes.to_le_bytes());
        put(block, entry + 16, &(bytes.len() as u64).to_le_bytes());
        put(data, at, bytes);
        at += bytes.len();
    }
    put(block, 0, &RECORD_MAGIC);
    put(block, 12, &crc32(data).to_le_bytes());
    put(block, 16, &uuid.0);
    put(block, 32, &sequence.to_le_bytes());
    put(block, 40, &(data_bytes as u64).to_le_bytes());
    put(block, 48, &(parts.len() as u32).to_le_bytes());
    seal(block, SUM_AT);
    encoded
}

/// The records of a half, as far as their numbers follow each other.
fn records_of(half: &[u8], uuid: Uuid) -> impl Iterator<Item = Record> {
    let mut rest = half;
    let mut expected = None;
    core::iter::from_fn(move || {
        let (record, after) = decode(rest, uuid)?;
        if expected.is_some_and(|expected| record.sequence != expected) {
            return None;
        }
        expected = Some(record.sequence.wrapping_add(1));
        rest = after;
        Some(record)
    })
}

/// The record that begins here, and what follows it.
fn decode(bytes: &[u8], uuid: Uuid) -> Option<(Record, &[u8])> {
    let (block, rest) = bytes.split_at_checked(BLOCK_BYTES)?;
    if !is_ours(block, RECORD_MAGIC, uuid) {
        return None;
    }
    let data_bytes = usize::try_from(get_u64(block, 40)).ok()?;
    let (data, after) = rest.split_at_checked(data_bytes)?;
    let count = get_u32(block, 48) as usize;
    if count > PARTS_MAX || crc32(data) != get_u32(block, 12) {
        return None;
    }
    let mut left = data;
    let mut parts = Vec::with_capacity(count);
    for index in 0..count {
        let entry = PARTS_AT + index * PART_BYTES;
        let length = usize::try_from(get_u64(block, entry + 16)).ok()?;
        let (bytes, later) = left.split_at_checked(length)?;
        left = later;
        let offset_bytes = get_u64(block, entry + 8);
        parts.push(Part { drive: DriveId(block[entry]), offset_bytes, bytes: bytes.to_vec() });
    }
    Some((Record { sequence: get_u64(block, 32), parts }, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use array::Level;
    use proptest::prelude::*;

    const UUID: Uuid = Uuid([5; 16]);
    const BLOCK: usize = BLOCK_BYTES;

    /// The journal's part of a drive, as far as it was ever written.
    #[derive(Clone, Default)]
    struct Image(Vec<u8>);

    impl Image {
        /// Writes as many of the bytes as land before the power goes.
        fn write(&mut self, write: &HeadWrite, landed: usize) {
            let at = (write.offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
            let bytes = &write.bytes[..landed.min(write.bytes.len())];
            assert!(at + write.bytes.len() <= JOURNAL_BYTES);
            if self.0.len() < at + bytes.len() {
                self.0.resize(at + bytes.len(), 0);
            }
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }

        fn whole(&mut self, write: &HeadWrite) {
            self.write(write, usize::MAX);
        }
    }

    fn new() -> (Journal, Image) {
        let (mut journal, mut image) = (Journal::new(UUID), Image::default());
        image.whole(&journal.clear().unwrap());
        (journal, image)
    }

    fn found(image: &Image) -> Vec<Record> {
        Journal::replay(UUID, [(DriveId(0), &image.0[..])]).records
    }

    fn append(journal: &mut Journal, parts: &[Part]) -> Result<HeadWrite, JournalError> {
        let parts: Vec<(DriveId, u64, &[u8])> =
            parts.iter().map(|part| (part.drive, part.offset_bytes, &part.bytes[..])).collect();
        journal.append(&parts)
    }

    fn part() -> impl Strategy<Value = Part> {
        (0u8..8, 0u64..1000, 0usize..3, any::<u8>()).prop_map(|(drive, block, blocks, byte)| Part {
            drive: DriveId(drive),
            offset_bytes: block * BLOCK as u64,
            bytes: vec![byte; blocks * BLOCK],
        })
    }

    proptest! {
        #![proptest_config(testing::cases(64))]

        #[test]
        fn a_journal_cut_anywhere_gives_the_records_before_and_nothing_else(
            old in proptest::collection::vec(proptest::collection::vec(part(), 0..4), 0..6),
            new_ones in proptest::collection::vec(proptest::collection::vec(part(), 0..4), 1..6),
            cut in any::<proptest::sample::Index>(),
        ) {
            let (mut journal, mut image) = new();
            for parts in &old {
                let write = append(&mut journal, parts).unwrap();
                image.whole(&write);
                journal.written(write.sequence);
                journal.finish(write.sequence);
            }
            prop_assert_eq!(found(&image).len(), old.len());
            image.whole(&journal.clear().unwrap());
            prop_assert_eq!(found(&image), vec![]);

            let writes: Vec<HeadWrite> =
                new_ones.iter().map(|parts| append(&mut journal, parts).unwrap()).collect();
            let total = writes.iter().map(|write| write.bytes.len()).sum::<usize>();
            let mut left = cut.index(total + 1);
            let mut expected = Vec::new();
            for (write, parts) in writes.iter().zip(&new_ones) {
                let landed = left.min(write.bytes.len());
                left -= landed;
                image.write(write, landed);
                // A cut within zeros that were zeros before takes nothing away.
                let at = (write.offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
                let mut padded = image.clone();
                padded.0.resize(padded.0.len().max(at + write.bytes.len()), 0);
                if padded.0[at..at + write.bytes.len()] == write.bytes {
                    expected.push(Record { sequence: write.sequence, parts: parts.clone() });
                }
            }
            image.0.resize(image.0.len() + total, 0);
            prop_assert_eq!(&found(&image), &expected);
            // Read from a drive, with zeros after what was written: no more than is there.
            let mut taken = 0;
            let read = Journal::read(UUID, |offset_bytes, into| {
                taken += into.len();
                let start = (offset_bytes - JOURNAL_OFFSET_BYTES) as usize;
                let written = start.min(image.0.len())..(start + into.len()).min(image.0.len());
                put(into, 0, &image.0[written]);
                Ok::<_, ()>(())
            });
            let read = read.unwrap();
            let replay = Journal::replay(UUID, [(DriveId(0), &read[..])]);
            prop_assert_eq!(&replay.records, &expected);
            prop_assert!(taken < 1 << 20, "{} bytes read", taken);
        }

        #[test]
        fn hostile_bytes_are_no_panic(
            parts in proptest::collection::vec(part(), 0..4),
            changes in proptest::collection::vec((0usize..200, any::<u8>()), 1..8),
        ) {
            let (mut journal, mut image) = new();
            image.whole(&append(&mut journal, &parts).unwrap());
            for (at, byte) in changes {
                image.0[HALVES_AT + at] = byte;
            }
            let block = &mut image.0[HALVES_AT..HALVES_AT + BLOCK];
            put(block, 0, &RECORD_MAGIC);
            put(block, 16, &UUID.0);
            seal(block, SUM_AT);
            for record in found(&image) {
                let bytes: usize = record.parts.iter().map(|part| part.bytes.len()).sum();
                prop_assert!(bytes <= JOURNAL_BYTES);
            }
        }
    }

    #[test]
    fn operations_begin_in_the_order_of_their_records() {
        let (mut journal, _) = new();
        let first = append(&mut journal, &[]).unwrap().sequence;
        let second = append(&mut journal, &[]).unwrap().sequence;
        assert_eq!(journal.stable(), first - 1);
        journal.written(second);
        assert_eq!(journal.stable(), first - 1, "a torn record before it would hide it");
        journal.written(first);
        assert_eq!(journal.stable(), second);
        assert_eq!(journal.clear().unwrap_err(), JournalError::Busy { operations: 2 });
    }

    #[test]
    fn halves_take_turns_and_lose_nothing_that_is_open() {
        let (mut journal, mut image) = new();
        let large = |byte: u8| Part {
            drive: DriveId(byte % 4),
            offset_bytes: u64::from(byte) << 12,
            bytes: vec![byte; 3 << 20],
        };
        let mut open: VecDeque<(u64, u8)> = VecDeque::new();
        let mut turns = 0;
        for byte in 1..=40u8 {
            let write = loop {
                match append(&mut journal, &[large(byte)]) {
                    Ok(write) => break write,
                    Err(error) => assert_eq!(error, JournalError::Full),
                }
                if let Some(half) = journal.to_sync() {
                    journal.retire(half);
                    turns += 1;
                } else {
                    let (sequence, _) = open.pop_front().expect("something fills it");
                    journal.finish(sequence);
                }
            };
            image.whole(&write);
            journal.written(write.sequence);
            open.push_back((write.sequence, byte));
            let records = found(&image);
            assert!(records.is_sorted_by_key(|record| record.sequence));
            for &(sequence, byte) in &open {
                let record = records.iter().find(|record| record.sequence == sequence);
                assert_eq!(record.expect("open ones are found").parts, [large(byte)]);
            }
        }
        assert!(turns > 4, "{turns}");
        while let Some((sequence, _)) = open.pop_front() {
            journal.finish(sequence);
        }
        image.whole(&journal.clear().unwrap());
        assert_eq!(found(&image), []);
        assert!(journal.is_empty());
    }

    #[test]
    fn copies_complete_each_other_and_numbers_are_never_used_again() {
        let (mut journal, mut one) = new();
        let mut other = one.clone();
        let parts = |byte| [Part { drive: DriveId(1), offset_bytes: 0, bytes: vec![byte; BLOCK] }];
        let first = append(&mut journal, &parts(1)).unwrap();
        let second = append(&mut journal, &parts(2)).unwrap();
        one.whole(&first);
        one.write(&second, BLOCK + 1);
        other.whole(&first);
        other.whole(&second);
        let images = [(DriveId(0), &one.0[..]), (DriveId(2), &other.0[..]), (DriveId(3), &[][..])];
        let mut replay = Journal::replay(UUID, images);
        assert_eq!((replay.records.len(), replay.unsound), (2, 0b1000));

        let header = replay.journal.clear().unwrap();
        assert!(header.sequence > second.sequence + 1000);
        // The header is torn: the one before it still holds, and the records are found again.
        let mut torn = other.clone();
        torn.write(&header, 30);
        assert_eq!(found(&torn).len(), 2);
        other.whole(&header);
        assert_eq!(found(&other), []);
        // A drive that joins gets the same.
        let mut joined = Image::default();
        replay.journal.headers().iter().for_each(|write| joined.whole(write));
        joined.whole(&append(&mut replay.journal, &parts(3)).unwrap());
        assert_eq!(found(&joined).len(), 1);
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        let (mut journal, _) = new();
        let long = vec![0; RECORD_BYTES_MAX];
        let bytes = RECORD_BYTES_MAX + BLOCK;
        assert_eq!(
            journal.append(&[(DriveId(0), 0, &long)]).unwrap_err(),
            JournalError::TooLong { bytes }
        );
        assert!(journal.append(&[(DriveId(0), 0, &long[BLOCK..])]).is_ok());
        let parts = vec![(DriveId(0), 0, &long[..0]); PARTS_MAX + 1];
        assert_eq!(
            journal.append(&parts).unwrap_err().to_string(),
            "a journal record of 169 parts is too long: at most 168 fit"
        );
        assert!(journal.append(&[(DriveId(0), 1, &long[..BLOCK])]).is_err());
        assert!(journal.append(&[(DriveId(0), 0, &long[..BLOCK + 1])]).is_err());
    }

    #[test]
    fn there_are_as_many_copies_as_drives_that_can_still_be_lost() {
        let geometry = |level, width, stripe_width| Geometry {
            journalled: Journalled::Degraded,
            level,
            width,
            stripe_width,
            ..super::super::superblock::tests::example().geometry
        };
        let holders = |geometry: &Geometry, absent| {
            Journal::holders(geometry, absent).iter().map(|drive| drive.0).collect::<Vec<_>>()
        };
        let raid6 = geometry(Level::Raid6, 5, 5);
        assert_eq!(holders(&raid6, 0), [0; 0]);
        assert_eq!(holders(&raid6, 0b00100), [0, 1]);
        assert_eq!(holders(&raid6, 0b00101), [1], "of those before");
        assert_eq!(holders(&raid6, 0b10100), [0], "of those before");
        assert_eq!(holders(&geometry(Level::Raid5, 4, 4), 0b1), [1]);
        assert_eq!(holders(&geometry(Level::Raid5, 6, 3), 0b1), [1, 2, 3, 4, 5]);
        assert_eq!(holders(&geometry(Level::Raid1, 2, 2), 0b1), [0; 0]);
        assert_eq!(holders(&geometry(Level::Raid0, 2, 2), 0b1), [0; 0]);
    }
}
