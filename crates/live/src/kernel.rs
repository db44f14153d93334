//! Adding and multiplying data in GF(2^8), with whatever vector instructions the processor has.
//!
//! The field is that of [`array::gf`]. A product with a constant is linear in the bits of the other
//! factor, so it is the sum of the products with its two halves of four bits, and of each half
//! there are only sixteen: two look-ups in tables that fit a register, which AVX2 does for 32 bytes
//! at once (Plank, Greenan and Miller, "Screaming fast Galois field arithmetic using Intel SIMD
//! instructions", FAST 2013). Without AVX2, bytes are doubled eight words at a time and added where
//! the constant has a bit, which compilers make vectors of.
//!
//! A sum of several sources is made in one pass, so that the target is written once and never read:
//! `cargo bench -p ioda-live --bench kernels` shows P twice as fast by that as in steps, and Q about as
//! fast. It shows AVX2 at some thirty times the byte-wise tables of [`array::gf`], and the portable
//! words at twice to ten times. Wider registers and the Galois instructions of newer processors
//! would double the speed of P and Q together once more (`rusty_erasure` 0.4.3 has them): a third
//! of a microsecond for a stripe of six pages, which is not worth a third kernel.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
mod tables;

/// How it is done: the same results, at different speed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instructions {
    Portable,
    /// Made only by [`Kernel::all`], after a look at the processor.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Kernel {
    /// On any processor.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// The fastest that this processor has.
    #[must_use]
    pub fn detect() -> Self {
        Self::all().last().copied().unwrap_or(Self::PORTABLE)
    }

    /// All that this processor has, the fastest last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Self(Instructions::Avx2));
        }
        all
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
        }
    }

    /// `into += from`, byte by byte: in this field, XOR.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    pub fn add(self, into: &mut [u8], from: &[u8]) {
        self.multiply_add(into, from, 1);
    }

    /// `into += coefficient × from`, byte by byte.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[allow(unsafe_code)]
    pub fn multiply_add(self, into: &mut [u8], from: &[u8], coefficient: u8) {
        assert_eq!(into.len(), from.len(), "factors of one length");
        match self.0 {
            Instructions::Portable => portable::multiply_add(into, from, coefficient),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2, or this kernel would not have been made.
            Instructions::Avx2 => unsafe { avx2::multiply_add(into, from, coefficient) },
        }
    }

    /// `into = Σ coefficient × source`, byte by byte; zeros if there are no terms.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[allow(unsafe_code)]
    pub fn combine(self, into: &mut [u8], terms: &[(u8, &[u8])]) {
        for (_, source) in terms {
            assert_eq!(into.len(), source.len(), "terms of one length");
        }
        match self.0 {
            Instructions::Portable => portable::combine(into, terms),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2, or this kernel would not have been made.
            Instructions::Avx2 => unsafe { avx2::combine(into, terms) },
        }
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self::detect()
    }
}

#[cfg(test)]
mod tests {
    use super::tables::multiply;
    use super::*;
    use array::gf;
    use proptest::prelude::*;

    #[test]
    fn the_field_is_that_of_the_array() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), gf::multiply(a, b), "{a} times {b}");
            }
        }
        assert_eq!(Kernel::all().last(), Some(&Kernel::detect()));
    }

    /// Some bytes that are not at the start of their memory, to try alignments.
    fn unaligned(length: usize) -> impl Strategy<Value = (usize, Vec<u8>)> {
        (0usize..64).prop_flat_map(move |skip| {
            proptest::collection::vec(any::<u8>(), skip + length).prop_map(move |v| (skip, v))
        })
    }

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn every_kernel_agrees_with_the_naive_one(
            (mut into, sources) in (0usize..700).prop_flat_map(|length| (
                unaligned(length),
                proptest::collection::vec((any::<u8>(), unaligned(length)), 0..6),
            )),
        ) {
            let skip = into.0;
            let terms: Vec<(u8, &[u8])> =
                sources.iter().map(|(c, (skip, bytes))| (*c, &bytes[*skip..])).collect();
            let mut sum = vec![0; into.1.len() - skip];
            for (coefficient, source) in &terms {
                gf::multiply_add(&mut sum, source, *coefficient);
            }
            for kernel in Kernel::all() {
                kernel.combine(&mut into.1[skip..], &terms);
                prop_assert_eq!(&into.1[skip..], &sum[..], "combine of {}", kernel.name());
            }
            for (coefficient, source) in terms {
                let start = into.1.clone();
                gf::multiply_add(&mut sum, source, coefficient);
                for kernel in Kernel::all() {
                    into.1.clone_from(&start);
                    kernel.multiply_add(&mut into.1[skip..], source, coefficient);
                    prop_assert_eq!(&into.1[skip..], &sum[..], "product of {}", kernel.name());
                    prop_assert_eq!(&into.1[..skip], &start[..skip], "bytes before");
                }
            }
        }
    }

    #[test]
    fn every_coefficient_on_every_byte() {
        let all: Vec<u8> = (0..=255).collect();
        for kernel in Kernel::all() {
            for coefficient in 0..=255 {
                let mut into = vec![0; 256];
                kernel.multiply_add(&mut into, &all, coefficient);
                let expected: Vec<u8> =
                    all.iter().map(|&byte| gf::multiply(byte, coefficient)).collect();
                assert_eq!(into, expected, "{} of {}", coefficient, kernel.name());
            }
            let mut into = all.clone();
            kernel.add(&mut into, &all);
            assert_eq!(into, [0; 256]);
        }
    }
}
