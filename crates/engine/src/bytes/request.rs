//! Requests of clients, byte by byte, on their way through the array.

use crate::memory::Memory;
use array::{Ended, Outcome, Request, RequestId, RequestKind};
use units::Slab;

/// Most bytes that the array is given of one request at a time if its bytes need no memory: a longer request
/// goes through in slices, one after the other, so that one client cannot hold the array for long. What
/// has its bytes in memory anyway goes through whole, as in the simulator: its drives then see the
/// same commands at the same time, and the memory of clients bounds its length.
const SLICE_BYTES: u64 = 1 << 20;

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteRequestKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Write zeros.
    Zeroes {
        /// Whether the room may be given back.
        may_deallocate: bool,
    },
    /// Nothing is needed any more of these bytes.
    Deallocate,
}

/// A request of a client.
#[derive(Debug)]
pub struct ByteRequest<B> {
    /// What it asks for.
    pub kind: ByteRequestKind,
    /// First byte. Any alignment.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1.
    pub length_bytes: u64,
    /// What is written, if it is a write.
    pub data: Option<B>,
}

/// A request that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestSlot(pub u32);

/// How far a request is when a part of it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There is another part to begin.
    More,
    /// All of it is done.
    Done,
    /// It cannot be done: more drives are missing than the array can do without.
    Failed,
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Pending<M: Memory> {
    kind: ByteRequestKind,
    offset_bytes: u64,
    length_bytes: u64,
    /// What is written, or, of a read, room for whole pages.
    data: Option<M::Buffer>,
    /// First byte that is not in a slice that was begun.
    next_bytes: u64,
    /// The slice that is under way begins here.
    slice_bytes: u64,
    page_bytes: u64,
    /// Bytes of data in a stripe of the array.
    stripe_bytes: u64,
    failed: bool,
}

impl<M: Memory> Pending<M> {
    fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }

    /// Whether there is a slice that was not begun.
    fn has_more(&self) -> bool {
        self.next_bytes < self.end_bytes()
    }

    /// Begins the next slice; `None` if all were begun. Slices end where stripes end, so that whole
    /// stripes can be told from parts.
    fn next_slice(&mut self) -> Option<(u64, u64)> {
        if !self.has_more() {
            return None;
        }
        let (from, stripe) = (self.next_bytes, self.stripe_bytes);
        let end = self.end_bytes();
        let stripes = (SLICE_BYTES / stripe).max(1);
        let boundary = (from / stripe + stripes) * stripe;
        let last_whole = end / stripe * stripe;
        self.slice_bytes = from;
        self.next_bytes = match self.kind {
            ByteRequestKind::Read | ByteRequestKind::Write => end,
            // The part before the first whole stripe, whole stripes, and the part after the last.
            ByteRequestKind::Zeroes { .. } if !from.is_multiple_of(stripe) => {
                from.next_multiple_of(stripe).min(end)
            }
            ByteRequestKind::Zeroes { .. } if from < last_whole => boundary.min(last_whole),
            ByteRequestKind::Zeroes { .. } | ByteRequestKind::Deallocate => boundary.min(end),
        };
        Some((from, self.next_bytes - from))
    }

    /// Whether the slice under way is made of whole stripes.
    fn is_whole_stripes(&self) -> bool {
        self.slice_bytes.is_multiple_of(self.stripe_bytes)
            && self.next_bytes.is_multiple_of(self.stripe_bytes)
    }

    /// What the slice under way asks of the array.
    fn slice_kind(&self) -> RequestKind {
        match self.kind {
            ByteRequestKind::Read => RequestKind::Read,
            ByteRequestKind::Deallocate => RequestKind::Deallocate,
            ByteRequestKind::Zeroes { may_deallocate: true } if self.is_whole_stripes() => {
                RequestKind::Deallocate
            }
            ByteRequestKind::Zeroes { .. } | ByteRequestKind::Write => RequestKind::Write,
        }
    }

    /// First byte of the first page of a read: where its buffer begins.
    fn base_bytes(&self) -> u64 {
        self.offset_bytes / self.page_bytes * self.page_bytes
    }

    /// Bytes of the whole pages that a read touches.
    fn span_bytes(&self) -> u64 {
        self.end_bytes().next_multiple_of(self.page_bytes) - self.base_bytes()
    }

    /// The new rows of a member, the first of them page `first_page` of the array: what the slice under
    /// way writes, over what was read where it writes a part of a page.
    pub(crate) fn merge(&self, first_page: u64, old: Option<&[u8]>, new: &mut [u8]) {
        let start = first_page * self.page_bytes;
        let end = start + new.len() as u64;
        if start < self.slice_bytes || self.next_bytes < end {
            new.copy_from_slice(old.expect("a page written in part was read"));
        }
        let from = start.max(self.slice_bytes);
        let to = end.min(self.next_bytes);
        let into = &mut new[(from - start) as usize..(to - start) as usize];
        match &self.data {
            Some(data) => {
                let first = (from - self.offset_bytes) as usize;
                into.copy_from_slice(&M::bytes(data)[first..first + into.len()]);
            }
            None => into.fill(0),
        }
    }

    /// Takes pages that were read, the first of them page `first_page` of the array.
    pub(crate) fn take(&mut self, first_page: u64, pages: &[u8]) {
        let first = (first_page * self.page_bytes - self.base_bytes()) as usize;
        let data = self.data.as_mut().expect("a read has room for its pages");
        M::bytes_mut(data)[first..first + pages.len()].copy_from_slice(pages);
    }

    /// What the client asked to read.
    fn brought(&self) -> &[u8] {
        let first = (self.offset_bytes - self.base_bytes()) as usize;
        let data = self.data.as_ref().expect("a read has room for its pages");
        &M::bytes(data)[first..first + self.length_bytes as usize]
    }
}

