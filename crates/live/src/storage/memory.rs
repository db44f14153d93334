//! A drive whose bytes are in memory: nothing is taken until it is written, and what is discarded
//! is given back.

use super::allocated::Allocated;
use crate::buffer::{Buffer, PAGE_BYTES};

/// Bytes that are taken from the system at once. They are zeroed when the first of them is written, so
/// they are few: with a mebibyte, every first write held the array up by 0.3 ms, and an array that was
/// written at random from its start fell behind its clients.
const EXTENT_BYTES: u64 = 16 << 10;
const EXTENT_PAGES: u64 = EXTENT_BYTES / PAGE_BYTES as u64;

/// The bytes of a drive, zero until they are written.
#[derive(Debug)]
pub struct Memory {
    extents: Vec<Option<Buffer>>,
    allocated: Allocated,
    bytes: u64,
}

impl Memory {
    /// A drive of `bytes`, all zero; a multiple of [`PAGE_BYTES`] (rounded up to one).
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let bytes = bytes.next_multiple_of(PAGE_BYTES as u64);
        let mut extents = Vec::new();
        extents.resize_with(bytes.div_ceil(EXTENT_BYTES) as usize, || None);
        Self { extents, allocated: Allocated::nothing(bytes), bytes }
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

    /// Bytes taken from the system at most.
    #[must_use]
    pub fn taken_bytes(&self) -> u64 {
        self.extents.iter().flatten().map(|extent| extent.len() as u64).sum()
    }

    /// Copies the bytes from `offset_bytes` on into `into`.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        assert!(offset_bytes + into.len() as u64 <= self.bytes, "read past the end");
        let mut offset = offset_bytes;
        let mut rest = into;
        while !rest.is_empty() {
            let (extent, start, length) = part(offset, rest.len());
            let (now, later) = rest.split_at_mut(length);
            match &self.extents[extent] {
                Some(extent) => now.copy_from_slice(&extent.bytes()[start..start + length]),
                None => now.fill(0),
            }
            rest = later;
            offset += length as u64;
        }
    }

    /// Copies `from` to the bytes from `offset_bytes` on.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn write(&mut self, offset_bytes: u64, from: &[u8]) {
        assert!(offset_bytes + from.len() as u64 <= self.bytes, "write past the end");
        self.allocated.set(offset_bytes, from.len() as u64);
        let mut offset = offset_bytes;
        let mut rest = from;
        while !rest.is_empty() {
            let (extent, start, length) = part(offset, rest.len());
            let (now, later) = rest.split_at(length);
            let extent =
                self.extents[extent].get_or_insert_with(|| Buffer::zeroed(EXTENT_BYTES as usize));
            extent.bytes_mut()[start..start + length].copy_from_slice(now);
            rest = later;
            offset += length as u64;
        }
    }

    /// The bytes become zero, and memory without data is given back.
    ///
    /// # Panics
    ///
    /// If they do not lie on the drive.
    pub fn discard(&mut self, offset_bytes: u64, length_bytes: u64) {
        assert!(offset_bytes + length_bytes <= self.bytes, "discard past the end");
        self.allocated.clear(offset_bytes, length_bytes);
        let mut offset = offset_bytes;
        let end = offset_bytes + length_bytes;
        while offset < end {
            let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
            let (extent, start, length) = part(offset, left);
            let first_page = extent as u64 * EXTENT_PAGES;
            if self.allocated.none_in(first_page, EXTENT_PAGES) {
                self.extents[extent] = None;
            } else if let Some(extent) = &mut self.extents[extent] {
                extent.bytes_mut()[start..start + length].fill(0);
            }
            offset += length as u64;
        }
    }
}

/// The extent of a byte, where in it that is, and how many of `length` bytes lie in it.
fn part(offset: u64, length: usize) -> (usize, usize, usize) {
    let start = (offset % EXTENT_BYTES) as usize;
    ((offset / EXTENT_BYTES) as usize, start, length.min(EXTENT_BYTES as usize - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_before_a_write_and_discards_give_back() {
        let mut memory = Memory::new(1 << 40);
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
    }
}
