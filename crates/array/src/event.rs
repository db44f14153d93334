//! The events of an array: one closed list, emitted by the router only.
//!
//! Events explain, actions order: nothing may depend on an event. An array without an observer
//! ([`units::Unobserved`]) makes none of them.

use crate::action::{Ended, OpId};
use crate::happening::{JobKind, PageRepair};
use crate::members::MemberSet;
use crate::request::{RequestId, RequestKind};
use nvme::{CollectionRight, CommandId, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Lba};

/// Whom a stripe operation works for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A request of a host.
    Request(RequestId),
    /// A job of the array, by its number since the start.
    Job(u32),
    /// Pages that a drive could not read.
    ReadRepair,
}

/// What a stripe operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// Part of a read.
    Read,
    /// Part of a write.
    Write,
    /// Part of a deallocation.
    Deallocate,
    /// A stripe of a rebuild or a resync: writes members that were lost, or parity that may be
    /// wrong.
    Repair,
    /// A stripe of a scrub: compares parity with data.
    Check,
    /// A row of a stripe: writes members again that could not be read.
    Rewrite,
}

/// Why a command was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A read of pages that the host wants.
    Wanted,
    /// A read of old data or parity that a write computes new parity from.
    Parity,
    /// A read from which other members are reconstructed.
    Reconstruct,
    /// A read beyond what is wanted, to see whether it is faster.
    Hedge,
    /// Data or parity of a write or of a deallocation.
    Commit,
    /// A command of a background job, or of a repair after a media error.
    Job,
    /// A block that a chunk has left.
    Relocate,
    /// Pages that leave the write cache.
    Drain,
}

/// One step of an array. Members are those of the operation's stripe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A request came.
    RequestArrived {
        /// The request.
        request: RequestId,
        /// What it asks for.
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
        /// Whether it got what it asked for.
        ended: Ended,
    },
    /// A stripe operation began.
    OperationOpened {
        /// The operation.
        op: OpId,
        /// Whom it works for.
        origin: Origin,
        /// What it does.
        kind: OperationKind,
        /// The stripe.
        stripe: u64,
        /// First row of the chunk.
        first_row: u32,
        /// Number of rows.
        rows: u32,
    },
    /// A stripe operation is over, and no command of it is out.
    OperationClosed {
        /// The operation.
        op: OpId,
    },
    /// A command was given to a drive, or to the write cache in front of it.
    Dispatched {
        /// The command.
        command: CommandId,
        /// The operation and its member; none of a drain.
        target: Option<(OpId, u8)>,
        /// The drive.
        drive: DriveId,
        /// What it does.
        opcode: Opcode,
        /// First logical block.
        lba: Lba,
        /// Number of logical blocks.
        blocks: u32,
        /// Whether it may be failed fast.
        pl: PlFlag,
        /// Why it was sent.
        why: Why,
    },
    /// The write cache took a command: no drive is needed for it now.
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
        /// How it ended.
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
        /// How long the read would have waited.
        busy_remaining: Duration,
    },
    /// A command waits at the host, because its drive has enough to do.
    WaitsAtHost {
        /// The command.
        command: CommandId,
        /// The operation.
        op: OpId,
        /// The drive.
        drive: DriveId,
        /// What it does.
        opcode: Opcode,
        /// Blocks that wait for the drive before it.
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
        /// Members whose drives have answered late. The policy predicts it of the others.
        late: MemberSet,
    },
    /// More members failed than can be reconstructed: one is read again and waited for.
    Resent {
        /// The operation.
        op: OpId,
        /// The member.
        member: u8,
    },
    /// Members are to be reconstructed.
    ReconstructBegun {
        /// The operation.
        op: OpId,
        /// The members that are missing.
        members: MemberSet,
        /// The members that are read for it now; others are known or on their way.
        from: MemberSet,
    },
    /// All that reconstruction needs is known: it is computed.
    Reconstructed {
        /// The operation.
        op: OpId,
        /// The members that are computed.
        members: MemberSet,
        /// The members that were known.
        from: MemberSet,
    },
    /// An answer is late: its member is reconstructed as well.
    HedgeFired {
        /// The operation.
        op: OpId,
        /// The members that are late.
        late: MemberSet,
        /// Reads more than without.
        reads: u32,
    },
    /// An answer is late, and the policy does not let the operation read more, or it cannot.
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
        /// One that it waits for.
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
        /// When, on the drive's clock.
        right: CollectionRight,
    },
    /// A page that a drive could not read was repaired, or could not be.
    PageRepaired(PageRepair),
    /// A scrub found parities of a stripe that do not fit its data.
    ParityMismatch {
        /// The stripe.
        stripe: u64,
        /// The parities.
        members: MemberSet,
    },
    /// A drive was given up.
    DriveFailed {
        /// The drive.
        drive: DriveId,
    },
    /// A drive answers too late, by its promise or beside its peers, and is not read any more.
    DriveDistrusted {
        /// The drive.
        drive: DriveId,
    },
    /// It answers in time again, or the array cannot do without it, and it is read.
    DriveTrusted {
        /// The drive.
        drive: DriveId,
    },
    /// A background job was added to those to do.
    JobStarted {
        /// What it does.
        job: JobKind,
    },
    /// A background job has tried all its stripes.
    JobEnded {
        /// What it did.
        job: JobKind,
        /// Stripes that it could not do.
        lost: u64,
    },
}
