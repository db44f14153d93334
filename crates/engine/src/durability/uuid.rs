//! The identity of an array.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// Identity of an array: 16 random bytes.
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

/// Error: a text that is no UUID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoUuid(String);

impl fmt::Display for NoUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a uuid: 32 hexadecimal digits, such as 0d9f3c8e-5a41-4c7b-9b62-7f10e4a8d253",
            self.0
        )
    }
}

impl core::error::Error for NoUuid {}

impl FromStr for Uuid {
    type Err = NoUuid;

    /// Parses a UUID. Hyphens stand where [`Display`](fmt::Display) writes them, or nowhere.
    fn from_str(text: &str) -> Result<Self, NoUuid> {
        let no_uuid = || NoUuid(text.to_string());
        let hyphens = text.char_indices().filter(|(_, char)| *char == '-').map(|(at, _)| at);
        let digits: String = text.chars().filter(|char| *char != '-').collect();
        let is_usual = hyphens.clone().eq([8, 13, 18, 23]) || hyphens.count() == 0;
        if !is_usual || digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return Err(no_uuid());
        }
        let number = u128::from_str_radix(&digits, 16).map_err(|_| no_uuid())?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn names_print_as_uuids() {
        let one = Uuid::from_random([0xff; 16]);
        assert_eq!(one.0[8], 0xbf);
        let text = one.to_string();
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        assert_eq!(Uuid([0xab; 16]).to_string(), "abababab-abab-abab-abab-abababababab");
    }

    #[test]
    fn what_is_printed_is_read_and_anything_else_refused() {
        let one = Uuid([1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 0xf0]);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert_eq!(one.to_string().to_uppercase().parse(), Ok(one));
        assert_eq!(one.to_string().replace('-', "").parse(), Ok(one));
        let long = format!("{one}0");
        for wrong in ["", "array", "+10203040506070809 0a0b0c0d0e0ff0", "0-1", &long, "ü"] {
            let refused = wrong.parse::<Uuid>().unwrap_err().to_string();
            assert!(refused.contains("is not a uuid: 32 hexadecimal digits"), "{refused}");
        }
    }
}
