//! The handshake without a socket: bytes of a client in, bytes for it out, until it has chosen an
//! export.
//!
//! Source: `doc/proto.md`, sections "Fixed newstyle negotiation", "Option types", "TLS support" and
//! "Metadata querying".

use super::request::LENGTH_BYTES_MAX;
use super::wire::{self, Fields, export_flag, handshake_flag, info, option, option_reply};
use std::sync::Arc;

/// Longest data of an option, in bytes. The connection of a client that sends more is closed, after
/// a reply that says so.
pub const OPTION_DATA_BYTES_MAX: u32 = 64 << 10;

/// What clients can choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// What it is called, at most 4096 bytes. The empty name means the first export.
    pub name: String,
    /// One line for people, at most 4096 bytes.
    pub description: String,
    /// How long it is.
    pub size_bytes: u64,
    /// The request length that costs least per byte: a power of two from 512 bytes to 32 MiB.
    pub preferred_block_bytes: u32,
}

/// Whether clients use TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsPolicy {
    /// They cannot ("NOTLS").
    Off,
    /// They can ("SELECTIVETLS").
    Allowed,
    /// They must ("FORCEDTLS").
    Required,
}

/// What a handshake ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Position of the export.
    pub export: usize,
    /// Its length.
    pub size_bytes: u64,
    /// Whether replies are structured.
    pub structured: bool,
    /// Whether the client may ask for extents of `base:allocation`.
    pub allocation: bool,
}

/// How far a handshake has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The next bytes of the client are TLS, after the output so far has been sent; then
    /// [`Handshake::tls_started`].
    StartTls,
    /// The next bytes of the client are requests.
    Done(Choice),
    /// The connection is to be closed after the output so far has been sent.
    Close,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Flags,
    Options,
    Tls,
    Over(Progress),
}

/// A handshake with one client.
#[derive(Debug)]
pub struct Handshake {
    exports: Arc<[Export]>,
    policy: TlsPolicy,
    stage: Stage,
    fixed: bool,
    no_zeroes: bool,
    is_tls: bool,
    structured: bool,
    /// The export for which `base:allocation` was chosen.
    allocation: Option<usize>,
}

impl Handshake {
    /// A handshake for one of `exports`, of which there is at least one, and the greeting, which
    /// is sent before the client says anything.
    #[must_use]
    pub fn new(exports: Arc<[Export]>, policy: TlsPolicy) -> (Self, [u8; 18]) {
        let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
        let mut greeting = [0; 18];
        greeting[..8].copy_from_slice(&wire::GREETING_MAGIC.to_be_bytes());
        greeting[8..16].copy_from_slice(&wire::OPTION_MAGIC.to_be_bytes());
        greeting[16..].copy_from_slice(&flags.to_be_bytes());
        let handshake = Self {
            exports,
            policy,
            stage: Stage::Flags,
            fixed: false,
            no_zeroes: false,
            is_tls: false,
            structured: false,
            allocation: None,
        };
        (handshake, greeting)
    }

    /// Takes one message, if it is whole, off the front of what the client has sent. Gives the
    /// number of bytes that it took, 0 if more are needed, and appends the answer to `output`.
    pub fn advance(&mut self, input: &[u8], output: &mut Vec<u8>) -> (usize, Progress) {
        let (count, progress) = match self.stage {
            Stage::Flags => self.take_flags(input),
            Stage::Options => self.take_option(input, output),
            Stage::Tls => (0, Progress::StartTls),
            Stage::Over(progress) => (0, progress),
        };
        match progress {
            Progress::More => {}
            Progress::StartTls => self.stage = Stage::Tls,
            Progress::Done(_) | Progress::Close => self.stage = Stage::Over(progress),
        }
        (count, progress)
    }

    /// TLS has begun: what was agreed on before does not count any more.
    pub fn tls_started(&mut self) {
        self.is_tls = true;
        self.structured = false;
        self.allocation = None;
        self.stage = Stage::Options;
    }

    /// Steps that are done, of those that each client makes once. Options can be repeated, and are
    /// none.
    #[must_use]
    pub fn steps(&self) -> u8 {
        match self.stage {
            Stage::Flags => 0,
            Stage::Options if !self.is_tls => 1,
            Stage::Tls => 2,
            Stage::Options => 3,
            Stage::Over(_) => 4,
        }
    }

