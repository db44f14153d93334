//! The memory of stripe operations: two buffers per member, old and new.

use crate::durability::IoId;
use crate::memory::Memory;
use alloc::vec::Vec;
use array::{OpId, RequestId, Slot, Term};

/// Buffers of one stripe operation, and only those that are in use.
#[derive(Debug)]
struct Operation<B> {
    /// Its pending write that was begun last, in the durability machine.
    write: Option<IoId>,
    /// None while the array rebuilds, resyncs or scrubs a stripe.
    request: Option<RequestId>,
    rows: usize,
    /// What it writes is on stable storage when the write is answered.
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

/// Buffers of all stripe operations that are open, and where they come from.
#[derive(Debug)]
pub struct StripeMemory<M: Memory> {
    page_bytes: usize,
    width: usize,
    /// By the operation's number.
    operations: Vec<Operation<M::Buffer>>,
    memory: M,
}

impl<M: Memory> StripeMemory<M> {
    /// No operations of an array of `width` drives; `page_bytes` of each page are carried.
    #[must_use]
    pub fn new(memory: M, page_bytes: usize, width: usize) -> Self {
        Self { page_bytes, width, operations: Vec::new(), memory }
    }

    /// Where buffers come from.
    pub fn memory(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Bytes that are carried of a page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Bytes in a buffer of the operation.
    #[must_use]
    pub fn slot_bytes(&self, op: OpId) -> usize {
        self.operations[op.0 as usize].rows * self.page_bytes
    }

    /// An operation begins.
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

    /// An operation is over.
    pub fn close(&mut self, op: OpId) {
        let Operation { old, new, .. } = &mut self.operations[op.0 as usize];
        for slot in old.iter_mut().chain(new) {
            if let Some(buffer) = slot.take() {
                self.memory.give(buffer);
            }
        }
    }

    /// The request that the operation belongs to.
    ///
    /// # Panics
    ///
    /// If it belongs to none: only pages of a request are merged and delivered.
    #[must_use]
    pub fn request_of(&self, op: OpId) -> RequestId {
        self.operations[op.0 as usize].request.expect("the host's pages belong to a request")
    }

    /// The pending write of the operation that was begun last, if [`Self::set_write`] told one.
    #[must_use]
    pub fn write_of(&self, op: OpId) -> Option<IoId> {
        self.operations[op.0 as usize].write
    }

    /// The next change of the operation may join this pending write.
    pub fn set_write(&mut self, op: OpId, write: IoId) {
        self.operations[op.0 as usize].write = Some(write);
    }

    /// What the operation writes from now on is on stable storage when the write is answered.
    pub fn force(&mut self, op: OpId) {
        self.operations[op.0 as usize].forced = true;
    }

    /// Whether [`StripeMemory::force`] was called for the operation.
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

    /// Another handle to the buffer at `slot`, which does not change any more.
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

    /// Whether `target` is `Σ terms`.
    pub fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let sum = self.sum(op, terms);
        let bytes = self.slot_bytes(op);
        let equal = self.at(op, target) == &M::bytes(&sum)[..bytes];
        self.memory.give(sum);
        equal
    }

    /// Whether two members hold the same, as they were read.
    #[must_use]
    pub fn compare(&self, op: OpId, member: u8, with: u8) -> bool {
        let read = |member| self.at(op, Slot { new: false, member });
        read(member) == read(with)
    }

    /// The new rows of `member` are what `fill` makes of the old ones, if those are known.
    pub fn merge(&mut self, op: OpId, member: u8, fill: impl FnOnce(Option<&[u8]>, &mut [u8])) {
        let mut new = self.blank(op);
        let operation = &self.operations[op.0 as usize];
        let bytes = operation.rows * self.page_bytes;
        let old = operation.old[usize::from(member)].as_ref();
        fill(old.map(|old| &M::bytes(old)[..bytes]), &mut M::bytes_mut(&mut new)[..bytes]);
        self.put(op, Slot { new: true, member }, new);
    }

    /// What `from` is about to write, from its row `first_row` on, as if `to` had read it.
    pub fn share(&mut self, from: OpId, to: OpId, member: u8, first_row: u32) {
        let mut copy = self.blank(to);
        let bytes = self.slot_bytes(to);
        let offset = first_row as usize * self.page_bytes;
        let source = self.at(from, Slot { new: true, member });
        M::bytes_mut(&mut copy)[..bytes].copy_from_slice(&source[offset..offset + bytes]);
        self.put(to, Slot { new: false, member }, copy);
    }
}
