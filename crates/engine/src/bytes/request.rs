//! Requests of clients, byte by byte, on their way through the array.

use crate::memory::Memory;
use crate::token::{ByToken, Token};
use array::{Ended, Outcome, Request, RequestId, RequestKind};
use core::ops::Range;

/// Most bytes of a slice, unless a stripe is larger. A longer request is cut into slices, so that
/// one client cannot occupy the array for long. Slices of a read or a write may be under way
/// together, because its bytes are in memory anyway. Slices of other requests follow one another.
const SLICE_BYTES: u64 = 1 << 20;

/// Kind of a client's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteRequestKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Write zeros.
    Zeroes {
        /// True if the space may be deallocated.
        may_deallocate: bool,
    },
    /// Deallocate: the bytes are no longer needed.
    Deallocate,
}

/// A request of a client.
#[derive(Debug)]
pub struct ByteRequest<B> {
    /// Number of the host, as in [`array::Request`]; 0 for all hosts that have no number.
    pub host: u8,
    /// Kind of the request.
    pub kind: ByteRequestKind,
    /// First byte. Any alignment.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1.
    pub length_bytes: u64,
    /// Data of a write.
    pub data: Option<B>,
}

/// Progress of a request when one of its slices is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The next slice can begin; it had to wait for this one.
    More,
    /// Other slices are under way, or could have begun before.
    UnderWay,
    /// All slices are done.
    Done,
    /// The request cannot be done: more drives are missing than the array can do without. No slice
    /// is under way.
    Failed,
}

/// A slice that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedSlice {
    /// The request.
    pub token: Token,
    /// Bytes of the slice.
    pub bytes: u64,
    /// Progress of the request.
    pub progress: Progress,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Pending<M: Memory> {
    host: u8,
    kind: ByteRequestKind,
    offset_bytes: u64,
    length_bytes: u64,
    /// Data of a write, or room for the whole pages of a read.
    data: Option<M::Buffer>,
    /// First byte behind the slices that were begun.
    next_bytes: u64,
    /// Start of the slice that was begun last.
    slice_bytes: u64,
    slices_begun: u32,
    slices_under_way: u32,
    page_bytes: u64,
    /// Bytes of data in a stripe of the array.
    stripe_bytes: u64,
    failed: bool,
}

impl<M: Memory> Pending<M> {
    fn end_bytes(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }

    /// Returns true if a slice is left to begin, now or later.
    fn has_more(&self) -> bool {
        self.next_bytes < self.end_bytes() && !self.failed
    }

    /// Returns true if slices may be under way together.
    fn is_parallel(&self) -> bool {
        matches!(self.kind, ByteRequestKind::Read | ByteRequestKind::Write)
    }

    /// Returns true if a slice can begin now.
    fn can_begin(&self) -> bool {
        self.has_more() && (self.slices_under_way == 0 || self.is_parallel())
    }

    /// Number of whole stripes in a slice.
    fn slice_stripes(&self) -> u64 {
        (SLICE_BYTES / self.stripe_bytes).max(1)
    }

    /// Bytes of slice `index` of a read or a write.
    fn parallel_slice(&self, index: u32) -> Range<u64> {
        let first = self.offset_bytes / self.stripe_bytes;
        let boundary =
            |index: u32| (first + u64::from(index) * self.slice_stripes()) * self.stripe_bytes;
        boundary(index).max(self.offset_bytes)..boundary(index + 1).min(self.end_bytes())
    }

    /// Begins the next slice; `None` if none can begin. Slices end at the ends of stripes, so that
    /// whole stripes are separate from partial ones.
    fn next_slice(&mut self) -> Option<Range<u64>> {
        if !self.can_begin() {
            return None;
        }
        let (from, stripe) = (self.next_bytes, self.stripe_bytes);
        let end = self.end_bytes();
        let boundary = (from / stripe + self.slice_stripes()) * stripe;
        let last_whole = end / stripe * stripe;
        self.slice_bytes = from;
        self.next_bytes = match self.kind {
            ByteRequestKind::Read | ByteRequestKind::Write => {
                self.parallel_slice(self.slices_begun).end
            }
            // Three kinds of slices: before the first whole stripe, whole stripes, and after the
            // last.
            ByteRequestKind::Zeroes { .. } if !from.is_multiple_of(stripe) => {
                from.next_multiple_of(stripe).min(end)
            }
            ByteRequestKind::Zeroes { .. } if from < last_whole => boundary.min(last_whole),
            ByteRequestKind::Zeroes { .. } | ByteRequestKind::Deallocate => boundary.min(end),
        };
        self.slices_begun += 1;
        self.slices_under_way += 1;
        Some(from..self.next_bytes)
    }

