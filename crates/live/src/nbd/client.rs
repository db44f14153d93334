//! A client with many requests in flight, to load a server with and to test one.
//!
//! It speaks the fixed newstyle handshake without TLS, and simple replies.

use super::negotiated::Negotiated;
use super::queue::Queue;
use super::stream::Socket;
use super::uri::{Endpoint, Uri};
use super::wire::{
    self, Fields, RequestHeader, SIMPLE_REPLY_BYTES, command, command_flag, handshake_flag, info,
    option, option_reply,
};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thiserror::Error;

/// How long a server may take for a step of the handshake.
const HANDSHAKE_STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest reply to an option that makes sense, in bytes.
const OPTION_REPLY_BYTES_MAX: u32 = 64 << 10;
/// Bytes that are received at once, at least.
const RECEIVE_BYTES: usize = 64 << 10;

/// Why a server cannot be used. Each is one sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It cannot be reached.
    #[error("cannot connect to {uri}: {error}")]
    Connect {
        /// The server.
        uri: String,
        /// What the system said.
        error: io::Error,
    },
    /// It refuses the export.
    #[error("{uri} refuses: {reason}")]
    Refused {
        /// The server.
        uri: String,
        /// What it said.
        reason: String,
    },
    /// It is not an NBD server, or a very old one.
    #[error("{uri} does not speak the fixed newstyle of NBD")]
    NotNbd {
        /// The server.
        uri: String,
    },
    /// Asked for what this client does not do.
    #[error("{uri} asks for TLS, which this client does not speak")]
    Tls {
        /// The server.
        uri: String,
    },
}

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply<'a> {
    /// What the request was sent with.
    pub cookie: u64,
    /// 0, or the number of an error (section "Error values").
    pub error: u32,
    /// The data of a successful read.
    pub data: &'a [u8],
}

/// A connection to a server.
///
/// Requests are collected until [`Self::flush`]; nothing blocks after [`Self::connect`].
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    negotiated: Negotiated,
    input: Queue,
    output: Queue,
    /// By cookie: bytes of data that come with the reply.
    in_flight: HashMap<u64, u32>,
    /// Bytes of the last reply, which the caller may have borrowed; the next receive consumes them.
    taken: usize,
    ended: bool,
}

impl Client {
    /// Connects and chooses the export of the URI. Blocks for up to half a minute per step.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, does not speak NBD or refuses.
    pub fn connect(uri: &Uri) -> Result<Self, ClientError> {
        if uri.tls {
            return Err(ClientError::Tls { uri: uri.to_string() });
        }
        let failed = |error| ClientError::Connect { uri: uri.to_string(), error };
        let socket = match &uri.endpoint {
            Endpoint::Unix(path) => Socket::Unix(UnixStream::connect(path).map_err(failed)?),
            Endpoint::Tcp { host, port } => {
                Socket::Tcp(TcpStream::connect((host.as_str(), *port)).map_err(failed)?)
            }
        };
        Self::over(socket, uri)
    }

    /// Chooses the export of the URI on a connection.
    pub(super) fn over(socket: Socket, uri: &Uri) -> Result<Self, ClientError> {
        let failed = |error| ClientError::Connect { uri: uri.to_string(), error };
        let timeout = Some(HANDSHAKE_STEP_TIMEOUT);
        match &socket {
            Socket::Unix(socket) => {
                socket.set_read_timeout(timeout).and_then(|()| socket.set_write_timeout(timeout))
            }
            Socket::Tcp(socket) => {
                socket.set_read_timeout(timeout).and_then(|()| socket.set_write_timeout(timeout))
            }
        }
        .map_err(failed)?;
        let mut client = Self {
            socket,
            negotiated: Negotiated::default(),
            input: Queue::default(),
            output: Queue::default(),
            in_flight: HashMap::new(),
            taken: 0,
            ended: false,
        };
        client.negotiate(uri)?;
        client.socket.prepare().map_err(failed)?;
        Ok(client)
    }

    fn negotiate(&mut self, uri: &Uri) -> Result<(), ClientError> {
        let failed = |error| ClientError::Connect { uri: uri.to_string(), error };
        let not_nbd = || ClientError::NotNbd { uri: uri.to_string() };
        let mut greeting = [0; 18];
        (&self.socket).read_exact(&mut greeting).map_err(failed)?;
        let mut fields = Fields(&greeting);
        let known = fields.u64() == Some(wire::GREETING_MAGIC)
            && fields.u64() == Some(wire::OPTION_MAGIC)
            && fields.u16().is_some_and(|flags| flags & handshake_flag::FIXED_NEWSTYLE != 0);
        if !known {
            return Err(not_nbd());
        }
        // With NO_ZEROES only if the server has it; it plays no part with NBD_OPT_GO.
        let mut message = u32::from(handshake_flag::FIXED_NEWSTYLE).to_be_bytes().to_vec();
        let name = uri.export.as_bytes();
        let length = u32::try_from(name.len()).map_err(|_| not_nbd())?;
        let wanted = [1u16, info::BLOCK_SIZE].map(u16::to_be_bytes).concat();
        let data = [&length.to_be_bytes(), name, &wanted].concat();
        wire::put_option(&mut message, option::GO, &data);
        (&self.socket).write_all(&message).map_err(failed)?;
        loop {
            let mut front = [0; 20];
            (&self.socket).read_exact(&mut front).map_err(failed)?;
            let mut fields = Fields(&front);
            let known =
                fields.u64() == Some(wire::OPTION_REPLY_MAGIC) && fields.u32() == Some(option::GO);
            let (Some(kind), Some(length)) = (fields.u32(), fields.u32()) else {
                return Err(not_nbd());
            };
            if !known || length > OPTION_REPLY_BYTES_MAX {
                return Err(not_nbd());
            }
            let mut data = vec![0; length as usize];
            (&self.socket).read_exact(&mut data).map_err(failed)?;
            match kind {
                option_reply::ACK => return Ok(()),
                option_reply::INFO => self.parse_info(&data).ok_or_else(not_nbd)?,
                kind => {
                    let text = String::from_utf8_lossy(&data);
                    let reason = match kind {
                        option_reply::ERR_TLS_REQD => "it requires TLS".into(),
                        option_reply::ERR_UNKNOWN => {
                            format!("it has no export `{}`", uri.export)
                        }
                        _ if text.is_empty() => format!("it answers {kind:#x}"),
                        _ => text.chars().take(200).collect(),
                    };
                    return Err(ClientError::Refused { uri: uri.to_string(), reason });
                }
            }
        }
    }

