//! Checksums of all data: one sum for each block of 4096 bytes, stored apart from the block.
//!
//! A drive may return wrong bytes without an error: bits have flipped, or a write that it
//! acknowledged was lost or misplaced. The sum of a block is therefore not beside the block, but in
//! a table behind the data of the drive. Every read is compared with it. A mismatch is a media
//! error to the array, which reconstructs and rewrites the page.
//!
//! A sum is the CRC-32C of the block, exclusive-or the CRC-32C of a block of zeros. So it is 0 for
//! blocks that were never written, and the table of a sparse file is sparse.
//!
//! Blocks of the table are read when they are needed, into a cache of bounded size, and written
//! back in batches. These rules hold whenever the power goes:
//!
//! * The sum of a block on the drive may be wrong only while the block is in a region that is
//!   marked in the write-intent record, or in a record of the journal. Changed blocks of the table
//!   are written first, and synced, before a mark is cleared, a part of the journal is reused, or a
//!   drive is recorded as serving.
//! * After a crash the sums of marked regions are in doubt: each is computed from the next read or
//!   write of its block, and the resync reads all of them. Data that is replayed from the journal
//!   gets its sums during the replay.
//! * A read during a write of the same block may fit the old or the new sum. If it fits neither, it
//!   is repeated.

mod changes;
mod doubts;
mod formatting;
mod replayed;
mod table;

pub(crate) use changes::Stamp;
pub(crate) use formatting::format;
pub(crate) use replayed::{TablePlace, Written, note_written};
pub(crate) use table::{Decoded, Key, LOST, Sums, decode, stored};
pub use table::{TableSeal, table_bytes};
pub use units::crc32c;

use crate::durability::block::BLOCK_BYTES;
use crate::durability::{Setup, Sizes, Superblock, Uuid};
use crate::planted::{Bug, Planted};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use changes::{Changes, InFlight, NewSums};
use core::ops::Range;
use doubts::Doubts;
use table::SUMS;
use units::DriveId;

/// Bytes of data that share one sum.
pub(crate) const SUMMED_BYTES: usize = BLOCK_BYTES;
/// Retries of a block of the table that could not be read.
const READS_AGAIN: u8 = 2;
/// Most blocks of the table that are examined for eviction when one more enters the cache.
const EVICTION_STEPS: usize = 16;

/// Places of the tables, and what is known of their state at the start.
#[derive(Clone, Debug)]
pub struct ChecksumSetup {
    /// The array.
    pub uuid: Uuid,
    /// Start of each drive's table, in bytes from the start of its data; `None` for drives in
    /// memory, whose whole tables are in memory.
    pub table_at: Option<u64>,
    /// Seal of the blocks of the tables.
    pub seal: TableSeal,
    /// Bytes on every drive whose sums are in doubt.
    pub doubtful: Vec<Range<u64>>,
    /// Bytes on every drive that the last end of the array may have left half written.
    pub marked: Vec<Range<u64>>,
    /// Limit of the cache for the tables of all drives, in bytes.
    pub cache_bytes: u64,
    /// Bounds that apply whatever the cache limit is.
    pub sizes: Sizes,
    /// The bug that was planted in the array, or none.
    pub planted: Planted,
}

/// Default limit of the cache: the sums of a quarter of a tebibyte.
const CACHE_BYTES_USUAL: u64 = 256 << 20;

impl ChecksumSetup {
    /// Checksums of an array in files or on devices; `None` if it has none. Sums of `doubtful`
    /// bytes of each drive may be wrong. `marked` bytes may be half written.
    #[must_use]
    pub fn of(
        superblock: &Superblock,
        doubtful: Vec<Range<u64>>,
        marked: Vec<Range<u64>>,
        setup: &Setup,
    ) -> Option<Self> {
        superblock.geometry.checksums.then_some(Self {
            uuid: superblock.uuid,
            table_at: Some(superblock.geometry.drive_bytes),
            seal: superblock.table_seal(),
            doubtful,
            marked,
            cache_bytes: CACHE_BYTES_USUAL,
            sizes: setup.sizes,
            planted: setup.planted,
        })
    }

