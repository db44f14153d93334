//! The journal: writes are recorded before they are carried out, always or while drives are missing
//! ([`Journalled`]).
//!
//! A crash between the writes of one stripe changes the sum of its members. While all of them are
//! there parity is computed again; but what a missing drive holds is known from that sum only. So
//! the blocks that a stripe operation writes are recorded, on stable storage, before it writes any
//! of them, and are written again at the next start.
//!
//! # Where
//!
//! Each drive has a log of what is written to itself, in its reserved head. What many operations
//! write at a time is one *batch*: a record in the log of each drive that takes part, written at
//! once. It is stable when all records are, and only then the next is begun. So the journal writes
//! no byte twice, and survives what the array survives: a batch is as redundant as the stripes in
//! it.
//!
//! A batch counts at a start if a drive has its record. Of a drive that is not there nothing is
//! needed: what it was to hold follows from what the others hold. A drive that is there and lacks
//! its record leaves a *gap*: its record is damaged, or the power went before the batch was stable.
//! Nobody can tell which, so the start reconstructs what the drive was to hold and writes the
//! record (`durability::mend`). If too much is missing for that, the last batch is left out: unless
//! more is damaged than the array can miss, it was not stable, nothing of it was written, and no
//! client was told that it was.
//!
//! Mirrors need no journal: each drive has the data themselves. Drives that are being rebuilt have
//! none: a start does not rely on them.
//!
//! # How
//!
//! Two header blocks are written in turn and say from which batch on records count. After them the
//! area has two halves. One is filled, batch after batch, while the operations of the other
//! end. When all have, all drives are synced, then a header says that its batches count no
//! longer, and then it is filled again. A record is a block that says what it is, followed by its
//! data:
//!
//! | bytes | header block | first block of a record |
//! |---|---|---|
//! | 0..8 | magic `ioda\0jrn` | magic `ioda\0log` |
//! | 8..12 | CRC-32 of all other bytes | the same |
//! | 12..16 | 0 | CRC-32 of the data |
//! | 16..32 | the array | the array |
//! | 32..40 | number of this header | number of the batch |
//! | 40..48 | batches from here on count | bytes of data |
//! | 48..52 | 0 | number of parts |
//! | 52 | 0 | the drive |
//! | 56..64 | 0 | the drives that take part, a bit for each |
//! | 64..72 | 0 | number of the record before it in this half, or 0 |
//! | 80..4096 | 0 | 16 bytes per part: offset on the drive; length, + 1 if it is zeros, which have no data |
//!
//! Records in a half count as far as each names the one before it; what comes after is torn, or
//! older.
//!
//! # What the owner keeps to
//!
//! While records count, every change of drives that serve is journalled. Before the first that is
//! not (the array is optimal again), [`Journal::clear`] is on stable storage on all drives.

mod record;
mod replay;
#[cfg(test)]
mod tests;

pub use record::{FoundContent, FoundPart, PARTS_MAX};
pub use replay::{Damage, Gap, Record, Replay};

use super::HEAD_BYTES;
use super::block::BLOCK_BYTES;
use super::drive_set::DriveSet;
use super::setup::{Setup, Sizes};
use super::superblock::{Geometry, Journalled};
use super::transitions::Transitions;
use super::uuid::Uuid;
use crate::planted::{Bug, Planted};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use record::{Header, RecordHead, record_bytes};
use units::DriveId;

/// Where the journal begins in the file of each drive.
pub const JOURNAL_OFFSET_BYTES: u64 = 1 << 20;
/// Bytes of the journal.
pub const JOURNAL_BYTES: usize = (HEAD_BYTES - JOURNAL_OFFSET_BYTES) as usize;
/// Largest record of a drive in an array that serves, with its first block.
pub const RECORD_BYTES_MAX: usize = HALF_BYTES;

/// Where the halves begin, after the headers.
const HALVES_AT: usize = 64 << 10;
/// Bytes of a half that fills its share of the head.
pub(super) const HALF_BYTES: usize = (JOURNAL_BYTES - HALVES_AT) / 2 / BLOCK_BYTES * BLOCK_BYTES;

