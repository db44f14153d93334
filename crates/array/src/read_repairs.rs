//! Repair of pages that a drive could not read.
//!
//! A page that ends with a media error is reconstructed for the operation that wanted it. It stays
//! unreadable: each later read has to reconstruct it again, and with one more such page its row is
//! lost. So every row with a member that could not be read is repaired afterwards, by an operation
//! that queues with the writers of the row. It reads the member again, reconstructs it if that
//! fails as well, and writes it back to its drive.
//!
//! Rows are repaired one by one, because two members may be unreadable in different rows: each row
//! can be reconstructed, but the chunks as a whole cannot. An operation that such errors stop waits
//! here until its rows are repaired, and begins again. That helps a single row as well: an error
//! that occurs once does not recur when the repair reads again.

use crate::action::OpId;
use crate::members::MemberSet;
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Range;

/// Maximum number of repairs at a time: of rows lent by a waiting writer, and of all others.
const DEPTH: u32 = 8;
/// Maximum number of rows for which no operation waits. Rows beyond it are reported again by their
/// next read, or by a scrub.
const ROWS_MAX: usize = 4096;
/// Number of waiting rows from which on a scrub begins no stripe: it could find more than
/// [`ROWS_MAX`].
const ROWS_BEHIND: usize = ROWS_MAX / 4;

/// A row of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Row {
    pub(crate) stripe: u64,
    pub(crate) row: u32,
}

/// Results of the repair of pages that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCounters {
    /// Pages that were reconstructed and written again.
    pub rewritten: u64,
    /// Pages that could be read when the repair read them again.
    pub readable: u64,
    /// Pages that could not be reconstructed.
    pub lost: u64,
    /// Rows that were not repaired, because too many others waited.
    pub passed_over: u64,
}

/// A repair that may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NextRepair {
    pub(crate) row: Row,
    /// The members that could not be read.
    pub(crate) members: MemberSet,
    /// The operation that waits for it, if any.
    pub(crate) waiter: Option<Waiter>,
}

/// An operation that waits for repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiter {
    pub(crate) op: OpId,
    /// Whether it is a writer that has its turn on the rows and lends it to their repairs, which
    /// then wait for no other operation.
    pub(crate) lends: bool,
}

/// A row for which no operation waits.
#[derive(Clone, Copy, Debug)]
struct Repair {
    members: MemberSet,
    /// Those of `members` that are being repaired; empty while the row waits for its turn.
    under_way: MemberSet,
}

/// The rows to repair, and the operations that wait for them.
#[derive(Clone, Debug)]
pub(crate) struct ReadRepairs {
    enabled: bool,
    /// Rows for which writers wait, and whose repair has not begun. Apart from all others, which
    /// may have to wait for those writers.
    lent: VecDeque<NextRepair>,
    lent_in_flight: u32,
    /// Rows for which reads wait, and whose repair has not begun.
    awaited: VecDeque<NextRepair>,
    /// Operations that wait, each with its number of rows still to repair.
    waiting: BTreeMap<OpId, u32>,
    /// Rows for which no operation waits.
    rows: BTreeMap<Row, Repair>,
    /// Those of `rows` whose repair has not begun.
    queue: VecDeque<Row>,
    /// Repairs in progress that no writer waits for.
    in_flight: u32,
    counters: RepairCounters,
}

impl ReadRepairs {
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            lent: VecDeque::new(),
            lent_in_flight: 0,
            awaited: VecDeque::new(),
            waiting: BTreeMap::new(),
            rows: BTreeMap::new(),
            queue: VecDeque::new(),
            in_flight: 0,
            counters: RepairCounters::default(),
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub(crate) fn counters(&self) -> &RepairCounters {
        &self.counters
    }

    /// Notes members that could not be read in these rows.
    pub(crate) fn note(&mut self, stripe: u64, rows: Range<u32>, members: MemberSet) {
        if !self.enabled {
            return;
        }
        for row in rows {
            let at = Row { stripe, row };
            if let Some(repair) = self.rows.get_mut(&at) {
                repair.members |= members;
            } else if self.queue.len() < ROWS_MAX {
                self.rows.insert(at, Repair { members, under_way: MemberSet::EMPTY });
                self.queue.push_back(at);
            } else {
                self.counters.passed_over += 1;
            }
        }
    }

