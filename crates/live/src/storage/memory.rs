//! A drive whose bytes are in memory: nothing is taken until it is written or populated in advance
//! ([`super::Storage::start_prefill`]), and what is discarded is given back.

use super::allocated::Allocated;
use super::mapping::{HUGE_PAGE_BYTES, Populator, Region};
use crate::buffer::PAGE_BYTES;
use std::io;

/// Memory is given back in extents of this size, when none of their pages holds data any more.
/// Smaller discards are zeroed in place: giving single pages back would break up huge pages, and
/// cost a fault for each when they are written again.
const EXTENT_BYTES: u64 = HUGE_PAGE_BYTES as u64;
const PAGE: u64 = PAGE_BYTES as u64;
const EXTENT_PAGES: u64 = EXTENT_BYTES / PAGE;

/// The bytes of a drive, zero until they are written.
#[derive(Debug)]
pub struct Memory {
    region: Region,
    allocated: Allocated,
    bytes: u64,
}

impl Memory {
    /// A drive of `bytes`, all zero; a multiple of [`PAGE_BYTES`] (rounded up to one).
    ///
    /// # Errors
    ///
    /// If the process may not have so much address space.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let rounded = bytes.checked_next_multiple_of(PAGE);
        let length = rounded.and_then(|bytes| usize::try_from(bytes).ok());
        let (Some(bytes), Some(length)) = (rounded, length) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        Ok(Self { region: Region::new(length)?, allocated: Allocated::nothing(bytes), bytes })
    }

    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Which of its pages may hold data.
    #[must_use]
    pub fn allocated(&self) -> &Allocated {
        &self.allocated
    }

    /// Bytes that writes have taken from the system at most. What was populated in advance comes on
    /// top, as far as nothing was written or discarded there.
    #[must_use]
    pub fn taken_bytes(&self) -> u64 {
        let extents = 0..self.bytes.div_ceil(EXTENT_BYTES);
        let taken = extents.filter(|extent| !self.is_empty_extent(*extent));
        taken.count() as u64 * EXTENT_BYTES
    }

    /// Bytes whose memory was taken in advance so far.
    pub(super) fn populated_bytes(&self) -> u64 {
        self.region.populated_bytes()
    }

    /// What lets another thread take memory before it is written.
    pub(super) fn populator(&self) -> Populator {
        self.region.populator()
    }

    /// Copies the bytes from `offset_bytes` on into `into`.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        let length_bytes = into.len() as u64;
        assert!(offset_bytes + length_bytes <= self.bytes, "read past the end");
        if self.allocated.is_hole(offset_bytes, length_bytes) {
            // A look at memory that was never written would make the kernel map something there.
            return into.fill(0);
        }
        into.copy_from_slice(&self.region.bytes()[offset_bytes as usize..][..into.len()]);
    }

    /// Copies `from` to the bytes from `offset_bytes` on.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn write(&mut self, offset_bytes: u64, from: &[u8]) {
        assert!(offset_bytes + from.len() as u64 <= self.bytes, "write past the end");
        self.allocated.set(offset_bytes, from.len() as u64);
        self.region.bytes_mut()[offset_bytes as usize..][..from.len()].copy_from_slice(from);
    }

    /// The bytes become zero, and memory without data is given back.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) {
        assert!(offset_bytes + length_bytes <= self.bytes, "discard past the end");
        self.allocated.clear(offset_bytes, length_bytes);
        let end = offset_bytes + length_bytes;
        let mut offset = offset_bytes;
        while offset < end {
            let extent = offset / EXTENT_BYTES;
            let start = extent * EXTENT_BYTES;
            let next = (start + EXTENT_BYTES).min(end);
            if self.is_empty_extent(extent) {
                let length = EXTENT_BYTES.min(self.bytes - start);
                self.region.reset(start as usize, length as usize);
            } else {
                self.region.bytes_mut()[offset as usize..next as usize].fill(0);
            }
            offset = next;
        }
    }

    /// Gives all memory back, in pieces.
    pub(crate) fn release(&mut self) {
        self.allocated = Allocated::nothing(self.bytes);
        for extent in 0..self.bytes.div_ceil(EXTENT_BYTES) {
            let start = extent * EXTENT_BYTES;
            let length = EXTENT_BYTES.min(self.bytes - start);
            self.region.reset(start as usize, length as usize);
        }
    }

    /// Whether no page of an extent may hold data.
    fn is_empty_extent(&self, extent: u64) -> bool {
        self.allocated.none_in(extent * EXTENT_PAGES, EXTENT_PAGES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_before_a_write_and_discards_give_back() {
        let mut memory = Memory::new(1 << 40).unwrap();
        let mut page = [7; PAGE_BYTES];
        memory.read((1 << 40) - PAGE_BYTES as u64, &mut page);
        assert_eq!((page, memory.taken_bytes()), ([0; PAGE_BYTES], 0));

        memory.write(EXTENT_BYTES - 5, &[1; 10]);
        assert_eq!(memory.taken_bytes(), 2 * EXTENT_BYTES);
        memory.read(EXTENT_BYTES - 5, &mut page);
        assert_eq!(page[..11], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);

        memory.discard(EXTENT_BYTES, EXTENT_BYTES);
        assert_eq!(memory.taken_bytes(), EXTENT_BYTES);
        memory.discard(EXTENT_BYTES - 4, 2);
        memory.read(EXTENT_BYTES - 5, &mut page);
        assert_eq!(page[..6], [1, 0, 0, 1, 1, 0]);
        assert_eq!(memory.allocated().count(), 1, "its page still holds data");
        assert!(Memory::new(u64::MAX).is_err() && Memory::new(1 << 62).is_err());
    }

    #[test]
    fn what_is_released_is_zero() {
        let bytes = EXTENT_BYTES + PAGE;
        let mut memory = Memory::new(bytes).unwrap();
        memory.write(0, &vec![9; bytes as usize]);
        memory.release();
        assert_eq!(memory.taken_bytes(), 0);
        assert!(memory.region.bytes().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn what_is_discarded_is_zero_when_it_is_written_again() {
        let bytes = 2 * EXTENT_BYTES + PAGE;
        let mut memory = Memory::new(bytes).unwrap();
        memory.write(0, &vec![9; bytes as usize]);
        memory.discard(PAGE + 1, bytes - PAGE - 1);
        memory.write(bytes - 1, &[5]);
        let mut all = vec![1; bytes as usize];
        memory.read(0, &mut all);
        let (data, rest) = all.split_at(PAGE_BYTES + 1);
        assert!(data.iter().all(|&byte| byte == 9));
        let (zeros, last) = rest.split_at(rest.len() - 1);
        assert!(zeros.iter().all(|&byte| byte == 0) && last == [5]);
    }
}
