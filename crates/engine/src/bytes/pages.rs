//! Pages in memory: those of stripe operations, of the write cache, and of accepted changes.

use super::accepted::{self, Accepted, AcceptedRow};
use crate::cached_pages::CachedPages;
use crate::durability::IoId;
use crate::memory::Memory;
use crate::planted::Planted;
use crate::stripe_memory::StripeMemory;
use alloc::vec::Vec;
use array::{OpId, RequestId, Slot, Term};
use core::ops::Range;
use nvme::{Command, CommandId};
use units::{DriveId, Lba};

/// New rows of a member, on their way to its drive.
pub(super) struct NewRows<B> {
    pub(super) buffer: B,
    pub(super) length_bytes: usize,
    /// True if they must be on stable storage when the request is answered.
    pub(super) forced: bool,
}

/// Pages in memory. Each kind of pages has its own part; the buffers of all come from one memory.
#[derive(Debug)]
pub(super) struct Pages<M: Memory> {
    stripes: StripeMemory<M>,
    cache: CachedPages<M>,
    accepted: Accepted<M>,
}

impl<M: Memory> Pages<M> {
    /// Creates an empty set; at most `accepted_bytes` bytes are accepted before they are in their
    /// place.
    pub(super) fn new(
        memory: M,
        page_bytes: usize,
        width: usize,
        accepted_bytes: u64,
        planted: Planted,
    ) -> Self {
        Self {
            stripes: StripeMemory::new(memory, page_bytes, width),
            cache: CachedPages::new(),
            accepted: Accepted::new(page_bytes, accepted_bytes, planted),
        }
    }

    pub(super) fn page_bytes(&self) -> usize {
        self.stripes.page_bytes()
    }

    /// Start of a page on its drive.
    pub(super) fn offset_bytes(&self, lba: Lba) -> u64 {
        lba.0 * self.page_bytes() as u64
    }

    /// Source of buffers.
    pub(super) fn memory(&mut self) -> &mut M {
        self.stripes.memory()
    }

    /// Returns a buffer of at least `bytes` bytes.
    pub(super) fn take(&mut self, bytes: usize) -> M::Buffer {
        self.memory().take(bytes)
    }

    /// Takes back a buffer, if it is not `None`.
    pub(super) fn give(&mut self, buffer: Option<M::Buffer>) {
        if let Some(buffer) = buffer {
            self.memory().give(buffer);
        }
    }

    pub(super) fn check_invariants(&self) {
        self.accepted.check_invariants();
    }
}

/// Pages of stripe operations.
impl<M: Memory> Pages<M> {
    pub(super) fn open(&mut self, op: OpId, request: Option<RequestId>, rows: u32) {
        self.stripes.open(op, request, rows);
    }

    pub(super) fn close(&mut self, op: OpId) {
        self.stripes.close(op);
    }

    /// Demands that the operation's writes are on stable storage when the request is answered.
    pub(super) fn force(&mut self, op: OpId) {
        self.stripes.force(op);
    }

    pub(super) fn request_of(&self, op: OpId) -> RequestId {
        self.stripes.request_of(op)
    }

    /// Last pending write of the operation.
    pub(super) fn write_of(&self, op: OpId) -> Option<IoId> {
        self.stripes.write_of(op)
    }

    /// Sets the pending write that the next change of the operation may join.
    pub(super) fn set_write(&mut self, op: OpId, write: IoId) {
        self.stripes.set_write(op, write);
    }

    /// Old rows of a member.
    pub(super) fn old_rows(&self, op: OpId, member: u8) -> &[u8] {
        self.stripes.at(op, Slot { new: false, member })
    }

    /// `target = Σ terms`.
    pub(super) fn combine(&mut self, op: OpId, target: Slot, terms: &[Term]) {
        self.stripes.combine(op, target, terms);
    }

