//! Sockets that do not block, with TLS or without.

use rustls::{ServerConfig, ServerConnection};
use std::io::{self, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Plain bytes that TLS is given at once; it keeps what the socket does not take.
const TLS_WRITE_BYTES: usize = 64 << 10;

/// A socket of a client or to a server.
#[derive(Debug)]
pub enum Socket {
    /// Of this machine.
    Unix(UnixStream),
    /// Of a network.
    Tcp(TcpStream),
}

impl Socket {
    /// Makes the socket fit for an event loop: it does not block, and sends without delay.
    ///
    /// # Errors
    ///
    /// If the system refuses, which it does only for sockets that are no longer connected.
    pub fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Unix(socket) => socket.set_nonblocking(true),
            Self::Tcp(socket) => {
                socket.set_nodelay(true)?;
                socket.set_nonblocking(true)
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).read(bytes),
            Socket::Tcp(socket) => (&*socket).read(bytes),
        }
    }

    fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).read_vectored(parts),
            Socket::Tcp(socket) => (&*socket).read_vectored(parts),
        }
    }
}

impl Write for &Socket {
    // The standard library sends with `MSG_NOSIGNAL`: a closed connection is an error, not a
    // SIGPIPE.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).write(bytes),
            Socket::Tcp(socket) => (&*socket).write(bytes),
        }
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => (&*socket).write_vectored(parts),
            Socket::Tcp(socket) => (&*socket).write_vectored(parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket and, once begun, its TLS session.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    tls: Option<Box<Tls>>,
}

#[derive(Debug)]
struct Tls {
    session: ServerConnection,
    /// Plain bytes that have been decrypted and not been taken.
    plain_bytes: usize,
}

impl Stream {
    pub(super) fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    /// Goes on under TLS. `received` are bytes that came after the last plain one.
    pub(super) fn start_tls(
        &mut self,
        config: Arc<ServerConfig>,
        mut received: &[u8],
    ) -> io::Result<()> {
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        let tls = self.tls.insert(Box::new(Tls { session, plain_bytes: 0 }));
        while !received.is_empty() {
            if tls.session.read_tls(&mut received)? == 0 {
                break;
            }
            tls.process(&self.socket)?;
        }
        Ok(())
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether bytes can be read without the socket being readable.
    pub(super) fn has_plain_bytes(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.plain_bytes > 0)
    }

    /// Whether bytes wait for the socket being writable that [`Self::write`] has taken.
    pub(super) fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.session.wants_write())
    }

    /// Receives some bytes; 0 when the other side has sent its last.
    pub(super) fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return (&self.socket).read_vectored(parts);
        };
        loop {
            match tls.session.reader().read_vectored(parts) {
                Ok(count) => {
                    tls.plain_bytes = tls.plain_bytes.saturating_sub(count);
                    return Ok(count);
                }
                // Closed without the closing alert of TLS, as many clients do.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            tls.session.read_tls(&mut &self.socket)?;
            tls.process(&self.socket)?;
        }
    }

    /// Sends some bytes and gives their number.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return (&self.socket).write(bytes);
        };
        tls.send(&self.socket)?;
        let taken = tls.session.writer().write(&bytes[..bytes.len().min(TLS_WRITE_BYTES)])?;
        match tls.send(&self.socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(taken),
            other => other.map(|()| taken),
        }
    }

    /// Sends what [`Self::write`] has taken.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.send(&self.socket),
            None => Ok(()),
        }
    }

    /// Sends the closing alert of TLS, if the other side still reads.
    pub(super) fn send_close_notify(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.session.send_close_notify();
            let _ = tls.send(&self.socket);
        }
    }
}

impl Tls {
    fn process(&mut self, socket: &Socket) -> io::Result<()> {
        let outcome = self.session.process_new_packets();
        // The answer of a handshake, or the alert that says what was wrong.
        match self.send(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        self.plain_bytes = outcome.map_err(io::Error::other)?.plaintext_bytes_to_read();
        Ok(())
    }

    /// Sends until nothing is left or the socket takes no more.
    fn send(&mut self, mut socket: &Socket) -> io::Result<()> {
        while self.session.wants_write() {
            if self.session.write_tls(&mut socket)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
