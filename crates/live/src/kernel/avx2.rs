//! 32 bytes at once, with look-ups in registers.

use super::portable;
use super::tables::HALVES;
use std::arch::x86_64::{
    __m128i, __m256i, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi64, _mm256_xor_si256,
};

const VECTOR: usize = 32;
/// Vectors in flight at once; with more, tables and sums no longer fit the sixteen registers.
const VECTORS: usize = 4;
const BLOCK: usize = VECTOR * VECTORS;

#[target_feature(enable = "avx2")]
pub(super) fn multiply_add(into: &mut [u8], from: &[u8], coefficient: u8) {
    let (blocks, rest) = into.as_chunks_mut::<BLOCK>();
    let (sources, last) = from.as_chunks::<BLOCK>();
    match coefficient {
        0 => return,
        1 => {
            for (block, source) in blocks.iter_mut().zip(sources) {
                let mut sum = load(block);
                add(&mut sum, source);
                store(block, &sum);
            }
        }
        _ => {
            let table = table(coefficient);
            for (block, source) in blocks.iter_mut().zip(sources) {
                let mut sum = load(block);
                add_product(&mut sum, source, &table);
                store(block, &sum);
            }
        }
    }
    portable::multiply_add(rest, last, coefficient);
}

#[target_feature(enable = "avx2")]
pub(super) fn combine(into: &mut [u8], terms: &[(u8, &[u8])]) {
    let (blocks, rest) = into.as_chunks_mut::<BLOCK>();
    let whole = blocks.len() * BLOCK;
    for (index, block) in blocks.iter_mut().enumerate() {
        let mut sum = [_mm256_setzero_si256(); VECTORS];
        for (coefficient, source) in terms {
            let Some(source) = source[index * BLOCK..].first_chunk::<BLOCK>() else { continue };
            match coefficient {
                0 => {}
                1 => add(&mut sum, source),
                coefficient => add_product(&mut sum, source, &table(*coefficient)),
            }
        }
        store(block, &sum);
    }
    if !rest.is_empty() {
        rest.fill(0);
        for (coefficient, source) in terms {
            portable::multiply_add(rest, &source[whole..], *coefficient);
        }
    }
}

/// Products of a coefficient with low and with high halves of bytes, in both halves of a register.
#[target_feature(enable = "avx2")]
#[inline]
fn table(coefficient: u8) -> [__m256i; 2] {
    let [low, high]: [__m128i; 2] = bytemuck::pod_read_unaligned(&HALVES[usize::from(coefficient)]);
    [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(sum: &mut [__m256i; VECTORS], source: &[u8; BLOCK]) {
    for (sum, from) in sum.iter_mut().zip(load(source)) {
        *sum = _mm256_xor_si256(*sum, from);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_product(sum: &mut [__m256i; VECTORS], source: &[u8; BLOCK], table: &[__m256i; 2]) {
    let half = _mm256_set1_epi8(15);
    for (sum, from) in sum.iter_mut().zip(load(source)) {
        let low = _mm256_shuffle_epi8(table[0], _mm256_and_si256(from, half));
        let high = _mm256_and_si256(_mm256_srli_epi64::<4>(from), half);
        let high = _mm256_shuffle_epi8(table[1], high);
        *sum = _mm256_xor_si256(*sum, _mm256_xor_si256(low, high));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8; BLOCK]) -> [__m256i; VECTORS] {
    bytemuck::pod_read_unaligned(bytes)
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(bytes: &mut [u8; BLOCK], vectors: &[__m256i; VECTORS]) {
    bytes.copy_from_slice(bytemuck::bytes_of(vectors));
}
