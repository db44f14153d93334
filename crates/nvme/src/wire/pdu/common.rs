//! The eight bytes that every PDU begins with, and what kinds there are (Linux `struct
//! nvme_tcp_hdr`).

use crate::wire::structure::structure;

/// Bytes of the common header.
pub const COMMON_BYTES: usize = 8;

pub(super) const TYPE: usize = 0;
pub(super) const FLAGS: usize = 1;
pub(super) const HLEN: usize = 2;
pub(super) const PDO: usize = 3;
pub(super) const PLEN: usize = 4;

/// Bits of the flags.
pub mod pdu_flag {
    /// HDGSTF: a digest follows the header.
    pub const HEADER_DIGEST: u8 = 1 << 0;
    /// DDGSTF: a digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// LAST_PDU, of data: the last that was asked for.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS, of C2HData: the command is done, and no completion follows.
    pub const SUCCESS: u8 = 1 << 3;
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Who sends commands.
    Host,
    /// Who answers them.
    Controller,
}

/// What a PDU is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PduKind {
    /// ICReq: the host's terms.
    InitRequest = 0x00,
    /// ICResp: the controller's.
    InitResponse = 0x01,
    /// H2CTermReq: the host gives up.
    HostTermination = 0x02,
    /// C2HTermReq: the controller gives up.
    ControllerTermination = 0x03,
    /// CapsuleCmd: a command.
    Command = 0x04,
    /// CapsuleResp: its completion.
    Response = 0x05,
    /// H2CData: data of a write.
    HostData = 0x06,
    /// C2HData: data of a read.
    ControllerData = 0x07,
    /// R2T: the controller has room for data of a write.
    ReadyToTransfer = 0x09,
}

impl PduKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::InitRequest,
        Self::InitResponse,
        Self::HostTermination,
        Self::ControllerTermination,
        Self::Command,
        Self::Response,
        Self::HostData,
        Self::ControllerData,
        Self::ReadyToTransfer,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == bits)
    }

    /// Who sends it.
    #[must_use]
    pub const fn sender(self) -> Side {
        match self {
            Self::InitRequest | Self::HostTermination | Self::Command | Self::HostData => {
                Side::Host
            }
            Self::InitResponse
            | Self::ControllerTermination
            | Self::Response
            | Self::ControllerData
            | Self::ReadyToTransfer => Side::Controller,
        }
    }

    /// HLEN: bytes of its header without digest.
    #[must_use]
    pub const fn header_bytes(self) -> u8 {
        match self {
            Self::InitRequest | Self::InitResponse => 128,
            Self::Command => 72,
            Self::HostTermination
            | Self::ControllerTermination
            | Self::Response
            | Self::HostData
            | Self::ControllerData
            | Self::ReadyToTransfer => 24,
        }
    }

    /// Whether it begins a connection.
    #[must_use]
    pub const fn is_init(self) -> bool {
        matches!(self, Self::InitRequest | Self::InitResponse)
    }

    /// Whether it ends a connection.
    #[must_use]
    pub const fn is_termination(self) -> bool {
        matches!(self, Self::HostTermination | Self::ControllerTermination)
    }

    /// Whether it carries data: always, never, or perhaps (a command).
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::HostData | Self::ControllerData)
    }
}

/// The eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonHeader {
    /// PDU-type; what may be no [`PduKind`].
    pub kind: u8,
    /// FLAGS: [`pdu_flag`].
    pub flags: u8,
    /// HLEN: bytes of the header without its digest.
    pub header_bytes: u8,
    /// PDO: where data begin; reserved without data.
    pub data_offset: u8,
    /// PLEN: bytes of the whole PDU.
    pub pdu_bytes: u32,
}

structure! { CommonHeader, COMMON_BYTES;
    kind: "type" @ TYPE,
    flags: "FLAGS" @ FLAGS,
    header_bytes: "HLEN" @ HLEN,
    data_offset: "PDO" @ PDO,
    pdu_bytes: "PLEN" @ PLEN,
}
