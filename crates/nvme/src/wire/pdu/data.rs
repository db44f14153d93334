//! H2CData, C2HData and R2T (Linux `struct nvme_tcp_data_pdu`, `nvme_tcp_r2t_pdu`).

use crate::wire::structure::{Value, fields};

pub(super) const LENGTH: usize = 16;

/// Header of data in either direction. Behind the common header it has the fields of an R2T.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataHeader {
    /// CCCID: CID of the command.
    pub cid: u16,
    /// TTAG: tag of the R2T; reserved in C2HData.
    pub transfer_tag: u16,
    /// DATAO: offset in the data of the command.
    pub offset_bytes: u32,
    /// DATAL: number of bytes.
    pub data_bytes: u32,
    /// LAST_PDU: the last data of the R2T, or of the command.
    pub last: bool,
    /// SUCCESS: no completion follows; only with [`Self::last`], and in C2HData only. A command
    /// with a value in DW0 or DW1 needs its completion.
    pub success: bool,
}

impl DataHeader {
    pub(super) fn decode(pdu: &[u8], last: bool, success: bool) -> Self {
        let ReadyToTransfer { cid, transfer_tag, offset_bytes, data_bytes } = Value::read(pdu);
        Self { cid, transfer_tag, offset_bytes, data_bytes, last, success }
    }

    pub(super) fn encode(&self, pdu: &mut [u8]) {
        let Self { cid, transfer_tag, offset_bytes, data_bytes, .. } = *self;
        ReadyToTransfer { cid, transfer_tag, offset_bytes, data_bytes }.write(pdu);
    }
}

/// R2T: the controller has room for these data of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyToTransfer {
    /// CCCID: CID of the command.
    pub cid: u16,
    /// TTAG: the controller's tag of this transfer, which the data repeat.
    pub transfer_tag: u16,
    /// R2TO: offset in the data of the command.
    pub offset_bytes: u32,
    /// R2TL: number of bytes.
    pub data_bytes: u32,
}

fields! { ReadyToTransfer, 24;
    cid: "CCCID" @ 8,
    transfer_tag: "TTAG" @ 10,
    offset_bytes: "R2TO" @ 12,
    data_bytes: "R2TL" @ LENGTH,
}
