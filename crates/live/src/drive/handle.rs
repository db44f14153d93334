//! How other threads tell a drive to stop.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// What other threads have of a drive.
#[derive(Clone, Debug)]
pub struct DriveHandle(Arc<OwnedFd>);

/// What the drive's own thread has of it.
#[derive(Debug)]
pub struct Inbox(Arc<OwnedFd>);

/// A handle of a drive that will be.
///
/// # Errors
///
/// If the system has no descriptor left.
pub fn channel() -> io::Result<(DriveHandle, Inbox)> {
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    Ok((DriveHandle(Arc::clone(&wake)), Inbox(wake)))
}

impl DriveHandle {
    /// Tells the drive to end: nobody connects any more, commands in flight end, everything is on
    /// stable storage.
    pub fn stop(&self) {
        // A full counter means that it was told already.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Inbox {
    /// Readable when the drive is to end.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// It was heard.
    pub(super) fn acknowledge(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0, &mut count);
    }
}
