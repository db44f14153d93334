//! Commands of I/O queues, and the answers to them.

use super::controller::Namespace;
use super::transport::{Answer, CommandData};
use crate::PlFlag;
use crate::wire::ioda::{FastFail, IodaCapability};
use crate::wire::{
    BlockRange, IoCommand, RANGE_BYTES, StatusCode, StatusField, SubmissionEntry, Transfer,
    WriteZeroes,
};
use units::Duration;

/// Operation for a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoOperation {
    /// Read into the buffer of the command.
    Read(BlockRange),
    /// Write from the buffer of the command.
    Write(BlockRange),
    /// Make blocks read as zeroes.
    WriteZeroes {
        /// The blocks.
        range: BlockRange,
        /// The blocks may be deallocated, if they then read as zeroes.
        deallocate: bool,
    },
    /// Deallocate the ranges in the buffer: [`Namespace::dataset`].
    Deallocate {
        /// Number of ranges.
        ranges: u16,
    },
    /// Put all written data on stable storage.
    Flush,
    /// Nothing but to answer: hints.
    Nothing,
}

/// A command of an I/O queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoRequest {
    /// The operation.
    pub operation: IoOperation,
    /// FUA: complete the command when its data is on stable storage.
    pub force_unit_access: bool,
    /// Whether it may fail fast. [`PlFlag::Off`] unless the host has sent the magic word.
    pub pl: PlFlag,
    /// Bytes of its buffer.
    pub bytes: u32,
}

/// Outcome of an operation on a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoOutcome {
    /// Done.
    Done,
    /// The drive failed the command fast, because it would have waited for a collection.
    FailedFast {
        /// Busy remaining time; zero if the drive does not know it.
        busy_remaining: Duration,
    },
    /// Failed with this status.
    Failed(StatusField),
}

impl IoRequest {
    /// Decodes an entry of an I/O queue.
    ///
    /// # Errors
    ///
    /// If the command is refused, with the status of the answer.
    pub(super) fn decode(
        namespace: &Namespace,
        ioda: Option<IodaCapability>,
        entry: &SubmissionEntry,
        data: CommandData,
    ) -> Result<Self, StatusField> {
        let invalid_field = StatusCode::InvalidField.for_good();
        let command = IoCommand::decode(entry);
        if let IoCommand::Unsupported { .. } | IoCommand::Compare(_) | IoCommand::Reservation(_) =
            command
        {
            return Err(StatusCode::InvalidOpcode.for_good());
        }
        // A fused command is half of a pair, which is not supported.
        if entry.is_fused() {
            return Err(invalid_field);
        }
        let is_flush = command == IoCommand::Flush;
        if !namespace.is_named(entry.common.nsid, is_flush) {
            return Err(StatusCode::InvalidNamespace.for_good());
        }
        let plain = |operation, bytes| {
            let (force_unit_access, pl) = (false, PlFlag::Off);
            Self { operation, force_unit_access, pl, bytes }
        };
        let request = match command {
            IoCommand::Read(transfer) => {
                let bytes = namespace.check_range(&transfer.range)?;
                let room = u64::from(data.to_host_bytes());
                check_length(room, bytes)?;
                let pl = flag(transfer.pl, ioda);
                Self::transfer(
                    IoOperation::Read(transfer.range),
                    &transfer,
                    pl,
                    data.to_host_bytes(),
                )
            }
            IoCommand::Write(transfer) => {
                let bytes = namespace.check_range(&transfer.range)?;
                check_length(u64::from(data.to_controller_bytes()), bytes)?;
                let operation = IoOperation::Write(transfer.range);
                Self::transfer(operation, &transfer, PlFlag::Off, data.to_controller_bytes())
            }
            IoCommand::WriteZeroes(zeroes) => {
                namespace.check_range(&zeroes.range)?;
                let WriteZeroes { range, deallocate, .. } = zeroes;
                let request = plain(IoOperation::WriteZeroes { range, deallocate }, 0);
                Self { force_unit_access: zeroes.force_unit_access, ..request }
            }
            IoCommand::DatasetManagement(management) => {
                let bytes = data.to_controller_bytes();
                let needed = u32::from(management.ranges) * RANGE_BYTES as u32;
                if bytes < needed {
                    return Err(StatusCode::SglLengthInvalid.for_good());
                }
                let ranges = management.ranges;
                match management.deallocate {
                    true => plain(IoOperation::Deallocate { ranges }, bytes),
                    false => plain(IoOperation::Nothing, bytes),
                }
            }
            IoCommand::Flush => plain(IoOperation::Flush, 0),
            IoCommand::Compare(_) | IoCommand::Reservation(_) | IoCommand::Unsupported { .. } => {
                return Err(invalid_field);
            }
        };
        Ok(request)
    }

    const fn transfer(operation: IoOperation, transfer: &Transfer, pl: PlFlag, bytes: u32) -> Self {
        Self { operation, force_unit_access: transfer.force_unit_access, pl, bytes }
    }

    /// Answer to the host.
    ///
    /// A host that did not request it never sees a fast failure, which it would count as an error
    /// of the drive. If a drive fails such a read fast anyway, the host is told to try again.
    #[must_use]
    pub fn answer(&self, outcome: IoOutcome) -> Answer {
        match outcome {
            IoOutcome::Done => match self.operation {
                IoOperation::Read(_) => Answer::with_data(self.bytes),
                _ => Answer::new(StatusField::SUCCESS),
            },
            IoOutcome::FailedFast { busy_remaining } if self.pl != PlFlag::Off => {
                // The connection fills in the identifier.
                let entry = FastFail::new(busy_remaining).encode(0);
                Answer { result: entry.result, ..Answer::new(entry.status) }
            }
            IoOutcome::FailedFast { .. } => Answer::new(StatusCode::Interrupted.for_now()),
            IoOutcome::Failed(status) => Answer::new(status),
        }
    }
}

/// Checks that the data are as long as the blocks.
fn check_length(data_bytes: u64, block_bytes: u64) -> Result<(), StatusField> {
    if data_bytes == block_bytes { Ok(()) } else { Err(StatusCode::SglLengthInvalid.for_good()) }
}

/// Flag for the drive (`docs/ioda-on-the-wire.md`).
fn flag(flag: PlFlag, ioda: Option<IodaCapability>) -> PlFlag {
    match (flag, ioda) {
        (PlFlag::Predictable, Some(_)) => PlFlag::Predictable,
        (PlFlag::Patient, Some(IodaCapability { patient: true, .. })) => PlFlag::Patient,
        _ => PlFlag::Off,
    }
}
