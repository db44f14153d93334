//! Where the data of a command are, checked against what came with it.

use super::terms::Terms;
use crate::wire::pdu::CommandCapsule;
use crate::wire::{DataDirection, SglDescriptor, StatusCode, StatusField};

/// The data of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandData {
    /// It has none.
    None,
    /// They came with it: pieces follow at once.
    InCapsule {
        /// How many, at least one.
        bytes: u32,
    },
    /// They are at the host, who sends them when it is asked
    /// ([`Connection::receive`](super::Connection::receive)).
    AtHost {
        /// How many, at least one.
        bytes: u32,
    },
    /// The host has so much room for them.
    ToHost {
        /// How much, at least one.
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

    /// The data of a command.
    ///
    /// # Errors
    ///
    /// If its pointer does not fit the capsule or the terms: what to answer.
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
            // Data that the pointer says nothing about.
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
            // The command has none by its opcode, or is one that nobody knows: no byte moves.
            (_, DataDirection::None | DataDirection::Both, false) => Ok(Self::None),
        }
    }
}
