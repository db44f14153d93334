//! The completion queue entry: 16 bytes.

use super::status::StatusField;
use super::structure::structure;

/// Bytes of a completion queue entry.
pub const COMPLETION_BYTES: usize = 16;

/// A completion queue entry (Linux `struct nvme_completion`). The phase tag, which only queues in
/// memory have, is read as nothing and written as 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompletionEntry {
    /// DW0 and, above it, DW1: what the command has to say beside its status.
    pub result: u64,
    /// SQHD: how far the controller has read the submission queue. Linux ignores it over a fabric.
    pub sq_head: u16,
    /// SQID: reserved over a fabric; Linux ignores it.
    pub sq_id: u16,
    /// CID of the command that this answers.
    pub cid: u16,
    /// How it ended.
    pub status: StatusField,
}

structure! { CompletionEntry, COMPLETION_BYTES;
    result: "RESULT" @ 0,
    sq_head: "SQHD" @ 8,
    sq_id: "SQID" @ 10,
    cid: "CID" @ 12,
    status: "status" @ 14,
}

impl CompletionEntry {
    /// The answer to a command that says no more than how it ended.
    #[must_use]
    pub const fn new(cid: u16, status: StatusField) -> Self {
        Self { result: 0, sq_head: 0, sq_id: 0, cid, status }
    }

    /// The same with a result.
    #[must_use]
    pub const fn with_result(self, result: u64) -> Self {
        Self { result, ..self }
    }

    /// DW0.
    #[must_use]
    pub const fn dw0(&self) -> u32 {
        self.result as u32
    }

    /// DW1.
    #[must_use]
    pub const fn dw1(&self) -> u32 {
        (self.result >> 32) as u32
    }
}
