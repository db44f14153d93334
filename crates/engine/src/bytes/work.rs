//! Work for the storage of drives.

use alloc::sync::Arc;
use alloc::vec::Vec;
use nvme::PlFlag;
use units::DriveId;

/// Work for the storage of a drive. Offsets count from the first byte of the drive.
#[derive(Debug)]
pub enum Work<B> {
    /// Fill the first bytes of a buffer.
    Read {
        /// First byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: usize,
        /// Buffer to fill.
        buffer: B,
        /// True if the read may fail fast
        /// ([`Bytes::handle_failed_fast`](super::Bytes::handle_failed_fast)).
        pl: PlFlag,
    },
    /// Write the first bytes of a buffer.
    Write {
        /// First byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: usize,
        /// Data to write.
        buffer: B,
    },
    /// Make the bytes zero, and deallocate their space.
    Discard {
        /// First byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// Write into the reserved head of the drive; done means on stable storage.
    WriteHead {
        /// First byte, counted from the start of the head.
        offset_bytes: u64,
        /// Data to write.
        bytes: Arc<Vec<u8>>,
    },
    /// Bring all that was written to stable storage.
    Sync,
}

/// A piece of work for the storage of a drive. It ends with
/// [`Bytes::handle_storage`](super::Bytes::handle_storage).
#[derive(Debug)]
pub struct StorageWork<B> {
    /// Number under which it ends.
    pub tag: u32,
    /// The drive.
    pub drive: DriveId,
    /// The work.
    pub work: Work<B>,
}
