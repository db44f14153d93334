//! Numbers at fixed places of a block, and the checksum that guards the block.

use crc32fast::Hasher;

/// Size of a block. A drive is expected to write a block completely or not at all; the checksum
/// detects blocks where it did not.
pub const BLOCK_BYTES: usize = 4096;

/// A block under construction, or one that was read.
pub(super) type Block = [u8; BLOCK_BYTES];

/// Little-endian number of four bytes at offset `at`, which must lie within the block.
#[must_use]
pub fn get_u32(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(block, at))
}

/// Little-endian number of eight bytes at offset `at`, which must lie within the block.
#[must_use]
pub fn get_u64(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(block, at))
}

/// `N` bytes at offset `at`, which must lie within the block.
#[must_use]
pub fn array<const N: usize>(block: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&block[at..at + N]);
    found
}

/// Copies bytes to offset `at`, which must lie within the block.
pub fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Checksum of all bytes except its own four at `at`.
fn checksum(block: &[u8], at: usize) -> u32 {
    let mut sum = Hasher::new();
    sum.update(&block[..at]);
    sum.update(&block[at + 4..]);
    sum.finalize()
}

/// Writes the checksum of the block to `at`.
pub fn seal(block: &mut [u8], at: usize) {
    let sum = checksum(block, at);
    put(block, at, &sum.to_le_bytes());
}

/// Returns true if the checksum at `at` is right.
#[must_use]
pub fn is_sealed(block: &[u8], at: usize) -> bool {
    get_u32(block, at) == checksum(block, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_covers_every_byte_of_the_block() {
        for at in [0, 8, 508, BLOCK_BYTES - 4] {
            let mut block: Block = core::array::from_fn(|index| index as u8);
            assert!(!is_sealed(&block, at));
            seal(&mut block, at);
            assert!(is_sealed(&block, at));
            for byte in 0..BLOCK_BYTES {
                block[byte] ^= 1;
                assert!(!is_sealed(&block, at), "byte {byte}");
                block[byte] ^= 1;
            }
        }
    }
}
