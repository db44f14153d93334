//! The events of an array: one closed list, emitted by the router only.
//!
//! Events only explain; no behaviour may depend on them. An array without an observer
//! ([`units::Unobserved`]) emits none.

use crate::action::{Ended, OpId};
use crate::happening::{JobKind, PageRepair};
use crate::members::MemberSet;
use crate::request::{RequestId, RequestKind};
use nvme::{CollectionRight, CommandId, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Lba};

/// Origin of a stripe operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A request of a host.
    Request(RequestId),
    /// A background job, by its number since the start.
    Job(u32),
    /// The repair of pages that a drive could not read.
    ReadRepair,
}

/// Kind of a stripe operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// Part of a read.
    Read,
    /// Part of a write.
    Write,
    /// Part of a deallocation.
    Deallocate,
    /// A stripe of a rebuild or a resync: writes lost members, or parity that may not match.
    Repair,
    /// A stripe of a scrub: compares parity with data.
    Check,
    /// A row of a stripe: rewrites members that could not be read.
    Rewrite,
}

/// Reason for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A read of pages that the host wants.
    Wanted,
    /// A read of old data or parity that a write computes new parity from.
    Parity,
    /// A read from which other members are reconstructed.
    Reconstruct,
    /// A read beyond what is wanted, which may be faster.
    Hedge,
    /// Data or parity of a write or of a deallocation.
    Commit,
    /// A command of a background job, or of a repair after a media error.
    Job,
    /// Deallocation of a block that a relocated chunk has left.
    Relocate,
    /// A drain of pages from the write cache.
    Drain,
}

/// One step of an array. Members are those of the operation's stripe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request arrived.
    RequestArrived {
        /// The request.
        request: RequestId,
        /// Read, write or deallocation.
        kind: RequestKind,
        /// Its first byte.
        offset_bytes: u64,
        /// Its length.
        size_bytes: u64,
    },
    /// The policy holds a request back.
    RequestHeldBack {
        /// The request.
        request: RequestId,
    },
    /// A request is done.
    RequestCompleted {
        /// The request.
        request: RequestId,
        /// Success or failure.
        ended: Ended,
    },
    /// A stripe operation began.
    OperationOpened {
        /// The operation.
        op: OpId,
        /// Its origin.
        origin: Origin,
        /// Its kind.
        kind: OperationKind,
        /// The stripe.
        stripe: u64,
        /// First row of the chunk.
        first_row: u32,
        /// Number of rows.
        rows: u32,
    },
    /// A stripe operation is over, and all its commands are completed.
    OperationClosed {
        /// The operation.
        op: OpId,
    },
    /// A command was given to a drive, or to the write cache in front of it.
    Dispatched {
        /// The command.
        command: CommandId,
        /// The operation and its member; `None` for a drain.
        target: Option<(OpId, u8)>,
        /// The drive.
        drive: DriveId,
        /// Read, write or deallocation.
        opcode: Opcode,
        /// First logical block.
        lba: Lba,
        /// Number of logical blocks.
        blocks: u32,
        /// The PL flag: whether the drive may fail it fast.
        pl: PlFlag,
        /// Why it was sent.
        why: Why,
    },
    /// The write cache took a command, which needs no drive now.
    Cached {
        /// The command.
        command: CommandId,
    },
    /// A drive, or the write cache, answered a command.
    Answered {
        /// The command.
        command: CommandId,
        /// The drive.
        drive: DriveId,
        /// Completion status.
        status: Status,
    },
    /// A drive failed a read fast.
    FailedFast {
        /// The command.
        command: CommandId,
        /// The operation.
        op: OpId,
        /// Its member.
        member: u8,
        /// Time that the read would have waited.
        busy_remaining: Duration,
    },
    /// A command waits at the host, because its drive has its limit of blocks in flight.
    WaitsAtHost {
        /// The command.
        command: CommandId,
        /// The operation.
        op: OpId,
        /// The drive.
        drive: DriveId,
        /// Read, write or deallocation.
        opcode: Opcode,
        /// Blocks that wait for the same drive ahead of it.
        ahead_blocks: u32,
    },
    /// A command that has waited at the host goes to its drive.
    LeftHost {
        /// The command.
        command: CommandId,
    },
    /// Members were not read, because their drives are expected to be slow.
    Avoided {
        /// The operation.
        op: OpId,
        /// The members.
        members: MemberSet,
        /// Members avoided because their drives answered late; the policy predicts the others to be
        /// slow.
        late: MemberSet,
    },
    /// More members failed fast than can be reconstructed; one is read again and waited for.
    Resent {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
    },
    /// Reconstruction of members begins.
    ReconstructBegun {
        /// The operation.
        op: OpId,
        /// The members that are missing.
        members: MemberSet,
        /// The members that are read for it now; others are known or in flight.
        from: MemberSet,
    },
    /// All members that a reconstruction needs are known; its result is computed.
    Reconstructed {
        /// The operation.
        op: OpId,
        /// The members that are computed.
        members: MemberSet,
        /// The members that were known.
        from: MemberSet,
    },
    /// An answer is late: other members are read to reconstruct the late one.
    HedgeFired {
        /// The operation.
        op: OpId,
        /// The members that are late.
        late: MemberSet,
        /// Number of additional reads.
        reads: u32,
    },
    /// An answer is late, but the policy denies a hedge, or the stripe allows none.
    HedgeDenied {
        /// The operation.
        op: OpId,
        /// The members that are late.
        late: MemberSet,
    },
    /// An operation waits for another on the same rows.
    LockWaited {
        /// The operation that waits.
        op: OpId,
        /// An operation that it waits for; `None` if it waits for readers.
        behind: Option<OpId>,
    },
    /// An operation that waited goes on.
    LockObtained {
        /// The operation.
        op: OpId,
    },
    /// A read takes pages that a write in flight has in memory.
    SharedWithWrite {
        /// The read.
        op: OpId,
        /// The write.
        write: OpId,
        /// The members.
        members: MemberSet,
    },
    /// An operation begins to write its members.
    CommitBegun {
        /// The operation.
        op: OpId,
        /// The members that are written.
        members: MemberSet,
    },
    /// The members are written.
    CommitEnded {
        /// The operation.
        op: OpId,
    },
    /// A drive is told when it may collect: a window, a lease, or an order.
    Permitted {
        /// The drive.
        drive: DriveId,
        /// The permit, with times on the drive's clock.
        right: CollectionRight,
    },
    /// A page that a drive could not read was repaired, or could not be.
    PageRepaired(PageRepair),
    /// A scrub found parities of a stripe that do not match its data.
    ParityMismatch {
        /// The stripe.
        stripe: u64,
        /// The parities.
        members: MemberSet,
    },
    /// A drive was declared failed.
    DriveFailed {
        /// The drive.
        drive: DriveId,
    },
    /// A drive answers later than it guarantees or than its peers, and is not read any more.
    DriveDistrusted {
        /// The drive.
        drive: DriveId,
    },
    /// A distrusted drive is read again: it answers in time, or the array cannot do without it.
    DriveTrusted {
        /// The drive.
        drive: DriveId,
    },
    /// A background job was queued.
    JobStarted {
        /// Kind of the job.
        job: JobKind,
    },
    /// A background job has tried all its stripes.
    JobEnded {
        /// Kind of the job.
        job: JobKind,
        /// Stripes that it skipped.
        lost: u64,
    },
}