    fn take_flags(&mut self, input: &[u8]) -> (usize, Progress) {
        let Some(flags) = Fields(input).u32() else { return (0, Progress::More) };
        let fixed = u32::from(handshake_flag::FIXED_NEWSTYLE);
        let no_zeroes = u32::from(handshake_flag::NO_ZEROES);
        if flags & !(fixed | no_zeroes) != 0 {
            return (4, Progress::Close);
        }
        self.fixed = flags & fixed != 0;
        self.no_zeroes = flags & no_zeroes != 0;
        self.stage = Stage::Options;
        (4, Progress::More)
    }

    fn take_option(&mut self, input: &[u8], output: &mut Vec<u8>) -> (usize, Progress) {
        let mut fields = Fields(input);
        // The magic is judged as soon as it is there, so that garbage does not wait for more.
        match fields.u64() {
            None => return (0, Progress::More),
            Some(wire::OPTION_MAGIC) => {}
            Some(_) => return (input.len(), Progress::Close),
        }
        let (Some(option), Some(length)) = (fields.u32(), fields.u32()) else {
            return (0, Progress::More);
        };
        if length > OPTION_DATA_BYTES_MAX {
            if self.fixed && option != option::EXPORT_NAME {
                let sentence = b"the data of the option are over 64 KiB";
                wire::put_option_reply(output, option, option_reply::ERR_TOO_BIG, sentence);
            }
            return (input.len(), Progress::Close);
        }
        let Some(data) = fields.bytes(length as usize) else { return (0, Progress::More) };
        let progress = self.answer(option, data, output);
        (wire::OPTION_BYTES + data.len(), progress)
    }

    fn answer(&mut self, option: u32, data: &[u8], output: &mut Vec<u8>) -> Progress {
        let tls_missing = self.policy == TlsPolicy::Required && !self.is_tls;
        if option == option::EXPORT_NAME {
            // This option cannot be refused other than by hanging up.
            return match self.find(data) {
                Some(export) if !tls_missing => self.begin_old_way(export, output),
                _ => Progress::Close,
            };
        }
        if !self.fixed {
            return Progress::Close;
        }
        let mut reply = |kind, data: &[u8]| wire::put_option_reply(output, option, kind, data);
        match option {
            option::ABORT => {
                reply(option_reply::ACK, &[]);
                return Progress::Close;
            }
            option::STARTTLS if !data.is_empty() => {
                reply(option_reply::ERR_INVALID, b"the option has no data");
            }
            option::STARTTLS if self.policy == TlsPolicy::Off => {
                reply(option_reply::ERR_POLICY, b"TLS is off");
            }
            option::STARTTLS if self.is_tls => {
                reply(option_reply::ERR_INVALID, b"TLS has begun already");
            }
            option::STARTTLS => {
                reply(option_reply::ACK, &[]);
                return Progress::StartTls;
            }
            _ if tls_missing => reply(option_reply::ERR_TLS_REQD, b"this server requires TLS"),
            option::LIST if data.is_empty() => self.list(output),
            option::LIST => reply(option_reply::ERR_INVALID, b"the option has no data"),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                reply(option_reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY => {
                reply(option_reply::ERR_INVALID, b"the option has no data");
            }
            option::INFO | option::GO => return self.describe(option, data, output),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.contexts(option, data, output);
            }
            _ => reply(option_reply::ERR_UNSUP, b"the option is not known"),
        }
        Progress::More
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() && !self.exports.is_empty() {
            return Some(0);
        }
        self.exports.iter().position(|export| export.name.as_bytes() == name)
    }

    fn choice(&self, export: usize) -> Choice {
        Choice {
            export,
            size_bytes: self.exports[export].size_bytes,
            structured: self.structured,
            // A context that was chosen for another export does not count.
            allocation: self.structured && self.allocation == Some(export),
        }
    }

    fn flags(&self) -> u16 {
        let fragments = if self.structured { export_flag::SEND_DF } else { 0 };
        fragments
            | export_flag::HAS_FLAGS
            | export_flag::SEND_FLUSH
            | export_flag::SEND_FUA
            | export_flag::SEND_TRIM
            | export_flag::SEND_WRITE_ZEROES
            | export_flag::CAN_MULTI_CONN
            | export_flag::SEND_CACHE
            | export_flag::SEND_FAST_ZERO
    }

