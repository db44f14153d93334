//! A listening Unix socket that only its owner can connect to.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Clients that wait to be accepted.
const BACKLOG: i32 = 16;
/// Only the owner reads and writes.
const MODE: u32 = 0o600;

/// Why there cannot be a control socket at a path.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Another process listens.
    #[error("{path} is served by a running process; stop it or choose another path")]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path} exists and is no socket; choose another path")]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot make the control socket {path}: {source}; its path can have 107 bytes at most")]
    Refused {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The file of a socket, which is removed at the end.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and number, to know it from a successor's.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A successor may have got the number of the file as well; but somebody listens there.
        let ours = identity(&self.path).is_ok_and(|identity| identity == self.identity);
        if ours && UnixStream::connect(&self.path).is_err() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Listens at `path`, without blocking. A socket that a killed process left is replaced.
///
/// # Errors
///
/// If a process listens there, something else is there, or the system refuses.
pub fn bind(path: &Path) -> Result<(UnixListener, SocketFile), SocketError> {
    let refused = |source: io::Error| SocketError::Refused { path: path.to_owned(), source };
    remove_stale(path)?;
    let address = SocketAddrUnix::new(path).map_err(|error| refused(error.into()))?;
    let socket = new_socket().map_err(refused)?;
    rustix::net::bind(&socket, &address).map_err(|error| match error {
        // Somebody was faster.
        Errno::ADDRINUSE => SocketError::InUse { path: path.to_owned() },
        error => refused(error.into()),
    })?;
    // Before it listens: nobody can have connected while others were still allowed to.
    fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(refused)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path).map_err(refused)? };
    rustix::net::listen(&socket, BACKLOG).map_err(|error| refused(error.into()))?;
    Ok((UnixListener::from(socket), file))
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Removes a socket that nobody listens on.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let refused = |source: io::Error| SocketError::Refused { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(error)),
        Ok(file) if !file.file_type().is_socket() => {
            return Err(SocketError::NoSocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    let address = SocketAddrUnix::new(path).map_err(|error| refused(error.into()))?;
    match rustix::net::connect(&new_socket().map_err(refused)?, &address) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).map_err(refused),
        // Connected, or so many wait that there is no room: somebody is alive.
        Ok(()) | Err(Errno::AGAIN) => Err(SocketError::InUse { path: path.to_owned() }),
        Err(error) => Err(refused(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_connects_and_the_file_goes_with_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ctl");
        let (listener, file) = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        assert!(matches!(bind(&path), Err(SocketError::InUse { .. })));
        drop(listener);
        // Nobody listens any longer: that of a killed process.
        let (second, second_file) = bind(&path).unwrap();
        drop(file);
        assert!(path.exists(), "the file of the successor stays");
        drop((second, second_file));
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(&path), Err(SocketError::NoSocket { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let long = folder.path().join("x".repeat(120));
        assert!(bind(&long).unwrap_err().to_string().contains("107 bytes"));
    }
}
