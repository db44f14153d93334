//! Encoding of a drive's state as numbers of 32 bits, low byte first, and the reasons to refuse a
//! state.

use crate::config::ConfigError;
use alloc::vec::Vec;
use core::fmt;

/// Version of the states that this program writes and reads.
pub(crate) const VERSION: u32 = 1;

/// Reason why a state cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The drive itself is impossible.
    Config(ConfigError),
    /// The state is too short or too long.
    Length {
        /// Length of the state in bytes.
        bytes: usize,
    },
    /// The state was not written by this program, or by a version with another format.
    Unknown {
        /// Version that the state names; 0 if the bytes are no state.
        version: u32,
    },
    /// The checksum does not match: bytes have changed since the state was written.
    Checksum,
    /// The state belongs to a drive of another shape.
    OtherDrive,
    /// The drive has parity of its own (RAIN); the state of such drives cannot be saved.
    Rain,
    /// The state contradicts itself.
    Contradiction {
        /// Part of the state that contradicts the rest.
        what: &'static str,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "{error}"),
            Self::Length { bytes } => {
                write!(
                    f,
                    "the state of the drive has {bytes} bytes, and the drive needs another number"
                )
            }
            Self::Unknown { version: 0 } => write!(f, "this is not the state of a drive"),
            Self::Unknown { version } => write!(
                f,
                "the state of the drive is of version {version}, and this program reads version {VERSION}"
            ),
            Self::Checksum => write!(f, "the state of the drive has changed since it was written"),
            Self::OtherDrive => {
                write!(
                    f,
                    "the state is of a drive with another geometry; use the one that it was written for"
                )
            }
            Self::Rain => {
                write!(f, "the state of a drive with RAIN cannot be kept; prepare it anew")
            }
            Self::Contradiction { what } => {
                write!(f, "the state of the drive contradicts itself: {what}")
            }
        }
    }
}

impl core::error::Error for StateError {}

/// Writes numbers.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn put(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes the length of a list, then its numbers.
    pub(crate) fn put_list(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.put(numbers.len() as u32);
        numbers.for_each(|number| self.put(number));
    }
}

/// Reads numbers.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) all: usize,
}

impl Reader<'_> {
    pub(crate) fn take(&mut self) -> Result<u32, StateError> {
        let (number, rest) =
            self.bytes.split_first_chunk().ok_or(StateError::Length { bytes: self.all })?;
        self.bytes = rest;
        Ok(u32::from_le_bytes(*number))
    }

    /// Reads a list of at most `most` numbers, each below `limit`.
    pub(crate) fn take_list(
        &mut self,
        most: usize,
        limit: u32,
        what: &'static str,
    ) -> Result<Vec<u32>, StateError> {
        let len = self.take()? as usize;
        if len > most {
            return Err(StateError::Contradiction { what });
        }
        if self.bytes.len() / size_of::<u32>() < len {
            return Err(StateError::Length { bytes: self.all });
        }
        (0..len)
            .map(|_| match self.take()? {
                number if number < limit => Ok(number),
                _ => Err(StateError::Contradiction { what }),
            })
            .collect()
    }
}

/// FNV-1a of 64 bits: enough to find accidental damage.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
