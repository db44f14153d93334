//! A simulated disk that loses, keeps or tears unsynced writes in a power cut.
//!
//! Reads and writes are of whole blocks of 4096 bytes; a power cut is decided for each sector of
//! 512 bytes. A sector keeps its last synced content, or any version written since: a cache may
//! write versions back in any order.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use units::Rng;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 4096;
/// Bytes of a sector, which is written as a whole or not at all.
pub(super) const SECTOR_BYTES: usize = 512;

/// Content of a block; `None` is zeros.
pub(super) type Block = Option<Arc<[u8; BLOCK_BYTES]>>;

/// Content of a run of blocks to be written.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Whole blocks.
    Bytes(Arc<Vec<u8>>),
    /// This number of blocks of zeros.
    Zeros(u64),
}

/// A write into the file of a drive, head included.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) offset_bytes: u64,
    pub(super) content: Content,
    /// True if it is on stable storage when it ends.
    pub(super) forced: bool,
}

impl Write {
    fn first_block(&self) -> u64 {
        self.offset_bytes / BLOCK_BYTES as u64
    }

    fn blocks(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => (bytes.len() / BLOCK_BYTES) as u64,
            Content::Zeros(blocks) => *blocks,
        }
    }

    fn block(&self, index: u64) -> Block {
        let Content::Bytes(bytes) = &self.content else { return None };
        let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
        blocks.get(index as usize).map(|block| Arc::new(*block))
    }

    fn each(&self) -> impl Iterator<Item = (u64, Block)> + '_ {
        let first = self.first_block();
        (0..self.blocks()).map(move |index| (first + index, self.block(index)))
    }
}

/// Choice of the unsynced writes that a power cut keeps on a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// All are kept: the cache was written back just before.
    Nothing,
    /// None are kept.
    Everything,
    /// The writes that ended first are kept, up to some moment.
    Later,
    /// Each write is kept as a whole, or not at all.
    Writes,
    /// Each sector is kept or lost on its own.
    Sectors,
}

impl Loss {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Nothing, Self::Everything, Self::Later, Self::Writes, Self::Sectors];
}

/// Faults of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Faults {
    /// All its commands fail.
    pub(super) dead: bool,
    /// Number of writes that will fail.
    pub(super) write_errors: u32,
    /// Number of syncs that will fail; each loses a part of the unsynced writes.
    pub(super) sync_errors: u32,
    /// Number of reads that will fail.
    pub(super) read_errors: u32,
    /// Blocks that were never written cannot be written.
    pub(super) full: bool,
    /// Number of commands that will take a hundred times as long.
    pub(super) slow: u32,
    /// Silent fault of the next write of data.
    pub(super) silent: Option<Silent>,
}

/// Silent fault: a write is answered as if it had been done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Silent {
    /// The write is not done.
    Lost,
    /// The write is done this number of blocks further on.
    Misdirected(u64),
}

/// A damaged block.
#[derive(Clone, Debug)]
struct Damage {
    right: Block,
    wrong: Block,
}

/// Reason for which a command did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DiskError {
    /// The device failed the command.
    Failed,
    /// The power has failed.
    PowerCut,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "the device says no",
            Self::PowerCut => "the power is gone",
        })
    }
}

/// A simulated disk.
#[derive(Clone, Debug, Default)]
pub(super) struct SimDisk {
    stable: BTreeMap<u64, Block>,
    /// Unsynced versions of each block, the oldest first, with the numbers of their writes.
    unsynced: BTreeMap<u64, Vec<(u64, Block)>>,
    /// Writes in flight, by the tag of their command.
    in_flight: BTreeMap<u64, Write>,
    /// Number of writes that have ended.
    ended: u64,
    /// Blocks that were damaged and may still be.
    damage: BTreeMap<u64, Damage>,
    pub(super) faults: Faults,
    /// True if the head may hold no sound superblock of the array: the drive is then refused for
    /// formatting.
    pub(super) is_strange: bool,
}

impl SimDisk {
    /// Begins a write. A dead disk takes no more writes; writes in flight at its death may be torn.
    pub(super) fn begin(&mut self, tag: u64, write: Write) {
        if !self.faults.dead {
            self.in_flight.insert(tag, write);
        }
    }

    /// Ends a write.
    pub(super) fn end(&mut self, tag: u64) {
        if let Some(write) = self.in_flight.remove(&tag) {
            self.apply(&write);
        }
    }

