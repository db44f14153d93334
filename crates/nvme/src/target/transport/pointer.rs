//! Place of the data of a command, checked against its capsule.

use super::terms::Terms;
use crate::wire::pdu::CommandCapsule;
use crate::wire::{DataDirection, SglDescriptor, StatusCode, StatusField};

/// The data of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandData {
    /// No data.
    None,
    /// Data in the capsule: pieces follow at once.
    InCapsule {
        /// Number of bytes, at least one.
        bytes: u32,
    },
    /// Data at the host, which sends them on request
    /// ([`Connection::receive`](super::Connection::receive)).
    AtHost {
        /// Number of bytes, at least one.
        bytes: u32,
    },
    /// Data to the host, which has room for them.
    ToHost {
        /// Room in bytes, at least one.
        bytes: u32,
    },
}

impl CommandData {
    /// Bytes that go to the controller.
    #[must_use]
    pub const fn to_controller_bytes(self) -> u32 {
        match self {
            Self::InCapsule { bytes } | Self::AtHost { bytes } => bytes,
            Self::None | Self::ToHost { .. } => 0,
        }
    }

    /// Bytes that the host has room for.
    #[must_use]
    pub const fn to_host_bytes(self) -> u32 {
        match self {
            Self::ToHost { bytes } => bytes,
            _ => 0,
        }
    }

    /// Place of the data of a command.
    ///
    /// # Errors
    ///
    /// If the data pointer does not fit the capsule or the terms, with the status of the answer.
    pub(super) fn of(capsule: &CommandCapsule, terms: &Terms) -> Result<Self, StatusField> {
        let entry = &capsule.entry;
        if !entry.has_sgl() {
            return Err(StatusCode::InvalidField.for_good());
        }
        let pointer = entry.common.data;
        let bytes = pointer.bytes();
        match pointer {
            SglDescriptor::Unsupported { .. } => return Err(StatusCode::SglTypeInvalid.for_good()),
            SglDescriptor::InCapsule { offset: 1.., .. } => {
                return Err(StatusCode::SglOffsetInvalid.for_good());
            }
            SglDescriptor::InCapsule { .. } if bytes != capsule.data_bytes => {
                return Err(StatusCode::SglLengthInvalid.for_good());
            }
            // The pointer does not describe the data in the capsule.
            SglDescriptor::Transport { .. } if capsule.data_bytes > 0 => {
                return Err(StatusCode::InvalidField.for_good());
            }
            SglDescriptor::InCapsule { .. } | SglDescriptor::Transport { .. } => {}
        }
        if bytes > terms.transfer_max_bytes {
            return Err(StatusCode::InvalidField.for_good());
        }
        let is_in_capsule = matches!(pointer, SglDescriptor::InCapsule { .. });
        match (bytes, entry.direction(), is_in_capsule) {
            (0, _, _) => Ok(Self::None),
            (_, DataDirection::ToController, true) => Ok(Self::InCapsule { bytes }),
            (_, DataDirection::ToController, false) => Ok(Self::AtHost { bytes }),
            (_, DataDirection::ToHost, false) => Ok(Self::ToHost { bytes }),
            (_, _, true) => Err(StatusCode::InvalidField.for_good()),
            // The opcode has no data, or is unknown: no byte moves.
            (_, DataDirection::None | DataDirection::Both, false) => Ok(Self::None),
        }
    }
}
