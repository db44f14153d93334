//! Changes that the array counts as done while they wait for the journal, or are on their way to
//! their place.
//!
//! To its clients an array is a disk with a volatile cache: what was answered survives a power cut
//! when a flush after it is answered. So while the journal is on, a change may be answered as soon
//! as it is in memory, up to a bound. Many changes then share a batch of the journal, however few
//! requests a client has under way. Reads take accepted pages from memory, over the data from the
//! storage.

use crate::memory::Memory;
use crate::planted::{Bug, Planted};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use units::DriveId;

/// Pages of a drive.
type Pages = (DriveId, Range<u64>);

/// The newest content of a page: one row of the data of a change.
#[derive(Debug)]
struct Page<B> {
    /// The change.
    tag: u32,
    row: usize,
    buffer: B,
}

/// Accepted changes, up to a bound.
#[derive(Debug)]
pub(super) struct Accepted<M: Memory> {
    page_bytes: usize,
    /// Most bytes of accepted changes that are not yet in their place. Changes beyond it are
    /// answered when they are in their place.
    bytes_max: u64,
    pages: BTreeMap<(DriveId, u64), Page<M::Buffer>>,
    /// Pages of each change, by its tag.
    changes: BTreeMap<u32, Pages>,
    bytes: u64,
    planted: Planted,
}

impl<M: Memory> Accepted<M> {
    pub(super) const fn new(page_bytes: usize, bytes_max: u64, planted: Planted) -> Self {
        Self {
            page_bytes,
            bytes_max,
            pages: BTreeMap::new(),
            changes: BTreeMap::new(),
            bytes: 0,
            planted,
        }
    }

    /// Returns true if there is room for a change.
    pub(super) const fn has_room(&self, length_bytes: u64) -> bool {
        self.bytes + length_bytes <= self.bytes_max
    }

    /// Accepts a change: `buffer` is the new content of the pages.
    pub(super) fn insert(
        &mut self,
        memory: &mut M,
        tag: u32,
        drive: DriveId,
        pages: Range<u64>,
        buffer: &M::Buffer,
    ) {
        self.bytes += (pages.end - pages.start) * self.page_bytes as u64;
        for (row, page) in pages.clone().enumerate() {
            let new = Page { tag, row, buffer: memory.share(buffer) };
            if let Some(older) = self.pages.insert((drive, page), new) {
                memory.give(older.buffer);
            }
        }
        self.changes.insert(tag, (drive, pages));
    }

    /// Removes a change that is in its place, or was cancelled.
    pub(super) fn remove(&mut self, memory: &mut M, tag: u32) {
        let Some((drive, pages)) = self.changes.remove(&tag) else { return };
        self.bytes -= (pages.end - pages.start) * self.page_bytes as u64;
        for page in pages {
            let place = (drive, page);
            // A newer change may have replaced the page.
            let is_its = |page: &Page<M::Buffer>| {
                page.tag == tag || self.planted.has(Bug::AcceptedForgottenByOlder)
            };
            if self.pages.get(&place).is_some_and(is_its)
                && let Some(page) = self.pages.remove(&place)
            {
                memory.give(page.buffer);
            }
        }
    }

    /// Forgets all that was accepted for a failed drive.
    pub(super) fn forget_drive(&mut self, memory: &mut M, drive: DriveId) {
        let of_drive = self.changes.iter().filter(|(_, pages)| pages.0 == drive);
        let tags: Vec<u32> = of_drive.map(|(&tag, _)| tag).collect();
        tags.into_iter().for_each(|tag| self.remove(memory, tag));
    }

    /// Returns true if any of the pages is accepted.
    pub(super) fn holds_any(&self, drive: DriveId, pages: Range<u64>) -> bool {
        self.pages.range((drive, pages.start)..(drive, pages.end)).next().is_some()
    }

