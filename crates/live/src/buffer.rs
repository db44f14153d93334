//! Memory for data: whole pages, aligned so that a drive opened with `O_DIRECT` can fill them.

use crate::release::Releaser;
use crate::storage::Region;
use bytemuck::{Pod, Zeroable};
use std::sync::Arc;

/// Bytes in a page of memory, and the alignment that direct I/O asks for at most.
pub const PAGE_BYTES: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; PAGE_BYTES]);

/// A whole number of pages of memory. Handles to the same pages can be had by [`Buffer::share`];
/// only a buffer with a single handle can be changed.
pub struct Buffer(Pages);

/// Where the pages are.
enum Pages {
    Allocated(Arc<Vec<Page>>),
    /// Large buffers: the allocator would write zeros to all their pages first.
    Mapped(Arc<Region>),
}

/// Buffers of this size and more are mapped: their pages come one by one, when they are written.
const MAPPED_BYTES_MIN: usize = 1 << 20;

impl Buffer {
    /// `bytes` of zeros, rounded up to whole pages.
    #[must_use]
    pub fn zeroed(bytes: usize) -> Self {
        let pages = bytes.div_ceil(PAGE_BYTES);
        if bytes >= MAPPED_BYTES_MIN
            && let Ok(region) = Region::new(pages * PAGE_BYTES)
        {
            return Self(Pages::Mapped(Arc::new(region)));
        }
        Self(Pages::Allocated(Arc::new(bytemuck::allocation::zeroed_vec(pages))))
    }

    /// A copy of `bytes`, with zeros behind it to the end of its last page.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    /// Number of bytes, a multiple of [`PAGE_BYTES`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Pages::Allocated(pages) => bytemuck::cast_slice(pages),
            Pages::Mapped(region) => region.bytes(),
        }
    }

    /// The bytes, to be changed.
    ///
    /// # Panics
    ///
    /// If there is another handle to them.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.own_bytes().expect("only a buffer that is not shared changes")
    }

    /// Another handle to the same bytes.
    #[must_use]
    pub fn share(&self) -> Self {
        Self(match &self.0 {
            Pages::Allocated(pages) => Pages::Allocated(Arc::clone(pages)),
            Pages::Mapped(region) => Pages::Mapped(Arc::clone(region)),
        })
    }

    /// The bytes, if there is no other handle to them.
    fn own_bytes(&mut self) -> Option<&mut [u8]> {
        match &mut self.0 {
            Pages::Allocated(pages) => {
                Arc::get_mut(pages).map(|pages| bytemuck::cast_slice_mut(pages))
            }
            Pages::Mapped(region) => Arc::get_mut(region).map(Region::bytes_mut),
        }
    }

    fn pages(&self) -> usize {
        self.len() / PAGE_BYTES
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

/// Most memory that a [`Pool`] keeps.
const KEPT_PAGES_MAX: usize = 8192;
/// Buffers of more pages are not kept.
const LARGEST_KEPT_PAGES: usize = 64;

/// Buffers that are used again instead of given back to the allocator.
#[derive(Debug, Default)]
pub struct Pool {
    /// By number of pages.
    free: Vec<Vec<Buffer>>,
    kept_pages: usize,
    /// Gives back what is not kept; `None` where that may take its time.
    releaser: Option<Releaser>,
}

impl Pool {
    /// A pool that has buffers given back by another thread.
    pub(crate) fn with_releaser(releaser: Releaser) -> Self {
        Self { releaser: Some(releaser), ..Self::default() }
    }

    /// A buffer of `bytes`, rounded up to whole pages, with arbitrary content.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> Buffer {
        let pages = bytes.div_ceil(PAGE_BYTES);
        let kept = self.free.get_mut(pages).and_then(Vec::pop);
        match kept {
            Some(buffer) => {
                self.kept_pages -= pages;
                buffer
            }
            None => Buffer::zeroed(bytes),
        }
    }

    /// Takes back a buffer that is no longer needed. One that has other handles comes back with the
    /// last of them.
    pub fn give(&mut self, mut buffer: Buffer) {
        let pages = buffer.pages();
        if pages == 0 || buffer.own_bytes().is_none() {
            return;
        }
        if pages > LARGEST_KEPT_PAGES {
            if let Some(releaser) = &self.releaser {
                releaser.give(move || drop(buffer));
            }
            return;
        }
        if self.free.len() <= pages {
            self.free.resize_with(pages + 1, Vec::new);
        }
        if self.kept_pages + pages <= KEPT_PAGES_MAX {
            self.kept_pages += pages;
            self.free[pages].push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_whole_aligned_pages_and_come_back() {
        let mut pool = Pool::default();
        let mut buffer = pool.take(5000);
        assert_eq!(buffer.len(), 8192);
        assert_eq!(buffer.bytes().as_ptr().align_offset(PAGE_BYTES), 0);
        buffer.bytes_mut()[8191] = 7;
        pool.give(buffer);
        assert_eq!(pool.take(8192).bytes()[8191], 7, "the same memory again");
        assert_eq!(pool.take(8192).bytes()[8191], 0);
        assert!(Buffer::zeroed(0).is_empty());
    }

    #[test]
    fn large_buffers_are_as_small_ones_and_take_memory_as_they_are_written() {
        let taken = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * PAGE_BYTES
        };
        const BYTES: usize = 1 << 30;
        let before = taken();
        let mut buffer = Buffer::zeroed(BYTES - 1);
        assert!(buffer.len() == BYTES && buffer.bytes().as_ptr().align_offset(PAGE_BYTES) == 0);
        buffer.bytes_mut()[BYTES - 1] = 7;
        let other = buffer.share();
        assert!(buffer.own_bytes().is_none());
        drop(buffer);
        assert_eq!((other.bytes()[0], other.bytes()[BYTES - 1]), (0, 7));
        // Other tests of this process take some as well.
        assert!(taken() - before < BYTES / 2);
    }

    #[test]
    fn little_memory_is_kept_whatever_comes_back() {
        let mut pool = Pool::default();
        for _ in 0..2 {
            for pages in 1..=LARGEST_KEPT_PAGES + 1 {
                (0..16).for_each(|_| pool.give(Buffer::zeroed(pages * PAGE_BYTES)));
            }
            let kept: usize = pool.free.iter().flatten().map(Buffer::pages).sum();
            assert!(kept == pool.kept_pages && kept <= KEPT_PAGES_MAX, "{kept}");
        }
        (0..1 << 10).for_each(|_| drop(pool.take(PAGE_BYTES)));
        let kept: usize = pool.free.iter().flatten().map(Buffer::pages).sum();
        assert_eq!(kept, pool.kept_pages);
    }

    #[test]
    fn shared_buffers_come_back_with_their_last_handle() {
        let mut pool = Pool::default();
        let mut buffer = pool.take(4096);
        buffer.bytes_mut()[0] = 9;
        let other = buffer.share();
        pool.give(buffer);
        assert_eq!(other.bytes()[0], 9);
        pool.give(other);
        assert_eq!(pool.take(4096).bytes()[0], 9, "the same memory again");
    }
}
