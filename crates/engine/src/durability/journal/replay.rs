//! Replay: the journals of all drives found, combined.

use super::super::block::BLOCK_BYTES;
use super::super::drive_set::DriveSet;
use super::super::setup::{Setup, Sizes};
use super::super::uuid::Uuid;
use super::record::{
    FoundPart, Header, PARTS_MAX, RecordHead, data_bytes, found_bytes, records_of, shared_record,
};
use super::{HeadWrite, JOURNAL_OFFSET_BYTES, Journal, Part, half_at};
use crate::planted::Bug;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use units::DriveId;

/// Numbers that a start skips, so that a torn record never has the number of a later one.
const SKIPPED: u64 = 1 << 32;

/// Part of a batch that was found on one drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The number of the batch.
    pub sequence: u64,
    /// Drive of the record, and of its writes.
    pub drive: DriveId,
    /// Writes of the record.
    pub parts: Vec<FoundPart>,
}

/// Reason for which the journals cannot be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// A drive has no sound header.
    NoHeader {
        /// The drive.
        drive: DriveId,
    },
    /// A drive lacks a record that was stable on it: a later batch was begun.
    Missing {
        /// The drive.
        drive: DriveId,
        /// The number of the batch.
        sequence: u64,
    },
    /// A drive has records of an earlier version of the format.
    Shared {
        /// The drive.
        drive: DriveId,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader { drive } => write!(
                f,
                "drive {} has no sound journal, and the array did not end cleanly: writes that it alone has may be lost; take the drive away to start without it",
                drive.0
            ),
            Self::Missing { drive, sequence } => write!(
                f,
                "the journal of drive {} lacks batch {sequence}, which it had: what it holds cannot be relied on; take the drive away to start without it",
                drive.0
            ),
            Self::Shared { drive } => write!(
                f,
                "the journal of drive {} was written by an earlier version of this program, and the array did not end cleanly: start and end it with that version first",
                drive.0
            ),
        }
    }
}

/// Result of reading the journals of all drives found.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Records to be replayed, in order.
    pub records: Vec<Record>,
    /// Records of counting batches that drives found lack, in order of drive and half. Fill these
    /// gaps, or call [`Replay::drop_last`], before their batches are replayed.
    pub gaps: Vec<Gap>,
    /// Journal of the running array; [`Journal::clear`] comes first, after the records are replayed
    /// and synced.
    pub journal: Journal,
    /// True if a drive lacks a sound header.
    pub is_unsound: bool,
    /// Damage found. It does not matter after a clean end; else a write that was answered may be
    /// missing.
    pub damage: Option<Damage>,
}

/// A gap: batches whose records a drive lacks, though it was found and took part. They follow the
/// last sound record of its half: the next was damaged or not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The drive.
    pub drive: DriveId,
    /// Half of the missing records.
    pub half: usize,
    /// Bytes of the half before the first missing record.
    at_bytes: usize,
    /// Number of the record before the first missing one; 0 without one.
    previous: u64,
    /// Numbers of the batches, ascending, and the drives that take part in each.
    batches: Vec<(u64, DriveSet)>,
}

impl Gap {
    /// Numbers of the batches, ascending.
    pub fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        self.batches.iter().map(|(sequence, _)| *sequence)
    }

    /// Encodes records that fill the gap with `parts`, as many in each record as fit. Returns
    /// `None` if the half has no room for them.
    #[must_use]
    pub fn fill(&self, uuid: Uuid, sizes: &Sizes, parts: &[Part<'_>]) -> Option<HeadWrite> {
        let half_bytes = sizes.journal_half_bytes;
        let mut bytes = Vec::new();
        let mut previous = self.previous;
        let mut parts: Vec<&Part<'_>> = parts.iter().collect();
        for &(sequence, participants) in &self.batches {
            let head = RecordHead { drive: self.drive, sequence, previous, participants };
            let later = parts.split_off(parts.len().min(PARTS_MAX));
            bytes.extend(head.encode(uuid, &parts));
            (parts, previous) = (later, sequence);
        }
        if !parts.is_empty() {
            return None;
        }
        let at = half_at(sizes, self.half) + self.at_bytes;
        let fits = self.at_bytes + bytes.len() <= half_bytes;
        fits.then_some(HeadWrite { offset_bytes: JOURNAL_OFFSET_BYTES + at as u64, bytes })
    }
}

