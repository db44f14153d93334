//! CNS 00h: what a namespace is (offsets as in libnvme's `struct nvme_id_ns`).

use super::IDENTIFY_BYTES;
use crate::wire::field::{Bits, get, get_u16, get_u32, get_u64, put, put_u16, put_u32, put_u64};

const NSZE: usize = 0;
const NCAP: usize = 8;
const NUSE: usize = 16;
const NSFEAT: usize = 24;
const NLBAF: usize = 25;
const FLBAS: usize = 26;
const NMIC: usize = 30;
const RESCAP: usize = 31;
const DLFEAT: usize = 33;
const NPWG: usize = 64;
const NPWA: usize = 66;
const NPDG: usize = 68;
const NPDA: usize = 70;
const NOWS: usize = 72;
const ANAGRPID: usize = 92;
const NVMSETID: usize = 100;
const ENDGID: usize = 102;
const NGUID: usize = 104;
const EUI64: usize = 120;
const LBAF: usize = 128;
const LBAF_BYTES: usize = 4;

/// LBA formats of a namespace: as many as 1.4 has (2.0 has 64).
pub const LBA_FORMATS: usize = 16;

const FORMAT_INDEX: Bits = Bits::new(3, 0);

/// A format of logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LbaFormat {
    /// MS: bytes of metadata of each block.
    pub metadata_bytes: u16,
    /// LBADS: a block has `2^n` bytes, n at least 9; 0 is a format that there is not.
    pub data_shift: u8,
    /// RP: 0 is the fastest. The byte as it is.
    pub performance: u8,
}

/// To which sets and groups a namespace belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamespaceOwner {
    /// NMIC @30: bit 0, several controllers can have it.
    pub shared: u8,
    /// RESCAP @31: what of reservations there is, bits of [`rescap`](crate::wire::rescap); 0 is
    /// nothing.
    pub reservations: u8,
    /// ANAGRPID @92.
    pub ana_group: u32,
    /// NVMSETID @100: the NVM Set, whose windows are its windows.
    pub nvm_set: u16,
    /// ENDGID @102.
    pub endurance_group: u16,
}

/// What writes are good; in blocks and 0's based, if bit 4 of NSFEAT is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NamespaceOptimum {
    /// NPWG @64: granularity of writes.
    pub write_granularity: u16,
    /// NPWA @66: alignment of writes.
    pub write_alignment: u16,
    /// NPDG @68: granularity of deallocation.
    pub deallocate_granularity: u16,
    /// NPDA @70: alignment of deallocation.
    pub deallocate_alignment: u16,
    /// NOWS @72: size of writes.
    pub write_size: u16,
}

/// What Identify returns about a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IdentifyNamespace {
    /// NSZE @0: blocks that it has. Zero, as everything else, if it is not active.
    pub size_blocks: u64,
    /// NCAP @8: blocks that can be allocated at a time.
    pub capacity_blocks: u64,
    /// NUSE @16: blocks that are.
    pub used_blocks: u64,
    /// NSFEAT @24: bit 0 thin provisioning, bit 4 [`NamespaceOptimum`].
    pub features: u8,
    /// NLBAF @25: formats that there are, 0's based.
    pub formats: u8,
    /// FLBAS @26: bits 3:0 the format in use.
    pub format: u8,
    /// DLFEAT @33: bits 2:0 what deallocated blocks read as, 1 is zeroes; bit 3 Write Zeroes
    /// deallocates.
    pub deallocation: u8,
    /// To whom it belongs.
    pub owner: NamespaceOwner,
    /// What writes are good.
    pub optimum: NamespaceOptimum,
    /// NGUID @104: has to differ from that of all others of the host, or be zero.
    pub nguid: [u8; 16],
    /// EUI64 @120: the same.
    pub eui64: [u8; 8],
    /// LBAF @128.
    pub lba_formats: [LbaFormat; LBA_FORMATS],
}

impl IdentifyNamespace {
    /// Bytes of a logical block in the format in use; none if there is no such block.
    #[must_use]
    pub fn block_bytes(&self) -> Option<u64> {
        let index = FORMAT_INDEX.get32(self.format.into()) as usize;
        let shift = self.lba_formats[index].data_shift;
        (9..64).contains(&shift).then(|| 1 << shift)
    }

    /// Reads what Identify returned.
    #[must_use]
    pub fn decode(data: &[u8; IDENTIFY_BYTES]) -> Self {
        Self {
            size_blocks: get_u64(data, NSZE),
            capacity_blocks: get_u64(data, NCAP),
            used_blocks: get_u64(data, NUSE),
            features: data[NSFEAT],
            formats: data[NLBAF],
            format: data[FLBAS],
            deallocation: data[DLFEAT],
            owner: NamespaceOwner {
                shared: data[NMIC],
                reservations: data[RESCAP],
                ana_group: get_u32(data, ANAGRPID),
                nvm_set: get_u16(data, NVMSETID),
                endurance_group: get_u16(data, ENDGID),
            },
            optimum: NamespaceOptimum {
                write_granularity: get_u16(data, NPWG),
                write_alignment: get_u16(data, NPWA),
                deallocate_granularity: get_u16(data, NPDG),
                deallocate_alignment: get_u16(data, NPDA),
                write_size: get_u16(data, NOWS),
            },
            nguid: get(data, NGUID),
            eui64: get(data, EUI64),
            lba_formats: core::array::from_fn(|number| {
                let [low, high, data_shift, performance] = get(data, LBAF + LBAF_BYTES * number);
                let metadata_bytes = u16::from_le_bytes([low, high]);
                LbaFormat { metadata_bytes, data_shift, performance }
            }),
        }
    }

    /// What Identify returns.
    #[must_use]
    pub fn encode(&self) -> [u8; IDENTIFY_BYTES] {
        let mut data = [0; IDENTIFY_BYTES];
        put_u64(&mut data, NSZE, self.size_blocks);
        put_u64(&mut data, NCAP, self.capacity_blocks);
        put_u64(&mut data, NUSE, self.used_blocks);
        data[NSFEAT] = self.features;
        data[NLBAF] = self.formats;
        data[FLBAS] = self.format;
        data[DLFEAT] = self.deallocation;
        data[NMIC] = self.owner.shared;
        data[RESCAP] = self.owner.reservations;
        put_u32(&mut data, ANAGRPID, self.owner.ana_group);
        put_u16(&mut data, NVMSETID, self.owner.nvm_set);
        put_u16(&mut data, ENDGID, self.owner.endurance_group);
        put_u16(&mut data, NPWG, self.optimum.write_granularity);
        put_u16(&mut data, NPWA, self.optimum.write_alignment);
        put_u16(&mut data, NPDG, self.optimum.deallocate_granularity);
        put_u16(&mut data, NPDA, self.optimum.deallocate_alignment);
        put_u16(&mut data, NOWS, self.optimum.write_size);
        put(&mut data, NGUID, &self.nguid);
        put(&mut data, EUI64, &self.eui64);
        for (number, format) in self.lba_formats.iter().enumerate() {
            let [low, high] = format.metadata_bytes.to_le_bytes();
            let bytes = [low, high, format.data_shift, format.performance];
            put(&mut data, LBAF + LBAF_BYTES * number, &bytes);
        }
        data
    }
}