/// Why a batch was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// Both halves are in use.
    Full,
    /// It would never fit.
    TooLong {
        /// Its length on one drive.
        bytes: usize,
        /// Largest length that fits.
        most_bytes: usize,
    },
    /// Too many parts.
    TooMany {
        /// How many on one drive.
        parts: usize,
    },
    /// Not whole blocks.
    Unaligned {
        /// Where on its drive.
        offset_bytes: u64,
        /// Its length.
        bytes: u64,
    },
    /// Batches that count are not done.
    Busy {
        /// How many.
        batches: usize,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => {
                f.write_str("the journal is full until the writes in it are done and synced")
            }
            Self::TooLong { bytes, most_bytes } => {
                write!(f, "a journal record of {bytes} bytes is too long: at most {most_bytes} fit")
            }
            Self::TooMany { parts } => {
                write!(f, "a journal record of {parts} parts is too long: at most {PARTS_MAX} fit")
            }
            Self::Unaligned { offset_bytes, bytes } => write!(
                f,
                "a journal record has parts of whole blocks of 4096 bytes, and one is {bytes} bytes at {offset_bytes}"
            ),
            Self::Busy { batches } => write!(f, "{batches} journalled batches are not done"),
        }
    }
}

impl core::error::Error for JournalError {}

/// What is to be written to a drive.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The drive.
    pub drive: DriveId,
    /// Where on it; a multiple of 4096.
    pub offset_bytes: u64,
    /// What.
    pub content: Content<'a>,
}

/// The new content of a part: whole blocks of 4096 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes of zeros.
    Zeros {
        /// How many.
        bytes: u64,
    },
}

impl Content<'_> {
    const fn length_bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros { bytes } => *bytes,
        }
    }
}

/// Bytes to be written to the head of a drive.
#[derive(Clone, Debug)]
pub struct HeadWrite {
    /// Where in the file of the drive.
    pub offset_bytes: u64,
    /// What: whole blocks.
    pub bytes: Vec<u8>,
}

/// A batch that was appended: what is to be written to the head of each drive that takes part.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its number.
    pub sequence: u64,
    /// The records.
    pub records: Vec<(DriveId, HeadWrite)>,
}

/// What a header that is being written does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderUse {
    /// The batches of this half count no longer.
    Retire {
        /// Its number.
        half: usize,
    },
    /// No batch counts.
    Clear,
}

/// The log of a drive in one half.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    used_bytes: usize,
    /// The last record; 0 if there is none.
    last: u64,
}

#[derive(Clone, Debug, Default)]
struct Half {
    /// By drive.
    logs: Vec<Log>,
    /// Its first batch; 0 if there is none.
    first: u64,
    /// Batches whose operations are not done.
    open: usize,
    /// Batches that it held before count no longer.
    was_retired: bool,
}

impl Half {
    const fn is_used(&self) -> bool {
        self.first != 0
    }

    fn log(&self, drive: DriveId) -> Log {
        self.logs.get(drive.index()).copied().unwrap_or_default()
    }

    fn log_mut(&mut self, drive: DriveId) -> &mut Log {
        if self.logs.len() <= drive.index() {
            self.logs.resize(drive.index() + 1, Log::default());
        }
        &mut self.logs[drive.index()]
    }
}

/// The journal of a running array.
#[derive(Clone, Debug)]
pub struct Journal {
    uuid: Uuid,
    sizes: Sizes,
    next: u64,
    /// The header that was written last, or is being written.
    header: Header,
    header_use: Option<HeaderUse>,
    halves: [Half; 2],
    filling: usize,
    /// The batch that is being written.
    in_flight: Option<u64>,
    /// The half of each batch whose operations are not done.
    open: BTreeMap<u64, usize>,
    planted: Planted,
    transitions: Transitions,
}

impl Journal {
    /// The journal of a new array. [`Journal::clear`] must be written before it is used.
    #[must_use]
    pub fn new(uuid: Uuid, setup: &Setup) -> Self {
        Self::resumed(uuid, setup, 1, 0)
    }

    fn resumed(uuid: Uuid, setup: &Setup, next: u64, number: u64) -> Self {
        Self {
            uuid,
            sizes: setup.sizes,
            next,
            header: Header { number, base: next },
            header_use: None,
            halves: [Half::default(), Half::default()],
            filling: 0,
            in_flight: None,
            open: BTreeMap::new(),
            planted: setup.planted,
            transitions: Transitions::default(),
        }
    }

    /// The bug that is planted.
    pub(super) const fn planted(&self) -> Planted {
        self.planted
    }