impl Replay {
    /// Leaves out the last batch if a drive lacks its record. Unless the record is damaged, the
    /// batch was not stable: nothing of it was written, and no write in it was answered as stable.
    pub fn drop_last(&mut self) {
        let Some(last) = self.records.last().map(|record| record.sequence) else { return };
        if !self.gaps.iter().any(|gap| gap.sequences().any(|sequence| sequence == last)) {
            return;
        }
        if !self.journal.planted().has(Bug::DroppedBatchReplayed) {
            self.records.retain(|record| record.sequence != last);
        }
        for gap in &mut self.gaps {
            gap.batches.retain(|(sequence, _)| *sequence != last);
        }
        self.gaps.retain(|gap| !gap.batches.is_empty());
    }

    /// The first missing record.
    #[must_use]
    pub fn missing(&self) -> Option<Damage> {
        let first = |gap: &Gap| Some((gap.sequences().next()?, gap.drive));
        let (sequence, drive) = self.gaps.iter().filter_map(first).min()?;
        Some(Damage::Missing { drive, sequence })
    }
}

/// The records found of a batch.
#[derive(Debug, Default)]
struct Batch {
    half: usize,
    participants: DriveSet,
    records: Vec<Record>,
}

impl Batch {
    /// Drives that took part and were found, but have no record of the batch.
    fn lacking(&self, found: DriveSet) -> DriveSet {
        let have: DriveSet = self.records.iter().map(|record| record.drive).collect();
        self.participants.intersection(found).without(have)
    }
}

/// End of the sound records of a drive in a half, and the number of the last of them.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    at_bytes: usize,
    last: u64,
}