    /// Returns the accepted rows of pages that are about to be read, with their present content.
    pub(super) fn snapshot(
        &self,
        memory: &mut M,
        drive: DriveId,
        pages: Range<u64>,
    ) -> Vec<AcceptedRow<M::Buffer>> {
        let first = pages.start;
        let here = self.pages.range((drive, first)..(drive, pages.end));
        let here = here.filter(|_| !self.planted.has(Bug::AcceptedNotRead));
        here.map(|(&(_, page), Page { row, buffer, .. })| AcceptedRow {
            to: (page - first) as usize,
            from: *row,
            buffer: memory.share(buffer),
        })
        .collect()
    }

    pub(super) fn check_invariants(&self) {
        let bytes = self.changes.values().map(|(_, pages)| pages.end - pages.start).sum::<u64>();
        assert_eq!(bytes * self.page_bytes as u64, self.bytes);
        assert!(self.bytes <= self.bytes_max);
        for (&(drive, page), Page { tag, .. }) in &self.pages {
            let (of, pages) = &self.changes[tag];
            assert!(*of == drive && pages.contains(&page));
        }
    }
}

/// A row of a read that comes from an accepted change.
#[derive(Debug)]
pub(super) struct AcceptedRow<B> {
    /// Row of the read.
    to: usize,
    /// Row of the buffer.
    from: usize,
    buffer: B,
}

/// Overwrites the data from the storage with accepted rows.
pub(super) fn overlay<M: Memory>(
    memory: &mut M,
    rows: Vec<AcceptedRow<M::Buffer>>,
    into: &mut M::Buffer,
    page_bytes: usize,
) {
    for AcceptedRow { to, from, buffer } in rows {
        let row = |row: usize| row * page_bytes..(row + 1) * page_bytes;
        M::bytes_mut(into)[row(to)].copy_from_slice(&M::bytes(&buffer)[row(from)]);
        memory.give(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Heap;
    use alloc::vec;

    const DRIVE: DriveId = DriveId(1);

    fn read(accepted: &Accepted<Heap>, pages: Range<u64>) -> Vec<u8> {
        let mut into = vec![0; (pages.end - pages.start) as usize * 2];
        let rows = accepted.snapshot(&mut Heap, DRIVE, pages);
        overlay(&mut Heap, rows, &mut into, 2);
        into
    }

    #[test]
    fn the_newest_change_of_a_page_is_read_until_it_is_in_its_place() {
        let mut accepted = Accepted::<Heap>::new(2, 1 << 10, Planted::NONE);
        accepted.insert(&mut Heap, 7, DRIVE, 10..12, &vec![1, 1, 2, 2]);
        accepted.insert(&mut Heap, 8, DRIVE, 11..13, &vec![3, 3, 4, 4]);
        accepted.check_invariants();
        assert_eq!(read(&accepted, 9..14), [0, 0, 1, 1, 3, 3, 4, 4, 0, 0]);
        let before = accepted.snapshot(&mut Heap, DRIVE, 10..11);
        accepted.remove(&mut Heap, 7);
        accepted.check_invariants();
        assert_eq!(read(&accepted, 9..14), [0, 0, 0, 0, 3, 3, 4, 4, 0, 0]);
        // A read under way gets the content that was there when it began.
        let mut into = vec![0; 2];
        overlay(&mut Heap, before, &mut into, 2);
        assert_eq!(into, [1, 1]);
        assert!(accepted.holds_any(DRIVE, 12..20) && !accepted.holds_any(DRIVE, 13..20));
        accepted.forget_drive(&mut Heap, DRIVE);
        accepted.check_invariants();
        assert!(!accepted.holds_any(DRIVE, 0..20));
        accepted.remove(&mut Heap, 8);
    }

    #[test]
    fn there_is_a_bound() {
        let mut accepted = Accepted::<Heap>::new(4096, 8 << 10, Planted::NONE);
        assert!(accepted.has_room(8 << 10));
        accepted.insert(&mut Heap, 0, DRIVE, 0..1, &vec![0; 4096]);
        assert!(accepted.has_room(4 << 10) && !accepted.has_room(8 << 10));
    }
}
