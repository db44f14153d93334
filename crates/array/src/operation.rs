//! Stripe operations: one segment of a request, or one stripe of a background job, on its way.

use crate::action::OpId;
use crate::array::kinds::{Check, Repair, Rewrite, Settle, Settler, Write};
use crate::event::OperationKind;
use crate::fetch::{Fetch, StripeShape};
use crate::layout::{Layout, Segment};
use crate::members::MemberSet;
use crate::requests::RequestSlot;
use core::ops::{Index, IndexMut, Range};
use units::Slab;

/// State of a stripe operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// A writer that waits for an earlier writer of the same rows.
    WaitTurn,
    /// Obtaining the members that are wanted.
    Fetch,
    /// A read whose reconstruction waits for a write of overlapping rows that it cannot share.
    WaitWrite,
    /// Computing reconstructed pages.
    Compute,
    /// A writer whose new data is complete and that waits for readers of the same rows.
    WaitReaders,
    /// Writing data and parity.
    Commit,
    /// Waiting for the repair of its rows after media errors that it cannot work around; begins
    /// again afterwards.
    WaitRepair,
    /// Answered; only superfluous reads are in flight.
    Drain,
    /// Over: its number is free for another.
    Closed,
}

impl Phase {
    /// Whether a phase may come right after another.
    const fn may_follow(self, before: Self) -> bool {
        match self {
            Self::WaitTurn | Self::WaitWrite => matches!(before, Self::Fetch),
            Self::Fetch => {
                matches!(before, Self::Fetch | Self::WaitTurn | Self::WaitWrite | Self::WaitRepair)
            }
            Self::Compute => matches!(before, Self::Fetch | Self::Compute),
            Self::WaitReaders => matches!(before, Self::Fetch | Self::WaitTurn | Self::Compute),
            Self::Commit => matches!(before, Self::Fetch | Self::Compute | Self::WaitReaders),
            Self::WaitRepair => !matches!(before, Self::Commit | Self::Drain | Self::Closed),
            Self::Drain => !matches!(before, Self::Drain | Self::Closed),
            Self::Closed => matches!(before, Self::Drain),
        }
    }
}

/// Kind of an operation, with the state that only this kind needs.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Part of a read. `touched`: the members that the host wants; of a mirror, the copy that is
    /// read.
    Read { request: RequestSlot, touched: MemberSet },
    /// Part of a write.
    Write(Write),
    /// Part of a deallocation: all data of its rows.
    Deallocate { request: RequestSlot },
    /// A stripe of a job: writes lost members, or parity that may not match.
    Repair(Repair),
    /// A stripe of a job: has parity compared with its data.
    Check(Check),
    /// Rewrites members of a row that could not be read.
    Rewrite(Rewrite),
    /// Makes the copies of a mirror equal that a crash may have left different.
    Settle(Settle),
}

impl Work {
    #[inline]
    pub(crate) fn kind(&self) -> OperationKind {
        match self {
            Self::Read { .. } => OperationKind::Read,
            Self::Write(_) => OperationKind::Write,
            Self::Deallocate { .. } => OperationKind::Deallocate,
            Self::Repair(_) | Self::Settle(Settle { owner: Settler::Job(_), .. }) => {
                OperationKind::Repair
            }
            Self::Check(_) => OperationKind::Check,
            Self::Rewrite(_) | Self::Settle(_) => OperationKind::Rewrite,
        }
    }
}

/// A stripe operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Number since the start, from 1; unlike its [`OpId`], it is never reused.
    pub(crate) serial: u64,
    pub(crate) stripe: u64,
    pub(crate) first_row: u32,
    pub(crate) rows: u32,
    phase: Phase,
    /// Whether the operation did not get what it needs.
    pub(crate) failed: bool,
    /// Members for whose repair it has waited.
    pub(crate) awaited: MemberSet,
    /// Members with a write or a deallocation in flight.
    pub(crate) writing: MemberSet,
    pub(crate) fetch: Fetch,
    pub(crate) work: Work,
}

impl Operation {
    /// An operation on the rows of `segment`, in phase `Fetch`.
    #[inline]
    pub(crate) const fn new(serial: u64, segment: &Segment, fetch: Fetch, work: Work) -> Self {
        let Segment { stripe, first_row, rows, .. } = *segment;
        Self {
            serial,
            stripe,
            first_row,
            rows,
            phase: Phase::Fetch,
            failed: false,
            awaited: MemberSet::EMPTY,
            writing: MemberSet::EMPTY,
            fetch,
            work,
        }
    }

