//! Arithmetic in GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, the field of RAID-6.

/// The generator of the field: Q weighs data chunk `i` with `GENERATOR^i`.
pub const GENERATOR: u8 = 2;
const POLYNOMIAL: u16 = 0x11d;

const fn tables() -> ([u8; 512], [u8; 256]) {
    let mut power = [0u8; 512];
    let mut logarithm = [0u8; 256];
    let mut value: u16 = 1;
    let mut exponent = 0;
    while exponent < 255 {
        power[exponent] = value as u8;
        power[exponent + 255] = value as u8;
        logarithm[value as usize] = exponent as u8;
        value <<= 1;
        if value > 0xff {
            value ^= POLYNOMIAL;
        }
        exponent += 1;
    }
    (power, logarithm)
}

static POWER: [u8; 512] = tables().0;
static LOGARITHM: [u8; 256] = tables().1;

/// The product.
#[must_use]
pub fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWER[usize::from(LOGARITHM[usize::from(a)]) + usize::from(LOGARITHM[usize::from(b)])]
}

/// `1 / a`.
///
/// # Panics
///
/// If `a` is zero.
#[must_use]
pub fn inverse(a: u8) -> u8 {
    assert_ne!(a, 0, "zero has no inverse");
    POWER[255 - usize::from(LOGARITHM[usize::from(a)])]
}

/// `GENERATOR^exponent`.
#[must_use]
pub fn power(exponent: u32) -> u8 {
    POWER[(exponent % 255) as usize]
}

/// `target += coefficient × source`, byte by byte.
///
/// # Panics
///
/// If the lengths differ.
pub fn multiply_add(target: &mut [u8], source: &[u8], coefficient: u8) {
    assert_eq!(target.len(), source.len());
    match coefficient {
        0 => {}
        1 => target.iter_mut().zip(source).for_each(|(t, s)| *t ^= s),
        c => target.iter_mut().zip(source).for_each(|(t, &s)| *t ^= multiply(s, c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication by shifts, without tables.
    fn naive(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            let carry = a & 0x80 != 0;
            a <<= 1;
            if carry {
                a ^= (POLYNOMIAL & 0xff) as u8;
            }
            b >>= 1;
        }
        product
    }

    #[test]
    fn tables_agree_with_shifts() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), naive(a, b));
            }
            if a != 0 {
                assert_eq!(multiply(a, inverse(a)), 1);
            }
        }
        let mut product = 1;
        for exponent in 0..1000 {
            assert_eq!(power(exponent), product, "{exponent}");
            product = naive(product, GENERATOR);
        }
    }

    #[test]
    fn sums_agree_with_shifts() {
        let bytes: alloc::vec::Vec<u8> = (0..=255).collect();
        for coefficient in 0..=255 {
            let mut target: alloc::vec::Vec<u8> = bytes.iter().map(|byte| byte / 3).collect();
            multiply_add(&mut target, &bytes, coefficient);
            for (&sum, &byte) in target.iter().zip(&bytes) {
                let expected = (byte / 3) ^ naive(byte, coefficient);
                assert_eq!(sum, expected, "{coefficient} times {byte}");
            }
        }
    }
}
