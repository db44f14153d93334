//! Which stripe leaves the write buffer next (TTFLASH §4.5): whole stripes before parts, and dies
//! that do not collect before those that do.

use crate::device::Ssd;
use crate::flush::FLUSHES_PER_DIE;
use crate::rain::flush::{Chosen, Method};
use crate::rain::layout::{set_of, slots};

/// Stripes in parts that are looked at in each group.
const LOOKED_AT: usize = 8;

/// How a flush stands to the collections of a plane group, best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// The whole stripe, no die collects.
    WholeQuiet,
    /// The whole stripe, one of its dies collects.
    WholeTolerant,
    /// A part of the stripe, on dies that do not collect.
    PartQuiet,
    /// A part of the stripe, one page of which waits for its die.
    PartTolerant,
}

const ORDER: [Class; 4] =
    [Class::WholeQuiet, Class::WholeTolerant, Class::PartQuiet, Class::PartTolerant];

impl Ssd {
    /// The stripe that is flushed next, if one can be. Without urgency a die has one flush at a time,
    /// which leaves it to reads for longer.
    ///
    /// A group in which nothing can be flushed is not looked at again before something changes
    /// there; see [`Ssd::may_flush_group`].
    pub(crate) fn next_stripe(&mut self, urgent: bool) -> Option<Chosen> {
        let limit = if urgent { FLUSHES_PER_DIE } else { 1 };
        let rain = self.rain.as_mut()?;
        if urgent && !rain.urgent {
            rain.may_flush.fill(true);
        }
        rain.urgent = urgent;
        let (groups, turn) = (rain.layout.groups, rain.turn);
        let mut best: Option<(usize, u32, Chosen)> = None;
        for group in (1..=groups).map(|step| (turn + step) % groups) {
            if !self.rain.as_ref()?.may_flush[group as usize] {
                debug_assert!(self.best_of(group, limit).is_none(), "group {group} was forgotten");
                continue;
            }
            match self.best_of(group, limit) {
                Some((class, chosen)) if best.is_none_or(|(least, ..)| class < least) => {
                    best = Some((class, group, chosen));
                }
                Some(_) => {}
                None => self.rain.as_mut()?.may_flush[group as usize] = false,
            }
            if best.is_some_and(|(class, ..)| class == 0) {
                break;
            }
        }
        let (_, group, chosen) = best?;
        self.rain.as_mut()?.turn = group;
        Some(chosen)
    }

    /// Something has changed that may let a stripe of this group be flushed: a die has less to do or
    /// more room, a collection has taken or returned it, or a page has become dirty.
    #[inline]
    pub(crate) fn may_flush_group(&mut self, group: u32) {
        if let Some(rain) = &mut self.rain {
            rain.may_flush[group as usize] = true;
        }
    }

    /// The oldest stripe of a group that can be flushed in the best class, and the class.
    fn best_of(&self, group: u32, limit: u32) -> Option<(usize, Chosen)> {
        ORDER.into_iter().enumerate().find_map(|(rank, class)| {
            let chosen = self.stripe_of(group, class, limit)?;
            Some((rank, chosen))
        })
    }

    /// The oldest stripe of a group that can be flushed in this class.
    fn stripe_of(&self, group: u32, class: Class, limit: u32) -> Option<Chosen> {
        let rain = self.rain.as_ref()?;
        let parity = 1 << rain.layout.data();
        let tolerated = match class {
            Class::WholeQuiet | Class::PartQuiet => 0,
            Class::WholeTolerant | Class::PartTolerant => 1,
        };
        match class {
            Class::WholeQuiet | Class::WholeTolerant => {
                let stripe = rain.order.whole(group)?;
                let fits = self.suits(stripe, parity | rain.order.all(), tolerated, limit);
                fits.then_some(Chosen { stripe, method: Method::Reconstruct })
            }
            Class::PartQuiet | Class::PartTolerant => {
                rain.order.parts(group).take(LOOKED_AT).find_map(|(stripe, dirty)| {
                    if !self.suits(stripe, dirty | parity, tolerated, limit) {
                        return None;
                    }
                    Some(Chosen { stripe, method: self.method(stripe, dirty)? })
                })
            }
        }
    }

    /// Whether these slots of a stripe can be programmed: every die has room, and not more than
    /// `tolerated` of them would have to wait.
    fn suits(&self, stripe: u32, written: u64, tolerated: u32, limit: u32) -> bool {
        let Some(rain) = &self.rain else { return false };
        let layout = &rain.layout;
        let place = layout.place(stripe);
        let mut waiting = 0;
        for slot in slots(written) {
            let die = layout.die_at(stripe, slot, place);
            if !self.ftl.has_room_on(die) {
                return false;
            }
            if self.is_reached(die) {
                if self.dies[die as usize].flushes >= limit {
                    return false;
                }
            } else {
                waiting += 1;
                if rain.delayed[die as usize].len() >= self.delayed_most() {
                    return false;
                }
            }
        }
        waiting <= tolerated
    }

    /// Whether a program on `die` would neither wait for a collection nor for others that do.
    pub(crate) fn is_reached(&self, die: u32) -> bool {
        let delayed = self.rain.as_ref().is_some_and(|rain| !rain.delayed[die as usize].is_empty());
        self.dies[die as usize].collection.is_none() && !delayed
    }

    /// Most programs that wait for one die: stripes that are held back by one page keep all their
    /// pages in the buffer, and may fill at most a quarter of it.
    fn delayed_most(&self) -> usize {
        let (Some(buffer), Some(rain)) = (&self.buffer, &self.rain) else { return 0 };
        let layout = &rain.layout;
        (buffer.config.pages / (4 * layout.data() * layout.groups)).max(1) as usize
    }

    /// How the parity of a part of a stripe is computed with the fewest reads, of dies that do not
    /// collect. None if both ways meet a collection.
    fn method(&self, stripe: u32, dirty: u64) -> Option<Method> {
        let reads = |method: Method| {
            let read = self.read_slots(stripe, dirty, method);
            let blocked = self.slots_on_collecting_dies(stripe, read);
            (blocked == 0).then_some((read.count_ones(), method))
        };
        let ways = [reads(Method::Modify), reads(Method::Reconstruct)];
        ways.into_iter().flatten().min_by_key(|&(reads, _)| reads).map(|(_, method)| method)
    }

    /// Those slots of a stripe whose die collects.
    pub(crate) fn slots_on_collecting_dies(&self, stripe: u32, of: u64) -> u64 {
        let Some(rain) = &self.rain else { return 0 };
        let layout = &rain.layout;
        let place = layout.place(stripe);
        set_of(slots(of).filter(|&slot| {
            let die = layout.die_at(stripe, slot, place);
            self.dies[die as usize].collection.is_some()
        }))
    }
}
