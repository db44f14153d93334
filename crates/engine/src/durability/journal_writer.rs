//! State of the journal writer: the drives whose changes are journalled, and the room for batches.

use super::drive_set::DriveSet;
use super::journal::{Batch, HeadWrite, HeaderUse, Journal, JournalError, Part};

/// The journal of a running array, with the drives that it covers.
#[derive(Debug)]
pub(super) struct JournalWriter {
    journal: Journal,
    /// Drives whose changes are journalled; none while the journal is off.
    drives: DriveSet,
    /// True if there is no room for the next batch before a header is written.
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

    /// Sets the drives whose changes are journalled.
    pub(super) const fn set_drives(&mut self, drives: DriveSet) {
        self.drives = drives;
    }

    /// Returns true if the next batch may be written: the last is stable, and there may be room.
    /// Writes that come while a batch is being written share the next one.
    pub(super) fn takes_batch(&self) -> bool {
        !self.full && self.journal.is_stable()
    }

    /// Bytes of data after which no further write joins a batch.
    pub(super) const fn batch_bytes(&self) -> u64 {
        self.journal.batch_bytes()
    }

    /// Appends a batch; `None` if there is no room for it now.
    ///
    /// # Errors
    ///
    /// If there never will be room.
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

    /// Notes that the batch is on stable storage on all drives that take part.
    pub(super) fn written(&mut self, sequence: u64) {
        self.journal.written(sequence);
    }

    /// Number of the last stable batch.
    pub(super) fn stable(&self) -> u64 {
        self.journal.stable()
    }

    /// Returns true if no batch is being written.
    pub(super) fn is_stable(&self) -> bool {
        self.journal.is_stable()
    }

    /// Notes that all writes of the batch have ended, or will never begin.
    pub(super) fn finish(&mut self, sequence: u64) {
        self.journal.finish(sequence);
    }

    /// First batch of a half that may be filled again once all drives are synced.
    pub(super) fn half_to_sync(&self) -> Option<u64> {
        self.journal.to_sync()
    }

    /// Retires the half with this first batch, after a sync of all drives. Returns the header after
    /// which its batches no longer count.
    pub(super) fn retire(&mut self, first: u64) -> Option<HeadWrite> {
        self.journal.retire(first)
    }

    /// Returns true if no header is needed to make records not count: none count, and none will.
    pub(super) fn is_unused(&self) -> bool {
        self.journal.is_empty() && self.drives.is_empty()
    }

    /// Returns true if a header is being written. Two headers must not be torn at once.
    pub(super) const fn is_header_in_flight(&self) -> bool {
        self.journal.is_header_in_flight()
    }

    /// Clears the journal. Returns the header after which no record counts.
    ///
    /// # Errors
    ///
    /// If batches have not ended.
    pub(super) fn clear(&mut self) -> Result<HeadWrite, JournalError> {
        self.full = false;
        self.journal.clear()
    }

    /// Notes that the header is on stable storage: there is room again. Returns its use.
    pub(super) fn header_written(&mut self) -> Option<HeaderUse> {
        self.full = false;
        self.journal.header_written()
    }
}