    /// Whether an array writes a journal while the drives of `absent` are missing.
    #[must_use]
    pub fn is_needed(geometry: &Geometry, absent: u64) -> bool {
        let needed = absent != 0 || geometry.journalled == Journalled::Always;
        needed && geometry.level.is_redundant() && !geometry.level.is_mirrored()
    }

    /// Records what operations are about to write. They may begin when [`Journal::stable`] has
    /// reached the number of the batch, and [`Journal::finish`] says that all are over. No other
    /// batch is being written.
    ///
    /// # Errors
    ///
    /// If it does not fit now ([`JournalError::Full`]) or ever.
    pub fn append(&mut self, parts: &[Part<'_>]) -> Result<Batch, JournalError> {
        let (next, in_flight) = (self.next, self.in_flight);
        assert!(in_flight.is_none(), "batch {next} is begun before {in_flight:?} is stable");
        assert!(
            self.header_use != Some(HeaderUse::Clear),
            "batch {next} is begun before the journal is cleared"
        );
        let block = BLOCK_BYTES as u64;
        for Part { offset_bytes, content, .. } in parts {
            let (offset_bytes, bytes) = (*offset_bytes, content.length_bytes());
            if !offset_bytes.is_multiple_of(block) || !bytes.is_multiple_of(block) {
                return Err(JournalError::Unaligned { offset_bytes, bytes });
            }
        }
        let mut by_drive: BTreeMap<u8, Vec<&Part<'_>>> = BTreeMap::new();
        for part in parts {
            by_drive.entry(part.drive.0).or_default().push(part);
        }
        for parts in by_drive.values() {
            let bytes = record_bytes(parts);
            let most_bytes = self.sizes.record_bytes_max();
            if bytes > most_bytes {
                return Err(JournalError::TooLong { bytes, most_bytes });
            }
            if parts.len() > PARTS_MAX {
                return Err(JournalError::TooMany { parts: parts.len() });
            }
        }
        let half = &self.halves[self.filling];
        let fits = by_drive.iter().all(|(&drive, parts)| {
            half.log(DriveId(drive)).used_bytes + record_bytes(parts)
                <= self.sizes.journal_half_bytes
        });
        if !fits {
            if self.halves[1 - self.filling].is_used() {
                return Err(JournalError::Full);
            }
            self.filling = 1 - self.filling;
        }
        let sequence = self.next;
        self.next += 1;
        self.in_flight = Some(sequence);
        self.open.insert(sequence, self.filling);
        let participants: DriveSet = by_drive.keys().map(|&drive| DriveId(drive)).collect();
        let half = &mut self.halves[self.filling];
        half.open += 1;
        if !half.is_used() {
            half.first = sequence;
            self.transitions.halves_refilled += u64::from(half.was_retired);
        }
        let half_at = half_at(&self.sizes, self.filling);
        let records = by_drive.into_iter().map(|(drive, parts)| {
            let drive = DriveId(drive);
            let log = half.log_mut(drive);
            let participants = match self.planted.has(Bug::RecordNamesItselfOnly) {
                true => [drive].into_iter().collect(),
                false => participants,
            };
            let head = RecordHead { drive, sequence, previous: log.last, participants };
            let at = half_at + log.used_bytes;
            let bytes = head.encode(self.uuid, &parts);
            *log = Log { used_bytes: log.used_bytes + bytes.len(), last: sequence };
            (drive, HeadWrite { offset_bytes: JOURNAL_OFFSET_BYTES + at as u64, bytes })
        });
        Ok(Batch { sequence, records: records.collect() })
    }

    /// Bytes of data after which no further write joins a batch.
    pub(super) const fn batch_bytes(&self) -> u64 {
        self.sizes.batch_bytes
    }

    /// The batch that is being written is on stable storage on all drives that take part.
    pub fn written(&mut self, sequence: u64) {
        let ended = self.in_flight.take_if(|in_flight| *in_flight == sequence);
        assert!(
            ended.is_some() || self.planted.has(Bug::BatchNotAwaited),
            "batch {sequence} is stable, and was not being written"
        );
    }

    /// Batches up to this number are stable, and their operations may begin.
    #[must_use]
    pub fn stable(&self) -> u64 {
        self.in_flight.unwrap_or(self.next) - 1
    }

    /// Whether no batch is being written.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.in_flight.is_none()
    }

