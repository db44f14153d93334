//! Contents of a PDU, without its data.

use super::common::{COMMON_BYTES, FLAGS, PduKind, Side, pdu_flag};
use super::data::{DataHeader, LENGTH, ReadyToTransfer};
use super::fault::Fault;
use super::init::{InitRequest, InitResponse};
use super::term::Termination;
use crate::wire::completion::{COMPLETION_BYTES, CompletionEntry};
use crate::wire::field::{get, put};
use crate::wire::structure::Value;
use crate::wire::submission::{SUBMISSION_BYTES, SubmissionEntry};

/// CapsuleCmd: a command, and the number of bytes of data that follow it. The SGL of the command
/// also has a length; the receiver of the command checks that they agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandCapsule {
    /// The command.
    pub entry: SubmissionEntry,
    /// Bytes of data in the capsule.
    pub data_bytes: u32,
}

/// Contents of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// ICReq.
    InitRequest(InitRequest),
    /// ICResp.
    InitResponse(InitResponse),
    /// H2CTermReq.
    HostTermination(Termination),
    /// C2HTermReq.
    ControllerTermination(Termination),
    /// CapsuleCmd.
    Command(CommandCapsule),
    /// CapsuleResp.
    Response(CompletionEntry),
    /// H2CData.
    HostData(DataHeader),
    /// C2HData.
    ControllerData(DataHeader),
    /// R2T.
    ReadyToTransfer(ReadyToTransfer),
}

impl Header {
    /// The termination request that one side sends.
    #[must_use]
    pub const fn termination(from: Side, termination: Termination) -> Self {
        match from {
            Side::Host => Self::HostTermination(termination),
            Side::Controller => Self::ControllerTermination(termination),
        }
    }

    /// Kind of the PDU.
    #[must_use]
    pub const fn kind(&self) -> PduKind {
        match self {
            Self::InitRequest(_) => PduKind::InitRequest,
            Self::InitResponse(_) => PduKind::InitResponse,
            Self::HostTermination(_) => PduKind::HostTermination,
            Self::ControllerTermination(_) => PduKind::ControllerTermination,
            Self::Command(_) => PduKind::Command,
            Self::Response(_) => PduKind::Response,
            Self::HostData(_) => PduKind::HostData,
            Self::ControllerData(_) => PduKind::ControllerData,
            Self::ReadyToTransfer(_) => PduKind::ReadyToTransfer,
        }
    }

    /// Bytes of data that follow it.
    #[must_use]
    pub const fn data_bytes(&self) -> u32 {
        match self {
            Self::Command(capsule) => capsule.data_bytes,
            Self::HostData(data) | Self::ControllerData(data) => data.data_bytes,
            _ => 0,
        }
    }

    /// Flags of the data.
    pub(super) const fn flags(&self) -> u8 {
        match self {
            Self::HostData(data) | Self::ControllerData(data) => {
                let last = if data.last { pdu_flag::LAST } else { 0 };
                let success = if data.success { pdu_flag::SUCCESS } else { 0 };
                last | success
            }
            _ => 0,
        }
    }

    /// Bytes of the header on the wire without digest. A termination request is all header.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::HostTermination(termination) | Self::ControllerTermination(termination) => {
                termination.pdu_bytes()
            }
            _ => self.kind().header_bytes().into(),
        }
    }

    /// Reads the complete header of a PDU of this kind, which has `data_bytes` bytes of data.
    pub(super) fn decode(kind: PduKind, pdu: &[u8], data_bytes: u32) -> Result<Self, Fault> {
        let flags = pdu[FLAGS];
        let last = flags & pdu_flag::LAST != 0;
        Ok(match kind {
            PduKind::InitRequest => Self::InitRequest(InitRequest::decode(&get(pdu, 0))?),
            PduKind::InitResponse => Self::InitResponse(InitResponse::decode(&get(pdu, 0))?),
            PduKind::HostTermination => Self::HostTermination(Termination::decode(pdu)),
            PduKind::ControllerTermination => Self::ControllerTermination(Termination::decode(pdu)),
            PduKind::Command => {
                let entry = SubmissionEntry::decode(&get::<SUBMISSION_BYTES>(pdu, COMMON_BYTES));
                Self::Command(CommandCapsule { entry, data_bytes })
            }
            PduKind::Response => {
                let entry = get::<COMPLETION_BYTES>(pdu, COMMON_BYTES);
                Self::Response(CompletionEntry::decode(&entry))
            }
            PduKind::HostData => {
                let data = DataHeader::decode(pdu, last, false);
                Self::HostData(check_length(data, data_bytes)?)
            }
            PduKind::ControllerData => {
                let success = flags & pdu_flag::SUCCESS != 0;
                let data = DataHeader::decode(pdu, last, success);
                Self::ControllerData(check_length(data, data_bytes)?)
            }
            PduKind::ReadyToTransfer => Self::ReadyToTransfer(ReadyToTransfer::read(pdu)),
        })
    }

    /// Writes the fields behind the common header.
    pub(super) fn encode(&self, pdu: &mut [u8; super::PREFIX_BYTES_MAX]) {
        match self {
            Self::InitRequest(request) => {
                let mut bytes = get(pdu, 0);
                request.encode(&mut bytes);
                put(pdu, 0, &bytes);
            }
            Self::InitResponse(response) => {
                let mut bytes = get(pdu, 0);
                response.encode(&mut bytes);
                put(pdu, 0, &bytes);
            }
            Self::HostTermination(termination) | Self::ControllerTermination(termination) => {
                termination.encode(pdu);
            }
            Self::Command(capsule) => put(pdu, COMMON_BYTES, &capsule.entry.encode()),
            Self::Response(completion) => put(pdu, COMMON_BYTES, &completion.encode()),
            Self::HostData(data) | Self::ControllerData(data) => data.encode(pdu),
            Self::ReadyToTransfer(ready) => ready.write(pdu),
        }
    }
}

/// Checks that the data lengths in the PDU and in the header agree.
fn check_length(data: DataHeader, data_bytes: u32) -> Result<DataHeader, Fault> {
    if data.data_bytes == data_bytes { Ok(data) } else { Err(Fault::field(LENGTH)) }
}
