//! The bytes of stripe operations: what the array's data actions mean for real pages.

use crate::buffer::{Buffer, Pool};
use crate::engine::request::Pending;
use crate::kernel::Kernel;
use array::{OpId, Slot, Term};

/// Buffers of one stripe operation, two per member, and only those that are in use.
#[derive(Debug, Default)]
struct Operation {
    /// Number since the start; the array's own numbers are used again.
    serial: u64,
    request: u64,
    rows: u32,
    old: Vec<Option<Buffer>>,
    new: Vec<Option<Buffer>>,
}

impl Operation {
    fn slot(&mut self, slot: Slot) -> &mut Option<Buffer> {
        let bank = if slot.new { &mut self.new } else { &mut self.old };
        &mut bank[usize::from(slot.member)]
    }

    fn at(&self, slot: Slot) -> &Buffer {
        let bank = if slot.new { &self.new } else { &self.old };
        let buffer = bank[usize::from(slot.member)].as_ref();
        buffer.expect("the array names only slots that it had filled")
    }
}

/// Buffers of all stripe operations that are open.
#[derive(Debug)]
pub(crate) struct Operations {
    page_bytes: usize,
    width: usize,
    kernel: Kernel,
    /// By the operation's number.
    open: Vec<Operation>,
    serials: u64,
    pub(crate) pool: Pool,
}

impl Operations {
    pub(crate) fn new(page_bytes: usize, width: usize) -> Self {
        let kernel = Kernel::detect();
        Self { page_bytes, width, kernel, open: Vec::new(), serials: 0, pool: Pool::default() }
    }

    fn bytes(&self, rows: u32) -> usize {
        rows as usize * self.page_bytes
    }

    /// Bytes of a buffer of the operation.
    pub(crate) fn slot_bytes(&self, op: OpId) -> usize {
        self.bytes(self.open[op.0 as usize].rows)
    }

    pub(crate) fn open(&mut self, op: OpId, request: u64, rows: u32) {
        let index = op.0 as usize;
        if self.open.len() <= index {
            self.open.resize_with(index + 1, Operation::default);
        }
        let operation = &mut self.open[index];
        if operation.old.is_empty() {
            operation.old.resize_with(self.width, || None);
            operation.new.resize_with(self.width, || None);
        }
        self.serials += 1;
        operation.serial = self.serials;
        operation.request = request;
        operation.rows = rows;
    }

    pub(crate) fn close(&mut self, op: OpId) {
        let Operation { old, new, .. } = &mut self.open[op.0 as usize];
        for slot in old.iter_mut().chain(new) {
            if let Some(buffer) = slot.take() {
                self.pool.give(buffer);
            }
        }
    }

    /// The request that the operation belongs to.
    pub(crate) fn request_of(&self, op: OpId) -> u64 {
        self.open[op.0 as usize].request
    }

    /// What tells the operation from all others that there ever were.
    pub(crate) fn serial_of(&self, op: OpId) -> u64 {
        self.open[op.0 as usize].serial
    }

    /// A number as if something had been opened.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// What is held at `slot`.
    pub(crate) fn at(&self, op: OpId, slot: Slot) -> &[u8] {
        let operation = &self.open[op.0 as usize];
        &operation.at(slot).bytes()[..self.bytes(operation.rows)]
    }

    /// Puts `buffer` into `slot`.
    pub(crate) fn keep(&mut self, op: OpId, slot: Slot, buffer: Buffer) {
        if let Some(before) = self.open[op.0 as usize].slot(slot).replace(buffer) {
            self.pool.give(before);
        }
    }

    /// An empty buffer for a slot of the operation.
    pub(crate) fn blank(&mut self, op: OpId) -> Buffer {
        let bytes = self.slot_bytes(op);
        self.pool.take(bytes)
    }

    fn sum(&mut self, op: OpId, terms: &[Term]) -> Buffer {
        let mut sum = self.blank(op);
        let operation = &self.open[op.0 as usize];
        let bytes = operation.rows as usize * self.page_bytes;
        let into = &mut sum.bytes_mut()[..bytes];
        let sources: Vec<(u8, &[u8])> = terms
            .iter()
            .map(|term| (term.coefficient, &operation.at(term.slot).bytes()[..bytes]))
            .collect();
        self.kernel.combine(into, &sources);
        sum
    }

    /// `target = Σ terms`.
    pub(crate) fn combine(&mut self, op: OpId, target: Slot, terms: &[Term]) {
        let sum = self.sum(op, terms);
        self.keep(op, target, sum);
    }

    /// Whether `target` is `Σ terms`.
    pub(crate) fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let sum = self.sum(op, terms);
        let bytes = self.slot_bytes(op);
        let equal = self.at(op, target) == &sum.bytes()[..bytes];
        self.pool.give(sum);
        equal
    }

    /// The new rows of `member`: the host's data, over what was read where the host wrote a part of
    /// a page.
    pub(crate) fn merge(&mut self, op: OpId, member: u8, first_page: u64, pending: &Pending) {
        let mut new = self.blank(op);
        let operation = &self.open[op.0 as usize];
        let page_bytes = self.page_bytes as u64;
        let start = first_page * page_bytes;
        let end = start + u64::from(operation.rows) * page_bytes;
        let (written_start, written_end) = pending.slice();
        let into = &mut new.bytes_mut()[..(end - start) as usize];
        if start < written_start || written_end < end {
            let old = operation.at(Slot { new: false, member });
            into.copy_from_slice(&old.bytes()[..(end - start) as usize]);
        }
        let from = start.max(written_start);
        let to = end.min(written_end);
        pending.copy_to(from, &mut into[(from - start) as usize..(to - start) as usize]);
        self.keep(op, Slot { new: true, member }, new);
    }

    /// What `from` is about to write, as if `to` had read it.
    pub(crate) fn share(&mut self, from: OpId, to: OpId, member: u8, first_row: u32) {
        let mut lent = self.blank(to);
        let bytes = self.slot_bytes(to);
        let offset = self.bytes(first_row);
        let source = self.at(from, Slot { new: true, member });
        lent.bytes_mut()[..bytes].copy_from_slice(&source[offset..offset + bytes]);
        self.keep(to, Slot { new: false, member }, lent);
    }

    /// What was read or rebuilt goes to the request.
    pub(crate) fn deliver(&self, op: OpId, member: u8, first_page: u64, pending: &mut Pending) {
        let start = first_page * self.page_bytes as u64;
        pending.take(start, self.at(op, Slot { new: false, member }));
    }
}
