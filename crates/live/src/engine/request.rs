//! Requests of clients on their way through the array.

use crate::buffer::Buffer;
use crate::nbd::Kind;
use units::Instant;

/// Most bytes that the array is given of one request at a time: a longer request goes through in
/// slices, one after the other, so that one client cannot hold the array's thread for long.
pub(crate) const SLICE_BYTES: u64 = 1 << 20;

/// Which client asked: where it is kept, and how often that place was used before, so that an
/// answer never goes to the next client at the same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClientId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A request that is not answered.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) client: ClientId,
    pub(crate) cookie: u64,
    pub(crate) kind: Kind,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u32,
    pub(crate) fua: bool,
    pub(crate) arrived: Instant,
    /// What is written, or, of a read, room for whole pages.
    pub(crate) data: Option<Buffer>,
    /// First byte that is not in a slice that was begun.
    pub(crate) next_bytes: u64,
    /// The slice that is under way begins here.
    pub(crate) slice_bytes: u64,
    /// Bytes in a page of the array.
    pub(crate) page_bytes: u64,
    /// Bytes of data in a stripe of the array.
    pub(crate) stripe_bytes: u64,
    pub(crate) failed: bool,
}

impl Pending {
    pub(crate) fn end_bytes(&self) -> u64 {
        self.offset_bytes + u64::from(self.length_bytes)
    }

    /// First byte of the slice under way, and the one after its last.
    pub(crate) fn slice(&self) -> (u64, u64) {
        (self.slice_bytes, self.next_bytes)
    }

    /// Whether there is a slice that was not begun.
    pub(crate) fn has_more(&self) -> bool {
        self.next_bytes < self.end_bytes()
    }

    /// Begins the next slice; `None` if all were begun. Slices end where stripes end, so that whole
    /// stripes can be told from parts.
    pub(crate) fn next_slice(&mut self) -> Option<(u64, u64)> {
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
            // The part before the first whole stripe, whole stripes, and the part after the last.
            Kind::WriteZeroes { .. } if !from.is_multiple_of(stripe) => {
                from.next_multiple_of(stripe).min(end)
            }
            Kind::WriteZeroes { .. } if from < last_whole => boundary.min(last_whole),
            _ => boundary.min(end),
        };
        Some((from, self.next_bytes - from))
    }

    /// Whether the slice under way is made of whole stripes.
    pub(crate) fn is_whole_stripes(&self) -> bool {
        self.slice_bytes.is_multiple_of(self.stripe_bytes)
            && self.next_bytes.is_multiple_of(self.stripe_bytes)
    }

    /// First byte of the first page of a read: where its buffer begins.
    fn base_bytes(&self) -> u64 {
        self.offset_bytes / self.page_bytes * self.page_bytes
    }

    /// Bytes of the whole pages that a read touches.
    pub(crate) fn span_bytes(&self) -> u64 {
        self.end_bytes().next_multiple_of(self.page_bytes) - self.base_bytes()
    }

    /// Copies what the client writes from byte `from` of the array on; zeros if it sent no data.
    pub(crate) fn copy_to(&self, from: u64, into: &mut [u8]) {
        match &self.data {
            Some(data) => {
                let first = (from - self.offset_bytes) as usize;
                into.copy_from_slice(&data.bytes()[first..first + into.len()]);
            }
            None => into.fill(0),
        }
    }

    /// Takes pages that were read, the first at byte `from` of the array.
    pub(crate) fn take(&mut self, from: u64, pages: &[u8]) {
        let first = (from - self.base_bytes()) as usize;
        let data = self.data.as_mut().expect("a read has room for its pages");
        data.bytes_mut()[first..first + pages.len()].copy_from_slice(pages);
    }

    /// What the client asked to read.
    pub(crate) fn answer(&self) -> &[u8] {
        let first = (self.offset_bytes - self.base_bytes()) as usize;
        let data = self.data.as_ref().expect("a read has room for its pages");
        &data.bytes()[first..first + self.length_bytes as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(offset_bytes: u64, length_bytes: u32) -> Pending {
        Pending {
            client: ClientId { index: 0, generation: 0 },
            cookie: 0,
            kind: Kind::Read,
            offset_bytes,
            length_bytes,
            fua: false,
            arrived: Instant::ZERO,
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
        let zeroes = Kind::WriteZeroes { may_punch: true, fast: false };
        for (offset, length) in [(0, 1), (5, 3 << 20), (12287, 2), (4096, u32::MAX)] {
            for kind in [Kind::Read, zeroes] {
                let mut request = Pending { kind, ..pending(offset, length) };
                let mut next = offset;
                let mut in_part_stripes = 0;
                while let Some((from, bytes)) = request.next_slice() {
                    assert_eq!(from, next);
                    assert!(bytes > 0 && bytes <= SLICE_BYTES);
                    next = from + bytes;
                    in_part_stripes += if request.is_whole_stripes() { 0 } else { bytes };
                }
                assert_eq!(next, offset + u64::from(length));
                assert!(kind != zeroes || in_part_stripes < 2 * 12288, "only both ends");
            }
        }
    }

    #[test]
    fn a_read_that_is_not_aligned_gets_its_own_bytes() {
        let mut request = pending(4096 + 100, 5000);
        assert_eq!(request.span_bytes(), 8192);
        request.data = Some(Buffer::zeroed(8192));
        request.take(8192, &[2; 4096]);
        request.take(4096, &[1; 4096]);
        assert_eq!(request.answer().len(), 5000);
        assert_eq!(request.answer()[3995], 1);
        assert_eq!(request.answer()[3996], 2);
    }
}
