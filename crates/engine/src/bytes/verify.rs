//! Comparison of data with checksums, on the way to and from storage.
//!
//! Data of a read is compared before the array gets it; a mismatch fails the read. Data of a write
//! is summed when it goes to its drive: below the write gate, so that sums change in the order of
//! the data.

use super::work::Work;
use crate::checksums::{
    ChecksumCounters, ChecksumSetup, Checksums, Key, SUMMED_BYTES, Stamp, TableIo, Verdict, crc32c,
};
use crate::durability::{IoId, IoResult};
use crate::memory::Memory;
use crate::planted::Bug;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use nvme::PlFlag;
use units::DriveId;

/// Blocks with which a read is to be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    drive: DriveId,
    offset_bytes: u64,
    length_bytes: usize,
    since: Stamp,
}

/// A read that has ended and waits for its checksums.
#[derive(Debug)]
pub(super) struct Held<B> {
    pub(super) tag: u32,
    pub(super) buffer: B,
    drive: DriveId,
}

/// Result of the comparison of a read.
#[derive(Debug)]
pub(super) enum Compared<B> {
    /// The data is right.
    Fits(B),
    /// The data waits for its checksums: [`TableEnded::Read`] returns it.
    Waits,
    /// The drive must read again.
    Again(DriveId, Work<B>),
    /// The data is wrong; the first wrong byte of the drive.
    Wrong(DriveId, u64, B),
}

/// Consequence of a read or a write of a block of a table.
#[derive(Debug)]
pub(super) enum TableEnded<B> {
    /// None.
    Nothing,
    /// These reads can be compared now.
    Read(Vec<Held<B>>),
    /// These syncs of its drive can be done.
    Written(Vec<IoId>),
    /// The drive fails to store its checksums.
    Failed,
}

/// The checksums of an array, and the reads and syncs that wait for them.
#[derive(Debug)]
pub(super) struct Verifier<B> {
    sums: Checksums,
    /// Sum of a block of zeros.
    zero_sum: u32,
    held: Vec<Held<B>>,
    /// Syncs that wait until changed checksums of their drive are written.
    syncs: Vec<(DriveId, IoId)>,
    /// Era of each place: number of drives that failed in it.
    eras: Vec<u32>,
    /// Reads in flight that are to make sums known.
    recovering: u32,
    /// Conditions for clearing the marks that were found at the start.
    marks: Marks,
}

/// Conditions for clearing marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Marks {
    /// No condition.
    Free,
    /// All sums must be known, and parity resynced; `resynced` is true if it is.
    Held { resynced: bool },
}

/// Most concurrent reads that are to make sums known.
const RECOVERY_DEPTH: u32 = 4;
/// Blocks of each such read.
const RECOVERY_BLOCKS: u64 = 64;

impl<B> Verifier<B> {
    pub(super) fn new(setup: ChecksumSetup, width: usize) -> Self {
        Self {
            sums: Checksums::new(setup),
            zero_sum: crc32c(&[0; SUMMED_BYTES]),
            held: Vec::new(),
            syncs: Vec::new(),
            eras: vec![0; width],
            recovering: 0,
            marks: Marks::Free,
        }
    }

    pub(super) fn counters(&self) -> &ChecksumCounters {
        self.sums.counters()
    }

    pub(super) fn drive_replaced(&mut self, drive: DriveId) {
        self.sums.drive_replaced(drive);
    }

    pub(super) fn drive_returned(&mut self, drive: DriveId) {
        self.sums.drive_returned(drive);
    }

    /// Drops the syncs of a failed drive, and returns its reads that wait for checksums.
    pub(super) fn drive_gone(&mut self, drive: DriveId) -> Vec<Held<B>> {
        self.eras[drive.index()] += 1;
        self.sums.drive_gone(drive);
        self.syncs.retain(|(other, _)| *other != drive);
        self.take_held(drive)
    }

    fn take_held(&mut self, drive: DriveId) -> Vec<Held<B>> {
        self.held.extract_if(.., |held| held.drive == drive).collect()
    }

    pub(super) fn is_known(&self, drive: DriveId) -> bool {
        self.sums.is_known(drive)
    }

    pub(super) fn check_invariants(&self) {
        self.sums.check_invariants();
    }

