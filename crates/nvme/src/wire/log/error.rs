//! Log page 01h: errors (libnvme `struct nvme_error_log_page`).

use crate::wire::status::StatusField;
use crate::wire::structure::structure;

/// Bytes of an entry.
pub const ERROR_ENTRY_BYTES: usize = 64;

/// An error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorEntry {
    /// Number of errors up to this one; 0 for an entry that is not used.
    pub count: u64,
    /// Queue of the command.
    pub sq_id: u16,
    /// CID of the command.
    pub cid: u16,
    /// Status of the command. The bit below the field, a phase tag, is written as 0.
    pub status: StatusField,
    /// Wrong parameter: byte of the command in bits 7:0, bit in 10:8; `FFFFh` if it is not in the
    /// command.
    pub location: u16,
    /// First block with an error.
    pub lba: u64,
    /// Namespace.
    pub nsid: u32,
    /// Vendor log page with details; 0 for none.
    pub vendor_page: u8,
    /// TRTYPE: the transport; 3 is TCP.
    pub transport: u8,
    /// Information of the command.
    pub command_specific: u64,
    /// Information of the transport.
    pub transport_specific: u16,
}

structure! { ErrorEntry, ERROR_ENTRY_BYTES;
    count: "count" @ 0,
    sq_id: "SQID" @ 8,
    cid: "CID" @ 10,
    status: "status" @ 12,
    location: "location" @ 14,
    lba: "LBA" @ 16,
    nsid: "NSID" @ 24,
    vendor_page: "vendor" @ 28,
    transport: "TRTYPE" @ 29,
    command_specific: "specific" @ 32,
    transport_specific: "transport" @ 40,
}
