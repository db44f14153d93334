//! Internal transitions of an array: steps that no client sees, each of which a bug can put in the
//! wrong order.

use super::array::{Bay, Running};
use super::coverage::Coverage;
use super::disk::BLOCK_BYTES;
use array::Level;
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use engine::durability::superblock::COPIES_AT;
use engine::durability::{HEAD_BYTES, Note, Opened, Transitions};
use std::ops::Range;

/// Header blocks of a journal.
const HEADERS: u64 = 2;

/// An internal transition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Transition {
    /// A half of the journal is retired: its batches no longer count.
    HalfRetired,
    /// A retired half of the journal gets batches again.
    HalfRefilled,
    /// A batch is withdrawn: a drive failed before it was stable.
    BatchWithdrawn,
    /// A block of checksums leaves the cache.
    BlockEvicted,
    /// A changed block of checksums is written so that it can leave the cache.
    ChangedBlockEvicted,
    /// A block of checksums is damaged or unreadable.
    TableDamaged,
    /// A block of data whose sum is lost is read.
    LostRead,
    /// A doubtful sum is computed from the data found.
    DoubtTaken,
    /// A page is reconstructed and rewritten.
    PageRepaired,
    /// A start reconstructs a record of the journal that a drive lacks.
    RecordMended,
    /// A start replays the journal.
    RecordsReplayed,
    /// A start leaves out a drive that was overwritten.
    OverwrittenLeftOut,
    /// A start leaves out a drive that missed changes.
    OldLeftOut,
    /// A start resumes a rebuild.
    RebuildResumed,
    /// A drive fails.
    DriveRetired,
    /// A drive is rebuilt.
    DriveRebuilt,
    /// A failed drive is taken back.
    DriveReturned,
    /// The parity or the copies of marked stripes fit again.
    Resynced,
    /// The policy changes.
    PolicySwitched,
    /// A read fails fast at a drive that collects.
    FailedFast,
    /// A command comes to a drive in its busy window.
    MetWindow,
    /// The power fails while superblocks are written.
    CutSuperblock,
    /// The power fails while the write-intent record is written.
    CutIntent,
    /// The power fails while a header of the journal is written.
    CutHeader,
    /// The power fails while a batch of the journal is written.
    CutBatch,
    /// The power fails while checksums are written, or before they are synced.
    CutTable,
}

impl Transition {
    /// All of them.
    pub const ALL: [Self; 26] = [
        Self::HalfRetired,
        Self::HalfRefilled,
        Self::BatchWithdrawn,
        Self::BlockEvicted,
        Self::ChangedBlockEvicted,
        Self::TableDamaged,
        Self::LostRead,
        Self::DoubtTaken,
        Self::PageRepaired,
        Self::RecordMended,
        Self::RecordsReplayed,
        Self::OverwrittenLeftOut,
        Self::OldLeftOut,
        Self::RebuildResumed,
        Self::DriveRetired,
        Self::DriveRebuilt,
        Self::DriveReturned,
        Self::Resynced,
        Self::PolicySwitched,
        Self::FailedFast,
        Self::MetWindow,
        Self::CutSuperblock,
        Self::CutIntent,
        Self::CutHeader,
        Self::CutBatch,
        Self::CutTable,
    ];