    /// Checksums of an array in memory.
    #[must_use]
    pub const fn in_memory() -> Self {
        let uuid = Uuid([0; 16]);
        Self {
            uuid,
            table_at: None,
            seal: TableSeal::Sectors,
            doubtful: Vec::new(),
            marked: Vec::new(),
            cache_bytes: CACHE_BYTES_USUAL,
            sizes: Sizes::SERVED,
            planted: Planted::NONE,
        }
    }
}

/// Results of comparing pages that were read with their sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChecksumCounters {
    /// Blocks that fit their sums.
    pub verified: u64,
    /// Blocks that did not fit their sums.
    pub mismatched: u64,
    /// Blocks whose doubtful sums were computed from the data read.
    pub accepted: u64,
    /// Reads that were repeated because of a concurrent write.
    pub repeated: u64,
    /// Blocks of tables that were damaged, torn or unreadable.
    pub damaged_tables: u64,
    /// Blocks whose sums were lost with a damaged block of a table; part of `mismatched`.
    pub lost: u64,
    /// Blocks of tables that were evicted from the cache.
    pub evicted: u64,
    /// Changed blocks of tables that were written for their eviction.
    pub evicted_changed: u64,
}

/// Work on a block of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TableIo {
    /// Read the block; it ends with [`Checksums::table_read`].
    Read(Key),
    /// Write the block; it ends with [`Checksums::table_written`].
    Write(Key, Sums),
}

/// Result of comparing a read with its sums.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The data fits.
    Fits,
    /// The sums are being read: compare again after the next [`Checksums::table_read`].
    Waits,
    /// A write was concurrent: read again.
    Again,
    /// The data is wrong; the first wrong block.
    Wrong(u64),
}

#[derive(Clone, Debug)]
struct Table {
    /// `None` while it is being read.
    sums: Option<Sums>,
    /// Sums that changed while it was being read, with their index.
    overrides: Vec<(usize, u32)>,
    /// It was used since the eviction clock last passed it.
    used: bool,
    /// It is being written.
    writing: bool,
    /// Reads of it that have failed.
    failed_reads: u8,
}

/// Blocks of a table to be written before their drive may be synced.
#[derive(Clone, Debug, Default)]
struct Settling {
    waiting: BTreeSet<u64>,
    /// Blocks that changed while they were being written: they are written once more.
    again: BTreeSet<u64>,
}

/// Checksums of all drives, with a cache of their tables.
#[derive(Clone, Debug)]
pub(crate) struct Checksums {
    uuid: Uuid,
    table_at: Option<u64>,
    seal: TableSeal,
    capacity: usize,
    tables: BTreeMap<Key, Table>,
    /// Blocks of tables, in the order in which they are examined for eviction.
    clock: VecDeque<Key>,
    /// Blocks of tables that differ from their drives.
    dirty: BTreeSet<Key>,
    changes: Changes,
    doubts: Doubts,
    settling: BTreeMap<u8, Settling>,
    /// Blocks of data to be read so that their sums are known.
    to_recover: VecDeque<(DriveId, Range<u64>)>,
    outputs: VecDeque<TableIo>,
    counters: ChecksumCounters,
    planted: Planted,
}

impl Checksums {
    pub(crate) fn new(setup: ChecksumSetup) -> Self {
        let ChecksumSetup { uuid, table_at, seal, doubtful, marked, cache_bytes, .. } = setup;
        let (sizes, planted) = (setup.sizes, setup.planted);
        let block = SUMMED_BYTES as u64;
        let blocks = |bytes: Range<u64>| bytes.start / block..bytes.end.div_ceil(block);
        Self {
            uuid,
            table_at,
            seal,
            capacity: ((cache_bytes / block) as usize).max(sizes.cached_tables),
            tables: BTreeMap::new(),
            clock: VecDeque::new(),
            dirty: BTreeSet::new(),
            changes: Changes::new(sizes.ended_changes),
            doubts: Doubts::new(
                doubtful.into_iter().map(blocks).collect(),
                marked.into_iter().map(blocks).collect(),
            ),
            settling: BTreeMap::new(),
            to_recover: VecDeque::new(),
            outputs: VecDeque::new(),
            counters: ChecksumCounters::default(),
            planted,
        }
    }

