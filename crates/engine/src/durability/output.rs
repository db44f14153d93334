//! What goes into the durability machine and what comes out of it.

use super::journal::JournalError;
use crate::token::Token;
use alloc::sync::Arc;
use alloc::vec::Vec;
use array::FailReason;
use core::fmt;
use units::DriveId;

/// The bytes that a change brings. The machine only reads them, for records of the journal.
pub trait Change {
    /// What the range is to hold; `None` for zeros, as after a discard.
    fn data(&self) -> Option<&[u8]>;
}

/// One I/O of the storage that the machine knows: a change that was handed over, a write into a
/// head, or a sync. Numbers ascend, and none is used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IoId(pub(super) u64);

/// A change that was handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handed {
    /// The change.
    pub id: IoId,
    /// The write that it is a part of, by its first change: the next change of the same operation
    /// [joins](WantedChange::joins) it.
    pub write: IoId,
}

/// What is to be changed on a drive.
#[derive(Clone, Debug)]
pub struct WantedChange<C> {
    /// The drive.
    pub drive: DriveId,
    /// First byte on the drive (its head does not count); a multiple of 4096.
    pub offset_bytes: u64,
    /// Number of bytes: a multiple of 4096, not zero.
    pub length_bytes: u64,
    /// The write of the stripe operation so far, if other changes of it were handed over. The
    /// stripe is torn if only some of them happen, so all that are handed over before the next
    /// [`Durability::poll_output`] get one record in the journal and are released together.
    ///
    /// [`Durability::poll_output`]: super::Durability::poll_output
    pub joins: Option<IoId>,
    /// Whether the client is answered before this ends, because the data are in memory. Flushes
    /// that are asked for later wait until the journal has it, or it has ended.
    pub cached: bool,
    /// What the range is to hold.
    pub change: C,
}

/// How something has ended at the storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoResult {
    /// It is done.
    Done,
    /// It is not, or not wholly.
    Failed,
    /// It is not, or not wholly, because the storage has no room. The drive is as good as before.
    NoRoom,
}

/// What the machine wants done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<C> {
    /// Write into the head of a drive. It ends when it is on stable storage, as a write with forced
    /// unit access does.
    WriteHead {
        /// For [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// From the start of the file of the drive, in bytes.
        offset_bytes: u64,
        /// Whole blocks of 4096 bytes. Drives that get the same share them.
        bytes: Arc<Vec<u8>>,
    },
    /// Bring all that has ended on a drive so far to stable storage.
    Sync {
        /// For [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// Whether the checksums of all that has ended on the drive must be covered as well: it is
        /// not written again after a crash from now on.
        settles: bool,
    },
    /// A change may go to its storage.
    Release {
        /// For [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// What was handed over.
        change: C,
    },
    /// The drive of a change has failed before it was released: it is not written.
    Cancel {
        /// Its number; nothing more is to be said about it.
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// What was handed over.
        change: C,
    },
    /// A client may be answered.
    Answer {
        /// What was asked for.
        answer: Token,
    },
    /// What a client waits for does not come any more: the array has stopped.
    Refuse {
        /// What was asked for.
        answer: Token,
    },
    /// A drive does not keep what it is given: the array has to give it up. The machine has
    /// already.
    FailDrive {
        /// The drive.
        drive: DriveId,
        /// What it did not do.
        reason: FailReason,
    },
    /// The array must take no requests any more. Nothing is released or answered from now on.
    Stop {
        /// Why.
        reason: StopReason,
    },
    /// All is written down that can be: the array has ended.
    Ended {
        /// How.
        end: End,
    },
}

/// Why an array cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// More drives have failed than the array can miss, and one more cannot write that down.
    TooFewDrives,
    /// A stripe operation does not fit into the journal.
    Journal(JournalError),
    /// The storage of a drive has no room left for what is to be written.
    NoRoom {
        /// The drive.
        drive: DriveId,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewDrives => {
                f.write_str("too few drives are left to write down that others failed")
            }
            Self::NoRoom { drive } => write!(
                f,
                "the storage of drive {} has no room left; nothing is lost: make room there and start the array again",
                drive.0
            ),
            Self::Journal(error) => write!(f, "a write cannot be journalled: {error}"),
        }
    }
}

/// How an array has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The superblocks say that nothing is to be repaired.
    Clean,
    /// Parity is not yet resynced everywhere: the next start goes on with it.
    ParityNotResynced,
    /// Changes were handed over that nobody could release any more: the next start resyncs parity.
    ChangesHeld,
}
