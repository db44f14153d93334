//! Tables of products in GF(2^8), made while this is compiled.

/// For every coefficient its products with 0 to 15, and with 0, 16, 32 to 240.
pub(super) static HALVES: [[u8; 32]; 256] = halves();

const fn halves() -> [[u8; 32]; 256] {
    let mut tables = [[0; 32]; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut factor = 0;
        while factor < 16 {
            tables[coefficient][factor] = multiply(coefficient as u8, factor as u8);
            tables[coefficient][16 + factor] = multiply(coefficient as u8, (factor << 4) as u8);
            factor += 1;
        }
        coefficient += 1;
    }
    tables
}

/// The product by shifts, for tables that are made while this is compiled.
pub(super) const fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { LOW_POLYNOMIAL } else { 0 };
        b >>= 1;
    }
    product
}

/// The field's polynomial without its x^8, which leaves the byte.
pub(super) const LOW_POLYNOMIAL: u8 = 0x1d;
