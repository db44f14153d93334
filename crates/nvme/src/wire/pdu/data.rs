//! H2CData, C2HData and R2T (Linux `struct nvme_tcp_data_pdu`, `nvme_tcp_r2t_pdu`).

use crate::wire::field::{get_u16, get_u32, put_u16, put_u32};

const CCCID: usize = 8;
const TTAG: usize = 10;
const OFFSET: usize = 12;
pub(super) const LENGTH: usize = 16;

/// The header of data, in either direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// CCCID @8: CID of the command.
    pub cid: u16,
    /// TTAG @10: that of the R2T; reserved in C2HData.
    pub transfer_tag: u16,
    /// DATAO @12: where in the data of the command these belong.
    pub offset_bytes: u32,
    /// DATAL @16: how many.
    pub data_bytes: u32,
    /// LAST_PDU: the last of the R2T, or of the command.
    pub last: bool,
    /// SUCCESS: no completion follows; never without [`Self::last`], and in C2HData only. A command
    /// that has something to say in DW0 or DW1 needs its completion.
    pub success: bool,
}

impl DataHeader {
    pub(super) fn decode(pdu: &[u8], last: bool, success: bool) -> Self {
        Self {
            cid: get_u16(pdu, CCCID),
            transfer_tag: get_u16(pdu, TTAG),
            offset_bytes: get_u32(pdu, OFFSET),
            data_bytes: get_u32(pdu, LENGTH),
            last,
            success,
        }
    }

    pub(super) fn encode(&self, pdu: &mut [u8]) {
        put_u16(pdu, CCCID, self.cid);
        put_u16(pdu, TTAG, self.transfer_tag);
        put_u32(pdu, OFFSET, self.offset_bytes);
        put_u32(pdu, LENGTH, self.data_bytes);
    }
}

/// R2T: there is room for these data of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyToTransfer {
    /// CCCID @8: CID of the command.
    pub cid: u16,
    /// TTAG @10: the controller's name for this transfer, which the data repeat.
    pub transfer_tag: u16,
    /// R2TO @12: where in the data of the command they begin.
    pub offset_bytes: u32,
    /// R2TL @16: how many.
    pub data_bytes: u32,
}

impl ReadyToTransfer {
    pub(super) fn decode(pdu: &[u8]) -> Self {
        Self {
            cid: get_u16(pdu, CCCID),
            transfer_tag: get_u16(pdu, TTAG),
            offset_bytes: get_u32(pdu, OFFSET),
            data_bytes: get_u32(pdu, LENGTH),
        }
    }

    pub(super) fn encode(&self, pdu: &mut [u8]) {
        put_u16(pdu, CCCID, self.cid);
        put_u16(pdu, TTAG, self.transfer_tag);
        put_u32(pdu, OFFSET, self.offset_bytes);
        put_u32(pdu, LENGTH, self.data_bytes);
    }
}
