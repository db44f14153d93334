//! Actions that the array asks its driver to carry out.

use crate::happening::Happening;
use crate::request::{RequestId, RequestKind};
use alloc::vec::Vec;
use nvme::{Blocked, CollectionRight, Command, CommandId, Delays};
use units::{DriveId, Instant, Lba};

/// A stripe operation: the part of a request that lies in the same rows of one stripe. The number
/// is reused after [`DataAction::Close`].
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
        /// The stripe operation whose buffers the command reads into or writes from.
        op: OpId,
        /// The stripe member that owns the buffer.
        member: u8,
    },
    /// Send this write to this drive, with the contents of its pages in the write cache at this
    /// moment.
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
        /// The permit, with times on the drive's clock.
        right: CollectionRight,
    },
    /// Ask this drive how much room it has left; the answer goes to
    /// [`crate::Array::handle_status`].
    AskStatus {
        /// The drive.
        drive: DriveId,
    },
    /// Move or combine data. Only given with data actions on.
    Data(DataAction),
    /// Compare `target` with `Σ terms`, without changing it, and answer with
    /// [`crate::Array::handle_checked`]. Only given with data actions on.
    Check {
        /// The operation.
        op: OpId,
        /// The parity as it was read.
        target: Slot,
        /// Terms of the sum that the parity should equal.
        terms: Vec<Term>,
    },
    /// Compare two members of the operation as they were read, without changing them, and answer
    /// with [`crate::Array::handle_checked`] for `member`. Only given with data actions on.
    Compare {
        /// The operation.
        op: OpId,
        /// The copy to compare.
        member: u8,
        /// The copy taken as correct.
        with: u8,
    },
    /// A request is done.
    Complete(Outcome),
    /// Something has happened.
    Happened(Happening),
    /// A rebuild has restored all stripes of the drive before `stripe`. Given now and then during a
    /// rebuild.
    RebuiltBefore {
        /// The drive.
        drive: DriveId,
        /// First stripe that may still have to be rebuilt.
        stripe: u64,
    },
}

/// Memory buffer of one member of a stripe operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// `true` for data to be written, `false` for data that was read or reconstructed.
    pub new: bool,
    /// The member of the stripe.
    pub member: u8,
}

/// One term of a combination: `coefficient × slot` in GF(2^8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The factor; 1 is plain XOR.
    pub coefficient: u8,
    /// The slot that is multiplied.
    pub slot: Slot,
}

/// An operation on data, row by row. A stripe operation has two buffers of `rows` pages for each
/// member: old (read) and new (to be written).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataAction {
    /// A stripe operation begins.
    Open {
        /// The operation.
        op: OpId,
        /// The request it belongs to; `None` for a background job or a read repair.
        request: Option<RequestId>,
        /// Rows of pages in each of its buffers.
        rows: u32,
    },
    /// Store the data of a read as the old rows of the member. Data of a read without this action
    /// is dropped.
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
        /// The slot that gets the sum.
        target: Slot,
        /// The terms of the sum.
        terms: Vec<Term>,
    },
    /// Fill the new rows of a member with the host's data. Where the host wrote part of a page, the
    /// rest comes from the old rows.
    Merge {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// Array page of row 0.
        first_page: u64,
    },
    /// Copy the rows that another operation is about to write, as if they had been read.
    Share {
        /// The writing operation.
        from: OpId,
        /// The reading operation.
        to: OpId,
        /// The member.
        member: u8,
        /// Row of the writing operation that corresponds to row 0 of the reading one.
        first_row: u32,
    },
    /// Deliver the old rows of a member, read or reconstructed, to the host.
    Deliver {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
        /// Array page of row 0.
        first_page: u64,
    },
    /// Announce a write that waits at the host for its drive. [`Action::Submit`] sends it later,
    /// unless the drive fails. All writes of an operation are submitted or prepared together, so
    /// that the records of a change cover all of it, even parts that a drive gets later.
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
    /// Answer later writes of the operation only when they are on stable storage.
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
        /// Logical block of row 0 on the drive.
        lba: Lba,
    },
    /// Take some rows of a read from the write cache as it is now; the drive's data for them is
    /// older. A read with all rows cached is not sent to the drive.
    ReadCache {
        /// The command.
        command: CommandId,
        /// The drive for which the pages are cached.
        drive: DriveId,
        /// First logical block of the command.
        lba: Lba,
        /// Number of logical blocks of the command.
        blocks: u32,
        /// Cached blocks, as offsets from `lba`.
        rows: Vec<u32>,
    },
    /// Remove pages from the write cache: the drive holds the same version or a newer one.
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

/// Result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All of the request was done.
    Done,
    /// Part of the request was not done: more members of a stripe are missing than can be
    /// reconstructed. No data of a failed read may be used. After a failed write each page holds
    /// its old or its new data; its old data if all missing drives were missing before.
    Failed,
}

/// Result of a request, with its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The request.
    pub request: RequestId,
    /// The host that asked.
    pub host: u8,
    /// Read, write or deallocation.
    pub kind: RequestKind,
    /// Success or failure.
    pub ended: Ended,
    /// Arrival time.
    pub arrived: Instant,
    /// Time when it began: later than `arrived` if the policy held it back.
    pub admitted: Instant,
    /// Completion time.
    pub completed: Instant,
    /// Latency of a read by cause; the parts sum to `completed − arrived`. Zero for other requests.
    pub delays: Delays,
    /// Stripe operations of the request that used reconstructed pages.
    pub reconstructions: u32,
    /// Worst effect of collections on any part of a read.
    pub blocked: Blocked,
}
