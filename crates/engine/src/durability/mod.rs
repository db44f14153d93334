//! The records that an array keeps about itself, so that it survives its process, and the order of
//! its writes and syncs.
//!
//! The head of each drive ([`HEAD_BYTES`] before its data) holds:
//!
//! | bytes from the start of the file | what |
//! |---|---|
//! | 0 and 4096 | two copies of the [`superblock`], written in turn |
//! | 32 768 | of a drive on the network, its [`owner`] |
//! | 65 536 to 131 072 | the write-intent record ([`intent`]) |
//! | 1 MiB to the end of the head | the [`journal`] of a degraded array |
//!
//! All numbers are little endian; every block of 4096 bytes is guarded by a CRC-32.
//!
//! After a crash the parity of the stripes that were being written may not match their data. The
//! intent record names the regions of these stripes, and they are resynced: their parity is
//! recomputed from their data. With a drive missing, that would change the data that is
//! reconstructed for it (the "write hole"). So a degraded array writes its changes into the journal
//! first, and replays them at the next start.
//!
//! [`Durability`] is the machine that orders these writes and syncs while an array runs.
//! [`create`], [`open`] and [`prepare`] do the work before that, each on a [`Disk`]. An array in
//! memory has no records.

mod alone;
mod answers;
mod assembly;
pub mod block;
mod create;
mod disk;
mod drive_set;
mod forced;
mod foreign;
mod gate;
mod head_io;
pub mod intent;
mod io_ids;
mod join;
pub mod journal;
mod journal_writer;
mod lineage;
mod machine;
mod mend;
mod missed;
mod open;
mod opened;
mod order;
mod outbox;
mod output;
mod overwritten;
pub mod owner;
mod recorder;
mod refusal;
mod rows;
mod setup;
mod signatures;
pub mod superblock;
mod syncs;
mod transitions;
mod uuid;

pub use alone::Doubt;
pub use assembly::{Assembly, Found, assemble};
pub use create::{check_blank, check_new, create};
pub use disk::{Disk, is_unfinished, read_superblock, write_superblock};
pub use drive_set::DriveSet;
pub use forced::{Fate, Forced, Taking, force};
pub use foreign::{Foreign, recognise, recognise_in_head};
pub use intent::{Intent, MarkState};
pub use join::{Vacancy, check_join, check_return, is_claimable, prepare, prepare_return};
pub use journal::{Journal, JournalError};
pub use machine::{Durability, Records};
pub use missed::MissedRegions;
pub use open::{Opening, find, find_forced, open};
pub use opened::{Contents, OpenError, Opened};
pub use output::{Change, End, Handed, IoId, IoResult, Output, StopReason, WantedChange};
pub use refusal::{Note, Refusal};
pub use setup::{Setup, Sizes};
pub use superblock::{
    Geometry, Journalled, MemberState, Past, PastBranch, Superblock, SuperblockError,
};
pub use transitions::Transitions;
pub use uuid::Uuid;

/// Bytes of each drive's file before its data: the array's own records.
pub const HEAD_BYTES: u64 = 32 << 20;
