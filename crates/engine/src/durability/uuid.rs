//! The name of an array.

use core::fmt;

/// An array's name for itself: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The UUID of version 4 (RFC 9562 section 5.4) with these random bits.
    #[must_use]
    pub const fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_print_as_uuids() {
        let one = Uuid::from_random([0xff; 16]);
        assert_eq!(one.0[8], 0xbf);
        let text = one.to_string();
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        assert_eq!(Uuid([0xab; 16]).to_string(), "abababab-abab-abab-abab-abababababab");
    }
}
