//! Choice of the stripe that leaves the write buffer next (TTFLASH §4.5): whole stripes before
//! parts, and dies that do not collect before those that do.

use crate::flash::Flash;
use crate::placement::FLUSHES_PER_DIE;
use crate::rain::stripes::{Method, Stripes};
use alloc::vec;
use alloc::vec::Vec;
use units::Observe;

/// Partial stripes that are examined in each group.
const LOOKED_AT: usize = 8;

/// Kind of a flush, by its pages and the collections of its plane group, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    /// A whole stripe, while no die collects.
    WholeQuiet,
    /// A whole stripe, while one of its dies collects.
    WholeTolerant,
    /// A part of a stripe, on dies that do not collect.
    PartQuiet,
    /// A part of a stripe, where one page waits for its die.
    PartTolerant,
}

/// A stripe that will be flushed next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) stripe: u32,
    pub(crate) method: Method,
}

/// Turns of the plane groups, and the groups where a flush may be possible.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    /// Group that was flushed last; the next group has its turn.
    turn: u32,
    /// Groups in which a flush may be possible: something has changed since none was.
    may_flush: Vec<bool>,
    /// Whether the last search was urgent.
    urgent: bool,
    /// Most programs that may wait for one die.
    delayed_most: usize,
}

impl Chooser {
    /// Chooser for `groups` groups. A stripe that one page holds back keeps all its pages in the
    /// buffer; such stripes may fill at most a quarter of it.
    pub(crate) fn new(groups: u32, data: u32, buffer_pages: u32) -> Self {
        Self {
            turn: 0,
            may_flush: vec![true; groups as usize],
            urgent: false,
            delayed_most: (buffer_pages / (4 * data * groups)).max(1) as usize,
        }
    }

    /// Marks a group where a change may let a stripe be flushed: a die has less to do or more room,
    /// a collection has taken or returned a die, or a page has become dirty.
    #[inline]
    pub(crate) fn look_at(&mut self, group: u32) {
        self.may_flush[group as usize] = true;
    }

    /// Marks all groups, because a change may let a stripe of any group be flushed.
    pub(crate) fn look_everywhere(&mut self) {
        self.may_flush.fill(true);
    }

    /// Stripe that is flushed next; `None` if none can be. Without urgency a die has one flush at a
    /// time, which leaves it to reads for longer.
    ///
    /// A group in which nothing can be flushed is not examined again before something changes
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

/// Inputs of a choice.
struct Look<'a, O: Observe> {
    /// Most flush programs of a die.
    limit: u32,
    delayed_most: usize,
    stripes: &'a Stripes,
    flash: &'a Flash<O>,
}

/// Obstacles to a flush on the dies of a group, as bits by position.
#[derive(Clone, Copy, Debug)]
struct GroupDies {
    /// Dies without room, or with their most programs.
    closed: u64,
    /// Dies where a program would wait for a collection.
    blocked: u64,
}

impl<O: Observe> Look<'_, O> {
    /// Oldest stripe of a group that can be flushed in the best class, and that class.
    fn best_of(&self, group: u32) -> Option<(Class, Chosen)> {
        let dies = self.dies_of(group);
        self.whole_of(group, dies).or_else(|| self.part_of(group, dies))
    }

    /// Obstacles to a flush on the dies of a group. Determined once for all its stripes, because
    /// they lie on the same dies.
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

    /// Oldest whole stripe of a group; `None` if it cannot be flushed.
    fn whole_of(&self, group: u32, dies: GroupDies) -> Option<(Class, Chosen)> {
        let order = &self.stripes.order;
        let stripe = order.whole(group)?;
        let class = match self.waiting(stripe, order.all(), dies)? {
            0 => Class::WholeQuiet,
            _ => Class::WholeTolerant,
        };
        Some((class, Chosen { stripe, method: Method::Reconstruct }))
    }

    /// Oldest partial stripe of a group that no die holds back, else the oldest that one die holds
    /// back.
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

    /// Number of programs that would wait for their die if these pages of a stripe and its parity
    /// were flushed. `None` if a die takes no more programs, or if more than one program would
    /// wait.
    fn waiting(&self, stripe: u32, dirty: u64, dies: GroupDies) -> Option<u32> {
        let layout = &self.stripes.layout;
        let row = layout.row(stripe, layout.place(stripe));
        let written = row.positions(dirty | 1 << layout.data());
        let waiting = (written & dies.blocked).count_ones();
        (written & dies.closed == 0 && waiting <= 1).then_some(waiting)
    }

    /// Method that computes the parity of a partial stripe with the fewest reads, all from dies
    /// that do not collect. `None` if both methods meet a collection.
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
