//! The completion queue entry: 16 bytes.

use super::status::StatusField;
use super::structure::structure;

/// Bytes of a completion queue entry.
pub const COMPLETION_BYTES: usize = 16;

/// A completion queue entry (Linux `struct nvme_completion`). The phase tag, which only queues in
/// memory have, is ignored when read and written as 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompletionEntry {
    /// DW0 in the lower half, DW1 in the upper half: the result of the command besides its status.
    pub result: u64,
    /// SQHD: position up to which the controller has read the submission queue. Linux ignores it
    /// over a fabric.
    pub sq_head: u16,
    /// SQID: reserved over a fabric; Linux ignores it.
    pub sq_id: u16,
    /// CID of the command that this entry answers.
    pub cid: u16,
    /// Status of the command.
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
    /// A completion with a status only.
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
