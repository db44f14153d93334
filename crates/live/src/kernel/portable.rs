//! For any processor: whole words, and what the compiler makes of them.

use super::tables::{HALVES, LOW_POLYNOMIAL};

/// Words that are multiplied together, so that the compiler can put them into vectors.
const WORDS: usize = 8;
const BYTES: usize = WORDS * 8;
const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;

pub(super) fn multiply_add(into: &mut [u8], from: &[u8], coefficient: u8) {
    match coefficient {
        0 => {}
        1 => into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from),
        _ => {
            let (blocks, rest) = into.as_chunks_mut::<BYTES>();
            let (sources, last) = from.as_chunks::<BYTES>();
            for (block, source) in blocks.iter_mut().zip(sources) {
                multiply_add_block(block, source, coefficient);
            }
            let table = &HALVES[usize::from(coefficient)];
            for (into, &from) in rest.iter_mut().zip(last) {
                *into ^= table[usize::from(from & 15)] ^ table[16 + usize::from(from >> 4)];
            }
        }
    }
}

pub(super) fn combine(into: &mut [u8], terms: &[(u8, &[u8])]) {
    into.fill(0);
    for (coefficient, source) in terms {
        multiply_add(into, source, *coefficient);
    }
}

/// Doubles the source again and again, and adds it where the coefficient has a bit.
fn multiply_add_block(into: &mut [u8; BYTES], from: &[u8; BYTES], coefficient: u8) {
    let mut doubled: [u64; WORDS] = bytemuck::pod_read_unaligned(from);
    let mut sum: [u64; WORDS] = bytemuck::pod_read_unaligned(into);
    let mut bits = coefficient;
    loop {
        if bits & 1 != 0 {
            sum.iter_mut().zip(&doubled).for_each(|(sum, word)| *sum ^= word);
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
        doubled.iter_mut().for_each(|word| *word = double(*word));
    }
    into.copy_from_slice(bytemuck::bytes_of(&sum));
}

/// Eight bytes, each times two.
fn double(word: u64) -> u64 {
    let high = word & (EVERY_BYTE << 7);
    // All ones in each byte that had its highest bit: 0x100 - 0x01 there, 0 elsewhere.
    let overflowed = (high << 1).wrapping_sub(high >> 7);
    (word ^ high) << 1 ^ overflowed & (EVERY_BYTE * LOW_POLYNOMIAL as u64)
}
