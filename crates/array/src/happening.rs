//! Happenings: facts about an array that pass unchanged from their source to logs, counters and
//! pages.

use crate::members::MemberSet;
use core::fmt;
use units::{DriveId, Lba};

/// A fact to be logged, counted or shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// The array treats a drive as failed: it sends nothing to it from now on, and later actions
    /// rely on the other drives alone. A driver that records missing drives must do so before it
    /// carries out later actions.
    DriveFailed {
        /// The drive.
        drive: DriveId,
        /// Why.
        reason: FailReason,
    },
    /// A background job has ended: it has tried all of its stripes.
    JobEnded {
        /// The job.
        job: JobKind,
        /// Stripes that could not be rebuilt, resynced or compared, because too many of their
        /// members are unreadable. They stay as they are: a read or write that needs an unreadable
        /// member fails.
        skipped: u64,
    },
    /// A page that a drive could not read was repaired, or could not be.
    PageRepaired(PageRepair),
    /// A scrub found parities of a stripe that do not match its data.
    ParityMismatch {
        /// The stripe.
        stripe: u64,
        /// The parities, named by their drives in the layout.
        members: MemberSet,
    },
    /// Data read from a drive do not match their checksum. The array repairs them.
    ChecksumMismatch {
        /// The drive.
        drive: DriveId,
        /// First byte of the block within the drive's data.
        offset_bytes: u64,
    },
}

/// Reason why a drive counts as failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailReason {
    /// The array or an administrator has given it up.
    GivenUp,
    /// It cannot write data.
    Change,
    /// It cannot sync written data to stable storage.
    Sync,
    /// It cannot write its superblock.
    Superblock,
    /// It cannot write a block of the write-intent record.
    Intent,
    /// It cannot write into the journal.
    Journal,
    /// It cannot write checksums.
    Checksums,
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GivenUp => "the array does without it",
            Self::Change => "it cannot write data",
            Self::Sync => "it cannot bring data to stable storage",
            Self::Superblock => "it cannot write its superblock",
            Self::Intent => "it cannot write the write-intent record",
            Self::Journal => "it cannot write the journal",
            Self::Checksums => "it cannot write checksums",
        })
    }
}

/// Kind of a background job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// Rewrites all members on a drive that was replaced.
    Rebuild(DriveId),
    /// Recomputes parity that may not match its data.
    Resync,
    /// Compares parity with its data.
    Scrub,
    /// Compares parity with its data, and rewrites parity that does not match.
    ScrubRepair,
}

/// Result of the repair of a page that a drive could not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRepair {
    /// The drive.
    pub drive: DriveId,
    /// Its logical block.
    pub lba: Lba,
    /// Whether it was written again; `false` if too many other members of its row are unreadable.
    pub repaired: bool,
}
