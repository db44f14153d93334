//! What the storage of drives is to do.

use alloc::sync::Arc;
use alloc::vec::Vec;
use nvme::PlFlag;
use units::DriveId;

/// What the storage of a drive is to do. Offsets count from the first byte of the drive.
#[derive(Debug)]
pub enum Work<B> {
    /// Fill the first bytes of a buffer.
    Read {
        /// From where.
        offset_bytes: u64,
        /// How many.
        length_bytes: usize,
        /// What is filled.
        buffer: B,
        /// Whether it may fail fast
        /// ([`Bytes::handle_failed_fast`](super::Bytes::handle_failed_fast)).
        pl: PlFlag,
    },
    /// Write the first bytes of a buffer.
    Write {
        /// Where to.
        offset_bytes: u64,
        /// How many.
        length_bytes: usize,
        /// What is written.
        buffer: B,
    },
    /// The bytes become zero, and their room is given back.
    Discard {
        /// From where.
        offset_bytes: u64,
        /// How many.
        length_bytes: u64,
    },
    /// Write into the reserved head of the drive; on stable storage when it is done.
    WriteHead {
        /// Where to, counted from the start of the head.
        offset_bytes: u64,
        /// What is written.
        bytes: Arc<Vec<u8>>,
    },
    /// Bring what was written to stable storage.
    Sync,
}

/// Something for the storage of a drive. It ends with
/// [`Bytes::handle_storage`](super::Bytes::handle_storage).
#[derive(Debug)]
pub struct StorageWork<B> {
    /// The number under which it ends.
    pub tag: u32,
    /// The drive.
    pub drive: DriveId,
    /// What to do.
    pub work: Work<B>,
}
