//! Check of copies in idle time. Pages that a collection copied within their die did not pass the
//! error correction of the channel, so an idle die reads them out through it (TTFLASH §7, "ECC
//! checking").
//!
//! A scrub is not queued: any operation in the queue comes before the next page. An operation that
//! arrives waits for the rest of one page at most.

use crate::config::Config;
use crate::ftl::Ftl;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A block that has copies to check.
#[derive(Clone, Copy, Debug)]
struct Pending {
    block: u32,
    /// Next flash page to check.
    next: u32,
}

/// Copies that one die has to check.
#[derive(Clone, Debug, Default)]
struct Backlog {
    /// Blocks in the order of their first copies, each at most once. Copies go to the open block in
    /// order, so none is added in front of the next page to check.
    blocks: VecDeque<Pending>,
}

/// Copies that a drive has to check: one bit for a page and a few bytes for a block.
#[derive(Clone, Debug)]
pub(crate) struct Unchecked {
    /// A die that has been idle for this long begins to check.
    after: Duration,
    pages_per_block: u32,
    /// One bit for each flash page, in words of 64: set if it holds a copy that was not checked.
    copies: Vec<u64>,
    dies: Vec<Backlog>,
}

impl Unchecked {
    /// Copies of a drive that scrubs; `None` if the drive does not.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let after = config.scrub?.after;
        let geometry = &config.geometry;
        Some(Self {
            after,
            pages_per_block: geometry.pages_per_block,
            copies: vec![0; geometry.pages().div_ceil(u64::from(u64::BITS)) as usize],
            dies: vec![Backlog::default(); geometry.dies() as usize],
        })
    }

    /// A page of the die now holds a copy.
    pub(crate) fn add(&mut self, die: u32, page: u32) {
        let block = page / self.pages_per_block;
        let blocks = &mut self.dies[die as usize].blocks;
        if blocks.back().is_none_or(|last| last.block != block) {
            blocks.push_back(Pending { block, next: page });
        }
        self.copies[(page / u64::BITS) as usize] |= 1 << (page % u64::BITS);
    }

    /// Unmarks a page. Returns whether it held a copy that was not checked.
    fn remove(&mut self, page: u32) -> bool {
        let word = &mut self.copies[(page / u64::BITS) as usize];
        let before = *word;
        *word &= !(1 << (page % u64::BITS));
        *word != before
    }

    /// Forgets the copies in the block of the die that begins at `first_page`, which is erased.
    pub(crate) fn forget(&mut self, die: u32, first_page: u32) {
        let block = first_page / self.pages_per_block;
        let blocks = &mut self.dies[die as usize].blocks;
        let Some(position) = blocks.iter().position(|pending| pending.block == block) else {
            return;
        };
        blocks.remove(position);
        for page in first_page..first_page + self.pages_per_block {
            self.remove(page);
        }
    }

    /// Time at which a die that is idle from `now` on begins to check; [`Instant::NEVER`] if it has
    /// nothing to check.
    pub(crate) fn wake(&self, now: Instant, die: u32) -> Instant {
        let is_checked = self.dies[die as usize].blocks.is_empty();
        if is_checked { Instant::NEVER } else { now + self.after }
    }

    /// Takes the next copy of the die that is still valid.
    pub(crate) fn take(&mut self, die: u32, ftl: &Ftl) -> Option<u32> {
        while let Some(first) = self.dies[die as usize].blocks.front_mut() {
            let page = first.next;
            if page / self.pages_per_block != first.block {
                self.dies[die as usize].blocks.pop_front();
                continue;
            }
            first.next += 1;
            if self.remove(page) && ftl.holds(page).is_some() {
                return Some(page);
            }
        }
        None
    }
}
