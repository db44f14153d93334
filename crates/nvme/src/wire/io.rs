//! Commands of I/O queues: the NVM command set.

use super::field::Bits;
use super::ioda;
use super::reservation::ReservationCommand;
use super::submission::{CommonFields, SubmissionEntry};
use crate::PlFlag;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const COMPARE: u8 = 0x05;
const WRITE_ZEROES: u8 = 0x08;
const DATASET_MANAGEMENT: u8 = 0x09;

// CDW12 of commands with a range of blocks; CDW10 and CDW11 are the first block.
const NLB: Bits = Bits::new(15, 0);
const DEAC: Bits = Bits::bit(25);
const FUA: Bits = Bits::bit(30);
const LR: Bits = Bits::bit(31);
// CDW13.
const DSM: Bits = Bits::new(7, 0);
// CDW10 and CDW11 of Dataset Management.
const NR: Bits = Bits::new(7, 0);
const IDR: Bits = Bits::bit(0);
const IDW: Bits = Bits::bit(1);
const AD: Bits = Bits::bit(2);

/// A number of logical blocks, 1 to 65536. On the wire it is 0's based.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockCount(u16);

impl BlockCount {
    /// A number of blocks; `None` if it is not 1 to 65536.
    #[must_use]
    pub fn new(blocks: u32) -> Option<Self> {
        Some(Self(u16::try_from(blocks.checked_sub(1)?).ok()?))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0 as u32 + 1
    }

    const fn from_cdw12(cdw12: u32) -> Self {
        Self(NLB.get32(cdw12) as u16)
    }

    const fn cdw12(self) -> u32 {
        NLB.put32(self.0 as u32)
    }
}

/// Consecutive logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRange {
    /// SLBA: the first block, in the namespace's format.
    pub lba: u64,
    /// NLB: number of blocks.
    pub blocks: BlockCount,
}

impl BlockRange {
    /// The block behind the last one; `None` if its number overflows, so that the range is outside
    /// of every namespace ([`LbaOutOfRange`](super::StatusCode::LbaOutOfRange)).
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        self.lba.checked_add(self.blocks.get() as u64)
    }

    const fn decode(entry: &SubmissionEntry) -> Self {
        let lba = entry.cdw(10) as u64 | (entry.cdw(11) as u64) << 32;
        Self { lba, blocks: BlockCount::from_cdw12(entry.cdw(12)) }
    }

    const fn encode(&self, entry: &mut SubmissionEntry) {
        entry.set_cdw(10, self.lba as u32);
        entry.set_cdw(11, (self.lba >> 32) as u32);
        entry.set_cdw(12, self.blocks.cdw12());
    }
}

/// Fields of a read, a write or a compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The blocks.
    pub range: BlockRange,
    /// CDW2 bits 31:30: IODA's flag. To be treated as [`PlFlag::Off`] from a host that has not
    /// requested IODA.
    pub pl: PlFlag,
    /// FUA: complete the command when its data is on stable storage.
    pub force_unit_access: bool,
    /// LR: limited retries. Linux sets it for read-ahead.
    pub limited_retry: bool,
    /// DSM: hints about frequency and latency of access. Linux sets 7 for read-ahead.
    pub hints: u8,
}

impl Transfer {
    /// A transfer of these blocks, without flags and hints.
    #[must_use]
    pub const fn new(range: BlockRange) -> Self {
        let pl = PlFlag::Off;
        Self { range, pl, force_unit_access: false, limited_retry: false, hints: 0 }
    }

    const fn decode(entry: &SubmissionEntry) -> Self {
        let cdw12 = entry.cdw(12);
        Self {
            range: BlockRange::decode(entry),
            pl: ioda::flag_of_command(entry.cdw2),
            force_unit_access: FUA.is_set32(cdw12),
            limited_retry: LR.is_set32(cdw12),
            hints: DSM.get32(entry.cdw(13)) as u8,
        }
    }

    const fn encode(&self, opcode: u8, common: CommonFields) -> SubmissionEntry {
        let mut entry = SubmissionEntry::new(opcode, common);
        entry.cdw2 = ioda::cdw2_of_flag(self.pl);
        self.range.encode(&mut entry);
        let flags = FUA.flag32(self.force_unit_access) | LR.flag32(self.limited_retry);
        entry.set_cdw(12, entry.cdw(12) | flags);
        entry.set_cdw(13, DSM.put32(self.hints as u32));
        entry
    }
}

