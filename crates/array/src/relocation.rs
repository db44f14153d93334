//! The places of relocated chunks: those that are not where the layout puts them.
//!
//! A *degraded update* writes a chunk to a drive outside its stripe (Sha et al., "Degraded
//! mode-benefited I/O scheduling", §3.1 and Figure 3b). So there is a second level of mapping over
//! the layout (§4.2.5): for every relocated chunk (of one page), the drive and the block where it
//! is. Every drive keeps some blocks that the layout does not use; a chunk that leaves a drive
//! makes room for another there. Inside the array a member of a stripe is named by the drive that
//! the layout gives it, even if its chunk was relocated; only commands and policies see the present
//! place.

use crate::layout::Layout;
use crate::members::MemberSet;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use units::{DriveId, Lba};

/// Place of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) drive: DriveId,
    pub(crate) block: Lba,
}

/// A chunk that a write is taking to another drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    /// The member that the chunk belongs to.
    pub(crate) member: u8,
    pub(crate) to: Place,
}

/// Bits of a key or a value that encode a drive.
const DRIVE_BITS: u32 = 6;
/// Bytes of an entry of the map: a key and a value of 64 bits.
const ENTRY_BYTES: u64 = 16;

/// The second level of the mapping: where relocated chunks are.
#[derive(Clone, Debug)]
pub(crate) struct Relocation {
    /// Spare blocks of each drive, outside the layout.
    spare_blocks: u64,
    /// For each drive, the offset of the first spare block that never held a chunk.
    untouched: Vec<u64>,
    /// For each drive, free blocks that chunks have left.
    left: Vec<Vec<u64>>,
    first_spare: u64,
    /// Drives with a free block.
    with_room: MemberSet,
    /// Relocated chunks: stripe and member packed in a word, block and drive in another.
    moved: BTreeMap<u64, u64>,
    most_moved: u64,
}

impl Relocation {
    /// No chunk is relocated. Every drive has `spare_blocks` from block `first_spare` on; with 0 no
    /// chunk is ever relocated.
    pub(crate) fn new(layout: &Layout, first_spare: u64, spare_blocks: u64) -> Self {
        let width = layout.width();
        Self {
            spare_blocks,
            untouched: vec![0; width as usize],
            left: vec![Vec::new(); width as usize],
            first_spare,
            with_room: if spare_blocks == 0 { MemberSet::EMPTY } else { layout.drives() },
            moved: BTreeMap::new(),
            most_moved: 0,
        }
    }

    /// Whether chunks can be relocated.
    #[inline]
    pub(crate) fn can_move(&self) -> bool {
        self.spare_blocks > 0
    }

    /// Drives that have room for another chunk.
    pub(crate) fn with_room(&self) -> MemberSet {
        self.with_room
    }

    /// Place of row `row` of the chunk of `member` in `stripe`.
    #[inline]
    pub(crate) fn locate(&self, layout: &Layout, stripe: u64, row: u32, member: u8) -> Place {
        let home = DriveId(member);
        if !self.moved.is_empty()
            && let Some(&value) = self.moved.get(&key(stripe, member))
        {
            debug_assert_eq!(row, 0, "chunks that move have one page");
            return unpack(value);
        }
        Place { drive: home, block: layout.lba(stripe, row, home) }
    }

    /// The drives that hold the chunks of `stripe`.
    #[inline]
    pub(crate) fn drives(&self, layout: &Layout, stripe: u64) -> MemberSet {
        let homes = layout.member_set(stripe);
        if self.moved.is_empty() {
            return homes;
        }
        let drive = |member| match self.moved.get(&key(stripe, member)) {
            Some(&value) => unpack(value).drive.0,
            None => member,
        };
        homes.iter().map(drive).collect()
    }

    /// Members of `stripe` whose chunks are on one of `drives`.
    pub(crate) fn members_on(&self, layout: &Layout, stripe: u64, drives: MemberSet) -> MemberSet {
        let all = layout.member_set(stripe);
        if self.moved.is_empty() {
            return all & drives;
        }
        let is_there =
            |&member: &u8| drives.contains(self.locate(layout, stripe, 0, member).drive.0);
        all.iter().filter(is_there).collect()
    }

    /// Takes a free block of `drive`; `None` if it has none. Blocks that chunks have left go first,
    /// so that blocks that never held any stay untouched.
    pub(crate) fn take(&mut self, drive: DriveId) -> Option<Place> {
        let index = drive.index();
        let block = match self.left[index].pop() {
            Some(block) => block,
            None if self.untouched[index] < self.spare_blocks => {
                self.untouched[index] += 1;
                self.first_spare + self.untouched[index] - 1
            }
            None => return None,
        };
        if self.left[index].is_empty() && self.untouched[index] == self.spare_blocks {
            self.with_room.remove(drive.0);
        }
        Some(Place { drive, block: Lba(block) })
    }

    /// Records the new place of a chunk.
    pub(crate) fn put(&mut self, layout: &Layout, stripe: u64, chunk: Move) {
        let home = DriveId(chunk.member);
        let key = key(stripe, chunk.member);
        if chunk.to == (Place { drive: home, block: layout.lba(stripe, 0, home) }) {
            self.moved.remove(&key);
        } else {
            self.moved.insert(key, pack(chunk.to));
        }
        self.most_moved = self.most_moved.max(self.moved.len() as u64);
    }

    /// Frees a place: no chunk is there any more, and the drive knows it.
    pub(crate) fn release(&mut self, place: Place) {
        self.left[place.drive.index()].push(place.block.0);
        self.with_room.insert(place.drive.0);
    }

