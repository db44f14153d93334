//! Stripe operations of the request that is explained, and its decisions in their order.

use super::state::Who;
use array::MemberSet;
use nvme::{Opcode, Status};
use units::{DriveId, Duration, Instant};

/// A stripe operation of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnOp {
    pub(super) stripe: u64,
    pub(super) first_row: u32,
    pub(super) rows: u32,
    /// Time since which it waits for the stripe; `None` if it does not.
    pub(super) waits_since: Option<Instant>,
}

/// A stretch of the life of an operation, up to the event that ended it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) op: usize,
    pub(super) from: Instant,
    pub(super) until: Instant,
    pub(super) what: LinkKind,
}

/// Kind of a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LinkKind {
    /// A command, as an index.
    Command(usize),
    Lock,
    Compute,
    Late,
    /// A command has waited at the host for its drive.
    AtHost(DriveId),
}

/// A step of the request. Operations and commands are indices.
#[derive(Clone, Debug)]
pub(super) enum StoryStep {
    HeldBack,
    Opened { op: usize },
    Sent { command: usize },
    Cached { command: usize },
    FailedFast { command: usize },
    Answered { command: usize, status: Status },
    Avoided { members: MemberSet, late: MemberSet },
    WaitsAtHost { drive: DriveId, opcode: Opcode, ahead_blocks: u32 },
    Resent { op: usize, member: u8 },
    ReconstructBegun { members: MemberSet, from: MemberSet },
    Reconstructed { members: MemberSet, from: MemberSet },
    HedgeFired { late: MemberSet },
    HedgeDenied { late: MemberSet },
    LockWaited { op: usize, behind: Option<Who> },
    LockObtained { waited: Duration },
    SharedWithWrite { members: MemberSet, write: Who },
    CommitBegun { op: usize, members: MemberSet },
    DriveFailed { drive: DriveId },
    DriveJudged { drive: DriveId, distrusted: bool },
    Done,
}
