//! Drives during creation, opening and joining: one step after the other, before anything is
//! served.

use super::block::{BLOCK_BYTES, Block};
use super::superblock::{
    COPIES_AT, Copies, Superblock, SuperblockError, newer, newest_offset_bytes,
};
use alloc::string::ToString;
use core::fmt;

/// The storage of one drive, from its first byte: the head is before the data.
pub trait Disk {
    /// Error of a failed I/O.
    type Error: fmt::Display;

    /// Returns its size in bytes, from the first byte of the head to the last byte that can be
    /// read.
    ///
    /// # Errors
    ///
    /// If the size cannot be found out.
    fn size_bytes(&mut self) -> Result<u64, Self::Error>;

    /// Fills `into`, whole blocks, from `offset_bytes`. If the drive ends within the last block,
    /// the rest of that block is zeros.
    ///
    /// # Errors
    ///
    /// If the read fails, or the drive ends before the last block.
    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes whole blocks. They are on stable storage after the next [`Disk::sync`]; until then a
    /// power cut may leave any subset of their sectors.
    ///
    /// # Errors
    ///
    /// If the write fails.
    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Brings all that was written to stable storage.
    ///
    /// # Errors
    ///
    /// If the sync fails.
    fn sync(&mut self) -> Result<(), Self::Error>;
}

impl<D: Disk> Disk for &mut D {
    type Error = D::Error;

    fn size_bytes(&mut self) -> Result<u64, Self::Error> {
        (**self).size_bytes()
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Self::Error> {
        (**self).read(offset_bytes, into)
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        (**self).write(offset_bytes, bytes)
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        (**self).sync()
    }
}

/// Reads the newer of the two superblocks that a drive has.
///
/// # Errors
///
/// If neither can be read; the error is the more telling one of the two copies.
pub fn read_superblock(disk: &mut impl Disk) -> Result<Superblock, SuperblockError> {
    newer(read_copies(disk))
}

/// Reads both superblocks that a drive has.
pub(super) fn read_copies(disk: &mut impl Disk) -> Copies {
    COPIES_AT.map(|at| {
        let mut block: Block = [0; BLOCK_BYTES];
        match disk.read(at, &mut block) {
            Ok(()) => Superblock::decode(&block),
            Err(error) => Err(SuperblockError::Unreadable(error.to_string())),
        }
    })
}

/// Returns true if a creation on the drive, or its joining, was cut short: it holds nothing.
pub fn is_unfinished(disk: &mut impl Disk) -> bool {
    match read_superblock(disk) {
        Ok(superblock) => superblock.is_being_created(),
        Err(error) => error == SuperblockError::Unfinished,
    }
}

/// Writes a block over both superblocks. One of them is sound at any moment, if one was sound
/// before or the drive is blank. So a drive on which this is cut short differs from one with
/// foreign content.
pub(super) fn overwrite_superblocks<D: Disk>(disk: &mut D, block: &Block) -> Result<(), D::Error> {
    let last = newest_offset_bytes(&read_copies(disk)).unwrap_or(COPIES_AT[1]);
    let first = COPIES_AT.into_iter().filter(|at| *at != last);
    for at in first.chain([last]) {
        disk.write(at, block)?;
        disk.sync()?;
    }
    Ok(())
}

/// Writes a superblock and waits until it is on stable storage.
///
/// # Errors
///
/// If the drive fails the write or the sync.
pub fn write_superblock<D: Disk>(superblock: &Superblock, disk: &mut D) -> Result<(), D::Error> {
    disk.write(superblock.offset_bytes(), &superblock.encode())?;
    disk.sync()
}
