//! Reference arithmetic for parity: sums over GF(2^8), computed in another way than in the array,
//! so that one bug cannot hide in both.

/// Low bits of the polynomial x^8 + x^4 + x^3 + x^2 + 1 that reduces products.
const POLYNOMIAL: u8 = 0x1d;

/// Twice a number.
const fn double(number: u8) -> u8 {
    let carries = number & 0x80 != 0;
    let shifted = number << 1;
    if carries { shifted ^ POLYNOMIAL } else { shifted }
}

/// The product of two numbers, bit by bit.
pub(super) const fn multiply(one: u8, other: u8) -> u8 {
    let (mut product, mut term, mut left) = (0, one, other);
    while left > 0 {
        if left & 1 == 1 {
            product ^= term;
        }
        term = double(term);
        left >>= 1;
    }
    product
}

/// Multiplicative inverse of a number that is not 0.
pub(super) const fn inverse(number: u8) -> u8 {
    // The group has 255 elements, so the inverse is the 254th power.
    let (mut power, mut square, mut left) = (1, number, 254);
    while left > 0 {
        if left & 1 == 1 {
            power = multiply(power, square);
        }
        square = multiply(square, square);
        left >>= 1;
    }
    power
}

/// Weight of a data chunk in the second parity: a power of two.
pub(super) const fn weight(chunk: u32) -> u8 {
    let (mut power, mut left) = (1, chunk);
    while left > 0 {
        power = double(power);
        left -= 1;
    }
    power
}

/// `into += factor × bytes`.
pub(super) fn add(into: &mut [u8], bytes: &[u8], factor: u8) {
    if factor == 1 {
        into.iter_mut().zip(bytes).for_each(|(into, byte)| *into ^= byte);
        return;
    }
    let mut products = [0; 256];
    for (byte, product) in (0..=255).zip(&mut products) {
        *product = multiply(factor, byte);
    }
    into.iter_mut().zip(bytes).for_each(|(into, byte)| *into ^= products[usize::from(*byte)]);
}

/// `bytes ×= factor`.
pub(super) fn scale(bytes: &mut [u8], factor: u8) {
    let before = bytes.to_vec();
    bytes.fill(0);
    add(bytes, &before, factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_field() {
        for one in 1..=255 {
            assert_eq!(multiply(one, inverse(one)), 1, "{one}");
            assert_eq!((multiply(one, 1), multiply(one, 0)), (one, 0));
            for other in [1, 2, 0x1d, 0x80, 0xff] {
                assert_eq!(multiply(one, other), multiply(other, one));
                assert_eq!(multiply(one ^ 3, other), multiply(one, other) ^ multiply(3, other));
            }
        }
        // All 255 weights differ.
        let weights: std::collections::BTreeSet<u8> = (0..255).map(weight).collect();
        assert_eq!(weights.len(), 255);
    }

    #[test]
    fn sums_and_products_of_bytes_are_those_of_numbers() {
        let mut into = [1, 2, 3];
        add(&mut into, &[5, 0, 0x80], 2);
        assert_eq!(into, [1 ^ 10, 2, 3 ^ 0x1d]);
        add(&mut into, &[11, 2, 3 ^ 0x1d], 1);
        assert_eq!(into, [0; 3]);
        let mut bytes = [0x80, 7];
        scale(&mut bytes, 2);
        assert_eq!(bytes, [0x1d, 14]);
    }
}