    /// Returns true if `target` is `Σ terms`.
    pub(super) fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        self.stripes.check(op, target, terms)
    }

    /// Returns true if two members hold equal data, as they were read.
    pub(super) fn compare(&self, op: OpId, member: u8, with: u8) -> bool {
        self.stripes.compare(op, member, with)
    }

    /// Fills the new rows of `member` with `fill`, which gets the old rows if they are there.
    pub(super) fn merge(
        &mut self,
        op: OpId,
        member: u8,
        fill: impl FnOnce(Option<&[u8]>, &mut [u8]),
    ) {
        self.stripes.merge(op, member, fill);
    }

    /// Copies what `from` is about to write, from its row `first_row` on, as data that `to` has
    /// read.
    pub(super) fn share(&mut self, from: OpId, to: OpId, member: u8, first_row: u32) {
        self.stripes.share(from, to, member, first_row);
    }

    /// Makes the data of a read the old rows of its member, with cached rows on top.
    pub(super) fn keep(
        &mut self,
        op: OpId,
        command: CommandId,
        member: u8,
        brought: Option<M::Buffer>,
    ) {
        let page_bytes = self.page_bytes();
        let mut rows = brought.unwrap_or_else(|| self.stripes.blank(op));
        self.cache.overlay(self.stripes.memory(), command, M::bytes_mut(&mut rows), page_bytes);
        self.stripes.put(op, Slot { new: false, member }, rows);
    }

    /// Returns the new rows of a member, to be written to its drive.
    pub(super) fn new_rows(&mut self, op: OpId, member: u8) -> NewRows<M::Buffer> {
        NewRows {
            buffer: self.stripes.share_buffer(op, Slot { new: true, member }),
            length_bytes: self.stripes.slot_bytes(op),
            forced: self.stripes.is_forced(op),
        }
    }
}

/// Pages of the write cache.
impl<M: Memory> Pages<M> {
    /// Adds the new rows of a member to the cache.
    pub(super) fn cache_rows(&mut self, op: OpId, member: u8, drive: DriveId, lba: Lba) {
        let NewRows { buffer, length_bytes, .. } = self.new_rows(op, member);
        let (page_bytes, bytes) = (self.page_bytes(), &M::bytes(&buffer)[..length_bytes]);
        self.cache.insert(self.stripes.memory(), drive, lba, bytes, page_bytes);
        self.memory().give(buffer);
    }

    /// Returns the pages that a command drains from the cache.
    pub(super) fn drained(
        &mut self,
        drive: DriveId,
        command: &Command,
        length_bytes: usize,
    ) -> M::Buffer {
        let page_bytes = self.page_bytes();
        let mut buffer = self.take(length_bytes);
        let into = &mut M::bytes_mut(&mut buffer)[..length_bytes];
        self.cache.read(drive, command, into, page_bytes);
        buffer
    }

    /// Removes pages from the cache.
    pub(super) fn uncache(&mut self, drive: DriveId, pages: &[Lba]) {
        self.cache.remove(self.stripes.memory(), drive, pages);
    }

    /// Notes rows that a read takes from the cache, with their present content.
    pub(super) fn note_cached_read(
        &mut self,
        command: CommandId,
        drive: DriveId,
        lba: Lba,
        rows: &[u32],
    ) {
        self.cache.note_read(self.stripes.memory(), command, drive, lba, rows);
    }

    /// Forgets the cached rows of an earlier command with this number.
    pub(super) fn forget_cached_read(&mut self, command: CommandId) {
        self.cache.forget_read(self.stripes.memory(), command);
    }
}

/// Accepted pages.
impl<M: Memory> Pages<M> {
    /// Accepts the data of a change, if there is room: reads take it from memory until it is in its
    /// place. Returns false if there is no room.
    pub(super) fn accept(
        &mut self,
        tag: u32,
        drive: DriveId,
        bytes: Range<u64>,
        buffer: &M::Buffer,
    ) -> bool {
        if !self.accepted.has_room(bytes.end - bytes.start) {
            return false;
        }
        let page_bytes = self.page_bytes() as u64;
        let first = bytes.start / page_bytes;
        let pages = first..first + (bytes.end - bytes.start) / page_bytes;
        self.accepted.insert(self.stripes.memory(), tag, drive, pages, buffer);
        true
    }

    /// Ends a change that is in its place, or was cancelled.
    pub(super) fn end_change(&mut self, tag: u32) {
        self.accepted.remove(self.stripes.memory(), tag);
    }

    /// Forgets all that was accepted for a failed drive.
    pub(super) fn forget_drive(&mut self, drive: DriveId) {
        self.accepted.forget_drive(self.stripes.memory(), drive);
    }

    /// Returns true if a page is accepted and not in its place yet.
    pub(super) fn is_accepted(&self, drive: DriveId, lba: Lba) -> bool {
        self.accepted.holds_any(drive, lba.0..lba.0 + 1)
    }

    /// Returns the accepted rows of pages that are about to be read.
    pub(super) fn accepted_rows(
        &mut self,
        drive: DriveId,
        pages: Range<u64>,
    ) -> Vec<AcceptedRow<M::Buffer>> {
        self.accepted.snapshot(self.stripes.memory(), drive, pages)
    }

    /// Overwrites the data from the storage with accepted rows.
    pub(super) fn overlay(&mut self, rows: Vec<AcceptedRow<M::Buffer>>, into: &mut M::Buffer) {
        let page_bytes = self.page_bytes();
        accepted::overlay(self.stripes.memory(), rows, into, page_bytes);
    }
}
