//! Digests, padding, and the encoding of PDUs.

use super::common::{COMMON_BYTES, CommonHeader, pdu_flag};
use super::header::Header;
use super::term::TERM_BYTES_MAX;
use crate::wire::field::{put, put_u32};

/// Bytes of a digest: CRC-32C, little-endian.
pub const DIGEST_BYTES: usize = 4;

/// Most bytes before the data: the longest termination request. A command with its digest and the
/// highest alignment has 128.
pub const PREFIX_BYTES_MAX: usize = TERM_BYTES_MAX;

/// Digests of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Digests {
    /// Digests of headers.
    pub header: bool,
    /// Digests of data, without padding.
    pub data: bool,
}

/// Framing of PDUs in one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// Digests of the connection.
    pub digests: Digests,
    /// Data begin at a multiple of this: `4 × (n + 1)` bytes for the receiver's HPDA or CPDA.
    pub alignment_bytes: u8,
    /// Continues a CRC-32C: [`units::crc32c_append`], or a function that uses the processor's
    /// instruction.
    pub checksum: fn(u32, &[u8]) -> u32,
}

impl Framing {
    /// Framing before the terms are agreed: no digests, no padding.
    pub const INITIAL: Self = Self {
        digests: Digests { header: false, data: false },
        alignment_bytes: 4,
        checksum: units::crc32c_append,
    };

    /// The framing towards a receiver with this HPDA or CPDA, 0 to 31.
    #[must_use]
    pub const fn new(digests: Digests, alignment: u8, checksum: fn(u32, &[u8]) -> u32) -> Self {
        let alignment = if alignment > 31 { 31 } else { alignment };
        Self { digests, alignment_bytes: 4 * (alignment + 1), checksum }
    }

    /// Bytes of the digest of a header.
    pub(super) const fn header_digest_bytes(&self) -> usize {
        if self.digests.header { DIGEST_BYTES } else { 0 }
    }

    /// Bytes of the digest of data.
    pub(super) const fn data_digest_bytes(&self) -> usize {
        if self.digests.data { DIGEST_BYTES } else { 0 }
    }

    /// Writes everything of a PDU that comes before its data, and returns the number of bytes. The
    /// data of [`Header::data_bytes`] and [`Self::data_digest`] have to follow.
    pub fn write(&self, header: &Header, into: &mut [u8; PREFIX_BYTES_MAX]) -> usize {
        into.fill(0);
        let kind = header.kind();
        let header_end = header.bytes();
        let data_bytes = header.data_bytes();
        let mut flags = header.flags();
        let mut end = header_end;
        let has_digests = !kind.is_init() && !kind.is_termination();
        if has_digests && self.digests.header {
            flags |= pdu_flag::HEADER_DIGEST;
            end += DIGEST_BYTES;
        }
        let mut pdu_bytes = end as u32;
        let mut data_offset = 0;
        if data_bytes > 0 {
            end = end.next_multiple_of(self.alignment_bytes.max(1).into());
            // The value is at most 128, as the highest alignment is.
            data_offset = end as u8;
            pdu_bytes = (end as u32).saturating_add(data_bytes);
            if self.digests.data {
                flags |= pdu_flag::DATA_DIGEST;
                pdu_bytes = pdu_bytes.saturating_add(DIGEST_BYTES as u32);
            }
        }
        let header_bytes = kind.header_bytes();
        let common = CommonHeader { kind: kind as u8, flags, header_bytes, data_offset, pdu_bytes };
        put(into, 0, &common.encode());
        header.encode(into);
        debug_assert!(into[..COMMON_BYTES] == common.encode(), "a header wrote before its place");
        if flags & pdu_flag::HEADER_DIGEST != 0 {
            let digest = (self.checksum)(0, &into[..header_end]);
            put_u32(into, header_end, digest);
        }
        end
    }

    /// Digest of data with this checksum: the result of [`Self::checksum`] over all pieces in
    /// order, starting from 0. `None` if the connection has no data digests. A PDU without data has
    /// none.
    #[must_use]
    pub fn data_digest(&self, checksum: u32) -> Option<[u8; DIGEST_BYTES]> {
        self.digests.data.then(|| checksum.to_le_bytes())
    }
}
