//! The data of one command.

use crate::buffer::{Buffer, PAGE_BYTES, Pool};

/// Why a buffer is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Its data came with the command, whether there was room or not.
    InCapsule,
    /// There was room.
    Granted,
}

#[derive(Debug)]
enum Memory {
    /// Whole pages, as storage takes them.
    Pages(Buffer),
    /// So many as there are, for what storage does not see.
    Bytes(Vec<u8>),
}

/// The data of one command. It goes back to the [`Target`](super::Target) that made it.
#[derive(Debug)]
pub struct CommandBuffer {
    memory: Memory,
    length_bytes: usize,
    pub(super) purpose: Purpose,
}

impl CommandBuffer {
    /// Pages with arbitrary content.
    pub(super) fn pages(pool: &mut Pool, length_bytes: usize, purpose: Purpose) -> Self {
        Self { memory: Memory::Pages(pool.take(length_bytes)), length_bytes, purpose }
    }

    /// Bytes that are zero.
    pub(super) fn bytes_only(length_bytes: usize, purpose: Purpose) -> Self {
        Self { memory: Memory::Bytes(vec![0; length_bytes]), length_bytes, purpose }
    }

    /// Memory that a buffer of pages holds.
    pub(super) const fn held_bytes_of_pages(length_bytes: usize) -> u64 {
        length_bytes.next_multiple_of(PAGE_BYTES) as u64
    }

    /// Memory that it holds.
    pub(super) fn held_bytes(&self) -> u64 {
        match &self.memory {
            Memory::Pages(pages) => pages.len() as u64,
            Memory::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Bytes of the command's data.
    #[must_use]
    pub const fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// The data.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Pages(pages) => &pages.bytes()[..self.length_bytes],
            Memory::Bytes(bytes) => bytes,
        }
    }

    /// The data, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Pages(pages) => &mut pages.bytes_mut()[..self.length_bytes],
            Memory::Bytes(bytes) => bytes,
        }
    }

    /// Another handle to its pages, for storage or a socket; none if it has none. While there is
    /// one, the data cannot be changed.
    #[must_use]
    pub fn share(&self) -> Option<Buffer> {
        match &self.memory {
            Memory::Pages(pages) => Some(pages.share()),
            Memory::Bytes(_) => None,
        }
    }

    /// Its pages; what is left holds as much until [`CommandBuffer::put_pages`].
    #[must_use]
    pub fn take_pages(&mut self) -> Option<Buffer> {
        match &mut self.memory {
            Memory::Pages(pages) => Some(std::mem::replace(pages, Buffer::zeroed(0))),
            Memory::Bytes(_) => None,
        }
    }

    /// Its pages are back.
    pub fn put_pages(&mut self, buffer: Buffer) {
        self.memory = Memory::Pages(buffer);
    }

    /// Gives the memory back.
    pub(super) fn recycle(self, pool: &mut Pool) {
        if let Memory::Pages(pages) = self.memory {
            pool.give(pages);
        }
    }
}
