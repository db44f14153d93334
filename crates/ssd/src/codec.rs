//! Numbers of 32 bits, low byte first, in which the state of a drive is kept, and why one is
//! refused.

use crate::config::ConfigError;
use alloc::vec::Vec;
use core::fmt;

/// Version of the states that this program writes and reads.
pub(crate) const VERSION: u32 = 1;

/// Why a state cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The drive itself is impossible.
    Config(ConfigError),
    /// It ends too early, or too late.
    Length {
        /// Its bytes.
        bytes: usize,
    },
    /// It was not written by this program, or by a version that writes it in another way.
    Unknown {
        /// The version that it names; 0 if it is no state at all.
        version: u32,
    },
    /// Bytes have changed since it was written.
    Checksum,
    /// It is the state of a drive of another shape.
    OtherDrive,
    /// Drives with parity of their own have no state that can be kept.
    Rain,
    /// It contradicts itself.
    Contradiction {
        /// What of it.
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

    /// How many there are, and then all.
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

    /// A list of at most `most` numbers, each below `limit`.
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

/// FNV-1a of 64 bits: enough to find accidents.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
