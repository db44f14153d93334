//! Checking in idle time: pages that a collection copied within their die did not pass the error
//! correction of the channel, so the die reads them out through it when it has nothing else to do
//! (TTFLASH §7, "ECC checking").
//!
//! A scrub is no operation in a queue: whatever is queued comes before the next page. So it costs what
//! arrives the rest of the page being read at most.

use crate::config::Config;
use crate::device::Ssd;
use crate::die::{State, Step};
use crate::ftl::{Ftl, NONE};
use crate::ledger::Work;
use crate::media::Media;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A block that has copies to check.
#[derive(Clone, Copy, Debug)]
struct Pending {
    block: u32,
    /// The next flash page to look at.
    next: u32,
}

/// What one die has to check.
#[derive(Clone, Debug, Default)]
struct Backlog {
    /// Blocks in the order of their first copies, each at most once. Copies go to the open block in
    /// order, so none is added behind a page that was looked at.
    blocks: VecDeque<Pending>,
    /// The page being read.
    reading: u32,
}

/// What a drive has to check: one bit for a page and a few bytes for a block.
#[derive(Clone, Debug)]
pub(crate) struct Unchecked {
    /// A die that has been idle for this long begins to check.
    after: Duration,
    pages_per_block: u32,
    /// Of each flash page, whether it holds a copy that was not checked, in words of 64.
    copies: Vec<u64>,
    dies: Vec<Backlog>,
}

impl Unchecked {
    /// Of a drive that scrubs; none of one that does not.
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
    fn add(&mut self, die: u32, page: u32) {
        let block = page / self.pages_per_block;
        let blocks = &mut self.dies[die as usize].blocks;
        if blocks.back().is_none_or(|last| last.block != block) {
            blocks.push_back(Pending { block, next: page });
        }
        self.copies[(page / u64::BITS) as usize] |= 1 << (page % u64::BITS);
    }

    /// Whether the page holds a copy that was not checked; not from now on.
    fn remove(&mut self, page: u32) -> bool {
        let word = &mut self.copies[(page / u64::BITS) as usize];
        let before = *word;
        *word &= !(1 << (page % u64::BITS));
        *word != before
    }

    /// The block of the die that begins at `first_page` is erased.
    fn forget(&mut self, die: u32, first_page: u32) {
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

    /// Takes the next copy of the die that is still valid.
    fn take(&mut self, die: u32, ftl: &Ftl) -> Option<u32> {
        while let Some(first) = self.dies[die as usize].blocks.front_mut() {
            let page = first.next;
            if page / self.pages_per_block != first.block {
                self.dies[die as usize].blocks.pop_front();
                continue;
            }
            first.next += 1;
            if self.remove(page) && ftl.holds(page) != NONE {
                self.dies[die as usize].reading = page;
                return Some(page);
            }
        }
        None
    }
}

impl Ssd {
    /// A collection has copied a page to `page` of `die`, past error correction.
    #[inline]
    pub(crate) fn note_copy(&mut self, die: u32, page: u32) {
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.add(die, page);
        }
    }

    /// The block that begins at `first_page` of `die` is erased.
    #[inline]
    pub(crate) fn note_erase(&mut self, die: u32, first_page: u32) {
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.forget(die, first_page);
        }
    }

    /// Leaves a die without work. If it has copies to check, it begins when nothing has come for long
    /// enough.
    #[inline]
    pub(crate) fn rest(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        target.state = State::Idle;
        target.ledger.switch(now, None);
        let due = match &self.unchecked {
            Some(unchecked) if !unchecked.dies[die as usize].blocks.is_empty() => {
                now + unchecked.after
            }
            _ => Instant::NEVER,
        };
        self.deadlines.set(die as usize, due);
    }

    /// An idle die reads the next page that it has to check, if one is left.
    pub(crate) fn scrub(&mut self, now: Instant, die: u32) {
        let unchecked = self.unchecked.as_mut();
        let Some(_) = unchecked.and_then(|unchecked| unchecked.take(die, &self.ftl)) else {
            self.rest(now, die);
            return;
        };
        let target = &mut self.dies[die as usize];
        target.state = State::Scrubbing(Step::Sense);
        target.ledger.switch(now, Some(Work::CollectionRead));
        self.deadlines.set(die as usize, now + self.config.timing.read);
    }

    pub(crate) fn end_scrub_step(&mut self, now: Instant, die: u32, step: Step) {
        if step == Step::Sense && !self.config.timing.transfer.is_zero() {
            self.request_channel(now, die);
            return;
        }
        if step == Step::Transfer {
            self.release_channel(now, die);
        }
        self.counters.scrubbed_pages += 1;
        if let (Some(media), Some(unchecked)) = (&mut self.media, &self.unchecked) {
            media.push(Media::Scrubbed { page: unchecked.dies[die as usize].reading });
        }
        let target = &mut self.dies[die as usize];
        target.state = State::Idle;
        match target.queue.front() {
            Some(_) => self.dispatch(now, die),
            None => self.scrub(now, die),
        }
    }
}
