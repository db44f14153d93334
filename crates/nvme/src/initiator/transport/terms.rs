//! Terms of a host for a connection.

use crate::wire::pdu::{ADMIN_CAPSULE_DATA_BYTES, Digests, Limits};

/// Most commands in flight of one connection: the other bits of a CID are its generation.
pub const ENTRIES_MAX: u16 = 1 << SLOT_BITS;

/// Bits of a CID that hold the slot.
pub(super) const SLOT_BITS: u32 = 10;

/// Terms of a host for a connection.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Requested digests. A controller that answers with others is refused, as in Linux.
    pub digests: Digests,
    /// Commands in flight, 1 to [`ENTRIES_MAX`]: one less than the queue has entries.
    pub commands: u16,
    /// Data in the capsule of a command that is not a fabrics command.
    pub capsule_bytes: u32,
    /// Most data of one command; a C2HData that announces more is refused before its data are
    /// taken.
    pub transfer_max_bytes: u32,
    /// Continues a CRC-32C, as in [`Framing`](crate::wire::pdu::Framing).
    pub checksum: fn(u32, &[u8]) -> u32,
}

impl Terms {
    /// Terms of an admin queue with `commands` commands in flight.
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
