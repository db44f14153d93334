//! Commands for drives and their completions.

use super::disk::DATA_OFFSET_BYTES;
use crate::buffer::{Buffer, PAGE_BYTES};
use nvme::PlFlag;
use std::io;
use units::{DriveId, Duration};

/// Something to do on a drive. Offsets and lengths are in bytes, multiples of
/// [`PAGE_BYTES`], and count from the first byte of the drive.
#[derive(Debug)]
pub enum Work {
    /// Fill the first bytes of a buffer.
    Read {
        /// From where.
        offset_bytes: u64,
        /// What is filled; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
        /// Whether it may fail fast; only drives on the network do.
        pl: PlFlag,
    },
    /// Write the first bytes of a buffer.
    Write {
        /// Where to.
        offset_bytes: u64,
        /// What is written; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
    },
    /// Write into the reserved head of the drive; on stable storage when it is done. On a drive in
    /// memory, which has no head, it is done at once.
    WriteHead {
        /// Where to, counted from the start of the file.
        offset_bytes: u64,
        /// What is written; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
    },
    /// Bring what was written to stable storage.
    Sync,
    /// The bytes become zero, and their room is given back.
    Discard {
        /// From where.
        offset_bytes: u64,
        /// How many.
        length_bytes: u64,
    },
}

/// A command that is done.
#[derive(Debug)]
pub struct Finished {
    /// The number that it was submitted under.
    pub tag: u64,
    /// The drive.
    pub drive: DriveId,
    /// Its buffer; what it holds is meaningless unless it is done. A read that failed fast because
    /// its drive did not answer has none: the drive may still fill it.
    pub buffer: Option<Buffer>,
    /// Whether it is done or failed.
    pub result: io::Result<Ending>,
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It is done.
    Done,
    /// A read that may fail fast did.
    FailedFast {
        /// How long it would have waited; zero if the drive does not know.
        busy_remaining: Duration,
    },
}

impl Work {
    /// The buffer of the command, if it has one.
    pub(super) fn buffer(self) -> Option<Buffer> {
        match self {
            Self::Read { buffer, .. }
            | Self::Write { buffer, .. }
            | Self::WriteHead { buffer, .. } => Some(buffer),
            Self::Sync | Self::Discard { .. } => None,
        }
    }

    /// Whether the command is for whole pages of a drive of `drive_bytes` and has a buffer as long.
    pub(super) fn check(&self, drive: DriveId, drive_bytes: u64) -> io::Result<()> {
        let (offset, length, room) = match self {
            Self::Read { offset_bytes, buffer, length_bytes, .. }
            | Self::Write { offset_bytes, buffer, length_bytes } => {
                (*offset_bytes, *length_bytes as u64, Some((drive_bytes, buffer.len())))
            }
            Self::WriteHead { offset_bytes, buffer, length_bytes } => {
                (*offset_bytes, *length_bytes as u64, Some((DATA_OFFSET_BYTES, buffer.len())))
            }
            Self::Sync => return Ok(()),
            Self::Discard { offset_bytes, length_bytes } => (*offset_bytes, *length_bytes, None),
        };
        let (end, buffer_bytes) = room.unwrap_or((drive_bytes, usize::MAX));
        let whole = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES as u64);
        let fits = offset.checked_add(length).is_some_and(|last| last <= end);
        if whole(offset) && whole(length) && fits && length <= buffer_bytes as u64 {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "drive {}: {length} bytes at {offset} with a buffer of {buffer_bytes} are not whole pages of {PAGE_BYTES} bytes within its {end} bytes",
                drive.0
            ),
        ))
    }
}
