//! Checksums of all data: a sum for each block of 4096 bytes, stored apart from it.
//!
//! A drive that returns other bytes than it was given says nothing about it: bits that have
//! flipped, a write that it acknowledged and lost, or put elsewhere. The sum of a block is
//! therefore not beside the block, but in a table behind the data of the drive, and every read is
//! compared with it. What does not fit is a media error to the array, which reconstructs and
//! rewrites it.
//!
//! A sum is the CRC-32C of the block, exclusive-or that of a block of zeros: so it is 0 for what
//! was never written, and the table of a sparse file is sparse.
//!
//! Blocks of the table are read when they are needed, into a cache of bounded size, and written
//! back in batches. These rules hold whenever the power goes:
//!
//! * The sum of a block on the drive may be wrong only while the block is in a region that is
//!   marked in the write-intent record, or in a record of the journal: before a mark is taken back,
//!   a part of the journal used again, or a drive recorded as serving, changed blocks of the table
//!   are written, and the syncs that allow it cover them.
//! * After a crash the sums of marked regions are in doubt: each is taken from what is read or
//!   written next, which the resync does for all of them. What is written again from the journal
//!   gets its sums then.
//! * A read beside a write of the same block may find either. If it fits neither, it is repeated.

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

/// Bytes of data that have a sum together.
pub(crate) const SUMMED_BYTES: usize = BLOCK_BYTES;
/// Times that a block of the table is read again which could not be read.
const READS_AGAIN: u8 = 2;
/// Blocks of the table that are looked at for one that can leave the cache, at most, when one
/// comes.
const EVICTION_STEPS: usize = 16;

/// Where the tables are, and what of them is known.
#[derive(Clone, Debug)]
pub struct ChecksumSetup {
    /// The array.
    pub uuid: Uuid,
    /// Where the table of each drive begins, in bytes of its data; none for drives in memory, whose
    /// tables are in memory as a whole.
    pub table_at: Option<u64>,
    /// How blocks of the tables are sealed.
    pub seal: TableSeal,
    /// Bytes on every drive whose sums are in doubt.
    pub doubtful: Vec<Range<u64>>,
    /// Bytes on every drive that the last end of the array may have left half written.
    pub marked: Vec<Range<u64>>,
    /// Most bytes of the tables of all drives that are in memory.
    pub cache_bytes: u64,
    /// How much there is in memory whatever that bound is.
    pub sizes: Sizes,
    /// The bug that the array has on purpose, if it has one.
    pub planted: Planted,
}

/// Memory for tables unless another bound is chosen: the sums of a quarter of a tebibyte.
const CACHE_BYTES_USUAL: u64 = 256 << 20;

impl ChecksumSetup {
    /// The checksums of an array in files or on devices, if it has any. Sums of `doubtful` bytes of
    /// each drive may not fit. Bytes that may be half written are `marked`.
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

    /// The checksums of an array in memory.
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

/// What was found when pages that were read were compared with their sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChecksumCounters {
    /// Blocks that were right.
    pub verified: u64,
    /// Blocks that were not.
    pub mismatched: u64,
    /// Blocks whose sums were in doubt, and were taken from them.
    pub accepted: u64,
    /// Reads that were repeated, because a write was beside them.
    pub repeated: u64,
    /// Blocks of tables that were damaged, torn or unreadable.
    pub damaged_tables: u64,
    /// Blocks whose sums a damaged block of a table has lost, of those that are `mismatched`.
    pub lost: u64,
    /// Blocks of tables that have left the cache.
    pub evicted: u64,
    /// Blocks of tables that were written because they had changed and were to leave the cache.
    pub evicted_changed: u64,
}

/// Something to do with a block of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TableIo {
    /// Read it; it ends with [`Checksums::table_read`].
    Read(Key),
    /// Write it; it ends with [`Checksums::table_written`].
    Write(Key, Sums),
}

/// What is to be done with what a read has brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is right.
    Fits,
    /// Its sums are being read: ask again after the next [`Checksums::table_read`].
    Waits,
    /// A write was beside the read: read again.
    Again,
    /// The first block that is wrong.
    Wrong(u64),
}

#[derive(Clone, Debug)]
struct Table {
    /// None while it is being read.
    sums: Option<Sums>,
    /// Sums that have changed while it was.
    overrides: Vec<(usize, u32)>,
    /// It was used since the cache looked at it last.
    used: bool,
    /// It is being written.
    writing: bool,
    /// Reads of it that have failed.
    failed_reads: u8,
}

