//! What happens to an array, passed on unchanged from where it happens to whoever logs, counts or
//! shows it.

use crate::members::MemberSet;
use core::fmt;
use units::{DriveId, Lba};

/// Something that has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// The array treats a drive as failed: nothing is sent to it from now on, and all that comes
    /// later relies on the other drives alone. A driver that writes down which drives are missing
    /// does so before it goes on with what comes behind.
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
    /// A scrub found parities of a stripe that do not fit its data.
    ParityMismatch {
        /// The stripe.
        stripe: u64,
        /// The parities, by the drives that the layout gives them.
        members: MemberSet,
    },
    /// Data that were read of a drive do not fit their checksum. The array repairs them.
    ChecksumMismatch {
        /// The drive.
        drive: DriveId,
        /// The first byte of the block among the data of the drive.
        offset_bytes: u64,
    },
}

/// Why a drive counts as failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailReason {
    /// The array or an administrator has given it up.
    GivenUp,
    /// It cannot write data.
    Change,
    /// It cannot bring to stable storage what it was given.
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

/// What is done to all stripes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// All members on a drive that was replaced are written again.
    Rebuild(DriveId),
    /// Parity that may not fit is computed anew.
    Resync,
    /// Parity is compared with its data.
    Scrub,
    /// Parity is compared with its data, and written again where it does not fit.
    ScrubRepair,
}

/// What has become of a page that a drive could not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRepair {
    /// The drive.
    pub drive: DriveId,
    /// Its logical block.
    pub lba: Lba,
    /// Whether it was written again; if not, too much else of its row cannot be read either.
    pub repaired: bool,
}
