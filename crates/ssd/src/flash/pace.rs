//! Pace of the host's programs while a drive collects: the rate at which the collection gives pages
//! back.
//!
//! A collection that moves the `v` valid pages of a block of `N` gives back `N - v`. A host that
//! programs `N - v` pages for `v` moved ones leaves the free space as it is, however fast it
//! writes. A host that did not wait would use up the free space, and then wait for whole
//! collections.
//!
//! Knows: how many pages each die may program. Does not know: whether there is anything to program.

use crate::config::Config;
use alloc::vec;
use alloc::vec::Vec;

/// Parts of a page, the unit of credit.
const PARTS: i64 = 1 << 16;

/// Turn of collections or of the host, on a drive whose dies all take turns at the same time.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// Collections move pages, and programs of the host wait.
    Collections {
        /// Pages moved in this turn.
        moved: u64,
        /// Parts of pages that these moves gave back.
        given_back: i64,
    },
    /// The host programs, and collections wait.
    Host {
        /// Parts of pages that the host may still program.
        credit: i64,
    },
}

impl Turn {
    const FIRST: Self = Self::Collections { moved: 0, given_back: 0 };
}

/// The credit of the host on each die.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    credit: Vec<i64>,
    /// Present turn; `None` if each die takes turns by itself, one program at a time.
    turn: Option<Turn>,
    /// Pages that collections move in a turn: now, at least and at most.
    turn_pages: u64,
    least_turn_pages: u64,
    most_turn_pages: u64,
    /// Writes wait for room in the buffer.
    is_full: bool,
    /// Pages of a block.
    pages_per_block: u32,
    /// Pages that are programmed at a time.
    unit_pages: u32,
}

impl Pace {
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let turns = config.scheduling.turns;
        let on_all_dies = |pages: u32| u64::from(pages) * u64::from(config.geometry.dies());
        let most_turn_pages = turns.map_or(0, |turns| on_all_dies(turns.most_pages));
        config.scheduling.paced_writes.then(|| Self {
            credit: vec![0; config.geometry.dies() as usize],
            turn: turns.map(|_| Turn::FIRST),
            turn_pages: most_turn_pages,
            least_turn_pages: turns.map_or(0, |turns| on_all_dies(turns.least_pages)),
            most_turn_pages,
            is_full: false,
            pages_per_block: config.geometry.pages_per_block,
            unit_pages: config.cells.map_or(1, |cells| cells.unit_pages()),
        })
    }

    /// Starts the pace again when the drive begins to collect, after a pause or after the previous
    /// collection. Credit that the host has not used is forgotten. Its debt remains, or each
    /// collection would give it a little more than comes back.
    pub(crate) fn restart(&mut self) {
        for credit in &mut self.credit {
            *credit = (*credit).min(0);
        }
    }

    /// Pages of a block that its collection gives back; the last program of its valid pages is
    /// filled up with filler.
    fn given_back(&self, valid: u32) -> u32 {
        self.pages_per_block - valid.next_multiple_of(self.unit_pages).min(self.pages_per_block)
    }

    /// Begins the collection of a block with `valid` valid pages on a die.
    pub(crate) fn begin(&mut self, die: u32, valid: u32) {
        if valid == 0 {
            self.give(die, 0, i64::from(self.pages_per_block) * PARTS);
        }
    }

    /// Credits `parts` of pages that a collection gave back by moving `pages` on a die.
    fn give(&mut self, die: u32, pages: u32, parts: i64) {
        match &mut self.turn {
            None => self.credit[die as usize] += parts,
            Some(Turn::Host { credit }) => *credit += parts,
            Some(Turn::Collections { moved, given_back }) => {
                *moved += u64::from(pages);
                *given_back += parts;
                if *moved >= self.turn_pages {
                    self.turn = Some(Turn::Host { credit: *given_back });
                }
            }
        }
    }

    /// Credits one program unit that a collection has moved out of a block with `valid` valid
    /// pages.
    pub(crate) fn moved(&mut self, die: u32, valid: u32) {
        let units = i64::from(valid.div_ceil(self.unit_pages).max(1));
        self.give(die, self.unit_pages, i64::from(self.given_back(valid)) * PARTS / units);
    }

    /// Ends the turn of the host, if it is its turn. Returns whether it was.
    pub(crate) fn end_turn_of_host(&mut self) -> bool {
        let Some(Turn::Host { credit }) = self.turn else { return false };
        self.turn = Some(Turn::Collections { moved: 0, given_back: credit });
        self.turn_pages = match self.is_full {
            true => (self.turn_pages / 2).max(self.least_turn_pages),
            false => (self.turn_pages * 5 / 4 + 1).min(self.most_turn_pages),
        };
        true
    }

    /// Sets whether writes wait for room in the buffer.
    #[inline]
    pub(crate) fn set_full(&mut self, is_full: bool) {
        self.is_full = is_full;
    }

    /// Whether collections wait for the end of the host's turn.
    pub(crate) fn is_turn_of_host(&self) -> bool {
        matches!(self.turn, Some(Turn::Host { .. }))
    }

    /// Whether the host may program on a die now.
    pub(crate) fn allows(&self, die: u32) -> bool {
        match self.turn {
            None => self.credit[die as usize] >= 0,
            Some(_) => self.is_turn_of_host(),
        }
    }

    /// The host programs on a die. Returns whether that ends its turn.
    pub(crate) fn programmed(&mut self, die: u32) -> bool {
        let parts = i64::from(self.unit_pages) * PARTS;
        let Some(turn) = &mut self.turn else {
            self.credit[die as usize] -= parts;
            return false;
        };
        match turn {
            // The host owes the pages that it programs in advance.
            Turn::Collections { given_back, .. } => *given_back -= parts,
            Turn::Host { credit } if *credit > parts => *credit -= parts,
            Turn::Host { credit } => {
                *credit -= parts;
                return self.end_turn_of_host();
            }
        }
        false
    }
}
