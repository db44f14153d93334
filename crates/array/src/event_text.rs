//! Events of an array as lines of a trace. Operations, commands and requests are named by number.

use crate::action::OpId;
use crate::event::{Event, OperationKind, Origin, Why};
use crate::happening::{JobKind, PageRepair};
use crate::members::MemberSet;
use crate::request::RequestKind;
use core::fmt;
use nvme::Opcode;

/// Members, such as `0, 2`.
struct List(MemberSet);

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, member) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{member}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(request) => write!(f, "request {}", request.0),
            Self::Job(job) => write!(f, "job {job}"),
            Self::ReadRepair => f.write_str("read repair"),
        }
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rebuild(drive) => write!(f, "rebuild of drive {}", drive.0),
            Self::Resync => f.write_str("resync"),
            Self::Scrub => f.write_str("scrub"),
            Self::ScrubRepair => f.write_str("scrub with repair"),
        }
    }
}

const fn request_kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Deallocate => "deallocate",
    }
}

const fn operation_kind(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "read",
        OperationKind::Write => "write",
        OperationKind::Deallocate => "deallocate",
        OperationKind::Repair => "repair",
        OperationKind::Check => "check",
        OperationKind::Rewrite => "rewrite",
    }
}

const fn opcode(opcode: Opcode) -> &'static str {
    match opcode {
        Opcode::Read => "read",
        Opcode::Write => "write",
        Opcode::Deallocate => "deallocate",
    }
}

const fn why(why: Why) -> &'static str {
    match why {
        Why::Wanted => "wanted",
        Why::Parity => "for parity",
        Why::Reconstruct => "to reconstruct",
        Why::Hedge => "hedge",
        Why::Commit => "commit",
        Why::Job => "job",
        Why::Relocate => "relocated",
        Why::Drain => "drain of the write cache",
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::RequestArrived { request, kind, offset_bytes, size_bytes } => write!(
                f,
                "request {} arrived: {} of {size_bytes} bytes at {offset_bytes}",
                request.0,
                request_kind(kind)
            ),
            Self::RequestHeldBack { request } => write!(f, "request {} held back", request.0),
            Self::RequestCompleted { request, ended } => {
                write!(f, "request {} completed: {ended:?}", request.0)
            }
            Self::OperationOpened { op, origin, kind, stripe, first_row, rows } => write!(
                f,
                "operation {} opened for {origin}: {} of rows {first_row} to {} of stripe {stripe}",
                op.0,
                operation_kind(kind),
                first_row + rows - 1
            ),
            Self::Dispatched {
                command,
                target,
                drive,
                opcode: code,
                lba,
                blocks,
                pl,
                why: cause,
            } => {
                let what = opcode(code);
                write!(f, "command {} to drive {}: {what} of {blocks} blocks", command.0, drive.0)?;
                write!(f, " at {}, {}, PL flag {pl:?}", lba.0, why(cause))?;
                match target {
                    Some((op, member)) => write!(f, ", operation {} member {member}", op.0),
                    None => Ok(()),
                }
            }
            Self::Cached { command } => write!(f, "command {} taken by the write cache", command.0),
            Self::Answered { command, drive, status } => {
                write!(f, "command {} answered by drive {}: {status:?}", command.0, drive.0)
            }
            Self::FailedFast { command, op, member, busy_remaining } => write!(
                f,
                "command {} failed fast, operation {} member {member}: busy for {busy_remaining}",
                command.0, op.0
            ),
            Self::LockWaited { op, behind: Some(behind) } => {
                write!(f, "operation {} waits behind operation {}", op.0, behind.0)
            }
            Self::LockWaited { op, behind: None } => {
                write!(f, "operation {} waits for readers", op.0)
            }
            Self::HedgeFired { op, late, reads } => {
                write!(f, "operation {} hedges members {}: {reads} more reads", op.0, List(late))
            }
            Self::SharedWithWrite { op, write, members } => write!(
                f,
                "operation {} takes members {} from operation {}",
                op.0,
                List(members),
                write.0
            ),
            Self::Permitted { drive, right } => {
                write!(f, "drive {} may collect: {right:?}", drive.0)
            }
            Self::PageRepaired(PageRepair { drive, lba, repaired }) => {
                let what = if repaired { "repaired" } else { "could not be repaired" };
                write!(f, "block {} of drive {} {what}", lba.0, drive.0)
            }
            Self::ParityMismatch { stripe, members } => {
                write!(f, "parity {} of stripe {stripe} does not fit", List(members))
            }
            Self::DriveFailed { drive } => write!(f, "drive {} failed", drive.0),
            Self::DriveDistrusted { drive } => write!(f, "drive {} distrusted", drive.0),
            Self::DriveTrusted { drive } => write!(f, "drive {} trusted", drive.0),
            Self::JobStarted { job } => write!(f, "{job} started"),
            Self::JobEnded { job, lost } => write!(f, "{job} ended: {lost} stripes skipped"),
            Self::WaitsAtHost { command, op, drive, opcode: code, ahead_blocks } => write!(
                f,
                "command {} waits at the host for drive {}, {} of operation {}: {ahead_blocks} blocks ahead",
                command.0,
                drive.0,
                opcode(code),
                op.0
            ),
            Self::LeftHost { command } => write!(f, "command {} has waited at the host", command.0),
            Self::Avoided { op, members, .. }
            | Self::ReconstructBegun { op, members, .. }
            | Self::Reconstructed { op, members, .. }
            | Self::CommitBegun { op, members }
            | Self::HedgeDenied { op, late: members } => {
                write!(f, "operation {} {} members {}", op.0, self.verb(), List(members))
            }
            Self::Resent { op, member } => {
                write!(f, "operation {} reads member {member} again", op.0)
            }
            Self::OperationClosed { op } | Self::LockObtained { op } | Self::CommitEnded { op } => {
                write!(f, "operation {} {}", op.0, self.verb())
            }
        }
    }
}

impl Event {
    /// Verb of an event that names only an operation, or an operation and members.
    const fn verb(&self) -> &'static str {
        match self {
            Self::Avoided { .. } => "avoids",
            Self::ReconstructBegun { .. } => "reads to reconstruct",
            Self::Reconstructed { .. } => "reconstructed",
            Self::CommitBegun { .. } => "writes",
            Self::CommitEnded { .. } => "has written",
            Self::HedgeDenied { .. } => "may not hedge",
            Self::LockObtained { .. } => "goes on",
            _ => "closed",
        }
    }

    /// The operation that the event concerns; `None` if it concerns none.
    #[must_use]
    pub const fn operation(&self) -> Option<OpId> {
        match *self {
            Self::OperationOpened { op, .. }
            | Self::OperationClosed { op }
            | Self::FailedFast { op, .. }
            | Self::Avoided { op, .. }
            | Self::WaitsAtHost { op, .. }
            | Self::Resent { op, .. }
            | Self::ReconstructBegun { op, .. }
            | Self::Reconstructed { op, .. }
            | Self::HedgeFired { op, .. }
            | Self::HedgeDenied { op, .. }
            | Self::LockWaited { op, .. }
            | Self::LockObtained { op }
            | Self::SharedWithWrite { op, .. }
            | Self::CommitBegun { op, .. }
            | Self::CommitEnded { op }
            | Self::Dispatched { target: Some((op, _)), .. } => Some(op),
            _ => None,
        }
    }
}