    /// All writes of the batch are done, or will never begin.
    pub fn finish(&mut self, sequence: u64) {
        assert!(sequence < self.next, "batch {sequence} is over, and was never begun");
        if let Some(half) = self.open.remove(&sequence) {
            let open = &mut self.halves[half].open;
            assert!(*open > 0, "batch {sequence} is over, and none of its half is open");
            *open -= 1;
        }
    }

    /// A half whose operations are all done, by the number of its first batch: when all drives were
    /// synced after this call, give it to [`Journal::retire`].
    #[must_use]
    pub fn to_sync(&self) -> Option<u64> {
        let half = &self.halves[1 - self.filling];
        (half.is_used() && half.open == 0 && self.header_use.is_none()).then_some(half.first)
    }

    /// All drives were synced since [`Journal::to_sync`] gave `first`: a header that says that the
    /// batches of this half count no longer, to be written to all drives that take part. Until it
    /// is stable ([`Journal::header_written`]) the half is not filled again. None if another header
    /// is being written, or the half was filled again after [`Journal::clear`]: those syncs do not
    /// cover what it holds now.
    pub fn retire(&mut self, first: u64) -> Option<HeadWrite> {
        self.to_sync().filter(|&ready| ready == first)?;
        let (mut base, half) = (self.halves[self.filling].first, 1 - self.filling);
        if self.planted.has(Bug::BothHalvesRetired) {
            base = self.next;
        }
        Some(self.write_header(base, HeaderUse::Retire { half }))
    }

    /// Halves that were retired, and filled again after that.
    pub(super) const fn transitions(&self) -> Transitions {
        self.transitions
    }

    /// Whether any record may count at the next start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.halves.iter().any(Half::is_used)
    }

    /// Whether a header is being written.
    #[must_use]
    pub const fn is_header_in_flight(&self) -> bool {
        self.header_use.is_some()
    }

    /// From now on no record counts: a header to be written to all drives that take part, on stable
    /// storage, after they were synced. The journal is empty at once, so nothing may be appended
    /// before that is done. No other header is being written.
    ///
    /// # Errors
    ///
    /// If batches are not done.
    pub fn clear(&mut self) -> Result<HeadWrite, JournalError> {
        if !self.open.is_empty() {
            return Err(JournalError::Busy { batches: self.open.len() });
        }
        let in_flight = self.in_flight;
        assert!(in_flight.is_none(), "the journal is cleared before {in_flight:?} is stable");
        self.halves = [Half::default(), Half::default()];
        self.filling = 0;
        Ok(self.write_header(self.next, HeaderUse::Clear))
    }

    /// The header is on stable storage on all drives that take part. Returns what it was for.
    pub fn header_written(&mut self) -> Option<HeaderUse> {
        let done = self.header_use.take();
        assert!(
            done.is_some() || self.planted.has(Bug::HalfRefilledEarly),
            "a header of the journal is stable, and none was being written"
        );
        if let Some(HeaderUse::Retire { half }) = done {
            let open = self.halves[half].open;
            assert!(open == 0, "half {half} is retired, and {open} of its batches are not over");
            self.halves[half] = Half { was_retired: true, ..Half::default() };
            self.transitions.halves_retired += 1;
        }
        done
    }

    /// The header as it was written last, for a drive that joins; write it to both places.
    #[must_use]
    pub fn headers(&self) -> [HeadWrite; 2] {
        let bytes = self.header.encode(self.uuid);
        [0, 1].map(|number| HeadWrite { offset_bytes: header_offset(number), bytes: bytes.clone() })
    }

    fn write_header(&mut self, base: u64, header_use: HeaderUse) -> HeadWrite {
        let before = self.header_use;
        assert!(before.is_none(), "a header for {header_use:?} beside one for {before:?}");
        self.header = Header { number: self.header.number + 1, base };
        self.header_use = Some(header_use);
        let bytes = self.header.encode(self.uuid);
        HeadWrite { offset_bytes: header_offset(self.header.number), bytes }
    }
}

/// Where a half begins in the journal.
const fn half_at(sizes: &Sizes, half: usize) -> usize {
    HALVES_AT + half * sizes.journal_half_bytes
}

const fn header_offset(number: u64) -> u64 {
    JOURNAL_OFFSET_BYTES + number % 2 * BLOCK_BYTES as u64
}
