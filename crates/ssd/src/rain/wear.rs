//! Wear leveling between dies (TTFLASH §7): with static places, pages that are written more often
//! wear their dies more.
//!
//! *Horizontal shifting* turns a stripe within its plane group, so that its most written pages, and
//! their parity, burden other dies. *Vertical migration* exchanges a stripe with one of the least
//! worn group, because every die has room for a fixed number of stripes. Both happen when a stripe
//! is flushed, because it is known then to be written. They cost the programs of the pages that
//! would have stayed.

use crate::flash::Flash;
use crate::rain::layout::{Place, slots};
use crate::rain::stripes::Stripes;
use alloc::vec;
use alloc::vec::Vec;
use units::Observe;

/// Stripes that are examined to find one to exchange with.
const LOOKED_AT: u32 = 64;

/// Move of a stripe that is flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// The stripe stays where it is.
    Stay,
    /// The stripe is shifted within its group.
    Shift(Place),
    /// The stripe exchanges its group with another stripe.
    Exchange {
        /// New place of the stripe.
        place: Place,
        /// The other stripe.
        with: u32,
    },
}

/// Choice of the stripes that move to even out wear.
#[derive(Clone, Debug)]
pub(crate) struct WearLeveling {
    /// Difference of erases at which a less worn die is burdened instead; `None` for never.
    erases: Option<u32>,
    /// Stripes on their way from one group to another.
    exchanging: u32,
    /// Row of each group where the search for the next stripe to exchange with begins.
    partner_rows: Vec<u32>,
}

impl WearLeveling {
    pub(crate) fn new(groups: u32, erases: Option<u32>) -> Self {
        Self { erases, exchanging: 0, partner_rows: vec![0; groups as usize] }
    }

    /// Move of a stripe that is to be flushed.
    pub(crate) fn plan<O: Observe>(
        &mut self,
        stripe: u32,
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> Move {
        let Some(erases) = self.erases else { return Move::Stay };
        let group = stripes.layout.place(stripe).group;
        // A move reads and programs on every die of the group.
        if !can_take_stripe(group, stripes, flash) {
            return Move::Stay;
        }
        if let Some(place) = lighter_shift(stripe, erases, stripes, flash) {
            return Move::Shift(place);
        }
        let place = self.less_worn_group(group, erases, stripes, flash);
        let Some(place) = place else { return Move::Stay };
        match self.partner(place.group, stripes) {
            Some(with) => {
                self.exchanging += 2;
                Move::Exchange { place, with }
            }
            None => Move::Stay,
        }
    }

    /// Records that a stripe has come to another group.
    pub(crate) fn end_exchange(&mut self) {
        self.exchanging -= 1;
    }

    /// Place in the least worn group; `None` unless its dies have at least `erases` fewer erases on
    /// average, or while an exchange is under way.
    fn less_worn_group<O: Observe>(
        &self,
        group: u32,
        erases: u32,
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> Option<Place> {
        if self.exchanging > 0 {
            return None;
        }
        let groups = stripes.layout.groups;
        let wear =
            |group: u32| groups.dies(group).map(|die| flash.ftl().die_erases(die)).sum::<u64>();
        let least = (0..groups.count).min_by_key(|&group| wear(group))?;
        let worth_it = wear(group) - wear(least) >= u64::from(erases) * u64::from(groups.width);
        (worth_it && can_take_stripe(least, stripes, flash))
            .then_some(Place { group: least, shift: 0 })
    }

    /// Stripe of a group to exchange with: one that is neither in the write buffer nor being
    /// flushed.
    fn partner(&mut self, group: u32, stripes: &Stripes) -> Option<u32> {
        let layout = &stripes.layout;
        let cursor = &mut self.partner_rows[group as usize];
        for _ in 0..LOOKED_AT.min(layout.rows) {
            let stripe = *cursor * layout.groups.count + group;
            *cursor = (*cursor + 1) % layout.rows;
            let is_there = layout.place(stripe).group == group;
            if is_there && !stripes.order.contains(stripe) && !stripes.is_flushing(stripe) {
                return Some(stripe);
            }
        }
        None
    }
}

/// Whether every die of a group has room for a page and none collects.
fn can_take_stripe<O: Observe>(group: u32, stripes: &Stripes, flash: &Flash<O>) -> bool {
    flash.collecting_in_group(group) == Some(0)
        && stripes.layout.groups.dies(group).all(|die| flash.ftl().has_room_on(die))
}

/// Turn of a stripe at which its dirty pages and its parity burden dies with at least `erases`
/// fewer erases.
fn lighter_shift<O: Observe>(
    stripe: u32,
    erases: u32,
    stripes: &Stripes,
    flash: &Flash<O>,
) -> Option<Place> {
    let layout = &stripes.layout;
    let written = stripes.order.dirty(stripe) | 1 << layout.data();
    let burdened = |place: Place| {
        slots(written)
            .map(|slot| flash.ftl().die_erases(layout.die_at(stripe, slot, place)))
            .max()
            .unwrap_or(0)
    };
    let place = layout.place(stripe);
    let turned = (0..layout.groups.width).map(|shift| Place { group: place.group, shift });
    let lightest = turned.min_by_key(|&place| burdened(place))?;
    (burdened(place) >= burdened(lightest) + u64::from(erases)).then_some(lightest)
}