    /// Ends a write of one block of data with a silent fault.
    pub(super) fn end_silently(&mut self, tag: u64, silent: Silent, data: Range<u64>) {
        let Some(write) = self.in_flight.remove(&tag) else { return };
        self.ended += 1;
        for (block, right) in write.each() {
            if let Silent::Misdirected(by) = silent {
                let other = data.start + (block - data.start + by) % (data.end - data.start);
                self.spoil(other, right.clone());
            }
            let wrong = self.current(block).clone();
            // Only one damage of a block is recorded. An earlier one may lie below a later write.
            if self.damage.get(&block).is_some_and(|earlier| earlier.wrong != wrong) {
                self.heal(block);
            }
            self.damage.insert(block, Damage { right, wrong });
        }
    }

    /// Flips a bit of a block.
    pub(super) fn flip(&mut self, block: u64, bit: usize) {
        let mut bytes = self.current(block).as_ref().map_or([0; BLOCK_BYTES], |bytes| **bytes);
        bytes[bit / 8 % BLOCK_BYTES] ^= 1 << (bit % 8);
        self.spoil(block, Some(Arc::new(bytes)));
    }

    /// Replaces the content of a block by other data.
    pub(super) fn spoil(&mut self, block: u64, wrong: Block) {
        let current = self.current(block);
        let right = match self.damage.get(&block) {
            Some(Damage { right, wrong }) if wrong == current => right.clone(),
            _ => current.clone(),
        };
        self.put(block, wrong.clone(), true);
        self.damage.insert(block, Damage { right, wrong });
    }

    /// Returns true if a block is damaged. A rewritten block counts as damaged until the rewrite is
    /// stable: a power cut would bring the damage back.
    pub(super) fn is_damaged(&self) -> bool {
        self.damage.iter().any(|(block, Damage { right, wrong })| {
            let versions = self.unsynced.get(block).into_iter().flatten();
            let stable = self.stable.get(block).unwrap_or(&None);
            wrong != right
                && versions.map(|(_, content)| content).chain([stable]).any(|at| at == wrong)
        })
    }

    /// Restores all damaged blocks.
    pub(super) fn undo_damage(&mut self) {
        self.undo_damage_where(|_, _| true);
    }

    /// Restores the damaged blocks that `is_it` selects.
    pub(super) fn undo_damage_where(&mut self, is_it: impl Fn(&Self, u64) -> bool) {
        self.faults.silent = None;
        self.heal_where(is_it);
    }

    /// Keeps the content of these blocks, and no longer counts it as damage.
    pub(super) fn forget_damage(&mut self, blocks: Range<u64>) {
        self.damage.retain(|block, _| !blocks.contains(block));
    }

    /// Returns true if a forced write is in flight.
    pub(super) fn is_forcing(&self) -> bool {
        self.in_flight.values().any(|write| write.forced)
    }

    /// Returns true if any of these blocks is being written.
    pub(super) fn is_writing(&self, blocks: &Range<u64>) -> bool {
        self.in_flight.values().any(|write| {
            let first = write.first_block();
            first < blocks.end && blocks.start < first + write.blocks()
        })
    }

    /// Returns true if any of these blocks is being written, or has unsynced writes.
    pub(super) fn is_unstable(&self, blocks: &Range<u64>) -> bool {
        self.unsynced.range(blocks.clone()).next().is_some() || self.is_writing(blocks)
    }

    /// Returns true if a block is being written, or has unsynced writes.
    pub(super) fn is_unsettled(&self, block: u64) -> bool {
        self.is_unstable(&(block..block + 1))
    }

    /// Fails a write: any of its sectors may have been written. Its blocks are healed before they
    /// are torn. A block that is half damaged looks like a torn one, and the array need not bear
    /// both at once.
    pub(super) fn end_failed(&mut self, tag: u64, rng: &mut Rng) {
        let Some(write) = self.in_flight.remove(&tag) else { return };
        for (block, new) in write.each() {
            self.heal(block);
            let mixed = mix(self.current(block), &new, rng);
            self.put(block, mixed, false);
        }
    }

    /// Heals the damaged blocks that `is_it` selects.
    fn heal_where(&mut self, is_it: impl Fn(&Self, u64) -> bool) {
        let blocks: Vec<u64> =
            self.damage.keys().copied().filter(|block| is_it(self, *block)).collect();
        blocks.into_iter().for_each(|block| self.heal(block));
    }

    /// Replaces the wrong content of a block by the right one, stable or not.
    fn heal(&mut self, block: u64) {
        let Some(Damage { right, wrong }) = self.damage.remove(&block) else { return };
        let versions = self.unsynced.get_mut(&block).into_iter().flatten();
        let stable = self.stable.entry(block).or_default();
        let contents = versions.map(|(_, content)| content).chain([stable]);
        contents.filter(|content| **content == wrong).for_each(|content| *content = right.clone());
    }