    fn begin_old_way(&self, export: usize, output: &mut Vec<u8>) -> Progress {
        output.extend_from_slice(&self.exports[export].size_bytes.to_be_bytes());
        output.extend_from_slice(&self.flags().to_be_bytes());
        if !self.no_zeroes {
            output.extend_from_slice(&[0; wire::RESERVED_ZEROS]);
        }
        Progress::Done(self.choice(export))
    }

    fn list(&self, output: &mut Vec<u8>) {
        for export in &*self.exports {
            let name = export.name.as_bytes();
            let length = u32::try_from(name.len()).expect("names are at most 4096 bytes");
            let data = [&length.to_be_bytes(), name, export.description.as_bytes()].concat();
            wire::put_option_reply(output, option::LIST, option_reply::SERVER, &data);
        }
        wire::put_option_reply(output, option::LIST, option_reply::ACK, &[]);
    }

    fn describe(&mut self, option: u32, data: &[u8], output: &mut Vec<u8>) -> Progress {
        let mut reply = |kind, data: &[u8]| wire::put_option_reply(output, option, kind, data);
        let Some((name, wanted)) = parse_information(data) else {
            reply(option_reply::ERR_INVALID, b"the data of the option do not add up");
            return Progress::More;
        };
        let Some(position) = self.find(name) else {
            reply(option_reply::ERR_UNKNOWN, b"there is no export of this name");
            return Progress::More;
        };
        let export = &self.exports[position];
        let piece = |kind: u16, data: &[u8]| [&kind.to_be_bytes(), data].concat();
        let size = export.size_bytes.to_be_bytes();
        let about = [&size[..], &self.flags().to_be_bytes()].concat();
        reply(option_reply::INFO, &piece(info::EXPORT, &about));
        let lengths = [1, export.preferred_block_bytes, LENGTH_BYTES_MAX].map(u32::to_be_bytes);
        reply(option_reply::INFO, &piece(info::BLOCK_SIZE, &lengths.concat()));
        if wanted.contains(&info::NAME) {
            reply(option_reply::INFO, &piece(info::NAME, export.name.as_bytes()));
        }
        if wanted.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            reply(option_reply::INFO, &piece(info::DESCRIPTION, export.description.as_bytes()));
        }
        reply(option_reply::ACK, &[]);
        if option == option::GO { Progress::Done(self.choice(position)) } else { Progress::More }
    }

    fn contexts(&mut self, option: u32, data: &[u8], output: &mut Vec<u8>) {
        let mut reply = |kind, data: &[u8]| wire::put_option_reply(output, option, kind, data);
        let setting = option == option::SET_META_CONTEXT;
        if setting {
            // A new choice replaces the old one, even if it fails.
            self.allocation = None;
        }
        if !self.structured {
            reply(option_reply::ERR_INVALID, b"structured replies come first");
            return;
        }
        let Some((name, queries)) = parse_queries(data) else {
            reply(option_reply::ERR_INVALID, b"the data of the option do not add up");
            return;
        };
        let Some(export) = self.find(name) else {
            reply(option_reply::ERR_UNKNOWN, b"there is no export of this name");
            return;
        };
        let exact = queries.contains(&wire::ALLOCATION.as_bytes());
        let asked = if setting {
            exact
        } else {
            exact || queries.is_empty() || queries.contains(&b"base:".as_slice())
        };
        if asked {
            let id = if setting { wire::ALLOCATION_ID } else { 0 };
            let data = [&id.to_be_bytes(), wire::ALLOCATION.as_bytes()].concat();
            reply(option_reply::META_CONTEXT, &data);
        }
        reply(option_reply::ACK, &[]);
        if setting && asked {
            self.allocation = Some(export);
        }
    }
}

/// The data of `NBD_OPT_INFO` and `NBD_OPT_GO`: a name, and what is to be said about it.
fn parse_information(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u16()?;
    let wanted = (0..count).map(|_| fields.u16()).collect::<Option<Vec<_>>>()?;
    let sound = fields.0.is_empty() && name.len() <= wire::STRING_BYTES_MAX;
    sound.then_some((name, wanted))
}

/// The data of the options about metadata contexts: the name of an export, and queries.
fn parse_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u32()?;
    let mut queries = Vec::new();
    // The count is not believed: each query takes up at least four bytes of the data.
    for _ in 0..count {
        queries.push(fields.string()?);
    }
    let sound = fields.0.is_empty() && name.len() <= wire::STRING_BYTES_MAX;
    sound.then_some((name, queries))
}
