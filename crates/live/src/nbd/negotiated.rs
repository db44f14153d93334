//! Terms of an export, and requests that a client must not send under them.
//!
//! The source is the NBD protocol, sections "Transmission flags", "Block size constraints" and
//! "Request types".

use super::wire::{command, command_flag, export_flag};
use std::fmt;

/// Longest request for data where the server names no bound: what every server takes.
const PAYLOAD_BYTES_USUAL: u32 = 32 << 20;
/// Block that the server likes best where it says nothing.
const PREFERRED_BYTES_USUAL: u32 = 4096;

/// Terms of an export, as its server has said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// Length of the export.
    pub size_bytes: u64,
    /// What the server does, of [`export_flag`].
    pub flags: u16,
    /// Offsets and lengths are multiples of it; 1 or more.
    pub least_block_bytes: u32,
    /// The request length that the server likes best.
    pub preferred_block_bytes: u32,
    /// Longest read and write.
    pub payload_bytes_max: u32,
}

impl Default for Negotiated {
    fn default() -> Self {
        Self {
            size_bytes: 0,
            flags: 0,
            least_block_bytes: 1,
            preferred_block_bytes: PREFERRED_BYTES_USUAL,
            payload_bytes_max: PAYLOAD_BYTES_USUAL,
        }
    }
}

/// Why a request must not be sent. Each continues "the server".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forbidden {
    /// It is written to what may be read only.
    ReadOnly,
    /// The server does not know the command or flag.
    Unsupported {
        /// Which.
        what: &'static str,
    },
    /// It does not consist of whole blocks.
    Unaligned {
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// It is too long.
    TooLong {
        /// Most bytes.
        most_bytes: u32,
    },
    /// It goes beyond the end.
    Outside {
        /// Length of the export.
        size_bytes: u64,
    },
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str("offers the export for reading only"),
            Self::Unsupported { what } => write!(f, "offers no {what}"),
            Self::Unaligned { block_bytes } => {
                write!(f, "takes whole blocks of {block_bytes} bytes only")
            }
            Self::TooLong { most_bytes } => write!(f, "takes at most {most_bytes} bytes at once"),
            Self::Outside { size_bytes } => write!(f, "has {size_bytes} bytes only"),
        }
    }
}

impl Negotiated {
    /// Whether the server has said anything that a usual request for data can violate.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.has(export_flag::READ_ONLY)
            || self.least_block_bytes > 1
            || self.payload_bytes_max < PAYLOAD_BYTES_USUAL
    }

    /// Whether the export has a flag. Without `HAS_FLAGS` the others say nothing.
    fn has(&self, flag: u16) -> bool {
        let both = export_flag::HAS_FLAGS | flag;
        self.flags & both == both
    }

    /// Whether a request of [`command`] with flags of [`command_flag`] may be sent.
    ///
    /// # Errors
    ///
    /// If it may not: why.
    pub fn check(
        &self,
        command: u16,
        flags: u16,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Result<(), Forbidden> {
        let changes = [command::WRITE, command::TRIM, command::WRITE_ZEROES].contains(&command);
        if changes && self.has(export_flag::READ_ONLY) {
            return Err(Forbidden::ReadOnly);
        }
        let offered = match command {
            command::FLUSH => (export_flag::SEND_FLUSH, "flush"),
            command::TRIM => (export_flag::SEND_TRIM, "trim"),
            command::WRITE_ZEROES => (export_flag::SEND_WRITE_ZEROES, "write of zeroes"),
            command::CACHE => (export_flag::SEND_CACHE, "request to cache"),
            _ => (0, ""),
        };
        if offered.0 != 0 && !self.has(offered.0) {
            return Err(Forbidden::Unsupported { what: offered.1 });
        }
        let wants = |flag| flags & flag != 0;
        if wants(command_flag::FUA) && !self.has(export_flag::SEND_FUA) {
            return Err(Forbidden::Unsupported { what: "forced write (FUA)" });
        }
        if wants(command_flag::FAST_ZERO) && !self.has(export_flag::SEND_FAST_ZERO) {
            return Err(Forbidden::Unsupported { what: "fast write of zeroes" });
        }
        let block_bytes = self.least_block_bytes;
        if !offset_bytes.is_multiple_of(block_bytes.into())
            || !length_bytes.is_multiple_of(block_bytes)
        {
            return Err(Forbidden::Unaligned { block_bytes });
        }
        let has_data = [command::READ, command::WRITE].contains(&command);
        if has_data && length_bytes > self.payload_bytes_max {
            return Err(Forbidden::TooLong { most_bytes: self.payload_bytes_max });
        }
        let end = offset_bytes.checked_add(length_bytes.into());
        if end.is_none_or(|end| end > self.size_bytes) {
            return Err(Forbidden::Outside { size_bytes: self.size_bytes });
        }
        Ok(())
    }
}