    fn apply(&mut self, write: &Write) {
        self.ended += 1;
        for (block, content) in write.each() {
            // The damage is now the content that was written.
            if self.damage.get(&block).is_some_and(|damage| damage.wrong == content) {
                self.damage.remove(&block);
            }
            self.put(block, content, write.forced);
        }
    }

    fn put(&mut self, block: u64, content: Block, forced: bool) {
        if forced {
            self.unsynced.remove(&block);
            self.stable.insert(block, content);
        } else {
            self.unsynced.entry(block).or_default().push((self.ended, content));
        }
    }

    /// Number of the last write that a sync which begins now covers.
    pub(super) fn sync_covers(&self) -> u64 {
        self.ended
    }

    /// Ends a sync that covers the writes up to this number.
    pub(super) fn synced(&mut self, covered: u64) {
        let stable = &mut self.stable;
        self.unsynced.retain(|&block, versions| {
            let count = versions.partition_point(|(number, _)| *number <= covered);
            if let Some((_, content)) = versions.drain(..count).next_back() {
                stable.insert(block, content);
            }
            !versions.is_empty()
        });
    }

    /// Fails a sync: the writes that it covers, and those in flight, may be lost.
    pub(super) fn sync_failed(&mut self, rng: &mut Rng) {
        // Some systems mark pages that could not be written as clean, and drop them.
        if rng.below(2) == 0 {
            // The cut tears these blocks. They are healed first, as in `end_failed`.
            self.heal_where(Self::is_unsettled);
            self.cut(Loss::Sectors, rng);
        }
    }

    /// Content of a block, as a read finds it.
    pub(super) fn current(&self, block: u64) -> &Block {
        match self.unsynced.get(&block).and_then(|versions| versions.last()) {
            Some((_, content)) => content,
            None => self.stable.get(&block).unwrap_or(&None),
        }
    }

    /// Returns true if a write is of exactly one block of these.
    pub(super) fn is_one_block_of(&self, tag: u64, data: &Range<u64>) -> bool {
        self.in_flight
            .get(&tag)
            .is_some_and(|write| write.blocks() == 1 && data.contains(&write.first_block()))
    }

    /// Returns true if a write has no room: the disk is full, and one of its blocks was never
    /// written.
    pub(super) fn has_no_room(&self, tag: u64) -> bool {
        let Some(write) = self.in_flight.get(&tag).filter(|_| self.faults.full) else {
            return false;
        };
        let first = write.first_block();
        matches!(write.content, Content::Bytes(_))
            && (first..first + write.blocks()).any(|block| self.current(block).is_none())
    }

    /// Blocks of these with content.
    pub(super) fn blocks_with_data(&self, blocks: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let stable = self.stable.range(blocks.clone()).map(|(block, _)| *block);
        let unsynced = self.unsynced.range(blocks).map(|(block, _)| *block);
        stable.chain(unsynced).filter(|block| self.current(*block).is_some())
    }

    /// Reads blocks.
    pub(super) fn read_blocks(&self, offset_bytes: u64, into: &mut [u8]) {
        let first = offset_bytes / BLOCK_BYTES as u64;
        for (block, into) in (first..).zip(into.chunks_exact_mut(BLOCK_BYTES)) {
            match self.current(block) {
                Some(bytes) => into.copy_from_slice(&bytes[..]),
                None => into.fill(0),
            }
        }
    }

    /// Cuts the power: what is left is on stable storage.
    pub(super) fn cut(&mut self, loss: Loss, rng: &mut Rng) {
        let in_flight = std::mem::take(&mut self.in_flight);
        let begun = self.ended;
        let last_kept = rng.below(self.ended + 1);
        for (number, write) in (begun + 1..).zip(in_flight.into_values()) {
            for (block, content) in write.each() {
                self.unsynced.entry(block).or_default().push((number, content));
            }
        }
        // The fate of a write depends only on its number and this cut, so that all its blocks
        // agree.
        let salt = rng.next_u64();
        let keeps = |number: u64| match loss {
            Loss::Nothing => true,
            Loss::Everything => false,
            Loss::Later => number <= last_kept,
            Loss::Writes | Loss::Sectors => Rng::new(salt ^ number).below(2) == 0,
        };
        for (block, versions) in std::mem::take(&mut self.unsynced) {
            let mut content = self.stable.get(&block).cloned().flatten();
            for (number, version) in versions {
                content = match loss {
                    Loss::Sectors => mix(&content, &version, rng),
                    _ if keeps(number) => version,
                    _ => content,
                };
            }
            self.stable.insert(block, content);
        }
    }
}

