//! Format of the journal: its header blocks, and the records of one drive.

use super::super::block::{BLOCK_BYTES, array, get_u32, get_u64, is_sealed, put, seal};
use super::super::drive_set::DriveSet;
use super::super::uuid::Uuid;
use super::{Content, Part};
use alloc::vec;
use alloc::vec::Vec;
use units::DriveId;

/// Most parts of a record.
pub const PARTS_MAX: usize = (BLOCK_BYTES - PARTS_AT) / PART_BYTES;

const HEADER_MAGIC: [u8; 8] = *b"ioda\0jrn";
const RECORD_MAGIC: [u8; 8] = *b"ioda\0log";
/// Magic of an older format, in which drives shared records.
const SHARED_MAGIC: [u8; 8] = *b"ioda\0rec";
const SUM_AT: usize = 8;
const PARTS_AT: usize = 80;
const PART_BYTES: usize = 16;
/// Bound of the numbers of headers and batches: they begin at 1, and a start skips 2^32.
const NUMBER_MAX: u64 = 1 << 62;
/// Flag in the length of a part: the part is zeros, which the record does not hold.
const ZEROS: u64 = 1;

/// Content of a header block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) number: u64,
    /// Number of the first batch that counts.
    pub(super) base: u64,
}

impl Header {
    pub(super) fn encode(self, uuid: Uuid) -> Vec<u8> {
        let mut block = vec![0; BLOCK_BYTES];
        put(&mut block, 0, &HEADER_MAGIC);
        put(&mut block, 16, &uuid.0);
        put(&mut block, 32, &self.number.to_le_bytes());
        put(&mut block, 40, &self.base.to_le_bytes());
        seal(&mut block, SUM_AT);
        block
    }

    /// Decodes a header; `None` also if its numbers are too high, because counting on from them
    /// would overflow.
    pub(super) fn decode(block: &[u8], uuid: Uuid) -> Option<Self> {
        let header = Self { number: get_u64(block, 32), base: get_u64(block, 40) };
        let is_possible = header.number.max(header.base) < NUMBER_MAX;
        (is_possible && is_ours(block, HEADER_MAGIC, uuid)).then_some(header)
    }
}

fn is_ours(block: &[u8], magic: [u8; 8], uuid: Uuid) -> bool {
    block[..8] == magic && is_sealed(block, SUM_AT) && array::<16>(block, 16) == uuid.0
}

/// Number of a record of the older format; `None` if none begins here.
pub(super) fn shared_record(block: &[u8], uuid: Uuid) -> Option<u64> {
    is_ours(block, SHARED_MAGIC, uuid).then(|| get_u64(block, 32))
}

/// The first block of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordHead {
    pub(super) drive: DriveId,
    pub(super) sequence: u64,
    /// Number of the record before it in the same half of the same drive; 0 for the first.
    pub(super) previous: u64,
    /// Drives that have records of this batch.
    pub(super) participants: DriveSet,
}

