//! Superblocks on drives, and the name of a new array.

use super::{Superblock, SuperblockError, Uuid};
use crate::buffer::Buffer;
use crate::storage::{DATA_OFFSET_BYTES, Disk, Head};
use ::engine::durability::HEAD_BYTES;
use ::engine::durability::block::{BLOCK_BYTES, array};
use ::engine::durability::superblock::{COPIES_AT, newer};
use std::io;

const _: () = assert!(DATA_OFFSET_BYTES == HEAD_BYTES, "data begin where the head ends");

/// A name for a new array, from the system's random numbers.
///
/// # Errors
///
/// If the system gives none.
pub fn random_uuid() -> io::Result<Uuid> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(Uuid::from_random(bytes))
}

/// Reads the newer of the two superblocks that a drive has.
///
/// # Errors
///
/// If none can be read; the reason of the copy that says most.
pub fn read_superblock(disk: &Disk) -> Result<Superblock, SuperblockError> {
    newer(COPIES_AT.map(|at| match disk.read_now(at, BLOCK_BYTES) {
        Ok(buffer) => Superblock::decode(&array(buffer.bytes(), 0)),
        Err(error) => Err(SuperblockError::Unreadable(error.to_string())),
    }))
}

/// Writes a superblock and waits until it is on stable storage.
///
/// # Errors
///
/// If the system says no.
pub fn write_superblock(superblock: &Superblock, head: &Head) -> io::Result<()> {
    let mut buffer = Buffer::zeroed(BLOCK_BYTES);
    buffer.bytes_mut().copy_from_slice(&superblock.encode());
    head.write_stable(superblock.offset_bytes(), &buffer)
}

#[cfg(test)]
mod tests {
    use super::random_uuid;

    #[test]
    #[allow(clippy::unwrap_used, reason = "a test")]
    fn names_are_random() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        assert_eq!(&one.to_string()[14..15], "4");
    }
}
