//! Contents of a line or record, before limits are checked and devices are numbered.

use super::{SkipReason, TimeUnit};
use crate::Op;

/// Contents of a line, before limits are checked and devices are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RawRequest<'a> {
    /// Nanoseconds since the origin of the trace's times.
    pub(super) nanos: u64,
    pub(super) op: Op,
    /// Offset in bytes, wide enough for any number of sectors.
    pub(super) offset_bytes: u128,
    /// Size in bytes, wide enough for any number of sectors.
    pub(super) size_bytes: u128,
    /// Device as the trace names it; empty without a name.
    pub(super) device: &'a str,
    /// Whether it is a write that demands stable storage.
    pub(super) durable: bool,
}

/// Result of reading a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parsed<'a> {
    Request(RawRequest<'a>),
    /// A request with an unknown flag.
    Flagged(RawRequest<'a>, char),
    /// A request that was put back into the queue, and will be issued again.
    Requeued(RawRequest<'a>),
    Skip(SkipReason),
}

/// Units of the numbers in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Units {
    pub(super) time: TimeUnit,
    pub(super) sector_bytes: u64,
}

impl Units {
    /// `sectors` in bytes.
    pub(super) fn sectors(&self, sectors: u64) -> u128 {
        u128::from(sectors) * u128::from(self.sector_bytes)
    }
}
