//! The write-intent record: regions of the drives that may hold stripes whose parity does not fit
//! their data.
//!
//! Before the first write to a region its bit must be on stable storage on all drives that take
//! part; it is cleared, lazily, when the region has been quiet for a while. After a crash only the
//! marked regions are resynced. A region is the same range of bytes on all drives.
//!
//! The record is a bitmap in blocks of 4096 bytes:
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0int` |
//! | 8..12 | CRC-32 of all other bytes |
//! | 12..16 | number of the block |
//! | 16..32 | the array |
//! | 32..4096 | one bit per region |
//!
//! A block with a wrong checksum counts as all marked. The module is pure: its owner writes the
//! blocks.

use super::block::{BLOCK_BYTES, array, get_u32, is_sealed, put, seal};
use super::missed::{Missed, MissedRegions};
use super::setup::Setup;
use super::superblock::REGION_BYTES_MIN;
use super::uuid::Uuid;
use crate::planted::{Bug, Planted};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use units::{DriveId, Duration, Instant};

/// Time between two searches for quiet regions.
const TIDY_EVERY: Duration = Duration::from_secs(1);
/// Most regions of a drive.
pub const REGIONS_MAX: u64 = 65_536;
/// Start of the record in the file of each drive.
pub const INTENT_OFFSET_BYTES: u64 = 64 << 10;

const MAGIC: [u8; 8] = *b"ioda\0int";
const SUM_AT: usize = 8;
const BITS_AT: usize = 32;
const REGIONS_PER_BLOCK: usize = (BLOCK_BYTES - BITS_AT) * 8;
const WORDS_PER_BLOCK: usize = REGIONS_PER_BLOCK / 64;

/// Result of marking a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkState {
    /// Data may be written.
    Ready,
    /// Data may be written once the blocks of [`Intent::blocks_to_write`] are on stable storage:
    /// check [`Intent::is_ready`] after [`Intent::written`].
    MustWrite,
}

/// A block of the record, to be written to all drives that take part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockWrite {
    /// Number of the block, for [`Intent::written`].
    pub block: u32,
    /// Place in the file of each drive.
    pub offset_bytes: u64,
    /// Content of the block.
    pub bytes: Box<[u8; 4096]>,
}

/// Quiet regions. They become clean if they are still quiet when all drives are synced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quiet {
    /// The regions, each with the number of times that it had been marked.
    regions: Vec<(u32, u64)>,
}

impl Quiet {
    /// Number of regions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Returns true if there are no regions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// Number of writes under way.
    writers: u32,
    /// Number of times that it was marked.
    marks: u64,
    /// True if it was found marked at the start, and is not resynced yet.
    unsynced: bool,
    /// Time at which a write to it last began or ended.
    last_write: Instant,
}

#[derive(Clone, Debug, Default)]
struct BlockState {
    /// True if the desired bits differ from those last handed out.
    changed: bool,
    /// Bits that are being written.
    in_flight: Option<Box<[u64]>>,
}

/// The write-intent record of an array.
#[derive(Clone, Debug)]
pub struct Intent {
    uuid: Uuid,
    region_bytes: u64,
    quiet_for: Duration,
    regions: Vec<Region>,
    blocks: Vec<BlockState>,
    /// Desired record: a bit per region.
    wished: Vec<u64>,
    /// Bits that are set on stable storage whatever becomes of a write in flight.
    stable: Vec<u64>,
    /// Regions that absent drives missed.
    missed: Missed,
    /// Time of the next search for quiet regions.
    tidy_at: Instant,
    planted: Planted,
}

impl Intent {
    /// Suitable size of a region for a drive of `drive_bytes`, in bytes: it gives some thousands of
    /// regions.
    #[must_use]
    pub fn suitable_region_bytes(drive_bytes: u64) -> u64 {
        (drive_bytes / 8192).next_power_of_two().max(REGION_BYTES_MIN)
    }

    /// Creates the record of a new array, without marks. Regions become clean when they were not
    /// written for [`Setup::quiet_for`]. `region_bytes` is a power of two, large enough for
    /// [`REGIONS_MAX`].
    #[must_use]
    pub fn new(uuid: Uuid, drive_bytes: u64, region_bytes: u64, setup: impl Into<Setup>) -> Self {
        let Setup { quiet_for, planted, .. } = setup.into();
        let regions = drive_bytes.div_ceil(region_bytes).min(REGIONS_MAX) as usize;
        let blocks = regions.div_ceil(REGIONS_PER_BLOCK);
        Self {
            uuid,
            region_bytes,
            quiet_for,
            regions: vec![Region::default(); regions],
            blocks: vec![BlockState::default(); blocks],
            wished: vec![0; blocks * WORDS_PER_BLOCK],
            stable: vec![0; blocks * WORDS_PER_BLOCK],
            missed: Missed::new(planted),
            tidy_at: Instant::NEVER,
            planted,
        }
    }

    /// Length of the record in bytes.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    /// Merges the record of one drive: a region that is marked on any drive is marked. Call it once
    /// for each drive that takes part, before anything else.
    ///
    /// # Panics
    ///
    /// If `record` is not [`Intent::record_bytes`] long.
    pub fn recover(&mut self, record: &[u8]) {
        assert_eq!(record.len(), self.record_bytes());
        for (number, block) in record.chunks_exact(BLOCK_BYTES).enumerate() {
            let sound = block[..8] == MAGIC
                && is_sealed(block, SUM_AT)
                && get_u32(block, 12) == number as u32
                && array::<16>(block, 16) == self.uuid.0;
            for (word, bits) in block[BITS_AT..].chunks_exact(8).enumerate() {
                let bits = if sound { u64::from_le_bytes(array(bits, 0)) } else { u64::MAX };
                self.wished[number * WORDS_PER_BLOCK + word] |= bits;
            }
        }
        for (number, region) in self.regions.iter_mut().enumerate() {
            let place = place(number as u32);
            let is_marked = self.wished[place.0] >> place.1 & 1 == 1;
            region.unsynced = is_marked && !self.planted.has(Bug::ResyncForgotten);
        }
        // Clears bits of regions past the end, which an unsound block sets.
        let (word, bit) = place(self.regions.len() as u32);
        if let Some(last) = self.wished.get_mut(word) {
            *last &= (1 << bit) - 1;
            self.wished[word + 1..].fill(0);
        }
        self.rewrite();
    }

    /// Hands out all blocks again, because the records of drives may differ.
    pub fn rewrite(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.changed = true);
    }

    /// Handles a drive that has joined and may lack marks of the others. All blocks are handed out
    /// again, and no region is ready before its block was written to all drives.
    pub fn handle_drive_joined(&mut self) {
        self.stable.fill(0);
        for block in &mut self.blocks {
            block.changed = true;
            // A write under way does not go to the new drive.
            block.in_flight.iter_mut().for_each(|bits| bits.fill(0));
        }
    }

    /// Handles the failure of a drive whose superblock has one of these generations. It held all
    /// its data, or, with `again`, was being rebuilt after its return.
    pub(super) fn handle_drive_failed(
        &mut self,
        drive: DriveId,
        generations: RangeInclusive<u64>,
        again: bool,
    ) {
        match again {
            false => self.missed.handle_failed(drive, generations, &self.wished),
            true => self.missed.handle_failed_again(drive, generations, &self.wished),
        }
    }

    /// Notes a change of an absent drive that is dropped.
    pub(super) fn note_missed(&mut self, offset_bytes: u64, length_bytes: u64) {
        let last = self.region_of(offset_bytes + length_bytes - 1);
        for region in self.region_of(offset_bytes)..=last {
            let (word, bit) = place(region);
            self.missed.note(word, bit);
        }
    }

    /// Forgets the missed regions of a drive that holds all its data, or was replaced by an empty
    /// one.
    pub(super) fn forget_missed(&mut self, drive: DriveId) {
        self.missed.forget(drive);
    }

    /// Regions that a drive missed since it failed during this run; `None` if it may have missed
    /// any region.
    #[must_use]
    pub fn missed(&self, drive: DriveId) -> Option<&MissedRegions> {
        self.missed.of(drive)
    }

    /// The bug that is planted.
    pub(crate) const fn planted(&self) -> Planted {
        self.planted
    }

    /// Number of regions.
    #[must_use]
    pub fn regions(&self) -> u32 {
        self.regions.len() as u32
    }

    /// Region of the byte at this offset of a drive.
    #[must_use]
    pub fn region_of(&self, offset_bytes: u64) -> u32 {
        (offset_bytes / self.region_bytes) as u32
    }

    /// Bytes of a region; the last region may be shorter, at the end of the drive.
    #[must_use]
    pub fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    /// Begins a write to the region. Every call needs one [`Intent::finish`].
    pub fn mark(&mut self, now: Instant, region: u32) -> MarkState {
        let about = &mut self.regions[region as usize];
        about.writers += 1;
        about.marks += 1;
        about.last_write = now;
        self.tidy_at = self.tidy_at.min(now + TIDY_EVERY);
        let (word, bit) = place(region);
        self.missed.note(word, bit);
        if self.wished[word] >> bit & 1 == 0 {
            self.wished[word] |= 1 << bit;
            self.blocks[word / WORDS_PER_BLOCK].changed = true;
        }
        if self.is_ready(region) { MarkState::Ready } else { MarkState::MustWrite }
    }

    /// Returns true if the region is marked on stable storage, so that data may be written.
    #[must_use]
    pub fn is_ready(&self, region: u32) -> bool {
        let (word, bit) = place(region);
        (self.wished[word] & self.stable[word]) >> bit & 1 == 1
    }

    /// Returns true if the region is marked, or will be as soon as its block is written.
    #[must_use]
    pub fn is_marked(&self, region: u32) -> bool {
        let (word, bit) = place(region);
        self.wished[word] >> bit & 1 == 1
    }

    /// Returns true if any region is marked.
    #[must_use]
    pub fn has_marks(&self) -> bool {
        self.wished.iter().any(|&bits| bits != 0)
    }

    /// Ends a write that was marked: its data and parity are written, or it never began. Do not
    /// call it for a write that failed halfway and left its stripe torn: its region stays marked.
    pub fn finish(&mut self, now: Instant, region: u32) {
        let about = &mut self.regions[region as usize];
        assert!(about.writers > 0, "a write to region {region} is over, and none was begun");
        about.writers -= 1;
        about.last_write = now;
    }

    /// Returns blocks to be written to all drives that take part, on stable storage. A block is not
    /// handed out again before [`Intent::written`] or [`Intent::not_written`].
    pub fn blocks_to_write(&mut self) -> Vec<BlockWrite> {
        let mut writes = Vec::new();
        for number in 0..self.blocks.len() {
            let words = number * WORDS_PER_BLOCK..(number + 1) * WORDS_PER_BLOCK;
            let block = &mut self.blocks[number];
            if !block.changed || block.in_flight.is_some() {
                continue;
            }
            block.changed = false;
            block.in_flight = Some(self.wished[words.clone()].into());
            // From now on, a bit that is being cleared may be missing on the drives.
            let bits = self.stable[words.clone()].iter_mut().zip(&self.wished[words]);
            bits.for_each(|(stable, wished)| *stable &= wished);
            writes.push(self.block(number));
        }
        writes
    }

    /// All blocks with their desired content, for a drive that joins.
    #[must_use]
    pub fn all_blocks(&self) -> Vec<BlockWrite> {
        (0..self.blocks.len()).map(|number| self.block(number)).collect()
    }

    /// Notes that the block is on stable storage on all drives that take part.
    pub fn written(&mut self, block: u32) {
        let words = block as usize * WORDS_PER_BLOCK..(block as usize + 1) * WORDS_PER_BLOCK;
        let bits = self.blocks[block as usize].in_flight.take();
        let bits = bits.unwrap_or_else(|| panic!("block {block} of marks was not being written"));
        self.stable[words].copy_from_slice(&bits);
    }

    /// Notes that the block could not be written; it is handed out again.
    pub fn not_written(&mut self, block: u32) {
        let state = &mut self.blocks[block as usize];
        assert!(state.in_flight.is_some(), "block {block} of marks was not being written");
        state.in_flight = None;
        state.changed = true;
    }

    /// Starts the array: the search for quiet regions includes those found marked.
    pub(super) fn start(&mut self) {
        let first = Instant::ZERO + TIDY_EVERY;
        self.tidy_at = if self.has_marks() { first } else { Instant::NEVER };
    }

    /// Time at which to call [`Intent::is_tidy_due`].
    pub(super) const fn next_deadline(&self) -> Instant {
        self.tidy_at
    }

    /// Returns true if a search for quiet regions is due. The next one is due later, or never while
    /// nothing is marked.
    pub(super) fn is_tidy_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.tidy_at;
        if is_due {
            self.tidy_at = if self.has_marks() { now + TIDY_EVERY } else { Instant::NEVER };
        }
        is_due
    }

    /// Returns regions without a write now or within [`Setup::quiet_for`]. Sync all drives after
    /// this call, then pass the regions to [`Intent::clean`].
    #[must_use]
    pub fn quiet(&self, now: Instant) -> Quiet {
        let regions = self.regions.iter().enumerate().filter(|(number, region)| {
            let (word, bit) = place(*number as u32);
            self.wished[word] >> bit & 1 == 1
                && region.writers == 0
                && !region.unsynced
                && now.since(region.last_write) >= self.quiet_for
        });
        Quiet { regions: regions.map(|(number, region)| (number as u32, region.marks)).collect() }
    }

    /// Clears the marks of regions that were not marked again since; all drives were synced.
    pub fn clean(&mut self, quiet: &Quiet) {
        for &(number, marks) in &quiet.regions {
            let region = &self.regions[number as usize];
            let is_quiet = region.marks == marks;
            assert!(
                !is_quiet || region.writers == 0,
                "the mark of region {number} is taken back, and it is being written"
            );
            if is_quiet || self.planted.has(Bug::MarkClearedWhileWriting) {
                let (word, bit) = place(number);
                self.wished[word] &= !(1 << bit);
                self.blocks[word / WORDS_PER_BLOCK].changed = true;
            }
        }
    }

    /// Regions that were found marked at the start and are not resynced yet.
    #[must_use]
    pub fn dirty_regions(&self) -> Vec<u32> {
        let dirty = self.regions.iter().enumerate().filter(|(_, region)| region.unsynced);
        dirty.map(|(number, _)| number as u32).collect()
    }

    /// Returns true if regions that were found marked at the start are not resynced yet.
    #[must_use]
    pub fn is_resyncing(&self) -> bool {
        self.regions.iter().any(|region| region.unsynced)
    }

    /// Notes that the parity of every stripe of the region fits its data; the region can become
    /// clean.
    pub fn resynced(&mut self, region: u32) {
        self.regions[region as usize].unsynced = false;
    }

    fn block(&self, number: usize) -> BlockWrite {
        let mut bytes = Box::new([0; BLOCK_BYTES]);
        put(&mut *bytes, 0, &MAGIC);
        put(&mut *bytes, 12, &(number as u32).to_le_bytes());
        put(&mut *bytes, 16, &self.uuid.0);
        let words = &self.wished[number * WORDS_PER_BLOCK..(number + 1) * WORDS_PER_BLOCK];
        for (index, word) in words.iter().enumerate() {
            put(&mut *bytes, BITS_AT + index * 8, &word.to_le_bytes());
        }
        seal(&mut *bytes, SUM_AT);
        let offset_bytes = INTENT_OFFSET_BYTES + (number * BLOCK_BYTES) as u64;
        BlockWrite { block: number as u32, offset_bytes, bytes }
    }
}

/// Index of the word, and the bit in it, of a region.
fn place(region: u32) -> (usize, u32) {
    (region as usize / 64, region % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const UUID: Uuid = Uuid([3; 16]);
    const MIB: u64 = 1 << 20;
    const QUIET: Duration = Duration::from_secs(5);

    fn seconds(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn record(intent: &Intent) -> Vec<u8> {
        intent.all_blocks().into_iter().flat_map(|write| *write.bytes).collect()
    }

    fn dirty(like: &Intent, records: &[Vec<u8>]) -> Vec<u32> {
        let mut again = Intent::new(UUID, like.regions.len() as u64 * MIB, MIB, QUIET);
        records.iter().for_each(|record| again.recover(record));
        again.dirty_regions()
    }

    #[test]
    fn a_region_waits_for_its_mark_once() {
        let mut intent = Intent::new(UUID, 100 * MIB, MIB, QUIET);
        assert_eq!((intent.regions(), intent.region_of(7 * MIB + 1)), (100, 7));
        assert_eq!(intent.mark(seconds(0), 7), MarkState::MustWrite);
        let writes = intent.blocks_to_write();
        assert_eq!(writes.len(), 1);
        assert_eq!(writes[0].offset_bytes, INTENT_OFFSET_BYTES);
        assert!(!intent.is_ready(7) && intent.blocks_to_write().is_empty());
        // A mark that comes while the first is being written has to wait for the next write.
        assert_eq!(intent.mark(seconds(0), 8), MarkState::MustWrite);
        intent.written(0);
        assert!(intent.is_ready(7) && !intent.is_ready(8));
        assert_eq!(intent.mark(seconds(0), 7), MarkState::Ready);
        assert_eq!(intent.blocks_to_write().len(), 1);
        intent.not_written(0);
        assert!(!intent.is_ready(8));
        assert_eq!(intent.blocks_to_write().len(), 1, "again");
        intent.written(0);
        assert!(intent.is_ready(8) && intent.blocks_to_write().is_empty());
    }

    #[test]
    fn quiet_regions_become_clean_after_a_sync() {
        let mut intent = Intent::new(UUID, 100 * MIB, MIB, QUIET);
        for region in [1, 2, 3] {
            intent.mark(seconds(0), region);
        }
        intent.blocks_to_write();
        intent.written(0);
        intent.finish(seconds(1), 1);
        intent.finish(seconds(1), 2);
        assert!(intent.quiet(seconds(5)).is_empty(), "not for long enough");
        let quiet = intent.quiet(seconds(6));
        assert_eq!(quiet.len(), 2, "region 3 is being written");
        // Region 2 is written while the drives are synced.
        assert_eq!(intent.mark(seconds(7), 2), MarkState::Ready);
        intent.finish(seconds(7), 2);
        intent.clean(&quiet);
        assert_eq!(dirty(&intent, &[record(&intent)]), [2, 3]);
        assert_eq!(intent.mark(seconds(8), 1), MarkState::Ready, "the old mark still stands");
        intent.finish(seconds(8), 1);

        let quiet = intent.quiet(seconds(20));
        intent.clean(&quiet);
        assert_eq!(intent.blocks_to_write().len(), 1);
        assert_eq!(intent.mark(seconds(21), 1), MarkState::MustWrite, "it may be gone");
    }

    #[test]
    fn what_was_dirty_at_the_start_stays_so_until_it_is_resynced() {
        let mut before = Intent::new(UUID, 100 * MIB, MIB, QUIET);
        before.mark(seconds(0), 5);
        let mut intent = Intent::new(UUID, 100 * MIB, MIB, QUIET);
        intent.recover(&record(&before));
        assert_eq!(intent.dirty_regions(), [5]);
        assert_eq!(intent.blocks_to_write().len(), 1, "drives may differ");
        intent.written(0);
        assert_eq!(intent.mark(seconds(1), 5), MarkState::Ready);
        intent.finish(seconds(1), 5);
        assert!(intent.quiet(seconds(99)).is_empty());
        intent.resynced(5);
        assert_eq!((intent.dirty_regions().len(), intent.quiet(seconds(99)).len()), (0, 1));
    }

    #[test]
    fn a_torn_block_is_all_dirty() {
        let clean = Intent::new(UUID, 40_000 * MIB, MIB, QUIET);
        let sound = record(&clean);
        assert_eq!((sound.len(), dirty(&clean, core::slice::from_ref(&sound))), (8192, vec![]));
        for (at, regions) in
            [(100, 0..32_512), (4096 + 4000, 32_512..40_000), (4096, 32_512..40_000)]
        {
            let mut torn = sound.clone();
            torn[at] ^= 0x10;
            let expected: Vec<u32> = regions.collect();
            assert_eq!(dirty(&clean, &[sound.clone(), torn]), expected);
        }
        let swapped = [&sound[4096..], &sound[..4096]].concat();
        assert_eq!(dirty(&clean, &[swapped]).len(), 40_000, "blocks have their numbers");
        let mut other = Intent::new(Uuid([4; 16]), 40_000 * MIB, MIB, QUIET);
        other.recover(&sound);
        assert_eq!(other.dirty_regions().len(), 40_000, "another array's record says nothing");
    }

    #[test]
    fn regions_suit_drives_of_any_size() {
        for shift in 12..=62 {
            let bytes = 1u64 << shift;
            let region = Intent::suitable_region_bytes(bytes);
            assert!(region.is_power_of_two() && region >= REGION_BYTES_MIN);
            assert!(bytes.div_ceil(region) <= REGIONS_MAX, "{bytes}");
        }
    }

    /// Regions of a block.
    const OF_BLOCK: u32 = REGIONS_PER_BLOCK as u32;

    /// Regions that are marked in a block to be written.
    fn marks(write: &BlockWrite) -> Vec<u32> {
        let is_marked = |region: &u32| {
            let bit = region % OF_BLOCK;
            write.bytes[BITS_AT + bit as usize / 8] >> (bit % 8) & 1 == 1
        };
        (write.block * OF_BLOCK..(write.block + 1) * OF_BLOCK).filter(is_marked).collect()
    }

    #[test]
    fn each_block_is_written_for_itself() {
        let mut intent = Intent::new(UUID, REGIONS_MAX * MIB, MIB, QUIET);
        assert_eq!((intent.regions(), intent.record_bytes()), (65_536, 3 * BLOCK_BYTES));
        assert!(!intent.has_marks() && intent.blocks_to_write().is_empty());
        // Regions at the ends of words and of blocks.
        let regions = [0, 63, 64, 200, OF_BLOCK - 1, OF_BLOCK, 2 * OF_BLOCK + 70, 65_535];
        for region in regions {
            assert!(!intent.is_marked(region));
            assert_eq!(intent.mark(seconds(0), region), MarkState::MustWrite);
            assert!(intent.is_marked(region) && intent.has_marks());
        }
        assert!(!intent.is_marked(1) && !intent.is_marked(65));
        let writes = intent.blocks_to_write();
        let places: Vec<(u32, u64)> = writes.iter().map(|w| (w.block, w.offset_bytes)).collect();
        let places_at = [0, 1, 2].map(|number| INTENT_OFFSET_BYTES + number * 4096);
        assert_eq!(places, [(0, places_at[0]), (1, places_at[1]), (2, places_at[2])]);
        let marked: Vec<u32> = writes.iter().flat_map(marks).collect();
        assert_eq!(marked, regions);
        assert_eq!(intent.all_blocks(), writes);
        assert_eq!(dirty(&intent, &[record(&intent)]), regions);
        // Each region is stable when its block is written, and no other region with it.
        for written in [1, 0, 2] {
            let is_ready = |intent: &Intent| regions.map(|region| intent.is_ready(region));
            let expected =
                regions.map(|region| intent.is_ready(region) || region / OF_BLOCK == written);
            intent.written(written);
            assert_eq!(is_ready(&intent), expected);
        }
        assert_eq!(intent.mark(seconds(0), 63), MarkState::Ready);
        assert!(intent.blocks_to_write().is_empty(), "it is marked already");
        // A changed bit has its own block written again, and no other block.
        for region in [OF_BLOCK, 64] {
            intent.finish(seconds(1), region);
        }
        let quiet = intent.quiet(seconds(6));
        assert_eq!((quiet.len(), quiet.is_empty()), (2, false));
        intent.clean(&quiet);
        assert!(!intent.is_marked(64) && !intent.is_marked(OF_BLOCK) && intent.is_marked(63));
        let writes = intent.blocks_to_write();
        assert_eq!(writes.iter().map(|write| write.block).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(marks(&writes[0]), [0, 63, 200, OF_BLOCK - 1]);
        assert!(marks(&writes[1]).is_empty());
        intent.written(0);
        intent.not_written(1);
        let again = intent.blocks_to_write();
        assert_eq!(again, writes[1..]);
        intent.written(1);
        assert_eq!(intent.mark(seconds(7), 2 * OF_BLOCK + 71), MarkState::MustWrite);
        assert_eq!(intent.blocks_to_write()[0].block, 2);
        intent.written(2);
        // A region whose word is in no block of the same number.
        intent.finish(seconds(7), 2 * OF_BLOCK + 70);
        intent.clean(&intent.quiet(seconds(12)));
        let writes = intent.blocks_to_write();
        assert_eq!((writes.len(), writes[0].block), (1, 2));
        assert_eq!(marks(&writes[0]), [2 * OF_BLOCK + 71, 65_535]);
    }

    #[test]
    fn a_damaged_block_marks_no_region_past_the_end() {
        let regions = OF_BLOCK + 3;
        let bytes = u64::from(regions) * MIB;
        let mut intent = Intent::new(UUID, bytes, MIB, QUIET);
        let mut record = record(&intent);
        record[BLOCK_BYTES + 100] ^= 1;
        intent.recover(&record);
        assert!(intent.is_resyncing() && intent.has_marks());
        assert_eq!(intent.dirty_regions(), [OF_BLOCK, OF_BLOCK + 1, OF_BLOCK + 2]);
        assert_eq!(marks(&intent.blocks_to_write()[1]), intent.dirty_regions());
        intent.written(0);
        intent.written(1);
        for region in OF_BLOCK..regions {
            assert!(intent.is_resyncing());
            intent.resynced(region);
        }
        assert!(!intent.is_resyncing());
        intent.clean(&intent.quiet(seconds(9)));
        assert!(!intent.has_marks());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Mark(u32),
        Finish(u32),
        HandOut,
        Land,
        Fail,
        BeginClean,
        EndClean,
        Later,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u32..40).prop_map(Step::Mark),
            4 => (0u32..40).prop_map(Step::Finish),
            2 => Just(Step::HandOut),
            2 => Just(Step::Land),
            1 => Just(Step::Fail),
            2 => Just(Step::BeginClean),
            2 => Just(Step::EndClean),
            1 => Just(Step::Later),
        ]
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        /// Whenever the power fails, every region whose data may have changed since the last sync
        /// is found dirty, whether or not the block in flight was written.
        #[test]
        fn a_crash_finds_every_region_that_was_written(
            steps in proptest::collection::vec(step(), 0..120),
        ) {
            let mut intent = Intent::new(UUID, 40 * MIB, MIB, QUIET);
            let mut disk = record(&intent);
            let mut in_flight: Option<Vec<u8>> = None;
            let mut quiet: Option<Quiet> = None;
            let mut now = 0;
            // Regions that are marked, with writes that have not begun because the mark is not
            // stable.
            let mut waiting: Vec<u32> = Vec::new();
            let mut writing: Vec<u32> = Vec::new();
            let mut unsynced: BTreeSet<u32> = BTreeSet::new();
            // The unsynced regions whose writes had ended when the sync began.
            let mut syncing: BTreeSet<u32> = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Mark(region) => match intent.mark(seconds(now), region) {
                        MarkState::Ready => writing.push(region),
                        MarkState::MustWrite => waiting.push(region),
                    },
                    Step::Finish(region) => {
                        if let Some(at) = writing.iter().position(|&other| other == region) {
                            writing.remove(at);
                            intent.finish(seconds(now), region);
                        }
                    }
                    Step::HandOut => {
                        if let Some(write) = intent.blocks_to_write().pop() {
                            prop_assert!(in_flight.is_none());
                            in_flight = Some(write.bytes.to_vec());
                        }
                    }
                    Step::Land => {
                        if let Some(bytes) = in_flight.take() {
                            disk = bytes;
                            intent.written(0);
                        }
                    }
                    Step::Fail => {
                        if in_flight.take().is_some() {
                            intent.not_written(0);
                        }
                    }
                    Step::BeginClean => {
                        quiet = Some(intent.quiet(seconds(now)));
                        syncing = unsynced.iter().copied().filter(|r| !writing.contains(r)).collect();
                    }
                    Step::EndClean => {
                        if let Some(quiet) = quiet.take() {
                            unsynced.retain(|region| !syncing.contains(region));
                            intent.clean(&quiet);
                        }
                    }
                    Step::Later => now += 6,
                }
                for region in core::mem::take(&mut waiting) {
                    if intent.is_ready(region) {
                        writing.push(region);
                    } else {
                        waiting.push(region);
                    }
                }
                // A write makes its region unsynced for as long as it lasts, whatever is synced.
                unsynced.extend(&writing);
                syncing.retain(|region| !writing.contains(region));
                for crashed in core::iter::once(&disk).chain(&in_flight) {
                    let dirty = dirty(&intent, core::slice::from_ref(crashed));
                    for region in &unsynced {
                        prop_assert!(dirty.contains(region), "region {region} is lost");
                    }
                }
            }
        }
    }
}