/// Fields of Write Zeroes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteZeroes {
    /// The blocks.
    pub range: BlockRange,
    /// DEAC: the blocks may be deallocated, if they read as zeroes afterwards.
    pub deallocate: bool,
    /// FUA: complete the command when its data is on stable storage.
    pub force_unit_access: bool,
    /// LR: limited retries.
    pub limited_retry: bool,
}

/// Fields of Dataset Management; its [`DatasetRange`](super::DatasetRange)s are its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatasetManagement {
    /// NR, here not 0's based: 1 to 256 ranges. A higher value is written as 256.
    pub ranges: u16,
    /// AD: deallocate the blocks.
    pub deallocate: bool,
    /// IDR: a hint that the ranges will be read together.
    pub read_together: bool,
    /// IDW: a hint that the ranges will be written together.
    pub write_together: bool,
}

/// A command of an I/O queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoCommand {
    /// 00h: put all written data on stable storage.
    Flush,
    /// 01h.
    Write(Transfer),
    /// 02h.
    Read(Transfer),
    /// 05h: compare the blocks with the data of the command.
    Compare(Transfer),
    /// 08h.
    WriteZeroes(WriteZeroes),
    /// 09h.
    DatasetManagement(DatasetManagement),
    /// 0Dh, 0Eh, 11h and 15h.
    Reservation(ReservationCommand),
    /// Any other: the answer is [`InvalidOpcode`](super::StatusCode::InvalidOpcode).
    Unsupported {
        /// Its opcode; never one of the above after decoding.
        opcode: u8,
    },
}

impl IoCommand {
    /// Decodes an entry of an I/O queue. Fabrics commands (7Fh) come on I/O queues too, and have to
    /// be checked for first.
    #[must_use]
    pub const fn decode(entry: &SubmissionEntry) -> Self {
        match entry.opcode {
            FLUSH => Self::Flush,
            WRITE => Self::Write(Transfer::decode(entry)),
            READ => Self::Read(Transfer::decode(entry)),
            COMPARE => Self::Compare(Transfer::decode(entry)),
            WRITE_ZEROES => Self::WriteZeroes(WriteZeroes {
                range: BlockRange::decode(entry),
                deallocate: DEAC.is_set32(entry.cdw(12)),
                force_unit_access: FUA.is_set32(entry.cdw(12)),
                limited_retry: LR.is_set32(entry.cdw(12)),
            }),
            DATASET_MANAGEMENT => Self::DatasetManagement(DatasetManagement {
                ranges: NR.get32(entry.cdw(10)) as u16 + 1,
                deallocate: AD.is_set32(entry.cdw(11)),
                read_together: IDR.is_set32(entry.cdw(11)),
                write_together: IDW.is_set32(entry.cdw(11)),
            }),
            opcode => match ReservationCommand::decode(entry) {
                Some(command) => Self::Reservation(command),
                None => Self::Unsupported { opcode },
            },
        }
    }

    /// Encodes the command as an entry.
    #[must_use]
    pub fn encode(&self, common: CommonFields) -> SubmissionEntry {
        match self {
            Self::Flush => SubmissionEntry::new(FLUSH, common),
            Self::Write(transfer) => transfer.encode(WRITE, common),
            Self::Read(transfer) => transfer.encode(READ, common),
            Self::Compare(transfer) => transfer.encode(COMPARE, common),
            Self::WriteZeroes(zeroes) => {
                let mut entry = SubmissionEntry::new(WRITE_ZEROES, common);
                zeroes.range.encode(&mut entry);
                let flags = DEAC.flag32(zeroes.deallocate)
                    | FUA.flag32(zeroes.force_unit_access)
                    | LR.flag32(zeroes.limited_retry);
                entry.set_cdw(12, entry.cdw(12) | flags);
                entry
            }
            Self::DatasetManagement(management) => {
                let mut entry = SubmissionEntry::new(DATASET_MANAGEMENT, common);
                let ranges = u32::from(management.ranges).clamp(1, 256);
                entry.set_cdw(10, NR.put32(ranges - 1));
                let attributes = AD.flag32(management.deallocate)
                    | IDR.flag32(management.read_together)
                    | IDW.flag32(management.write_together);
                entry.set_cdw(11, attributes);
                entry
            }
            Self::Reservation(command) => command.encode(common),
            Self::Unsupported { opcode } => SubmissionEntry::new(*opcode, common),
        }
    }
}
