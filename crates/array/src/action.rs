//! What the array asks its driver to do.

use crate::happening::Happening;
use crate::request::{RequestId, RequestKind};
use alloc::vec::Vec;
use nvme::{Blocked, CollectionRight, Command, CommandId, Delays};
use units::{DriveId, Instant, Lba};

/// A stripe operation: the part of a request that lies in the same rows of one stripe. The number
/// is used again after [`DataAction::Close`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpId(pub u32);

/// The next thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send this command to this drive.
    Submit {
        /// The drive.
        drive: DriveId,
        /// The command.
        command: Command,
        /// The stripe operation it belongs to: its buffers are read into or written from.
        op: OpId,
        /// The member of the stripe whose buffer that is.
        member: u8,
    },
    /// Send this write to this drive, with what the write cache holds of its pages at this moment.
    SubmitCached {
        /// The drive.
        drive: DriveId,
        /// The command.
        command: Command,
    },
    /// Tell this drive when it may collect from now on.
    Permit {
        /// The drive.
        drive: DriveId,
        /// When, on the drive's clock.
        right: CollectionRight,
    },
    /// Ask this drive how much room it has left; the answer goes to
    /// [`crate::Array::handle_status`].
    AskStatus {
        /// The drive.
        drive: DriveId,
    },
    /// Move or combine data. Never given unless data actions are on.
    Data(DataAction),
    /// Compare `target` with `Σ terms`, and answer with [`crate::Array::handle_checked`]. Nothing
    /// is changed. Never given unless data actions are on.
    Check {
        /// The operation.
        op: OpId,
        /// What is compared: a parity as it was read.
        target: Slot,
        /// The terms of the sum that it should be.
        terms: Vec<Term>,
    },
    /// Compare two members of the operation as they were read, and answer with
    /// [`crate::Array::handle_checked`] for `member`. Nothing is changed. Never given unless data
    /// actions are on.
    Compare {
        /// The operation.
        op: OpId,
        /// A copy.
        member: u8,
        /// The copy that is right.
        with: u8,
    },
    /// A request is done.
    Complete(Outcome),
    /// Something has happened.
    Happened(Happening),
    /// All stripes of a drive before this one hold their data. Comes now and then while it is
    /// rebuilt.
    RebuiltBefore {
        /// The drive.
        drive: DriveId,
        /// The first stripe that may not.
        stripe: u64,
    },
}

/// Where a page of a stripe operation is held in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// What was read from (or reconstructed for) the drive, or what will be written to it.
    pub new: bool,
    /// The member of the stripe.
    pub member: u8,
}

/// One term of a combination: `coefficient × slot` in GF(2^8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The factor; 1 is plain XOR.
    pub coefficient: u8,
    /// What is multiplied.
    pub slot: Slot,
}

/// What to do with data, row by row. A stripe operation has a buffer of `rows` pages for each
/// member, twice: old (read) and new (to be written).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataAction {
    /// A stripe operation begins.
    Open {
        /// The operation.
        op: OpId,
        /// The request it belongs to; none if it belongs to a background job.
        request: Option<RequestId>,
        /// Rows of pages in each of its buffers.
        rows: u32,
    },
    /// What the read command has brought becomes the old rows of the member. Data of a read without
    /// this action is dropped.
    Keep {
        /// The operation.
        op: OpId,
        /// The command that read it, which has just completed.
        command: CommandId,
        /// The member.
        member: u8,
    },
    /// `target = Σ terms`.
    Combine {
        /// The operation.
        op: OpId,
        /// What is computed.
        target: Slot,
        /// The terms of the sum.
        terms: Vec<Term>,
    },
    /// New data of a member: the host's data over what was read, where the host wrote part of a
    /// page.
    Merge {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// Page of the array that row 0 is.
        first_page: u64,
    },
    /// The rows that another operation is about to write, as if they had been read.
    Share {
        /// The writing operation.
        from: OpId,
        /// The reading operation.
        to: OpId,
        /// The member.
        member: u8,
        /// Row of the writing operation that is row 0 of the reading one.
        first_row: u32,
    },
    /// What was read or reconstructed goes to the host.
    Deliver {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// Page of the array that row 0 is.
        first_page: u64,
    },
    /// This write waits at the host for its drive. [`Action::Submit`] sends it later, unless the
    /// drive fails. All writes of an operation are submitted or prepared together: records of a
    /// change have all of it, even if one drive gets its part later.
    Prepare {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// The drive.
        drive: DriveId,
        /// The command.
        command: Command,
    },
    /// What the operation writes from now on is on stable storage when its writes are answered.
    Force {
        /// The operation.
        op: OpId,
    },
    /// The new rows of a member go into the write cache in front of its drive and replace what is
    /// there.
    Cache {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// The drive that holds its chunk.
        drive: DriveId,
        /// Where row 0 lies on the drive.
        lba: Lba,
    },
    /// Some rows of a read come from the write cache, as it is now: what the drive brings for them
    /// is older. If it is all of them, the command is not sent to the drive.
    ReadCache {
        /// The command.
        command: CommandId,
        /// The drive for which the pages are cached.
        drive: DriveId,
        /// First logical block of the command.
        lba: Lba,
        /// Its logical blocks.
        blocks: u32,
        /// Those that are cached, counted from the first.
        rows: Vec<u32>,
    },
    /// Pages leave the write cache: its version is on the drive, or is older than the one there.
    Uncache {
        /// The drive.
        drive: DriveId,
        /// Their logical blocks.
        pages: Vec<Lba>,
    },
    /// A stripe operation is over and its buffers are free.
    Close {
        /// The operation.
        op: OpId,
    },
}

/// Whether a request got what it asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All of it.
    Done,
    /// Not all of it: more members of a stripe are missing than can be reconstructed. Of a read
    /// nothing may be used. Of a write each page may hold what it held, or what was written; where
    /// only drives that were missing before stood in the way, it holds what it held.
    Failed,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The request.
    pub request: RequestId,
    /// The host that asked.
    pub host: u8,
    /// What it asked for.
    pub kind: RequestKind,
    /// Whether it got it.
    pub ended: Ended,
    /// When it came.
    pub arrived: Instant,
    /// When it was begun: later than it came if the policy held it back.
    pub admitted: Instant,
    /// When it was done.
    pub completed: Instant,
    /// Where the time of a read went; the parts sum to `completed − arrived`. Zero for
    /// all others.
    pub delays: Delays,
    /// Stripe operations of the request that used reconstructed pages.
    pub reconstructions: u32,
    /// What collections did to a read, the worst of its parts.
    pub blocked: Blocked,
}
