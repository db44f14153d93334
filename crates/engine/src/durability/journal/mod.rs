//! The journal: writes are recorded before they are carried out, always or while drives are missing
//! ([`Journalled`]).
//!
//! A crash between the writes of one stripe changes the sum of its members. While all members are
//! there, parity is recomputed; but the data of a missing drive is known from that sum only. So the
//! blocks that a stripe operation writes are recorded, on stable storage, before it writes any of
//! them, and are replayed at the next start.
//!
//! # Where
//!
//! Each drive has a log of its own writes, in its reserved head. The journal collects the writes of
//! many operations into a *batch*: a record in the log of each drive that takes part, written at
//! once. A batch is stable when all its records are, and only then the next is begun. So the
//! journal writes no byte twice, and survives what the array survives: a batch is as redundant as
//! the stripes in it.
//!
//! A batch counts at a start if any drive has its record. A missing drive's record is not needed:
//! the drive's part is reconstructed from the others. A drive that is found and lacks its record
//! leaves a *gap*: the record is damaged, or the power failed before the batch was stable. These
//! cases cannot be told apart, so the start reconstructs the drive's part and writes the record
//! (`durability::mend`). If too much is missing for that, the last batch is left out. Unless more
//! is damaged than the array can miss, that batch was not stable: nothing of it was written or
//! answered as stable.
//!
//! Mirrors need no journal: each drive has the data itself. Drives that are being rebuilt have
//! none: a start does not rely on them.
//!
//! # How
//!
//! Two header blocks are written in turn and name the first batch that counts. Behind them the area
//! has two halves. One half is filled, batch after batch, while the operations of the other end.
//! When all have ended, all drives are synced. Then a header takes the batches of that half out of
//! account, and the half is filled again. A record is a block that describes it, followed by its
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
//! Records in a half count as far as each names the one before it; later ones are torn, or older.
//!
//! # Duties of the owner
//!
//! While records count, every change of drives that serve is journalled. Before the first change
//! that is not (the array is optimal again), [`Journal::clear`] must be on stable storage on all
//! drives.

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

/// Start of the journal in the file of each drive.
pub const JOURNAL_OFFSET_BYTES: u64 = 1 << 20;
/// Bytes of the journal.
pub const JOURNAL_BYTES: usize = (HEAD_BYTES - JOURNAL_OFFSET_BYTES) as usize;
/// Largest record of a drive in an array that serves, with its first block.
pub const RECORD_BYTES_MAX: usize = HALF_BYTES;

/// Start of the halves, behind the headers.
const HALVES_AT: usize = 64 << 10;
/// Bytes of a half that fills its share of the head.
pub(super) const HALF_BYTES: usize = (JOURNAL_BYTES - HALVES_AT) / 2 / BLOCK_BYTES * BLOCK_BYTES;

/// Reason for which a batch was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// Both halves are in use.
    Full,
    /// A record would never fit.
    TooLong {
        /// Length of the record on one drive.
        bytes: usize,
        /// Largest length that fits.
        most_bytes: usize,
    },
    /// A record has too many parts.
    TooMany {
        /// Number of parts on one drive.
        parts: usize,
    },
    /// A part is not whole blocks.
    Unaligned {
        /// First byte on its drive.
        offset_bytes: u64,
        /// Its length.
        bytes: u64,
    },
    /// Batches that count have not ended.
    Busy {
        /// Number of these batches.
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

/// A write to a drive, as a part of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The drive.
    pub drive: DriveId,
    /// First byte on it; a multiple of 4096.
    pub offset_bytes: u64,
    /// New content.
    pub content: Content<'a>,
}

/// The new content of a part: whole blocks of 4096 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Zeros.
    Zeros {
        /// Number of bytes.
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

/// A write into the head of a drive.
#[derive(Clone, Debug)]
pub struct HeadWrite {
    /// First byte, in the file of the drive.
    pub offset_bytes: u64,
    /// Whole blocks.
    pub bytes: Vec<u8>,
}

/// A batch that was appended: the writes into the head of each drive that takes part.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its number.
    pub sequence: u64,
    /// The records.
    pub records: Vec<(DriveId, HeadWrite)>,
}

/// Purpose of a header that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderUse {
    /// Its half is retired: the batches of the half no longer count.
    Retire {
        /// Number of the half, 0 or 1.
        half: usize,
    },
    /// No batch counts.
    Clear,
}

