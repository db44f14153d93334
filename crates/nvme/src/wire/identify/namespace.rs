//! CNS 00h: the identity of a namespace (offsets as in libnvme's `struct nvme_id_ns`).

use super::IDENTIFY_BYTES;
use crate::wire::field::Bits;
use crate::wire::structure::{fields, structure};

/// LBA formats of a namespace, as in 1.4 (2.0 has 64).
pub const LBA_FORMATS: usize = 16;

const FORMAT_INDEX: Bits = Bits::new(3, 0);

/// A format of logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LbaFormat {
    /// MS: bytes of metadata of each block.
    pub metadata_bytes: u16,
    /// LBADS: a block has `2^n` bytes, n at least 9; 0 for a format that does not exist.
    pub data_shift: u8,
    /// RP: relative performance, 0 is the fastest. The unchanged byte.
    pub performance: u8,
}

fields! { LbaFormat, 4;
    metadata_bytes: "MS" @ 0,
    data_shift: "LBADS" @ 2,
    performance: "RP" @ 3,
}

/// Sets and groups that a namespace belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamespaceOwner {
    /// NMIC: bit 0, several controllers can share it.
    pub shared: u8,
    /// RESCAP: supported reservations, bits of [`rescap`](crate::wire::rescap); 0 for none.
    pub reservations: u8,
    /// ANAGRPID.
    pub ana_group: u32,
    /// NVMSETID: the NVM Set, whose windows apply to the namespace.
    pub nvm_set: u16,
    /// ENDGID.
    pub endurance_group: u16,
}

fields! { NamespaceOwner, IDENTIFY_BYTES;
    shared: "NMIC" @ 30,
    reservations: "RESCAP" @ 31,
    ana_group: "ANAGRPID" @ 92,
    nvm_set: "NVMSETID" @ 100,
    endurance_group: "ENDGID" @ 102,
}

/// Optimal writes and deallocations; in blocks and 0's based, valid if bit 4 of NSFEAT is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamespaceOptimum {
    /// NPWG: granularity of writes.
    pub write_granularity: u16,
    /// NPWA: alignment of writes.
    pub write_alignment: u16,
    /// NPDG: granularity of deallocation.
    pub deallocate_granularity: u16,
    /// NPDA: alignment of deallocation.
    pub deallocate_alignment: u16,
    /// NOWS: optimal size of writes.
    pub write_size: u16,
}

fields! { NamespaceOptimum, IDENTIFY_BYTES;
    write_granularity: "NPWG" @ 64,
    write_alignment: "NPWA" @ 66,
    deallocate_granularity: "NPDG" @ 68,
    deallocate_alignment: "NPDA" @ 70,
    write_size: "NOWS" @ 72,
}

/// Identify data of a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IdentifyNamespace {
    /// NSZE: size in blocks. Zero, like all other fields, if the namespace is not active.
    pub size_blocks: u64,
    /// NCAP: blocks that can be allocated at a time.
    pub capacity_blocks: u64,
    /// NUSE: blocks that are allocated.
    pub used_blocks: u64,
    /// NSFEAT: bit 0 thin provisioning, bit 4 [`NamespaceOptimum`].
    pub features: u8,
    /// NLBAF: number of formats, 0's based.
    pub formats: u8,
    /// FLBAS: bits 3:0, the format in use.
    pub format: u8,
    /// DLFEAT: bits 2:0, what deallocated blocks read as (1 is zeroes); bit 3, Write Zeroes
    /// deallocates.
    pub deallocation: u8,
    /// Sets and groups that it belongs to.
    pub owner: NamespaceOwner,
    /// Optimal writes.
    pub optimum: NamespaceOptimum,
    /// NGUID: has to differ from all others of the host, or be zero.
    pub nguid: [u8; 16],
    /// EUI64: has to differ from all others of the host, or be zero.
    pub eui64: [u8; 8],
    /// LBAF.
    pub lba_formats: [LbaFormat; LBA_FORMATS],
}

structure! { IdentifyNamespace, IDENTIFY_BYTES;
    size_blocks: "NSZE" @ 0,
    capacity_blocks: "NCAP" @ 8,
    used_blocks: "NUSE" @ 16,
    features: "NSFEAT" @ 24,
    formats: "NLBAF" @ 25,
    format: "FLBAS" @ 26,
    deallocation: "DLFEAT" @ 33,
    owner: "" @ 0,
    optimum: "" @ 0,
    nguid: "NGUID" @ 104,
    eui64: "EUI64" @ 120,
    lba_formats: "LBAF" @ 128,
}

impl IdentifyNamespace {
    /// Bytes of a logical block in the format in use; `None` if the format is not valid.
    #[must_use]
    pub fn block_bytes(&self) -> Option<u64> {
        let index = FORMAT_INDEX.get32(self.format.into()) as usize;
        let shift = self.lba_formats[index].data_shift;
        (9..64).contains(&shift).then(|| 1 << shift)
    }
}
