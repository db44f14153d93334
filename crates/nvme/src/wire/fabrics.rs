//! Fabrics commands: opcode 7Fh, with their type in the place of the namespace.

use super::connect::Connect;
use super::field::Bits;
use super::property::{PropertyGet, PropertySet};
use super::sgl::SglDescriptor;
use super::submission::{CommonFields, SubmissionEntry};

/// Opcode of all fabrics commands, on admin and I/O queues.
pub const FABRICS: u8 = 0x7f;

const FCTYPE: Bits = Bits::new(7, 0);

const PROPERTY_SET: u8 = 0x00;
const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;
const AUTHENTICATION_SEND: u8 = 0x05;
const AUTHENTICATION_RECEIVE: u8 = 0x06;
const DISCONNECT: u8 = 0x08;

// Bits of CDW10 of Authentication Send and Receive: byte 40 is reserved, then SPSP0, SPSP1, SECP.
const SPSP0: Bits = Bits::new(15, 8);
const SPSP1: Bits = Bits::new(23, 16);
const SECP: Bits = Bits::new(31, 24);
// CDW10 of Disconnect.
const RECFMT: Bits = Bits::new(15, 0);

/// Authentication Send or Receive (Linux `struct nvmf_auth_send_command`). The messages are their
/// data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authentication {
    /// SPSP0 at byte 41.
    pub specific_0: u8,
    /// SPSP1 at byte 42.
    pub specific_1: u8,
    /// SECP at byte 43: E9h for NVMe.
    pub protocol: u8,
    /// TL or AL at byte 44: bytes sent, or room for bytes received.
    pub bytes: u32,
}

impl Authentication {
    const fn decode(entry: &SubmissionEntry) -> Self {
        let cdw10 = entry.cdw(10);
        Self {
            specific_0: SPSP0.get32(cdw10) as u8,
            specific_1: SPSP1.get32(cdw10) as u8,
            protocol: SECP.get32(cdw10) as u8,
            bytes: entry.cdw(11),
        }
    }

    const fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let protocol = SPSP0.put32(self.specific_0 as u32)
            | SPSP1.put32(self.specific_1 as u32)
            | SECP.put32(self.protocol as u32);
        entry.set_cdw(10, protocol);
        entry.set_cdw(11, self.bytes);
        entry
    }
}

/// A fabrics command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FabricsCommand {
    /// 00h.
    PropertySet(PropertySet),
    /// 01h.
    Connect(Connect),
    /// 04h.
    PropertyGet(PropertyGet),
    /// 05h.
    AuthenticationSend(Authentication),
    /// 06h.
    AuthenticationReceive(Authentication),
    /// 08h, which Linux never sends.
    Disconnect {
        /// RECFMT: 0.
        format: u16,
    },
    /// Any other: the answer is [`InvalidOpcode`](super::StatusCode::InvalidOpcode).
    Unsupported {
        /// Its type; never one of the above after decoding.
        fctype: u8,
    },
}

impl FabricsCommand {
    /// Decodes an entry with opcode 7Fh.
    #[must_use]
    pub fn decode(entry: &SubmissionEntry) -> Self {
        match FCTYPE.get32(entry.common.nsid) as u8 {
            PROPERTY_SET => Self::PropertySet(PropertySet::decode(entry)),
            CONNECT => Self::Connect(Connect::decode(entry)),
            PROPERTY_GET => Self::PropertyGet(PropertyGet::decode(entry)),
            AUTHENTICATION_SEND => Self::AuthenticationSend(Authentication::decode(entry)),
            AUTHENTICATION_RECEIVE => Self::AuthenticationReceive(Authentication::decode(entry)),
            DISCONNECT => Self::Disconnect { format: RECFMT.get32(entry.cdw(10)) as u16 },
            fctype => Self::Unsupported { fctype },
        }
    }

    /// Encodes the command as an entry.
    #[must_use]
    pub fn encode(&self, cid: u16, data: SglDescriptor) -> SubmissionEntry {
        let entry = |fctype: u8| {
            let nsid = FCTYPE.put32(fctype.into());
            SubmissionEntry::new(FABRICS, CommonFields { cid, nsid, data })
        };
        match self {
            Self::PropertySet(command) => command.encode(entry(PROPERTY_SET)),
            Self::Connect(command) => command.encode(entry(CONNECT)),
            Self::PropertyGet(command) => command.encode(entry(PROPERTY_GET)),
            Self::AuthenticationSend(command) => command.encode(entry(AUTHENTICATION_SEND)),
            Self::AuthenticationReceive(command) => command.encode(entry(AUTHENTICATION_RECEIVE)),
            Self::Disconnect { format } => {
                let mut entry = entry(DISCONNECT);
                entry.set_cdw(10, RECFMT.put32((*format).into()));
                entry
            }
            Self::Unsupported { fctype } => entry(*fctype),
        }
    }
}
