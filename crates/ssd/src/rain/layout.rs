//! Places of the pages of a stripe: the page number determines the die, and the page may be
//! anywhere within its die.
//!
//! `N − 1` consecutive logical pages and their parity are a stripe. The dies at the same position
//! on `N` channels are a plane group, and a stripe lies in one group, a page on each die (TTFLASH
//! §4.2 and Figure 4). Stripes go round the groups, and from one row of a group to the next the
//! parity moves by one channel. So consecutive stripes do not share a die, and every die of a group
//! has its share of the parity. Within its die a page is anywhere, as on a drive without stripes.
//!
//! Parity pages have numbers of their own behind the logical pages, so that mapping and collection
//! treat them like any other page.

use crate::config::Config;
use crate::plane_groups::PlaneGroups;
use alloc::collections::BTreeMap;

/// Place of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The plane group.
    pub(crate) group: u32,
    /// Number of channels by which the stripe is turned from its static place.
    pub(crate) shift: u32,
}

/// Arithmetic of stripes, and the places of the stripes that have moved.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) groups: PlaneGroups,
    /// Stripes in each group.
    pub(crate) rows: u32,
    /// Logical pages; the parity of stripe `s` is page `logical_pages + s`.
    pub(crate) logical_pages: u32,
    /// Stripes away from their static place (the table of TTFLASH §7; its keys serve as the bits
    /// there).
    moved: BTreeMap<u32, Place>,
}

/// The slots in a set that is kept as bits, in order.
pub(crate) fn slots(set: u64) -> impl Iterator<Item = u32> {
    let mut left = set;
    core::iter::from_fn(move || {
        let slot = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (slot < u64::BITS).then_some(slot)
    })
}

/// Slots as bits.
pub(crate) fn set_of(slots: impl Iterator<Item = u32>) -> u64 {
    slots.fold(0, |set, slot| set | 1 << slot)
}

impl Layout {
    /// The layout of a drive with RAIN.
    pub(crate) fn new(config: &Config, width: u32) -> Self {
        let rows = (config.stored_pages() / u64::from(config.geometry.dies())) as u32;
        Self {
            groups: PlaneGroups::new(config, width),
            rows,
            logical_pages: config.logical_pages() as u32,
            moved: BTreeMap::new(),
        }
    }

    /// Pages of a stripe that the host sees.
    #[inline]
    pub(crate) fn data(&self) -> u32 {
        self.groups.width - 1
    }

    pub(crate) fn stripes(&self) -> u32 {
        self.rows * self.groups.count
    }

    /// Stripe of a page, and its slot there; the last slot is the parity.
    #[inline]
    pub(crate) fn slot_of(&self, page: u32) -> (u32, u32) {
        if page < self.logical_pages {
            (page / self.data(), page % self.data())
        } else {
            (page - self.logical_pages, self.data())
        }
    }

    /// The page in a slot of a stripe.
    #[inline]
    pub(crate) fn page(&self, stripe: u32, slot: u32) -> u32 {
        if slot == self.data() { self.logical_pages + stripe } else { stripe * self.data() + slot }
    }

    /// Parity page of a page's stripe.
    pub(crate) fn parity_of(&self, page: u32) -> u32 {
        let (stripe, _) = self.slot_of(page);
        self.logical_pages + stripe
    }

    /// Present place of a stripe.
    #[inline]
    pub(crate) fn place(&self, stripe: u32) -> Place {
        if let Some(&place) = self.moved.get(&stripe) {
            return place;
        }
        Place { group: stripe % self.groups.count, shift: 0 }
    }

    /// Sets the place of a stripe.
    pub(crate) fn set_place(&mut self, stripe: u32, place: Place) {
        let home = Place { group: stripe % self.groups.count, shift: 0 };
        if place == home {
            self.moved.remove(&stripe);
        } else {
            self.moved.insert(stripe, place);
        }
    }

    /// Stripes that are not at their static place.
    pub(crate) fn moved(&self) -> usize {
        self.moved.len()
    }

    /// A stripe at `place`, to find the dies of several of its slots.
    #[inline]
    pub(crate) fn row(&self, stripe: u32, place: Place) -> Row {
        let PlaneGroups { width, count, .. } = self.groups;
        let (home, row) = (stripe % count, stripe / count);
        Row {
            width,
            parity: width - 1 - (home + row) % width,
            shift: place.shift,
            first_die: self.groups.die(place.group, 0),
            chips_per_channel: self.groups.chips_per_channel,
        }
    }

    /// Die of a slot of a stripe at `place`.
    #[inline]
    pub(crate) fn die_at(&self, stripe: u32, slot: u32, place: Place) -> u32 {
        self.row(stripe, place).die(slot)
    }

    /// The die that a page lies on, written or not.
    #[inline]
    pub(crate) fn die_of(&self, page: u32) -> u32 {
        let (stripe, slot) = self.slot_of(page);
        self.die_at(stripe, slot, self.place(stripe))
    }

