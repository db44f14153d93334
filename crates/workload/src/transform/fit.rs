//! Mapping of addresses into the capacity of the array.

use crate::Request;
use crate::error::{OptionError, WorkloadError};
use crate::statistics::PAGE_BYTES;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use units::MIB;

/// Rule that maps addresses into the capacity. The capacity counts in whole 4 KiB pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Fit {
    /// The remainder by the capacity. Alignment to 4 KiB and locality are kept; distant addresses
    /// may share a place. A request across the end is split and continues at address 0. The
    /// default.
    #[default]
    Wrap,
    /// All addresses shrink by the same factor if the trace is larger than the array. Order is kept
    /// but neighbours overlap. Alignment (4 KiB, 512 B or none) is kept by rounding down; a request
    /// across the end is shifted to end there.
    Scale,
    /// Extents of 1 MiB are placed one after the other in the order of their first use, so a sparse
    /// trace becomes dense. A request across two extents that are no longer neighbours is split.
    /// Extents beyond the capacity wrap.
    Compact,
    /// A request beyond the capacity is an error.
    Refuse,
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wrap => "wrap",
            Self::Scale => "scale",
            Self::Compact => "compact",
            Self::Refuse => "refuse",
        })
    }
}

impl FromStr for Fit {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        [Self::Wrap, Self::Scale, Self::Compact, Self::Refuse]
            .into_iter()
            .find(|fit| fit.to_string() == text)
            .ok_or_else(|| OptionError::NotUnderstood {
                option: "fit",
                value: text.to_owned(),
                expected: "one of wrap, scale, compact, refuse",
            })
    }
}

/// Changes of the address of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Moved {
    /// The address wrapped, because the array is too small.
    pub(super) wrapped: bool,
    /// The request was shifted so as not to cross the end.
    pub(super) shifted: bool,
}

/// Maps addresses into the capacity.
#[derive(Clone, Debug)]
pub(super) struct Fitter {
    fit: Fit,
    capacity: u64,
    /// First byte behind the whole trace.
    trace_end: u64,
    extent: u64,
    extents: HashMap<u64, u64>,
}

impl Fitter {
    /// `capacity` is at least one page; `trace_end` is the end of the folded address space.
    pub(super) fn new(fit: Fit, capacity: u64, trace_end: u64) -> Self {
        Self {
            fit,
            capacity: capacity - capacity % PAGE_BYTES,
            trace_end,
            extent: if capacity < MIB { PAGE_BYTES } else { MIB },
            extents: HashMap::new(),
        }
    }

    /// Appends the pieces of `request` to `pieces`, in the order of its bytes. `number` counts
    /// requests from 1, for messages.
    pub(super) fn fit(
        &mut self,
        request: &Request,
        number: u64,
        pieces: &mut VecDeque<Request>,
    ) -> Result<Moved, WorkloadError> {
        let capacity = self.capacity;
        let (offset, size) = (request.offset_bytes, request.size_bytes);
        if size > capacity {
            return Err(WorkloadError::LargerThanArray { number, size, capacity });
        }
        match self.fit {
            Fit::Refuse => {
                let end = request.end_bytes();
                if end > capacity {
                    return Err(WorkloadError::BeyondArray { number, end, capacity });
                }
                pieces.push_back(*request);
                Ok(Moved::default())
            }
            Fit::Wrap => {
                let start = offset % capacity;
                let before_end = size.min(capacity - start);
                pieces.push_back(Request {
                    offset_bytes: start,
                    size_bytes: before_end,
                    ..*request
                });
                if before_end < size {
                    let rest = size - before_end;
                    pieces.push_back(Request { offset_bytes: 0, size_bytes: rest, ..*request });
                }
                Ok(Moved { wrapped: start != offset, shifted: false })
            }
            Fit::Scale => {
                let mut start = offset;
                if self.trace_end > capacity {
                    let scaled =
                        u128::from(offset) * u128::from(capacity) / u128::from(self.trace_end);
                    // The result is smaller than the offset, so it fits into 64 bits again.
                    start = align_like(scaled as u64, offset);
                }
                let last = align_like(capacity - size, offset);
                let shifted = start > last;
                start = start.min(last);
                pieces.push_back(Request { offset_bytes: start, ..*request });
                Ok(Moved { wrapped: false, shifted })
            }
            Fit::Compact => Ok(self.compact(request, pieces)),
        }
    }

