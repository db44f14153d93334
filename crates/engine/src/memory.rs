//! Memory for pages on their way, and parity arithmetic on it.

use crate::checksums::crc32c;
use alloc::vec;
use alloc::vec::Vec;
use array::gf;
use core::fmt::Debug;

/// Source of buffers, and the arithmetic on them. A server uses aligned pages that the kernel can
/// fill, and the widest instructions of its processor; [`Heap`] is enough otherwise.
pub trait Memory {
    /// A buffer of bytes.
    type Buffer: Debug;

    /// Returns a buffer of at least `bytes` bytes with any content.
    fn take(&mut self, bytes: usize) -> Self::Buffer;

    /// Takes back a buffer that is no longer needed.
    fn give(&mut self, buffer: Self::Buffer);

    /// Another handle to the same bytes, or a copy of them. Neither handle may change them from now
    /// on.
    fn share(&mut self, buffer: &Self::Buffer) -> Self::Buffer;

    /// The bytes.
    fn bytes(buffer: &Self::Buffer) -> &[u8];

    /// The bytes, to be changed. The buffer must never have been shared.
    fn bytes_mut(buffer: &mut Self::Buffer) -> &mut [u8];

    /// `into = Σ coefficient × source` in GF(2^8); all are of the same length.
    fn combine(&self, into: &mut [u8], sources: &[(u8, &[u8])]);

    /// The CRC-32C of some bytes.
    fn checksum(&self, bytes: &[u8]) -> u32 {
        crc32c(bytes)
    }
}

/// Plain memory of the allocator, and arithmetic byte by byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

impl Memory for Heap {
    type Buffer = Vec<u8>;

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        vec![0; bytes]
    }

    fn give(&mut self, _: Vec<u8>) {}

    fn share(&mut self, buffer: &Vec<u8>) -> Vec<u8> {
        buffer.clone()
    }

    fn bytes(buffer: &Vec<u8>) -> &[u8] {
        buffer
    }

    fn bytes_mut(buffer: &mut Vec<u8>) -> &mut [u8] {
        buffer
    }

    fn combine(&self, into: &mut [u8], sources: &[(u8, &[u8])]) {
        into.fill(0);
        for (coefficient, source) in sources {
            gf::multiply_add(into, source, *coefficient);
        }
    }
}
