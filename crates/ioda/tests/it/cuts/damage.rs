//! Damage to drives between a crash and the next start: heads, records of the journal, checksums
//! and data.
#![allow(clippy::unwrap_used, reason = "a test without its files fails")]

use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use engine::durability::superblock::COPIES_AT;
use engine::durability::{HEAD_BYTES, Superblock};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use units::Rng;

const BLOCK: u64 = 4096;
/// First bytes of a record of the journal.
const RECORD_MAGIC: &[u8] = b"ioda\0log";
/// Place of the sequence of a record in its first block, and of the bytes behind that block.
const SEQUENCE_AT: usize = 32;

/// Part of a drive that holds something else after a crash than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    /// The newer of the two superblocks.
    Superblock,
    /// Both superblocks.
    Superblocks,
    /// A block of the intent record.
    Intent,
    /// Both headers of the journal.
    Headers,
    /// The newest record of the journal.
    NewestRecord,
    /// A block of the journal that holds anything.
    Journal,
    /// A block of checksums.
    Table,
    /// Some pages.
    Pages,
    /// Everything behind the head.
    Overwritten,
}

impl Damage {
    /// Damage that an array with copies finds out after a crash: it believes data that it was
    /// writing.
    pub(crate) const OF_HEADS: [Self; 3] = [Self::Superblock, Self::Superblocks, Self::Intent];
    pub(crate) const ALL: [Self; 9] = [
        Self::Superblock,
        Self::Superblocks,
        Self::Intent,
        Self::Headers,
        Self::NewestRecord,
        Self::Journal,
        Self::Table,
        Self::Pages,
        Self::Overwritten,
    ];

    /// Damages the drive in the file `path`. A drive without a superblock stays as it is.
    pub(crate) fn strike(self, path: &Path, random: &mut Rng) {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let copies = COPIES_AT.map(|at| {
            let block: [u8; BLOCK as usize] = block(&file, at).try_into().unwrap();
            Superblock::decode(&block).ok()
        });
        let newer = usize::from(
            copies[1].as_ref().map(|copy| copy.generation)
                > copies[0].as_ref().map(|copy| copy.generation),
        );
        let Some(superblock) = &copies[newer] else { return };
        let data_end = HEAD_BYTES + superblock.geometry.drive_bytes;
        let table = data_end..HEAD_BYTES + superblock.geometry.stored_bytes();
        match self {
            Self::Superblock => harm(&file, COPIES_AT[newer], random),
            Self::Superblocks => COPIES_AT.into_iter().for_each(|at| harm(&file, at, random)),
            Self::Intent => harm(&file, INTENT_OFFSET_BYTES, random),
            Self::Headers => {
                let copies = [JOURNAL_OFFSET_BYTES, JOURNAL_OFFSET_BYTES + BLOCK];
                copies.into_iter().for_each(|at| harm(&file, at, random));
            }
            Self::NewestRecord => {
                if let Some(at) = newest_record(&file) {
                    harm(&file, at + random.below(2) * BLOCK, random);
                }
            }
            Self::Journal => {
                let used = used_blocks(&file, JOURNAL_OFFSET_BYTES..HEAD_BYTES);
                if !used.is_empty() {
                    harm(&file, used[random.below(used.len() as u64) as usize], random);
                }
            }
            Self::Table => harm(&file, pick(&table, random), random),
            Self::Pages => {
                for _ in 0..1 + random.below(64) {
                    harm(&file, pick(&(HEAD_BYTES..data_end), random), random);
                }
            }
            Self::Overwritten => {
                for at in used_blocks(&file, HEAD_BYTES..table.end) {
                    file.write_all_at(&garbage(random), at).unwrap();
                }
            }
        }
        file.sync_all().unwrap();
    }
}

/// The block at `at`; zeros behind the end of the file.
fn block(file: &File, at: u64) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK as usize];
    let mut done = 0;
    while let Ok(count @ 1..) = file.read_at(&mut bytes[done..], at + done as u64) {
        done += count;
    }
    bytes
}

fn used_blocks(file: &File, bytes: Range<u64>) -> Vec<u64> {
    let blocks = bytes.step_by(BLOCK as usize);
    blocks.filter(|at| block(file, *at).iter().any(|&byte| byte != 0)).collect()
}

fn newest_record(file: &File) -> Option<u64> {
    let blocks = (JOURNAL_OFFSET_BYTES..HEAD_BYTES).step_by(BLOCK as usize);
    let sequence = |at: u64| {
        let bytes = block(file, at);
        let sequence = bytes[SEQUENCE_AT..SEQUENCE_AT + 8].try_into().unwrap();
        bytes.starts_with(RECORD_MAGIC).then(|| u64::from_le_bytes(sequence))
    };
    blocks.filter_map(|at| Some((sequence(at)?, at))).max().map(|(_, at)| at)
}

fn pick(bytes: &Range<u64>, random: &mut Rng) -> u64 {
    bytes.start + random.below((bytes.end - bytes.start) / BLOCK) * BLOCK
}

fn garbage(random: &mut Rng) -> Vec<u8> {
    (0..BLOCK / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

/// One bit of a block flips, one sector of it is lost, or all of it is something else.
fn harm(file: &File, at: u64, random: &mut Rng) {
    let mut bytes = block(file, at);
    match random.below(3) {
        0 => bytes[random.below(BLOCK) as usize] ^= 1 << random.below(8),
        1 => bytes[random.below(BLOCK / 512) as usize * 512..][..512].fill(0),
        _ => bytes = garbage(random),
    }
    file.write_all_at(&bytes, at).unwrap();
}
