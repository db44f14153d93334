//! CRC-32C, with the polynomial of Castagnoli, as in iSCSI, NVMe/TCP, ext4 and btrfs: processors
//! have an instruction for it.

/// Bytes per step: one table for each.
const STEP_BYTES: usize = 16;

/// `TABLES[n][byte]`: contribution of `byte` when `n` more bytes follow it in the same step.
static TABLES: [[u32; 256]; STEP_BYTES] = tables();

const fn tables() -> [[u32; 256]; STEP_BYTES] {
    // The polynomial with its bits reversed, because the lowest bit of a byte comes first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut tables = [[0; 256]; STEP_BYTES];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut table = 1;
    while table < STEP_BYTES {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The checksum of some bytes, on any processor.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// Extends the checksum `sum` of earlier bytes by the `bytes` that follow them.
#[must_use]
pub fn crc32c_append(sum: u32, bytes: &[u8]) -> u32 {
    let mut sum = !sum;
    let mut steps = bytes.chunks_exact(STEP_BYTES);
    for step in steps.by_ref() {
        let before = sum.to_le_bytes();
        sum = 0;
        for (at, &byte) in step.iter().enumerate() {
            let byte = if at < 4 { byte ^ before[at] } else { byte };
            sum ^= TABLES[STEP_BYTES - 1 - at][usize::from(byte)];
        }
    }
    for &byte in steps.remainder() {
        sum = sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use alloc::vec::Vec;

    /// By the definition, bit by bit.
    fn slowly(bytes: &[u8]) -> u32 {
        let mut sum = u32::MAX;
        for &byte in bytes {
            sum ^= u32::from(byte);
            for _ in 0..8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
            }
        }
        !sum
    }

    #[test]
    fn the_check_values_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn steps_do_not_change_the_sum() {
        let mut rng = Rng::new(1);
        for length in 0..100 {
            let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
            assert_eq!(crc32c(&bytes), slowly(&bytes), "{length}");
            let (first, second) = bytes.split_at(length / 3);
            assert_eq!(crc32c_append(crc32c(first), second), crc32c(&bytes), "{length}");
        }
    }
}