/// The log of a drive in one half.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    used_bytes: usize,
    /// Number of the last record; 0 without one.
    last: u64,
}

#[derive(Clone, Debug, Default)]
struct Half {
    /// Logs, by drive.
    logs: Vec<Log>,
    /// Number of its first batch; 0 without one.
    first: u64,
    /// Number of batches whose operations have not ended.
    open: usize,
    /// True if its former batches were retired.
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
    /// Last header, written or being written.
    header: Header,
    header_use: Option<HeaderUse>,
    halves: [Half; 2],
    filling: usize,
    /// Batch that is being written.
    in_flight: Option<u64>,
    /// Half of each batch whose operations have not ended.
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

    /// Returns true if an array writes a journal while the drives of `absent` (as bits) are
    /// missing.
    #[must_use]
    pub fn is_needed(geometry: &Geometry, absent: u64) -> bool {
        let needed = absent != 0 || geometry.journalled == Journalled::Always;
        needed && geometry.level.is_redundant() && !geometry.level.is_mirrored()
    }

    /// Appends a batch with the writes of operations. The operations may begin when
    /// [`Journal::stable`] has reached its number; call [`Journal::finish`] when all have ended. No
    /// other batch may be in flight.
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

    /// Notes that the batch in flight is on stable storage on all drives that take part.
    pub fn written(&mut self, sequence: u64) {
        let ended = self.in_flight.take_if(|in_flight| *in_flight == sequence);
        assert!(
            ended.is_some() || self.planted.has(Bug::BatchNotAwaited),
            "batch {sequence} is stable, and was not being written"
        );
    }

    /// Number of the last stable batch: operations of batches up to it may begin.
    #[must_use]
    pub fn stable(&self) -> u64 {
        self.in_flight.unwrap_or(self.next) - 1
    }

    /// Returns true if no batch is being written.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Notes that all writes of the batch have ended, or will never begin.
    pub fn finish(&mut self, sequence: u64) {
        assert!(sequence < self.next, "batch {sequence} is over, and was never begun");
        if let Some(half) = self.open.remove(&sequence) {
            let open = &mut self.halves[half].open;
            assert!(*open > 0, "batch {sequence} is over, and none of its half is open");
            *open -= 1;
        }
    }

    /// Returns a half whose operations have all ended, by the number of its first batch. Sync all
    /// drives after this call, then call [`Journal::retire`].
    #[must_use]
    pub fn to_sync(&self) -> Option<u64> {
        let half = &self.halves[1 - self.filling];
        (half.is_used() && half.open == 0 && self.header_use.is_none()).then_some(half.first)
    }

    /// Retires a half; all drives were synced since [`Journal::to_sync`] returned `first`. Returns
    /// the header for all drives that take part, after which the batches of the half no longer
    /// count. The half is not filled again until the header is stable
    /// ([`Journal::header_written`]). `None` if another header is being written, or the half was
    /// filled again after [`Journal::clear`]: the syncs do not cover its new content.
    pub fn retire(&mut self, first: u64) -> Option<HeadWrite> {
        self.to_sync().filter(|&ready| ready == first)?;
        let (mut base, half) = (self.halves[self.filling].first, 1 - self.filling);
        if self.planted.has(Bug::BothHalvesRetired) {
            base = self.next;
        }
        Some(self.write_header(base, HeaderUse::Retire { half }))
    }

    /// Numbers of halves that were retired, and that were filled again after that.
    pub(super) const fn transitions(&self) -> Transitions {
        self.transitions
    }

    /// Returns true if no record can count at the next start.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.halves.iter().any(Half::is_used)
    }

    /// Returns true if a header is being written.
    #[must_use]
    pub const fn is_header_in_flight(&self) -> bool {
        self.header_use.is_some()
    }

    /// Clears the journal. Returns the header for all drives that take part, after which no record
    /// counts. Sync them before it is written. The journal is empty at once, so append nothing
    /// before the header is stable. No other header may be in flight.
    ///
    /// # Errors
    ///
    /// If batches have not ended.
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

    /// Notes that the header is on stable storage on all drives that take part. Returns its
    /// purpose.
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

    /// The last header, for a drive that joins; write it to both places.
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

/// Start of a half in the journal.
const fn half_at(sizes: &Sizes, half: usize) -> usize {
    HALVES_AT + half * sizes.journal_half_bytes
}

const fn header_offset(number: u64) -> u64 {
    JOURNAL_OFFSET_BYTES + number % 2 * BLOCK_BYTES as u64
}