    /// Ends a slice. Returns its number of bytes and the progress of the request.
    fn end_slice(&mut self, index: u32, failed: bool) -> (u64, Progress) {
        let slice = match self.is_parallel() {
            true => self.parallel_slice(index),
            false => self.slice_bytes..self.next_bytes,
        };
        self.slices_under_way -= 1;
        self.failed |= failed;
        let progress = match (self.slices_under_way, self.has_more()) {
            (1.., _) => Progress::UnderWay,
            (0, true) if self.is_parallel() => Progress::UnderWay,
            (0, true) => Progress::More,
            (0, false) if self.failed => Progress::Failed,
            (0, false) => Progress::Done,
        };
        (slice.end - slice.start, progress)
    }

    /// Returns true if the slice that was begun last consists of whole stripes.
    fn is_whole_stripes(&self) -> bool {
        self.slice_bytes.is_multiple_of(self.stripe_bytes)
            && self.next_bytes.is_multiple_of(self.stripe_bytes)
    }

    /// Kind of the array's request for the slice that was begun last.
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

    /// First byte of the first page of a read: the start of its buffer.
    fn base_bytes(&self) -> u64 {
        self.offset_bytes / self.page_bytes * self.page_bytes
    }

    /// Bytes of the whole pages that a read touches.
    fn span_bytes(&self) -> u64 {
        self.end_bytes().next_multiple_of(self.page_bytes) - self.base_bytes()
    }

    /// Fills the new rows of a member, the first of which is page `first_page` of the array. They
    /// get the request's data; a page that it writes in part keeps the rest of `old`.
    pub(crate) fn merge(&self, first_page: u64, old: Option<&[u8]>, new: &mut [u8]) {
        let start = first_page * self.page_bytes;
        let end = start + new.len() as u64;
        // Rows of a member lie in one slice, because slices end where stripes end.
        let written = match self.is_parallel() {
            true => self.offset_bytes..self.end_bytes(),
            false => self.slice_bytes..self.next_bytes,
        };
        if start < written.start || written.end < end {
            new.copy_from_slice(old.expect("a page written in part was read"));
        }
        let from = start.max(written.start);
        let to = end.min(written.end);
        let into = &mut new[(from - start) as usize..(to - start) as usize];
        match &self.data {
            Some(data) => {
                let first = (from - self.offset_bytes) as usize;
                into.copy_from_slice(&M::bytes(data)[first..first + into.len()]);
            }
            None => into.fill(0),
        }
    }

    /// Takes pages that were read, the first of which is page `first_page` of the array.
    pub(crate) fn take(&mut self, first_page: u64, pages: &[u8]) {
        let first = (first_page * self.page_bytes - self.base_bytes()) as usize;
        let data = self.data.as_mut().expect("a read has room for its pages");
        M::bytes_mut(data)[first..first + pages.len()].copy_from_slice(pages);
    }

    /// Range, in the buffer, of the bytes that the client asked for.
    fn asked_range(&self) -> Range<usize> {
        let first = (self.offset_bytes - self.base_bytes()) as usize;
        first..first + self.length_bytes as usize
    }

    /// Data that the client asked for.
    fn brought(&self) -> &[u8] {
        let data = self.data.as_ref().expect("a read has room for its pages");
        &M::bytes(data)[self.asked_range()]
    }
}

/// All requests that are not answered.
#[derive(Debug)]
pub(crate) struct Requests<M: Memory> {
    page_bytes: u64,
    stripe_bytes: u64,
    pending: ByToken<Pending<M>>,
}

impl<M: Memory> Requests<M> {
    pub(crate) const fn new(page_bytes: u64, stripe_bytes: u64) -> Self {
        Self { page_bytes, stripe_bytes, pending: ByToken::new() }
    }

    pub(crate) fn begin(&mut self, memory: &mut M, token: Token, request: ByteRequest<M::Buffer>) {
        let ByteRequest { host, kind, offset_bytes, length_bytes, data } = request;
        let mut pending = Pending {
            host,
            kind,
            offset_bytes,
            length_bytes,
            data,
            next_bytes: offset_bytes,
            slice_bytes: offset_bytes,
            slices_begun: 0,
            slices_under_way: 0,
            page_bytes: self.page_bytes,
            stripe_bytes: self.stripe_bytes,
            failed: false,
        };
        if kind == ByteRequestKind::Read {
            pending.data = Some(memory.take(pending.span_bytes() as usize));
        }
        self.pending.insert(token, pending);
    }

    fn of(&self, token: Token) -> &Pending<M> {
        self.pending.get(token).expect("the request has begun")
    }

    fn of_mut(&mut self, token: Token) -> &mut Pending<M> {
        self.pending.get_mut(token).expect("the request has begun")
    }

    /// Returns true if [`Requests::next_slice`] would return a slice now.
    pub(crate) fn can_begin(&self, token: Token) -> bool {
        self.of(token).can_begin()
    }

