//! Whose changes are journalled, and whether another batch may be written.

use super::drive_set::DriveSet;
use super::journal::{Batch, HeadWrite, HeaderUse, Journal, JournalError, Part};

/// See the module.
#[derive(Debug)]
pub(super) struct JournalWriter {
    journal: Journal,
    /// Drives whose changes are journalled; none while the journal is off.
    drives: DriveSet,
    /// There is no room for the next batch before a header is written.
    full: bool,
}

impl JournalWriter {
    pub(super) const fn new(journal: Journal, drives: DriveSet) -> Self {
        Self { journal, drives, full: false }
    }

    /// The journal, for the head of a drive that joins.
    pub(super) const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Drives whose changes are journalled.
    pub(super) const fn drives(&self) -> DriveSet {
        self.drives
    }

    /// From now on the changes of these drives are journalled.
    pub(super) const fn set_drives(&mut self, drives: DriveSet) {
        self.drives = drives;
    }

    /// Whether the next batch may be written: the last is stable, and there may be room. Writes
    /// that come while a batch is being written share the next one.
    pub(super) fn takes_batch(&self) -> bool {
        !self.full && self.journal.is_stable()
    }

    /// Bytes of data after which no further write joins a batch.
    pub(super) const fn batch_bytes(&self) -> u64 {
        self.journal.batch_bytes()
    }

    /// Takes a batch; `None` if there is no room for it now.
    ///
    /// # Errors
    ///
    /// If there never will be.
    pub(super) fn append(&mut self, parts: &[Part<'_>]) -> Result<Option<Batch>, JournalError> {
        match self.journal.append(parts) {
            Ok(batch) => Ok(Some(batch)),
            Err(JournalError::Full) => {
                self.full = true;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The batch is on stable storage on all drives that take part.
    pub(super) fn written(&mut self, sequence: u64) {
        self.journal.written(sequence);
    }

    /// Batches up to this number are stable.
    pub(super) fn stable(&self) -> u64 {
        self.journal.stable()
    }

    /// Whether no batch is being written.
    pub(super) fn is_stable(&self) -> bool {
        self.journal.is_stable()
    }

    /// All writes of the batch are done, or will never begin.
    pub(super) fn finish(&mut self, sequence: u64) {
        self.journal.finish(sequence);
    }

    /// The first batch of a half that may be filled again once all drives are synced.
    pub(super) fn half_to_sync(&self) -> Option<u64> {
        self.journal.to_sync()
    }

    /// All drives were synced since this half was named: the header that says that its batches
    /// count no longer.
    pub(super) fn retire(&mut self, first: u64) -> Option<HeadWrite> {
        self.journal.retire(first)
    }

    /// Whether no header need be written so that no record counts, and none will be.
    pub(super) fn is_unused(&self) -> bool {
        self.journal.is_empty() && self.drives.is_empty()
    }

    /// Whether a header is being written. Two must not be torn at once.
    pub(super) const fn is_header_in_flight(&self) -> bool {
        self.journal.is_header_in_flight()
    }

    /// From now on no record counts: the header that says so.
    ///
    /// # Errors
    ///
    /// If batches are not done.
    pub(super) fn clear(&mut self) -> Result<HeadWrite, JournalError> {
        self.full = false;
        self.journal.clear()
    }

    /// The header is on stable storage: there is room again. Returns what it was for.
    pub(super) fn header_written(&mut self) -> Option<HeaderUse> {
        self.full = false;
        self.journal.header_written()
    }
}
