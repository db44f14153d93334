//! The journal with its bytes in buffers that a drive can be given.

use super::{Geometry, JournalError, Uuid};
use crate::buffer::Buffer;
use crate::storage::Disk;
use ::engine::durability::journal::{self, HeadWrite as Bytes};
pub use ::engine::durability::journal::{RECORD_BYTES_MAX, Record};
use std::io;
use units::DriveId;

/// Bytes to be written to the head of each holder.
#[derive(Clone, Debug)]
pub struct HeadWrite {
    /// Number of the record; of a header, the first that counts.
    pub sequence: u64,
    /// Where in the file of the drive.
    pub offset_bytes: u64,
    /// What: whole blocks.
    pub buffer: Buffer,
}

impl From<Bytes> for HeadWrite {
    fn from(write: Bytes) -> Self {
        let mut buffer = Buffer::zeroed(write.bytes.len());
        buffer.bytes_mut().copy_from_slice(&write.bytes);
        Self { sequence: write.sequence, offset_bytes: write.offset_bytes, buffer }
    }
}

/// Reads the journal of a drive as far as records reach.
pub(super) fn read_journal(uuid: Uuid, disk: &Disk) -> io::Result<Vec<u8>> {
    journal::Journal::read(uuid, |offset_bytes, into| {
        into.copy_from_slice(disk.read_now(offset_bytes, into.len())?.bytes());
        Ok(())
    })
}

/// The journal of a running array; see [`journal::Journal`].
#[derive(Clone, Debug)]
pub struct Journal(journal::Journal);

/// What the journals of the drives say together; see [`journal::Replay`].
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) records: Vec<Record>,
    pub(super) journal: Journal,
    pub(super) unsound: u64,
}

#[allow(missing_docs, reason = "said at the journal that this wraps")]
impl Journal {
    pub(super) fn new(uuid: Uuid) -> Self {
        Self(journal::Journal::new(uuid))
    }

    pub(super) fn replay<'a>(
        uuid: Uuid,
        journals: impl IntoIterator<Item = (DriveId, &'a [u8])>,
    ) -> Replay {
        let journal::Replay { records, journal, unsound } =
            journal::Journal::replay(uuid, journals);
        Replay { records, journal: Self(journal), unsound }
    }

    #[must_use]
    pub fn holders(geometry: &Geometry, absent: u64) -> Vec<DriveId> {
        journal::Journal::holders(geometry, absent)
    }

    /// # Errors
    ///
    /// If it does not fit now or ever.
    pub fn append(&mut self, parts: &[(DriveId, u64, &[u8])]) -> Result<HeadWrite, JournalError> {
        self.0.append(parts).map(HeadWrite::from)
    }

    pub fn written(&mut self, sequence: u64) {
        self.0.written(sequence);
    }

    #[must_use]
    pub fn stable(&self) -> u64 {
        self.0.stable()
    }

    pub fn finish(&mut self, sequence: u64) {
        self.0.finish(sequence);
    }

    #[must_use]
    pub fn to_sync(&self) -> Option<usize> {
        self.0.to_sync()
    }

    pub fn retire(&mut self, half: usize) {
        self.0.retire(half);
    }

    /// # Errors
    ///
    /// If operations are not done.
    pub fn clear(&mut self) -> Result<HeadWrite, JournalError> {
        self.0.clear().map(HeadWrite::from)
    }

    pub(super) fn headers(&self) -> [HeadWrite; 2] {
        self.0.headers().map(HeadWrite::from)
    }

    /// The journal without its buffers, for the machine of [`engine::durability`](::engine::durability).
    #[must_use]
    pub fn into_inner(self) -> journal::Journal {
        self.0
    }
}
