//! Sockets that clients connect to.

use super::door::{DoorError, Listen};
use super::stream::Socket;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A socket that listens. Its path, if it has one, is removed when it is dropped.
#[derive(Debug)]
pub(super) enum Listener {
    Unix { socket: UnixListener, path: PathBuf, file: (u64, u64) },
    Tcp(TcpListener),
}

impl Listener {
    /// Listens there. A path that a killed process has left is used again.
    pub(super) fn open(listen: &Listen) -> Result<Self, DoorError> {
        let failed = |error| DoorError::Listen { place: listen.to_string(), error };
        match listen {
            Listen::Tcp(address) => {
                let socket = TcpListener::bind(address).map_err(failed)?;
                socket.set_nonblocking(true).map_err(failed)?;
                Ok(Self::Tcp(socket))
            }
            Listen::Unix(path) => {
                let socket = match UnixListener::bind(path) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                        remove_stale(path)?;
                        UnixListener::bind(path)
                    }
                    other => other,
                };
                let socket = socket.map_err(failed)?;
                socket.set_nonblocking(true).map_err(failed)?;
                let file = fs::symlink_metadata(path).map_err(failed)?;
                let file = (file.dev(), file.ino());
                Ok(Self::Unix { socket, path: path.clone(), file })
            }
        }
    }

    /// Where it listens really.
    pub(super) fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Unix { path, .. } => Ok(Listen::Unix(path.clone())),
            Self::Tcp(socket) => Ok(Listen::Tcp(socket.local_addr()?)),
        }
    }

    /// The next client, ready for an event loop; an error of kind `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<Socket> {
        let socket = match self {
            Self::Unix { socket, .. } => Socket::Unix(socket.accept()?.0),
            Self::Tcp(socket) => Socket::Tcp(socket.accept()?.0),
        };
        socket.prepare()?;
        Ok(socket)
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

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix { path, file, .. } = self {
            // Somebody else may have put another socket there in the meantime. It cannot have got
            // the same number: ours stays in use until the socket is closed, after this.
            let ours =
                fs::symlink_metadata(&*path).is_ok_and(|found| (found.dev(), found.ino()) == *file);
            if ours {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Removes a socket that nobody listens on.
fn remove_stale(path: &Path) -> Result<(), DoorError> {
    let place = Listen::Unix(path.to_path_buf()).to_string();
    let failed = |error| DoorError::Listen { place: place.clone(), error };
    if !fs::symlink_metadata(path).map_err(failed)?.file_type().is_socket() {
        return Err(DoorError::NotASocket { place });
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| failed(error.into()))?;
    let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
    match rustix::net::connect(&probe, &address) {
        Err(rustix::io::Errno::CONNREFUSED) => fs::remove_file(path).map_err(failed),
        // Connected, or so many wait that there is no room: somebody is alive.
        Ok(()) | Err(rustix::io::Errno::AGAIN) => Err(DoorError::InUse { place }),
        Err(error) => Err(failed(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_socket_is_replaced_a_live_one_and_a_file_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listen = Listen::Unix(path.clone());
        // The standard library leaves the path behind, as a killed process does.
        drop(UnixListener::bind(&path).unwrap());
        let first = Listener::open(&listen).unwrap();
        let error = Listener::open(&listen).unwrap_err();
        assert!(matches!(error, DoorError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("socket"), "{error}");
        drop(first);
        assert!(!path.exists());

        fs::write(&path, "precious").unwrap();
        let error = Listener::open(&listen).unwrap_err();
        assert!(matches!(error, DoorError::NotASocket { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn somebody_elses_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let ours = Listener::open(&Listen::Unix(path.clone())).unwrap();
        // Moved rather than removed, or the new file could get the number of the old one.
        fs::rename(&path, directory.path().join("old")).unwrap();
        let _theirs = UnixListener::bind(&path).unwrap();
        drop(ours);
        assert!(path.exists());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused_with_its_name() {
        let path = PathBuf::from(format!("/tmp/{}", "x".repeat(200)));
        let error = Listener::open(&Listen::Unix(path)).unwrap_err();
        assert!(error.to_string().contains("xxx"), "{error}");
    }
}
