//! Which stripe leaves the write buffer next (TTFLASH §4.5): whole stripes before parts, and dies
//! that do not collect before those that do.

use crate::device::Ssd;
use crate::flush::FLUSHES_PER_DIE;
use crate::rain::flush::{Chosen, Method};

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
    pub(crate) fn next_stripe(&mut self, urgent: bool) -> Option<Chosen> {
        let limit = if urgent { FLUSHES_PER_DIE } else { 1 };
        let rain = self.rain.as_ref()?;
        let (groups, turn) = (rain.layout.groups, rain.turn);
        let chosen = ORDER.into_iter().find_map(|class| {
            (1..=groups)
                .map(|step| (turn + step) % groups)
                .find_map(|group| Some((group, self.stripe_of(group, class, limit)?)))
        });
        let (group, chosen) = chosen?;
        if let Some(rain) = &mut self.rain {
            rain.turn = group;
        }
        Some(chosen)
    }

    /// The oldest stripe of a group that can be flushed in this class.
    fn stripe_of(&self, group: u32, class: Class, limit: u32) -> Option<Chosen> {
        let rain = self.rain.as_ref()?;
        let layout = &rain.layout;
        let tolerated = match class {
            Class::WholeQuiet | Class::PartQuiet => 0,
            Class::WholeTolerant | Class::PartTolerant => 1,
        };
        match class {
            Class::WholeQuiet | Class::WholeTolerant => {
                let stripe = rain.order.whole(group)?;
                let fits =
                    self.suits(stripe, 1 << layout.data() | rain.order.all(), tolerated, limit);
                fits.then_some(Chosen { stripe, method: Method::Reconstruct })
            }
            Class::PartQuiet | Class::PartTolerant => {
                rain.order.parts(group).take(LOOKED_AT).find_map(|(stripe, dirty)| {
                    let method = self.method(stripe, dirty)?;
                    let programmed = dirty | 1 << layout.data();
                    let fits = self.suits(stripe, programmed, tolerated, limit);
                    fits.then_some(Chosen { stripe, method })
                })
            }
        }
    }

    /// Whether these slots of a stripe can be programmed: every die has room, and not more than
    /// `tolerated` of them would have to wait.
    fn suits(&self, stripe: u32, slots: u64, tolerated: u32, limit: u32) -> bool {
        let Some(rain) = &self.rain else { return false };
        let layout = &rain.layout;
        let place = layout.place(stripe);
        let mut waiting = 0;
        for slot in (0..=layout.data()).filter(|&slot| slots >> slot & 1 == 1) {
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
    fn is_reached(&self, die: u32) -> bool {
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
            let slots = self.read_slots(stripe, dirty, method);
            let blocked = self.slots_on_collecting_dies(stripe, slots);
            (blocked == 0).then_some((slots.count_ones(), method))
        };
        let ways = [reads(Method::Modify), reads(Method::Reconstruct)];
        ways.into_iter().flatten().min_by_key(|&(reads, _)| reads).map(|(_, method)| method)
    }

    /// Those slots of a stripe whose die collects.
    pub(crate) fn slots_on_collecting_dies(&self, stripe: u32, slots: u64) -> u64 {
        let Some(rain) = &self.rain else { return 0 };
        let layout = &rain.layout;
        let place = layout.place(stripe);
        (0..=layout.data())
            .filter(|&slot| slots >> slot & 1 == 1)
            .filter(|&slot| {
                let die = layout.die_at(stripe, slot, place);
                self.dies[die as usize].collection.is_some()
            })
            .fold(0, |slots, slot| slots | 1 << slot)
    }
}