    fn compact(&mut self, request: &Request, pieces: &mut VecDeque<Request>) -> Moved {
        let slots = self.capacity / self.extent;
        let mut moved = Moved::default();
        let mut from = request.offset_bytes;
        let first_piece = pieces.len();
        while from < request.end_bytes() {
            let inside = from % self.extent;
            let size = (self.extent - inside).min(request.end_bytes() - from);
            let next = self.extents.len() as u64;
            let slot = *self.extents.entry(from / self.extent).or_insert(next);
            moved.wrapped |= slot >= slots;
            let start = slot % slots * self.extent + inside;
            let joins = pieces.len() > first_piece;
            match pieces.back_mut() {
                Some(last) if joins && last.end_bytes() == start => last.size_bytes += size,
                _ => {
                    pieces.push_back(Request { offset_bytes: start, size_bytes: size, ..*request })
                }
            }
            from += size;
        }
        moved
    }
}

/// `address` rounded down to the alignment of `model`: 4 KiB, 512 bytes or none.
fn align_like(address: u64, model: u64) -> u64 {
    match model {
        _ if model.is_multiple_of(PAGE_BYTES) => address - address % PAGE_BYTES,
        _ if model.is_multiple_of(512) => address - address % 512,
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use units::Instant;

    fn fitted(fitter: &mut Fitter, offset: u64, size: u64) -> (Vec<(u64, u64)>, Moved) {
        let request = Request {
            at: Instant::ZERO,
            op: Op::Write,
            offset_bytes: offset,
            size_bytes: size,
            device: 0,
            durable: false,
            after_flush: false,
        };
        let mut pieces = VecDeque::new();
        let moved = fitter.fit(&request, 7, &mut pieces).unwrap();
        (pieces.iter().map(|piece| (piece.offset_bytes, piece.size_bytes)).collect(), moved)
    }

    #[test]
    fn wrapping_splits_at_the_end() {
        let mut fitter = Fitter::new(Fit::Wrap, 16_384 + 100, 1 << 40);
        assert_eq!(fitted(&mut fitter, 4_096, 512), (vec![(4_096, 512)], Moved::default()));
        let (pieces, moved) = fitted(&mut fitter, 16_384 * 5 + 12_288, 8_192);
        assert_eq!(pieces, [(12_288, 4_096), (0, 4_096)]);
        assert!(moved.wrapped);
    }

    #[test]
    fn scaling_keeps_alignment_and_shifts_at_the_end() {
        let mut fitter = Fitter::new(Fit::Scale, 1 << 20, 1 << 30);
        assert_eq!(fitted(&mut fitter, 512 << 20, 4_096).0, [(512 << 10, 4_096)]);
        let (pieces, moved) = fitted(&mut fitter, (1 << 30) - 4_096, 65_536);
        assert_eq!(pieces, [((1 << 20) - 65_536, 65_536)]);
        assert!(moved.shifted);
    }

    #[test]
    fn compacting_lays_extents_side_by_side() {
        let mut fitter = Fitter::new(Fit::Compact, 8 << 20, 1 << 50);
        assert_eq!(fitted(&mut fitter, (1 << 40) + 512, 1_024).0, [(512, 1_024)]);
        assert_eq!(fitted(&mut fitter, 1 << 30, 4_096).0, [(1 << 20, 4_096)]);
        // Neighbours that are first touched together stay neighbours.
        assert_eq!(fitted(&mut fitter, 5 << 20, 2 << 20).0, [(2 << 20, 2 << 20)]);
        // An old extent and a new one are no longer neighbours.
        let (pieces, _) = fitted(&mut fitter, (1 << 30) + (1 << 20) - 4_096, 8_192);
        assert_eq!(pieces, [((2 << 20) - 4_096, 4_096), (4 << 20, 4_096)]);
    }

    #[test]
    fn refusing_names_the_request_and_the_capacity() {
        let mut fitter = Fitter::new(Fit::Refuse, 16_384, 1 << 40);
        let request = Request {
            at: Instant::ZERO,
            op: Op::Read,
            offset_bytes: 12_288,
            size_bytes: 8_192,
            device: 0,
            durable: false,
            after_flush: false,
        };
        let error = fitter.fit(&request, 7, &mut VecDeque::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "request 7 of the trace ends at byte 20480, beyond the 16384 bytes of the array; \
             choose fit = wrap, scale or compact, or a larger array"
        );
    }
}
