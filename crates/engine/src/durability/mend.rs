//! Gaps of the journal, filled with content that is reconstructed from the other drives.
//!
//! A drive that lacks its record of a batch may have lost it to a flipped bit after a flush was
//! answered. So the batch counts if the drive's part of it can be reconstructed:
//!
//! 1. On each row that the batch touches on any drive, the drive with the gap may have changed too.
//!    Its blocks on those rows are unknown, whatever they hold.
//! 2. The newest content of a block of another drive is that of its last record. Without a record,
//!    it is the block in place, if its sum fits. Together these are the rows behind the last batch,
//!    so parity fits.
//! 3. The blocks of step 1 are reconstructed from those of step 2, and become the missing record.
//!    It is stable before any batch is replayed: a start that is cut short, and a next start that
//!    lacks another drive, then find a complete batch.
//!
//! A block with a lost or wrong checksum in place is reconstructed by every read, whatever the
//! record says. Such blocks are left out of a record that has no room for them.
//!
//! Parity fits everywhere after a crash only in arrays that always write the journal
//! ([`Journalled::Always`](super::superblock::Journalled::Always)).

use super::block::BLOCK_BYTES;
use super::disk::Disk;
use super::journal::{
    Content as PartContent, FoundContent, FoundPart, Gap, HeadWrite, Part, Record, Replay,
};
use super::rows::{Content, Row, Rows};
use super::setup::{Setup, Sizes};
use super::uuid::Uuid;
use crate::planted::Bug;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use units::DriveId;

/// A block of a drive.
type Place = (DriveId, u64);

/// Newest content of blocks by the records; `None` stands for zeros.
type Newest<'a> = BTreeMap<Place, Option<&'a [u8]>>;

/// Records that fill the gaps of a journal.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// Writes of the missing records. They must be stable before any record is replayed.
    pub(super) writes: Vec<(DriveId, HeadWrite)>,
    /// The missing records.
    pub(super) records: Vec<Record>,
}

/// Returns the records that fill all gaps; `None` if too much is missing for that.
pub(super) fn fill<D: Disk>(
    rows: &mut Rows<'_, D>,
    replay: &Replay,
    uuid: Uuid,
    setup: &Setup,
) -> Option<Filled> {
    let Setup { sizes, planted, .. } = setup;
    let (mut newest, unknown) = newest(rows, replay);
    if planted.has(Bug::GapFromOldPages) {
        newest.clear();
    }
    let mut by_gap: BTreeMap<usize, BTreeMap<u64, Content>> = BTreeMap::new();
    for (&(drive, block), &(row, gap)) in &unknown {
        let content = rows.reconstruct(row, drive, |rows, member, block| {
            let place = (member, block);
            if unknown.contains_key(&place) && !planted.has(Bug::GapFromUnknownPages) {
                return None;
            }
            written_again(rows, &newest, place)
        })?;
        by_gap.entry(gap).or_default().insert(block, content);
    }
    let mut filled = Filled::default();
    for (number, gap) in replay.gaps.iter().enumerate() {
        let all = by_gap.remove(&number).unwrap_or_default();
        let (mut changed, mut needed) = (all.clone(), all.clone());
        for (&block, content) in &all {
            let found = written_again(rows, &newest, (gap.drive, block));
            if found.as_ref() == Some(content) {
                changed.remove(&block);
            }
            if found.is_none_or(|found| found == *content) {
                needed.remove(&block);
            }
        }
        // The bytes of a half and the parts of a record are limited. Zeros take no bytes. Blocks
        // that need not be written may join those around them to fewer parts.
        let of_zeros = [&changed, &needed].map(|blocks| parts(blocks, Zeros::Apart));
        let joined = [&changed, &needed, &all].map(|blocks| parts(blocks, Zeros::Joined));
        of_zeros.into_iter().chain(joined).find_map(|parts| filled.add(gap, parts, uuid, sizes))?;
    }
    Some(filled)
}

/// Returns the content of a block after the replay of the records found; `None` if it is unknown.
fn written_again<D: Disk>(
    rows: &mut Rows<'_, D>,
    newest: &Newest<'_>,
    place: Place,
) -> Option<Content> {
    match newest.get(&place) {
        Some(Some(bytes)) => Some(bytes.to_vec()),
        Some(None) => Some(vec![0; BLOCK_BYTES]),
        None => rows.in_place(place.0, place.1),
    }
}

