//! Listening Unix sockets at a path: one that a killed process left behind is replaced, and the
//! path is removed at the end.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why a path cannot be listened at.
#[derive(Debug)]
pub(crate) enum BindError {
    /// Another process listens.
    InUse,
    /// Something that is not a socket is there.
    NotASocket,
    /// The system refuses.
    Refused(io::Error),
}

impl From<io::Error> for BindError {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Errno> for BindError {
    fn from(error: Errno) -> Self {
        Self::Refused(error.into())
    }
}

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketAccess {
    /// The user who serves.
    #[default]
    Owner,
    /// This user, and the members of the group with this number.
    Group(u32),
}

impl SocketAccess {
    fn give(self, path: &Path) -> io::Result<()> {
        let mode = match self {
            Self::Owner => 0o600,
            Self::Group(group) => {
                // First the group: the former one never gets the permissions of the new one.
                std::os::unix::fs::chown(path, None, Some(group))?;
                0o660
            }
        };
        fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

/// The file of a listening socket. It is removed when this is dropped, which must be after the
/// listener was.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode number, to tell it from that of a successor.
    identity: (u64, u64),
}

impl SocketFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A successor may have got the inode number as well; but somebody listens there.
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

/// Listens at `path` without blocking, with so many clients that may wait to be accepted, for those
/// whom `access` names, whatever the process's umask.
pub(crate) fn bind(
    path: &Path,
    backlog: i32,
    access: SocketAccess,
) -> Result<(UnixListener, SocketFile), BindError> {
    remove_stale(path)?;
    let address = SocketAddrUnix::new(path)?;
    let socket = new_socket()?;
    rustix::net::bind(&socket, &address).map_err(|error| match error {
        // Somebody was faster.
        Errno::ADDRINUSE => BindError::InUse,
        error => error.into(),
    })?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path)? };
    // Before it listens: nobody can have connected while others were still allowed to.
    access.give(path)?;
    rustix::net::listen(&socket, backlog)?;
    Ok((UnixListener::from(socket), file))
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Removes a socket that nobody listens on.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(file) if !file.file_type().is_socket() => return Err(BindError::NotASocket),
        found => {
            found?;
        }
    }
    match rustix::net::connect(&new_socket()?, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(fs::remove_file(path)?),
        // Connected, or so many wait that there is no room: somebody is alive.
        Ok(()) | Err(Errno::AGAIN) => Err(BindError::InUse),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(path: &Path) -> Result<(UnixListener, SocketFile), BindError> {
        super::bind(path, 16, SocketAccess::Owner)
    }

    #[test]
    fn only_the_owner_connects_and_the_file_goes_with_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ctl");
        let (listener, file) = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind(&path), Err(BindError::InUse)));
        drop(listener);
        // Nobody listens any longer: that of a killed process.
        let (second, second_file) = bind(&path).unwrap();
        drop(file);
        assert!(path.exists(), "the file of the successor stays");
        drop((second, second_file));
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(&path), Err(BindError::NotASocket)));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let long = folder.path().join("x".repeat(120));
        assert!(matches!(bind(&long), Err(BindError::Refused(_))));
    }

    #[test]
    fn a_group_connects_if_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ctl");
        let group = fs::metadata(folder.path()).unwrap().gid();
        let (_listener, _file) = super::bind(&path, 16, SocketAccess::Group(group)).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.permissions().mode() & 0o777, about.gid()), (0o660, group));
    }
}
