//! The submission queue entry: 64 bytes, of which all commands share the first forty.

use super::fabrics::FABRICS;
use super::field::{get, get_u16, get_u32, get_u64, put, put_u16, put_u32, put_u64};
use super::sgl::{PSDT_SGL, SGL_BYTES, SglDescriptor};

/// Bytes of a submission queue entry.
pub const SUBMISSION_BYTES: usize = 64;

const OPCODE: usize = 0;
const FLAGS: usize = 1;
const CID: usize = 2;
const NSID: usize = 4;
const CDW2: usize = 8;
const CDW3: usize = 12;
const MPTR: usize = 16;
const DPTR: usize = 24;
const CDW10: usize = 40;

/// What every command has, whatever it does (Linux `struct nvme_common_command`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonFields {
    /// CID: the host's name for the command; the completion repeats it bit for bit.
    pub cid: u16,
    /// NSID: the namespace; 0 for commands of the whole controller, `FFFFFFFFh` for all namespaces.
    /// Fabrics commands have their type in its place.
    pub nsid: u32,
    /// DPTR: where the data are.
    pub data: SglDescriptor,
}

impl CommonFields {
    /// The fields of a command of the whole controller.
    #[must_use]
    pub const fn controller(cid: u16, data: SglDescriptor) -> Self {
        Self { cid, nsid: 0, data }
    }
}

/// Which way the data of a command go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDirection {
    /// 00b: there are none.
    None,
    /// 01b: from host to controller.
    ToController,
    /// 10b: from controller to host.
    ToHost,
    /// 11b: both ways, which no command here has.
    Both,
}

/// A submission queue entry, whatever its opcode.
///
/// [`IoCommand`](super::IoCommand) and [`AdminCommand`](super::AdminCommand) say what it means. A
/// command that they do not know still has its [`CommonFields`] here, so that it can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubmissionEntry {
    /// OPC.
    pub opcode: u8,
    /// FUSE in bits 1:0, PSDT in bits 7:6 ([`PSDT_SGL`]).
    pub flags: u8,
    /// What every command has.
    pub common: CommonFields,
    /// CDW2.
    pub cdw2: u32,
    /// CDW3.
    pub cdw3: u32,
    /// MPTR: the address of metadata, which NVMe/TCP does not have.
    pub metadata: u64,
    /// CDW10 to CDW15.
    pub cdw10: [u32; 6],
}

impl SubmissionEntry {
    /// An entry with everything zero but its opcode and the common fields.
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

    /// Which way its data go: the last two bits of the opcode, and of the type of a fabrics
    /// command. So it is known of commands that are not, too. That there are any is said by the
    /// data pointer.
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

    /// Whether the data pointer is an SGL, as it has to be over a fabric.
    #[must_use]
    pub const fn has_sgl(&self) -> bool {
        self.flags & 0xc0 == PSDT_SGL
    }

    /// Reads an entry.
    #[must_use]
    pub fn decode(entry: &[u8; SUBMISSION_BYTES]) -> Self {
        Self {
            opcode: entry[OPCODE],
            flags: entry[FLAGS],
            common: CommonFields {
                cid: get_u16(entry, CID),
                nsid: get_u32(entry, NSID),
                data: SglDescriptor::decode(&get::<SGL_BYTES>(entry, DPTR)),
            },
            cdw2: get_u32(entry, CDW2),
            cdw3: get_u32(entry, CDW3),
            metadata: get_u64(entry, MPTR),
            cdw10: core::array::from_fn(|number| get_u32(entry, CDW10 + 4 * number)),
        }
    }

    /// Writes the entry.
    #[must_use]
    pub fn encode(&self) -> [u8; SUBMISSION_BYTES] {
        let mut entry = [0; SUBMISSION_BYTES];
        entry[OPCODE] = self.opcode;
        entry[FLAGS] = self.flags;
        put_u16(&mut entry, CID, self.common.cid);
        put_u32(&mut entry, NSID, self.common.nsid);
        put_u32(&mut entry, CDW2, self.cdw2);
        put_u32(&mut entry, CDW3, self.cdw3);
        put_u64(&mut entry, MPTR, self.metadata);
        put(&mut entry, DPTR, &self.common.data.encode());
        for (number, &dword) in self.cdw10.iter().enumerate() {
            put_u32(&mut entry, CDW10 + 4 * number, dword);
        }
        entry
    }
}