/// Returns the newest content of blocks, and the blocks that a gap leaves unknown, with their row
/// and the number of the gap.
fn newest<'a, D: Disk>(
    rows: &Rows<'_, D>,
    replay: &'a Replay,
) -> (Newest<'a>, BTreeMap<Place, (Row, usize)>) {
    let mut gaps: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (number, gap) in replay.gaps.iter().enumerate() {
        gap.sequences().for_each(|sequence| gaps.entry(sequence).or_default().push(number));
    }
    let mut newest = Newest::new();
    let mut unknown: BTreeMap<Place, (Row, usize)> = BTreeMap::new();
    for batch in replay.records.chunk_by(|one, two| one.sequence == two.sequence) {
        let mut touched: BTreeSet<Row> = BTreeSet::new();
        for record in batch {
            for (block, content) in record.parts.iter().flat_map(blocks) {
                let place = (record.drive, block);
                newest.insert(place, content);
                unknown.remove(&place);
                touched.extend(rows.row_of(record.drive, block));
            }
        }
        let lacking = batch.first().and_then(|record| gaps.get(&record.sequence));
        for &number in lacking.into_iter().flatten() {
            let drive = replay.gaps[number].drive;
            for &row in touched.iter().filter(|row| rows.is_member(**row, drive)) {
                let place = (drive, rows.block_of(row, drive));
                unknown.insert(place, (row, number));
            }
        }
    }
    (newest, unknown)
}

/// Returns the blocks of a part; `None` stands for zeros.
fn blocks(part: &FoundPart) -> impl Iterator<Item = (u64, Option<&[u8]>)> {
    let first = part.offset_bytes / BLOCK_BYTES as u64;
    let count = part.length_bytes() / BLOCK_BYTES as u64;
    (0..count).map(move |index| {
        let start = index as usize * BLOCK_BYTES;
        let content = match &part.content {
            FoundContent::Bytes(bytes) => Some(&bytes[start..start + BLOCK_BYTES]),
            FoundContent::Zeros { .. } => None,
        };
        (first + index, content)
    })
}

/// Encoding of blocks of zeros in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zeros {
    /// As parts of their own, which give their length only.
    Apart,
    /// As bytes among those of other blocks.
    Joined,
}

/// Returns blocks as parts of a record: one part for each run.
fn parts(blocks: &BTreeMap<u64, Content>, zeros: Zeros) -> Vec<FoundPart> {
    let mut parts: Vec<FoundPart> = Vec::new();
    for (&block, content) in blocks {
        let offset_bytes = block * BLOCK_BYTES as u64;
        let last = parts.last_mut();
        let last = last.filter(|last| last.offset_bytes + last.length_bytes() == offset_bytes);
        let is_zeros = zeros == Zeros::Apart && content.iter().all(|&byte| byte == 0);
        match (last.map(|last| &mut last.content), is_zeros) {
            (Some(FoundContent::Bytes(bytes)), false) => bytes.extend_from_slice(content),
            (Some(FoundContent::Zeros { bytes }), true) => *bytes += BLOCK_BYTES as u64,
            (_, true) => {
                let content = FoundContent::Zeros { bytes: BLOCK_BYTES as u64 };
                parts.push(FoundPart { offset_bytes, content });
            }
            (_, false) => {
                let content = FoundContent::Bytes(content.clone());
                parts.push(FoundPart { offset_bytes, content });
            }
        }
    }
    parts
}

impl Filled {
    /// Adds the records of a gap; `None` if its half has no room for them.
    fn add(&mut self, gap: &Gap, parts: Vec<FoundPart>, uuid: Uuid, sizes: &Sizes) -> Option<()> {
        let encoded = parts.iter().map(|part| Part {
            drive: gap.drive,
            offset_bytes: part.offset_bytes,
            content: match &part.content {
                FoundContent::Bytes(bytes) => PartContent::Bytes(bytes),
                FoundContent::Zeros { bytes } => PartContent::Zeros { bytes: *bytes },
            },
        });
        let write = gap.fill(uuid, sizes, &encoded.collect::<Vec<_>>())?;
        self.writes.push((gap.drive, write));
        let sequence = gap.sequences().next()?;
        self.records.push(Record { sequence, drive: gap.drive, parts });
        Some(())
    }
}
