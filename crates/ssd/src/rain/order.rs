//! Stripes that wait in the write buffer, in the order of their arrival, whole stripes and partial
//! ones apart.

use crate::rain::layout::Layout;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// A stripe with pages in the buffer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Its dirty pages, one bit for each slot.
    dirty: u64,
    /// The stripe is being flushed; pages that have become dirty since wait for the end of the
    /// flush.
    in_flight: bool,
    /// Its number in the order of partial stripes.
    ticket: u64,
}

/// Stripes with dirty pages, oldest first, group by group: the stripes of a group need the same
/// dies, so only the first ones of each matter.
#[derive(Clone, Debug)]
pub(crate) struct StripeOrder {
    stripes: BTreeMap<u32, Waiting>,
    /// Stripes of each group whose pages are all dirty.
    whole: Vec<VecDeque<u32>>,
    /// Partial stripes of each group and their dirty pages, by ticket.
    parts: Vec<BTreeMap<u64, (u32, u64)>>,
    next_ticket: u64,
    /// All pages of a stripe but its parity.
    all: u64,
}

impl StripeOrder {
    pub(crate) fn new(groups: u32, data: u32) -> Self {
        Self {
            stripes: BTreeMap::new(),
            whole: vec![VecDeque::new(); groups as usize],
            parts: vec![BTreeMap::new(); groups as usize],
            next_ticket: 0,
            all: (1 << data) - 1,
        }
    }

    /// Every page of a stripe, as bits.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// Adds a page that has become dirty.
    pub(crate) fn push(&mut self, layout: &Layout, page: u32) {
        let (stripe, slot) = layout.slot_of(page);
        let fresh = Waiting { dirty: 0, in_flight: false, ticket: 0 };
        let waiting = self.stripes.entry(stripe).or_insert(fresh);
        let before = waiting.dirty;
        waiting.dirty |= 1 << slot;
        if waiting.in_flight {
            return;
        }
        let group = layout.place(stripe).group as usize;
        if waiting.dirty == self.all {
            self.parts[group].remove(&waiting.ticket);
            self.whole[group].push_back(stripe);
        } else if before == 0 {
            waiting.ticket = self.next_ticket;
            self.parts[group].insert(self.next_ticket, (stripe, waiting.dirty));
            self.next_ticket += 1;
        } else if let Some((_, dirty)) = self.parts[group].get_mut(&waiting.ticket) {
            *dirty = waiting.dirty;
        }
    }

    /// Whether pages of a stripe wait in the buffer or are being flushed.
    pub(crate) fn contains(&self, stripe: u32) -> bool {
        self.stripes.contains_key(&stripe)
    }

    /// The dirty pages of a stripe that is not being flushed.
    pub(crate) fn dirty(&self, stripe: u32) -> u64 {
        self.stripes.get(&stripe).map_or(0, |waiting| waiting.dirty)
    }

    /// Oldest stripe of a group whose pages are all dirty.
    pub(crate) fn whole(&self, group: u32) -> Option<u32> {
        self.whole[group as usize].front().copied()
    }

    /// Partial stripes of a group, oldest first, and their dirty pages.
    pub(crate) fn parts(&self, group: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.parts[group as usize].values().copied()
    }

    /// Begins to flush a stripe. Returns its dirty pages. A stripe whose pages are all dirty must
    /// be the oldest such stripe of its group.
    pub(crate) fn begin(&mut self, stripe: u32, group: u32) -> u64 {
        let fresh = Waiting { dirty: 0, in_flight: false, ticket: 0 };
        let waiting = self.stripes.entry(stripe).or_insert(fresh);
        let dirty = core::mem::take(&mut waiting.dirty);
        waiting.in_flight = true;
        if dirty == self.all {
            let oldest = self.whole[group as usize].pop_front();
            debug_assert_eq!(oldest, Some(stripe));
        } else if dirty != 0 {
            self.parts[group as usize].remove(&waiting.ticket);
        }
        dirty
    }

    /// Ends the flush of a stripe. Pages that have become dirty since wait in its present group.
    pub(crate) fn end(&mut self, layout: &Layout, stripe: u32) {
        let Some(waiting) = self.stripes.get_mut(&stripe) else { return };
        waiting.in_flight = false;
        let group = layout.place(stripe).group as usize;
        if waiting.dirty == 0 {
            self.stripes.remove(&stripe);
        } else if waiting.dirty == self.all {
            self.whole[group].push_back(stripe);
        } else {
            waiting.ticket = self.next_ticket;
            self.parts[group].insert(self.next_ticket, (stripe, waiting.dirty));
            self.next_ticket += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn stripes_become_whole_and_come_back_when_written_meanwhile() {
        let mut config = presets::preset("ttflash").unwrap();
        config.geometry.channels = 4;
        config.geometry.blocks_per_plane = 32;
        config.rain = Some(crate::RainConfig::new(4));
        let layout = Layout::new(&config, 4);
        let mut order = StripeOrder::new(layout.groups.count, 3);
        order.push(&layout, 1);
        order.push(&layout, 24);
        let parts = |order: &StripeOrder| order.parts(0).collect::<Vec<_>>();
        assert_eq!(parts(&order), [(0, 0b010), (8, 0b001)]);
        order.push(&layout, 0);
        order.push(&layout, 2);
        assert_eq!((order.whole(0), parts(&order)), (Some(0), [(8, 1)].to_vec()));
        assert_eq!(order.begin(0, 0), 0b111);
        order.push(&layout, 2);
        assert_eq!((order.whole(0), parts(&order)), (None, [(8, 1)].to_vec()));
        order.end(&layout, 0);
        assert_eq!(parts(&order), [(8, 0b001), (0, 0b100)], "what came meanwhile is younger");
        assert_eq!(order.begin(8, 0), 1);
        order.end(&layout, 8);
        assert_eq!(parts(&order), [(0, 0b100)]);
    }
}
