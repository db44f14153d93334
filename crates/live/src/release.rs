//! A thread that gives memory back to the system.
//!
//! To unmap what a client has left behind takes the kernel milliseconds for each ten MiB. The thread that owns an
//! array hands over what is large and goes on. Memory of drives is given back in pieces, so that the lock of the
//! address space is free in between.

use crate::buffer::Buffer;
use crate::nbd::{Connection, UnsentReplies};
use crate::storage::Memory;
use std::io;
use std::sync::mpsc::{Sender, channel};

/// What is no longer needed.
#[derive(Debug)]
pub(crate) enum Released {
    /// A buffer that no other handle is to.
    Buffer(Buffer),
    /// Replies that their client does not take.
    Replies(UnsentReplies),
    /// A client that is gone, with all that it holds.
    Client(Box<Connection>),
    /// A drive in memory.
    Drive(Box<Memory>),
}

impl Released {
    fn release(self) {
        match self {
            Self::Buffer(buffer) => drop(buffer),
            Self::Replies(replies) => drop(replies),
            Self::Client(connection) => drop(connection),
            Self::Drive(mut memory) => memory.release(),
        }
    }
}

/// A handle to the thread, which ends with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Releaser(Sender<Released>);

impl Releaser {
    /// # Errors
    ///
    /// If the system has no thread left.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, inbox) = channel::<Released>();
        let thread = std::thread::Builder::new().name("release".into());
        thread.spawn(move || inbox.into_iter().for_each(Released::release))?;
        Ok(Self(sender))
    }

    /// Gives something back, by and by.
    pub(crate) fn give(&self, released: Released) {
        // Without the thread it is given back here.
        let _ = self.0.send(released);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::TryRecvError;

    #[test]
    fn what_is_given_is_taken_by_another_thread_and_the_last_handle_ends_it() {
        let releaser = Releaser::start().unwrap();
        let buffer = Buffer::zeroed(32 << 20);
        releaser.give(Released::Buffer(buffer));
        let mut memory = Memory::new(8 << 20).unwrap();
        memory.write(0, &vec![1; 8 << 20]);
        releaser.clone().give(Released::Drive(Box::new(memory)));
        let (sender, inbox) = channel::<()>();
        drop(releaser);
        drop(sender);
        assert_eq!(inbox.try_recv(), Err(TryRecvError::Disconnected));
    }
}
