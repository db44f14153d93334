//! Bytes that are not UTF-8: names that a kernel cut inside a character, and names from Latin-1
//! systems.
//!
//! Each such byte becomes its own letter, from a range that no text uses, so that two devices whose
//! names differ only in such bytes stay distinct. Printed text has U+FFFD instead.

use std::borrow::Cow;

/// Letter of the byte 0; the range is for private use, at the end of Unicode.
const FIRST: u32 = 0x10_ff00;

/// `bytes` as text.
pub(super) fn decoded(bytes: &[u8], text: &mut String) {
    text.clear();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let letter = |byte: &u8| char::from_u32(FIRST + u32::from(*byte));
        text.extend(chunk.invalid().iter().map(|byte| letter(byte).unwrap_or('\u{fffd}')));
    }
}

/// Whether `letter` represents a byte that is not UTF-8.
pub(crate) fn is_stray(letter: char) -> bool {
    u32::from(letter) >= FIRST
}

/// `text` in printable form.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    // The letters of such bytes begin with this byte, and hardly any others do.
    if memchr::memchr(0xf4, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars().map(|letter| if is_stray(letter) { '\u{fffd}' } else { letter }).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_stay_different_and_look_alike() {
        let (mut one, mut other) = (String::new(), String::new());
        decoded(b"M\xfcller \xc3\xbc", &mut one);
        decoded(b"M\xe4ller \xc3\xbc", &mut other);
        assert_ne!(one, other);
        assert_eq!(shown(&one), "M\u{fffd}ller \u{fc}");
        assert_eq!(shown(&one), shown(&other));
        decoded(b"plain", &mut one);
        assert_eq!((one.as_str(), shown("plain").as_ref()), ("plain", "plain"));
    }
}
