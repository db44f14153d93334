//! Terms of a connection.

use crate::wire::pdu::{ADMIN_CAPSULE_DATA_BYTES, Limits};

/// Terms of a target for every connection.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// MAXH2CDATA: most data of an H2CData in bytes; a multiple of four, at least
    /// [`MAXH2CDATA_MIN`](crate::wire::pdu::MAXH2CDATA_MIN).
    pub host_data_max_bytes: u32,
    /// Most data of a C2HData in bytes, not zero. Linux sets no limit; a short one lets answers
    /// overtake long reads.
    pub controller_data_max_bytes: u32,
    /// MDTS in bytes: a command with more data is refused.
    pub transfer_max_bytes: u32,
    /// Continues a CRC-32C, as in [`Framing`](crate::wire::pdu::Framing).
    pub checksum: fn(u32, &[u8]) -> u32,
}

impl Terms {
    pub(super) const fn limits(&self, capsule_bytes: u32) -> Limits {
        Limits { capsule_bytes, data_bytes: self.host_data_max_bytes }
    }
}

/// Terms of a queue, when Connect has named it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueTerms {
    /// Most commands in flight, at least one: SQSIZE plus one.
    pub entries: u16,
    /// Data in a capsule.
    pub capsule_bytes: u32,
    /// The host wants no SQHD (CATTR bit 2), so that reads may end without a completion.
    pub without_sq_flow: bool,
}

impl QueueTerms {
    /// Terms before Connect, which has to be the only command.
    pub(super) const FRESH: Self =
        Self { entries: 1, capsule_bytes: ADMIN_CAPSULE_DATA_BYTES, without_sq_flow: false };
}
