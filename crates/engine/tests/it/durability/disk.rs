//! A disk that loses any part of its unsynced writes in a power cut.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::code::Code;
use super::sectors::{Power, SectorDisk};
use engine::durability::HEAD_BYTES;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Rng;

pub(crate) const BLOCK: usize = 4096;

/// A write of whole blocks into the file of a drive, head included.
#[derive(Clone)]
pub(crate) struct Write {
    pub(crate) offset_bytes: u64,
    pub(crate) bytes: Arc<Vec<u8>>,
    /// True if it is on stable storage when it ends.
    pub(crate) forced: bool,
}

impl Write {
    fn blocks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let first = self.offset_bytes / BLOCK as u64;
        (first..).zip(self.bytes.chunks_exact(BLOCK))
    }

    fn meets(&self, other: &Self) -> bool {
        let end = |write: &Self| write.offset_bytes + write.bytes.len() as u64;
        self.offset_bytes < end(other) && other.offset_bytes < end(self)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Disk {
    stable: BTreeMap<u64, Vec<u8>>,
    /// Writes that have ended and are not synced, by the number of their end.
    volatile: BTreeMap<u64, Write>,
    in_flight: BTreeMap<u64, Write>,
    ends: u64,
}

impl Disk {
    pub(crate) fn begin(&mut self, key: u64, write: Write) {
        for other in self.in_flight.values() {
            assert!(!write.meets(other), "two writes of the same bytes are in flight together");
        }
        self.in_flight.insert(key, write);
    }

    pub(crate) fn end(&mut self, key: u64) {
        let Some(write) = self.in_flight.remove(&key) else { return };
        if write.forced {
            self.apply(&write);
        } else {
            self.volatile.insert(self.ends, write);
            self.ends += 1;
        }
    }

    /// A write that failed may have done anything to its blocks.
    pub(crate) fn fail(&mut self, key: u64, rng: &mut Rng) {
        if let Some(write) = self.in_flight.remove(&key) {
            self.apply_some(&write, rng);
        }
    }

    /// Number of ended writes, all of which a sync that begins now covers.
    pub(crate) fn ended(&self) -> u64 {
        self.ends
    }

    pub(crate) fn synced(&mut self, ended: u64) {
        let later = self.volatile.split_off(&ended);
        for write in std::mem::replace(&mut self.volatile, later).into_values() {
            self.apply(&write);
        }
    }

    pub(crate) fn write_now(&mut self, offset_bytes: u64, bytes: &[u8]) {
        let bytes = Arc::new(bytes.to_vec());
        self.apply(&Write { offset_bytes, bytes, forced: true });
    }

    fn apply(&mut self, write: &Write) {
        for (block, bytes) in write.blocks() {
            self.stable.insert(block, bytes.to_vec());
        }
    }

    fn apply_some(&mut self, write: &Write, rng: &mut Rng) {
        let all = rng.below(3) == 0;
        for (block, bytes) in write.blocks() {
            if all || rng.below(2) == 0 {
                self.stable.insert(block, bytes.to_vec());
            }
        }
    }

    /// Returns the disk after a power cut now.
    pub(crate) fn cut(mut self, rng: &mut Rng) -> Self {
        let volatile = std::mem::take(&mut self.volatile);
        let in_flight = std::mem::take(&mut self.in_flight);
        for write in volatile.values().chain(in_flight.values()) {
            if rng.below(3) > 0 {
                self.apply_some(write, rng);
            }
        }
        self
    }

    /// Content that certainly survives, on a disk that can be opened.
    pub(crate) fn into_sectors(self, power: &Power) -> SectorDisk {
        let blocks = self.stable.into_iter();
        let blocks = blocks.map(|(number, bytes)| (number, bytes.try_into().unwrap()));
        SectorDisk::with(power, blocks.collect())
    }

    /// Reads the content that certainly survives.
    pub(crate) fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        let first = offset_bytes / BLOCK as u64;
        let end = first + (into.len() / BLOCK) as u64;
        for (&block, bytes) in self.stable.range(first..end) {
            let at = (block - first) as usize * BLOCK;
            into[at..at + BLOCK].copy_from_slice(bytes);
        }
    }

    pub(crate) fn block(&self, offset_bytes: u64) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        self.read(offset_bytes, &mut bytes);
        bytes
    }

    /// Contents that a block of the head may have after a power cut now.
    pub(crate) fn possible(&self, offset_bytes: u64) -> Vec<[u8; BLOCK]> {
        let mut found = vec![self.block(offset_bytes)];
        for (block, bytes) in self.in_flight.values().flat_map(Write::blocks) {
            if block == offset_bytes / BLOCK as u64 {
                found.push(bytes.try_into().unwrap());
            }
        }
        found
    }

    /// Returns true if a record of the journal is stable that has this version for a place of this
    /// drive. It uses the layout of records only; a power cut shows if a start would find the
    /// record.
    pub(crate) fn has_record(&self, code: Code<'_>, offset_bytes: u64, version: u64) -> bool {
        let version = u64::from_le_bytes(code.encode(offset_bytes, version));
        let number =
            |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let journal = JOURNAL_OFFSET_BYTES / BLOCK as u64..HEAD_BYTES / BLOCK as u64;
        let mut blocks = self.stable.range(journal).rev();
        blocks.any(|(&block, bytes)| {
            let parts = if bytes[..8] == *b"ioda\0log" { bytes[48] as usize } else { 0 };
            let mut data = block + 1;
            (0..parts).any(|part| {
                let at = 80 + 16 * part;
                let first = self.stable.get(&data).map_or(0, |bytes| number(bytes, 0));
                data += number(bytes, at + 8) / BLOCK as u64;
                number(bytes, at) == offset_bytes && first == version
            })
        })
    }

    /// Least and greatest number in blocks of data.
    pub(crate) fn versions(&self, code: Code<'_>, offset_bytes: u64, blocks: u64) -> (u64, u64) {
        versions(&self.stable, code, offset_bytes, blocks)
    }
}

/// The disk while it becomes a drive of an array.
impl engine::durability::Disk for Disk {
    type Error = std::convert::Infallible;

    fn size_bytes(&mut self) -> Result<u64, Self::Error> {
        // Blocks that were never written are zeros.
        Ok(1 << 40)
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Self::Error> {
        into.fill(0);
        Self::read(self, offset_bytes, into);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.write_now(offset_bytes, bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Least and greatest number in blocks of data.
pub(crate) fn versions<B: AsRef<[u8]>>(
    stable: &BTreeMap<u64, B>,
    code: Code<'_>,
    offset_bytes: u64,
    blocks: u64,
) -> (u64, u64) {
    let first = (HEAD_BYTES + offset_bytes) / BLOCK as u64;
    let version = |block: u64| match stable.get(&block) {
        Some(bytes) => code.decode(block * BLOCK as u64 - HEAD_BYTES, bytes.as_ref()),
        None => 0,
    };
    let versions = (first..first + blocks).map(version);
    (versions.clone().min().unwrap(), versions.max().unwrap())
}