    /// Has an operation wait until these members are repaired in its rows.
    pub(crate) fn wait(
        &mut self,
        waiter: Waiter,
        stripe: u64,
        rows: Range<u32>,
        members: MemberSet,
    ) {
        self.waiting.insert(waiter.op, rows.len() as u32);
        let repairs =
            rows.map(|row| NextRepair { row: Row { stripe, row }, members, waiter: Some(waiter) });
        let queue = if waiter.lends { &mut self.lent } else { &mut self.awaited };
        queue.extend(repairs);
    }

    /// Whether the operation waits for rows.
    pub(crate) fn is_waiting(&self, op: OpId) -> bool {
        self.waiting.contains_key(&op)
    }

    /// Whether no row waits to be repaired.
    #[inline]
    pub(crate) fn none_waits(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty() && self.lent.is_empty()
    }

    /// Whether [`ROWS_BEHIND`] rows or more wait to be repaired.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.queue.len() >= ROWS_BEHIND
    }

    /// The next row to repair; `None` if no repair may begin now.
    pub(crate) fn next(&mut self) -> Option<NextRepair> {
        if self.lent_in_flight < DEPTH
            && let Some(next) = self.lent.pop_front()
        {
            self.lent_in_flight += 1;
            return Some(next);
        }
        if self.in_flight >= DEPTH {
            return None;
        }
        let next = self.awaited.pop_front().or_else(|| {
            let row = self.queue.pop_front()?;
            let repair = self.rows.get_mut(&row)?;
            repair.under_way = repair.members;
            Some(NextRepair { row, members: repair.members, waiter: None })
        })?;
        self.in_flight += 1;
        Some(next)
    }

    /// Ends a repair. Returns the operation that waited for it, if it need not wait any more.
    pub(crate) fn end(
        &mut self,
        row: Row,
        waiter: Option<Waiter>,
        counts: &RepairCounters,
    ) -> Option<OpId> {
        match waiter {
            Some(Waiter { lends: true, .. }) => self.lent_in_flight -= 1,
            _ => self.in_flight -= 1,
        }
        self.counters.rewritten += counts.rewritten;
        self.counters.readable += counts.readable;
        self.counters.lost += counts.lost;
        if let Some(Waiter { op, .. }) = waiter {
            let left = self.waiting.get_mut(&op)?;
            *left -= 1;
            return (*left == 0).then(|| {
                self.waiting.remove(&op);
                op
            });
        }
        let repair = self.rows.get_mut(&row)?;
        if repair.members == repair.under_way {
            self.rows.remove(&row);
        } else {
            // More members were found unreadable meanwhile.
            repair.under_way = MemberSet::EMPTY;
            self.queue.push_front(row);
        }
        None
    }

    /// Panics if a count differs from a fresh count.
    pub(crate) fn check_invariants(&self) {
        let begun = self.rows.values().filter(|repair| !repair.under_way.is_empty()).count();
        assert_eq!(begun + self.queue.len(), self.rows.len(), "rows to repair");
        let awaited: u32 = self.waiting.values().sum();
        let awaited_begun = awaited as usize - self.awaited.len() - self.lent.len();
        let in_flight = (self.in_flight + self.lent_in_flight) as usize;
        assert_eq!(begun + awaited_begun, in_flight, "repairs under way");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repair(row: u32, members: u64, waiter: Option<Waiter>) -> Option<NextRepair> {
        let row = Row { stripe: 7, row };
        Some(NextRepair { row, members: MemberSet::from_bits(members), waiter })
    }

    fn row(row: u32) -> Row {
        Row { stripe: 7, row }
    }

    const DONE: RepairCounters =
        RepairCounters { rewritten: 1, readable: 0, lost: 0, passed_over: 0 };

    #[test]
    fn a_row_is_repaired_once_however_often_it_is_noted() {
        let mut repairs = ReadRepairs::new(true);
        repairs.note(7, 0..2, MemberSet::of(1));
        repairs.note(7, 1..3, MemberSet::of(2));
        assert_eq!(repairs.next(), repair(0, 0b10, None));
        assert_eq!(repairs.next(), repair(1, 0b110, None));
        repairs.note(7, 0..1, MemberSet::of(1));
        assert_eq!(repairs.end(row(0), None, &DONE), None);
        repairs.check_invariants();
        assert_eq!(repairs.next(), repair(2, 0b100, None));
        // Another member of a row that is being repaired becomes unreadable: the row is repaired
        // again.
        repairs.note(7, 1..2, MemberSet::of(3));
        assert_eq!(repairs.end(row(1), None, &DONE), None);
        assert_eq!(repairs.next(), repair(1, 0b1110, None));
        repairs.check_invariants();
        assert_eq!(repairs.counters().rewritten, 2);
    }

    #[test]
    fn what_became_of_pages_is_counted() {
        let mut repairs = ReadRepairs::new(true);
        assert!(repairs.is_enabled() && !ReadRepairs::new(false).is_enabled());
        repairs.note(7, 0..3, MemberSet::of(1));
        let counts = RepairCounters { rewritten: 2, readable: 3, lost: 5, passed_over: 0 };
        for times in 1..=3 {
            let NextRepair { row, waiter, .. } = repairs.next().unwrap();
            assert_eq!(repairs.end(row, waiter, &counts), None);
            let RepairCounters { rewritten, readable, lost, passed_over } = *repairs.counters();
            assert_eq!(
                (rewritten, readable, lost, passed_over),
                (2 * times, 3 * times, 5 * times, 0)
            );
        }
    }

    #[test]
    fn who_waits_goes_first_and_until_the_last_row() {
        let mut repairs = ReadRepairs::new(true);
        let op = OpId(5);
        for lends in [false, true] {
            let waiter = Waiter { op, lends };
            repairs.note(1, 0..3, MemberSet::of(0));
            repairs.wait(waiter, 7, 0..2, MemberSet::of(0));
            repairs.check_invariants();
            assert_eq!(repairs.next(), repair(0, 1, Some(waiter)));
            assert_eq!(repairs.next(), repair(1, 1, Some(waiter)));
            assert_eq!(repairs.end(row(1), Some(waiter), &DONE), None);
            assert!(repairs.is_waiting(op));
            assert_eq!(repairs.end(row(0), Some(waiter), &DONE), Some(op));
            assert!(!repairs.is_waiting(op));
            repairs.check_invariants();
        }
    }

    #[test]
    fn who_lends_its_turn_waits_for_no_other() {
        let mut repairs = ReadRepairs::new(true);
        repairs.note(1, 0..100, MemberSet::of(0));
        while repairs.next().is_some() {}
        let waiter = Waiter { op: OpId(5), lends: true };
        repairs.wait(waiter, 7, 0..1, MemberSet::of(0));
        assert_eq!(repairs.next(), repair(0, 1, Some(waiter)));
        repairs.check_invariants();
    }

    #[test]
    fn rows_are_bounded_in_number_and_at_a_time() {
        let mut repairs = ReadRepairs::new(true);
        assert!(!repairs.is_behind());
        repairs.note(0, 0..2 * ROWS_MAX as u32, MemberSet::of(0));
        assert!(repairs.is_behind());
        assert_eq!(repairs.counters().passed_over, ROWS_MAX as u64);
        let begun = core::iter::from_fn(|| repairs.next()).count();
        assert_eq!(begun, DEPTH as usize);
        repairs.check_invariants();
        // Lent rows have a limit of their own, of the same size.
        let waiter = Waiter { op: OpId(5), lends: true };
        repairs.wait(waiter, 7, 0..2 * DEPTH, MemberSet::of(0));
        let lent = core::iter::from_fn(|| repairs.next()).count();
        assert_eq!(lent, DEPTH as usize);
        repairs.check_invariants();
        let mut off = ReadRepairs::new(false);
        off.note(0, 0..1, MemberSet::of(0));
        assert_eq!(off.next(), None);
    }
}
