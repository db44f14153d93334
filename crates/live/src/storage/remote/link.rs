//! One connection to a drive: its socket, the machine of the protocol, and what is on its way.

use super::jobs::{Jobs, Piece};
use nvme::initiator::{
    CommandData, Connection, Outgoing, Output, Purpose, Slot, Submission, Terms, TransportEvent,
};
use nvme::wire::{CompletionEntry, SubmissionEntry};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Bytes that are received at once at most.
const RECEIVE_BYTES: usize = 256 << 10;
/// So often a connection is read in one turn, so that others have theirs.
const RECEIVES: usize = 4;
/// No more is made ready to be sent while so much waits.
const SEND_BYTES: usize = 1 << 20;

/// Whose command it is.
#[derive(Debug)]
enum Owner {
    /// The controller's, with its data.
    Controller(Purpose, Vec<u8>),
    /// A part of a job.
    Piece(Piece),
}

/// A command that is over.
#[derive(Debug)]
pub(super) enum Over {
    /// One of the controller, with what it brought.
    Controller(Purpose, CompletionEntry, Vec<u8>),
    /// A part of a job.
    Piece(Piece, CompletionEntry),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    socket: TcpStream,
    is_connected: bool,
    connection: Connection,
    /// By slot.
    owners: Vec<Option<Owner>>,
    received: Vec<u8>,
    to_send: Vec<u8>,
    /// Bytes of `to_send` that are sent.
    sent: usize,
}

impl Link {
    /// Begins to connect.
    pub(super) fn open(address: SocketAddr, terms: Terms) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true)?;
        let mut owners = Vec::new();
        owners.resize_with(terms.commands.into(), || None);
        Ok(Self {
            socket,
            is_connected: false,
            connection: Connection::new(terms),
            owners,
            received: vec![0; RECEIVE_BYTES],
            to_send: Vec::new(),
            sent: 0,
        })
    }

    pub(super) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether it waits until the socket can be written.
    pub(super) fn wants_to_write(&self) -> bool {
        !self.is_connected || self.sent < self.to_send.len()
    }

    /// Whether there is room for a command.
    pub(super) fn has_room(&self) -> bool {
        self.connection.has_room() && self.to_send.len() - self.sent < SEND_BYTES
    }

    /// Takes a command of the controller.
    pub(super) fn submit(&mut self, submission: Submission) -> bool {
        let (data, buffer) = match submission.data {
            Outgoing::None => (CommandData::None, Vec::new()),
            Outgoing::Data(data) => (CommandData::ToController { bytes: data.len() as u32 }, data),
            Outgoing::Room(bytes) => (CommandData::ToHost { bytes }, vec![0; bytes as usize]),
        };
        let owner = Owner::Controller(submission.purpose, buffer);
        self.own(submission.entry, data, owner)
    }

    /// Takes a part of a job.
    pub(super) fn submit_piece(
        &mut self,
        piece: Piece,
        entry: SubmissionEntry,
        data: CommandData,
    ) -> bool {
        self.own(entry, data, Owner::Piece(piece))
    }

    fn own(&mut self, entry: SubmissionEntry, data: CommandData, owner: Owner) -> bool {
        match self.connection.submit(entry, data) {
            Some(slot) => {
                self.owners[slot.index()] = Some(owner);
                true
            }
            None => false,
        }
    }

    /// Sends what there is to send, as far as the socket takes it.
    ///
    /// # Errors
    ///
    /// If the connection is broken.
    pub(super) fn send(&mut self, jobs: &Jobs) -> io::Result<()> {
        loop {
            self.prepare(jobs);
            if self.sent == self.to_send.len() || !self.is_connected {
                return Ok(());
            }
            match self.socket.write(&self.to_send[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies what is to be sent next to where it is sent from: the controller may end a command
    /// before all of its data are sent, and then its buffer is somebody else's.
    fn prepare(&mut self, jobs: &Jobs) {
        if self.sent == self.to_send.len() {
            self.to_send.clear();
            self.sent = 0;
        }
        while self.to_send.len() - self.sent < SEND_BYTES {
            let Some(output) = self.connection.poll_output() else { return };
            // What is to be closed is dropped as soon as its last bytes are gone.
            let Output::Send(pdu) = output else { return };
            self.to_send.extend_from_slice(pdu.prefix());
            let Some(piece) = pdu.data() else { continue };
            let owner = &self.owners[piece.slot.index()];
            let (from, bytes) = (piece.offset_bytes as usize, piece.bytes as usize);
            let data = match owner {
                Some(Owner::Controller(_, data)) => &data[from..][..bytes],
                Some(Owner::Piece(own)) => jobs.data(own, from, bytes),
                None => unreachable!("only commands in flight have data to send"),
            };
            self.to_send.extend_from_slice(data);
            self.to_send.extend(pdu.data_digest(data).iter().flatten());
        }
    }

    /// The socket can be written: it is connected, or broken.
    pub(super) fn on_writable(&mut self) -> io::Result<()> {
        if !self.is_connected {
            if let Some(error) = self.socket.take_error()? {
                return Err(error);
            }
            self.is_connected = self.socket.peer_addr().is_ok();
        }
        Ok(())
    }

    /// Takes what has come.
    ///
    /// # Errors
    ///
    /// If the connection is over, and why.
    pub(super) fn receive(&mut self, jobs: &mut Jobs, over: &mut Vec<Over>) -> io::Result<()> {
        for _ in 0..RECEIVES {
            let count = match self.socket.read(&mut self.received) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.take(count, jobs, over)?;
            if count < self.received.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take(&mut self, count: usize, jobs: &mut Jobs, over: &mut Vec<Over>) -> io::Result<()> {
        let mut bytes = &self.received[..count];
        loop {
            let (taken, event) = self.connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(_) => return Ok(()),
                TransportEvent::Over => {
                    let why = self.connection.end().map(|end| end.to_string());
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        why.unwrap_or_default(),
                    ));
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    let at = offset_bytes as usize;
                    match &mut self.owners[slot.index()] {
                        Some(Owner::Controller(_, data)) => {
                            data[at..][..bytes.len()].copy_from_slice(bytes);
                        }
                        Some(Owner::Piece(piece)) => jobs.fill(piece, at, bytes),
                        None => unreachable!("only commands in flight have data"),
                    }
                }
                TransportEvent::Completed { slot, completion } => {
                    over.extend(end(&mut self.owners, slot, completion));
                }
            }
        }
    }

    /// Whether something that changes the drive has no answer yet.
    pub(super) fn has_change(&self, jobs: &Jobs) -> bool {
        let is_change =
            |owner: &Owner| matches!(owner, Owner::Piece(piece) if jobs.is_change(piece));
        self.owners.iter().flatten().any(is_change)
    }

    /// Sends a last word, if the protocol has one, and gives up the parts of jobs that have no
    /// answer.
    pub(super) fn close(mut self, jobs: &Jobs) -> Vec<Piece> {
        self.connection.close();
        // Nobody reads what cannot be sent now.
        let _ = self.send(jobs);
        let owners = std::mem::take(&mut self.owners);
        let pieces = owners.into_iter().flatten().filter_map(|owner| match owner {
            Owner::Piece(piece) => Some(piece),
            Owner::Controller(..) => None,
        });
        pieces.collect()
    }
}

/// Takes a command that is over away.
fn end(owners: &mut [Option<Owner>], slot: Slot, completion: CompletionEntry) -> Option<Over> {
    Some(match owners[slot.index()].take()? {
        Owner::Controller(purpose, data) => Over::Controller(purpose, completion, data),
        Owner::Piece(piece) => Over::Piece(piece, completion),
    })
}
