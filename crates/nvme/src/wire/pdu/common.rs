//! The first eight bytes of every PDU, and the kinds of PDUs (Linux `struct nvme_tcp_hdr`).

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
    /// LAST_PDU: the last data of a request.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS, in C2HData: the command has succeeded, and no completion follows.
    pub const SUCCESS: u8 = 1 << 3;
}

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The side that sends commands.
    Host,
    /// The side that answers commands.
    Controller,
}

/// Kind of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PduKind {
    /// ICReq: the host's terms.
    InitRequest = 0x00,
    /// ICResp: the controller's terms.
    InitResponse = 0x01,
    /// H2CTermReq: the host ends the connection.
    HostTermination = 0x02,
    /// C2HTermReq: the controller ends the connection.
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

    /// Side that sends PDUs of this kind.
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

    /// Whether PDUs of this kind always carry data. A command may carry data, and is not counted.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::HostData | Self::ControllerData)
    }
}

/// The first eight bytes of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonHeader {
    /// PDU-type, which may be unknown to [`PduKind`].
    pub kind: u8,
    /// FLAGS: [`pdu_flag`].
    pub flags: u8,
    /// HLEN: bytes of the header without its digest.
    pub header_bytes: u8,
    /// PDO: offset of the data; reserved without data.
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