    /// Prepares a sync of a drive and its checksums. Returns true if it can be done at once;
    /// otherwise [`TableEnded::Written`] returns it later.
    pub(super) fn settle(&mut self, drive: DriveId, id: IoId) -> bool {
        let is_settled = self.sums.settle(drive);
        if !is_settled {
            self.syncs.push((drive, id));
        }
        is_settled
    }
}

fn blocks(offset_bytes: u64, length_bytes: u64) -> Range<u64> {
    let block = SUMMED_BYTES as u64;
    offset_bytes / block..(offset_bytes + length_bytes) / block
}

/// Data of drives.
impl<B> Verifier<B> {
    /// Begins work. Returns the comparison for its end, if it is a read.
    #[inline]
    pub(super) fn begin_read(&mut self, drive: DriveId, work: &Work<B>) -> Option<Check> {
        let Work::Read { offset_bytes, length_bytes, .. } = *work else { return None };
        let since = self.sums.begin_read(drive, blocks(offset_bytes, length_bytes as u64));
        Some(Check { drive, offset_bytes, length_bytes, since })
    }

    /// Notes a change of data that goes to its drive.
    #[inline]
    pub(super) fn begin_change<M: Memory<Buffer = B>>(
        &mut self,
        memory: &M,
        tag: u32,
        drive: DriveId,
        work: &Work<B>,
    ) {
        let (blocks, sums) = match work {
            Work::Write { offset_bytes, length_bytes, buffer } => {
                let data = M::bytes(buffer)[..*length_bytes].chunks_exact(SUMMED_BYTES);
                let sums = data.map(|block| memory.checksum(block) ^ self.zero_sum).collect();
                (blocks(*offset_bytes, *length_bytes as u64), Some(sums))
            }
            Work::Discard { .. } if self.sums.planted().has(Bug::TrimSumsForgotten) => return,
            Work::Discard { offset_bytes, length_bytes } => {
                (blocks(*offset_bytes, *length_bytes), None)
            }
            Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => return,
        };
        self.sums.begin_change(tag, drive, blocks, sums);
    }

    /// Ends storage work that is not on a table.
    pub(super) fn end_change(&mut self, tag: u32, is_done: bool) {
        self.sums.end_change(tag, is_done);
    }

    /// Compares the data of a read with its checksums. `recovery` is the era of its drive if the
    /// read is to make sums known.
    pub(super) fn compare<M: Memory<Buffer = B>>(
        &mut self,
        memory: &M,
        tag: u32,
        check: &Check,
        recovery: Option<u32>,
        buffer: B,
    ) -> Compared<B> {
        let Check { drive, offset_bytes, length_bytes, since } = *check;
        let zero_sum = self.zero_sum;
        let sum = |block: &[u8]| memory.checksum(block) ^ zero_sum;
        let data = &M::bytes(&buffer)[..length_bytes];
        let first = offset_bytes / SUMMED_BYTES as u64;
        let verdict = if length_bytes == SUMMED_BYTES {
            self.sums.verify(drive, first, &[sum(data)], since)
        } else {
            let found: Vec<u32> = data.chunks_exact(SUMMED_BYTES).map(sum).collect();
            self.sums.verify(drive, first, &found, since)
        };
        let compared = match verdict {
            Verdict::Fits => Compared::Fits(buffer),
            Verdict::Wrong(_) if self.sums.planted().has(Bug::MismatchServed) => {
                return Compared::Fits(buffer);
            }
            Verdict::Waits => {
                self.held.push(Held { tag, buffer, drive });
                return Compared::Waits;
            }
            Verdict::Again => {
                let work = Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off };
                return Compared::Again(drive, work);
            }
            Verdict::Wrong(block) => Compared::Wrong(drive, block * SUMMED_BYTES as u64, buffer),
        };
        if let Some(era) = recovery {
            // Data that is wrong has a known sum.
            self.end_recovery(check, era, true);
        }
        compared
    }
}

