//! One request of the host.

use std::fmt;
use units::Instant;

/// Direction of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// Data moves from the array to the host.
    Read,
    /// Data moves from the host to the array.
    Write,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// One request of the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Time at which the host issues it, relative to the start of the trace; the first request is
    /// at zero. Always zero for a closed-loop generator, whose driver decides the time.
    pub at: Instant,
    /// Read or write.
    pub op: Op,
    /// First byte. At most 2^60 together with the size.
    pub offset_bytes: u64,
    /// Length in bytes, at least 1 and at most 1 GiB when it comes from a trace.
    pub size_bytes: u64,
    /// Device in a trace: small integers in order of first appearance in the file; 0 with one
    /// device. In a generated workload, the host that sends the request.
    pub device: u32,
    /// Whether it is a write of a trace that demands stable storage: by FUA, a flush ahead of it or
    /// a barrier.
    pub durable: bool,
    /// Whether a flush without data precedes it in a trace, after the request before it.
    pub after_flush: bool,
}

impl Request {
    /// The first byte after the request.
    #[must_use]
    pub const fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.size_bytes)
    }
}
