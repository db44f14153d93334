//! The bytes of a sparse file.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a page: what a file takes, or gives back, at a time.
pub(super) const PAGE: usize = 4096;

/// A sparse file. Copies share their pages until one of them is written.
#[derive(Clone, Default)]
pub(super) struct Image {
    pages: BTreeMap<u64, Arc<[u8; PAGE]>>,
    pub(super) size_bytes: u64,
}

/// The parts of `length` bytes at `offset` that are in one page each: page, offset in it, offset in
/// the whole, and length.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let here = (length - done).min(PAGE - within);
        let part = (at / PAGE as u64, within, done, here);
        done += here;
        (here > 0).then_some(part)
    })
}

impl Image {
    /// Up to `length` bytes, fewer at the end of the file.
    pub(super) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let left = self.size_bytes.saturating_sub(offset);
        let mut bytes = vec![0; length.min(usize::try_from(left).unwrap_or(usize::MAX))];
        for (page, within, done, here) in parts(offset, bytes.len()) {
            if let Some(page) = self.pages.get(&page) {
                bytes[done..done + here].copy_from_slice(&page[within..within + here]);
            }
        }
        bytes
    }

    /// Writes, and lets the file grow as far.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (page, within, done, here) in parts(offset, bytes.len()) {
            let page = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(page)[within..within + here].copy_from_slice(&bytes[done..done + here]);
        }
        self.size_bytes = self.size_bytes.max(offset + bytes.len() as u64);
    }

    /// Zeros; whole pages are given back.
    pub(super) fn punch(&mut self, offset: u64, length: u64) {
        let length = usize::try_from(length.min(self.size_bytes.saturating_sub(offset)));
        for (number, within, _, here) in parts(offset, length.unwrap_or(0)) {
            if here == PAGE {
                self.pages.remove(&number);
            } else if let Some(page) = self.pages.get_mut(&number) {
                Arc::make_mut(page)[within..within + here].fill(0);
            }
        }
    }

    pub(super) fn resize(&mut self, size_bytes: u64) {
        if size_bytes < self.size_bytes {
            let end = self.size_bytes.next_multiple_of(PAGE as u64);
            let old = std::mem::replace(&mut self.size_bytes, end);
            self.punch(size_bytes, old - size_bytes);
            self.pages.retain(|&page, _| page * (PAGE as u64) < size_bytes);
        }
        self.size_bytes = size_bytes;
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Pages that a write would take.
    pub(super) fn new_pages(&self, offset: u64, length: usize) -> usize {
        parts(offset, length).filter(|(page, ..)| !self.pages.contains_key(page)).count()
    }

    /// Where the next data begin, or the next hole; none after the end.
    pub(super) fn seek(&self, offset: u64, data: bool) -> Option<u64> {
        if offset >= self.size_bytes {
            return None;
        }
        let first = offset / PAGE as u64;
        let found = if data {
            *self.pages.range(first..).next()?.0
        } else {
            let mut page = first;
            while self.pages.contains_key(&page) {
                page += 1;
            }
            page
        };
        let at = (found * PAGE as u64).max(offset);
        if data { (at < self.size_bytes).then_some(at) } else { Some(at.min(self.size_bytes)) }
    }
}
