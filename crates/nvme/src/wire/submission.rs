//! The submission queue entry: 64 bytes, the first forty of which all commands have in common.

use super::fabrics::FABRICS;
use super::sgl::{PSDT_SGL, SglDescriptor};
use super::structure::{fields, structure};

/// Bytes of a submission queue entry.
pub const SUBMISSION_BYTES: usize = 64;

/// Fields of every command (Linux `struct nvme_common_command`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonFields {
    /// CID: the host's identifier of the command; the completion repeats it unchanged.
    pub cid: u16,
    /// NSID: the namespace; 0 for commands of the whole controller, `FFFFFFFFh` for all namespaces.
    /// Fabrics commands have their type in its place.
    pub nsid: u32,
    /// DPTR: place of the data.
    pub data: SglDescriptor,
}

fields! { CommonFields, SUBMISSION_BYTES;
    cid: "CID" @ 2,
    nsid: "NSID" @ 4,
    data: "DPTR" @ 24,
}

impl CommonFields {
    /// The fields of a command of the whole controller.
    #[must_use]
    pub const fn controller(cid: u16, data: SglDescriptor) -> Self {
        Self { cid, nsid: 0, data }
    }
}

/// Direction of the data of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDirection {
    /// 00b: no data.
    None,
    /// 01b: from host to controller.
    ToController,
    /// 10b: from controller to host.
    ToHost,
    /// 11b: both ways, which no command here uses.
    Both,
}

/// A submission queue entry with any opcode.
///
/// [`IoCommand`](super::IoCommand) and [`AdminCommand`](super::AdminCommand) decode it. An unknown
/// command still has its [`CommonFields`] here, so that it can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubmissionEntry {
    /// OPC.
    pub opcode: u8,
    /// FUSE in bits 1:0, PSDT in bits 7:6 ([`PSDT_SGL`]).
    pub flags: u8,
    /// Fields of every command.
    pub common: CommonFields,
    /// CDW2.
    pub cdw2: u32,
    /// CDW3.
    pub cdw3: u32,
    /// MPTR: the address of metadata, which NVMe/TCP does not support.
    pub metadata: u64,
    /// CDW10 to CDW15.
    pub cdw10: [u32; 6],
}

structure! { SubmissionEntry, SUBMISSION_BYTES;
    opcode: "OPC" @ 0,
    flags: "FLAGS" @ 1,
    common: "" @ 0,
    cdw2: "CDW2" @ 8,
    cdw3: "CDW3" @ 12,
    metadata: "MPTR" @ 16,
    cdw10: "CDW10" @ 40,
}

impl SubmissionEntry {
    /// An entry with an opcode and the common fields; all others are zero.
    #[must_use]
    pub const fn new(opcode: u8, common: CommonFields) -> Self {
        Self { opcode, flags: PSDT_SGL, common, cdw2: 0, cdw3: 0, metadata: 0, cdw10: [0; 6] }
    }

    /// Command dword `number`, 10 to 15.
    ///
    /// # Panics
    ///
    /// If there is no such dword.
    #[must_use]
    pub const fn cdw(&self, number: usize) -> u32 {
        self.cdw10[number - 10]
    }

    /// Sets command dword `number`, 10 to 15.
    ///
    /// # Panics
    ///
    /// If there is no such dword.
    pub(crate) const fn set_cdw(&mut self, number: usize, value: u32) {
        self.cdw10[number - 10] = value;
    }

    /// Direction of its data: the last two bits of the opcode, or of the type of a fabrics command.
    /// So the direction is known for unknown commands too. The data pointer says whether there are
    /// any data.
    #[must_use]
    pub const fn direction(&self) -> DataDirection {
        let bits = if self.opcode == FABRICS { self.common.nsid as u8 } else { self.opcode };
        match bits & 0b11 {
            0b00 => DataDirection::None,
            0b01 => DataDirection::ToController,
            0b10 => DataDirection::ToHost,
            _ => DataDirection::Both,
        }
    }

    /// Whether it is half of a fused pair.
    #[must_use]
    pub const fn is_fused(&self) -> bool {
        self.flags & 0b11 != 0
    }

    /// Whether the data pointer is an SGL, as is required over a fabric.
    #[must_use]
    pub const fn has_sgl(&self) -> bool {
        self.flags & 0xc0 == PSDT_SGL
    }
}
