//! What a line or record says, before limits are checked and devices are numbered.

use super::{SkipReason, TimeUnit};
use crate::Op;

/// What a line says, before limits are checked and devices are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RawRequest<'a> {
    /// Nanoseconds since whatever the trace counts from.
    pub(super) nanos: u64,
    pub(super) op: Op,
    /// In bytes, wide enough for any number of sectors.
    pub(super) offset_bytes: u128,
    /// In bytes, wide enough for any number of sectors.
    pub(super) size_bytes: u128,
    /// The device as the trace names it; empty when it names none.
    pub(super) device: &'a str,
    /// Whether it is a write that asks for stable storage.
    pub(super) durable: bool,
}

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parsed<'a> {
    Request(RawRequest<'a>),
    /// A request with a flag that is not known.
    Flagged(RawRequest<'a>, char),
    /// A request that was put back into the queue, and will be issued again.
    Requeued(RawRequest<'a>),
    Skip(SkipReason),
}

/// What the numbers of a trace count in.
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