/// Returns each sector of `new`, or the one of `old`.
fn mix(old: &Block, new: &Block, rng: &mut Rng) -> Block {
    let zeros = [0; BLOCK_BYTES];
    let mut mixed = old.as_ref().map_or(zeros, |bytes| **bytes);
    let new = new.as_ref().map_or(&zeros, |bytes| &**bytes);
    let keep = rng.next_u64();
    for sector in 0..BLOCK_BYTES / SECTOR_BYTES {
        if keep >> sector & 1 == 1 {
            let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
            mixed[range.clone()].copy_from_slice(&new[range]);
        }
    }
    Some(Arc::new(mixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(block: u64, byte: u8, forced: bool) -> Write {
        let content = Content::Bytes(Arc::new(vec![byte; BLOCK_BYTES]));
        Write { offset_bytes: block * BLOCK_BYTES as u64, content, forced }
    }

    fn bytes(disk: &SimDisk, block: u64) -> Vec<u8> {
        let mut into = vec![0; BLOCK_BYTES];
        disk.read_blocks(block * BLOCK_BYTES as u64, &mut into);
        into
    }

    #[test]
    fn what_was_synced_survives_and_what_was_not_may() {
        for loss in Loss::ALL {
            for seed in 0..50 {
                let mut rng = Rng::new(seed);
                let mut disk = SimDisk::default();
                disk.begin(1, write(0, 1, false));
                disk.end(1);
                let covered = disk.sync_covers();
                disk.begin(2, write(0, 2, false));
                disk.end(2);
                disk.synced(covered);
                disk.begin(3, write(1, 3, true));
                disk.end(3);
                disk.begin(4, write(0, 4, false));
                assert_eq!(bytes(&disk, 0), [2; BLOCK_BYTES], "in flight is not there yet");
                disk.cut(loss, &mut rng);
                assert_eq!(bytes(&disk, 1), [3; BLOCK_BYTES]);
                let found = bytes(&disk, 0);
                assert!(found.chunks(SECTOR_BYTES).all(|sector| {
                    matches!(sector[0], 1 | 2 | 4) && sector.iter().all(|byte| *byte == sector[0])
                }));
                match loss {
                    Loss::Nothing => assert_eq!(found[0], 4),
                    Loss::Everything => assert_eq!(found[0], 1),
                    _ => {}
                }
            }
        }
    }

    /// A write or sync that fails does not mix damage with written content.
    #[test]
    fn a_damaged_block_is_torn_as_if_it_were_not_damaged() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut disk = SimDisk::default();
            disk.begin(1, write(0, 1, true));
            disk.end(1);
            disk.spoil(0, Some(Arc::new([9; BLOCK_BYTES])));
            disk.begin(2, write(0, 2, false));
            match seed % 2 {
                0 => disk.end_failed(2, &mut rng),
                _ => {
                    disk.end(2);
                    disk.sync_failed(&mut rng);
                }
            }
            let is_torn = seed % 2 == 0 || disk.unsynced.is_empty();
            disk.cut(Loss::Sectors, &mut rng);
            if is_torn {
                assert!(bytes(&disk, 0).iter().all(|byte| matches!(byte, 1 | 2)), "seed {seed}");
                assert!(!disk.is_damaged());
            }
        }
    }

    /// Two writes of a block are lost, with an unsynced write between them. After a cut neither
    /// damage remains.
    #[test]
    fn two_damages_of_a_block_are_taken_back() {
        for loss in Loss::ALL {
            for seed in 0..50 {
                let mut disk = SimDisk::default();
                disk.begin(1, write(0, 1, true));
                disk.end(1);
                disk.begin(2, write(0, 2, true));
                disk.end_silently(2, Silent::Lost, 0..8);
                disk.begin(3, write(0, 3, false));
                disk.end(3);
                disk.begin(4, write(0, 4, false));
                disk.end_silently(4, Silent::Lost, 0..8);
                disk.undo_damage();
                disk.cut(loss, &mut Rng::new(seed));
                let found = bytes(&disk, 0);
                assert!(found.iter().all(|byte| matches!(byte, 2 | 4)), "{loss:?}, seed {seed}");
            }
        }
    }

    /// A lost write to a block that was never written is damage like any other.
    #[test]
    fn a_lost_first_write_is_taken_back() {
        let mut disk = SimDisk::default();
        disk.begin(1, write(0, 1, false));
        disk.end_silently(1, Silent::Lost, 0..8);
        assert!(disk.current(0).is_none());
        let mut torn = disk.clone();
        torn.begin(2, write(0, 2, false));
        torn.end_failed(2, &mut Rng::new(1));
        assert!(bytes(&torn, 0).iter().all(|byte| matches!(byte, 1 | 2)));
        disk.undo_damage();
        assert_eq!(bytes(&disk, 0), [1; BLOCK_BYTES]);
    }
}
