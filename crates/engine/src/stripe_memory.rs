//! The memory of stripe operations: two buffers per member, old and new.

use crate::durability::IoId;
use crate::memory::Memory;
use alloc::vec::Vec;
use array::{OpId, RequestId, Slot, Term};

/// Buffers of one stripe operation; slots that are not in use have none.
#[derive(Debug)]
struct Operation<B> {
    /// Last pending write that the operation began in the durability machine.
    write: Option<IoId>,
    /// `None` while the array rebuilds, resyncs or scrubs a stripe.
    request: Option<RequestId>,
    rows: usize,
    /// True if the operation's writes must be on stable storage when the request is answered.
    forced: bool,
    old: Vec<Option<B>>,
    new: Vec<Option<B>>,
}

impl<B> Operation<B> {
    fn slot(&mut self, slot: Slot) -> &mut Option<B> {
        let bank = if slot.new { &mut self.new } else { &mut self.old };
        &mut bank[usize::from(slot.member)]
    }

    fn at(&self, slot: Slot) -> &B {
        let bank = if slot.new { &self.new } else { &self.old };
        let buffer = bank[usize::from(slot.member)].as_ref();
        buffer.expect("the array names only slots that it had filled")
    }
}

/// Buffers of all open stripe operations, and the memory that they come from.
#[derive(Debug)]
pub struct StripeMemory<M: Memory> {
    page_bytes: usize,
    width: usize,
    /// By the operation's number.
    operations: Vec<Operation<M::Buffer>>,
    memory: M,
}

impl<M: Memory> StripeMemory<M> {
    /// Creates the memory of an array of `width` drives; `page_bytes` bytes of each page are
    /// carried.
    #[must_use]
    pub fn new(memory: M, page_bytes: usize, width: usize) -> Self {
        Self { page_bytes, width, operations: Vec::new(), memory }
    }

    /// Source of buffers.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Bytes that are carried of each page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Bytes in each buffer of the operation.
    #[must_use]
    pub fn slot_bytes(&self, op: OpId) -> usize {
        self.operations[op.0 as usize].rows * self.page_bytes
    }

    /// Opens an operation.
    pub fn open(&mut self, op: OpId, request: Option<RequestId>, rows: u32) {
        let index = op.0 as usize;
        if self.operations.len() <= index {
            let width = self.width;
            let empty = || core::iter::repeat_with(|| None).take(width).collect();
            self.operations.resize_with(index + 1, || Operation {
                write: None,
                request: None,
                rows: 0,
                forced: false,
                old: empty(),
                new: empty(),
            });
        }
        let operation = &mut self.operations[index];
        operation.write = None;
        operation.request = request;
        operation.rows = rows as usize;
        operation.forced = false;
    }

    /// Closes an operation and gives its buffers back.
    pub fn close(&mut self, op: OpId) {
        let Operation { old, new, .. } = &mut self.operations[op.0 as usize];
        for slot in old.iter_mut().chain(new) {
            if let Some(buffer) = slot.take() {
                self.memory.give(buffer);
            }
        }
    }

    /// Request of the operation.
    ///
    /// # Panics
    ///
    /// If it has none: only pages of a request are merged and delivered.
    #[must_use]
    pub fn request_of(&self, op: OpId) -> RequestId {
        self.operations[op.0 as usize].request.expect("the host's pages belong to a request")
    }

    /// Last pending write of the operation, as given to [`Self::set_write`].
    #[must_use]
    pub fn write_of(&self, op: OpId) -> Option<IoId> {
        self.operations[op.0 as usize].write
    }

    /// Sets the pending write that the next change of the operation may join.
    pub fn set_write(&mut self, op: OpId, write: IoId) {
        self.operations[op.0 as usize].write = Some(write);
    }

    /// Demands that the operation's writes are on stable storage when the request is answered.
    pub fn force(&mut self, op: OpId) {
        self.operations[op.0 as usize].forced = true;
    }

    /// Returns true if [`StripeMemory::force`] was called for the operation.
    #[must_use]
    pub fn is_forced(&self, op: OpId) -> bool {
        self.operations[op.0 as usize].forced
    }

    /// The bytes at `slot`.
    #[must_use]
    pub fn at(&self, op: OpId, slot: Slot) -> &[u8] {
        let operation = &self.operations[op.0 as usize];
        &M::bytes(operation.at(slot))[..operation.rows * self.page_bytes]
    }

    /// Another handle to the buffer at `slot`, which must not change any more.
    pub fn share_buffer(&mut self, op: OpId, slot: Slot) -> M::Buffer {
        self.memory.share(self.operations[op.0 as usize].at(slot))
    }

    /// An empty buffer for a slot of the operation.
    pub fn blank(&mut self, op: OpId) -> M::Buffer {
        let bytes = self.slot_bytes(op);
        self.memory.take(bytes)
    }

    /// Puts a buffer into a slot.
    pub fn put(&mut self, op: OpId, slot: Slot, buffer: M::Buffer) {
        let before = self.operations[op.0 as usize].slot(slot).replace(buffer);
        if let Some(before) = before {
            self.memory.give(before);
        }
    }

    fn sum(&mut self, op: OpId, terms: &[Term]) -> M::Buffer {
        let mut sum = self.blank(op);
        let operation = &self.operations[op.0 as usize];
        let bytes = operation.rows * self.page_bytes;
        let sources: Vec<(u8, &[u8])> = terms
            .iter()
            .map(|term| (term.coefficient, &M::bytes(operation.at(term.slot))[..bytes]))
            .collect();
        self.memory.combine(&mut M::bytes_mut(&mut sum)[..bytes], &sources);
        sum
    }

    /// `target = Σ terms`.
    pub fn combine(&mut self, op: OpId, target: Slot, terms: &[Term]) {
        let sum = self.sum(op, terms);
        self.put(op, target, sum);
    }

    /// Returns true if `target` is `Σ terms`.
    pub fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let sum = self.sum(op, terms);
        let bytes = self.slot_bytes(op);
        let equal = self.at(op, target) == &M::bytes(&sum)[..bytes];
        self.memory.give(sum);
        equal
    }

    /// Returns true if two members hold equal data, as they were read.
    #[must_use]
    pub fn compare(&self, op: OpId, member: u8, with: u8) -> bool {
        let read = |member| self.at(op, Slot { new: false, member });
        read(member) == read(with)
    }

    /// Fills the new rows of `member` with `fill`, which gets the old rows if they are there.
    pub fn merge(&mut self, op: OpId, member: u8, fill: impl FnOnce(Option<&[u8]>, &mut [u8])) {
        let mut new = self.blank(op);
        let operation = &self.operations[op.0 as usize];
        let bytes = operation.rows * self.page_bytes;
        let old = operation.old[usize::from(member)].as_ref();
        fill(old.map(|old| &M::bytes(old)[..bytes]), &mut M::bytes_mut(&mut new)[..bytes]);
        self.put(op, Slot { new: true, member }, new);
    }

    /// Copies what `from` is about to write, from its row `first_row` on, as data that `to` has
    /// read.
    pub fn share(&mut self, from: OpId, to: OpId, member: u8, first_row: u32) {
        let mut copy = self.blank(to);
        let bytes = self.slot_bytes(to);
        let offset = first_row as usize * self.page_bytes;
        let source = self.at(from, Slot { new: true, member });
        M::bytes_mut(&mut copy)[..bytes].copy_from_slice(&source[offset..offset + bytes]);
        self.put(to, Slot { new: false, member }, copy);
    }
}
