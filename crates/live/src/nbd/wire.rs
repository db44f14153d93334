//! Numbers of the NBD protocol and the layout of its messages.
//!
//! Source: the protocol's description, `doc/proto.md` of the project NetworkBlockDevice, sections
//! "Values" and "Protocol phases". All numbers on the wire are big-endian.

/// First eight bytes of a server's greeting: `NBDMAGIC`.
pub const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Second eight bytes of a greeting, and first of every option: `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// First eight bytes of the reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First four bytes of a request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First four bytes of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First four bytes of a chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request without its payload.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of a simple reply without its payload.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Bytes of a chunk of a structured reply without its payload.
pub const CHUNK_BYTES: usize = 20;
/// Bytes of an option without its data.
pub const OPTION_BYTES: usize = 16;
/// Zeros after the answer to `NBD_OPT_EXPORT_NAME`, unless both sides agreed to omit them.
pub const RESERVED_ZEROS: usize = 124;
/// Longest name or other string, from section "Values", "String handling".
pub const STRING_BYTES_MAX: usize = 4096;

/// Flags of the greeting, and of the client's answer to it.
pub mod handshake_flag {
    /// Both sides speak the fixed newstyle negotiation.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// The zeros after `NBD_OPT_EXPORT_NAME` are omitted.
    pub const NO_ZEROES: u16 = 2;
}

/// What a client can ask for during the handshake.
pub mod option {
    /// Begin transmission, in the oldest way: a refusal closes the connection.
    pub const EXPORT_NAME: u32 = 1;
    /// Give up.
    pub const ABORT: u32 = 2;
    /// List the exports.
    pub const LIST: u32 = 3;
    /// Go on under TLS.
    pub const STARTTLS: u32 = 5;
    /// Describe an export.
    pub const INFO: u32 = 6;
    /// Describe an export and begin transmission.
    pub const GO: u32 = 7;
    /// Use structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// List metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Choose metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Kinds of replies to options.
pub mod option_reply {
    /// Done, and nothing follows.
    pub const ACK: u32 = 1;
    /// An export.
    pub const SERVER: u32 = 2;
    /// Something about an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// The option is not known.
    pub const ERR_UNSUP: u32 = (1 << 31) + 1;
    /// The server does not want to.
    pub const ERR_POLICY: u32 = (1 << 31) + 2;
    /// The option's data make no sense.
    pub const ERR_INVALID: u32 = (1 << 31) + 3;
    /// First TLS.
    pub const ERR_TLS_REQD: u32 = (1 << 31) + 5;
    /// There is no such export.
    pub const ERR_UNKNOWN: u32 = (1 << 31) + 6;
    /// The option's data are too long.
    pub const ERR_TOO_BIG: u32 = (1 << 31) + 9;
}

/// What can be said about an export.
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// Name.
    pub const NAME: u16 = 1;
    /// Description.
    pub const DESCRIPTION: u16 = 2;
    /// Smallest, preferred and largest request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export: what its server does.
pub mod export_flag {
    /// The others mean something.
    pub const HAS_FLAGS: u16 = 1;
    /// Nothing can be written.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Takes `NBD_CMD_FLUSH`.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// Takes `NBD_CMD_FLAG_FUA`.
    pub const SEND_FUA: u16 = 1 << 3;
    /// Takes `NBD_CMD_TRIM`.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// Takes `NBD_CMD_WRITE_ZEROES`.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Takes `NBD_CMD_FLAG_DF`.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection holds for the writes of all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// Takes `NBD_CMD_CACHE`.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// Takes `NBD_CMD_FLAG_FAST_ZERO`.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// What a client can ask for during transmission.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write.
    pub const WRITE: u16 = 1;
    /// Finish what was begun and end.
    pub const DISCONNECT: u16 = 2;
    /// Put everything that was answered on stable storage.
    pub const FLUSH: u16 = 3;
    /// The data are no longer needed.
    pub const TRIM: u16 = 4;
    /// The data will be needed.
    pub const CACHE: u16 = 5;
    /// Write zeros without sending them.
    pub const WRITE_ZEROES: u16 = 6;
    /// Say where data are.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of a request.
pub mod command_flag {
    /// On stable storage before the answer.
    pub const FUA: u16 = 1;
    /// Zeros must take up room.
    pub const NO_HOLE: u16 = 1 << 1;
    /// The answer comes in one piece.
    pub const DF: u16 = 1 << 2;
    /// One extent is enough.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Zeros only if that is faster than to write them.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Kinds of chunks of structured replies, and their flag.
pub mod chunk {
    /// Flag: the last chunk of a reply.
    pub const DONE: u16 = 1;
    /// Nothing.
    pub const NONE: u16 = 0;
    /// Data with their offset.
    pub const OFFSET_DATA: u16 = 1;
    /// Extents.
    pub const BLOCK_STATUS: u16 = 5;
    /// An error with a sentence.
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// The metadata context that says which parts of an export hold data.
pub const ALLOCATION: &str = "base:allocation";
/// The number by which chunks name [`ALLOCATION`].
pub const ALLOCATION_ID: u32 = 1;

/// Flags of an extent of [`ALLOCATION`].
pub mod extent_flag {
    /// Takes up no room.
    pub const HOLE: u32 = 1;
    /// Reads as zeros.
    pub const ZERO: u32 = 2;
}

/// Takes numbers and strings off the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes, if there are as many.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    /// The next 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*front))
    }

    /// The next 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*front))
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*front))
    }

    /// A string that is preceded by its length in 32 bits.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(usize::try_from(length).ok()?)
    }
}

/// A request as it is sent, without its payload (section "Request message").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHeader {
    /// Of [`command_flag`].
    pub flags: u16,
    /// Of [`command`], if the client is honest.
    pub command: u16,
    /// What the client knows the request by.
    pub cookie: u64,
    /// Where it begins, in bytes.
    pub offset_bytes: u64,
    /// How long it is, in bytes.
    pub length_bytes: u32,
}

impl RequestHeader {
    /// Reads a request; `None` if it does not begin like one.
    #[must_use]
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.u32()? != REQUEST_MAGIC {
            return None;
        }
        Some(Self {
            flags: fields.u16()?,
            command: fields.u16()?,
            cookie: fields.u64()?,
            offset_bytes: fields.u64()?,
            length_bytes: fields.u32()?,
        })
    }

    /// The request as it is sent.
    #[must_use]
    pub fn bytes(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset_bytes.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length_bytes.to_be_bytes());
        bytes
    }
}

/// The front of a simple reply (section "Simple reply message").
#[must_use]
pub fn simple_reply(error: u32, cookie: u64) -> [u8; SIMPLE_REPLY_BYTES] {
    let mut bytes = [0; SIMPLE_REPLY_BYTES];
    bytes[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

/// The front of the last chunk of a structured reply (section "Structured reply chunk message").
/// `payload_bytes` follow it.
#[must_use]
pub fn last_chunk(kind: u16, cookie: u64, payload_bytes: u32) -> [u8; CHUNK_BYTES] {
    let mut bytes = [0; CHUNK_BYTES];
    bytes[..4].copy_from_slice(&CHUNK_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&chunk::DONE.to_be_bytes());
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..].copy_from_slice(&payload_bytes.to_be_bytes());
    bytes
}

/// Appends the reply to an option, with `data` of at most some kilobytes.
pub fn put_option_reply(output: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    output.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    output.extend_from_slice(&option.to_be_bytes());
    output.extend_from_slice(&kind.to_be_bytes());
    output.extend_from_slice(&length_of(data).to_be_bytes());
    output.extend_from_slice(data);
}

/// Appends an option, with `data` of at most some kilobytes.
pub fn put_option(output: &mut Vec<u8>, option: u32, data: &[u8]) {
    output.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
    output.extend_from_slice(&option.to_be_bytes());
    output.extend_from_slice(&length_of(data).to_be_bytes());
    output.extend_from_slice(data);
}

fn length_of(data: &[u8]) -> u32 {
    u32::try_from(data.len()).expect("options and their replies are short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn requests_come_back(flags: u16, command: u16, cookie: u64, offset_bytes: u64,
                              length_bytes: u32) {
            let header = RequestHeader { flags, command, cookie, offset_bytes, length_bytes };
            prop_assert_eq!(RequestHeader::parse(&header.bytes()), Some(header));
        }

        #[test]
        fn any_damage_to_the_magic_is_seen(at in 0usize..4, bit in 0u8..8) {
            let header = RequestHeader {
                flags: 0, command: 0, cookie: 0, offset_bytes: 0, length_bytes: 0,
            };
            let mut bytes = header.bytes();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(RequestHeader::parse(&bytes), None);
        }

        #[test]
        fn fields_never_read_beyond_the_end(bytes: Vec<u8>) {
            let mut fields = Fields(&bytes);
            let string = fields.string();
            if let Some(string) = string {
                prop_assert_eq!(string.len() + fields.0.len() + 4, bytes.len());
            }
        }
    }

    #[test]
    fn the_numbers_spell_what_the_protocol_says() {
        assert_eq!(&GREETING_MAGIC.to_be_bytes(), b"NBDMAGIC");
        assert_eq!(&OPTION_MAGIC.to_be_bytes(), b"IHAVEOPT");
    }
}
