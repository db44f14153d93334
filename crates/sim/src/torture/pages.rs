//! Memory of arrays under torture: pages are reused without clearing, and sums use the processor's
//! instruction.

use engine::Memory;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that a client, a disk and the array share.
pub(super) type Page = Arc<Vec<u8>>;

/// A pool of buffers.
#[derive(Debug)]
pub(super) struct Pages {
    /// Unused buffers, by their length.
    free: BTreeMap<usize, Vec<Page>>,
    zeros: Page,
    /// CRC-32C of the zeros.
    zeros_sum: u32,
}

impl Pages {
    pub(super) fn new() -> Self {
        let zeros = vec![0; super::disk::BLOCK_BYTES];
        let zeros_sum = crc32c::crc32c(&zeros);
        Self { free: BTreeMap::new(), zeros: Arc::new(zeros), zeros_sum }
    }
}

impl Memory for Pages {
    type Buffer = Page;

    fn take(&mut self, bytes: usize) -> Page {
        let free = self.free.get_mut(&bytes).and_then(Vec::pop);
        free.unwrap_or_else(|| Arc::new(vec![0; bytes]))
    }

    fn give(&mut self, mut buffer: Page) {
        if Arc::get_mut(&mut buffer).is_some() {
            self.free.entry(buffer.len()).or_default().push(buffer);
        }
    }

    fn share(&mut self, buffer: &Page) -> Page {
        Arc::clone(buffer)
    }

    fn bytes(buffer: &Page) -> &[u8] {
        buffer
    }

    fn bytes_mut(buffer: &mut Page) -> &mut [u8] {
        match Arc::get_mut(buffer) {
            Some(bytes) => bytes,
            None => unreachable!("a buffer that is shared is changed"),
        }
    }

    fn combine(&self, into: &mut [u8], sources: &[(u8, &[u8])]) {
        engine::Heap.combine(into, sources);
    }

    #[inline]
    fn checksum(&self, bytes: &[u8]) -> u32 {
        // Most of an array was never written.
        if bytes.first() == Some(&0) && *bytes == self.zeros[..] {
            return self.zeros_sum;
        }
        crc32c::crc32c(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_engine_and_buffers_are_used_again() {
        let mut pages = Pages::new();
        for length in [512, 4096, 8192] {
            for byte in [0, 1, 0xa5] {
                let mut buffer = pages.take(length);
                Pages::bytes_mut(&mut buffer).fill(byte);
                assert_eq!(pages.checksum(&buffer), engine::Heap.checksum(&buffer), "{length}");
                let shared = pages.share(&buffer);
                pages.give(buffer);
                assert_eq!(shared.len(), length, "what is shared is not used again");
                assert!(pages.free.get(&length).is_none_or(Vec::is_empty));
                pages.give(shared);
            }
            assert_eq!(pages.free[&length].len(), 1);
        }
        let mut last = vec![0; 4096];
        last[4095] = 1;
        assert_ne!(pages.checksum(&last), pages.zeros_sum);
    }
}
