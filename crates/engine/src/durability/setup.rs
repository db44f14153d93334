//! Setup of an array's records, beyond the content of its superblocks.

use super::block::BLOCK_BYTES;
use super::journal::HALF_BYTES;
use crate::planted::Planted;
use units::Duration;

/// Times and sizes of the records. An array that serves chooses the time only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Time without writes after which the mark of a region is cleared.
    pub quiet_for: Duration,
    /// Bounds of records and of memory.
    pub sizes: Sizes,
    /// The bug that was planted in the array, or none.
    pub planted: Planted,
}

impl From<Duration> for Setup {
    /// The setup of an array that serves.
    fn from(quiet_for: Duration) -> Self {
        Self { quiet_for, sizes: Sizes::SERVED, planted: Planted::NONE }
    }
}

/// Bounds of records and of memory. Tests use small ones, so that halves wrap and blocks leave the
/// cache within a few writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Bytes of a half of the journal: whole blocks of 4096 bytes, at most those of
    /// [`Sizes::SERVED`]. It decides the place of records, so it must be the same at each start.
    pub journal_half_bytes: usize,
    /// Bytes of data after which no further write joins a batch of the journal; less than a half of
    /// the journal holds behind the first block of a record. A batch that fits into no half stops
    /// the array.
    pub batch_bytes: u64,
    /// Most bytes of changes that are answered before they are in their place.
    pub accepted_bytes: u64,
    /// Fewest blocks of checksum tables in the cache, whatever its limit: a request needs several
    /// at once.
    pub cached_tables: usize,
    /// Number of ended changes that are remembered for concurrent reads.
    pub ended_changes: usize,
}

impl Sizes {
    /// The sizes of an array that serves.
    pub const SERVED: Self = Self {
        journal_half_bytes: HALF_BYTES,
        batch_bytes: 4 << 20,
        accepted_bytes: 32 << 20,
        cached_tables: 64,
        ended_changes: 1024,
    };

    /// Largest record of a drive in the journal, in bytes, with its first block.
    #[must_use]
    pub const fn record_bytes_max(&self) -> usize {
        self.journal_half_bytes
    }

    /// Largest chunk that the journal can hold, in bytes.
    #[must_use]
    pub const fn chunk_bytes_max(&self) -> u64 {
        (self.record_bytes_max() - BLOCK_BYTES) as u64
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self::SERVED
    }
}