    /// Peak size of the second level in bytes: the places of relocated chunks, and the lists of
    /// free blocks.
    pub(crate) fn bytes(&self) -> u64 {
        let free: usize = self.left.iter().map(Vec::capacity).sum();
        self.most_moved * ENTRY_BYTES + (free * size_of::<u64>()) as u64
    }
}

fn key(stripe: u64, member: u8) -> u64 {
    stripe << DRIVE_BITS | u64::from(member)
}

fn pack(place: Place) -> u64 {
    place.block.0 << DRIVE_BITS | u64::from(place.drive.0)
}

fn unpack(value: u64) -> Place {
    let drive = value & ((1 << DRIVE_BITS) - 1);
    Place { drive: DriveId(drive as u8), block: Lba(value >> DRIVE_BITS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Level;
    use alloc::collections::BTreeSet;
    use units::Rng;

    /// Compares with a plain table of all chunks: random relocations to any drive with room.
    #[test]
    fn every_chunk_is_where_a_plain_table_says() {
        for (width, stripe_width, seed) in [(8, 4, 1), (5, 3, 2), (4, 4, 3), (7, 3, 4)] {
            let layout = Layout::striped(Level::Raid5, width, stripe_width, 1, 40).unwrap();
            let mut relocation = Relocation::new(&layout, 40, 6);
            let mut table: BTreeMap<(u64, u8), Place> = BTreeMap::new();
            for stripe in 0..layout.stripes() {
                for member in layout.member_set(stripe) {
                    let drive = DriveId(member);
                    let block = layout.lba(stripe, 0, drive);
                    table.insert((stripe, member), Place { drive, block });
                }
            }
            let mut rng = Rng::new(seed);
            let (mut moves, mut back, mut refused) = (0, 0, 0);
            for _ in 0..20_000 {
                let stripe = rng.below(layout.stripes());
                let all = layout.member_set(stripe);
                let member = all.iter().nth(rng.below(all.len().into()) as usize).unwrap();
                let drive = DriveId(rng.below(width.into()) as u8);
                if relocation.drives(&layout, stripe).contains(drive.0) {
                    continue;
                }
                let has_room = relocation.with_room().contains(drive.0);
                let Some(to) = relocation.take(drive) else {
                    assert!(!has_room);
                    refused += 1;
                    continue;
                };
                assert!(has_room);
                let from = relocation.locate(&layout, stripe, 0, member);
                relocation.put(&layout, stripe, Move { member, to });
                relocation.release(from);
                table.insert((stripe, member), to);
                moves += 1;
                let home = DriveId(member);
                back += u32::from(to.drive == home && to.block == layout.lba(stripe, 0, home));
            }
            for (&(stripe, member), &place) in &table {
                assert_eq!(relocation.locate(&layout, stripe, 0, member), place);
                let homes = layout.member_set(stripe).iter();
                let drives: MemberSet =
                    homes.map(|member| table[&(stripe, member)].drive.0).collect();
                assert_eq!(relocation.drives(&layout, stripe), drives);
                assert_eq!(drives.len(), layout.stripe_width(), "one chunk on a drive");
            }
            let places: BTreeSet<Place> = table.values().copied().collect();
            assert_eq!(places.len(), table.len(), "two chunks in one place");
            assert!(table.values().all(|place| place.block.0 < 46), "past the end of a drive");
            let away = table.iter().filter(|&(&(stripe, member), &place)| {
                let home = DriveId(member);
                place != Place { drive: home, block: layout.lba(stripe, 0, home) }
            });
            assert_eq!(relocation.moved.len(), away.count());
            assert!(stripe_width == width || (moves > 1_000 && refused > 100), "{moves} {refused}");
            assert!(stripe_width == width || back > 0, "no chunk ever came home");
            assert!(stripe_width != width || moves == 0, "there is no drive outside the stripe");
        }
    }

    #[test]
    fn without_spare_blocks_nothing_moves() {
        let layout = Layout::striped(Level::Raid5, 8, 4, 1, 40).unwrap();
        let mut relocation = Relocation::new(&layout, 40, 0);
        assert!(!relocation.can_move());
        assert_eq!((relocation.with_room(), relocation.take(DriveId(3))), (MemberSet::EMPTY, None));
    }

    /// §4.2.5: 132 MB in place of 128 MB on 16 channels, "more space overhead by 3.1%".
    #[test]
    fn the_second_level_of_the_paper_takes_half_a_byte_a_chunk() {
        let chunks = 16 * 4 * (1u64 << 30) / (8 << 10);
        let (first_level, second_level) = (16 * chunks, chunks / 2);
        assert_eq!((first_level, second_level), (128 << 20, 4 << 20));
        assert_eq!(1000 * second_level / first_level, 31);
        // This map takes two words for each relocated chunk, and nothing for the others.
        assert_eq!(second_level / ENTRY_BYTES, chunks / 32);
    }

    #[test]
    fn the_map_takes_memory_for_what_was_moved_at_most() {
        let layout = Layout::striped(Level::Raid5, 6, 3, 1, 40).unwrap();
        let mut relocation = Relocation::new(&layout, 40, 6);
        assert_eq!(relocation.bytes(), 0);
        for stripe in [0, 2, 4] {
            let to = relocation.take(DriveId(4)).unwrap();
            relocation.put(&layout, stripe, Move { member: 0, to });
        }
        assert_eq!(relocation.bytes(), 3 * ENTRY_BYTES);
        let home = DriveId(0);
        let to = Place { drive: home, block: layout.lba(0, 0, home) };
        relocation.put(&layout, 0, Move { member: 0, to });
        relocation.release(Place { drive: DriveId(4), block: Lba(40) });
        let free = relocation.left[4].capacity() as u64 * 8;
        assert!(free > 0);
        assert_eq!(relocation.bytes(), 3 * ENTRY_BYTES + free);
    }
}