    pub(crate) fn counters(&self) -> &ChecksumCounters {
        &self.counters
    }

    /// The bug that is planted.
    pub(crate) const fn planted(&self) -> Planted {
        self.planted
    }

    /// Place of a block of a table, in bytes from the start of its drive's data.
    pub(crate) fn offset_bytes(&self, key: Key) -> u64 {
        self.table_at.unwrap_or(0) + key.number * BLOCK_BYTES as u64
    }

    /// Encodes a block of a table for its drive.
    pub(crate) fn encode(&self, mut key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
        if key.drive != 0 && self.planted.has(Bug::SumsSealedForFirstDrive) {
            key.drive = 0;
        }
        table::encode(self.seal, self.uuid, key, sums, block);
    }

    /// Returns the next work on a table.
    #[inline]
    pub(crate) fn poll_io(&mut self) -> Option<TableIo> {
        self.outputs.pop_front()
    }

    /// Begins a read, and fetches its sums concurrently. Returns the stamp that
    /// [`Checksums::verify`] needs.
    #[inline]
    pub(crate) fn begin_read(&mut self, drive: DriveId, blocks: Range<u64>) -> Stamp {
        self.fetch(drive, blocks);
        self.changes.now()
    }

    /// Reads the sums of these blocks that are not in the cache.
    fn fetch(&mut self, drive: DriveId, blocks: Range<u64>) {
        let (first, _) = Key::of(drive, blocks.start);
        let (last, _) = Key::of(drive, blocks.end - 1);
        for number in first.number..=last.number {
            self.table(Key { number, ..first });
        }
    }

    /// Block of a table in the cache; it is fetched if it is missing.
    fn table(&mut self, key: Key) -> &mut Table {
        if !self.tables.contains_key(&key) {
            let in_memory = self.table_at.is_none();
            self.evict();
            let sums = in_memory.then(|| Box::new([0; SUMS]));
            let new =
                Table { sums, overrides: Vec::new(), used: true, writing: false, failed_reads: 0 };
            self.tables.insert(key, new);
            if !in_memory {
                self.clock.push_back(key);
                self.outputs.push_back(TableIo::Read(key));
            }
        }
        let Some(table) = self.tables.get_mut(&key) else { unreachable!("it was put there") };
        table.used = true;
        table
    }

    /// Makes room for one more block of a table, if any can be evicted.
    fn evict(&mut self) {
        for _ in 0..EVICTION_STEPS {
            if self.tables.len() < self.capacity {
                return;
            }
            let Some(key) = self.clock.pop_front() else { return };
            let Some(table) = self.tables.get_mut(&key) else { continue };
            let was_used = core::mem::take(&mut table.used);
            let is_damaged = self.doubts.is_damaged(key);
            if was_used || table.writing || table.sums.is_none() || is_damaged {
                self.clock.push_back(key);
            } else if self.dirty.remove(&key) && !self.planted.has(Bug::DirtySumsEvicted) {
                self.clock.push_back(key);
                self.counters.evicted_changed += 1;
                self.write_back(key);
            } else {
                self.counters.evicted += 1;
                self.tables.remove(&key);
            }
        }
    }

    /// Begins to write a block of a table. No write of it may be under way.
    fn write_back(&mut self, key: Key) {
        let Some(table) = self.tables.get_mut(&key) else { return };
        let Some(sums) = &table.sums else { return };
        table.writing = true;
        self.dirty.remove(&key);
        self.outputs.push_back(TableIo::Write(key, sums.clone()));
    }

