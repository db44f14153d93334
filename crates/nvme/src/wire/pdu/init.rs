//! ICReq and ICResp: the terms of a connection (Linux `struct nvme_tcp_icreq_pdu`,
//! `nvme_tcp_icresp_pdu`).

use super::fault::Fault;
use super::framing::Digests;
use crate::wire::field::{Bits, get_u16, get_u32, put_u32};

/// Bytes of either.
pub const INIT_BYTES: usize = 128;

/// Least MAXH2CDATA; Linux refuses less.
pub const MAXH2CDATA_MIN: u32 = 4096;

const PFV: usize = 8;
const PDA: usize = 10;
const DGST: usize = 11;
// MAXR2T of a request, MAXH2CDATA of a response.
const MAXIMUM: usize = 12;

const HEADER_DIGEST: Bits = Bits::bit(0);
const DATA_DIGEST: Bits = Bits::bit(1);

/// Highest value of HPDA and CPDA.
const ALIGNMENT_MAX: u8 = 31;

fn get_digests(pdu: &[u8; INIT_BYTES]) -> Digests {
    let bits = u32::from(pdu[DGST]);
    Digests { header: HEADER_DIGEST.is_set32(bits), data: DATA_DIGEST.is_set32(bits) }
}

fn put_digests(pdu: &mut [u8; INIT_BYTES], digests: Digests) {
    let bits = HEADER_DIGEST.flag32(digests.header) | DATA_DIGEST.flag32(digests.data);
    pdu[DGST] = bits as u8;
}

fn check_version(pdu: &[u8; INIT_BYTES]) -> Result<(), Fault> {
    if get_u16(pdu, PFV) == 0 { Ok(()) } else { Err(Fault::unsupported(PFV)) }
}

fn get_alignment(pdu: &[u8; INIT_BYTES]) -> Result<u8, Fault> {
    Some(pdu[PDA]).filter(|&alignment| alignment <= ALIGNMENT_MAX).ok_or(Fault::field(PDA))
}

/// ICReq, of format 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitRequest {
    /// HPDA @10: data of PDUs to the host begin at multiples of `4 × (n + 1)` bytes; 0 to 31.
    pub alignment: u8,
    /// DGST @11: digests that the host wants. The answer has to be equal, or Linux ends the
    /// connection.
    pub digests: Digests,
    /// MAXR2T @12: R2Ts of a command that the host accepts at a time, 0's based.
    pub ready_to_transfer_max: u32,
}

impl InitRequest {
    pub(super) fn decode(pdu: &[u8; INIT_BYTES]) -> Result<Self, Fault> {
        check_version(pdu)?;
        Ok(Self {
            alignment: get_alignment(pdu)?,
            digests: get_digests(pdu),
            ready_to_transfer_max: get_u32(pdu, MAXIMUM),
        })
    }

    pub(super) fn encode(&self, pdu: &mut [u8; INIT_BYTES]) {
        pdu[PDA] = self.alignment;
        put_digests(pdu, self.digests);
        put_u32(pdu, MAXIMUM, self.ready_to_transfer_max);
    }
}

/// ICResp, of format 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitResponse {
    /// CPDA @10: as [`InitRequest::alignment`], for PDUs to the controller. Linux accepts 0 only.
    pub alignment: u8,
    /// DGST @11: the digests of the connection.
    pub digests: Digests,
    /// MAXH2CDATA @12: most data of an H2CData in bytes; a multiple of four, at least
    /// [`MAXH2CDATA_MIN`].
    pub host_data_max_bytes: u32,
}

impl InitResponse {
    pub(super) fn decode(pdu: &[u8; INIT_BYTES]) -> Result<Self, Fault> {
        check_version(pdu)?;
        let host_data_max_bytes = get_u32(pdu, MAXIMUM);
        let alignment = get_alignment(pdu)?;
        if host_data_max_bytes < MAXH2CDATA_MIN || !host_data_max_bytes.is_multiple_of(4) {
            return Err(Fault::field(MAXIMUM));
        }
        Ok(Self { alignment, digests: get_digests(pdu), host_data_max_bytes })
    }

    pub(super) fn encode(&self, pdu: &mut [u8; INIT_BYTES]) {
        pdu[PDA] = self.alignment;
        put_digests(pdu, self.digests);
        put_u32(pdu, MAXIMUM, self.host_data_max_bytes);
    }
}