    /// Begins the next slice. Its id has the token of its request in the low bits, and its own
    /// number in the high bits.
    pub(crate) fn next_slice(&mut self, token: Token) -> Option<Request> {
        let pending = self.of_mut(token);
        let id = RequestId(u64::from(pending.slices_begun) << 32 | u64::from(token.0));
        let slice = pending.next_slice()?;
        let (offset_bytes, size_bytes) = (slice.start, slice.end - slice.start);
        let (host, kind) = (pending.host, pending.slice_kind());
        Some(Request { id, host, kind, offset_bytes, size_bytes })
    }

    pub(crate) fn end_slice(&mut self, outcome: &Outcome) -> EndedSlice {
        let token = token_of(outcome.request);
        let index = (outcome.request.0 >> 32) as u32;
        let failed = outcome.ended == Ended::Failed;
        let (bytes, progress) = self.of_mut(token).end_slice(index, failed);
        EndedSlice { token, bytes, progress }
    }

    pub(crate) fn brought(&self, token: Token) -> &[u8] {
        self.of(token).brought()
    }

    /// Ends a read. Returns its buffer, and the range of the requested bytes in it.
    pub(crate) fn take_brought(&mut self, token: Token) -> (M::Buffer, Range<usize>) {
        let pending = self.pending.remove(token).expect("the request has begun");
        let range = pending.asked_range();
        (pending.data.expect("a read has room for its pages"), range)
    }

    pub(crate) fn end(&mut self, memory: &mut M, token: Token) {
        let pending = self.pending.remove(token).expect("the request has begun");
        if let Some(buffer) = pending.data {
            memory.give(buffer);
        }
    }

    pub(crate) fn get(&self, request: RequestId) -> &Pending<M> {
        self.of(token_of(request))
    }

    pub(crate) fn get_mut(&mut self, request: RequestId) -> &mut Pending<M> {
        self.of_mut(token_of(request))
    }
}

/// Returns the request of a slice.
fn token_of(slice: RequestId) -> Token {
    Token(slice.0 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Heap;
    use alloc::vec::Vec;

    fn pending(offset_bytes: u64, length_bytes: u64) -> Pending<Heap> {
        Pending {
            host: 0,
            kind: ByteRequestKind::Read,
            offset_bytes,
            length_bytes,
            data: None,
            next_bytes: offset_bytes,
            slice_bytes: offset_bytes,
            slices_begun: 0,
            slices_under_way: 0,
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
                while let Some(slice) = request.next_slice() {
                    assert_eq!(slice.start, next);
                    let bytes = slice.end - slice.start;
                    assert!(bytes > 0 && bytes <= SLICE_BYTES);
                    next = slice.end;
                    in_part_stripes += if request.is_whole_stripes() { 0 } else { bytes };
                    assert_eq!(request.next_slice(), None, "one after the other");
                    let progress =
                        if next == offset + length { Progress::Done } else { Progress::More };
                    assert_eq!(request.end_slice(0, false), (bytes, progress));
                }
                assert_eq!(next, offset + length);
                assert!(kind != zeroes || in_part_stripes < 2 * 12288, "only both ends");
            }
        }
    }

    #[test]
    fn slices_of_reads_and_writes_are_under_way_together_and_end_in_any_order() {
        for kind in [ByteRequestKind::Read, ByteRequestKind::Write] {
            for (offset, length) in [(5, 32 << 20), (12287, 2), (0, 1), (12288 * 85, 12288 * 85)] {
                let mut request = Pending { kind, ..pending(offset, length) };
                let slices: Vec<_> = core::iter::from_fn(|| request.next_slice()).collect();
                assert!(slices.iter().all(|slice| slice.end - slice.start <= SLICE_BYTES));
                assert!(slices.windows(2).all(|two| two[0].end == two[1].start));
                let ends = (slices.first().unwrap().start, slices.last().unwrap().end);
                assert_eq!(ends, (offset, offset + length));
                for (index, slice) in slices.iter().enumerate().rev() {
                    let progress = if index == 0 { Progress::Done } else { Progress::UnderWay };
                    let bytes = slice.end - slice.start;
                    assert_eq!(request.end_slice(index as u32, false), (bytes, progress));
                }
            }
        }
    }

    #[test]
    fn a_request_that_failed_begins_no_more_and_has_failed_when_nothing_of_it_is_under_way() {
        let mut request = pending(0, 4 << 20);
        assert!(request.next_slice().is_some() && request.next_slice().is_some());
        assert_eq!(request.end_slice(1, true).1, Progress::UnderWay);
        assert_eq!(request.next_slice(), None);
        assert_eq!(request.end_slice(0, false).1, Progress::Failed);
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
