//! The data pointer of a command: one SGL descriptor.

use super::field::get;
use super::structure::{Field, Value, fields};

/// Bytes of a descriptor.
pub const SGL_BYTES: usize = 16;

/// Value of a command's flags byte: the data pointer is an SGL and the metadata, if any, one buffer
/// (PSDT = 01b). Linux sets it in every command over a fabric.
pub const PSDT_SGL: u8 = 0x40;

/// SGL Data Block (0h) with subtype Offset (1h).
const KIND_IN_CAPSULE: u8 = 0x01;
/// Transport SGL Data Block (5h) with the transport's own subtype (Ah).
const KIND_TRANSPORT: u8 = 0x5a;

/// The fields of a descriptor of any kind.
struct Descriptor {
    address: u64,
    length: u32,
    /// Type in bits 7:4, subtype in bits 3:0.
    kind: u8,
}

fields! { Descriptor, SGL_BYTES;
    address: "address" @ 0,
    length: "length" @ 8,
    kind: "kind" @ 15,
}

/// Place of the data of a command. NVMe/TCP has two places; for a command without data Linux sends
/// the second with length 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SglDescriptor {
    /// Data that follow the command in its capsule.
    InCapsule {
        /// Offset of the data in bytes, from ICDOFF on.
        offset: u64,
        /// Their length.
        bytes: u32,
    },
    /// Data sent by H2CData when an R2T requests them, or received as C2HData.
    Transport {
        /// Their length; 0 without data.
        bytes: u32,
    },
    /// Any other descriptor: the answer is [`SglTypeInvalid`](super::StatusCode::SglTypeInvalid).
    /// Decoding never gives a known kind here.
    Unsupported {
        /// Type and subtype.
        kind: u8,
        /// The first eight bytes, mostly an address.
        address: u64,
        /// The length, in most kinds.
        bytes: u32,
    },
}

impl SglDescriptor {
    /// Descriptor of a command without data.
    pub const NO_DATA: Self = Self::Transport { bytes: 0 };

    /// Bytes that it describes.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match *self {
            Self::InCapsule { bytes, .. }
            | Self::Transport { bytes }
            | Self::Unsupported { bytes, .. } => bytes,
        }
    }

    /// Reads a descriptor. The address of a transport data block is reserved.
    #[must_use]
    pub fn decode(descriptor: &[u8; SGL_BYTES]) -> Self {
        let Descriptor { address, length: bytes, kind } = Descriptor::read(descriptor);
        match kind {
            KIND_IN_CAPSULE => Self::InCapsule { offset: address, bytes },
            KIND_TRANSPORT => Self::Transport { bytes },
            kind => Self::Unsupported { kind, address, bytes },
        }
    }

    /// Writes the descriptor.
    #[must_use]
    pub fn encode(&self) -> [u8; SGL_BYTES] {
        let (kind, address) = match *self {
            Self::InCapsule { offset, .. } => (KIND_IN_CAPSULE, offset),
            Self::Transport { .. } => (KIND_TRANSPORT, 0),
            Self::Unsupported { kind, address, .. } => (kind, address),
        };
        let mut descriptor = [0; SGL_BYTES];
        Descriptor { address, length: self.bytes(), kind }.write(&mut descriptor);
        descriptor
    }
}

impl Value for SglDescriptor {
    const BYTES: usize = SGL_BYTES;
    const PARTS: &'static [Field] = Descriptor::PARTS;

    fn read(bytes: &[u8]) -> Self {
        Self::decode(&get(bytes, 0))
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.encode());
    }
}
