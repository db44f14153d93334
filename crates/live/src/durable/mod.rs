//! Durable arrays and the system: files and devices are opened and locked, drives on the network
//! are claimed. Random names and the state of emulated drives between two runs ([`ftl`]) are here
//! as well.
//!
//! What is written where and in which order is in [`::engine::durability`]. The head of a drive
//! there is what lies before [`crate::storage::DATA_OFFSET_BYTES`] here.

mod claim;
mod forced;
pub mod format;
pub mod ftl;
mod tended;

pub use ::engine::durability::{
    Assembly, Doubt, Found, Geometry, Intent, Journal, JournalError, Journalled, MarkState,
    MemberState, Note, Records, Refusal, Superblock, SuperblockError, Uuid, assemble, intent,
    journal, read_superblock, write_superblock,
};
pub use claim::{ClaimError, Claimed, claim, claim_drive, claimant};
pub use forced::{Account, find_forced};
pub use format::{FoundArray, OpenArray, OpenError, create, find, is_remains, open, random_uuid};