impl RecordHead {
    /// Encodes the record with its data.
    pub(super) fn encode(&self, uuid: Uuid, parts: &[&Part<'_>]) -> Vec<u8> {
        let mut encoded = vec![0; record_bytes(parts)];
        let (block, data) = encoded.split_at_mut(BLOCK_BYTES);
        let mut at = 0;
        for (index, part) in parts.iter().enumerate() {
            let length = match part.content {
                Content::Bytes(bytes) => {
                    put(data, at, bytes);
                    at += bytes.len();
                    bytes.len() as u64
                }
                Content::Zeros { bytes } => bytes | ZEROS,
            };
            let entry = PARTS_AT + index * PART_BYTES;
            put(block, entry, &part.offset_bytes.to_le_bytes());
            put(block, entry + 8, &length.to_le_bytes());
        }
        put(block, 0, &RECORD_MAGIC);
        put(block, 12, &crc32fast::hash(data).to_le_bytes());
        put(block, 16, &uuid.0);
        put(block, 32, &self.sequence.to_le_bytes());
        put(block, 40, &(data.len() as u64).to_le_bytes());
        put(block, 48, &(parts.len() as u32).to_le_bytes());
        block[52] = self.drive.0;
        put(block, 56, &self.participants.bits().to_le_bytes());
        put(block, 64, &self.previous.to_le_bytes());
        seal(block, SUM_AT);
        encoded
    }
}

/// Length of a record, in bytes, with its first block.
pub(super) fn record_bytes(parts: &[&Part<'_>]) -> usize {
    let held = parts.iter().map(|part| match part.content {
        Content::Bytes(bytes) => bytes.len(),
        Content::Zeros { .. } => 0,
    });
    BLOCK_BYTES + held.sum::<usize>()
}

/// Bytes of data behind the first block of a record; `None` if it cannot be one of `drive`.
pub(super) fn data_bytes(block: &[u8], uuid: Uuid, drive: DriveId) -> Option<usize> {
    let bytes = usize::try_from(get_u64(block, 40)).ok()?;
    let is_whole = bytes.is_multiple_of(BLOCK_BYTES);
    (is_whole && block[52] == drive.0 && is_ours(block, RECORD_MAGIC, uuid)).then_some(bytes)
}

/// A part of a record that was read: a write to the drive of the record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundPart {
    /// First byte on the drive.
    pub offset_bytes: u64,
    /// New content.
    pub content: FoundContent,
}

/// Content of a part of a record that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundContent {
    /// These bytes, whole blocks.
    Bytes(Vec<u8>),
    /// Zeros.
    Zeros {
        /// Number of bytes.
        bytes: u64,
    },
}

impl FoundPart {
    /// Number of bytes.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        match &self.content {
            FoundContent::Bytes(bytes) => bytes.len() as u64,
            FoundContent::Zeros { bytes } => *bytes,
        }
    }
}

/// Decodes the record of a drive that begins here. Returns its head, its parts, and the bytes
/// behind it.
pub(super) fn decode(
    bytes: &[u8],
    uuid: Uuid,
    drive: DriveId,
) -> Option<(RecordHead, Vec<FoundPart>, &[u8])> {
    let (block, rest) = bytes.split_at_checked(BLOCK_BYTES)?;
    let (data, after) = rest.split_at_checked(data_bytes(block, uuid, drive)?)?;
    let count = get_u32(block, 48) as usize;
    if count > PARTS_MAX || crc32fast::hash(data) != get_u32(block, 12) {
        return None;
    }
    let mut left = data;
    let mut parts = Vec::with_capacity(count);
    for index in 0..count {
        let entry = PARTS_AT + index * PART_BYTES;
        let length = get_u64(block, entry + 8);
        let content = if length & ZEROS == ZEROS {
            FoundContent::Zeros { bytes: length - ZEROS }
        } else {
            let (bytes, later) = left.split_at_checked(usize::try_from(length).ok()?)?;
            left = later;
            FoundContent::Bytes(bytes.to_vec())
        };
        parts.push(FoundPart { offset_bytes: get_u64(block, entry), content });
    }
    let head = RecordHead {
        drive,
        sequence: get_u64(block, 32),
        previous: get_u64(block, 64),
        participants: DriveSet::from_bits(get_u64(block, 56)),
    };
    Some((head, parts, after))
}

/// Length of a record that was read, in bytes, with its first block.
pub(super) fn found_bytes(parts: &[FoundPart]) -> usize {
    let held = parts.iter().map(|part| match &part.content {
        FoundContent::Bytes(bytes) => bytes.len(),
        FoundContent::Zeros { .. } => 0,
    });
    BLOCK_BYTES + held.sum::<usize>()
}

/// Returns the records of a half, as far as each names the one before it.
pub(super) fn records_of(
    half: &[u8],
    uuid: Uuid,
    drive: DriveId,
) -> impl Iterator<Item = (RecordHead, Vec<FoundPart>)> {
    let (mut rest, mut previous) = (half, 0);
    core::iter::from_fn(move || {
        let (head, parts, after) = decode(rest, uuid, drive)?;
        let is_possible = head.sequence > previous && head.sequence < NUMBER_MAX;
        if head.previous != previous || !is_possible {
            return None;
        }
        (rest, previous) = (after, head.sequence);
        Some((head, parts))
    })
}
