//! The page map: where each logical page is, and which logical page each flash page holds.
//!
//! Knows: both directions, which always agree. Does not know: blocks, and which pages are free.

use crate::ftl::page::PackedPage;
use alloc::vec;
use alloc::vec::Vec;

/// Flash page of each logical page, and logical page of each flash page.
#[derive(Clone, Debug)]
pub(super) struct PageMap {
    logical_to_flash: Vec<PackedPage>,
    flash_to_logical: Vec<PackedPage>,
}

impl PageMap {
    /// Map of a drive where nothing was written.
    pub(super) fn new(logical_pages: u32, flash_pages: u32) -> Self {
        Self {
            logical_to_flash: vec![PackedPage::NONE; logical_pages as usize],
            flash_to_logical: vec![PackedPage::NONE; flash_pages as usize],
        }
    }

    #[inline]
    pub(super) fn lookup(&self, logical: u32) -> Option<u32> {
        self.logical_to_flash[logical as usize].get()
    }

    #[inline]
    pub(super) fn holds(&self, page: u32) -> Option<u32> {
        self.flash_to_logical[page as usize].get()
    }

    /// Brings the entry of a page that will be changed soon into the cache.
    #[inline]
    pub(super) fn touch(&self, logical: u32) {
        core::hint::black_box(self.logical_to_flash[logical as usize]);
    }

    /// Unmaps a logical page. Returns the flash page that held it.
    pub(super) fn remove(&mut self, logical: u32) -> Option<u32> {
        let entry = &mut self.logical_to_flash[logical as usize];
        let old = core::mem::replace(entry, PackedPage::NONE).get()?;
        self.flash_to_logical[old as usize] = PackedPage::NONE;
        Some(old)
    }

    /// Maps a logical page to `page`. Returns the flash page that held it before.
    #[inline]
    pub(super) fn insert(&mut self, logical: u32, page: u32) -> Option<u32> {
        let entry = &mut self.logical_to_flash[logical as usize];
        let old = core::mem::replace(entry, PackedPage::new(page)).get();
        if let Some(old) = old {
            self.flash_to_logical[old as usize] = PackedPage::NONE;
        }
        self.flash_to_logical[page as usize] = PackedPage::new(logical);
        old
    }

    /// Maps a logical page to `to`, unless it is no longer in `from`. Returns whether it was.
    #[inline]
    pub(super) fn replace(&mut self, logical: u32, from: u32, to: u32) -> bool {
        let entry = &mut self.logical_to_flash[logical as usize];
        let was_there = *entry == PackedPage::new(from);
        if was_there {
            *entry = PackedPage::new(to);
            self.flash_to_logical[from as usize] = PackedPage::NONE;
            self.flash_to_logical[to as usize] = PackedPage::new(logical);
        }
        was_there
    }

    /// Enters a logical page that is not mapped yet in one direction only; [`PageMap::complete`]
    /// enters it in the other.
    #[inline]
    pub(super) fn insert_half(&mut self, page: u32, logical: u32) {
        self.flash_to_logical[page as usize] = PackedPage::new(logical);
    }

    /// Enters the other direction of [`PageMap::insert_half`] for many pages, given as logical page
    /// and flash page.
    pub(super) fn complete(&mut self, places: impl Iterator<Item = (u32, u32)>) {
        for (logical, page) in places {
            self.logical_to_flash[logical as usize] = PackedPage::new(page);
        }
    }

    /// Next flash page in `cursor..end` with data, and its logical page.
    #[inline]
    pub(super) fn next_valid(&self, cursor: u32, end: u32) -> Option<(u32, u32)> {
        let pages = self.flash_to_logical[cursor as usize..end as usize].iter().zip(cursor..);
        pages.filter_map(|(logical, page)| Some((page, logical.get()?))).next()
    }

    /// Counts the flash pages in `cursor..end` with data.
    pub(super) fn count_valid(&self, cursor: u32, end: u32) -> u32 {
        let pages = &self.flash_to_logical[cursor as usize..end as usize];
        pages.iter().filter(|&&logical| logical != PackedPage::NONE).count() as u32
    }

    /// Flash page of each logical page, in order.
    pub(super) fn places(&self) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        self.logical_to_flash.iter().map(|page| page.get())
    }

    /// Flash pages with data, in order.
    pub(super) fn valid_pages(&self) -> impl Iterator<Item = u32> + '_ {
        self.flash_to_logical.iter().zip(0..).filter_map(|(logical, page)| {
            logical.get()?;
            Some(page)
        })
    }

    /// Checks that both directions agree.
    pub(super) fn check_invariants(&self) {
        for page in self.valid_pages() {
            let logical = self.holds(page);
            assert_eq!(logical.and_then(|logical| self.lookup(logical)), Some(page), "page {page}");
        }
        assert_eq!(self.valid_pages().count(), self.places().flatten().count(), "mapped pages");
    }
}
