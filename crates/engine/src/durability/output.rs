//! Inputs and outputs of the durability machine.

use super::journal::JournalError;
use crate::token::Token;
use alloc::sync::Arc;
use alloc::vec::Vec;
use array::FailReason;
use core::fmt;
use units::DriveId;

/// Content of a change. The machine only reads it, for records of the journal.
pub trait Change {
    /// New content of the range; `None` for zeros, as after a discard.
    fn data(&self) -> Option<&[u8]>;
}

/// Number of a storage I/O of the machine: a change that was handed over, a write into a head, or a
/// sync. Numbers ascend and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IoId(pub(super) u64);

/// Numbers of a change that was handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handed {
    /// The change.
    pub id: IoId,
    /// Its write, named by the first change of it: the next change of the same operation
    /// [joins](WantedChange::joins) it.
    pub write: IoId,
}

/// A change of a drive that is handed over.
#[derive(Clone, Debug)]
pub struct WantedChange<C> {
    /// The drive.
    pub drive: DriveId,
    /// First byte on the drive, without its head; a multiple of 4096.
    pub offset_bytes: u64,
    /// Number of bytes: a multiple of 4096, not zero.
    pub length_bytes: u64,
    /// Write of the stripe operation, if other changes of it were handed over before. The stripe is
    /// torn if only some of its changes are made. So changes handed over before the next
    /// [`Durability::poll_output`] share a batch of the journal and are released together.
    ///
    /// [`Durability::poll_output`]: super::Durability::poll_output
    pub joins: Option<IoId>,
    /// True if the client is answered before the change ends, because the data is in memory. Later
    /// flushes wait until the journal has the change, or it has ended.
    pub cached: bool,
    /// The new content.
    pub change: C,
}

/// Result of a storage I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoResult {
    /// It was done.
    Done,
    /// It was not done, or only in part.
    Failed,
    /// It was not done, or only in part, because the storage has no room. The drive itself is
    /// sound.
    NoRoom,
}

/// An output of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output<C> {
    /// Write into the head of a drive. It ends when it is on stable storage, as a write with forced
    /// unit access does.
    WriteHead {
        /// Number for [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// First byte, from the start of the file of the drive.
        offset_bytes: u64,
        /// Whole blocks of 4096 bytes. Drives that get the same bytes share them.
        bytes: Arc<Vec<u8>>,
    },
    /// Bring all that has ended on a drive to stable storage.
    Sync {
        /// Number for [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// True if the checksums of all that has ended on the drive must be stable too: a crash
        /// after this sync does not replay it.
        settles: bool,
    },
    /// A change may go to its storage.
    Release {
        /// Number for [`Durability::handle_io_ended`](super::Durability::handle_io_ended).
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// The content that was handed over.
        change: C,
    },
    /// Cancel a change: its drive has failed before the release.
    Cancel {
        /// Its number; its end need not be reported.
        id: IoId,
        /// The drive.
        drive: DriveId,
        /// The content that was handed over.
        change: C,
    },
    /// Answer a client.
    Answer {
        /// The client's request.
        answer: Token,
    },
    /// Refuse a client: the array has stopped.
    Refuse {
        /// The client's request.
        answer: Token,
    },
    /// Fail a drive that does not store its data. The machine has done so already.
    FailDrive {
        /// The drive.
        drive: DriveId,
        /// The I/O that it failed.
        reason: FailReason,
    },
    /// Take no more requests. Nothing is released or answered from now on.
    Stop {
        /// Reason of the stop.
        reason: StopReason,
    },
    /// The array has ended, and all records that can be written are.
    Ended {
        /// Kind of the end.
        end: End,
    },
}

/// Reason for which an array cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// More drives have failed than the array can miss, and the failure of the last cannot be
    /// recorded.
    TooFewDrives,
    /// A stripe operation does not fit into the journal.
    Journal(JournalError),
    /// The storage of a drive has no room left for a write.
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

/// Result of ending an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The superblocks record that nothing is to be repaired.
    Clean,
    /// Parity is not yet resynced everywhere: the next start resumes the resync.
    ParityNotResynced,
    /// Some changes could not be released any more: the next start resyncs parity.
    ChangesHeld,
}
