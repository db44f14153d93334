//! Sockets that clients connect to.

use super::stream::Socket;
use crate::crowd::Source;
use crate::unix_socket::{self, BindError, SocketAccess, SocketFile};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use thiserror::Error;

/// Clients that may wait to be accepted at a socket, as far as the system lets them.
const BACKLOG: i32 = 4096;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// At a path of this machine, of at most 107 bytes.
    Unix(PathBuf),
    /// At an address of a network; port 0 lets the system choose.
    Tcp(SocketAddr),
}

impl Display for Listen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// Why it cannot be listened there. Each is one sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The system refuses.
    #[error("cannot listen at {address}: {error}")]
    Refused {
        /// Where.
        address: Listen,
        /// What the system said.
        error: io::Error,
    },
    /// Another process listens.
    #[error("cannot listen at {address}: another process listens there")]
    InUse {
        /// Where.
        address: Listen,
    },
    /// Something that is not a socket is at the path.
    #[error("cannot listen at {address}: there is a file that is not a socket")]
    NotASocket {
        /// Where.
        address: Listen,
    },
}

/// A socket that listens. Its path, if it has one, is removed when it is dropped.
#[derive(Debug)]
pub(super) enum Listener {
    /// The socket is dropped, and so closed, before its file.
    Unix {
        socket: UnixListener,
        file: SocketFile,
    },
    Tcp(TcpListener),
}

impl Listener {
    /// Listens there; at a path, for those whom `access` names. A path that a killed process has
    /// left is used again.
    pub(super) fn open(listen: &Listen, access: SocketAccess) -> Result<Self, ListenError> {
        let refused = |error| ListenError::Refused { address: listen.clone(), error };
        match listen {
            Listen::Tcp(address) => {
                let socket = TcpListener::bind(address).map_err(refused)?;
                rustix::net::listen(&socket, BACKLOG).map_err(|error| refused(error.into()))?;
                socket.set_nonblocking(true).map_err(refused)?;
                Ok(Self::Tcp(socket))
            }
            Listen::Unix(path) => {
                let bound = unix_socket::bind(path, BACKLOG, access);
                let (socket, file) = bound.map_err(|error| match error {
                    BindError::InUse => ListenError::InUse { address: listen.clone() },
                    BindError::NotASocket => ListenError::NotASocket { address: listen.clone() },
                    BindError::Refused(error) => refused(error),
                })?;
                Ok(Self::Unix { socket, file })
            }
        }
    }

    /// Where it listens, with the port that the system chose.
    pub(super) fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Unix { file, .. } => Ok(Listen::Unix(file.path().to_owned())),
            Self::Tcp(socket) => Ok(Listen::Tcp(socket.local_addr()?)),
        }
    }

    /// The next client, ready for an event loop; an error of kind `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<(Socket, Source)> {
        let (socket, source) = match self {
            Self::Unix { socket, .. } => (Socket::Unix(socket.accept()?.0), Source::Local),
            Self::Tcp(socket) => {
                let (socket, peer) = socket.accept()?;
                (Socket::Tcp(socket), peer.ip().into())
            }
        };
        socket.prepare()?;
        Ok((socket, source))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix { socket, .. } => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_stale_socket_is_replaced_a_live_one_and_a_file_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listen = Listen::Unix(path.clone());
        // The standard library leaves the path behind, as a killed process does.
        drop(UnixListener::bind(&path).unwrap());
        let first = Listener::open(&listen, SocketAccess::Owner).unwrap();
        let error = Listener::open(&listen, SocketAccess::Owner).unwrap_err();
        assert!(matches!(error, ListenError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("socket"), "{error}");
        drop(first);
        assert!(!path.exists());

        fs::write(&path, "precious").unwrap();
        let error = Listener::open(&listen, SocketAccess::Owner).unwrap_err();
        assert!(matches!(error, ListenError::NotASocket { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn only_the_owner_may_connect() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _ours = Listener::open(&Listen::Unix(path.clone()), SocketAccess::Owner).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn somebody_elses_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let ours = Listener::open(&Listen::Unix(path.clone()), SocketAccess::Owner).unwrap();
        // Moved rather than removed, or the new file could get the number of the old one.
        fs::rename(&path, directory.path().join("old")).unwrap();
        let _theirs = UnixListener::bind(&path).unwrap();
        drop(ours);
        assert!(path.exists());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_with_its_name() {
        let path = PathBuf::from(format!("/tmp/{}", "x".repeat(200)));
        let error = Listener::open(&Listen::Unix(path), SocketAccess::Owner).unwrap_err();
        assert!(error.to_string().contains("xxx"), "{error}");
    }
}