/// An error of a server in words (section "Error values").
#[must_use]
pub fn error_name(error: u32) -> String {
    let name = match error {
        1 => "EPERM, not permitted",
        5 => "EIO, a failure of the device",
        12 => "ENOMEM, no memory",
        22 => "EINVAL, not a valid request",
        28 => "ENOSPC, no space left",
        75 => "EOVERFLOW, too large for a reply",
        95 => "ENOTSUP, not supported",
        108 => "ESHUTDOWN, the server ends",
        other => return format!("error {other}"),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_that_the_server_has_not_offered() {
        use {command as c, command_flag as f, export_flag as e};
        let all = e::SEND_FLUSH | e::SEND_FUA | e::SEND_TRIM | e::SEND_WRITE_ZEROES;
        let of = |flags| Negotiated {
            size_bytes: 1 << 20,
            flags,
            least_block_bytes: 512,
            payload_bytes_max: 64 << 10,
            ..Negotiated::default()
        };
        let (able, bare) = (of(e::HAS_FLAGS | all), of(e::HAS_FLAGS));
        let read_only = of(e::HAS_FLAGS | e::READ_ONLY | all);
        for (command, flags) in [
            (c::READ, 0),
            (c::WRITE, 0),
            (c::WRITE, f::FUA),
            (c::FLUSH, 0),
            (c::TRIM, 0),
            (c::WRITE_ZEROES, f::FUA),
        ] {
            let length = if command == c::FLUSH { 0 } else { 4096 };
            assert_eq!(able.check(command, flags, 0, length), Ok(()), "{command}, {flags}");
            let changes = ![c::READ, c::FLUSH].contains(&command);
            let expected = if changes { Err(Forbidden::ReadOnly) } else { Ok(()) };
            assert_eq!(read_only.check(command, flags, 0, length), expected, "{command}, {flags}");
            let is_plain = flags == 0 && [c::READ, c::WRITE].contains(&command);
            assert_eq!(
                bare.check(command, flags, 0, length).is_ok(),
                is_plain,
                "{command}, {flags}"
            );
            // Flags that are not said to be there say nothing.
            assert_eq!(of(all).check(command, flags, 0, length).is_ok(), is_plain);
        }
        let fast = able.check(c::WRITE_ZEROES, f::FAST_ZERO, 0, 512);
        assert_eq!(fast, Err(Forbidden::Unsupported { what: "fast write of zeroes" }));
    }

    #[test]
    fn requests_are_whole_blocks_within_the_bounds() {
        let bounds = Negotiated {
            size_bytes: 1 << 20,
            flags: export_flag::HAS_FLAGS | export_flag::SEND_TRIM,
            least_block_bytes: 4096,
            payload_bytes_max: 64 << 10,
            ..Negotiated::default()
        };
        let check = |command, offset, length| bounds.check(command, 0, offset, length);
        let unaligned = Err(Forbidden::Unaligned { block_bytes: 4096 });
        assert_eq!(check(command::READ, 512, 4096), unaligned);
        assert_eq!(check(command::READ, 4096, 512), unaligned);
        let long = Err(Forbidden::TooLong { most_bytes: 64 << 10 });
        assert_eq!(check(command::WRITE, 0, 68 << 10), long);
        assert_eq!(check(command::TRIM, 0, 68 << 10), Ok(()), "it has no data");
        let outside = Err(Forbidden::Outside { size_bytes: 1 << 20 });
        assert_eq!(check(command::READ, 1 << 20, 4096), outside);
        assert_eq!(check(command::READ, u64::MAX - 4095, 4096), outside);
        assert!(bounds.is_bounded() && !Negotiated::default().is_bounded());
    }
}
