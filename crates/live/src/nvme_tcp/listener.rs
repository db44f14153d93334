//! Sockets that hosts connect to.

use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use thiserror::Error;

/// Connections that may wait to be accepted, as far as the system lets them.
const BACKLOG: i32 = 4096;

/// Silence after which the system asks whether a host is still there: one without a keep alive
/// timer may be gone unnoticed.
const IDLE: Duration = Duration::from_secs(60);

/// Why it cannot be listened there.
#[derive(Debug, Error)]
#[error("cannot listen at {address}: {error}")]
pub struct ListenError {
    /// Where.
    pub address: SocketAddr,
    /// What the system says.
    pub error: io::Error,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens there; port 0 lets the system choose.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn open(address: SocketAddr) -> Result<Self, ListenError> {
        let refused = |error| ListenError { address, error };
        let socket = TcpListener::bind(address).map_err(refused)?;
        rustix::net::listen(&socket, BACKLOG).map_err(|error| refused(error.into()))?;
        socket.set_nonblocking(true).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address })
    }

    /// Where it listens, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection, ready for an event loop; an error of kind `WouldBlock` if there is
    /// none.
    pub(super) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (socket, peer) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        // Answers are whole PDUs: there is nothing to wait for.
        socket.set_nodelay(true)?;
        set_socket_keepalive(&socket, true)?;
        set_tcp_keepidle(&socket, IDLE)?;
        Ok((socket, peer))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
