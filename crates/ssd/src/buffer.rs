//! The write buffer: which pages are in DRAM, which of them wait for flash, and who waits for them.
//!
//! Knows: slots, versions, the order of flushing. Does not know: dies, windows, time. When and where
//! pages are flushed is decided in `flush.rs`.
//!
//! A page has at most two versions in the buffer: the newest, and one that is being programmed. The
//! newer one joins the queue of the flush only when the older is on flash, so versions cannot
//! overtake each other on their way through different dies.

use crate::config::WriteBufferConfig;
use alloc::collections::{BTreeMap, VecDeque};
use units::Instant;

/// A command that is done as soon as DRAM has been accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) at: Instant,
    pub(crate) command: u32,
    /// Whether its data leaves for the host now.
    pub(crate) read: bool,
}

/// What became of a page that asks for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// Every slot is taken.
    No,
    /// It has a slot of its own.
    New,
    /// It replaces a version that was not flushed yet.
    Coalesced,
}

/// The versions of one logical page; at least one is there.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// There is a version that no program has taken up.
    dirty: bool,
    /// A version is being programmed, or queued for it.
    flushing: bool,
}

/// The buffer of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) config: WriteBufferConfig,
    /// Slots in use at which a free-running flush starts.
    high: u32,
    /// Dirty pages at which it stops.
    low: u32,
    pages: BTreeMap<u32, Page>,
    /// Dirty pages that a program may take up, in the order in which they became dirty.
    order: VecDeque<u32>,
    /// Dirty pages that a program may take up, in `order` or, with RAIN, taken from there by stripe.
    ready: u32,
    /// Slots in use: versions that are dirty or being flushed.
    occupied: u32,
    /// Flush programs that are queued or running.
    pub(crate) flushing: u32,
    /// Pages of writes without a slot, as command and block.
    pub(crate) waiting: VecDeque<(u32, u32)>,
    /// Commands that DRAM answers; the latency is constant, so they stay in order.
    pub(crate) answers: VecDeque<Answer>,
    /// A free-running flush is on its way from the high to the low mark.
    draining: bool,
    /// The flush found no room on flash.
    pub(crate) starved: bool,
    /// A collection was put off until the flush has queued its last page.
    pub(crate) collection_waits: bool,
}

impl Buffer {
    pub(crate) fn new(config: WriteBufferConfig) -> Self {
        let share = |ratio: units::Ratio| ratio.of(u64::from(config.pages)) as u32;
        Self {
            config,
            high: share(config.high).max(1),
            low: share(config.low),
            pages: BTreeMap::new(),
            order: VecDeque::new(),
            ready: 0,
            occupied: 0,
            flushing: 0,
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            draining: false,
            starved: false,
            collection_waits: false,
        }
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> u32 {
        self.occupied
    }

    pub(crate) fn holds(&self, logical: u32) -> bool {
        self.pages.contains_key(&logical)
    }

    /// Puts the newest version of a page into the buffer, if there is a slot for it.
    pub(crate) fn admit(&mut self, logical: u32) -> Admitted {
        let before = self.pages.get(&logical).copied();
        if before.is_some_and(|page| page.dirty) {
            return Admitted::Coalesced;
        }
        if self.occupied == self.config.pages {
            return Admitted::No;
        }
        self.occupied += 1;
        let flushing = before.is_some();
        self.pages.insert(logical, Page { dirty: true, flushing });
        if !flushing {
            self.push(logical);
        }
        Admitted::New
    }

    /// Whether a page is dirty that a program may take up.
    pub(crate) fn has_dirty(&self) -> bool {
        self.ready > 0
    }

    /// Whether a free-running flush takes the next page.
    pub(crate) fn drains(&mut self) -> bool {
        self.draining |= self.occupied >= self.high;
        self.draining &= self.ready > self.low;
        self.draining
    }

    /// Whether more pages wait for a slot than programs in flight will free.
    pub(crate) fn lacks_slots(&self) -> bool {
        self.waiting.len() as u64 > u64::from(self.flushing)
    }

    /// The oldest dirty page, which a program takes up now.
    pub(crate) fn start_flush(&mut self) -> Option<u32> {
        let logical = self.order.pop_front()?;
        self.start_flush_of(logical);
        Some(logical)
    }

    /// The next dirty page that has no stripe yet.
    pub(crate) fn take_new(&mut self) -> Option<u32> {
        self.order.pop_front()
    }

    fn push(&mut self, logical: u32) {
        self.order.push_back(logical);
        self.ready += 1;
    }

    /// This dirty page, which is in the order no longer, is taken up by a program now.
    pub(crate) fn start_flush_of(&mut self, logical: u32) {
        self.ready -= 1;
        self.pages.insert(logical, Page { dirty: false, flushing: true });
        self.flushing += 1;
    }

    /// The program of a page is done. Returns whether the buffer holds it no longer.
    pub(crate) fn end_flush(&mut self, logical: u32) -> bool {
        self.flushing -= 1;
        self.occupied -= 1;
        match self.pages.get_mut(&logical) {
            Some(page) if page.dirty => {
                page.flushing = false;
                self.push(logical);
                false
            }
            _ => {
                self.pages.remove(&logical);
                true
            }
        }
    }

    /// Checks that the counts agree with the pages.
    pub(crate) fn check_invariants(&self) {
        let count =
            |holds: fn(&Page) -> bool| self.pages.values().filter(|page| holds(page)).count();
        let (dirty, flushing) = (count(|page| page.dirty), count(|page| page.flushing));
        assert_eq!(self.occupied as usize, dirty + flushing, "slots in use");
        assert_eq!(self.flushing as usize, flushing, "programs in flight");
        let queued = count(|page| page.dirty && !page.flushing);
        assert_eq!(self.ready as usize, queued, "pages that may be flushed");
        assert!(self.occupied <= self.config.pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_waits_until_the_one_before_it_is_on_flash() {
        let mut buffer = Buffer::new(WriteBufferConfig::new(2));
        assert_eq!(buffer.admit(7), Admitted::New);
        assert_eq!(buffer.admit(7), Admitted::Coalesced);
        assert_eq!(buffer.start_flush(), Some(7));
        assert_eq!(buffer.admit(7), Admitted::New, "the flushed version keeps its slot");
        assert_eq!(buffer.admit(8), Admitted::No);
        assert_eq!(buffer.start_flush(), None, "the older version comes first");
        assert!(!buffer.end_flush(7));
        assert_eq!(buffer.admit(8), Admitted::New);
        buffer.check_invariants();
        assert_eq!(buffer.start_flush(), Some(7));
        assert!(buffer.end_flush(7) && !buffer.holds(7) && buffer.holds(8));
        buffer.check_invariants();
    }
}
