//! Requests of clients in the transmission phase, and the checks that refuse those that make no
//! sense.

use super::wire::{RequestHeader, command, command_flag};
use crate::buffer::Buffer;

/// Longest read or write, in bytes; the handshake announces it. Requests without data may be
/// longer.
pub const LENGTH_BYTES_MAX: u32 = 32 << 20;

/// A request of a client that the array has to execute.
///
/// Its range lies within the export, and its length is at least 1 byte, except of a flush, which
/// has neither.
#[derive(Debug)]
pub struct Request {
    /// What the answer must be given with. Chosen by the connection and unique among its requests
    /// in flight; not the number that the client chose, which need not be unique.
    pub cookie: u64,
    /// What to do.
    pub kind: Kind,
    /// Where it begins, in bytes.
    pub offset_bytes: u64,
    /// How long it is, in bytes: at most [`LENGTH_BYTES_MAX`] of a read or a write.
    pub length_bytes: u32,
    /// Whether what it writes must be on stable storage before it is answered.
    pub fua: bool,
    /// The first `length_bytes` of it are what is to be written. Only of a write.
    pub data: Option<Buffer>,
}

/// What a request asks for (section "Request types").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Put all writes that were answered, on any connection, on stable storage.
    Flush,
    /// Discard data.
    Trim,
    /// Write zeros.
    WriteZeroes {
        /// Whether holes may be punched for them.
        may_punch: bool,
        /// Whether to refuse with [`Errno::NotSupported`] if it takes as long as writing zeros.
        fast: bool,
    },
    /// Report which parts hold data.
    BlockStatus {
        /// Whether one extent is enough.
        one: bool,
    },
    /// Prefetch: reads will follow.
    Cache,
}

/// A part of an export, for the answer to [`Kind::BlockStatus`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// How long it is, in bytes.
    pub length_bytes: u32,
    /// Whether it takes up no room.
    pub hole: bool,
    /// Whether it reads as zeros.
    pub zero: bool,
}

/// Why a request was not carried out (section "Error values").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errno {
    /// Not allowed.
    Permission,
    /// The data could not be read or written.
    InputOutput,
    /// No memory.
    NoMemory,
    /// The request makes no sense.
    Invalid,
    /// A write past the end.
    NoSpace,
    /// Too long.
    Overflow,
    /// Not done here.
    NotSupported,
    /// The server is about to end.
    Shutdown,
}

impl Errno {
    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u32 {
        match self {
            Self::Permission => 1,
            Self::InputOutput => 5,
            Self::NoMemory => 12,
            Self::Invalid => 22,
            Self::NoSpace => 28,
            Self::Overflow => 75,
            Self::NotSupported => 95,
            Self::Shutdown => 108,
        }
    }
}

/// What was negotiated with the client that concerns requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) size_bytes: u64,
    pub(super) structured: bool,
    pub(super) allocation: bool,
}

/// Whether a request that has arrived is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Accepted(Kind),
    Refused(Errno, &'static str),
    Disconnect,
}