    /// Begins a change of these blocks; `sums` are the sums of its data, `None` for zeros.
    pub(crate) fn begin_change(
        &mut self,
        tag: u32,
        drive: DriveId,
        blocks: Range<u64>,
        sums: Option<Vec<u32>>,
    ) {
        self.fetch(drive, blocks.clone());
        let sums = sums.map_or(NewSums::Zeros, NewSums::Data);
        self.changes.begin(tag, InFlight { drive: drive.0, blocks, sums });
    }

    /// Ends the change with this tag, if it is one. After a failed change the content is unknown;
    /// its drive or the array has failed too.
    #[inline]
    pub(crate) fn end_change(&mut self, tag: u32, done: bool) {
        let Some(InFlight { drive, blocks, sums }) = self.changes.end(tag) else { return };
        if !done {
            return;
        }
        for (index, block) in blocks.enumerate() {
            let (key, at) = Key::of(DriveId(drive), block);
            self.set(key, at, sums.at(index));
        }
    }

    fn set(&mut self, key: Key, at: usize, sum: u32) {
        let sum = stored(sum);
        let table = self.table(key);
        let Some(sums) = &mut table.sums else { return table.overrides.push((at, sum)) };
        let has_changed = core::mem::replace(&mut sums[at], sum) != sum;
        if has_changed && self.table_at.is_some() {
            self.dirty.insert(key);
        }
        self.doubts.note_known(key, at);
        self.note_recovered(key);
    }

    /// Lets a torn block of a table be written once all its sums are known.
    fn note_recovered(&mut self, key: Key) {
        if self.doubts.is_damaged(key) && self.doubts.take_recovered(key) {
            self.write_again(key);
        }
    }

    /// Compares the sums of data that was read with the sums that it should have. `since` is the
    /// stamp of [`Checksums::begin_read`].
    pub(crate) fn verify(
        &mut self,
        drive: DriveId,
        first_block: u64,
        found: &[u32],
        since: Stamp,
    ) -> Verdict {
        let blocks = first_block..first_block + found.len() as u64;
        let (first, _) = Key::of(drive, blocks.start);
        let (last, _) = Key::of(drive, blocks.end - 1);
        for number in first.number..=last.number {
            if self.table(Key { number, ..first }).sums.is_none() {
                return Verdict::Waits;
            }
        }
        let mut wrong = None;
        let (mut again, mut accepted) = (false, 0);
        for (block, &sum) in blocks.zip(found) {
            let (key, at) = Key::of(drive, block);
            let table = self.tables.get(&key).and_then(|table| table.sums.as_ref());
            if self.doubts.is_unknown(key, at) {
                accepted += 1;
                if !self.changes.may_touch(drive.0, block, since) {
                    self.set(key, at, sum);
                } else if self.changes.has_forgotten(since) {
                    // The block may be unchanged, and then its sum is still to be computed from it.
                    again = true;
                }
            } else if table.is_some_and(|sums| sums[at] == stored(sum))
                || self.changes.brings(drive.0, block, sum)
            {
            } else if self.changes.may_touch(drive.0, block, since) {
                again = true;
            } else {
                self.counters.mismatched += 1;
                self.counters.lost += u64::from(table.is_some_and(|sums| sums[at] == LOST));
                wrong = wrong.or(Some(block));
            }
        }
        self.counters.accepted += accepted;
        match (wrong, again) {
            (Some(block), _) => Verdict::Wrong(block),
            (None, true) => {
                self.counters.repeated += 1;
                Verdict::Again
            }
            (None, false) => {
                self.counters.verified += found.len() as u64 - accepted;
                Verdict::Fits
            }
        }
    }

    /// Returns true if some of a drive's table was read, and none of that is in doubt.
    pub(crate) fn is_known(&self, drive: DriveId) -> bool {
        let all = Key { drive: drive.0, number: 0 }..=Key { drive: drive.0, number: u64::MAX };
        let mut tables = self.tables.range(all).map(|(_, table)| table.sums.is_some());
        tables.next().is_some_and(|first| first && tables.all(|read| read))
            && !self.doubts.has_unknown(drive.0)
    }