    /// Page of a die in a row, if no stripe has moved.
    pub(crate) fn page_in_row(&self, die: u32, row: u32) -> u32 {
        let group = self.groups.of(die);
        let position = self.groups.position_of(die);
        let stripe = row * self.groups.count + group;
        let place = Place { group, shift: 0 };
        let row = self.row(stripe, place);
        let slot = (0..self.groups.width).find(|&slot| row.position(slot) == position);
        self.page(stripe, slot.unwrap_or(self.data()))
    }
}

/// One stripe at one place: values that all its slots share, computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Slots of the stripe; the last is the parity.
    width: u32,
    /// Position of the parity before the stripe is turned.
    parity: u32,
    /// Number of positions by which the stripe is turned.
    shift: u32,
    /// The die at the first position.
    first_die: u32,
    /// Difference of the numbers of the dies at two neighbouring positions.
    chips_per_channel: u32,
}

impl Row {
    /// Position of a slot within its group.
    #[inline]
    pub(crate) fn position(&self, slot: u32) -> u32 {
        let fixed = if slot == self.width - 1 {
            self.parity
        } else {
            slot + u32::from(slot >= self.parity)
        };
        let turned = fixed + self.width - self.shift;
        if turned < self.width { turned } else { turned - self.width }
    }

    /// The positions of these slots, as bits.
    #[inline]
    pub(crate) fn positions(&self, slots: u64) -> u64 {
        let below = (1 << self.parity) - 1;
        let data = slots & ((1 << (self.width - 1)) - 1);
        let parity = slots >> (self.width - 1) & 1;
        let fixed = data & below | (data & !below) << 1 | parity << self.parity;
        // The lowest positions wrap round to the top.
        let turned_out = fixed & ((1 << self.shift) - 1);
        fixed >> self.shift | turned_out << (self.width - self.shift - 1) << 1
    }

    /// Die of a slot.
    #[inline]
    pub(crate) fn die(&self, slot: u32) -> u32 {
        self.first_die + self.position(slot) * self.chips_per_channel
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;
    use alloc::vec;
    use alloc::vec::Vec;

    fn layout(channels: u32, chips: u32, width: u32) -> Layout {
        let mut config = presets::preset("ttflash").unwrap();
        config.geometry.channels = channels;
        config.geometry.chips_per_channel = chips;
        config.geometry.blocks_per_plane = 32;
        config.rain = Some(crate::RainConfig::new(width));
        Layout::new(&config, width)
    }

    #[test]
    fn the_first_stripes_lie_as_in_figure_4() {
        let layout = layout(4, 2, 4);
        let positions = |stripe| {
            let place = layout.place(stripe);
            let row = layout.row(stripe, place);
            let positions: Vec<u32> = (0..4).map(|slot| row.position(slot)).collect();
            (place.group, positions)
        };
        assert_eq!(positions(0), (0, vec![0, 1, 2, 3]), "0 1 2 P");
        assert_eq!(positions(1), (1, vec![0, 1, 3, 2]), "3 4 P 5");
        assert_eq!(positions(2), (0, vec![0, 1, 3, 2]), "the next row of the first group");
    }

    #[test]
    fn shifting_turns_a_stripe() {
        // TTFLASH §7: {0 1 2 P} becomes {1 2 P 0}.
        let layout = layout(4, 2, 4);
        let place = Place { group: 0, shift: 1 };
        let row = layout.row(0, place);
        let positions: Vec<u32> = (0..4).map(|slot| row.position(slot)).collect();
        assert_eq!(positions, vec![3, 0, 1, 2]);
    }

    #[test]
    fn every_page_has_one_die_and_every_row_of_a_die_one_page() {
        for (channels, chips, width) in [(4, 2, 4), (8, 8, 8), (8, 3, 4), (6, 5, 3), (12, 7, 6)] {
            let layout = layout(channels, chips, width);
            let mut seen = vec![false; (layout.stripes() * width) as usize];
            let mut parities = vec![0; (channels * chips) as usize];
            for die in 0..channels * chips {
                for row in 0..layout.rows {
                    let page = layout.page_in_row(die, row);
                    assert_eq!(layout.die_of(page), die);
                    assert!(!core::mem::replace(&mut seen[page as usize], true));
                    let (stripe, slot) = layout.slot_of(page);
                    assert_eq!(layout.page(stripe, slot), page);
                    let shifts = (0..width).map(|shift| Place { shift, ..layout.place(stripe) });
                    for row in shifts.map(|place| layout.row(stripe, place)) {
                        let slots = [slot, width - 1];
                        let positions = slots.map(|slot| row.position(slot));
                        let set = row.positions(set_of(slots.into_iter()));
                        assert_eq!(set, set_of(positions.into_iter()), "{row:?}");
                    }
                    parities[die as usize] += u32::from(slot == layout.data());
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
            let (fewest, most) = (parities.iter().min(), parities.iter().max());
            assert!(most.unwrap() - fewest.unwrap() <= 1, "parity lies evenly: {parities:?}");
        }
    }
}
