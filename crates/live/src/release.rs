//! A thread that gives memory back to the system.
//!
//! To unmap what a client has left behind takes the kernel milliseconds for each ten MiB. The
//! thread that owns an array hands over what is large and goes on. Memory of drives is given back
//! in pieces, so that the lock of the address space is free in between.

use std::io;
use std::sync::mpsc::{Sender, channel};

/// What gives memory back: it drops what it holds.
type Release = Box<dyn FnOnce() + Send>;

/// A handle to the thread, which ends with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Releaser(Sender<Release>);

impl Releaser {
    /// # Errors
    ///
    /// If the system has no thread left.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, inbox) = channel::<Release>();
        let thread = std::thread::Builder::new().name("release".into());
        thread.spawn(move || inbox.into_iter().for_each(|release| release()))?;
        Ok(Self(sender))
    }

    /// Gives something back, by and by: `release` drops it.
    pub(crate) fn give(&self, release: impl FnOnce() + Send + 'static) {
        // Without the thread it is given back here.
        if let Err(kept) = self.0.send(Box::new(release)) {
            kept.0();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::storage::Memory;
    use std::sync::mpsc::TryRecvError;

    #[test]
    fn what_is_given_is_taken_by_another_thread_and_the_last_handle_ends_it() {
        let releaser = Releaser::start().unwrap();
        let buffer = Buffer::zeroed(32 << 20);
        releaser.give(move || drop(buffer));
        let mut memory = Memory::new(8 << 20).unwrap();
        memory.write(0, &vec![1; 8 << 20]);
        releaser.clone().give(move || memory.release());
        let (sender, inbox) = channel::<()>();
        drop(releaser);
        drop(sender);
        assert_eq!(inbox.try_recv(), Err(TryRecvError::Disconnected));
    }
}
