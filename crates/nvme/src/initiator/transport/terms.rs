//! What a host asks of a connection.

use crate::wire::pdu::{ADMIN_CAPSULE_DATA_BYTES, Digests, Limits};

/// Most commands in flight of one connection: what is left of a CID is its generation.
pub const ENTRIES_MAX: u16 = 1 << SLOT_BITS;

/// Bits of a CID that are the slot.
pub(super) const SLOT_BITS: u32 = 10;

/// What a host asks of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Which digests it wants. A controller that answers with others is refused, as Linux does.
    pub digests: Digests,
    /// Commands in flight, 1 to [`ENTRIES_MAX`]: one less than the queue has entries.
    pub commands: u16,
    /// Data in the capsule of a command that is not a fabrics command.
    pub capsule_bytes: u32,
    /// Most data that one command asks for; a C2HData that promises more is refused before it is
    /// taken.
    pub transfer_max_bytes: u32,
    /// Continues a CRC-32C, as in [`Framing`](crate::wire::pdu::Framing).
    pub checksum: fn(u32, &[u8]) -> u32,
}

impl Terms {
    /// Those of an admin queue with so many commands in flight.
    #[must_use]
    pub const fn admin(
        digests: Digests,
        commands: u16,
        transfer_max_bytes: u32,
        checksum: fn(u32, &[u8]) -> u32,
    ) -> Self {
        let capsule_bytes = ADMIN_CAPSULE_DATA_BYTES;
        Self { digests, commands, capsule_bytes, transfer_max_bytes, checksum }
    }

    pub(super) const fn limits(&self) -> Limits {
        Limits { capsule_bytes: 0, data_bytes: self.transfer_max_bytes }
    }
}
