//! Page operations waiting for a die.

use crate::dies::ledger::Spent;
use units::{Duration, Slab};

/// A page operation, and the command that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Sense a page and send it out.
    Read { command: u32, block: u32, logical: u32 },
    /// Sense a page of the command that also serves to reconstruct another page of the command.
    SharedRead { command: u32, block: u32, logical: u32, reconstruction: u32 },
    /// Sense a page that the host did not ask for, to reconstruct one that it did, and send it out.
    StripeRead { reconstruction: u32, page: u32 },
    /// Sense a page for new parity and send it out.
    ParityRead { flush: u32, page: u32 },
    /// Take a page in and program it.
    Program { command: u32, block: u32, logical: u32, flash: u32 },
    /// Program a page from the write buffer; `forced` if that is outside of the busy window.
    Flush { logical: u32, flash: u32, forced: bool },
    /// Program a unit of many pages from the write buffer, from flash page `page` on.
    FlushUnit { unit: u32, page: u32, forced: bool },
    /// Program a page of a RAIN stripe from the write buffer, or its parity.
    StripeProgram { flush: u32, page: u32, flash: u32 },
    /// Hold the die for a collection.
    Hold { collection: u32 },
}

impl Task {
    /// Returns true if a read of the host waits for it.
    #[inline]
    pub(crate) fn is_host_read(self) -> bool {
        matches!(self, Self::Read { .. } | Self::SharedRead { .. } | Self::StripeRead { .. })
    }

    /// Returns true if it programs pages of the host, from the write buffer or directly. Programs
    /// of RAIN stripes do not count: dies take turns there, and their programs do not make a die
    /// busy.
    #[inline]
    pub(crate) fn is_counted_program(self) -> bool {
        matches!(self, Self::Program { .. } | Self::Flush { .. } | Self::FlushUnit { .. })
    }

    /// Logical page that it senses; `None` if it senses none.
    pub(crate) fn sensed(self) -> Option<u32> {
        match self {
            Self::Read { logical, .. } | Self::SharedRead { logical, .. } => Some(logical),
            Self::StripeRead { page, .. } | Self::ParityRead { page, .. } => Some(page),
            _ => None,
        }
    }

    /// Whether it senses a page.
    #[inline]
    pub(crate) fn is_read(self) -> bool {
        self.is_host_read() || matches!(self, Self::ParityRead { .. })
    }
}

/// Use of a die by an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    /// Time to sense or to program.
    pub(crate) cells: Duration,
    /// Number of data moves over the channel.
    pub(crate) transfers: u32,
    /// The plane that it reads, where planes read on their own.
    pub(crate) plane: u32,
    /// The flash page that it reads there.
    pub(crate) flash_page: u32,
}

impl Need {
    /// Need of an operation that uses the die as a whole.
    pub(crate) const fn of_die(cells: Duration) -> Self {
        Self { cells, transfers: 1, plane: 0, flash_page: 0 }
    }
}

/// One entry of a die's queue.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) task: Task,
    /// Whether the entry queued up behind a collection.
    pub(super) held_up: bool,
    pub(super) need: Need,
    /// Duration without waits.
    pub(super) service: Duration,
    /// The die's ledger when a read arrived.
    pub(super) before: Spent,
    next: Option<u32>,
}

impl Op {
    pub(super) fn new(
        task: Task,
        need: Need,
        held_up: bool,
        service: Duration,
        before: Spent,
    ) -> Self {
        Self { task, need, held_up, service, before, next: None }
    }
}

/// Most reads at the front of a queue that are searched for one of a free plane.
const LOOKAHEAD: u32 = 32;

/// A queue of operations linked through a slab: cheap to reorder, because an operation is booked
/// only when it leaves the queue.
#[derive(Clone, Debug)]
pub(super) struct OpQueue {
    head: Option<u32>,
    tail: Option<u32>,
    /// Last of the reads that have overtaken all other operations, if reads have priority.
    last_read: Option<u32>,
    /// Service time of the waiting host operations.
    pub(super) work: Duration,
    /// Waiting operations that queued up behind a collection.
    pub(super) held_up: u32,
}

impl OpQueue {
    pub(super) const fn new() -> Self {
        Self { head: None, tail: None, last_read: None, work: Duration::ZERO, held_up: 0 }
    }

    #[inline]
    pub(super) fn push_back(&mut self, ops: &mut Slab<Op>, op: u32) {
        let entry = ops.get_mut(op);
        entry.next = None;
        self.work += entry.service;
        self.held_up += u32::from(entry.held_up);
        match self.tail.replace(op) {
            None => self.head = Some(op),
            Some(tail) => ops.get_mut(tail).next = Some(op),
        }
    }

    /// Inserts a read behind the reads that have overtaken other operations, and in front of these
    /// operations.
    pub(super) fn push_read(&mut self, ops: &mut Slab<Op>, op: u32) {
        let before = self.last_read.replace(op);
        let next = match before {
            None => self.head.replace(op),
            Some(before) => ops.get_mut(before).next.replace(op),
        };
        let entry = ops.get_mut(op);
        entry.next = next;
        self.held_up += u32::from(entry.held_up);
        self.work += entry.service;
        if next.is_none() {
            self.tail = Some(op);
        }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        self.head
    }

    /// Takes the first entry, `op`, out of the queue.
    #[inline]
    pub(super) fn pop_front(&mut self, op: u32, entry: &Op) {
        debug_assert_eq!(self.head, Some(op));
        self.held_up -= u32::from(entry.held_up);
        if self.last_read == Some(op) {
            self.last_read = None;
        }
        self.head = entry.next;
        if self.head.is_none() {
            self.tail = None;
        }
        self.work -= entry.service;
    }

    /// Takes the first read of the host at the front that `suits`, among the first [`LOOKAHEAD`]
    /// reads.
    pub(super) fn take_read(
        &mut self,
        ops: &mut Slab<Op>,
        suits: impl Fn(&Op) -> bool,
    ) -> Option<u32> {
        let mut before = None;
        let mut next = self.head;
        for _ in 0..LOOKAHEAD {
            let op = next?;
            let entry = ops.get(op);
            if !entry.task.is_host_read() {
                return None;
            }
            if suits(entry) {
                let (after, held_up, service) = (entry.next, entry.held_up, entry.service);
                match before {
                    None => self.head = after,
                    Some(before) => ops.get_mut(before).next = after,
                }
                if self.tail == Some(op) {
                    self.tail = before;
                }
                if self.last_read == Some(op) {
                    self.last_read = before;
                }
                self.held_up -= u32::from(held_up);
                self.work -= service;
                return Some(op);
            }
            (before, next) = (Some(op), entry.next);
        }
        None
    }

    /// Every waiting entry, first to last.
    pub(super) fn iter<'a>(&self, ops: &'a Slab<Op>) -> impl Iterator<Item = &'a Op> {
        let mut next = self.head;
        core::iter::from_fn(move || {
            let op = ops.get(next?);
            next = op.next;
            Some(op)
        })
    }
}
