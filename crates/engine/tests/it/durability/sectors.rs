//! A disk on which the power may fail at any write or sync. It then has any subset of the sectors
//! that were not synced.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::code::Code;
use super::disk::BLOCK;
use engine::durability::{Disk, HEAD_BYTES};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use units::Rng;

const SECTOR: usize = 512;

/// Number of writes and syncs before the power fails, on all disks that share it.
#[derive(Clone, Debug)]
pub(crate) struct Power(Rc<Cell<u64>>);

impl Power {
    pub(crate) fn lasting() -> Self {
        Self(Rc::new(Cell::new(u64::MAX)))
    }

    /// Sets the power to fail in the middle of this write or sync, counted from 0.
    pub(crate) fn goes_at(&self, number: u64) {
        self.0.set(number);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.get() == 0
    }

    /// Counts a write or sync. Returns true if it begins, and true if it ends.
    fn step(&self) -> (bool, bool) {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        (left > 0, left > 1)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoPower;

impl fmt::Display for NoPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the power is gone")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SectorDisk {
    stable: BTreeMap<u64, [u8; BLOCK]>,
    /// Blocks that are not synced, in the order of their writes.
    volatile: Vec<(u64, [u8; BLOCK])>,
    power: Power,
}

impl SectorDisk {
    pub(crate) fn new(power: &Power) -> Self {
        Self { stable: BTreeMap::new(), volatile: Vec::new(), power: power.clone() }
    }

    /// A disk with these blocks on stable storage.
    pub(crate) fn with(power: &Power, stable: BTreeMap<u64, [u8; BLOCK]>) -> Self {
        Self { stable, ..Self::new(power) }
    }

    /// Leaves what is found when the power is back.
    pub(crate) fn cut(&mut self, rng: &mut Rng) {
        for (number, bytes) in std::mem::take(&mut self.volatile) {
            let block = self.stable.entry(number).or_insert([0; BLOCK]);
            // Keep all, none, or some sectors.
            let how = rng.below(3);
            for at in (0..BLOCK).step_by(SECTOR) {
                if how == 0 || how == 1 && rng.below(2) == 0 {
                    block[at..at + SECTOR].copy_from_slice(&bytes[at..at + SECTOR]);
                }
            }
        }
    }

    /// First number of a block of the file.
    pub(crate) fn number(&mut self, offset_bytes: u64) -> u64 {
        let mut block = [0; BLOCK];
        self.read(offset_bytes, &mut block).unwrap();
        u64::from_le_bytes(block[..8].try_into().unwrap())
    }

    /// Writes a number into a block of the file, on stable storage.
    pub(crate) fn set_number(&mut self, offset_bytes: u64, number: u64) {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&number.to_le_bytes());
        self.stable.insert(offset_bytes / BLOCK as u64, block);
    }

    /// Flips a bit of a block of the file.
    pub(crate) fn flip(&mut self, offset_bytes: u64, bit: usize) {
        let block = self.stable.entry(offset_bytes / BLOCK as u64).or_insert([0; BLOCK]);
        block[bit / 8] ^= 1 << (bit % 8);
    }

    /// Least and greatest number in blocks of data.
    pub(crate) fn versions(&self, code: Code<'_>, offset_bytes: u64, blocks: u64) -> (u64, u64) {
        super::disk::versions(&self.stable, code, offset_bytes, blocks)
    }

    /// Blocks of the head that were ever written.
    pub(crate) fn head_blocks(&self) -> Vec<u64> {
        self.stable.range(..HEAD_BYTES / BLOCK as u64).map(|(number, _)| *number).collect()
    }

    /// Loses everything that was not synced in a power cut.
    pub(crate) fn forget(&mut self) {
        self.volatile.clear();
    }

    /// Returns true if another disk has the same stable content, and neither has unsynced blocks.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.stable == other.stable && self.volatile.is_empty() && other.volatile.is_empty()
    }

    /// Returns true if nothing was ever written.
    pub(crate) fn is_blank(&self) -> bool {
        self.stable.values().all(|block| block.iter().all(|&byte| byte == 0))
    }
}

impl Disk for SectorDisk {
    type Error = NoPower;

    fn size_bytes(&mut self) -> Result<u64, NoPower> {
        // Blocks that were never written are zeros.
        Ok(1 << 40)
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), NoPower> {
        let first = offset_bytes / BLOCK as u64;
        into.fill(0);
        let end = first + (into.len() / BLOCK) as u64;
        let stable = self.stable.range(first..end).map(|(&number, bytes)| (number, bytes));
        let volatile = self.volatile.iter().map(|(number, bytes)| (*number, bytes));
        for (number, bytes) in stable.chain(volatile) {
            if (first..end).contains(&number) {
                let at = (number - first) as usize * BLOCK;
                into[at..at + BLOCK].copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), NoPower> {
        let (begins, ends) = self.power.step();
        if begins {
            let first = offset_bytes / BLOCK as u64;
            let blocks = (first..).zip(bytes.chunks_exact(BLOCK));
            self.volatile.extend(blocks.map(|(block, bytes)| (block, bytes.try_into().unwrap())));
        }
        if ends { Ok(()) } else { Err(NoPower) }
    }

    fn sync(&mut self) -> Result<(), NoPower> {
        if !self.power.step().1 {
            return Err(NoPower);
        }
        self.stable.extend(std::mem::take(&mut self.volatile));
        Ok(())
    }
}
