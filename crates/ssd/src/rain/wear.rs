//! Wear leveling between dies (TTFLASH §7): static places wear some dies more than others where
//! some pages are written more than others.
//!
//! *Horizontal shifting* turns a stripe within its plane group, so that the pages that are written
//! most, and the parity that goes with them, burden other dies. *Vertical migration* exchanges a
//! stripe with one of the least worn group; an exchange, because every die has room for as many
//! stripes as it was given. Both happen when a stripe is flushed, which is when it is known to be
//! written, and cost the programs of the pages that would have stayed.

use crate::device::Ssd;
use crate::rain::layout::{Place, slots};

/// Stripes that are looked at to find one to exchange with.
const LOOKED_AT: u32 = 64;

/// What happens to a stripe that is flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// It stays where it is.
    Stay,
    /// It is turned within its group.
    Shift(Place),
    /// It exchanges its group with another stripe.
    Exchange {
        /// Where it goes.
        place: Place,
        /// The other stripe.
        with: u32,
    },
}

impl Ssd {
    /// A block of `die` was erased.
    pub(crate) fn count_wear(&mut self, die: u32) {
        if let Some(rain) = &mut self.rain {
            rain.wear[die as usize] += 1;
            rain.group_wear[rain.layout.group_of(die) as usize] += 1;
        }
    }

    /// Where a stripe goes whose slots `dirty` are flushed.
    pub(crate) fn level_wear(&mut self, stripe: u32, dirty: u64) -> Move {
        let Some(rain) = &self.rain else { return Move::Stay };
        let Some(erases) = rain.config.wear_leveling else { return Move::Stay };
        let group = rain.layout.place(stripe).group;
        // A move reads and programs on every die of the group.
        if !self.can_take_stripe(group) {
            return Move::Stay;
        }
        if let Some(place) = self.lighter_shift(stripe, dirty, erases) {
            return Move::Shift(place);
        }
        let Some(place) = self.less_worn_group(group, erases) else { return Move::Stay };
        match self.partner(place.group) {
            Some(with) => Move::Exchange { place, with },
            None => Move::Stay,
        }
    }

    /// Whether every die of a group has room for a page and none collects.
    fn can_take_stripe(&self, group: u32) -> bool {
        let Some(rain) = &self.rain else { return false };
        rain.collecting[group as usize] == 0
            && (0..rain.layout.width)
                .all(|position| self.ftl.has_room_on(rain.layout.die(group, position)))
    }

    /// The turn of a stripe at which its dirty pages and its parity burden dies that have at least
    /// `erases` fewer erases.
    fn lighter_shift(&self, stripe: u32, dirty: u64, erases: u32) -> Option<Place> {
        let rain = self.rain.as_ref()?;
        let layout = &rain.layout;
        let written = dirty | 1 << layout.data();
        let burdened = |place: Place| {
            slots(written)
                .map(|slot| rain.wear[layout.die_at(stripe, slot, place) as usize])
                .max()
                .unwrap_or(0)
        };
        let place = layout.place(stripe);
        let turned = (0..layout.width).map(|shift| Place { group: place.group, shift });
        let lightest = turned.min_by_key(|&place| burdened(place))?;
        (burdened(place) >= burdened(lightest) + erases).then_some(lightest)
    }

    /// A place in the least worn group, if its dies have at least `erases` fewer erases on average
    /// and no exchange is under way.
    fn less_worn_group(&self, group: u32, erases: u32) -> Option<Place> {
        let rain = self.rain.as_ref()?;
        let least = (0..rain.layout.groups).min_by_key(|&group| rain.group_wear[group as usize])?;
        let difference = rain.group_wear[group as usize] - rain.group_wear[least as usize];
        let worth_it = difference >= u64::from(erases) * u64::from(rain.layout.width);
        (worth_it && rain.exchanging == 0 && self.can_take_stripe(least))
            .then_some(Place { group: least, shift: 0 })
    }

    /// A stripe of a group that is not being written.
    fn partner(&mut self, group: u32) -> Option<u32> {
        let rain = self.rain.as_mut()?;
        let layout = &rain.layout;
        let cursor = &mut rain.partner_rows[group as usize];
        for _ in 0..LOOKED_AT.min(layout.rows) {
            let stripe = *cursor * layout.groups + group;
            *cursor = (*cursor + 1) % layout.rows;
            let is_there = layout.place(stripe).group == group;
            if is_there && !rain.order.contains(stripe) && !rain.flushing.contains_key(&stripe) {
                return Some(stripe);
            }
        }
        None
    }
}
