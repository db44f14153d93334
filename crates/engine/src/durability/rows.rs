//! Rows of blocks while an array is opened, and the reconstruction of a member from the others.

use super::HEAD_BYTES;
use super::block::BLOCK_BYTES;
use super::disk::Disk;
use super::superblock::Geometry;
use crate::checksums::{Decoded, Key, LOST, Sums, TablePlace, decode, stored};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use array::{Layout, MemberSet, gf};
use units::{DriveId, Lba, crc32c};

/// The content of a block of 4096 bytes.
pub(super) type Content = Vec<u8>;

/// A row of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Row {
    pub(super) stripe: u64,
    row: u32,
}

/// The rows of an array in blocks of 4096 bytes, and its drives.
pub(super) struct Rows<'a, D> {
    layout: Layout,
    /// `None` without checksums: every readable block is trusted.
    tables: Option<TablePlace>,
    /// Drives by position; `None` where no drive with data was found.
    disks: Vec<Option<&'a mut D>>,
    /// Blocks of tables that were read.
    sums: BTreeMap<Key, Sums>,
    zero_sum: u32,
}

impl<'a, D: Disk> Rows<'a, D> {
    /// Creates the rows of an array; `None` if its layout is impossible.
    pub(super) fn new(
        geometry: &Geometry,
        tables: TablePlace,
        disks: Vec<Option<&'a mut D>>,
    ) -> Option<Self> {
        let block = BLOCK_BYTES as u64;
        let layout = Layout::striped(
            geometry.level,
            u32::from(geometry.width),
            u32::from(geometry.stripe_width),
            u32::try_from(geometry.chunk_bytes / block).ok()?,
            geometry.drive_bytes / block,
        );
        Some(Self {
            layout: layout.ok()?,
            tables: geometry.checksums.then_some(tables),
            disks,
            sums: BTreeMap::new(),
            zero_sum: crc32c(&[0; BLOCK_BYTES]),
        })
    }

    /// Row of a block of a drive; `None` behind the last stripe.
    pub(super) fn row_of(&self, drive: DriveId, block: u64) -> Option<Row> {
        let (stripe, row) = self.layout.row_of(drive, Lba(block))?;
        Some(Row { stripe, row })
    }

    pub(super) fn is_member(&self, row: Row, drive: DriveId) -> bool {
        self.layout.members(row.stripe) >> drive.0 & 1 == 1
    }

    /// Block of a member of the row.
    pub(super) fn block_of(&self, row: Row, drive: DriveId) -> u64 {
        self.layout.lba(row.stripe, row.row, drive).0
    }

    /// Reads a block in its place; `None` if it cannot be read, or its sum does not fit.
    pub(super) fn in_place(&mut self, drive: DriveId, block: u64) -> Option<Content> {
        let disk = self.disks.get_mut(drive.index())?.as_mut()?;
        let mut content = vec![0; BLOCK_BYTES];
        disk.read(HEAD_BYTES + block * BLOCK_BYTES as u64, &mut content).ok()?;
        let Some(tables) = self.tables else { return Some(content) };
        let (key, at) = Key::of(drive, block);
        let sums = match self.sums.entry(key) {
            alloc::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            alloc::collections::btree_map::Entry::Vacant(entry) => {
                let mut table = vec![0; BLOCK_BYTES];
                let sums = match disk.read(tables.at(key), &mut table) {
                    Ok(()) => decode(tables.seal, tables.uuid, key, &table),
                    Err(_) => Decoded::Nothing,
                };
                entry.insert(sums.sums())
            }
        };
        let sum = stored(crc32c(&content) ^ self.zero_sum);
        (sums[at] != LOST && sums[at] == sum).then_some(content)
    }

    /// Reconstructs the block of drive `wanted` in the row. `known` returns the content of another
    /// member, or `None` if it is unknown. Returns `None` if too few members are known.
    pub(super) fn reconstruct(
        &mut self,
        row: Row,
        wanted: DriveId,
        mut known: impl FnMut(&mut Self, DriveId, u64) -> Option<Content>,
    ) -> Option<Content> {
        let members = MemberSet::from_bits(self.layout.members(row.stripe));
        let mut contents: BTreeMap<DriveId, Content> = BTreeMap::new();
        let mut unknown = 0;
        for member in members.iter().map(DriveId) {
            let block = self.block_of(row, member);
            let content = if member == wanted { None } else { known(self, member, block) };
            match content {
                Some(content) => {
                    contents.insert(member, content);
                }
                None => unknown += 1,
            }
            if unknown > self.layout.parities() {
                return None;
            }
        }
        let set = contents.keys().map(|drive| drive.0).collect();
        let sums = self.layout.reconstruction(row.stripe, set)?;
        let (_, terms) = sums.into_iter().find(|(member, _)| *member == wanted)?;
        let mut sum = vec![0; BLOCK_BYTES];
        for (coefficient, member) in terms {
            gf::multiply_add(&mut sum, contents.get(&member)?, coefficient);
        }
        Some(sum)
    }
}
