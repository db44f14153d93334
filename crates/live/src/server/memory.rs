//! The engine's memory on a real machine: pooled, aligned pages and the widest instructions for
//! parity.

use crate::buffer::{Buffer, Pool};
use crate::kernel::Kernel;
use crate::release::Releaser;
use engine::Memory;

/// Pages that the kernel can fill, and the arithmetic of parity on them.
#[derive(Debug)]
pub(crate) struct PageMemory {
    pool: Pool,
    kernel: Kernel,
}

impl PageMemory {
    pub(crate) fn new(releaser: Releaser) -> Self {
        Self { pool: Pool::with_releaser(releaser), kernel: Kernel::detect() }
    }

    /// Where buffers come from: what clients send is received into them.
    pub(crate) fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }
}

impl Memory for PageMemory {
    type Buffer = Buffer;

    fn take(&mut self, bytes: usize) -> Buffer {
        self.pool.take(bytes)
    }

    fn give(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }

    fn share(&mut self, buffer: &Buffer) -> Buffer {
        buffer.share()
    }

    fn bytes(buffer: &Buffer) -> &[u8] {
        buffer.bytes()
    }

    fn bytes_mut(buffer: &mut Buffer) -> &mut [u8] {
        buffer.bytes_mut()
    }

    fn combine(&self, into: &mut [u8], sources: &[(u8, &[u8])]) {
        self.kernel.combine(into, sources);
    }

    #[inline]
    fn checksum(&self, bytes: &[u8]) -> u32 {
        crc32c::crc32c(bytes)
    }
}
