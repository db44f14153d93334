//! How fast the host may program while a drive collects: as fast as the collection gives back.
//!
//! A collection that moves the `v` valid pages of a block of `N` gives back `N - v`. A host that
//! programs that many for `v` moved ones leaves the free space as it is, however fast it writes;
//! one that did not wait would use up what is free and then wait for whole collections.
//!
//! Knows: how many pages each die may take up. Does not know: whether there is anything to program.

use crate::config::Config;
use alloc::vec;
use alloc::vec::Vec;

/// Parts of a page that credit is counted in.
const PARTS: i64 = 1 << 16;

/// The credit of the host on each die.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    credit: Vec<i64>,
    /// Pages of a block.
    pages_per_block: u32,
    /// Pages that are programmed at a time.
    unit_pages: u32,
}

impl Pace {
    pub(crate) fn new(config: &Config) -> Option<Self> {
        config.scheduling.paced_writes.then(|| Self {
            credit: vec![0; config.geometry.dies() as usize],
            pages_per_block: config.geometry.pages_per_block,
            unit_pages: config.cells.map_or(1, |cells| cells.unit_pages()),
        })
    }

    /// The drive begins to collect, after a pause or at the end of the collection before. What the
    /// host was given and has not taken up is forgotten; what it took up in advance it owes, or
    /// each collection would give it a little more than comes back.
    pub(crate) fn restart(&mut self) {
        for credit in &mut self.credit {
            *credit = (*credit).min(0);
        }
    }

    /// Pages of a block that its collection gives back; the last of the valid ones are programmed
    /// with filler.
    fn given_back(&self, valid: u32) -> u32 {
        self.pages_per_block - valid.next_multiple_of(self.unit_pages).min(self.pages_per_block)
    }

    /// The collection of a block with so many valid pages begins on a die.
    pub(crate) fn begin(&mut self, die: u32, valid: u32) {
        if valid == 0 {
            self.credit[die as usize] += i64::from(self.pages_per_block) * PARTS;
        }
    }

    /// It has moved what is programmed at a time.
    pub(crate) fn moved(&mut self, die: u32, valid: u32) {
        let units = i64::from(valid.div_ceil(self.unit_pages).max(1));
        self.credit[die as usize] += i64::from(self.given_back(valid)) * PARTS / units;
    }

    /// Whether the host may program on a die now.
    pub(crate) fn allows(&self, die: u32) -> bool {
        self.credit[die as usize] >= 0
    }

    /// The host programs on a die.
    pub(crate) fn programmed(&mut self, die: u32) {
        self.credit[die as usize] -= i64::from(self.unit_pages) * PARTS;
    }
}