/// Tables of checksums.
impl<B> Verifier<B> {
    /// Returns the next block of a table to read or write, with the era of its drive.
    #[inline]
    pub(super) fn next_table_work<M: Memory<Buffer = B>>(
        &mut self,
        memory: &mut M,
    ) -> Option<(Key, u32, Work<B>)> {
        let io = self.sums.poll_io()?;
        let length_bytes = SUMMED_BYTES;
        let mut buffer = memory.take(length_bytes);
        let (key, work) = match io {
            TableIo::Read(key) => {
                let offset_bytes = self.sums.offset_bytes(key);
                (key, Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off })
            }
            TableIo::Write(key, sums) => {
                let block = &mut M::bytes_mut(&mut buffer)[..length_bytes];
                self.sums.encode(key, &sums, block);
                let offset_bytes = self.sums.offset_bytes(key);
                (key, Work::Write { offset_bytes, length_bytes, buffer })
            }
        };
        Some((key, self.eras[usize::from(key.drive)], work))
    }

    /// Ends a read or a write of a block of a table; `block` is the content of its buffer.
    pub(super) fn end_table(
        &mut self,
        key: Key,
        era: u32,
        result: IoResult,
        block: Option<&[u8]>,
    ) -> TableEnded<B> {
        if self.eras[usize::from(key.drive)] != era {
            return TableEnded::Nothing;
        }
        let drive = DriveId(key.drive);
        if let Some(block) = block.filter(|_| self.sums.is_fetching(key)) {
            if result != IoResult::Done && self.sums.read_again(key) {
                return TableEnded::Nothing;
            }
            let block = &block[..SUMMED_BYTES];
            self.sums.table_read(key, Some(block).filter(|_| result == IoResult::Done));
            return TableEnded::Read(self.take_held(drive));
        }
        if result != IoResult::Done {
            return TableEnded::Failed;
        }
        if !self.sums.table_written(key) {
            return TableEnded::Nothing;
        }
        let ready = self.syncs.extract_if(.., |(other, _)| *other == drive);
        TableEnded::Written(ready.map(|(_, id)| id).collect())
    }
}

/// Sums in doubt after a crash.
impl<B> Verifier<B> {
    /// Number of reads in flight that are to make sums known; no command waits for them.
    pub(super) const fn recovering(&self) -> u32 {
        self.recovering
    }

    /// Returns the next read of blocks with doubtful sums, with the era of its drive. At most
    /// `RECOVERY_DEPTH` are in flight.
    #[inline]
    pub(super) fn next_recovery<M: Memory<Buffer = B>>(
        &mut self,
        memory: &mut M,
    ) -> Option<(DriveId, u32, Work<B>)> {
        if self.recovering >= RECOVERY_DEPTH {
            return None;
        }
        let (drive, blocks) = self.sums.next_to_recover(RECOVERY_BLOCKS)?;
        self.recovering += 1;
        let offset_bytes = blocks.start * SUMMED_BYTES as u64;
        let length_bytes = (blocks.end - blocks.start) as usize * SUMMED_BYTES;
        let buffer = memory.take(length_bytes);
        let work = Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off };
        Some((drive, self.eras[drive.index()], work))
    }

    /// Ends such a read; `read` is true if its sums are known now.
    pub(super) fn end_recovery(&mut self, check: &Check, era: u32, read: bool) {
        self.recovering -= 1;
        let Check { drive, offset_bytes, length_bytes, .. } = *check;
        if self.eras[drive.index()] == era {
            self.sums.recovered(drive, blocks(offset_bytes, length_bytes as u64), read);
        }
    }

    /// Begins the repair of marked regions on drives that serve. `resyncs` is true if a resync will
    /// run.
    pub(super) fn begin_repairs(&mut self, serving: Vec<DriveId>, resyncs: bool) {
        if !self.sums.planted().has(Bug::DoubtsNotRead) {
            serving.into_iter().for_each(|drive| self.sums.recover(drive));
        }
        self.marks = Marks::Held { resynced: !resyncs };
    }

    /// Notes that parity is resynced. Returns true if marks are not held and may be cleared.
    pub(super) fn note_resynced(&mut self) -> bool {
        let is_free = self.marks == Marks::Free;
        if !is_free {
            self.marks = Marks::Held { resynced: true };
        }
        is_free
    }

    /// Frees held marks once their conditions are met. Returns true if it did.
    pub(super) fn free_marks(&mut self) -> bool {
        let is_recovered = self.sums.is_recovered() && self.recovering == 0;
        let is_freed = is_recovered && self.marks == (Marks::Held { resynced: true });
        if is_freed {
            self.marks = Marks::Free;
        }
        is_freed
    }
}
