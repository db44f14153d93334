//! A client in the handshake: its socket, and the handshake ([`Handshake`]) that knows no sockets.

use super::connection::Connection;
use super::handshake::{Choice, Export, Handshake, Progress, TlsPolicy};
use super::permit::ConnectionPermit;
use super::stream::Stream;
use crate::crowd::Source;
use rustix::event::epoll::EventFlags;
use rustls::ServerConfig;
use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::time::Instant;

/// Answers that are collected before they are sent.
const OUTPUT_BYTES: usize = 64 << 10;

/// A client in the handshake.
#[derive(Debug)]
pub(super) struct Negotiation {
    stream: Stream,
    handshake: Handshake,
    /// What the client has sent and the handshake has not taken.
    input: Vec<u8>,
    /// What the socket has not taken yet.
    output: Vec<u8>,
    progress: Progress,
    pub(super) deadline: Instant,
    /// What its socket is being watched for.
    pub(super) watched_for: EventFlags,
    /// Where the client is.
    pub(super) source: Source,
}

/// What is to be done with a client next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Negotiated {
    /// Its socket is to be watched.
    Wait(EventFlags),
    /// It has chosen.
    Done(Choice),
    /// Its connection is to be closed, or it has closed it.
    Close,
}

impl Negotiation {
    pub(super) fn new(
        stream: Stream,
        (exports, policy): (Arc<[Export]>, TlsPolicy),
        deadline: Instant,
        source: Source,
    ) -> Self {
        let (handshake, greeting) = Handshake::new(exports, policy);
        Self {
            stream,
            handshake,
            input: Vec::new(),
            output: greeting.to_vec(),
            progress: Progress::More,
            deadline,
            watched_for: EventFlags::empty(),
            source,
        }
    }

    /// Steps of the handshake that are done, of those that each client makes once.
    pub(super) fn steps(&self) -> u8 {
        self.handshake.steps()
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The connection, for the array's thread.
    pub(super) fn into_connection(self, choice: Choice, permit: ConnectionPermit) -> Connection {
        Connection::after_handshake(self.stream, choice, &self.input, &self.output, Some(permit))
    }

    /// Goes on after the socket has become ready: receives once, answers, sends.
    pub(super) fn on_ready(
        &mut self,
        scratch: &mut [u8],
        tls: Option<&Arc<ServerConfig>>,
    ) -> Negotiated {
        match self.step(scratch, tls) {
            Ok(step) => step,
            Err(error) => {
                tracing::debug!("a connection was closed: {error}");
                Negotiated::Close
            }
        }
    }

    fn step(
        &mut self,
        scratch: &mut [u8],
        tls: Option<&Arc<ServerConfig>>,
    ) -> io::Result<Negotiated> {
        let mut may_receive = true;
        loop {
            if let Progress::Done(choice) = self.progress {
                return Ok(Negotiated::Done(choice));
            }
            if !self.send()? {
                return Ok(Negotiated::Wait(EventFlags::OUT));
            }
            match self.progress {
                Progress::Close => {
                    self.stream.send_close_notify();
                    return Ok(Negotiated::Close);
                }
                Progress::StartTls => {
                    let Some(config) = tls else { return Ok(Negotiated::Close) };
                    // What came early is taken for TLS; as plain options it would let a third
                    // party speak for the client.
                    self.stream.start_tls(Arc::clone(config), &self.input)?;
                    self.input = Vec::new();
                    self.handshake.tls_started();
                    self.progress = Progress::More;
                }
                Progress::More | Progress::Done(_) => {}
            }
            if self.answer() {
                continue;
            }
            if !may_receive && !self.stream.has_plain_bytes() {
                return Ok(Negotiated::Wait(EventFlags::IN));
            }
            may_receive = false;
            match self.stream.read(&mut [IoSliceMut::new(scratch)]) {
                Ok(0) => return Ok(Negotiated::Close),
                Ok(count) => self.input.extend_from_slice(&scratch[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => may_receive = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let write = if self.stream.wants_write() {
                        EventFlags::OUT
                    } else {
                        EventFlags::empty()
                    };
                    return Ok(Negotiated::Wait(EventFlags::IN | write));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the handshake what the client has sent; whether there is something to send or to do.
    fn answer(&mut self) -> bool {
        let mut taken = 0;
        while self.progress == Progress::More && self.output.len() < OUTPUT_BYTES {
            let rest = &self.input[taken..];
            let (count, progress) = self.handshake.advance(rest, &mut self.output);
            self.progress = progress;
            taken += count;
            if count == 0 {
                break;
            }
        }
        self.input.drain(..taken);
        if self.input.is_empty() {
            // Many idle clients together would hold much memory.
            self.input = Vec::new();
        }
        self.progress != Progress::More || !self.output.is_empty()
    }

    /// Sends what there is; whether all is sent.
    fn send(&mut self) -> io::Result<bool> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.output.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.output = Vec::new();
        match self.stream.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            other => other.map(|()| true),
        }
    }
}
