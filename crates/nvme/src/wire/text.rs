//! Text of fixed length: qualified names, and ASCII padded with spaces.

use super::field::{get, put};
use super::structure::Value;
use core::fmt;

/// Longest qualified name in bytes; its fields have 256, so that a zero byte always ends the name.
pub const NQN_BYTES_MAX: usize = 223;

/// Bytes of the field of a qualified name.
pub const NQN_FIELD_BYTES: usize = 256;

/// An NVMe Qualified Name of a host or a subsystem: UTF-8 that begins with `nqn.`, at most
/// [`NQN_BYTES_MAX`] bytes, without control characters (which would end up in logs).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nqn {
    // Zero from `length` on, so that equal names are equal bytes.
    bytes: [u8; NQN_BYTES_MAX],
    length: u8,
}

impl Nqn {
    /// The well-known name of every discovery subsystem.
    pub const DISCOVERY: &'static str = "nqn.2014-08.org.nvmexpress.discovery";

    /// The name; `None` if it is not valid.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let is_name = name.starts_with("nqn.") && !name.chars().any(char::is_control);
        if !is_name || name.len() > NQN_BYTES_MAX {
            return None;
        }
        let mut bytes = [0; NQN_BYTES_MAX];
        put(&mut bytes, 0, name.as_bytes());
        Some(Self { bytes, length: name.len() as u8 })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The bytes come from a string, so they are always valid.
        core::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }

    /// The name in a field, up to the first zero byte; `None` if it is not valid.
    #[must_use]
    pub fn decode(field: &[u8; NQN_FIELD_BYTES]) -> Option<Self> {
        let end = field.iter().position(|&byte| byte == 0)?;
        Self::new(core::str::from_utf8(&field[..end]).ok()?)
    }

    /// The field, with zero bytes behind the name.
    #[must_use]
    pub fn encode(&self) -> [u8; NQN_FIELD_BYTES] {
        let mut field = [0; NQN_FIELD_BYTES];
        put(&mut field, 0, &self.bytes);
        field
    }
}

/// `None` is zeroes.
impl Value for Option<Nqn> {
    const BYTES: usize = NQN_FIELD_BYTES;
    const IS_TEXT: bool = true;

    fn read(bytes: &[u8]) -> Self {
        Nqn::decode(&get(bytes, 0))
    }

    fn write(&self, bytes: &mut [u8]) {
        if let Some(name) = self {
            put(bytes, 0, &name.encode());
        }
    }
}

impl fmt::Debug for Nqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Nqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Printable ASCII at the start of `N` bytes, the rest spaces: serial and model numbers, addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ascii<const N: usize>([u8; N]);

impl<const N: usize> Ascii<N> {
    /// The text; `None` if it is too long or has other characters.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !is_printable || text.len() > N {
            return None;
        }
        let mut bytes = [b' '; N];
        put(&mut bytes, 0, text.as_bytes());
        Some(Self(bytes))
    }

    /// The text without trailing spaces.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // ASCII is always a valid string.
        core::str::from_utf8(&self.0).unwrap_or_default().trim_end_matches(' ')
    }

    /// Text of a field. Linux pads some fields with zero bytes, which count as spaces; other
    /// unprintable bytes become question marks.
    #[must_use]
    pub fn decode(field: &[u8; N]) -> Self {
        Self(field.map(|byte| match byte {
            b' '..=b'~' => byte,
            0 => b' ',
            _ => b'?',
        }))
    }

    /// The field.
    #[must_use]
    pub const fn encode(&self) -> [u8; N] {
        self.0
    }
}

impl<const N: usize> Value for Ascii<N> {
    const BYTES: usize = N;
    const IS_TEXT: bool = true;

    fn read(bytes: &[u8]) -> Self {
        Self::decode(&get(bytes, 0))
    }

    fn write(&self, bytes: &mut [u8]) {
        put(bytes, 0, &self.0);
    }
}

impl<const N: usize> Default for Ascii<N> {
    fn default() -> Self {
        Self([b' '; N])
    }
}

impl<const N: usize> fmt::Debug for Ascii<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
