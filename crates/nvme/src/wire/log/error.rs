//! Log page 01h: what went wrong (libnvme `struct nvme_error_log_page`).

use crate::wire::field::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::wire::status::StatusField;

/// Bytes of an entry.
pub const ERROR_ENTRY_BYTES: usize = 64;

const ERROR_COUNT: usize = 0;
const SQID: usize = 8;
const CID: usize = 10;
const STATUS: usize = 12;
const LOCATION: usize = 14;
const LBA: usize = 16;
const NSID: usize = 24;
const VENDOR_PAGE: usize = 28;
const TRTYPE: usize = 29;
const SPECIFIC: usize = 32;
const TRANSPORT_SPECIFIC: usize = 40;

/// An error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorEntry {
    /// Errors up to this one; 0 is an entry that is not used.
    pub count: u64,
    /// Queue of the command.
    pub sq_id: u16,
    /// CID of the command.
    pub cid: u16,
    /// How it ended. The bit below the field, a phase tag, is written as 0.
    pub status: StatusField,
    /// The wrong parameter: byte of the command in bits 7:0, bit in 10:8; `FFFFh` if it is not of
    /// the command.
    pub location: u16,
    /// First block with an error.
    pub lba: u64,
    /// Namespace.
    pub nsid: u32,
    /// A log page of the vendor that says more; 0 is none.
    pub vendor_page: u8,
    /// TRTYPE: the transport; 3 is TCP.
    pub transport: u8,
    /// What the command has to say.
    pub command_specific: u64,
    /// What the transport has to say.
    pub transport_specific: u16,
}

impl ErrorEntry {
    /// Reads an entry.
    #[must_use]
    pub fn decode(entry: &[u8; ERROR_ENTRY_BYTES]) -> Self {
        Self {
            count: get_u64(entry, ERROR_COUNT),
            sq_id: get_u16(entry, SQID),
            cid: get_u16(entry, CID),
            status: StatusField::from_bits(get_u16(entry, STATUS) >> 1),
            location: get_u16(entry, LOCATION),
            lba: get_u64(entry, LBA),
            nsid: get_u32(entry, NSID),
            vendor_page: entry[VENDOR_PAGE],
            transport: entry[TRTYPE],
            command_specific: get_u64(entry, SPECIFIC),
            transport_specific: get_u16(entry, TRANSPORT_SPECIFIC),
        }
    }

    /// Writes the entry.
    #[must_use]
    pub fn encode(&self) -> [u8; ERROR_ENTRY_BYTES] {
        let mut entry = [0; ERROR_ENTRY_BYTES];
        put_u64(&mut entry, ERROR_COUNT, self.count);
        put_u16(&mut entry, SQID, self.sq_id);
        put_u16(&mut entry, CID, self.cid);
        put_u16(&mut entry, STATUS, self.status.bits() << 1);
        put_u16(&mut entry, LOCATION, self.location);
        put_u64(&mut entry, LBA, self.lba);
        put_u32(&mut entry, NSID, self.nsid);
        entry[VENDOR_PAGE] = self.vendor_page;
        entry[TRTYPE] = self.transport;
        put_u64(&mut entry, SPECIFIC, self.command_specific);
        put_u16(&mut entry, TRANSPORT_SPECIFIC, self.transport_specific);
        entry
    }
}
