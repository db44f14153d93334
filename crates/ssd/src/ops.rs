//! Page operations waiting for a die.

use crate::ledger::Spent;
use units::{Duration, Slab};

/// No operation: the end of a queue.
pub(crate) const NO_OP: u32 = u32::MAX;

/// What a queued entry asks of its die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    /// Sense a page and send it out.
    Read,
    /// Take a page in and program it.
    Program,
    /// Program a page from the write buffer, or the parity of such pages.
    Flush,
    /// Sense a page that the host did not ask for, to compute one that it did, and send it out.
    RebuildRead,
    /// Sense a page for new parity and send it out.
    FlushRead,
    /// Hold the die for a collection.
    Hold,
}

impl OpKind {
    /// Whether the host waits for it as for a read.
    #[inline]
    pub(crate) fn is_host_read(self) -> bool {
        matches!(self, Self::Read | Self::RebuildRead)
    }
}

/// One entry of a die's queue.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    /// Whether the entry queued up behind a collection.
    pub(crate) held_up: bool,
    /// The command it belongs to; the collection for [`OpKind::Hold`], the rebuild for
    /// [`OpKind::RebuildRead`], the stripe being flushed for [`OpKind::FlushRead`] and, with RAIN,
    /// [`OpKind::Flush`]; else why that was queued.
    pub(crate) owner: u32,
    /// Block within the command.
    pub(crate) block: u32,
    /// Logical page.
    pub(crate) logical: u32,
    /// Flash page that is programmed; of [`OpKind::Read`], the rebuild that it is part of as well.
    pub(crate) flash: u32,
    /// The die's ledger when a read arrived.
    pub(crate) before: Spent,
    next: u32,
}

impl Op {
    pub(crate) fn new(kind: OpKind, owner: u32, block: u32, logical: u32, flash: u32) -> Self {
        Self { kind, held_up: false, owner, block, logical, flash, before: [0; 5], next: NO_OP }
    }
}

/// A queue of operations linked through a slab: cheap to reorder, because nothing is booked before
/// it leaves the queue.
#[derive(Clone, Debug)]
pub(crate) struct OpQueue {
    head: u32,
    tail: u32,
    /// The last of the reads that stand in front of everything else, if they have priority.
    last_read: u32,
    /// Service time of the waiting host operations.
    pub(crate) work: Duration,
    /// Waiting operations that queued up behind a collection.
    pub(crate) held_up: u32,
}

impl OpQueue {
    pub(crate) const fn new() -> Self {
        Self { head: NO_OP, tail: NO_OP, last_read: NO_OP, work: Duration::ZERO, held_up: 0 }
    }

    #[inline]
    pub(crate) fn push_back(&mut self, ops: &mut Slab<Op>, op: u32, service: Duration) {
        let entry = ops.get_mut(op);
        entry.next = NO_OP;
        self.held_up += u32::from(entry.held_up);
        if self.tail == NO_OP {
            self.head = op;
        } else {
            ops.get_mut(self.tail).next = op;
        }
        self.tail = op;
        self.work += service;
    }

    /// Puts a read behind the reads that have overtaken the rest, and in front of the rest.
    pub(crate) fn push_read(&mut self, ops: &mut Slab<Op>, op: u32, service: Duration) {
        let before = core::mem::replace(&mut self.last_read, op);
        let next = if before == NO_OP { self.head } else { ops.get(before).next };
        let entry = ops.get_mut(op);
        entry.next = next;
        self.held_up += u32::from(entry.held_up);
        if before == NO_OP {
            self.head = op;
        } else {
            ops.get_mut(before).next = op;
        }
        if next == NO_OP {
            self.tail = op;
        }
        self.work += service;
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<u32> {
        (self.head != NO_OP).then_some(self.head)
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, ops: &Slab<Op>, service: Duration) {
        let entry = ops.get(self.head);
        self.held_up -= u32::from(entry.held_up);
        if self.last_read == self.head {
            self.last_read = NO_OP;
        }
        self.head = entry.next;
        if self.head == NO_OP {
            self.tail = NO_OP;
        }
        self.work -= service;
    }
}
