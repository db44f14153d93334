//! Numbers, bytes and bits at fixed offsets. All numbers of NVMe are little-endian.
//!
//! The offsets are constants within arrays of fixed length, so every access is within bounds. A
//! structure that consists of fields only has them in a table of [`structure`](super::structure).

/// The `N` bytes at an offset.
pub(crate) fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&bytes[at..at + N]);
    found
}

/// The number of two bytes at an offset.
pub(crate) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(get(bytes, at))
}

/// The number of four bytes at an offset.
pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(get(bytes, at))
}

/// The number of eight bytes at an offset.
pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(get(bytes, at))
}

/// Copies bytes to an offset.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Writes a number of two bytes at an offset.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_le_bytes());
}

/// Writes a number of four bytes at an offset.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, &value.to_le_bytes());
}

/// Writes a number of eight bytes at an offset.
pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    put(bytes, at, &value.to_le_bytes());
}

/// Bits of a word, from the highest to the lowest, as the specification names them.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    high: u32,
    low: u32,
}

impl Bits {
    /// `word[high:low]`.
    pub(crate) const fn new(high: u32, low: u32) -> Self {
        Self { high, low }
    }

    /// A single bit.
    pub(crate) const fn bit(at: u32) -> Self {
        Self::new(at, at)
    }

    const fn mask(self) -> u64 {
        u64::MAX >> (63 - (self.high - self.low))
    }

    /// Value of the bits in a word.
    pub(crate) const fn get(self, word: u64) -> u64 {
        word >> self.low & self.mask()
    }

    /// Value of the bits in a word of 32 bits.
    pub(crate) const fn get32(self, word: u32) -> u32 {
        self.get(word as u64) as u32
    }

    /// Whether any of the bits is set in a word.
    pub(crate) const fn is_set(self, word: u64) -> bool {
        self.get(word) != 0
    }

    /// Whether any of the bits is set in a word of 32 bits.
    pub(crate) const fn is_set32(self, word: u32) -> bool {
        self.is_set(word as u64)
    }

    /// A word with a value in the bits and zero in all others. Higher bits of the value are cut
    /// off.
    pub(crate) const fn put(self, value: u64) -> u64 {
        (value & self.mask()) << self.low
    }

    /// [`Bits::put`] for a word of 32 bits.
    pub(crate) const fn put32(self, value: u32) -> u32 {
        self.put(value as u64) as u32
    }

    /// A word with the bits set or clear, and zero in all others.
    pub(crate) const fn flag32(self, is_set: bool) -> u32 {
        self.put32(is_set as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_keep_to_their_place() {
        let bits = Bits::new(19, 16);
        assert_eq!(bits.get(0xfff6_ffff), 6);
        assert_eq!(bits.put(0x16), 0x6_0000);
        assert_eq!(Bits::new(63, 0).get(u64::MAX), u64::MAX);
        assert_eq!(Bits::bit(31).flag32(true), 1 << 31);
        assert!(!Bits::bit(30).is_set32(1 << 31));
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut bytes = [0; 20];
        put_u16(&mut bytes, 1, 0x0201);
        put_u32(&mut bytes, 3, 0x0403_0201);
        assert_eq!(bytes[..8], [0, 1, 2, 1, 2, 3, 4, 0]);
        put_u64(&mut bytes, 4, 7);
        assert_eq!((get_u64(&bytes, 4), get_u16(&bytes, 4)), (7, 7));
    }
}