/// Checks a request by its header.
pub(super) fn judge(header: &RequestHeader, terms: &Terms) -> Verdict {
    let (kind, allowed) = match header.command {
        command::READ => (Kind::Read, if terms.structured { command_flag::DF } else { 0 }),
        command::WRITE => (Kind::Write, 0),
        command::DISCONNECT => return Verdict::Disconnect,
        command::FLUSH => (Kind::Flush, 0),
        command::TRIM => (Kind::Trim, 0),
        command::CACHE => (Kind::Cache, 0),
        command::WRITE_ZEROES => {
            let may_punch = header.flags & command_flag::NO_HOLE == 0;
            let fast = header.flags & command_flag::FAST_ZERO != 0;
            let allowed = command_flag::NO_HOLE | command_flag::FAST_ZERO;
            (Kind::WriteZeroes { may_punch, fast }, allowed)
        }
        command::BLOCK_STATUS => {
            if !terms.allocation {
                return Verdict::Refused(Errno::Invalid, "no metadata context was chosen");
            }
            let one = header.flags & command_flag::REQ_ONE != 0;
            (Kind::BlockStatus { one }, command_flag::REQ_ONE)
        }
        _ => return Verdict::Refused(Errno::Invalid, "the command is not known"),
    };
    // FUA is allowed with every command (section "Command flags").
    if header.flags & !(allowed | command_flag::FUA) != 0 {
        return Verdict::Refused(Errno::Invalid, "a flag is not known for this command");
    }
    if kind == Kind::Flush {
        if header.offset_bytes != 0 || header.length_bytes != 0 {
            return Verdict::Refused(Errno::Invalid, "a flush has neither offset nor length");
        }
        return Verdict::Accepted(kind);
    }
    if header.length_bytes == 0 {
        return Verdict::Refused(Errno::Invalid, "the length is zero");
    }
    let has_data = matches!(kind, Kind::Read | Kind::Write);
    if has_data && header.length_bytes > LENGTH_BYTES_MAX {
        return Verdict::Refused(Errno::Invalid, "the length is over 32 MiB");
    }
    let end = header.offset_bytes.checked_add(u64::from(header.length_bytes));
    if end.is_none_or(|end| end > terms.size_bytes) {
        // Section "Error values" names these two.
        let errno = match kind {
            Kind::Write | Kind::WriteZeroes { .. } => Errno::NoSpace,
            _ => Errno::Invalid,
        };
        return Verdict::Refused(errno, "the request goes past the end of the export");
    }
    Verdict::Accepted(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { size_bytes: 1 << 20, structured: true, allocation: true };

    fn header(command: u16, flags: u16, offset_bytes: u64, length_bytes: u32) -> RequestHeader {
        RequestHeader { flags, command, cookie: 1, offset_bytes, length_bytes }
    }

    fn errno(header: RequestHeader) -> Option<Errno> {
        match judge(&header, &TERMS) {
            Verdict::Refused(errno, sentence) => {
                assert!(!sentence.is_empty());
                Some(errno)
            }
            _ => None,
        }
    }

    #[test]
    fn ranges_are_judged_at_their_edges() {
        assert_eq!(errno(header(command::READ, 0, (1 << 20) - 1, 1)), None);
        assert_eq!(errno(header(command::READ, 0, 1 << 20, 1)), Some(Errno::Invalid));
        assert_eq!(errno(header(command::WRITE, 0, (1 << 20) - 1, 2)), Some(Errno::NoSpace));
        assert_eq!(errno(header(command::WRITE, 0, u64::MAX, u32::MAX)), Some(Errno::Invalid));
        assert_eq!(errno(header(command::WRITE, 0, u64::MAX, 1)), Some(Errno::NoSpace));
        assert_eq!(errno(header(command::WRITE_ZEROES, 0, 1, 1 << 20)), Some(Errno::NoSpace));
        assert_eq!(errno(header(command::TRIM, 0, u64::MAX - 5, 10)), Some(Errno::Invalid));
        assert_eq!(errno(header(command::CACHE, 0, 0, 0)), Some(Errno::Invalid));
    }

    #[test]
    fn requests_without_data_may_be_long() {
        let terms = Terms { size_bytes: 1 << 40, ..TERMS };
        for command in [command::TRIM, command::WRITE_ZEROES, command::BLOCK_STATUS] {
            let verdict = judge(&header(command, 0, 5, u32::MAX), &terms);
            assert!(matches!(verdict, Verdict::Accepted(_)), "{command}: {verdict:?}");
        }
        let read = judge(&header(command::READ, 0, 5, LENGTH_BYTES_MAX + 1), &terms);
        assert!(matches!(read, Verdict::Refused(Errno::Invalid, _)));
    }

    #[test]
    fn flags_belong_to_their_commands() {
        for command in 0..=7 {
            if command == command::DISCONNECT {
                continue;
            }
            let length = if command == command::FLUSH { 0 } else { 1 };
            assert_eq!(errno(header(command, command_flag::FUA, 0, length)), None, "{command}");
            assert_eq!(errno(header(command, 1 << 9, 0, length)), Some(Errno::Invalid));
            let one = errno(header(command, command_flag::REQ_ONE, 0, length));
            assert_eq!(one.is_none(), command == command::BLOCK_STATUS, "{command}");
            let no_hole = errno(header(command, command_flag::NO_HOLE, 0, length));
            assert_eq!(no_hole.is_none(), command == command::WRITE_ZEROES, "{command}");
        }
        let plain = Terms { structured: false, allocation: false, ..TERMS };
        let unfragmented = judge(&header(command::READ, command_flag::DF, 0, 1), &plain);
        assert!(matches!(unfragmented, Verdict::Refused(Errno::Invalid, _)));
        let status = judge(&header(command::BLOCK_STATUS, 0, 0, 1), &plain);
        assert!(matches!(status, Verdict::Refused(Errno::Invalid, _)));
    }
}