    /// Name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HalfRetired => "half retired",
            Self::HalfRefilled => "half refilled",
            Self::BatchWithdrawn => "batch withdrawn",
            Self::BlockEvicted => "block evicted",
            Self::ChangedBlockEvicted => "changed block evicted",
            Self::TableDamaged => "table damaged",
            Self::LostRead => "lost sum reconstructed",
            Self::DoubtTaken => "doubt taken",
            Self::PageRepaired => "page repaired",
            Self::RecordMended => "gap filled at a start",
            Self::RecordsReplayed => "journal replayed",
            Self::OverwrittenLeftOut => "overwritten left out",
            Self::OldLeftOut => "old drive left out",
            Self::RebuildResumed => "rebuild resumed",
            Self::DriveRetired => "drive retired",
            Self::DriveRebuilt => "drive rebuilt",
            Self::DriveReturned => "drive returned",
            Self::Resynced => "resynced",
            Self::PolicySwitched => "policy switched",
            Self::FailedFast => "read failed fast",
            Self::MetWindow => "busy window met",
            Self::CutSuperblock => "superblocks cut",
            Self::CutIntent => "intent cut",
            Self::CutHeader => "journal header cut",
            Self::CutBatch => "batch cut",
            Self::CutTable => "checksums cut",
        }
    }

    /// Returns true if an array of this level can make it.
    pub(super) fn is_possible(self, level: Level) -> bool {
        match self {
            Self::HalfRetired
            | Self::HalfRefilled
            | Self::BatchWithdrawn
            | Self::RecordMended
            | Self::RecordsReplayed
            | Self::CutHeader
            | Self::CutBatch => level.is_redundant() && !level.is_mirrored(),
            _ => true,
        }
    }
}

/// Adds the transitions that the array has counted since its start.
pub(super) fn count_running(array: &Running, coverage: &mut Coverage) {
    let plane = array.volume.engine().plane();
    let Transitions { halves_retired, halves_refilled, batches_withdrawn } =
        plane.transitions().unwrap_or_default();
    let sums = plane.checksums().copied().unwrap_or_default();
    for (transition, times) in [
        (Transition::HalfRetired, halves_retired),
        (Transition::HalfRefilled, halves_refilled),
        (Transition::BatchWithdrawn, batches_withdrawn),
        (Transition::BlockEvicted, sums.evicted),
        (Transition::ChangedBlockEvicted, sums.evicted_changed),
        (Transition::TableDamaged, sums.damaged_tables),
        (Transition::LostRead, sums.lost),
        (Transition::DoubtTaken, sums.accepted),
        (Transition::FailedFast, array.collecting.failed_fast),
        (Transition::MetWindow, array.collecting.met_windows),
    ] {
        coverage.count(transition, times);
    }
}

/// Adds the transitions of a start.
pub(super) fn count_opened<D>(opened: &Opened<D>, coverage: &mut Coverage) {
    let notes = &opened.assembly.notes;
    let noted = |is_it: fn(&Note) -> bool| notes.iter().filter(|note| is_it(note)).count() as u64;
    let overwritten = noted(|note| matches!(note, Note::Overwritten { .. }));
    let old = noted(|note| matches!(note, Note::Stale { .. }));
    coverage.count(Transition::RecordMended, opened.mended as u64);
    coverage.count(Transition::RecordsReplayed, u64::from(opened.replayed > 0));
    coverage.count(Transition::OverwrittenLeftOut, overwritten);
    coverage.count(Transition::OldLeftOut, old);
}

/// Adds the writes that a power cut now would meet. `tables` are the blocks of the checksum tables.
pub(super) fn count_cut(bays: &[Bay], tables: &Range<u64>, coverage: &mut Coverage) {
    let block = |bytes: u64| bytes / BLOCK_BYTES as u64;
    let journal = block(JOURNAL_OFFSET_BYTES);
    let is_written = |blocks: Range<u64>| bays.iter().any(|bay| bay.disk.is_writing(&blocks));
    let superblocks = COPIES_AT.map(block).into_iter().any(|at| is_written(at..at + 1));
    for (transition, is_met) in [
        (Transition::CutSuperblock, superblocks),
        (Transition::CutIntent, is_written(block(INTENT_OFFSET_BYTES)..journal)),
        (Transition::CutHeader, is_written(journal..journal + HEADERS)),
        (Transition::CutBatch, is_written(journal + HEADERS..block(HEAD_BYTES))),
        (Transition::CutTable, bays.iter().any(|bay| bay.disk.is_unstable(tables))),
    ] {
        coverage.count(transition, u64::from(is_met));
    }
}