    #[inline]
    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Enters the next phase.
    ///
    /// # Panics
    ///
    /// If `phase` cannot follow the current one: the array stops rather than write unknown data.
    #[inline]
    pub(crate) fn enter(&mut self, phase: Phase) {
        let (before, stripe) = (self.phase, self.stripe);
        assert!(
            phase.may_follow(before),
            "an operation on stripe {stripe} goes from {before:?} to {phase:?}"
        );
        self.phase = phase;
    }

    /// The rows of the stripe that it works on.
    #[inline]
    pub(crate) fn range(&self) -> Range<u32> {
        self.first_row..self.first_row + self.rows
    }

    /// Shape of its stripe: which members hold data, and which hold parity.
    #[inline]
    pub(crate) fn shape(&self, layout: &Layout) -> StripeShape {
        let parity = layout.parity_set(self.stripe);
        StripeShape {
            data: layout.member_set(self.stripe) - parity,
            parity,
            parities: layout.parities(),
            may_reconstruct: !matches!(self.work, Work::Check(_)),
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(self.work, Work::Read { .. })
    }

    /// Whether it writes what its rows should hold already, and no new data.
    pub(crate) fn is_repair(&self) -> bool {
        matches!(self.work, Work::Repair(_) | Work::Rewrite(_) | Work::Settle(_) | Work::Check(_))
    }

    /// Members of a repair that could not be read.
    pub(crate) fn rewritten(&self) -> MemberSet {
        self.fetch.wanted() & self.fetch.broken()
    }

    /// Whether none of its commands is in flight.
    #[inline]
    pub(crate) fn has_nothing_out(&self) -> bool {
        self.fetch.outstanding().is_empty() && self.writing.is_empty()
    }
}

/// All stripe operations that are not closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    slots: Slab<Operation>,
    /// Stripe operations since the start.
    opened: u64,
    /// Highest number ever in use, plus 1.
    numbers: u32,
}

impl Operations {
    /// The serial number of the next operation.
    #[inline]
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }

    #[inline]
    pub(crate) fn insert(&mut self, operation: Operation) -> OpId {
        let op = self.slots.insert(operation);
        self.numbers = self.numbers.max(op + 1);
        OpId(op)
    }

    #[inline]
    pub(crate) fn release(&mut self, op: OpId) {
        let operation = self.slots.get_mut(op.0);
        assert!(operation.has_nothing_out(), "{op:?} is closed, and commands of it are out");
        operation.enter(Phase::Closed);
        self.slots.release(op.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The operations that are not closed.
    pub(crate) fn open(&self) -> impl Iterator<Item = OpId> {
        (0..self.numbers).map(OpId).filter(|&op| self[op].phase != Phase::Closed)
    }
}

impl Index<OpId> for Operations {
    type Output = Operation;

    #[inline]
    fn index(&self, op: OpId) -> &Operation {
        self.slots.get(op.0)
    }
}

impl IndexMut<OpId> for Operations {
    #[inline]
    fn index_mut(&mut self, op: OpId) -> &mut Operation {
        self.slots.get_mut(op.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> Operation {
        let segment = Segment { stripe: 3, first_chunk: 0, chunks: 1, first_row: 0, rows: 1 };
        let work = Work::Read { request: RequestSlot(0), touched: MemberSet::EMPTY };
        Operation::new(1, &segment, Fetch::new(0), work)
    }

    #[test]
    fn a_write_goes_from_phase_to_phase() {
        let mut target = operation();
        for phase in [
            Phase::WaitTurn,
            Phase::Fetch,
            Phase::Compute,
            Phase::WaitReaders,
            Phase::Commit,
            Phase::Drain,
            Phase::Closed,
        ] {
            target.enter(phase);
            assert_eq!(target.phase(), phase);
        }
    }

    #[test]
    #[should_panic(expected = "an operation on stripe 3 goes from WaitTurn to Commit")]
    fn nothing_is_written_before_it_is_known() {
        let mut target = operation();
        target.enter(Phase::WaitTurn);
        target.enter(Phase::Commit);
    }
}
