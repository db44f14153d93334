//! The completion queue entry: 16 bytes.

use super::field::{get_u16, get_u64, put_u16, put_u64};
use super::status::StatusField;

/// Bytes of a completion queue entry.
pub const COMPLETION_BYTES: usize = 16;

const RESULT: usize = 0;
const SQHD: usize = 8;
const SQID: usize = 10;
const CID: usize = 12;
// Phase tag in bit 0, the status field above it.
const STATUS: usize = 14;

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

    /// Reads an entry.
    #[must_use]
    pub fn decode(entry: &[u8; COMPLETION_BYTES]) -> Self {
        Self {
            result: get_u64(entry, RESULT),
            sq_head: get_u16(entry, SQHD),
            sq_id: get_u16(entry, SQID),
            cid: get_u16(entry, CID),
            status: StatusField::from_bits(get_u16(entry, STATUS) >> 1),
        }
    }

    /// Writes the entry.
    #[must_use]
    pub fn encode(&self) -> [u8; COMPLETION_BYTES] {
        let mut entry = [0; COMPLETION_BYTES];
        put_u64(&mut entry, RESULT, self.result);
        put_u16(&mut entry, SQHD, self.sq_head);
        put_u16(&mut entry, SQID, self.sq_id);
        put_u16(&mut entry, CID, self.cid);
        put_u16(&mut entry, STATUS, self.status.bits() << 1);
        entry
    }
}