/// What has to be written before a drive may be synced.
#[derive(Clone, Debug, Default)]
struct Settling {
    waiting: BTreeSet<u64>,
    /// Those of them that were being written when they changed: they are written once more.
    again: BTreeSet<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Checksums {
    uuid: Uuid,
    table_at: Option<u64>,
    seal: TableSeal,
    capacity: usize,
    tables: BTreeMap<Key, Table>,
    /// The order in which the cache looks for tables that can leave.
    clock: VecDeque<Key>,
    /// Tables that differ from what is on their drives.
    dirty: BTreeSet<Key>,
    changes: Changes,
    doubts: Doubts,
    settling: BTreeMap<u8, Settling>,
    /// Blocks of data that are to be read so that their sums are known.
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

    /// Where a block of a table is, in bytes of the data of its drive.
    pub(crate) fn offset_bytes(&self, key: Key) -> u64 {
        self.table_at.unwrap_or(0) + key.number * BLOCK_BYTES as u64
    }

    /// The block of a table as it is to be on its drive.
    pub(crate) fn encode(&self, mut key: Key, sums: &[u32; SUMS], block: &mut [u8]) {
        if key.drive != 0 && self.planted.has(Bug::SumsSealedForFirstDrive) {
            key.drive = 0;
        }
        table::encode(self.seal, self.uuid, key, sums, block);
    }

    /// The next thing to do with a table.
    #[inline]
    pub(crate) fn poll_io(&mut self) -> Option<TableIo> {
        self.outputs.pop_front()
    }

    /// A read begins: its sums are fetched meanwhile. Returns what [`Checksums::verify`] wants to
    /// know.
    #[inline]
    pub(crate) fn begin_read(&mut self, drive: DriveId, blocks: Range<u64>) -> Stamp {
        self.fetch(drive, blocks);
        self.changes.now()
    }

    /// Has the sums of these blocks read, as far as they are not known.
    fn fetch(&mut self, drive: DriveId, blocks: Range<u64>) {
        let (first, _) = Key::of(drive, blocks.start);
        let (last, _) = Key::of(drive, blocks.end - 1);
        for number in first.number..=last.number {
            self.table(Key { number, ..first });
        }
    }

    /// A block of a table in the cache; it is fetched if it is not there.
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

    /// Makes room for one more block of a table, if any can leave.
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

    /// Begins to write a block of a table, which is not being written.
    fn write_back(&mut self, key: Key) {
        let Some(table) = self.tables.get_mut(&key) else { return };
        let Some(sums) = &table.sums else { return };
        table.writing = true;
        self.dirty.remove(&key);
        self.outputs.push_back(TableIo::Write(key, sums.clone()));
    }

    /// A change of these blocks goes to its drive; `sums` are those of its data, none of zeros.
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

    /// A change has ended, if that is one. If it has failed, nobody knows what is there, and its
    /// drive or the array has.
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

    /// A block of a table that was torn can be written if all its sums are known.
    fn note_recovered(&mut self, key: Key) {
        if self.doubts.is_damaged(key) && self.doubts.take_recovered(key) {
            self.write_again(key);
        }
    }

    /// Compares what a read has brought, by its sums, with what it should be. `since` is what
    /// [`Checksums::begin_read`] gave.
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
                    // Nothing may have changed it, and then its sum is still to be taken from it.
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

    /// Whether some of the table of a drive was read, and none of that is in doubt.
    pub(crate) fn is_known(&self, drive: DriveId) -> bool {
        let all = Key { drive: drive.0, number: 0 }..=Key { drive: drive.0, number: u64::MAX };
        let mut tables = self.tables.range(all).map(|(_, table)| table.sums.is_some());
        tables.next().is_some_and(|first| first && tables.all(|read| read))
            && !self.doubts.has_unknown(drive.0)
    }

    /// Whether a block of a table is being read.
    pub(crate) fn is_fetching(&self, key: Key) -> bool {
        self.tables.get(&key).is_some_and(|table| table.sums.is_none())
    }

    /// A read of a block of a table has failed. Asks again, a few times: without the block no data
    /// that it stands for can be read, and a drive may have an error once. Returns whether it does.
    pub(crate) fn read_again(&mut self, key: Key) -> bool {
        let Some(table) = self.tables.get_mut(&key) else { return false };
        if table.failed_reads == READS_AGAIN {
            return false;
        }
        table.failed_reads += 1;
        self.outputs.push_back(TableIo::Read(key));
        true
    }

    /// A block of a table was read; `None` if it could not be. What was changed meanwhile counts.
    ///
    /// Sums that a damaged block does not tell are lost: what is read there fits nothing, and is
    /// reconstructed. Only where the block may have been torn are its sums taken from what is read.
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

    /// Writes a block of a table for which a sync waits that could not be written before.
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

    /// Has all that was in doubt at the start read on a drive.
    pub(crate) fn recover(&mut self, drive: DriveId) {
        let ranges = self.doubts.ranges().iter();
        self.to_recover.extend(ranges.map(|range| (drive, range.clone())));
    }

    /// The next blocks to read so that their sums are known, at most so many.
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

    /// Blocks were read so that their sums are known, or could not be: one that cannot be read has
    /// no sum, and is repaired when somebody reads it.
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

    /// Whether nothing is to be read so that its sum is known.
    pub(crate) fn is_recovered(&self) -> bool {
        self.to_recover.is_empty()
    }

    /// A block of a table was written. Returns whether its drive may be synced now for which that
    /// was waited.
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

    /// A drive is to be synced so that what its table says counts: its changed blocks are written
    /// first. Returns whether there is nothing to wait for.
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
        // What has changed before it was read is not written by now.
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

    /// A drive was given up: nothing is known of it any more, and nothing is to be written to it.
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

    /// An empty drive with an empty table is in the place of one that was given up.
    pub(crate) fn drive_replaced(&mut self, drive: DriveId) {
        self.drive_gone(drive);
        self.doubts.drive_replaced(drive.0);
    }

    /// A drive that was given up is back, with the table that it had.
    pub(crate) fn drive_returned(&mut self, drive: DriveId) {
        self.drive_gone(drive);
        self.doubts.drive_returned(drive.0);
    }

    /// Panics if what is remembered does not fit together.
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
