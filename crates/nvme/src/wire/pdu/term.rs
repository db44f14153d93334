//! H2CTermReq and C2HTermReq: the reason of the other side for ending a connection (Linux `struct
//! nvme_tcp_term_pdu`).

use super::fault::{FatalStatus, Fault};
use crate::wire::field::{get_u16, get_u32, put, put_u16, put_u32};

/// Longest termination request in bytes.
pub const TERM_BYTES_MAX: usize = HEADER_BYTES + OFFENDING_BYTES_MAX;

pub(super) const HEADER_BYTES: usize = 24;
const OFFENDING_BYTES_MAX: usize = 128;

const FES: usize = 8;
// Two halves in the specification, at an offset that is no multiple of four; the lower half comes
// first.
const FEI: usize = 10;

/// Header of the offending PDU, as far as it had come: at most 128 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OffendingHeader {
    // Zero from `length` on, so that equal headers are equal bytes.
    bytes: [u8; OFFENDING_BYTES_MAX],
    length: u8,
}

impl OffendingHeader {
    /// The first 128 of these bytes.
    #[must_use]
    pub fn new(header: &[u8]) -> Self {
        let header = header.get(..OFFENDING_BYTES_MAX).unwrap_or(header);
        let mut bytes = [0; OFFENDING_BYTES_MAX];
        put(&mut bytes, 0, header);
        Self { bytes, length: header.len() as u8 }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl core::fmt::Debug for OffendingHeader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:02x?}", self.bytes())
    }
}

/// A termination request. It has no digests; its sender then waits for the other side to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Termination {
    /// FES @8 and FEI @10.
    pub fault: Fault,
    /// The offending header, from byte 24 on.
    pub offending: OffendingHeader,
}

impl Termination {
    /// Reads a request of at least its header and at most [`TERM_BYTES_MAX`].
    pub(super) fn decode(pdu: &[u8]) -> Self {
        let status = FatalStatus::decode(get_u16(pdu, FES));
        Self {
            fault: Fault { status, information: get_u32(pdu, FEI) },
            offending: OffendingHeader::new(&pdu[HEADER_BYTES..]),
        }
    }

    /// PLEN.
    pub(super) fn pdu_bytes(&self) -> usize {
        HEADER_BYTES + self.offending.bytes().len()
    }

    pub(super) fn encode(&self, pdu: &mut [u8]) {
        put_u16(pdu, FES, self.fault.status.encode());
        put_u32(pdu, FEI, self.fault.information);
        put(pdu, HEADER_BYTES, self.offending.bytes());
    }
}
