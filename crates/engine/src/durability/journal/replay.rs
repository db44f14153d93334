//! What the journals of the drives that were found say together.

use super::super::block::BLOCK_BYTES;
use super::super::drive_set::DriveSet;
use super::super::setup::Sizes;
use super::super::uuid::Uuid;
use super::record::{FoundPart, Header, data_bytes, records_of, shared_record};
use super::{JOURNAL_OFFSET_BYTES, Journal, half_at};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use units::DriveId;

/// Numbers that a start skips, so that a record that was torn never has the number of a later one.
const SKIPPED: u64 = 1 << 32;

/// What was found on one drive of one batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The number of the batch.
    pub sequence: u64,
    /// The drive that has it, and that it is about.
    pub drive: DriveId,
    /// What is to be written there.
    pub parts: Vec<FoundPart>,
}

/// Why the journals cannot be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// A drive has no sound header.
    NoHeader {
        /// The drive.
        drive: DriveId,
    },
    /// A drive lacks a record that was stable on it, because a later one was begun.
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

/// The result of reading the journals of all drives that were found.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Records to be written again, in order.
    pub records: Vec<Record>,
    /// The journal to go on with; [`Journal::clear`] comes first, after the records are written
    /// and synced.
    pub journal: Journal,
    /// What speaks against it: after a clean end, nothing; else some write that was promised may be
    /// missing.
    pub damage: Option<Damage>,
}

/// A batch by what was found of it.
#[derive(Debug, Default)]
struct Batch {
    participants: DriveSet,
    records: Vec<Record>,
}

impl Batch {
    /// Drives that took part and were found, and have no record of it.
    fn lacking(&self, found: DriveSet) -> DriveSet {
        let have: DriveSet = self.records.iter().map(|record| record.drive).collect();
        self.participants.intersection(found).without(have)
    }
}

impl Journal {
    /// Puts together the journals of all drives that were found and take part, as
    /// [`Journal::read`] gave them.
    ///
    /// A batch counts if each drive that took part in it has its record, or was not found. Only the
    /// last one may be incomplete: the next is begun when it is stable on all drives.
    #[must_use]
    pub fn replay<'a>(
        uuid: Uuid,
        sizes: &Sizes,
        journals: impl IntoIterator<Item = (DriveId, &'a [u8])>,
    ) -> Replay {
        let mut damage = None;
        let mut found = DriveSet::EMPTY;
        let (mut base, mut number) = (1, 0);
        let mut batches: BTreeMap<u64, Batch> = BTreeMap::new();
        let mut shared = Vec::new();
        for (drive, bytes) in journals {
            found.insert(drive);
            let blocks = bytes.chunks_exact(BLOCK_BYTES).take(2);
            let headers = blocks.filter_map(|block| Header::decode(block, uuid));
            let Some(header) = headers.max_by_key(|header| header.number) else {
                damage = damage.or(Some(Damage::NoHeader { drive }));
                continue;
            };
            number = number.max(header.number);
            base = base.max(header.base);
            for half in 0..2 {
                let start = half_at(sizes, half);
                let end = (start + sizes.journal_half_bytes).min(bytes.len());
                let bytes = bytes.get(start..end).unwrap_or(&[]);
                let first = bytes.get(..BLOCK_BYTES);
                shared.extend(
                    first.and_then(|block| shared_record(block, uuid)).map(|at| (drive, at)),
                );
                for (head, parts) in records_of(bytes, uuid, drive) {
                    let batch = batches.entry(head.sequence).or_default();
                    batch.participants = head.participants;
                    batch.records.push(Record { sequence: head.sequence, drive, parts });
                }
            }
        }
        let next = base.max(batches.last_key_value().map_or(0, |(&last, _)| last + 1));
        let mut counting = batches.split_off(&base);
        if let Some(last) = counting.last_entry()
            && !last.get().lacking(found).is_empty()
        {
            last.remove();
        }
        for (&sequence, batch) in &counting {
            let first = batch.lacking(found).iter().next();
            damage = damage.or(first.map(|drive| Damage::Missing { drive, sequence }));
        }
        let old = shared.into_iter().find(|(_, sequence)| *sequence >= base);
        damage = damage.or(old.map(|(drive, _)| Damage::Shared { drive }));
        let records = counting.into_values().flat_map(|batch| batch.records).collect();
        let journal = Self::resumed(uuid, sizes, next.saturating_add(SKIPPED), number);
        Replay { records, journal, damage }
    }

    /// Reads the headers of the journal of a drive, for a start at which no batch counts. What comes after
    /// them is numbered by less than a start skips.
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub fn read_headers<E>(
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut image = vec![0; 2 * BLOCK_BYTES];
        read(JOURNAL_OFFSET_BYTES, &mut image)?;
        Ok(image)
    }

    /// Reads the journal of a drive: its headers, and the records that are there, by a function that
    /// fills whole blocks from a place in the file. What comes after the last record is left out.
    ///
    /// # Errors
    ///
    /// Those of the function.
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
