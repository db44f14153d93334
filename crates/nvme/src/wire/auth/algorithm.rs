//! Algorithms of authentication.

/// Longest digest in bytes.
pub const DIGEST_BYTES_MAX: usize = 64;

/// A hash function, for HMAC and otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashFunction {
    /// 01h: SHA-256.
    Sha256,
    /// 02h: SHA-384.
    Sha384,
    /// 03h: SHA-512.
    Sha512,
}

impl HashFunction {
    /// The function with an identifier.
    #[must_use]
    pub const fn decode(id: u8) -> Option<Self> {
        match id {
            1 => Some(Self::Sha256),
            2 => Some(Self::Sha384),
            3 => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Its identifier.
    #[must_use]
    pub const fn encode(self) -> u8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha384 => 2,
            Self::Sha512 => 3,
        }
    }

    /// Bytes of a digest.
    #[must_use]
    pub const fn digest_bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// Group of the Diffie-Hellman exchange (RFC 7919), if there is one. Larger groups are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DhGroup {
    /// 00h: no exchange.
    Null,
    /// 01h: ffdhe2048.
    Ffdhe2048,
    /// 02h: ffdhe3072.
    Ffdhe3072,
}

impl DhGroup {
    /// The group with an identifier.
    #[must_use]
    pub const fn decode(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::Null),
            1 => Some(Self::Ffdhe2048),
            2 => Some(Self::Ffdhe3072),
            _ => None,
        }
    }

    /// Its identifier.
    #[must_use]
    pub const fn encode(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Ffdhe2048 => 1,
            Self::Ffdhe3072 => 2,
        }
    }

    /// Bytes of a value in the group.
    #[must_use]
    pub const fn value_bytes(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Ffdhe2048 => 256,
            Self::Ffdhe3072 => 384,
        }
    }
}