    /// Takes in what the server says of the export; `None` if it is cut short.
    fn parse_info(&mut self, data: &[u8]) -> Option<()> {
        let mut fields = Fields(data);
        match fields.u16()? {
            info::EXPORT => {
                self.negotiated.size_bytes = fields.u64()?;
                self.negotiated.flags = fields.u16()?;
            }
            info::BLOCK_SIZE => {
                self.negotiated.least_block_bytes = fields.u32()?.max(1);
                self.negotiated.preferred_block_bytes = fields.u32()?;
                self.negotiated.payload_bytes_max = fields.u32()?;
            }
            _ => {}
        }
        Some(())
    }

    /// Length of the export.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.negotiated.size_bytes
    }

    /// What the server has said of the export.
    #[must_use]
    pub fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// What the server does, of [`wire::export_flag`].
    #[must_use]
    pub fn flags(&self) -> u16 {
        self.negotiated.flags
    }

    /// The request length that the server likes best.
    #[must_use]
    pub fn preferred_block_bytes(&self) -> u32 {
        self.negotiated.preferred_block_bytes
    }

    /// The socket, to be watched.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Requests that have not been answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether [`Self::flush`] has left something that waits for the socket to be writable.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.output.len() > 0
    }

    /// Asks for data. The cookie must not be that of another request in flight.
    pub fn send_read(&mut self, cookie: u64, offset_bytes: u64, length_bytes: u32) {
        self.send(command::READ, 0, cookie, offset_bytes, length_bytes);
        self.in_flight.insert(cookie, length_bytes);
    }

    /// Writes less than 4 GiB of data, with `fua` onto stable storage.
    pub fn send_write(&mut self, cookie: u64, offset_bytes: u64, data: &[u8], fua: bool) {
        let flags = if fua { command_flag::FUA } else { 0 };
        let length = u32::try_from(data.len()).expect("a write is shorter than 4 GiB");
        self.send(command::WRITE, flags, cookie, offset_bytes, length);
        self.output.put(data);
    }

    /// Puts everything that was answered on stable storage.
    pub fn send_flush(&mut self, cookie: u64) {
        self.send(command::FLUSH, 0, cookie, 0, 0);
    }

    /// Any request without data of its own, of [`wire::command`] and [`wire::command_flag`].
    pub fn send(
        &mut self,
        command: u16,
        flags: u16,
        cookie: u64,
        offset_bytes: u64,
        length_bytes: u32,
    ) {
        let header = RequestHeader { flags, command, cookie, offset_bytes, length_bytes };
        self.output.put(&header.bytes());
        if command != command::DISCONNECT {
            self.in_flight.insert(cookie, 0);
        }
    }

    /// Sends what was collected, as far as the socket takes it.
    ///
    /// # Errors
    ///
    /// If the server has closed the connection.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.output.len() > 0 {
            match (&self.socket).write(self.output.bytes()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.output.consume(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next reply; `None` until the socket is readable again.
    ///
    /// # Errors
    ///
    /// If the server has closed the connection (`UnexpectedEof`) or violates the protocol
    /// (`InvalidData`).
    pub fn receive(&mut self) -> io::Result<Option<Reply<'_>>> {
        self.input.consume(std::mem::take(&mut self.taken));
        let mut asked = false;
        loop {
            if let Some((cookie, error, length)) = self.parse()? {
                self.in_flight.remove(&cookie);
                self.taken = SIMPLE_REPLY_BYTES + length;
                let data = &self.input.bytes()[SIMPLE_REPLY_BYTES..self.taken];
                return Ok(Some(Reply { cookie, error, data }));
            }
            if self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if asked {
                return Ok(None);
            }
            match (&self.socket).read(self.input.room(RECEIVE_BYTES)) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    self.input.filled(count);
                    // Asked again only when a reply is incomplete for want of room.
                    asked = count < RECEIVE_BYTES;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Cookie, error and length of the data of the next reply, if it has arrived whole.
    fn parse(&self) -> io::Result<Option<(u64, u32, usize)>> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text);
        let mut fields = Fields(self.input.bytes());
        let Some(magic) = fields.u32() else { return Ok(None) };
        if magic != wire::SIMPLE_REPLY_MAGIC {
            return Err(invalid("the server sent something that is not a reply"));
        }
        let (Some(error), Some(cookie)) = (fields.u32(), fields.u64()) else { return Ok(None) };
        let Some(&length) = self.in_flight.get(&cookie) else {
            return Err(invalid("the server answered a request that was not made"));
        };
        let length = if error == 0 { length as usize } else { 0 };
        Ok((fields.0.len() >= length).then_some((cookie, error, length)))
    }
}
