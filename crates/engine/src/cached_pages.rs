//! Pages that the host's write cache holds, and what reads take from it.

use crate::memory::Memory;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nvme::{Command, CommandId};
use units::{DriveId, Lba};

/// Pages in front of the drives.
#[derive(Debug)]
pub struct CachedPages<M: Memory> {
    pages: BTreeMap<(DriveId, u64), M::Buffer>,
    /// Rows of each read in flight that come from the cache, as they were when it was sent. A newer
    /// version may replace them in the cache before the drive answers.
    reads: BTreeMap<CommandId, Vec<(u32, M::Buffer)>>,
}

impl<M: Memory> CachedPages<M> {
    /// Nothing is cached.
    #[must_use]
    pub const fn new() -> Self {
        Self { pages: BTreeMap::new(), reads: BTreeMap::new() }
    }

    /// Adds pages of `page_bytes` each to the cache, the first at `lba`.
    pub fn insert(
        &mut self,
        memory: &mut M,
        drive: DriveId,
        lba: Lba,
        rows: &[u8],
        page_bytes: usize,
    ) {
        for (page, row) in (lba.0..).zip(rows.chunks_exact(page_bytes)) {
            let mut buffer = memory.take(page_bytes);
            M::bytes_mut(&mut buffer)[..page_bytes].copy_from_slice(row);
            if let Some(before) = self.pages.insert((drive, page), buffer) {
                memory.give(before);
            }
        }
    }

    /// Removes pages from the cache.
    pub fn remove(&mut self, memory: &mut M, drive: DriveId, pages: &[Lba]) {
        for page in pages {
            if let Some(buffer) = self.pages.remove(&(drive, page.0)) {
                memory.give(buffer);
            }
        }
    }

    /// Cached content of a page.
    #[must_use]
    pub fn page(&self, drive: DriveId, lba: Lba) -> Option<&[u8]> {
        self.pages.get(&(drive, lba.0)).map(M::bytes)
    }

    /// Copies the pages that a command drains from the cache to its drive into `into`.
    ///
    /// # Panics
    ///
    /// If one of them is not cached: the array drains only pages that it has cached.
    pub fn read(&self, drive: DriveId, command: &Command, into: &mut [u8], page_bytes: usize) {
        for (lba, into) in (command.lba.0..).map(Lba).zip(into.chunks_exact_mut(page_bytes)) {
            let page = self.page(drive, lba).expect("what is drained is cached");
            into.copy_from_slice(&page[..page_bytes]);
        }
    }

    /// Forgets the rows of an earlier read with this number, before the number is used again. A
    /// read that failed never took its rows.
    pub fn forget_read(&mut self, memory: &mut M, command: CommandId) {
        if self.reads.is_empty() {
            return;
        }
        for (_, buffer) in self.reads.remove(&command).into_iter().flatten() {
            memory.give(buffer);
        }
    }

    /// Notes rows that a read takes from the cache, with their present content.
    ///
    /// # Panics
    ///
    /// If one of them is not cached.
    pub fn note_read(
        &mut self,
        memory: &mut M,
        command: CommandId,
        drive: DriveId,
        lba: Lba,
        rows: &[u32],
    ) {
        self.forget_read(memory, command);
        let mut pages = Vec::with_capacity(rows.len());
        for &row in rows {
            let page = self.page(drive, Lba(lba.0 + u64::from(row)));
            let page = page.expect("the array names only pages that it has cached");
            let mut copy = memory.take(page.len());
            M::bytes_mut(&mut copy)[..page.len()].copy_from_slice(page);
            pages.push((row, copy));
        }
        self.reads.insert(command, pages);
    }

    /// Overwrites the data that the drive returned with the rows that the read takes from the
    /// cache.
    pub fn overlay(
        &mut self,
        memory: &mut M,
        command: CommandId,
        into: &mut [u8],
        page_bytes: usize,
    ) {
        if self.reads.is_empty() {
            return;
        }
        for (row, page) in self.reads.remove(&command).into_iter().flatten() {
            let start = row as usize * page_bytes;
            into[start..start + page_bytes].copy_from_slice(&M::bytes(&page)[..page_bytes]);
            memory.give(page);
        }
    }
}

impl<M: Memory> Default for CachedPages<M> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Heap;

    const DRIVE: DriveId = DriveId(2);

    #[test]
    fn a_read_takes_what_was_cached_when_it_was_sent() {
        let (mut heap, mut cache) = (Heap, CachedPages::<Heap>::new());
        cache.insert(&mut heap, DRIVE, Lba(10), &[1, 1, 2, 2], 2);
        cache.note_read(&mut heap, CommandId(7), DRIVE, Lba(9), &[1, 2]);
        cache.insert(&mut heap, DRIVE, Lba(11), &[3, 3], 2);
        cache.remove(&mut heap, DRIVE, &[Lba(10)]);
        let mut brought = [9; 6];
        cache.overlay(&mut heap, CommandId(7), &mut brought, 2);
        assert_eq!(brought, [9, 9, 1, 1, 2, 2]);
        assert_eq!(
            (cache.page(DRIVE, Lba(10)), cache.page(DRIVE, Lba(11))),
            (None, Some(&[3, 3][..]))
        );
    }

    /// A read that failed fast is never kept; its number is used again.
    #[test]
    fn the_next_command_of_the_same_number_takes_nothing() {
        let (mut heap, mut cache) = (Heap, CachedPages::<Heap>::new());
        cache.insert(&mut heap, DRIVE, Lba(0), &[1], 1);
        cache.note_read(&mut heap, CommandId(3), DRIVE, Lba(0), &[0]);
        cache.forget_read(&mut heap, CommandId(3));
        let mut brought = [5];
        cache.overlay(&mut heap, CommandId(3), &mut brought, 1);
        assert_eq!(brought, [5]);
    }
}