/// All requests that are not answered.
#[derive(Debug)]
pub(crate) struct Requests<M: Memory> {
    page_bytes: u64,
    stripe_bytes: u64,
    pending: Slab<Pending<M>>,
}

impl<M: Memory> Requests<M> {
    pub(crate) const fn new(page_bytes: u64, stripe_bytes: u64) -> Self {
        Self { page_bytes, stripe_bytes, pending: Slab::new() }
    }

    pub(crate) fn begin(&mut self, memory: &mut M, request: ByteRequest<M::Buffer>) -> RequestSlot {
        let ByteRequest { kind, offset_bytes, length_bytes, data } = request;
        let mut pending = Pending {
            kind,
            offset_bytes,
            length_bytes,
            data,
            next_bytes: offset_bytes,
            slice_bytes: offset_bytes,
            page_bytes: self.page_bytes,
            stripe_bytes: self.stripe_bytes,
            failed: false,
        };
        if kind == ByteRequestKind::Read {
            pending.data = Some(memory.take(pending.span_bytes() as usize));
        }
        RequestSlot(self.pending.insert(pending))
    }

    pub(crate) fn next_slice(&mut self, slot: RequestSlot) -> Option<Request> {
        let pending = self.pending.get_mut(slot.0);
        let (offset_bytes, size_bytes) = pending.next_slice()?;
        let kind = pending.slice_kind();
        Some(Request { id: RequestId(u64::from(slot.0)), host: 0, kind, offset_bytes, size_bytes })
    }

    pub(crate) fn end_slice(&mut self, outcome: &Outcome) -> (RequestSlot, Progress) {
        let slot = RequestSlot(outcome.request.0 as u32);
        let pending = self.pending.get_mut(slot.0);
        pending.failed |= outcome.ended == Ended::Failed;
        let progress = match (pending.failed, pending.has_more()) {
            (true, _) => Progress::Failed,
            (false, true) => Progress::More,
            (false, false) => Progress::Done,
        };
        (slot, progress)
    }

    pub(crate) fn brought(&self, slot: RequestSlot) -> &[u8] {
        self.pending.get(slot.0).brought()
    }

    pub(crate) fn end(&mut self, memory: &mut M, slot: RequestSlot) {
        if let Some(buffer) = self.pending.get_mut(slot.0).data.take() {
            memory.give(buffer);
        }
        self.pending.release(slot.0);
    }

    pub(crate) fn get(&self, request: RequestId) -> &Pending<M> {
        self.pending.get(request.0 as u32)
    }

    pub(crate) fn get_mut(&mut self, request: RequestId) -> &mut Pending<M> {
        self.pending.get_mut(request.0 as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Heap;

    fn pending(offset_bytes: u64, length_bytes: u64) -> Pending<Heap> {
        Pending {
            kind: ByteRequestKind::Read,
            offset_bytes,
            length_bytes,
            data: None,
            next_bytes: offset_bytes,
            slice_bytes: offset_bytes,
            page_bytes: 4096,
            stripe_bytes: 3 * 4096,
            failed: false,
        }
    }

    #[test]
    fn slices_cover_a_request_once() {
        let zeroes = ByteRequestKind::Zeroes { may_deallocate: true };
        for (offset, length) in [(0, 1), (5, 3 << 20), (12287, 2), (4096, u64::from(u32::MAX))] {
            for kind in [ByteRequestKind::Deallocate, zeroes] {
                let mut request = Pending { kind, ..pending(offset, length) };
                let mut next = offset;
                let mut in_part_stripes = 0;
                while let Some((from, bytes)) = request.next_slice() {
                    assert_eq!(from, next);
                    assert!(bytes > 0 && bytes <= SLICE_BYTES);
                    next = from + bytes;
                    in_part_stripes += if request.is_whole_stripes() { 0 } else { bytes };
                }
                assert_eq!(next, offset + length);
                assert!(kind != zeroes || in_part_stripes < 2 * 12288, "only both ends");
            }
        }
    }

    #[test]
    fn what_is_in_memory_goes_through_whole() {
        for kind in [ByteRequestKind::Read, ByteRequestKind::Write] {
            let mut request = Pending { kind, ..pending(5, 32 << 20) };
            assert_eq!(request.next_slice(), Some((5, 32 << 20)));
            assert_eq!(request.next_slice(), None);
        }
    }

    #[test]
    fn a_read_that_is_not_aligned_gets_its_own_bytes() {
        let mut request = pending(4096 + 100, 5000);
        assert_eq!(request.span_bytes(), 8192);
        request.data = Some(alloc::vec![0; 8192]);
        request.take(2, &[2; 4096]);
        request.take(1, &[1; 4096]);
        assert_eq!(request.brought().len(), 5000);
        assert_eq!(request.brought()[3995], 1);
        assert_eq!(request.brought()[3996], 2);
    }

    #[test]
    fn a_part_of_a_page_is_written_over_what_was_there() {
        let mut request = Pending {
            kind: ByteRequestKind::Write,
            data: Some(alloc::vec![7; 100]),
            ..pending(4096 + 10, 100)
        };
        request.next_slice();
        let (old, mut new) = ([1; 4096], [0; 4096]);
        request.merge(1, Some(&old), &mut new);
        assert_eq!((new[9], new[10], new[109], new[110]), (1, 7, 7, 1));
    }
}
