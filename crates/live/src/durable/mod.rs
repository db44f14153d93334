//! What an array writes down about itself so that it survives its process.
//!
//! The head of each drive that has a file ([`crate::storage::DATA_OFFSET_BYTES`]) holds:
//!
//! | bytes from the start of the file | what |
//! |---|---|
//! | 0 and 4096 | two copies of the [superblock](Superblock), written in turn |
//! | 65 536 to 131 072 | the write-intent record ([`intent`]) |
//! | 1 MiB to the end of the head | the [`journal`] of a degraded array |
//!
//! All numbers are little endian; every block of 4096 bytes is guarded by a CRC-32.
//!
//! After a crash the parity of the stripes that were being written may not fit their data. The
//! intent record says which those may be, and they are computed again (resync). While a drive is
//! missing that would invent data for it, so a degraded array writes what it is about to change
//! into the journal first, and does it again at the next start (the "write hole").
//!
//! An array whose drives are all in memory has none of this.

pub mod format;
pub mod ftl;
mod superblock;

pub use ::engine::durability::{
    Assembly, Found, Geometry, Intent, Journal, JournalError, MarkState, MemberState, Note,
    Records, Refusal, Superblock, SuperblockError, Uuid, assemble, intent, journal,
};
pub use format::{OpenArray, OpenError, create, open};
pub use superblock::{random_uuid, read_superblock, write_superblock};