impl Journal {
    /// Combines the journals of all drives that were found and take part, as [`Journal::read`]
    /// returned them, with halves of the same size.
    ///
    /// A batch counts if any drive has its record. A drive that took part, was found and lacks the
    /// record leaves a gap. The newest header of all drives counts: a drive with a damaged header
    /// counts the same batches as the others.
    #[must_use]
    pub fn replay<'a>(
        uuid: Uuid,
        setup: &Setup,
        journals: impl IntoIterator<Item = (DriveId, &'a [u8])>,
    ) -> Replay {
        let Setup { sizes, planted, .. } = setup;
        let half_bytes = sizes.journal_half_bytes;
        let mut found = DriveSet::EMPTY;
        let mut unsound = DriveSet::EMPTY;
        let (mut base, mut number) = (1, 0);
        let mut batches: BTreeMap<u64, Batch> = BTreeMap::new();
        let mut ends: BTreeMap<(DriveId, usize), End> = BTreeMap::new();
        let mut shared = Vec::new();
        for (drive, bytes) in journals {
            found.insert(drive);
            let blocks = bytes.chunks_exact(BLOCK_BYTES).take(2);
            let mut headers = blocks.filter_map(|block| Header::decode(block, uuid));
            let newest = match planted.has(Bug::FirstHeaderBelieved) {
                true => headers.next(),
                false => headers.max_by_key(|header| header.number),
            };
            match newest {
                Some(header) => {
                    number = number.max(header.number);
                    base = base.max(header.base);
                }
                None => unsound.insert(drive),
            }
            for half in 0..2 {
                let start = half_at(sizes, half);
                let end = (start + half_bytes).min(bytes.len());
                let bytes = bytes.get(start..end).unwrap_or(&[]);
                let first = bytes.get(..BLOCK_BYTES);
                shared.extend(
                    first.and_then(|block| shared_record(block, uuid)).map(|at| (drive, at)),
                );
                let end = ends.entry((drive, half)).or_default();
                for (head, parts) in records_of(bytes, uuid, drive) {
                    let at_bytes = end.at_bytes + found_bytes(&parts);
                    *end = End { at_bytes, last: head.sequence };
                    let batch = batches.entry(head.sequence).or_default();
                    batch.half = half;
                    batch.participants = head.participants;
                    batch.records.push(Record { sequence: head.sequence, drive, parts });
                }
            }
        }
        let next = base.max(batches.last_key_value().map_or(0, |(&last, _)| last + 1));
        let counting = batches.split_off(&base);
        let mut gaps: BTreeMap<(DriveId, usize), Gap> = BTreeMap::new();
        for (&sequence, batch) in &counting {
            for drive in batch.lacking(found).iter() {
                if planted.has(Bug::GapIgnored) {
                    continue;
                }
                let place = (drive, batch.half);
                let end = ends.get(&place).copied().unwrap_or_default();
                // A half whose records do not count is filled from its start.
                let End { at_bytes, last } = if end.last < base { End::default() } else { end };
                let gap = gaps.entry(place).or_insert_with(|| Gap {
                    drive,
                    half: batch.half,
                    at_bytes,
                    previous: last,
                    batches: Vec::new(),
                });
                gap.batches.push((sequence, batch.participants));
            }
        }
        let without = unsound.iter().next().filter(|_| found.without(unsound).is_empty());
        let mut damage = without.map(|drive| Damage::NoHeader { drive });
        let old = shared.into_iter().find(|(_, sequence)| *sequence >= base);
        damage = damage.or(old.map(|(drive, _)| Damage::Shared { drive }));
        let records = counting.into_values().flat_map(|batch| batch.records).collect();
        let journal = Self::resumed(uuid, setup, next.saturating_add(SKIPPED), number);
        let gaps = gaps.into_values().collect();
        Replay { records, gaps, journal, is_unsound: !unsound.is_empty(), damage }
    }

    /// Reads the headers of the journal of a drive, for a start at which no batch counts. Unread
    /// records behind them cannot have later numbers: a start skips more numbers than they use.
    ///
    /// # Errors
    ///
    /// Errors of `read`.
    pub fn read_headers<E>(
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut image = vec![0; 2 * BLOCK_BYTES];
        read(JOURNAL_OFFSET_BYTES, &mut image)?;
        Ok(image)
    }

    /// Reads the journal of a drive: its headers and its records. `read` fills whole blocks from an
    /// offset in the file. Bytes behind the last record are left out.
    ///
    /// # Errors
    ///
    /// Errors of `read`.
    pub fn read<E>(
        uuid: Uuid,
        drive: DriveId,
        sizes: &Sizes,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut image = Self::read_headers(&mut read)?;
        let mut block = vec![0; BLOCK_BYTES];
        for half in 0..2 {
            let start = half_at(sizes, half);
            let (mut at, end) = (start, start + sizes.journal_half_bytes);
            while at < end {
                read(JOURNAL_OFFSET_BYTES + at as u64, &mut block)?;
                let data_at = at + BLOCK_BYTES;
                let data_bytes = data_bytes(&block, uuid, drive)
                    .filter(|&data_bytes| data_bytes <= end - data_at);
                let kept = data_bytes.is_some() || shared_record(&block, uuid).is_some();
                if kept {
                    image.resize(data_at + data_bytes.unwrap_or(0), 0);
                    image[at..data_at].copy_from_slice(&block);
                }
                let Some(data_bytes) = data_bytes else { break };
                if data_bytes > 0 {
                    read(JOURNAL_OFFSET_BYTES + data_at as u64, &mut image[data_at..])?;
                }
                at = data_at + data_bytes;
            }
        }
        Ok(image)
    }
}
