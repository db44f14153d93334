//! Which stripe leaves the write buffer next (TTFLASH §4.5): whole stripes before parts, and dies
//! that do not collect before those that do.

use crate::flash::Flash;
use crate::placement::FLUSHES_PER_DIE;
use crate::rain::stripes::{Method, Stripes};
use alloc::vec;
use alloc::vec::Vec;
use units::Observe;

/// Stripes in parts that are looked at in each group.
const LOOKED_AT: usize = 8;

/// How a flush stands to the collections of a plane group, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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

/// A stripe that will be flushed next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) stripe: u32,
    pub(crate) method: Method,
}

/// Whose turn it is, and where it is worth looking.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    /// The group that was flushed last; the next one has its turn.
    turn: u32,
    /// Groups in which a flush may be possible, because something changed since none was.
    may_flush: Vec<bool>,
    /// Whether the host waited when that was found out.
    urgent: bool,
    /// Most programs that may wait for one die.
    delayed_most: usize,
}

impl Chooser {
    /// For so many groups. Stripes that are held back by one page keep all their pages in the
    /// buffer, and may fill at most a quarter of it.
    pub(crate) fn new(groups: u32, data: u32, buffer_pages: u32) -> Self {
        Self {
            turn: 0,
            may_flush: vec![true; groups as usize],
            urgent: false,
            delayed_most: (buffer_pages / (4 * data * groups)).max(1) as usize,
        }
    }

    /// Something has changed that may let a stripe of this group be flushed: a die has less to do
    /// or more room, a collection has taken or returned it, or a page has become dirty.
    #[inline]
    pub(crate) fn look_at(&mut self, group: u32) {
        self.may_flush[group as usize] = true;
    }

    /// Something has changed that may let a stripe of any group be flushed.
    pub(crate) fn look_everywhere(&mut self) {
        self.may_flush.fill(true);
    }

    /// The stripe that is flushed next, if one can be. Without urgency a die has one flush at a
    /// time, which leaves it to reads for longer.
    ///
    /// A group in which nothing can be flushed is not looked at again before something changes
    /// there; see [`Chooser::look_at`].
    pub(crate) fn next<O: Observe>(
        &mut self,
        urgent: bool,
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> Option<Chosen> {
        if urgent && !self.urgent {
            self.look_everywhere();
        }
        self.urgent = urgent;
        let limit = if urgent { FLUSHES_PER_DIE } else { 1 };
        let look = Look { limit, delayed_most: self.delayed_most, stripes, flash };
        let groups = stripes.layout.groups.count;
        let mut best: Option<(Class, u32, Chosen)> = None;
        for group in (1..=groups).map(|step| (self.turn + step) % groups) {
            if !self.may_flush[group as usize] {
                debug_assert!(look.best_of(group).is_none(), "group {group} was forgotten");
                continue;
            }
            match look.best_of(group) {
                Some((class, chosen)) if best.is_none_or(|(least, ..)| class < least) => {
                    best = Some((class, group, chosen));
                }
                Some(_) => {}
                None => self.may_flush[group as usize] = false,
            }
            if best.is_some_and(|(class, ..)| class == Class::WholeQuiet) {
                break;
            }
        }
        let (_, group, chosen) = best?;
        self.turn = group;
        Some(chosen)
    }
}

/// What a choice is made by.
struct Look<'a, O: Observe> {
    /// Flush programs that a die may have.
    limit: u32,
    delayed_most: usize,
    stripes: &'a Stripes,
    flash: &'a Flash<O>,
}

/// What a flush meets on the dies of a group, as bits by position.
#[derive(Clone, Copy, Debug)]
struct GroupDies {
    /// A die has no room, or as much to do as it may have.
    closed: u64,
    /// A program would wait until the die is free of collections.
    blocked: u64,
}

impl<O: Observe> Look<'_, O> {
    /// The oldest stripe of a group that can be flushed in the best class, and the class.
    fn best_of(&self, group: u32) -> Option<(Class, Chosen)> {
        let dies = self.dies_of(group);
        self.whole_of(group, dies).or_else(|| self.part_of(group, dies))
    }

    /// What a flush meets on the dies of a group. Found out once for all its stripes: they lie on
    /// the same dies.
    fn dies_of(&self, group: u32) -> GroupDies {
        let mut dies = GroupDies { closed: 0, blocked: 0 };
        for (die, position) in self.stripes.layout.groups.dies(group).zip(0..) {
            let is_reached = self.stripes.is_reached(die, self.flash);
            let is_busy = match is_reached {
                true => self.stripes.programs(die) >= self.limit,
                false => self.stripes.delayed(die) >= self.delayed_most,
            };
            let is_closed = is_busy || !self.flash.ftl().has_room_on(die);
            dies.closed |= u64::from(is_closed) << position;
            dies.blocked |= u64::from(!is_reached) << position;
        }
        dies
    }

    /// The oldest whole stripe of a group, if it can be flushed.
    fn whole_of(&self, group: u32, dies: GroupDies) -> Option<(Class, Chosen)> {
        let order = &self.stripes.order;
        let stripe = order.whole(group)?;
        let class = match self.waiting(stripe, order.all(), dies)? {
            0 => Class::WholeQuiet,
            _ => Class::WholeTolerant,
        };
        Some((class, Chosen { stripe, method: Method::Reconstruct }))
    }

    /// The oldest stripe in parts of a group that no die holds back, else the oldest that one does.
    fn part_of(&self, group: u32, dies: GroupDies) -> Option<(Class, Chosen)> {
        let mut tolerant = None;
        for (stripe, dirty) in self.stripes.order.parts(group).take(LOOKED_AT) {
            let class = match self.waiting(stripe, dirty, dies) {
                Some(0) => Class::PartQuiet,
                Some(_) if tolerant.is_none() => Class::PartTolerant,
                _ => continue,
            };
            let Some(method) = self.method(stripe, dirty) else { continue };
            let chosen = Some((class, Chosen { stripe, method }));
            if class == Class::PartQuiet {
                return chosen;
            }
            tolerant = chosen;
        }
        tolerant
    }

    /// How many programs would wait for their die if these pages of a stripe and its parity were
    /// flushed. None if a die takes no more, or if more than one would wait.
    fn waiting(&self, stripe: u32, dirty: u64, dies: GroupDies) -> Option<u32> {
        let layout = &self.stripes.layout;
        let row = layout.row(stripe, layout.place(stripe));
        let written = row.positions(dirty | 1 << layout.data());
        let waiting = (written & dies.blocked).count_ones();
        (written & dies.closed == 0 && waiting <= 1).then_some(waiting)
    }

    /// How the parity of a part of a stripe is computed with the fewest reads, of dies that do not
    /// collect. None if both ways meet a collection.
    fn method(&self, stripe: u32, dirty: u64) -> Option<Method> {
        let reads = |method: Method| {
            let read = self.stripes.read_slots(stripe, dirty, method, self.flash.ftl());
            let blocked = self.stripes.slots_on_collecting_dies(stripe, read, self.flash);
            (blocked == 0).then_some((read.count_ones(), method))
        };
        let ways = [reads(Method::Modify), reads(Method::Reconstruct)];
        ways.into_iter().flatten().min_by_key(|&(reads, _)| reads).map(|(_, method)| method)
    }
}