    /// Returns true if a block of a table is being read.
    pub(crate) fn is_fetching(&self, key: Key) -> bool {
        self.tables.get(&key).is_some_and(|table| table.sums.is_none())
    }

    /// Retries a failed read of a block of a table, a few times. Without the block none of its data
    /// can be read, and the error may be transient. Returns false if there was no retry.
    pub(crate) fn read_again(&mut self, key: Key) -> bool {
        let Some(table) = self.tables.get_mut(&key) else { return false };
        if table.failed_reads == READS_AGAIN {
            return false;
        }
        table.failed_reads += 1;
        self.outputs.push_back(TableIo::Read(key));
        true
    }

    /// Takes a block of a table that was read; `None` if it could not be. Sums that changed during
    /// the read replace those of the block.
    ///
    /// Sums in damaged parts of the block are lost: data read there never fits, and is
    /// reconstructed. Only if a crash may have torn the block are its sums computed from the data.
    pub(crate) fn table_read(&mut self, key: Key, block: Option<&[u8]>) {
        let decoded =
            block.map_or(Decoded::Nothing, |block| table::decode(self.seal, self.uuid, key, block));
        let end = self.table_at.unwrap_or(u64::MAX) / BLOCK_BYTES as u64;
        let Some(table) = self.tables.get_mut(&key) else { return };
        let blocks = key.first_block()..(key.first_block() + SUMS as u64).min(end);
        let is_sound = matches!(decoded, Decoded::Sound(_));
        let is_torn = decoded == Decoded::Nothing
            && self.seal == TableSeal::Block
            && self.doubts.may_be_torn(&blocks)
            || !is_sound && self.planted.has(Bug::DamagedSumsBelieved);
        self.doubts.table_read(key, blocks.clone(), !is_torn);
        if is_torn {
            self.to_recover.push_front((DriveId(key.drive), blocks));
        } else if !is_sound {
            self.dirty.insert(key);
        }
        self.counters.damaged_tables += u64::from(!is_sound);
        table.sums = Some(decoded.sums());
        for (at, sum) in core::mem::take(&mut table.overrides) {
            self.set(key, at, sum);
        }
        self.write_again(key);
    }

    /// Writes a block of a table that a sync waits for, and that could not be written before.
    fn write_again(&mut self, key: Key) {
        let can = self.tables.get(&key).is_some_and(|table| !table.writing && table.sums.is_some());
        if can
            && !self.doubts.is_damaged(key)
            && let Some(settling) = self.settling.get_mut(&key.drive)
            && settling.again.remove(&key.number)
        {
            self.write_back(key);
        }
    }

    /// Has all data of a drive read whose sums were in doubt at the start.
    pub(crate) fn recover(&mut self, drive: DriveId) {
        let ranges = self.doubts.ranges().iter();
        self.to_recover.extend(ranges.map(|range| (drive, range.clone())));
    }

    /// Returns the next blocks to read so that their sums are known, at most `blocks`.
    pub(crate) fn next_to_recover(&mut self, blocks: u64) -> Option<(DriveId, Range<u64>)> {
        let (drive, range) = self.to_recover.front_mut()?;
        let end = range.end.min(range.start + blocks);
        let next = (*drive, range.start..end);
        range.start = end;
        if range.is_empty() {
            self.to_recover.pop_front();
        }
        Some(next)
    }

    /// Ends a read that was to make sums known. A block that cannot be read counts as known: a
    /// client's read of it fails, and then repairs it.
    pub(crate) fn recovered(&mut self, drive: DriveId, blocks: Range<u64>, read: bool) {
        if !read && blocks.end - blocks.start > 1 {
            return self.to_recover.extend(blocks.map(|block| (drive, block..block + 1)));
        }
        for block in blocks {
            let (key, at) = Key::of(drive, block);
            if !read {
                self.doubts.note_known(key, at);
            }
            self.note_recovered(key);
        }
    }

    /// Returns true if no blocks wait to be read so that their sums are known.
    pub(crate) fn is_recovered(&self) -> bool {
        self.to_recover.is_empty()
    }

    /// Notes that a block of a table was written. Returns true if a sync of its drive waited for it
    /// and can be done now.
    pub(crate) fn table_written(&mut self, key: Key) -> bool {
        let Some(table) = self.tables.get_mut(&key) else { return false };
        table.writing = false;
        let Some(settling) = self.settling.get_mut(&key.drive) else { return false };
        if settling.again.contains(&key.number) {
            self.write_again(key);
            return false;
        }
        settling.waiting.remove(&key.number);
        let is_settled = settling.waiting.is_empty();
        if is_settled {
            self.settling.remove(&key.drive);
        }
        is_settled
    }

    /// Prepares a sync of a drive and its table: changed blocks of the table are written first.
    /// Returns true if the sync need not wait.
    pub(crate) fn settle(&mut self, drive: DriveId) -> bool {
        let all = Key { drive: drive.0, number: 0 }..=Key { drive: drive.0, number: u64::MAX };
        let mut settling = Settling::default();
        let changed: Vec<Key> = self.dirty.range(all.clone()).copied().collect();
        for key in changed {
            settling.waiting.insert(key.number);
            let is_writing = self.tables.get(&key).is_some_and(|table| table.writing);
            if is_writing || self.doubts.is_damaged(key) {
                if !self.planted.has(Bug::SumsChangedBesideWrite) {
                    settling.again.insert(key.number);
                }
            } else {
                self.write_back(key);
            }
        }
        // A block that changed while it was being read is not written yet.
        for (key, table) in self.tables.range(all) {
            if table.writing || !table.overrides.is_empty() {
                settling.waiting.insert(key.number);
            }
            if !table.overrides.is_empty() {
                settling.again.insert(key.number);
            }
        }
        if settling.waiting.is_empty() {
            return true;
        }
        self.settling.insert(drive.0, settling);
        false
    }

    /// Forgets all about a failed drive; nothing is written to it any more.
    pub(crate) fn drive_gone(&mut self, drive: DriveId) {
        let is_its = |key: &Key| key.drive == drive.0;
        self.tables.retain(|key, _| !is_its(key));
        self.clock.retain(|key| !is_its(key));
        self.dirty.retain(|key| !is_its(key));
        self.outputs.retain(|io| match io {
            TableIo::Read(key) | TableIo::Write(key, _) => !is_its(key),
        });
        self.to_recover.retain(|(other, _)| *other != drive);
        self.changes.drive_gone(drive.0);
        self.settling.remove(&drive.0);
    }

    /// Handles the replacement of a failed drive by an empty one with an empty table.
    pub(crate) fn drive_replaced(&mut self, drive: DriveId) {
        self.drive_gone(drive);
        self.doubts.drive_replaced(drive.0);
    }

    /// Handles the return of a failed drive with its old table.
    pub(crate) fn drive_returned(&mut self, drive: DriveId) {
        self.drive_gone(drive);
        self.doubts.drive_returned(drive.0);
    }

    /// Panics if an invariant does not hold.
    pub(crate) fn check_invariants(&self) {
        for key in &self.dirty {
            let table = self.tables.get(key).and_then(|table| table.sums.as_ref());
            assert!(table.is_some(), "{key:?} has changed and is not there");
        }
        for (drive, settling) in &self.settling {
            assert!(!settling.waiting.is_empty());
            for &number in &settling.waiting {
                let key = Key { drive: *drive, number };
                let table = self.tables.get(&key);
                assert!(
                    table.is_some_and(|table| table.writing || !table.overrides.is_empty())
                        || self.doubts.is_damaged(key),
                    "{key:?} is waited for and not written"
                );
            }
        }
        if self.table_at.is_some() {
            assert_eq!(self.clock.len(), self.tables.len(), "tables in the cache");
        }
    }
}

#[cfg(test)]
mod tests;
